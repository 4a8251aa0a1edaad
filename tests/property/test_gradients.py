"""Gradients of random models, with branches, loops and shared weights, equal central differences in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.random_trainable import SHAPE, RandomTrainable
from support.trained_model import TrainedReference, check_gradients, trained_reference
from tflmgen.errors import ModelError
from tflmgen.frontend.tflite import Model, ModelBuilder, SubGraphBuilder, write_model
from tflmgen.gradients.flow_graph import graphs_of
from tflmgen.gradients.training_model import TrainingOptions, derive_training_model
from tflmgen.gradients.update_step import StepOptions
from tflmgen.gradients.weight_choice import find_weights
from tflmgen.ir import DType
from tflmgen.options import Loss, OptimizerName

PROGRAMS = 60
OF_ONE_OUTPUT = [loss for loss in Loss if loss is not Loss.CONTRASTIVE]
PARTS = 6


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(part: int) -> None:
    derived = 0
    for seed in range(part, PROGRAMS, PARTS):
        rng = np.random.default_rng(seed)
        loss = OF_ONE_OUTPUT[seed % len(OF_ONE_OUTPUT)]
        target = np.array([1], np.int32) if loss is Loss.SPARSE_CATEGORICAL_CROSSENTROPY else rng.uniform(0, 1, SHAPE)
        model = RandomTrainable(seed).model()
        if not find_weights(graphs_of(model)[0]).weights:
            continue
        reference = trained_reference(model, loss)
        check_gradients(reference, [rng.standard_normal(SHAPE), target])
        derived += 1
    assert derived >= PROGRAMS // PARTS // 2


def test_litert_runs_the_same_file() -> None:
    """Steps with momentum of random programs, as TensorFlow Lite's own runtime takes them."""
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is the reference")
    for seed in range(0, PROGRAMS, 3):
        model = RandomTrainable(seed).model()
        if not find_weights(graphs_of(model)[0]).weights:
            continue
        step = StepOptions(OptimizerName.MOMENTUM, 0.01)
        trained = derive_training_model(model, TrainingOptions(Loss.MSE, step, portable=True))
        interpreter = litert.Interpreter(
            model_content=write_model(trained.model),
            experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF,
            num_threads=1,
        )
        train, reference = interpreter.get_signature_runner("train"), TrainedReference(trained)
        rng = np.random.default_rng(seed)
        for _ in range(3):
            x, y = (rng.uniform(-1, 1, SHAPE).astype(np.float32) for _ in range(2))
            expected = reference.run("train", [x, y])
            np.testing.assert_allclose(train(x=x, y=y)["loss"], expected, rtol=1e-4, err_msg=str(seed))


KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D")


def add_window(graph: SubGraphBuilder, value: int, kind: str, rng: np.random.Generator) -> int:
    """A convolution or pool of random taps, steps, padding, dilations and groups; its result."""
    taps, strides = rng.integers(1, 3, 2).tolist(), rng.integers(1, 3, 2).tolist()
    batch, *sizes, channels = graph.tensors[value].shape
    options = {"padding": int(rng.integers(2)), "stride_h": strides[0], "stride_w": strides[1]}
    operands, results, reach = [value], channels, taps
    if kind.endswith("POOL_2D"):
        options |= {"filter_height": taps[0], "filter_width": taps[1]}
    else:
        groups = int(rng.choice([1, 2])) if kind == "CONV_2D" else 1
        results = int(rng.choice([4, 6])) if kind == "CONV_2D" else 2 * channels
        shape = (results, *taps, channels // groups) if kind == "CONV_2D" else (1, *taps, results)
        operands += [
            graph.constant(f"{label}_{len(graph.tensors)}", rng.standard_normal(size).astype(np.float32))
            for label, size in (("w", shape), ("b", (results,)))
        ]
        dilation = int(rng.integers(1, 3))
        options |= {"dilation_h_factor": 1, "dilation_w_factor": dilation}
        reach = [taps[0], (taps[1] - 1) * dilation + 1]
    rest = [0, 0] if options["padding"] == 0 else [r - 1 for r in reach]
    outputs = [-(-(size - less) // stride) for size, less, stride in zip(sizes, rest, strides, strict=True)]
    result = graph.tensor(f"t_{len(graph.tensors)}", DType.FLOAT32, (batch, *outputs, results))
    graph.operator(kind, operands, [result], options)
    return result


def window_model(rng: np.random.Generator) -> tuple[Model, tuple[int, ...]]:
    """A convolution, another layer with a window, and the mean of the image."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    shape = (2, int(rng.integers(5, 8)), int(rng.integers(5, 8)), 2)
    x = graph.tensor("x", DType.FLOAT32, shape)
    value = add_window(graph, add_window(graph, x, "CONV_2D", rng), str(rng.choice(KINDS)), rng)
    mean = graph.tensor("mean", DType.FLOAT32, (2, graph.tensors[value].shape[3]))
    graph.operator("MEAN", [value, graph.constant("axes", np.array([1, 2], np.int32))], [mean])
    graph.inputs, graph.outputs = [x], [mean]
    return builder.model(), shape


def floats(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Numbers around 1, of which no two are equal."""
    order = np.random.default_rng(len(shape)).permutation(int(np.prod(shape)))
    return (0.5 + order.reshape(shape) / order.size).astype(np.float32)


def integers(*values: Any) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    return np.array(values, np.int32)


IDS = integers(2, 0, 2, -1)
SINGLE: list[tuple[str, tuple[int, ...], dict[int, Any], dict[str, Any], tuple[int, ...]]] = [
    ("ATAN2", (2, 3), {1: floats(2, 3)}, {}, (2, 3)),
    ("ATAN2", (2, 3), {0: floats(2, 3)}, {}, (2, 3)),
    ("FLOOR_MOD", (2, 3), {1: floats(3)}, {}, (2, 3)),
    ("FLOOR_MOD", (2, 3), {0: 2.9 * floats(2, 3)}, {}, (2, 3)),
    ("GATHER", (3, 4), {1: integers(2, 0, 2)}, {"axis": 1}, (3, 3)),
    ("GATHER", (2, 3, 4, 2), {1: integers([0, 3], [1, 1])}, {"axis": 2, "batch_dims": 1}, (2, 3, 2, 2)),
    (
        "L2_POOL_2D",
        (1, 4, 4, 2),
        {},
        {"stride_h": 2, "stride_w": 2, "filter_height": 2, "filter_width": 2},
        (1, 2, 2, 2),
    ),
    ("LOCAL_RESPONSE_NORMALIZATION", (2, 5), {}, {"radius": 2, "bias": 1.0, "alpha": 0.7, "beta": 0.6}, (2, 5)),
    ("MATRIX_DIAG", (2, 3), {}, {}, (2, 3, 3)),
    ("MATRIX_SET_DIAG", (2, 4, 3), {1: floats(2, 3)}, {}, (2, 4, 3)),
    ("MATRIX_SET_DIAG", (2, 3), {0: floats(2, 3, 4)}, {}, (2, 3, 4)),
    ("MIRROR_PAD", (3, 4), {1: integers([1, 2], [0, 2])}, {"mode": 0}, (6, 6)),
    ("MIRROR_PAD", (3, 4), {1: integers([1, 3], [0, 2])}, {"mode": 1}, (7, 6)),
    ("REDUCE_PROD", (2, 3, 2), {1: integers(1)}, {"keep_dims": False}, (2, 2)),
    ("RESIZE_BILINEAR", (1, 3, 4, 2), {1: integers(5, 2)}, {"half_pixel_centers": True}, (1, 5, 2, 2)),
    ("RESIZE_NEAREST_NEIGHBOR", (1, 3, 4, 2), {1: integers(5, 8)}, {"align_corners": True}, (1, 5, 8, 2)),
    ("REVERSE_SEQUENCE", (2, 4), {1: integers(3, 2)}, {"seq_dim": 1, "batch_dim": 0}, (2, 4)),
    ("SEGMENT_SUM", (4, 2), {1: integers(0, 0, 1, 2)}, {}, (3, 2)),
    ("SPARSE_TO_DENSE", (2,), {0: integers([0, 1], [2, 0]), 1: integers(3, 2), 3: np.float32(0)}, {}, (3, 2)),
    ("TILE", (2, 1, 3, 2, 1), {1: integers(1, 2, 3, 1, 2)}, {}, (2, 2, 9, 2, 2)),
    ("TOPK_V2", (2, 5), {1: np.int32(2)}, {}, (2, 2)),
    ("UNSORTED_SEGMENT_MAX", (4, 2), {1: IDS, 2: np.int32(3)}, {}, (3, 2)),
    ("UNSORTED_SEGMENT_MIN", (4, 2), {1: IDS, 2: np.int32(3)}, {}, (3, 2)),
    ("UNSORTED_SEGMENT_PROD", (4, 2), {1: IDS, 2: np.int32(3)}, {}, (3, 2)),
    ("UNSORTED_SEGMENT_SUM", (4, 2), {1: IDS, 2: np.int32(3)}, {}, (3, 2)),
]
"""Operator, shape of the operand that is differentiated, the other operands by place, options, shape of the result."""


def single_model(case: tuple[str, tuple[int, ...], dict[int, Any], dict[str, Any], tuple[int, ...]]) -> Model:
    """An operator on the model's input times weights; of an extreme in no segment, nothing reaches the output."""
    name, shape, others, options, outputs = case
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, scaled, y, below, bounded = (
        graph.tensor(label, DType.FLOAT32, size)
        for label, size in (("x", shape), ("scaled", shape), *((result, outputs) for result in ("y", "below", "b")))
    )
    graph.operator("MUL", [x, graph.constant("w", floats(*shape))], [scaled])
    place = next(place for place in range(len(others) + 1) if place not in others)
    operands = [
        scaled if k == place else graph.constant(f"operand_{k}", np.asarray(others[k])) for k in range(len(others) + 1)
    ]
    results = [y, graph.tensor("places", DType.INT32, outputs)] if name == "TOPK_V2" else [y]
    graph.operator(name, operands, results, options)
    graph.operator("MINIMUM", [y, graph.constant("most", np.float32(100))], [below])
    graph.operator("MAXIMUM", [below, graph.constant("least", np.float32(-100))], [bounded])
    graph.inputs, graph.outputs = [x], [bounded]
    return builder.model()


@pytest.mark.parametrize("case", SINGLE, ids=lambda case: f"{case[0]}-{min(set(range(5)) - set(case[2]))}-{case[1]}")
def test_single_operators(case: tuple[str, tuple[int, ...], dict[int, Any], dict[str, Any], tuple[int, ...]]) -> None:
    reference = trained_reference(single_model(case), Loss.MSE)
    inputs = [1.5 * floats(*case[1]) - 0.4, np.random.default_rng(1).standard_normal(case[4])]
    check_gradients(reference, inputs)


def test_fake_quantisation_passes_gradients_within_its_range() -> None:
    numbers = {"min": -0.2, "max": 0.9, "num_bits": 8, "narrow_range": False}
    reference = trained_reference(single_model(("FAKE_QUANT", (4,), {}, numbers, (4,))), Loss.MSE)
    reference.weights_become({"w": np.ones(4)})
    x = np.array([-0.3, -0.1, 0.5, 1.5])
    reference.run("train", [x, np.zeros(4)])
    changed = reference.weights["w"] - 1
    assert changed[0] == changed[3] == 0
    np.testing.assert_allclose(changed[1:3], -x[1:3] * x[1:3] / 2, rtol=0.02)


@pytest.mark.parametrize(
    "case",
    [
        ("RESIZE_NEAREST_NEIGHBOR", (1, 1, 50_000, 1), {1: integers(1, 2)}, {}, (1, 1, 2, 1)),
        ("MIRROR_PAD", (50_000,), {1: integers([1, 1])}, {"mode": 0}, (50_002,)),
        ("LOCAL_RESPONSE_NORMALIZATION", (1, 50_000), {}, {"radius": 1, "alpha": 1.0}, (1, 50_000)),
    ],
    ids=lambda case: case[0],
)
def test_a_long_axis_makes_no_matrix_of_gigabytes(case: Any) -> None:
    with pytest.raises(ModelError, match="has no gradient for dimensions whose matrix"):
        trained_reference(single_model(case), Loss.MSE)


def test_products_with_zeros() -> None:
    """One zero leaves its own factor a gradient; two leave none."""
    reference = trained_reference(single_model(next(case for case in SINGLE if case[0] == "REDUCE_PROD")), Loss.MSE)
    x = floats(2, 3, 2)
    x[0, 1, 0] = x[1, 0, 1] = x[1, 2, 1] = 0
    check_gradients(reference, [x, np.ones((2, 2))])


@pytest.mark.parametrize("seed", range(12))
def test_windows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, shape = window_model(rng)
    reference = trained_reference(model, Loss.MSE)
    outputs = model.subgraphs[0].tensors[model.subgraphs[0].outputs[0]].shape
    check_gradients(reference, [rng.standard_normal(shape), rng.standard_normal(outputs)])
