"""The numpy reference (support/reference.py) equals TFLite Micro bit for bit, on random layers and networks."""

from __future__ import annotations

import numpy as np
import pytest
from support.case_models import model_bytes
from support.differential import Family, draw, is_empty
from support.kernel_harness import run_tflm
from support.random_chain import random_chain
from support.reference import Reference
from tflmgen.frontend.tflite.reader import parse_model

from differential import elementwise, movement, weighted

pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")
from tflite_micro.python.tflite_micro import runtime

LAYERS = (
    *("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "AVERAGE_POOL_2D", "MAX_POOL_2D"),
    *("ADD", "SUB", "MUL", "RELU", "QUANTIZE", "MAXIMUM", "RESHAPE", "CONCATENATION", "PAD", "PADV2"),
)
TYPES = ("int8", "int16", "int8>int8", "int8>int16", "int16>int8", "int16>int16")
FAMILIES = {
    (family.operator, dtype): family
    for family in (*elementwise.FAMILIES, *movement.FAMILIES, *weighted.FAMILIES)
    for dtype in family.types
    if family.operator in LAYERS and dtype in TYPES
}


def test_every_layer_is_drawn() -> None:
    assert {operator for operator, _ in FAMILIES} == set(LAYERS)


@pytest.mark.parametrize("count", [12, pytest.param(400, marks=pytest.mark.sweep)])
@pytest.mark.parametrize(("operator", "dtype"), FAMILIES)
def test_random_layers(operator: str, dtype: str, count: int) -> None:
    family = FAMILIES[operator, dtype]
    assert sum(_agrees(family, dtype, seed) for seed in range(count)) > count // 4


def _agrees(family: Family, dtype: str, seed: int) -> bool:
    """Whether TFLite Micro takes the layer; then both are equal."""
    rng = np.random.default_rng([seed, *family.operator.encode()])
    case, values = next(run for run in (draw(family, dtype, rng) for _ in range(100)) if not is_empty(run[0]))
    try:
        expected = run_tflm(case, values)
    except (RuntimeError, ValueError):
        return False
    got = Reference(parse_model(model_bytes(case), "layer.tflite")).run(0, [v for v in values if v is not None])
    np.testing.assert_array_equal(got[0], expected[0], err_msg=str(case))
    return True


@pytest.mark.parametrize("seeds", [range(10), pytest.param(range(10, 200), marks=pytest.mark.sweep)], ids=len)
def test_random_networks(seeds: range) -> None:
    for seed in seeds:
        data, rng = random_chain(seed), np.random.default_rng(seed)
        model = parse_model(data, "network.tflite")
        graph = model.subgraphs[0]
        values = rng.integers(-128, 128, graph.tensors[graph.inputs[0]].shape).astype(np.int8)
        interpreter = runtime.Interpreter.from_bytes(data, arena_size=1_000_000)
        interpreter.set_input(values, 0)
        interpreter.invoke()
        np.testing.assert_array_equal(Reference(model).run(0, [values])[0], interpreter.get_output(0), str(seed))
