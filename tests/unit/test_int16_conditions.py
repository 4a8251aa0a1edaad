"""When layers of int16 by int8 may add up in 32 bits and requantise by one multiplication."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernel_harness import Case, constant, make_case, tensor
from tflmgen.ir.kernel.call import Target

M4 = Target("cortex-m4", frozenset({"dsp"}))


def fully_connected(
    depth: int = 32, weight: int = 127, bias: int = 0, kind: str = "int64", scale: float = 0.01
) -> Case:
    x = tensor("int16", (1, depth), 0.001)
    w = constant("int8", np.full((4, depth), weight), 0.01, 0, 0)
    b = constant(kind, np.full(4, bias), 0.00001, 0, 0)
    return make_case("FULLY_CONNECTED", [x, w, b], [tensor("int16", (), scale)], {"fused_activation_function": 0})


def variant(case: Case) -> str:
    return case.choice_for(M4).kernel.variant


@pytest.mark.parametrize(
    "case",
    [
        fully_connected(),
        fully_connected(depth=512, weight=-127),
        fully_connected(depth=512, weight=100, bias=2**31 - 512 * 100 * 2**15 - 1),
        fully_connected(scale=2.1e-5),
        fully_connected(depth=130, weight=1),
    ],
    ids=["small", "large", "largest bias", "half", "long row that is no whole number of words"],
)
def test_sums_of_32_bits(case: Case) -> None:
    assert variant(case) == "dsp"


@pytest.mark.parametrize(
    "case",
    [
        fully_connected(depth=520),
        fully_connected(depth=512, weight=100, bias=2**31 - 512 * 100 * 2**15),
        fully_connected(kind="int32"),
        fully_connected(scale=1e-5),
        fully_connected(scale=8.0),
    ],
    ids=["sum", "bias", "sums that wrap", "factor near 1", "factor next to 0"],
)
def test_other_layers_are_portable(case: Case) -> None:
    assert variant(case) == "portable"
