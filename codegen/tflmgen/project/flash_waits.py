"""Wait states of an operator by its size alone: what flash costs on a board where nothing has run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tflmgen.project.flash_timing import FlashTiming

REUSE = 2.5
"""Multiplications per byte of weights and read of it: convolutions compute some pixels at a time."""

CYCLES_PER_INSTRUCTION = 1.45
"""Of kernels, on any core: 1.25 to 1.49 on MLPerf Tiny's models."""

SMALL_CACHE = 2048
"""Bytes below which an instruction cache does not hold the inner loops of a convolution."""


def estimated_waits(timing: FlashTiming, step: Mapping[str, Any]) -> int:
    """Cycles that one execution of an operator waits for flash, from its entry in plan.json.

    Weights that the data cache holds are read once, others as often as pixels are computed. Code of windows waits where
    the cache is smaller than their inner loops. With the cycles, MLPerf Tiny's models come within
    20 % of what `bench` finds by running them; a test holds it.
    """
    instructions = step["expected"]["cycles"] / CYCLES_PER_INSTRUCTION
    code = instructions * _waits_per_instruction(timing, bool(step.get("window")))
    return int(_reads(timing, step["weights_bytes"] or 0, step["macs"] or 0) + code)


def _reads(timing: FlashTiming, weights: int, macs: int) -> float:
    cache = timing.code_cache if timing.unified else timing.constant_cache
    if cache is None:
        # Each word waits, as often as it is loaded.
        return timing.wait_cycles * max(weights, macs / REUSE) / 4
    held = cache.lines * cache.line_bytes
    read = weights if weights <= held else max(weights, macs / REUSE)
    return timing.wait_cycles * read / timing.read_bytes


def _waits_per_instruction(timing: FlashTiming, has_window: bool) -> float:
    cache = timing.code_cache
    if cache is None:
        return timing.wait_cycles * (0.03 if timing.prefetch else 3 / timing.read_bytes)
    if not has_window or cache.lines * cache.line_bytes >= SMALL_CACHE or cache.line_bytes <= timing.read_bytes:
        return 0.0
    return 0.17 * timing.wait_cycles
