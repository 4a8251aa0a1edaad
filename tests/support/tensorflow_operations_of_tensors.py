"""Examples of TensorFlow's operations, of elements, matrices and layers."""

# mypy: ignore-errors
import numpy as np
import tensorflow as tf
from tensorflow_operation_tensors import (
    FILTER,
    FILTER_3D,
    ROW,
    STRIDES,
    R,
    _binary,
    _complex,
    _flat,
    _image,
    _matrix,
    _norm,
    _positive,
    _symmetric,
    _truth,
    _unary,
    _unit,
    _volume,
    _whole,
)

ELEMENT_EXAMPLES = {
    **_unary("Abs Atan Ceil Cos Cosh Elu Erf Erfc Exp Expm1 Floor Identity Inv IsFinite IsInf IsNan LeakyRelu Neg"),
    **_unary("OnesLike Reciprocal Relu Relu6 Rint Round Selu Sigmoid Sign Sin Sinh Snapshot Softplus Softsign Square"),
    **_unary(
        "StopGradient PreventGradient Tan Tanh ZerosLike GuaranteeConst L2Loss LogSoftmax Softmax Rank Shape Size"
    ),
    **_unary("DebugGradientIdentity DeepCopy BesselI0e BesselI1e Asinh"),
    **_unary("Acos Asin Atanh Erfinv", _unit),
    **_unary("BesselI0 BesselI1 BesselJ0 BesselJ1", _unit),
    **_unary("Acosh", lambda x: 1.0 + _positive(x)),
    **_unary("Log Log1p Lgamma Digamma Rsqrt Sqrt", _positive),
    **_unary(
        "BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 Dawsn Expint FresnelCos FresnelSin Spence", _positive
    ),
    **_unary("Ndtri", lambda x: 0.5 + 0.4 * tf.tanh(x)),
    **_unary("LogicalNot ToBool", _truth),
    **_unary("Invert PopulationCount", _whole),
    **_unary("InvertPermutation", lambda x: tf.argsort(_flat(x))),
    **_unary("Diag", lambda x: x[0, 0]),
    **_unary("DiagPart", lambda x: x[0, :3, :3]),
    **_unary("MatrixDiag", lambda x: x),
    **_unary("MatrixDiagPart", lambda x: x[:, :, :3]),
    **_unary(
        "MatrixDeterminant LogMatrixDeterminant MatrixInverse Cholesky Qr BatchCholesky BatchMatrixInverse", _symmetric
    ),
    **_unary("BatchMatrixDeterminant MatrixExponential MatrixSquareRoot Lu Svd Eig SelfAdjointEigV2", _symmetric),
    **_unary("SelfAdjointEig BatchSelfAdjointEig BatchSelfAdjointEigV2 BatchSvd MatrixLogarithm", _symmetric),
    **_unary("RGBToHSV HSVToRGB", lambda x: tf.sigmoid(x[:, :, :3])),
    "Where": lambda x: R.Where(condition=_truth(x)),
    **_unary("Unique", lambda x: _flat(_whole(x))),
    **_unary("UniqueWithCounts", lambda x: _flat(_whole(x))),
    **_binary("Add AddV2 Sub Mul Maximum Minimum SquaredDifference Atan2 Equal NotEqual Less LessEqual Greater"),
    **_binary("GreaterEqual ApproximateEqual NextAfter MulNoNan DivNoNan Xdivy"),
    **_binary("Div RealDiv FloorDiv FloorMod TruncateDiv TruncateMod Mod", right=_positive),
    **_binary("Pow", left=_positive, right=_unit),
    **_binary("Xlogy Xlog1py", right=_positive),
    **_binary("Igamma Igammac IgammaGradA", _positive, _positive),
    **_binary("Polygamma", lambda x: tf.ones_like(x), _positive),
    **_binary("Zeta", lambda x: 1.5 + _positive(x), _positive),
    **_binary("LogicalAnd LogicalOr", _truth, _truth),
    **_binary("BitwiseAnd BitwiseOr BitwiseXor", _whole, _whole),
    **_binary("LeftShift RightShift", _whole, lambda y: tf.abs(_whole(y)) % 32),
    **_binary("Complex"),
    **_binary("SigmoidGrad TanhGrad ReluGrad Relu6Grad LeakyReluGrad EluGrad SeluGrad SoftplusGrad SoftsignGrad"),
    **_binary("RsqrtGrad SqrtGrad ReciprocalGrad InvGrad", _positive),
    **_binary("Cross", lambda x: x[:, :, :3], lambda y: y[:, :, :3]),
    **_binary("BatchMatMul BatchMatMulV2", right=lambda y: tf.transpose(y, [0, 2, 1])),
    "BatchMatMulV3": lambda x, y: R.BatchMatMulV3(x=x, y=y, Tout=tf.float32, adj_y=True),
    "MatMul": lambda x, y: R.MatMul(a=_matrix(x), b=_matrix(y), transpose_b=True),
    "SparseMatMul": lambda x, y: R.SparseMatMul(a=_matrix(x), b=_matrix(y), transpose_b=True),
    "Betainc": lambda x, y: R.Betainc(a=_positive(x), b=_positive(y), x=0.5 + 0.4 * tf.tanh(x)),
    "AccumulateNV2": lambda x, y: R.AccumulateNV2(inputs=[x, y], shape=[2, 3, 4]),
    "AddN": lambda x, y: R.AddN(inputs=[x, y]),
    "AdjustContrastv2": lambda x, _: R.AdjustContrastv2(images=_image(x), contrast_factor=1.5),
    "AdjustHue": lambda x, _: R.AdjustHue(images=tf.sigmoid(x[:, :, :3])[None], delta=0.2),
    "AdjustSaturation": lambda x, _: R.AdjustSaturation(images=tf.sigmoid(x[:, :, :3])[None], scale=0.7),
    **{
        name: lambda x, _, name=name: getattr(R, name)(input=x, axis=[1], keep_dims=True)
        for name in ["Max", "Mean", "Min", "Prod", "Sum", "EuclideanNorm"]
    },
    **{name: lambda x, _, name=name: getattr(R, name)(input=_truth(x), axis=[1]) for name in ("All", "Any")},
    **{name: lambda x, _, name=name: getattr(R, name)(input=x, dimension=1) for name in ("ArgMax", "ArgMin")},
    "Angle": lambda x, y: R.Angle(input=_complex(x, y)),
    "ComplexAbs": lambda x, y: R.ComplexAbs(x=_complex(x, y)),
    "Conj": lambda x, y: tf.math.imag(R.Conj(input=_complex(x, y))),
    "Real": lambda x, y: R.Real(input=_complex(x, y)),
    "Imag": lambda x, y: R.Imag(input=_complex(x, y)),
    "AvgPool": lambda x, _: R.AvgPool(value=_image(x), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"),
    "AvgPool3D": lambda x, _: R.AvgPool3D(
        input=_volume(x), ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID"
    ),
    "MaxPool": lambda x, _: R.MaxPool(input=_image(x), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"),
    "MaxPoolV2": lambda x, _: R.MaxPoolV2(input=_image(x), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"),
    "MaxPool3D": lambda x, _: R.MaxPool3D(
        input=_volume(x), ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID"
    ),
    "MaxPoolWithArgmax": lambda x, _: R.MaxPoolWithArgmax(
        input=_image(x), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"
    ),
    "BatchMatrixBandPart": lambda x, _: R.BatchMatrixBandPart(input=x, num_lower=1, num_upper=0),
    "MatrixBandPart": lambda x, _: R.MatrixBandPart(input=x, num_lower=1, num_upper=0),
    "MatrixDiagV2": lambda x, _: R.MatrixDiagV2(diagonal=x, k=1, num_rows=-1, num_cols=-1, padding_value=0.0),
    "MatrixDiagV3": lambda x, _: R.MatrixDiagV3(diagonal=x, k=0, num_rows=-1, num_cols=-1, padding_value=0.0),
    "MatrixDiagPartV2": lambda x, _: R.MatrixDiagPartV2(input=x, k=1, padding_value=0.0),
    "MatrixDiagPartV3": lambda x, _: R.MatrixDiagPartV3(input=x, k=0, padding_value=0.0),
    "MatrixSetDiag": lambda x, y: R.MatrixSetDiag(input=x, diagonal=y[:, :, 0]),
    "MatrixSetDiagV2": lambda x, y: R.MatrixSetDiagV2(input=x, diagonal=y[:, :, 0], k=0),
    "MatrixSetDiagV3": lambda x, y: R.MatrixSetDiagV3(input=x, diagonal=y[:, :, 0], k=0),
    "BatchMatrixDiag": lambda x, _: R.BatchMatrixDiag(diagonal=x),
    "BatchMatrixDiagPart": lambda x, _: R.BatchMatrixDiagPart(input=x[:, :, :3]),
    "BatchMatrixSetDiag": lambda x, y: R.BatchMatrixSetDiag(input=x, diagonal=y[:, :, 0]),
    "MatrixSolve": lambda x, y: R.MatrixSolve(matrix=_symmetric(x), rhs=y),
    "BatchMatrixSolve": lambda x, y: R.BatchMatrixSolve(matrix=_symmetric(x), rhs=y),
    "MatrixSolveLs": lambda x, y: R.MatrixSolveLs(matrix=_symmetric(x), rhs=y, l2_regularizer=np.float64(0.1)),
    "BatchMatrixSolveLs": lambda x, y: R.BatchMatrixSolveLs(
        matrix=_symmetric(x), rhs=y, l2_regularizer=np.float64(0.1)
    ),
    "MatrixTriangularSolve": lambda x, y: R.MatrixTriangularSolve(matrix=_symmetric(x), rhs=y),
    "BatchMatrixTriangularSolve": lambda x, y: R.BatchMatrixTriangularSolve(matrix=_symmetric(x), rhs=y),
    "BandedTriangularSolve": lambda x, y: R.BandedTriangularSolve(
        matrix=_positive(x)[:, :2], rhs=tf.transpose(y, [0, 2, 1])
    ),
    "TridiagonalSolve": lambda x, y: R.TridiagonalSolve(
        diagonals=x + np.array([[0], [9], [0]], np.float32), rhs=y[:, 0, :, None]
    ),
    "TridiagonalMatMul": lambda x, y: R.TridiagonalMatMul(
        superdiag=x[:, :1], maindiag=x[:, 1:2], subdiag=x[:, 2:], rhs=tf.transpose(y, [0, 2, 1])
    ),
    "BatchNormWithGlobalNormalization": lambda x, _: R.BatchNormWithGlobalNormalization(
        t=_image(x), m=ROW, v=ROW, beta=ROW, gamma=ROW, variance_epsilon=0.1, scale_after_normalization=True
    ),
    "FusedBatchNorm": _norm("FusedBatchNorm"),
    "FusedBatchNormV2": _norm("FusedBatchNormV2"),
    "FusedBatchNormV3": _norm("FusedBatchNormV3"),
    "BatchToSpace": lambda x, _: R.BatchToSpace(
        input=tf.reshape(_image(x), [4, 2, 2, 2]), crops=[[0, 0], [0, 0]], block_size=2
    ),
    "BatchToSpaceND": lambda x, _: R.BatchToSpaceND(
        input=tf.reshape(_image(x), [4, 2, 2, 2]), block_shape=[2, 2], crops=[[0, 0], [0, 0]]
    ),
    "SpaceToBatch": lambda x, _: R.SpaceToBatch(input=_image(x), paddings=[[0, 0], [0, 0]], block_size=2),
    "SpaceToBatchND": lambda x, _: R.SpaceToBatchND(input=_image(x), block_shape=[2, 2], paddings=[[0, 0], [0, 0]]),
    "SpaceToDepth": lambda x, _: R.SpaceToDepth(input=_image(x), block_size=2),
    "DepthToSpace": lambda x, _: R.DepthToSpace(input=tf.reshape(_image(x), [1, 2, 2, 8]), block_size=2),
    "BiasAdd": lambda x, y: R.BiasAdd(value=x, bias=y[0, 0]),
    "BiasAddV1": lambda x, y: R.BiasAddV1(value=x, bias=y[0, 0]),
    "BiasAddGrad": lambda x, _: R.BiasAddGrad(out_backprop=x),
    "Bincount": lambda x, y: R.Bincount(arr=_flat(tf.abs(_whole(x))), size=5, weights=_flat(y)),
    "DenseBincount": lambda x, y: R.DenseBincount(input=_flat(tf.abs(_whole(x))), size=5, weights=_flat(y)),
    "Bitcast": lambda x, _: R.Bitcast(input=x, type=tf.int32),
    "BroadcastArgs": lambda x, _: R.BroadcastArgs(s0=tf.shape(x), s1=[1, 1, 4]),
    "BroadcastGradientArgs": lambda x, _: R.BroadcastGradientArgs(s0=tf.shape(x), s1=[1, 1, 4]),
    "BroadcastTo": lambda x, _: R.BroadcastTo(input=x[:, :1], shape=[2, 3, 4]),
    "Bucketize": lambda x, _: R.Bucketize(input=x, boundaries=[-1.0, 0.0, 2.0]),
    "CTCGreedyDecoder": lambda x, _: R.CTCGreedyDecoder(inputs=x, sequence_length=[2, 1, 2])[3],
    "Cast": lambda x, _: R.Cast(x=_unit(x) * 9.0, DstT=tf.int32),
    "CheckNumerics": lambda x, _: R.CheckNumerics(tensor=x, message="a"),
    "CheckNumericsV2": lambda x, _: R.CheckNumericsV2(tensor=x, message="a"),
    "ClipByValue": lambda x, _: R.ClipByValue(t=x, clip_value_min=-1.0, clip_value_max=0.5),
    "CombinedNonMaxSuppression": lambda x, y: R.CombinedNonMaxSuppression(
        boxes=tf.sigmoid(tf.reshape(x, [1, 6, 1, 4])),
        scores=tf.sigmoid(tf.reshape(y, [1, 6, 4])),
        max_output_size_per_class=2,
        max_total_size=3,
        iou_threshold=0.5,
        score_threshold=0.1,
    ),
    "Concat": lambda x, y: R.Concat(concat_dim=1, values=[x, y]),
    "ConcatOffset": lambda x, y: R.ConcatOffset(concat_dim=1, shape=[tf.shape(x), tf.shape(y)]),
    "ConcatV2": lambda x, y: R.ConcatV2(values=[x, y], axis=1),
    "ParallelConcat": lambda x, y: R.ParallelConcat(values=[x[None], y[None]], shape=[2, 2, 3, 4]),
    "ConjugateTranspose": lambda x, y: tf.math.imag(R.ConjugateTranspose(x=_complex(x, y), perm=[0, 2, 1])),
    "Const": lambda x, _: x + tf.constant(2.0),
    "Conv": lambda x, _: R.Conv(input=_image(x), filter=FILTER, strides=STRIDES, padding="SAME"),
    "Conv2D": lambda x, _: R.Conv2D(input=_image(x), filter=FILTER, strides=STRIDES, padding="SAME"),
    "Conv2DBackpropInput": lambda x, _: R.Conv2DBackpropInput(
        input_sizes=[1, 4, 4, 2],
        filter=FILTER,
        out_backprop=tf.tile(_image(x), [1, 1, 1, 2])[..., :3],
        strides=STRIDES,
        padding="SAME",
    ),
    "Conv2DBackpropInputV2": lambda x, _: R.Conv2DBackpropInputV2(
        input=_image(x),
        filter=FILTER,
        out_backprop=tf.tile(_image(x), [1, 1, 1, 2])[..., :3],
        strides=STRIDES,
        padding="SAME",
    ),
    "Conv3D": lambda x, _: R.Conv3D(input=_volume(x), filter=FILTER_3D, strides=[1] * 5, padding="SAME"),
    "Conv3DBackpropInputV2": lambda x, _: R.Conv3DBackpropInputV2(
        input_sizes=[1, 4, 4, 2, 2],
        filter=FILTER_3D,
        out_backprop=tf.tile(_volume(x), [1, 1, 1, 1, 2])[..., :3],
        strides=[1] * 5,
        padding="SAME",
    ),
    "DepthwiseConv2dNative": lambda x, _: R.DepthwiseConv2dNative(
        input=_image(x), filter=FILTER, strides=STRIDES, padding="SAME"
    ),
    "DepthwiseConv2dNativeBackpropInput": lambda x, _: R.DepthwiseConv2dNativeBackpropInput(
        input_sizes=[1, 4, 4, 2],
        filter=FILTER,
        out_backprop=tf.tile(_image(x), [1, 1, 1, 3]),
        strides=STRIDES,
        padding="SAME",
    ),
    "Dilation2D": lambda x, _: R.Dilation2D(
        input=_image(x), filter=FILTER[..., 0], strides=STRIDES, rates=STRIDES, padding="SAME"
    ),
    "CropAndResize": lambda x, y: R.CropAndResize(
        image=_image(x), boxes=tf.sigmoid(_matrix(y)), box_ind=[0] * 6, crop_size=[2, 3]
    ),
    "Cumprod": lambda x, _: R.Cumprod(x=x, axis=1),
    "Cumsum": lambda x, _: R.Cumsum(x=x, axis=1),
    "CumulativeLogsumexp": lambda x, _: R.CumulativeLogsumexp(x=x, axis=1),
    "DataFormatDimMap": lambda x, _: R.DataFormatDimMap(x=_whole(_unit(x) * 3.0)),
    "DataFormatVecPermute": lambda x, _: R.DataFormatVecPermute(x=_whole(x[0, 0])),
    "Dequantize": lambda x, _: R.Dequantize(input=tf.bitcast(_whole(x), tf.quint8), min_range=0.0, max_range=6.0),
    "DynamicPartition": lambda x, _: R.DynamicPartition(data=x, partitions=[0, 1], num_partitions=2),
    "DynamicStitch": lambda x, y: R.DynamicStitch(indices=[[0, 2], [1, 3]], data=[x, y]),
    "ParallelDynamicStitch": lambda x, y: R.ParallelDynamicStitch(indices=[[0, 2], [1, 3]], data=[x, y]),
    "Einsum": lambda x, y: R.Einsum(inputs=[x, y], equation="bij,bkj->bik"),
    "Empty": lambda x, _: x + R.Empty(shape=[2, 3, 4], dtype=tf.float32, init=True),
    "EnsureShape": lambda x, _: R.EnsureShape(input=x, shape=[2, 3, 4]),
    "ExpandDims": lambda x, _: R.ExpandDims(input=x, axis=1),
    "ExtractGlimpse": lambda x, _: R.ExtractGlimpse(input=_image(x), size=[2, 2], offsets=[[0.1, 0.1]]),
    "ExtractGlimpseV2": lambda x, _: R.ExtractGlimpseV2(input=_image(x), size=[2, 2], offsets=[[0.1, 0.1]]),
    "ExtractImagePatches": lambda x, _: R.ExtractImagePatches(
        images=_image(x), ksizes=[1, 2, 2, 1], strides=STRIDES, rates=STRIDES, padding="SAME"
    ),
    "ExtractVolumePatches": lambda x, _: R.ExtractVolumePatches(
        input=_volume(x), ksizes=[1, 2, 2, 2, 1], strides=[1] * 5, padding="VALID"
    ),
    **{
        name: lambda x, y, name=name: tf.abs(getattr(R, name)(input=_complex(x, y)))
        for name in ("FFT", "IFFT", "FFT2D", "IFFT2D", "FFT3D", "IFFT3D")
    },
    "RFFT": lambda x, _: tf.abs(R.RFFT(input=x, fft_length=[4])),
    "RFFT2D": lambda x, _: tf.abs(R.RFFT2D(input=x, fft_length=[2, 4])),
    "RFFT3D": lambda x, _: tf.abs(R.RFFT3D(input=x, fft_length=[2, 2, 4])),
    "IRFFT": lambda x, y: R.IRFFT(input=_complex(x[..., :3], y[..., :3]), fft_length=[4]),
    "IRFFT2D": lambda x, y: R.IRFFT2D(input=_complex(x[..., :3], y[..., :3]), fft_length=[2, 4]),
    "IRFFT3D": lambda x, y: R.IRFFT3D(input=_complex(x[..., :3], y[..., :3]), fft_length=[2, 2, 4]),
    "FakeQuantWithMinMaxArgs": lambda x, _: R.FakeQuantWithMinMaxArgs(inputs=x),
    "FakeQuantWithMinMaxVars": lambda x, _: R.FakeQuantWithMinMaxVars(inputs=x, min=-2.0, max=3.0),
    "FakeQuantWithMinMaxVarsPerChannel": lambda x, _: R.FakeQuantWithMinMaxVarsPerChannel(
        inputs=x, min=[-1.0, -2.0, -3.0, -1.0], max=[1.0, 2.0, 3.0, 1.0]
    ),
    "QuantizeAndDequantizeV2": lambda x, _: R.QuantizeAndDequantizeV2(
        input=x, input_min=-1.0, input_max=1.0, range_given=True
    ),
    "QuantizeAndDequantizeV3": lambda x, _: R.QuantizeAndDequantizeV3(
        input=x, input_min=-1.0, input_max=1.0, num_bits=8, range_given=True
    ),
    "QuantizeAndDequantizeV4": lambda x, _: R.QuantizeAndDequantizeV4(
        input=x, input_min=-1.0, input_max=1.0, range_given=True
    ),
    "Fill": lambda x, _: R.Fill(dims=[2, 2], value=x[0, 0, 0]),
    "FusedPadConv2D": lambda x, _: R.FusedPadConv2D(
        input=_image(x),
        paddings=[[0, 0], [1, 1], [1, 1], [0, 0]],
        filter=FILTER,
        mode="REFLECT",
        strides=STRIDES,
        padding="VALID",
    ),
    "FusedResizeAndPadConv2D": lambda x, _: R.FusedResizeAndPadConv2D(
        input=_image(x),
        size=[5, 5],
        paddings=[[0, 0], [1, 1], [1, 1], [0, 0]],
        filter=FILTER,
        mode="REFLECT",
        strides=STRIDES,
        padding="VALID",
    ),
    "GRUBlockCell": lambda x, y: R.GRUBlockCell(
        x=x[:, 0],
        h_prev=y[:, 0, :2],
        w_ru=np.ones((6, 4), np.float32) / 9,
        w_c=np.ones((6, 2), np.float32) / 9,
        b_ru=np.zeros(4, np.float32),
        b_c=np.zeros(2, np.float32),
    )[3],
    "LSTMBlockCell": lambda x, y: R.LSTMBlockCell(
        x=x[:, 0],
        cs_prev=y[:, 0, :2],
        h_prev=y[:, 1, :2],
        w=np.ones((6, 8), np.float32) / 9,
        wci=ROW,
        wcf=ROW,
        wco=ROW,
        b=np.zeros(8, np.float32),
    )[6],
    "BlockLSTM": lambda x, y: R.BlockLSTM(
        seq_len_max=np.int64(2),
        x=x,
        cs_prev=y[0, :, :2],
        h_prev=y[1, :, :2],
        w=np.ones((6, 8), np.float32) / 9,
        wci=ROW,
        wcf=ROW,
        wco=ROW,
        b=np.zeros(8, np.float32),
    )[6],
    "BlockLSTMV2": lambda x, y: R.BlockLSTMV2(
        seq_len_max=np.int64(2),
        x=x,
        cs_prev=y[0, :, :2],
        h_prev=y[1, :, :2],
        w=np.ones((6, 8), np.float32) / 9,
        wci=ROW,
        wcf=ROW,
        wco=ROW,
        b=np.zeros(8, np.float32),
    )[6],
}
