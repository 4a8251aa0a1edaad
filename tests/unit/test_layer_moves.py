"""Constants that are added to sums of products become biases of the products, where nothing else reads these."""

from __future__ import annotations

import numpy as np
import pytest
from support.silent_watcher import SilentWatcher
from tflmgen.frontend.tflite import Model, ModelBuilder
from tflmgen.input_sets import Vectors, VectorSet
from tflmgen.ir import DType
from tflmgen.quantize import observed_build
from tflmgen.quantize.layer_moves import with_moved_layers

F32, RELU = DType.FLOAT32, {"fused_activation_function": 1}


def summed(bias: tuple[int, ...] = (4,), is_read_twice: bool = False) -> Model:
    """x[2, 3], y[1, 2, 4] -> relu(y + W x + b), and W x where that is read twice."""
    builder, rng = ModelBuilder("sum", name="sum.tflite"), np.random.default_rng(3)
    main = builder.subgraph("main")
    x, y, product = main.tensor("x", F32, (2, 3)), main.tensor("y", F32, (1, 2, 4)), main.tensor("product", F32, (2, 4))
    shaped, total, result = (main.tensor(name, F32, (1, 2, 4)) for name in ("shaped", "total", "result"))
    weights, constant = (
        main.constant(name, rng.normal(size=s).astype("<f4")) for name, s in (("w", (4, 3)), ("b", bias))
    )
    main.operator("FULLY_CONNECTED", [x, weights, -1], [product])
    main.operator("RESHAPE", [product, main.constant("shape", np.array([1, 2, 4], np.int32))], [shaped])
    main.operator("ADD", [y, shaped], [total])
    main.operator("ADD", [constant, total], [result], RELU)
    main.inputs, main.outputs = [x, y], [result, product] if is_read_twice else [result]
    return builder.model()


@pytest.mark.parametrize("bias", [(4,), (1, 1, 4), (1,), ()])
def test_a_constant_becomes_the_bias_of_the_product(bias: tuple[int, ...]) -> None:
    model = summed(bias)
    moved = with_moved_layers(model, ())
    (main,) = moved.subgraphs
    assert [op.name for op in main.operators] == ["FULLY_CONNECTED", "RESHAPE", "ADD"]
    rng = np.random.default_rng(5)
    inputs = tuple(rng.normal(size=shape).astype("<f4") for shape in ((2, 3), (1, 2, 4)))
    runs = []
    for variant in (model, moved):
        with observed_build(variant) as build:
            runs.append(build.run(Vectors((VectorSet("", 0, inputs),)).sets, False, SilentWatcher())[0][0])
    assert (runs[0] == 0).any()
    assert (runs[0] > 0).any()
    np.testing.assert_allclose(runs[1], runs[0], atol=1e-5)


@pytest.mark.parametrize("model", [summed((1, 2, 4)), summed((2, 1)), summed(is_read_twice=True)])
def test_others_stay(model: Model) -> None:
    """Constants of one row of several, and products that are read elsewhere."""
    assert with_moved_layers(model, ()) == model


def test_kept_subgraphs_stay() -> None:
    model = summed()
    assert with_moved_layers(model, {0}) == model


def normalized(shape: tuple[int, ...], constant: tuple[int, ...]) -> Model:
    """relu(W x * f + b) with a view between, as batch normalisation of a layer of one dimension leaves it."""
    builder, rng = ModelBuilder("norm", name="norm.tflite"), np.random.default_rng(4)
    main = builder.subgraph("main")
    x, product = main.tensor("x", F32, (6, 3)), main.tensor("product", F32, (6, 4))
    shaped, scaled, result = (main.tensor(name, F32, shape) for name in ("shaped", "scaled", "result"))
    sizes = {"w": (4, 3), "v": (4,), "f": constant, "b": constant}
    weights, bias, factor, addend = (main.constant(n, rng.normal(size=s).astype("<f4")) for n, s in sizes.items())
    main.operator("FULLY_CONNECTED", [x, weights, bias], [product])
    main.operator("RESHAPE", [product, main.constant("shape", np.array(shape, np.int32))], [shaped])
    main.operator("MUL", [shaped, factor], [scaled])
    main.operator("ADD", [scaled, addend], [result], RELU)
    main.inputs, main.outputs = [x], [result]
    return builder.model()


@pytest.mark.parametrize(
    ("shape", "constant"), [((1, 6, 4), (1, 1, 4)), ((6, 4, 1), (1, 4, 1)), ((2, 3, 4), (4,)), ((24,), (1,))]
)
def test_factors_and_addends_behind_a_view_are_the_layers(shape: tuple[int, ...], constant: tuple[int, ...]) -> None:
    model = normalized(shape, constant)
    moved = with_moved_layers(model, ())
    (main,) = moved.subgraphs
    assert [op.name for op in main.operators] == ["FULLY_CONNECTED", "RESHAPE"]
    inputs = (np.random.default_rng(5).normal(size=(6, 3)).astype("<f4"),)
    runs = []
    for variant in (model, moved):
        with observed_build(variant) as build:
            runs.append(build.run(Vectors((VectorSet("", 0, inputs),)).sets, False, SilentWatcher())[0][0])
    assert (runs[0] == 0).any()
    np.testing.assert_allclose(runs[1], runs[0], atol=1e-5)


@pytest.mark.parametrize(("shape", "constant"), [((1, 6, 4), (1, 6, 1)), ((4, 6), (4, 1))])
def test_factors_of_rows_stay(shape: tuple[int, ...], constant: tuple[int, ...]) -> None:
    model = normalized(shape, constant)
    assert with_moved_layers(model, ()) == model
