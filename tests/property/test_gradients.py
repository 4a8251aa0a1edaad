"""Gradients of random models, with branches, loops and shared weights, equal central differences in float64."""

from __future__ import annotations

import numpy as np
import pytest
from support.random_trainable import SHAPE, RandomTrainable
from support.trained_model import TrainedReference, check_gradients, trained_reference
from tflmgen.frontend.tflite import Model, ModelBuilder, SubGraphBuilder, write_model
from tflmgen.gradients.flow_graph import graphs_of
from tflmgen.gradients.training_model import TrainingOptions, derive_training_model
from tflmgen.gradients.update_step import StepOptions
from tflmgen.gradients.weight_choice import find_weights
from tflmgen.ir import DType
from tflmgen.options import Loss, OptimizerName

PROGRAMS = 60
PARTS = 6


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(part: int) -> None:
    derived = 0
    for seed in range(part, PROGRAMS, PARTS):
        rng = np.random.default_rng(seed)
        loss = list(Loss)[seed % len(Loss)]
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


@pytest.mark.parametrize("seed", range(12))
def test_windows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, shape = window_model(rng)
    reference = trained_reference(model, Loss.MSE)
    outputs = model.subgraphs[0].tensors[model.subgraphs[0].outputs[0]].shape
    check_gradients(reference, [rng.standard_normal(shape), rng.standard_normal(outputs)])
