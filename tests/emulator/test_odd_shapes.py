"""Layers of odd shapes take hardly more instructions than the same ones with round channel counts.

A sample of what the page on performance has (tests/performance_shapes.py).
"""

from __future__ import annotations

import pytest
from performance_shapes import BOARDS, counts
from support.tools import requires_compiler, requires_qemu

pytestmark = [pytest.mark.emulator, requires_compiler, requires_qemu]

LIMIT = 1.10
"""Of instructions, to those of the rounded layer."""

SAMPLE = (
    "CONV_2D",
    "CONV_2D, groups",
    "CONV_2D, 1x1",
    "CONV_2D, 1x1, few channels",
    "DEPTHWISE_CONV_2D, 3x3",
    "DEPTHWISE_CONV_2D",
    "FULLY_CONNECTED",
    "TRANSPOSE_CONV",
    "BATCH_MATMUL",
    "LSTM",
    "MAX_POOL_2D",
    "ADD",
    "MUL",
    "SOFTMAX",
)


@pytest.mark.parametrize("core", ["Cortex-M4", "Cortex-M55"])
def test_no_cliff(core: str) -> None:
    slower = {count.shape: count.ratio for count in counts(BOARDS[core], SAMPLE, 1) if count.ratio > LIMIT}
    assert not slower
