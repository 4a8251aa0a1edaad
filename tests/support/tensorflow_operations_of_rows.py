"""Examples of TensorFlow's operations, of rows, segments, random numbers and lists."""

# mypy: ignore-errors
import numpy as np
import tensorflow as tf
from tensorflow_operation_tensors import (
    SEED,
    R,
    _branches,
    _drawn,
    _flat,
    _ids,
    _if,
    _image,
    _list,
    _matrix,
    _seeded,
    _sorted_ids,
    _sparse,
    _truth,
    _while,
    _whole,
)

ROW_EXAMPLES = {
    "Gather": lambda x, _: R.Gather(params=_matrix(x), indices=[3, 0]),
    "GatherNd": lambda x, _: R.GatherNd(params=x, indices=[[1, 2], [0, 1]]),
    "GatherV2": lambda x, _: R.GatherV2(params=x, indices=[2, 0], axis=1),
    "HistogramFixedWidth": lambda x, _: R.HistogramFixedWidth(values=x, value_range=[-1.0, 1.0], nbins=5),
    "IdentityN": lambda x, y: R.IdentityN(input=[x, y]),
    "If": _if("If"),
    "StatelessIf": _if("StatelessIf"),
    "While": _while("While"),
    "StatelessWhile": _while("StatelessWhile"),
    "Case": lambda x, _: R.Case(
        branch_index=_whole(x[0, 0, 0]), input=[x], Tout=[tf.float32], branches=list(_branches(x))
    )[0],
    "StatelessCase": lambda x, _: R.StatelessCase(
        branch_index=_whole(x[0, 0, 0]), input=[x], Tout=[tf.float32], branches=list(_branches(x))
    )[0],
    "PartitionedCall": lambda x, _: R.PartitionedCall(args=[x], Tout=[tf.float32], f=_branches(x)[0])[0],
    "StatefulPartitionedCall": lambda x, _: R.StatefulPartitionedCall(args=[x], Tout=[tf.float32], f=_branches(x)[0])[
        0
    ],
    "ImageProjectiveTransformV2": lambda x, _: R.ImageProjectiveTransformV2(
        images=_image(x),
        transforms=[[1.0, 0.1, 0.2, 0.0, 0.9, 0.3, 0.0, 0.0]],
        output_shape=[4, 4],
        interpolation="BILINEAR",
    ),
    "ImageProjectiveTransformV3": lambda x, _: R.ImageProjectiveTransformV3(
        images=_image(x),
        transforms=[[1.0, 0.1, 0.2, 0.0, 0.9, 0.3, 0.0, 0.0]],
        output_shape=[4, 4],
        fill_value=0.5,
        interpolation="BILINEAR",
    ),
    "InTopK": lambda x, _: R.InTopK(predictions=_matrix(x), targets=[0, 1, 2, 3, 0, 1], k=2),
    "InTopKV2": lambda x, _: R.InTopKV2(predictions=_matrix(x), targets=[0, 1, 2, 3, 0, 1], k=2),
    "InplaceAdd": lambda x, y: R.InplaceAdd(x=x + 1.0, i=[1], v=y[:1]),
    "InplaceSub": lambda x, y: R.InplaceSub(x=x + 1.0, i=[1], v=y[:1]),
    "InplaceUpdate": lambda x, y: R.InplaceUpdate(x=x + 1.0, i=[1], v=y[:1]),
    "IsotonicRegression": lambda x, _: R.IsotonicRegression(input=_matrix(x))[0],
    "LRN": lambda x, _: R.LRN(input=_image(x)),
    "LinSpace": lambda x, y: R.LinSpace(start=x[0, 0, 0], stop=y[0, 0, 0], num=5),
    "ListDiff": lambda x, y: R.ListDiff(x=_flat(_whole(x)), y=_flat(_whole(y)))[0],
    "LowerBound": lambda x, y: R.LowerBound(sorted_inputs=tf.sort(_matrix(x)), values=_matrix(y)),
    "UpperBound": lambda x, y: R.UpperBound(sorted_inputs=tf.sort(_matrix(x)), values=_matrix(y)),
    "MirrorPad": lambda x, _: R.MirrorPad(input=x, paddings=[[0, 0], [1, 1], [2, 1]], mode="REFLECT"),
    "MirrorPadGrad": lambda x, _: R.MirrorPadGrad(input=x, paddings=[[0, 0], [0, 0], [1, 1]], mode="REFLECT"),
    "Multinomial": lambda x, _: R.Multinomial(logits=_matrix(x), num_samples=3, seed=1, seed2=2),
    "RandomUniform": lambda x, _: x[0, :2, :3] + R.RandomUniform(shape=[2, 3], dtype=tf.float32, seed=1, seed2=2),
    "RandomStandardNormal": lambda x, _: (
        x[0, :2] + R.RandomStandardNormal(shape=[2, 4], dtype=tf.float32, seed=1, seed2=2)
    ),
    "NonMaxSuppression": lambda x, y: R.NonMaxSuppression(
        boxes=tf.sigmoid(_matrix(x)), scores=_flat(y)[:6], max_output_size=3
    ),
    "NonMaxSuppressionV2": lambda x, y: R.NonMaxSuppressionV2(
        boxes=tf.sigmoid(_matrix(x)), scores=_flat(y)[:6], max_output_size=3, iou_threshold=0.4
    ),
    "NonMaxSuppressionV3": lambda x, y: R.NonMaxSuppressionV3(
        boxes=tf.sigmoid(_matrix(x)), scores=_flat(y)[:6], max_output_size=3, iou_threshold=0.4, score_threshold=0.0
    ),
    "NonMaxSuppressionV4": lambda x, y: R.NonMaxSuppressionV4(
        boxes=tf.sigmoid(_matrix(x)), scores=_flat(y)[:6], max_output_size=3, iou_threshold=0.4, score_threshold=0.0
    ),
    "NonMaxSuppressionV5": lambda x, y: R.NonMaxSuppressionV5(
        boxes=tf.sigmoid(_matrix(x)),
        scores=_flat(y)[:6],
        max_output_size=3,
        iou_threshold=0.4,
        score_threshold=0.0,
        soft_nms_sigma=0.0,
    ),
    "NonMaxSuppressionWithOverlaps": lambda x, y: R.NonMaxSuppressionWithOverlaps(
        overlaps=tf.sigmoid(tf.reshape(tf.tile(_flat(x), [2])[:36], [6, 6])),
        scores=_flat(y)[:6],
        max_output_size=3,
        overlap_threshold=0.4,
        score_threshold=0.0,
    ),
    "NthElement": lambda x, _: R.NthElement(input=_matrix(x), n=1),
    "OneHot": lambda x, _: R.OneHot(indices=[0, 2], depth=3, on_value=x[0, 0, 0], off_value=0.0),
    "Pack": lambda x, y: R.Pack(values=[x, y], axis=1),
    "Pad": lambda x, _: R.Pad(input=x, paddings=[[0, 0], [1, 1], [2, 1]]),
    "PadV2": lambda x, _: R.PadV2(input=x, paddings=[[0, 0], [1, 1], [2, 1]], constant_values=3.0),
    "PlaceholderWithDefault": lambda x, _: R.PlaceholderWithDefault(input=x, shape=[2, 3, 4]),
    "RaggedRange": lambda x, _: R.RaggedRange(starts=[0, 5], limits=[3, 7], deltas=[1, 1])[1] + _whole(x[0, 0, :1]),
    "Range": lambda x, _: x[0, 0] + R.Range(start=0.0, limit=4.0, delta=1.0),
    "Reshape": lambda x, _: R.Reshape(tensor=x, shape=[6, 4]),
    "ResizeArea": lambda x, _: R.ResizeArea(images=_image(x), size=[2, 3]),
    "ResizeBicubic": lambda x, _: R.ResizeBicubic(images=_image(x), size=[5, 3]),
    "ResizeBilinear": lambda x, _: R.ResizeBilinear(images=_image(x), size=[5, 3]),
    "ResizeNearestNeighbor": lambda x, _: R.ResizeNearestNeighbor(images=_image(x), size=[5, 3]),
    "ScaleAndTranslate": lambda x, _: R.ScaleAndTranslate(
        images=_image(x), size=[3, 3], scale=[0.8, 0.7], translation=[0.1, 0.2]
    ),
    "Reverse": lambda x, _: R.Reverse(tensor=x, dims=[False, True, False]),
    "ReverseSequence": lambda x, _: R.ReverseSequence(input=x, seq_lengths=[2, 3], seq_dim=1),
    "ReverseV2": lambda x, _: R.ReverseV2(tensor=x, axis=[1]),
    "Roll": lambda x, _: R.Roll(input=x, shift=[1], axis=[1]),
    "ScatterNd": lambda x, _: R.ScatterNd(indices=[[1], [0]], updates=x, shape=[3, 3, 4]),
    "ScatterNdNonAliasingAdd": lambda x, y: R.ScatterNdNonAliasingAdd(input=x + 1.0, indices=[[1], [0]], updates=y),
    **{
        f"TensorScatter{name}": lambda x, y, name=name: getattr(R, f"TensorScatter{name}")(
            tensor=x, indices=[[1], [0]], updates=y
        )
        for name in ["Add", "Max", "Min", "Sub", "Update"]
    },
    **{
        f"Segment{name}": lambda x, _, name=name: getattr(R, f"Segment{name}")(
            data=_matrix(x), segment_ids=_sorted_ids()
        )
        for name in ["Max", "Mean", "Min", "Prod", "Sum"]
    },
    **{
        f"Segment{name}V2": lambda x, _, name=name: getattr(R, f"Segment{name}V2")(
            data=_matrix(x), segment_ids=_sorted_ids(), num_segments=5
        )
        for name in ["Max", "Min", "Prod", "Sum"]
    },
    **{
        f"UnsortedSegment{name}": lambda x, _, name=name: getattr(R, f"UnsortedSegment{name}")(
            data=_matrix(x), segment_ids=_ids(3), num_segments=3
        )
        for name in ["Max", "Min", "Prod", "Sum"]
    },
    **{f"SparseSegment{name}": _sparse(f"SparseSegment{name}") for name in ["Mean", "SqrtN", "Sum"]},
    **{
        f"SparseSegment{name}WithNumSegments": _sparse(f"SparseSegment{name}WithNumSegments", num_segments=5)
        for name in ["Mean", "SqrtN", "Sum"]
    },
    "SparseToDense": lambda x, _: R.SparseToDense(
        sparse_indices=[[0, 1], [1, 2]], output_shape=[2, 3], sparse_values=x[0, 0, :2], default_value=0.0
    ),
    "SparseTensorDenseMatMul": lambda x, y: R.SparseTensorDenseMatMul(
        a_indices=[[0, 1], [1, 2]], a_values=x[0, 0, :2], a_shape=[2, 6], b=_matrix(y)
    ),
    "SparseTensorDenseAdd": lambda x, y: R.SparseTensorDenseAdd(
        a_indices=[[0, 1], [1, 2]], a_values=x[0, 0, :2], a_shape=[6, 4], b=_matrix(y)
    ),
    "SparseSoftmaxCrossEntropyWithLogits": lambda x, _: R.SparseSoftmaxCrossEntropyWithLogits(
        features=_matrix(x), labels=[0, 1, 2, 3, 0, 1]
    ),
    "SoftmaxCrossEntropyWithLogits": lambda x, y: R.SoftmaxCrossEntropyWithLogits(
        features=_matrix(x), labels=tf.nn.softmax(_matrix(y))
    ),
    "Select": lambda x, y: R.Select(condition=_truth(x), x=x, y=y),
    "SelectV2": lambda x, y: R.SelectV2(condition=_truth(x[:, :1]), t=x, e=y),
    "ShapeN": lambda x, y: R.ShapeN(input=[x, y]),
    "Slice": lambda x, _: R.Slice(input=x, begin=[0, 1, 0], size=[2, 2, 4]),
    "Split": lambda x, _: R.Split(axis=2, value=x, num_split=2),
    "SplitV": lambda x, _: R.SplitV(value=x, size_splits=[1, 3], axis=2, num_split=2),
    "Squeeze": lambda x, _: R.Squeeze(input=x[:, :1], axis=[1]),
    "StridedSlice": lambda x, _: R.StridedSlice(input=x, begin=[0, 0, 3], end=[2, 3, 0], strides=[1, 2, -1]),
    "StridedSliceGrad": lambda x, _: R.StridedSliceGrad(
        shape=[4, 6, 4], begin=[0, 0, 0], end=[4, 6, 4], strides=[2, 2, 1], dy=x
    ),
    "TensorStridedSliceUpdate": lambda x, y: R.TensorStridedSliceUpdate(
        input=x, begin=[0, 0, 0], end=[2, 3, 4], strides=[1, 1, 2], value=y[:, :, :2]
    ),
    **{
        name: _seeded(name, shape=[2, 3, 4], **more)
        for name, more in {
            "StatelessRandomNormal": {},
            "StatelessRandomUniform": {},
            "StatelessTruncatedNormal": {},
            "StatelessRandomUniformFullInt": {"dtype": tf.int32},
            "StatelessRandomUniformInt": {"minval": 0, "maxval": 9},
            "StatelessRandomBinomial": {"counts": 9.0, "probs": 0.4},
            "StatelessRandomGammaV2": {"alpha": 1.5},
            "StatelessRandomPoisson": {"lam": 4.0, "dtype": tf.float32},
            "StatelessParameterizedTruncatedNormal": {"means": 0.0, "stddevs": 1.0, "minvals": -1.0, "maxvals": 1.0},
        }.items()
    },
    "StatelessMultinomial": lambda x, _: (
        R.StatelessMultinomial(logits=[[0.1, 0.9, 0.3]], num_samples=4, seed=SEED) + tf.cast(_whole(x[0, :1]), tf.int64)
    ),
    **{
        name: _drawn(name, **more)
        for name, more in {
            "StatelessRandomNormalV2": {},
            "StatelessRandomUniformV2": {},
            "StatelessTruncatedNormalV2": {},
            "StatelessRandomUniformFullIntV2": {"dtype": tf.int32},
            "StatelessRandomUniformIntV2": {"minval": 0, "maxval": 9},
            "StatelessRandomGammaV3": {"alpha": 1.5},
        }.items()
    },
    "StatelessShuffle": lambda x, _: (
        x
        + R.StatelessShuffle(
            value=np.arange(4, dtype=np.float32),
            key=np.array([3], np.uint64),
            counter=np.array([0, 5], np.uint64),
            alg=1,
        )
    ),
    "StatelessRandomGetKeyCounter": lambda x, _: tf.bitcast(
        R.StatelessRandomGetKeyCounter(seed=_whole(x[0, 0, :2]))[0], tf.int32
    ),
    "StatelessRandomGetKeyCounterAlg": lambda x, _: tf.bitcast(
        R.StatelessRandomGetKeyCounterAlg(seed=_whole(x[0, 0, :2]))[1], tf.int32
    ),
    "StatelessRandomGetAlg": lambda x, _: _whole(x) + R.StatelessRandomGetAlg(),
    "StatelessSampleDistortedBoundingBox": lambda x, _: (
        R.StatelessSampleDistortedBoundingBox(
            image_size=[8, 8, 3], bounding_boxes=[[[0.1, 0.1, 0.9, 0.9]]], min_object_covered=0.5, seed=SEED
        )[0]
        + _whole(x[0, 0, :1])
    ),
    "Tile": lambda x, _: R.Tile(input=x, multiples=[1, 2, 1]),
    "TopK": lambda x, _: R.TopK(input=x, k=2),
    "TopKV2": lambda x, _: R.TopKV2(input=x, k=2),
    "ApproxTopK": lambda x, _: R.ApproxTopK(input=x, k=2, reduction_dimension=2),
    "Transpose": lambda x, _: R.Transpose(x=x, perm=[2, 0, 1]),
    "UniqueV2": lambda x, _: R.UniqueV2(x=_flat(_whole(x)), axis=[0]),
    "UniqueWithCountsV2": lambda x, _: R.UniqueWithCountsV2(x=_flat(_whole(x)), axis=[0]),
    "Unpack": lambda x, _: R.Unpack(value=x, num=3, axis=1),
    "UnravelIndex": lambda x, _: R.UnravelIndex(indices=tf.abs(_whole(x[0, 0])) % 12, dims=[3, 4]),
    "TensorListFromTensor": lambda x, _: R.TensorListStack(
        input_handle=_list(x), element_shape=[3, 4], element_dtype=tf.float32
    ),
    "TensorListStack": lambda x, _: R.TensorListStack(
        input_handle=_list(x), element_shape=[3, 4], element_dtype=tf.float32
    ),
    "TensorListGetItem": lambda x, _: R.TensorListGetItem(
        input_handle=_list(x), index=1, element_shape=[3, 4], element_dtype=tf.float32
    ),
    "TensorListSetItem": lambda x, y: R.TensorListStack(
        input_handle=R.TensorListSetItem(input_handle=_list(x), index=1, item=y[0]),
        element_shape=[3, 4],
        element_dtype=tf.float32,
    ),
    "TensorListReserve": lambda y: R.TensorListStack(
        input_handle=R.TensorListSetItem(
            input_handle=R.TensorListReserve(element_shape=[3, 4], num_elements=2, element_dtype=tf.float32),
            index=1,
            item=y[0],
        ),
        element_shape=[3, 4],
        element_dtype=tf.float32,
    ),
    "TensorListLength": lambda x, _: _whole(x) + R.TensorListLength(input_handle=_list(x)),
    "TensorListElementShape": lambda x, _: (
        R.TensorListElementShape(input_handle=_list(x), shape_type=tf.int32) + _whole(x[0, 0, :2])
    ),
    "TensorListPushBack": lambda x, y: R.TensorListStack(
        input_handle=R.TensorListPushBack(input_handle=_list(x), tensor=y[0]),
        element_shape=[3, 4],
        element_dtype=tf.float32,
    ),
    "TensorListPopBack": lambda x, _: R.TensorListPopBack(
        input_handle=_list(x), element_shape=[3, 4], element_dtype=tf.float32
    )[1],
    "EmptyTensorList": lambda y: R.TensorListStack(
        input_handle=R.TensorListPushBack(
            input_handle=R.EmptyTensorList(element_shape=[3, 4], max_num_elements=2, element_dtype=tf.float32),
            tensor=y[0],
        ),
        element_shape=[3, 4],
        element_dtype=tf.float32,
    ),
    "TensorListConcat": lambda x, _: R.TensorListConcat(
        input_handle=_list(x), element_dtype=tf.float32, element_shape=[3, 4]
    )[0],
    "TensorListConcatV2": lambda x, _: R.TensorListConcatV2(
        input_handle=_list(x), element_dtype=tf.float32, element_shape=[3, 4], leading_dims=[]
    )[0],
    "TensorListGather": lambda x, _: R.TensorListGather(
        input_handle=_list(x), indices=[1, 0], element_shape=[3, 4], element_dtype=tf.float32
    ),
    "TensorListScatterV2": lambda x, _: R.TensorListStack(
        input_handle=R.TensorListScatterV2(tensor=x, indices=[1, 0], element_shape=[3, 4], num_elements=2),
        element_shape=[3, 4],
        element_dtype=tf.float32,
    ),
    "TensorListResize": lambda x, _: R.TensorListStack(
        input_handle=R.TensorListResize(input_handle=_list(x), size=3), element_shape=[3, 4], element_dtype=tf.float32
    ),
    "TensorListSplit": lambda x, _: R.TensorListStack(
        input_handle=R.TensorListSplit(tensor=_matrix(x), element_shape=[3, 4], lengths=np.array([3, 3], np.int64)),
        element_shape=[3, 4],
        element_dtype=tf.float32,
    ),
}
