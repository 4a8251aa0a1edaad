"""Rows quantised at run time whose range is empty, one-sided or tiny, against LiteRT."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernel_harness import check_against, constant, make_case, tensor
from support.litert import run_litert


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("row", [[0.0] * 5, [3.0] * 5, [-2.0] * 5, [1e-30, 0, 0, 0, 0], [0.0, 0, 0, 0, 7.0]])
def test_rows_at_the_edges(row: list[float], asymmetric: bool) -> None:
    weights = constant("int8", np.arange(-10, 10).reshape(4, 5), 0.1)
    options = {"asymmetric_quantize_inputs": asymmetric}
    case = make_case("FULLY_CONNECTED", [tensor("float32", (2, 5)), weights], [tensor("float32", ())], options)
    values = [np.array([row, [1.0, 2.0, -3.0, 0.5, 0.0]], np.float32), None]
    check_against([(case, values)], [run_litert(case, values)])
