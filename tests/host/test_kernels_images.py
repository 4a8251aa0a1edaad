"""MIRROR_PAD, RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernel_harness import (
    HOST,
    Case,
    Tensor,
    broken_rules,
    check_against,
    check_against_tflm,
    constant,
    make_case,
    random_values,
    tensor,
    typed,
)
from tflmgen.ir.kernel.call import View
from tflmgen.kernels.table import OPERATORS

SIZES = [
    ((1, 4, 4, 3), (8, 8)),
    ((2, 5, 3, 2), (7, 9)),
    ((1, 9, 8, 1), (4, 3)),
    ((1, 1, 6, 2), (3, 1)),
    ((1, 5, 7, 2), (5, 7)),
]
SAMPLING = [{}, {"align_corners": True}, {"half_pixel_centers": True}]


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_mirror_pad(mode: str, dtype: str) -> None:
    rng = np.random.default_rng(137)
    runs, expected = [], []
    for shape, pads in [((5,), [(2, 4)]), ((3, 4), [(0, 2), (3, 0)]), ((1, 4, 5, 3), [(0, 0), (1, 1), (2, 3), (0, 0)])]:
        inputs = [typed(dtype, shape), constant("int32", pads)]
        case = make_case("MIRROR_PAD", inputs, [typed(dtype, ())], {"mode": int(mode == "symmetric")})
        values = random_values(case, rng)
        runs.append((case, values))
        expected.append([np.pad(values[0], pads, mode)])  # type: ignore[call-overload]
    check_against(runs, expected, 0, 0)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_resize_nearest_neighbor(dtype: str) -> None:
    rng = np.random.default_rng(139)
    runs = []
    for shape, size in SIZES[:-1]:
        for options in SAMPLING:
            inputs = [typed(dtype, shape), constant("int32", size)]
            case = make_case("RESIZE_NEAREST_NEIGHBOR", inputs, [typed(dtype, ())], options)
            runs.append((case, random_values(case, rng)))
    check_against_tflm(runs, 0, 0)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_resize_bilinear(dtype: str) -> None:
    rng = np.random.default_rng(149)
    runs = []
    for shape, size in SIZES:
        for options in SAMPLING:
            inputs = [typed(dtype, shape), constant("int32", size)]
            case = make_case("RESIZE_BILINEAR", inputs, [typed(dtype, ())], options)
            runs.append((case, random_values(case, rng)))
    check_against_tflm(runs, 1e-6, 1e-6)


def test_nearest_neighbor_of_the_same_size_is_a_view() -> None:
    inputs = [tensor("float32", (1, 5, 7, 2)), constant("int32", [5, 7])]
    case = make_case("RESIZE_NEAREST_NEIGHBOR", inputs, [tensor("float32", ())])
    assert isinstance(OPERATORS[case.operator].kernel(case.instance, HOST), View)


def test_rules() -> None:
    f = tensor("float32", (1, 4, 4, 3))

    def broken(operator: str, *inputs: Tensor, **options) -> str:  # type: ignore[no-untyped-def]
        return broken_rules(Case(operator, inputs, (f.type,), options))[0]

    pads = constant("int32", [(0, 0), (4, 0), (0, 0), (0, 0)])
    assert "shorter" in broken("MIRROR_PAD", f, pads)
    assert not broken_rules(Case("MIRROR_PAD", (f, pads), (f.type,), {"mode": 1}))
    with pytest.raises(ValueError, match="mode 7"):
        broken("MIRROR_PAD", f, pads, mode=7)
    for operator in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        assert "constant" in broken(operator, f, tensor("int32", (2,)))
        assert "pixel" in broken(operator, f, constant("int32", [0, 4]))
        assert "not both" in broken(operator, f, constant("int32", [8, 8]), align_corners=True, half_pixel_centers=True)
