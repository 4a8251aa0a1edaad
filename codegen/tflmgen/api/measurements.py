"""Measurements of a model's firmware as frozen records: sizes, and costs of an invoke."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tflmgen.api.records import Records


@dataclass(frozen=True, slots=True)
class FirmwareSizes:
    """Sizes of a compiled firmware in bytes.

    Attributes:
        flash_bytes: All of it in flash: code, constants, start-up code and the test server.
        ram_bytes: Static RAM: arena, state and variables, without the stack.
        code_bytes: Code of the model alone: no weights, no firmware around it.
        stack_bytes: Most bytes of stack that an invoke can use; None where that is not known.
        memories: Bytes used of each of the board's memories.
    """

    flash_bytes: int
    ram_bytes: int
    code_bytes: int
    stack_bytes: int | None
    memories: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FlashCycles:
    """Cycles at the chip's rated clock, an estimate with the wait states of its flash.

    Attributes:
        cycles: All cycles.
        code_waits: Cycles of them in which the core waits for instructions.
        constant_waits: Cycles of them in which it waits for constants and weights.
        milliseconds: `cycles` at the rated clock; None for a single operator.
    """

    cycles: int
    code_waits: int
    constant_waits: int
    milliseconds: float | None


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """Cost of one operator in one invoke, all its executions together.

    Attributes:
        step: Number of its step; `CompiledModel.operators` has the same.
        name: TFLite's name of it.
        executions: How often it ran.
        instructions: Counted instructions; None where the emulator does not count per operator.
        cycles: Estimated cycles; None where there is no estimate.
        macs: Computed multiply-accumulates.
        flash: Estimated cycles at the rated clock, with waits for the flash; None where the board's is not known.
    """

    step: int
    name: str
    executions: int
    instructions: int | None
    cycles: int | None
    macs: int | None
    flash: FlashCycles | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """The cost of one invoke.

    Attributes:
        instructions: Counted instructions, the same on each run.
        cycles: Estimated cycles without wait states; None for cores without a model.
        milliseconds: `cycles` at the board's clock after reset.
        stack_bytes: Stack that the invoke used.
        clock_hz: The board's clock after reset.
        emulator: What ran the firmware.
        operators: Costs per operator that ran.
        sizes: `arena_bytes`, `weights_bytes`, `code_bytes`, `flash_bytes` and `ram_bytes` of the firmware.
        notes: What the user should know, a sentence each.
        flash: Cycles at the rated clock, with waits for the flash; None where the board's is not known.
    """

    instructions: int
    cycles: int | None
    milliseconds: float | None
    stack_bytes: int
    clock_hz: int
    emulator: str
    operators: Records[OperatorCost]
    sizes: Mapping[str, int]
    notes: tuple[str, ...]
    flash: FlashCycles | None
    _json: Mapping[str, Any] = field(repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """All figures, as `tflmgen bench --json` prints them (schema/bench.json). A copy."""
        return copy.deepcopy(dict(self._json))


def sizes_of(firmware: Mapping[str, Any]) -> FirmwareSizes:
    """The records of plan.json's `firmware`."""
    flash, ram = firmware["text"] + firmware["data"], firmware["data"] + firmware["bss"]
    memories = dict(firmware["memories"])
    return FirmwareSizes(flash, ram, firmware["code_bytes"], firmware["stack_worst_case"], memories)


def bench_of(figures: Mapping[str, Any]) -> Bench:
    """The records of the figures of one invoke (schema/bench.json)."""
    (invoke,) = figures["sets"]
    names = {operator["step"]: operator["name"] for operator in figures["operators"]}
    return Bench(
        invoke["instructions"],
        invoke["cycles_estimated"],
        invoke["milliseconds_estimated"],
        invoke["stack_bytes"],
        figures["clock_hz"],
        figures["emulator"],
        Records(
            OperatorCost(
                cost["step"],
                names[cost["step"]],
                cost["executions"],
                cost["instructions"],
                cost["cycles_estimated"],
                cost["macs"],
                _flash(cost),
            )
            for cost in invoke["operators"]
        ),
        dict(figures["memory"]),
        tuple(figures["notes"]),
        _flash(invoke),
        figures,
    )


def _flash(figures: Mapping[str, Any]) -> FlashCycles | None:
    estimate = figures.get("flash")
    if estimate is None:
        return None
    code, constants = estimate["code_wait_cycles"], estimate["constant_wait_cycles"]
    return FlashCycles(estimate["cycles_estimated"], code, constants, estimate.get("milliseconds_estimated"))
