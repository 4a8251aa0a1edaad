"""Measures against quantisation noise: inputs of layers, compensated rounding, corrected biases, equalised channels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from support.quantize_models import f32
from tflmgen.frontend.tflite import Model, ModelBuilder
from tflmgen.input_sets import Vectors, VectorSet
from tflmgen.ir import DType
from tflmgen.quantize import observed_build
from tflmgen.quantize.equalization import ChannelWatcher, equalized, find_pairs
from tflmgen.quantize.layer_inputs import LayerWatcher, input_rows
from tflmgen.quantize.observed_build import ObservedBuild
from tflmgen.quantize.weight_rounding import compensated, corrected_layers

SAME, VALID = 0, 1
NONE, RELU, RELU6, TANH = 0, 1, 3, 4
Array = NDArray[np.float32]


def window_options(padding: int, stride: int, dilation: int, activation: int) -> dict[str, int]:
    return {
        "padding": padding,
        "stride_w": stride,
        "stride_h": stride,
        "dilation_w_factor": dilation,
        "dilation_h_factor": dilation,
        "fused_activation_function": activation,
    }


def one_layer(name: str, padding: int, stride: int, dilation: int) -> Model:
    """x [1,7,6,3] -> a convolution with 3x2 windows, without bias so that rows times weights are its output."""
    rng = np.random.default_rng(3)
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x = graph.tensor("x", DType.FLOAT32, (1, 7, 6, 3))
    is_depthwise = name == "DEPTHWISE_CONV_2D"
    weights = f32(rng.normal(size=(1, 3, 2, 6) if is_depthwise else (4, 3, 2, 3)))
    extents = [(size - 1) * dilation + 1 for size in (3, 2)]
    sizes = [
        -(-size // stride) if padding == SAME else (size - extent) // stride + 1
        for size, extent in zip((7, 6), extents, strict=True)
    ]
    y = graph.tensor("y", DType.FLOAT32, (1, *sizes, 6 if is_depthwise else 4))
    options = window_options(padding, stride, dilation, NONE) | ({"depth_multiplier": 2} if is_depthwise else {})
    bias = graph.constant("bias", np.zeros(6 if is_depthwise else 4, np.float32))
    graph.operator(name, [x, graph.constant("w", weights), bias], [y], options)
    graph.inputs, graph.outputs = [x], [y]
    return builder.model()


def sets_of(*arrays: Array) -> Vectors:
    return Vectors(tuple(VectorSet("", 0, (array,)) for array in arrays))


def outputs(build: ObservedBuild, vectors: Vectors) -> list[Array]:
    class Nobody:
        def wants(self, tensor: tuple[int, int]) -> bool:
            return bool(tensor) and False

        def tensor(self, tensor: tuple[int, int], value: Array) -> None: ...

        def mark(self, event: str, operator: tuple[int, int]) -> None: ...

    return [arrays[0] for arrays in build.run(vectors.sets, False, Nobody())]


@pytest.mark.parametrize("name", ["CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize(("padding", "stride", "dilation"), [(SAME, 1, 1), (SAME, 2, 1), (VALID, 2, 1), (SAME, 1, 2)])
def test_rows_of_windows_times_weights_are_the_output(name: str, padding: int, stride: int, dilation: int) -> None:
    model = one_layer(name, padding, stride, dilation)
    x = f32(np.random.default_rng(1).normal(size=(1, 7, 6, 3)))
    (layer,) = LayerWatcher(model).layers
    rows = input_rows(model.subgraphs[0].operators[0], layer, x)
    outputs_per_group = len(layer.weights) // layer.groups
    per_output = np.repeat(rows, outputs_per_group, axis=1) if layer.groups > 1 else rows
    products = np.einsum("rop,op->ro", np.broadcast_to(per_output, (len(rows), *layer.weights.shape)), layer.weights)
    with observed_build(model) as build:
        (expected,) = outputs(build, sets_of(x))
    np.testing.assert_allclose(products, expected.reshape(products.shape), atol=1e-5)


def test_compensated_rounding_keeps_the_products_with_inputs_that_go_together() -> None:
    rng = np.random.default_rng(2)
    inputs = rng.normal(size=(4000, 3)) @ rng.normal(size=(3, 24)) + 0.05 * rng.normal(size=(4000, 24))
    weights = rng.normal(size=(8, 24))
    scales = np.abs(weights).max(axis=1) / 127
    integers = compensated(weights, scales, inputs.T @ inputs / len(inputs))
    assert np.array_equal(integers, np.rint(integers))
    assert np.abs(integers).max() <= 127

    def noise(rounded: NDArray[np.float64]) -> float:
        return float((((rounded * scales[:, None] - weights) @ inputs.T) ** 2).sum())

    assert noise(integers) < 0.3 * noise(np.rint(weights / scales[:, None]))


def test_the_bias_takes_the_mean_of_what_rounding_loses() -> None:
    model = one_layer("CONV_2D", SAME, 1, 1)
    x = f32(np.random.default_rng(4).uniform(0, 2, size=(1, 7, 6, 3)))
    watcher = LayerWatcher(model)
    with observed_build(model) as build:
        build.run(sets_of(x).sets, False, watcher)
    (layer,) = watcher.layers
    rows = input_rows(model.subgraphs[0].operators[0], layer, x)[:, 0]
    constants = corrected_layers([layer], False)[0, 0]
    scales = np.abs(layer.weights).max(axis=1) / 127
    lost = (layer.weights - constants.weights.reshape(4, -1) * scales[:, None]) @ rows.T
    assert constants.bias_shift is not None
    np.testing.assert_allclose(constants.bias_shift, lost.mean(axis=1), atol=1e-6)
    assert np.abs(constants.bias_shift).max() > 1e-4


def test_layers_that_never_ran_keep_their_constants() -> None:
    watcher = LayerWatcher(one_layer("CONV_2D", SAME, 1, 1))
    assert corrected_layers(watcher.layers, True) == {}


SIZES = f32([8, 1, 0.25, 0])
"""Magnitudes of the four channels between the layers."""


def two_layers(activation: int, second: str = "CONV_2D", pool: bool = False, is_output: bool = False) -> Model:
    """x -> CONV_2D with channels of SIZES -> perhaps MAX_POOL_2D -> another layer."""
    rng = np.random.default_rng(5)
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x = tensor = graph.tensor("x", DType.FLOAT32, (1, 4, 4, 4))
    middle = graph.tensor("middle", DType.FLOAT32, (1, 4, 4, 4))
    weights = f32(rng.uniform(0.1, 1, (4, 1, 1, 4))) * SIZES[:, None, None, None] / 4
    zeros = graph.constant("b", np.zeros(4, np.float32))
    graph.operator("CONV_2D", [x, graph.constant("w", weights), zeros], [middle], window_options(0, 1, 1, activation))
    tensor = middle
    if pool:
        tensor = graph.tensor("pooled", DType.FLOAT32, (1, 2, 2, 4))
        pooling = {"padding": VALID, "stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
        graph.operator("MAX_POOL_2D", [middle], [tensor], pooling | {"fused_activation_function": 0})
    size = 2 if pool else 4
    y = graph.tensor("y", DType.FLOAT32, (1, size, size, 4))
    other = f32(rng.normal(size=(1, 3, 3, 4) if second == "DEPTHWISE_CONV_2D" else (4, 3, 3, 4)))
    options = window_options(SAME, 1, 1, NONE) | ({"depth_multiplier": 1} if second != "CONV_2D" else {})
    graph.operator(second, [tensor, graph.constant("v", other), zeros], [y], options)
    graph.inputs, graph.outputs = [x], [y, middle] if is_output else [y]
    return builder.model()


def samples() -> Vectors:
    rng = np.random.default_rng(6)
    return sets_of(*(f32(rng.uniform(0, 1, (1, 4, 4, 4))) for _ in range(4)))


@pytest.mark.parametrize("activation", [NONE, RELU, RELU6])
@pytest.mark.parametrize("second", ["CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize("pool", [False, True])
def test_equalised_channels_compute_the_same(activation: int, second: str, pool: bool) -> None:
    model = two_layers(activation, second, pool)
    (pair,) = find_pairs(model)
    watcher, after = (ChannelWatcher(frozenset([(0, pair.tensor)])) for _ in range(2))
    with observed_build(model) as build:
        build.run(samples().sets, False, watcher)
        expected = outputs(build, samples())
    changed = equalized(model, (pair,), watcher)
    assert changed is not model
    with observed_build(changed) as build:
        build.run(samples().sets, False, after)
        actual = outputs(build, samples())
    for before_it, after_it in zip(expected, actual, strict=True):
        np.testing.assert_allclose(before_it, after_it, rtol=1e-4, atol=1e-4)
    before, now = watcher.largest[0, pair.tensor], after.largest[0, pair.tensor]
    assert now.max() == pytest.approx(before.max(), rel=1e-5)
    assert now[2] > 1.5 * before[2]
    assert now[3] == 0
    if second == "DEPTHWISE_CONV_2D":
        assert now[:3] == pytest.approx([before.max()] * 3, rel=1e-5)


def test_what_others_see_is_not_scaled() -> None:
    assert not find_pairs(two_layers(TANH))
    assert not find_pairs(two_layers(RELU, is_output=True))
