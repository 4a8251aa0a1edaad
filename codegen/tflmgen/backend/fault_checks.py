"""Checks of the device's memory in the generated C: guards, and the CRC-32 of its constants."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tflmgen.backend.handle import Handle
from tflmgen.ir import GUARD_BYTES, DeviceChecks
from tflmgen.ir.kernel import ConstantArray
from tflmgen.ir.program import Program

HEADER = "checks.h"


@dataclass(frozen=True, slots=True)
class FaultChecks:
    """The device's memory checks, for the templates.

    arena_bytes: size of the arena with the guard behind it. caption: text about NAME_check().
    """

    has_guards: bool
    crc_when: str
    arrays: tuple[tuple[str, int], ...]
    crc: int
    arena_bytes: int
    caption: str


def fault_checks(
    checks: DeviceChecks, program: Program, arrays: Iterable[tuple[str, ConstantArray]], has_arena: bool
) -> FaultChecks:
    """arrays: C name and contents of each constant that the C has."""
    # C has no empty arrays: those of the model have one element that is zero.
    filled = (
        [(name, a.bytes_in_c or bytes(max(1, a.dtype.bits // 8))) for name, a in arrays]
        if checks.weights != "off"
        else []
    )
    crc = 0
    for _, data in filled:
        crc = zlib.crc32(data, crc)
    has_guards = checks.memory and (has_arena or program.state_bytes > 0)
    return FaultChecks(
        has_guards,
        checks.weights if filled else "",
        tuple((name, len(data)) for name, data in filled),
        crc,
        program.arena_bytes + (GUARD_BYTES if has_guards and has_arena else 0),
        _caption(checks),
    )


def _caption(checks: DeviceChecks) -> str:
    """The comment of NAME_check()."""
    when = {"off": "", "start": "the first invoke after a start or reset", "invoke": "each invoke"}[checks.weights]
    memory = "TFLMGEN_ERROR_MEMORY if bytes beside arena or state were overwritten, as each invoke does"
    weights = f"TFLMGEN_ERROR_WEIGHTS if constants in flash have changed, as {when} does"
    both = ";\n * ".join([memory] * checks.memory + [weights] * bool(when))
    return f"Returns {both}."


def plan_values(checks: FaultChecks, handle: Handle) -> Mapping[str, object]:
    """Variables that the plan's template reads about the checks."""
    return {
        "guards": checks.has_guards,
        "crc_when": checks.crc_when,
        "checked_arrays": checks.arrays,
        "crc": checks.crc,
        "intact": handle.member("has_intact_constants"),
        "state": "state + TFLMGEN_GUARD_BEFORE" if checks.has_guards else handle.member("state"),
    }
