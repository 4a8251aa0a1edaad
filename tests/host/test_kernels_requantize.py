"""REQUANTIZE, by table and without, is QUANTIZE of DEQUANTIZE for every int8."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernel_harness import Case, broken_rules, make_case, run_kernels, tensor
from tflmgen.ir.kernel.call import Target

ALL = np.arange(-128, 128, dtype=np.int8)
SCALES = [(0.0292, -2, 0.01288, -10), (0.5, 3, 0.5, 4), (0.1, 0, 0.003, 127), (1e-3, -128, 2.0, 0), (0.3, 5, 0.2, 5)]


def requantize(count: int, scales: tuple[float, int, float, int]) -> Case:
    before, after = tensor("int8", (count,), *scales[:2]), tensor("int8", (count,), *scales[2:])
    case = make_case("REQUANTIZE", [before], [after])
    assert not broken_rules(case)
    return case


@pytest.mark.parametrize("count", [256, 8], ids=["table", "floats"])
def test_requantize_is_quantize_of_dequantize(count: int) -> None:
    runs, first, middle = [], [], tensor("float32", (count,))
    for scales in SCALES:
        for values in ALL.reshape(-1, count):
            runs.append((requantize(count, scales), [values]))
            dequantize = make_case("DEQUANTIZE", [tensor("int8", (count,), *scales[:2])], [middle])
            first.append((dequantize, [values]))
    reals = run_kernels(first)
    second = []
    for (case, _), real in zip(runs, reals, strict=True):
        q = case.outputs[0].quantization
        assert q is not None
        output = tensor("int8", (count,), q.scale, q.zero_point)
        second.append((make_case("QUANTIZE", [middle], [output]), [real[0]]))
    for result, other in zip(run_kernels(runs), run_kernels(second), strict=True):
        np.testing.assert_array_equal(result[0], other[0])


@pytest.mark.parametrize(
    ("features", "optimize", "least"), [({"fpu"}, "speed", 64), (set(), "speed", 16), (set(), "size", 256)]
)
def test_a_table_is_made_where_it_pays(features: set[str], optimize: str, least: int) -> None:
    target = Target("m", frozenset(features), optimize)
    functions = []
    for count in (least - 1, least):
        functions.append(requantize(count, SCALES[0]).choice_for(target).kernel.function)
    assert functions == ["tflmgen_requantize_float_s8", "tflmgen_lookup_s8"]
