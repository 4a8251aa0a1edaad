"""Second estimate of a benchmark: cycles at the chip's rated clock, with the wait states of its flash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tflmgen.api.bench_figures import Json, Measured, milliseconds
from tflmgen.emulators import NO_WAITS, Waits
from tflmgen.project import FlashTiming


def with_flash(figures: Json, measured: Sequence[Measured], flash: FlashTiming | None) -> Json:
    """The figures of bench_json() with `flash` in the whole, in `total`, and in each set and its operators.

    Unchanged where the board's wait states are not known, or the emulator does not count them.
    """
    waits = [measured_set.invocation.waits for measured_set in measured]
    estimated = [each for each in waits if each is not None]
    if flash is None or len(estimated) < len(waits) or figures["total"]["cycles_estimated"] is None:
        return figures
    sets = [
        {**entry, "flash": _estimate(entry, each, flash), "operators": _operators(entry, measured_set)}
        for entry, each, measured_set in zip(figures["sets"], estimated, measured, strict=True)
    ]
    total = {**figures["total"], "flash": _estimate(figures["total"], sum(estimated, NO_WAITS), flash)}
    return {**figures, "flash": _described(flash), "total": total, "sets": sets}


def _described(flash: FlashTiming) -> Json:
    return {
        "board": flash.board,
        "clock_hz": flash.clock,
        "wait_states": flash.wait_states,
        "wait_cycles": flash.wait_cycles,
        "source": flash.source,
    }


def _estimate(figures: Mapping[str, Any], waits: Waits, flash: FlashTiming) -> Json:
    cycles = figures["cycles_estimated"] + waits.cycles
    return {**_waits(figures, waits), "milliseconds_estimated": milliseconds(cycles, flash.clock)}


def _waits(figures: Mapping[str, Any], waits: Waits) -> Json:
    return {
        "cycles_estimated": figures["cycles_estimated"] + waits.cycles,
        "code_wait_cycles": waits.code,
        "constant_wait_cycles": waits.constants,
    }


def _operators(entry: Mapping[str, Any], measured: Measured) -> list[Json]:
    waits = {counted.step: counted.waits for counted in measured.invocation.operators or ()}
    return [{**operator, "flash": _waits(operator, waits[operator["step"]])} for operator in entry["operators"]]
