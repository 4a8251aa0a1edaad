"""What TRANSPOSE_CONV, BROADCAST_ARGS and L2_POOL_2D refuse, and how they say it."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.kernel_harness import Case, Tensor, broken_rules, constant, tensor

OPTIONS = {"padding": 1, "stride_h": 2, "stride_w": 2}
SHAPE = constant("int32", [1, 5, 5, 3])
FILTER = constant("int8", np.ones((3, 3, 3, 2)), 0.5)


def broken(*inputs: Tensor, output: Tensor, operator: str = "TRANSPOSE_CONV", **options: Any) -> str:
    sentences = broken_rules(Case(operator, inputs, (output.type,), {**OPTIONS, **options}))
    return sentences[0] if sentences else ""


def test_transpose_conv() -> None:
    source, output = tensor("int8", (1, 2, 2, 2), 0.5), tensor("int8", (1, 5, 5, 3), 2.0)
    assert not broken(SHAPE, FILTER, source, output=output)
    assert "size that a convolution" in broken(SHAPE, FILTER, tensor("int8", (1, 3, 2, 2), 0.5), output=output)
    assert "a filter with as many input" in broken(SHAPE, FILTER, tensor("int8", (1, 2, 2, 1), 0.5), output=output)
    assert "zero point 0" in broken(SHAPE, constant("int8", np.ones((3, 3, 3, 2)), 0.5, 1), source, output=output)
    assert "an int8 input, filter and output" in broken(SHAPE, FILTER, tensor("float32", (1, 2, 2, 2)), output=output)
    assert "a float32 filter" in broken(
        SHAPE, FILTER, tensor("float32", (1, 2, 2, 2)), output=tensor("float32", (1, 5, 5, 3))
    )
    wide = tensor("int16", (1, 2, 2, 2), 0.5), constant("int32", [1, 2, 3], 0.25)
    assert "an int64 bias" in broken(SHAPE, FILTER, *wide, output=tensor("int16", (1, 5, 5, 3), 2.0))
    assert "one value per output" in broken(SHAPE, FILTER, source, constant("int32", [1, 2], 0.25), output=output)


def test_broadcast_args() -> None:
    def shapes(first: Tensor, second: Tensor) -> str:
        return broken(first, second, output=tensor("int32", (2,)), operator="BROADCAST_ARGS")

    assert not shapes(constant("int32", [3, 1]), constant("int32", [4]))
    assert "broadcast together" in shapes(constant("int32", [3, 2]), constant("int32", [4]))
    assert "vectors" in shapes(constant("int32", [[3, 2]]), tensor("int32", (1,)))
    assert "one type: int32 or int64" in shapes(tensor("int64", (2,)), tensor("int32", (1,)))


def test_l2_pool() -> None:
    pool: dict[str, Any] = {"operator": "L2_POOL_2D", "filter_height": 2, "filter_width": 2}
    floats, bytes_ = tensor("float32", (1, 4, 4, 1)), tensor("int8", (1, 4, 4, 1), 0.5)
    assert not broken(floats, output=tensor("float32", (1, 2, 2, 1)), **pool)
    assert "one type: float32" in broken(bytes_, output=bytes_, **pool)
