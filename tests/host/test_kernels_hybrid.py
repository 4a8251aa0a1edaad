"""Rows quantised at run time whose range is empty, one-sided or tiny, against LiteRT."""

from __future__ import annotations

import numpy as np
import pytest
from differential import mixed
from support.differential import check_whole, draw
from support.kernel_harness import Tensor, check_against, constant, make_case, tensor
from support.litert import run_litert
from tflmgen.ir.types import BlockQuantization, DType, TensorType

ROWS = ([0.0] * 5, [3.0] * 5, [-2.0] * 5, [1e-30, 0, 0, 0, 0], [0.0, 0, 0, 0, 7.0])


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("row", ROWS)
def test_rows_at_the_edges(row: list[float], asymmetric: bool) -> None:
    weights = constant("int8", np.arange(-10, 10).reshape(4, 5), 0.1)
    options = {"asymmetric_quantize_inputs": asymmetric}
    case = make_case("FULLY_CONNECTED", [tensor("float32", (2, 5)), weights], [tensor("float32", ())], options)
    values = [np.array([row, [1.0, 2.0, -3.0, 0.5, 0.0]], np.float32), None]
    check_against([(case, values)], [run_litert(case, values)])


@pytest.mark.parametrize("row", ROWS)
def test_rows_at_the_edges_by_blocks(row: list[float]) -> None:
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    data = (np.arange(4 * 40) * 7 % 16 - 8).astype(np.int8).reshape(4, 40)
    blocks = BlockQuantization(tuple(2.0 ** -(i % 11) for i in range(16)), 10)
    weights = Tensor(TensorType(DType.INT4, data.shape, None, blocks), data)
    case = make_case("FULLY_CONNECTED", [tensor("float32", (2, 40)), weights], [tensor("float32", ())])
    values = [np.array([row * 8, np.linspace(-3, 2, 40)], np.float32), None]
    # The reference kernels leave the output as it was.
    expected = run_litert(case, values, litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    assert np.any(expected[0][1])
    check_against([(case, values)], [expected])


def test_models_by_blocks() -> None:
    """From the file to C."""
    pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    (family,) = (family for family in mixed.FAMILIES if family.make is mixed.by_blocks)
    rng = np.random.default_rng(2)
    check_whole([(family, *draw(family, "float32", rng)) for _ in range(4)])
