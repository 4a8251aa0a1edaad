"""The figures of a benchmark: counts of invokes laid beside the plan. Their JSON has the schema schema/bench.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tflmgen.emulator.cycle_models import CycleModel
from tflmgen.emulator.executed import NO_CYCLES, Cycles
from tflmgen.emulator.session import Invocation

Plan = Mapping[str, Any]
Json = dict[str, Any]

CONTROL = ("if", "while", "call")


@dataclass(frozen=True, slots=True)
class Measured:
    """One counted invoke: what the set is called, its signature's number, and what the emulator counted."""

    label: str
    signature: int
    invocation: Invocation


@dataclass(frozen=True, slots=True)
class OperatorFigures:
    """One operator over all sets; `instructions` and `cycles` are None where they are not counted per operator."""

    step: Json
    executions: int
    instructions: int | None
    cycles: Cycles | None

    @property
    def macs(self) -> int:
        return int(self.step["macs"]) * self.executions


def operator_figures(plan: Plan, measured: Sequence[Measured]) -> list[OperatorFigures] | None:
    """Executions and instructions of each operator of the plan that ran, over all sets.

    Without counts per operator each operator of a function without control flow ran once; None where it has some.
    """
    steps = [step for step in plan["steps"] if step["kind"] == "operator"]
    if all(one.invocation.operators is not None for one in measured):
        executions: dict[int, int] = {}
        instructions: dict[int, int] = {}
        cycles: dict[int, Cycles] = {}
        for one in measured:
            for counted in one.invocation.operators or ():
                executions[counted.step] = executions.get(counted.step, 0) + counted.executions
                instructions[counted.step] = instructions.get(counted.step, 0) + counted.instructions
                cycles[counted.step] = cycles.get(counted.step, NO_CYCLES) + counted.cycles
        ran = [step for step in steps if executions.get(step["index"])]
        return [OperatorFigures(s, executions[i], instructions[i], cycles[i]) for s in ran for i in [s["index"]]]
    entered = [plan["signatures"][one.signature]["function"] for one in measured]
    if any(step["kind"] in CONTROL and step["function"] in entered for step in plan["steps"]):
        return None
    return [OperatorFigures(s, entered.count(s["function"]), None, None) for s in steps if s["function"] in entered]


def bench_json(plan: Plan, measured: Sequence[Measured], model: CycleModel) -> Json:
    """`total`, `control`, `operators`, `sets` and `stack_bytes`; `model` is the one that estimated the cycles."""
    operators = operator_figures(plan, measured)
    total = sum(one.invocation.instructions or 0 for one in measured)
    macs = None if operators is None else sum(operator.macs for operator in operators)
    all_cycles = _sum([one.invocation.cycles_estimated for one in measured])
    return {
        "total": {
            "instructions": total,
            **_cycles_json(all_cycles, model),
            "macs": macs,
            "instructions_per_mac": _ratio(total, macs),
        },
        "control": _control_json(total, operators),
        "operators": [_operator_json(operator, model) for operator in operators or ()],
        "sets": [
            {
                "label": one.label,
                "signature": plan["signatures"][one.signature]["key"],
                "instructions": one.invocation.instructions,
                **_cycles_json(one.invocation.cycles_estimated, model),
                "stack_bytes": one.invocation.stack_bytes,
            }
            for one in measured
        ],
        "stack_bytes": max(one.invocation.stack_bytes for one in measured),
    }


def _sum(parts: Sequence[Cycles | None]) -> Cycles | None:
    known = [part for part in parts if part is not None]
    return sum(known, NO_CYCLES) if known and len(known) == len(parts) else None


def _cycles_json(cycles: Cycles | None, model: CycleModel) -> Json:
    if cycles is None:
        return {"cycles_estimated": None, "cycles_range": None}
    return {"cycles_estimated": model.figure(cycles), "cycles_range": [cycles.low, cycles.high]}


def _control_json(total: int, operators: Sequence[OperatorFigures] | None) -> Json:
    """What is no operator's: tests and jumps of control flow, copies at its boundaries, entry and exit."""
    if operators is None or any(operator.instructions is None for operator in operators):
        return {"instructions": None}
    return {"instructions": total - sum(operator.instructions or 0 for operator in operators)}


def _operator_json(operator: OperatorFigures, model: CycleModel) -> Json:
    step = operator.step
    return {
        "step": step["index"],
        "subgraph": step["subgraph"],
        "operator": step["operator"],
        "name": step["name"],
        "outputs": step["outputs"],
        "kernel": step["kernel"],
        "variant": step["variant"],
        "executions": operator.executions,
        "instructions": operator.instructions,
        **_cycles_json(operator.cycles, model),
        "macs": operator.macs,
        "instructions_per_mac": _ratio(operator.instructions, operator.macs),
    }


def _ratio(instructions: int | None, macs: int | None) -> float | None:
    return round(instructions / macs, 4) if instructions is not None and macs else None
