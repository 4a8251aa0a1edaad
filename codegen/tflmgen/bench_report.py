"""The figures of a benchmark: counts of invokes laid beside the plan. Their JSON has the schema schema/bench.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    """One operator over all sets; `instructions` is None where the emulator counts none per operator."""

    step: Json
    executions: int
    instructions: int | None

    @property
    def macs(self) -> int:
        return int(self.step["macs"]) * self.executions


def operator_figures(plan: Plan, measured: Sequence[Measured]) -> list[OperatorFigures] | None:
    """Executions and instructions of each operator of the plan that ran, over all sets.

    Without counts per operator each operator of a function without control flow ran once; None where it has some.
    """
    steps = [step for step in plan["steps"] if step["kind"] == "operator"]
    if all(one.invocation.operators for one in measured):
        executions: dict[int, int] = {}
        instructions: dict[int, int] = {}
        for one in measured:
            for counted in one.invocation.operators:
                executions[counted.step] = executions.get(counted.step, 0) + counted.executions
                instructions[counted.step] = instructions.get(counted.step, 0) + counted.instructions
        ran = [step for step in steps if executions.get(step["index"])]
        return [OperatorFigures(s, executions[s["index"]], instructions[s["index"]]) for s in ran]
    entered = [plan["signatures"][one.signature]["function"] for one in measured]
    if any(step["kind"] in CONTROL and step["function"] in entered for step in plan["steps"]):
        return None
    return [OperatorFigures(s, entered.count(s["function"]), None) for s in steps if s["function"] in entered]


def bench_json(plan: Plan, measured: Sequence[Measured]) -> Json:
    """`total`, `operators`, `sets` and `stack_bytes`."""
    operators = operator_figures(plan, measured)
    total = sum(one.invocation.instructions or 0 for one in measured)
    macs = None if operators is None else sum(operator.macs for operator in operators)
    return {
        "total": {"instructions": total, "macs": macs, "instructions_per_mac": _ratio(total, macs)},
        "operators": [_operator_json(operator) for operator in operators or ()],
        "sets": [
            {
                "label": one.label,
                "signature": plan["signatures"][one.signature]["key"],
                "instructions": one.invocation.instructions,
                "stack_bytes": one.invocation.stack_bytes,
            }
            for one in measured
        ],
        "stack_bytes": max(one.invocation.stack_bytes for one in measured),
    }


def _operator_json(operator: OperatorFigures) -> Json:
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
        "macs": operator.macs,
        "instructions_per_mac": _ratio(operator.instructions, operator.macs),
    }


def _ratio(instructions: int | None, macs: int | None) -> float | None:
    return round(instructions / macs, 4) if instructions is not None and macs else None
