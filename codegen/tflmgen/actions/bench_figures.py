"""Figures of a benchmark: counted invokes joined with plan.json. The JSON follows schema/bench.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from numpy.typing import NDArray

from tflmgen.actions.worst_case_path import PathCost, WorstCase, worst_case_path
from tflmgen.emulators import CycleModel, Cycles, Invocation, Tally

Plan = Mapping[str, Any]
Json = dict[str, Any]

CONTROL = ("if", "while", "call")


@dataclass(frozen=True, slots=True)
class MeasuredInvoke:
    """One counted invoke: label of the input set, index of the signature, the emulator's counts, and the outputs."""

    label: str
    signature: int
    invocation: Invocation
    outputs: tuple[NDArray[Any], ...] = ()


@dataclass(frozen=True, slots=True)
class OperatorFigures:
    """Totals of one operator over all input sets.

    step                  the operator's entry in plan.json
    instructions, cycles  None where the emulator does not count per operator, or estimates no cycles
    stages                counts per stage of row streaming; empty where they are not counted
    """

    step: Json
    executions: int
    instructions: int | None
    cycles: Cycles | None
    stages: tuple[Tally, ...] = ()

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all executions."""
        return int(self.step["macs"]) * self.executions


def operator_figures(plan: Plan, measured: Sequence[MeasuredInvoke]) -> list[OperatorFigures] | None:
    """Totals of each executed operator of the plan, over all input sets.

    Without counts per operator, each operator of an entered function ran once per invoke if that function has no
    control flow; otherwise the result is None.
    """
    steps = [step for step in plan["steps"] if step["kind"] == "operator"]
    if all(measured_set.invocation.operators is not None for measured_set in measured):
        executions: dict[int, int] = {}
        instructions: dict[int, int] = {}
        cycles: dict[int, Cycles] = {}
        stages: dict[int, tuple[Tally, ...]] = {}
        for measured_set in measured:
            for counted in measured_set.invocation.operators or ():
                executions[counted.step] = executions.get(counted.step, 0) + counted.executions
                instructions[counted.step] = instructions.get(counted.step, 0) + counted.instructions
                cycles[counted.step] = cycles.get(counted.step, Cycles()) + counted.cycles
                stage_totals = stages.get(counted.step, (Tally(),) * len(counted.stages))
                stages[counted.step] = tuple(a + b for a, b in zip(stage_totals, counted.stages, strict=True))
        executed = [step for step in steps if executions.get(step["index"])]
        has_cycles = all(measured_set.invocation.cycles_estimated is not None for measured_set in measured)
        return [
            OperatorFigures(step, executions[i], instructions[i], cycles[i] if has_cycles else None, stages[i])
            for step in executed
            for i in [step["index"]]
        ]
    entered_functions = [plan["signatures"][measured_set.signature]["function"] for measured_set in measured]
    if any(step["kind"] in CONTROL and step["function"] in entered_functions for step in plan["steps"]):
        return None
    return [
        OperatorFigures(s, entered_functions.count(s["function"]), None, None)
        for s in steps
        if s["function"] in entered_functions
    ]


def bench_json(plan: Plan, measured: Sequence[MeasuredInvoke], model: CycleModel, clock: int) -> Json:
    """The report's fields that follow from the counts: `per_invoke`, `total`, `sets` and so on.

    model  the model that estimated the cycles
    clock  of the board, in Hz; converts cycles to milliseconds
    """
    operators = operator_figures(plan, measured)
    total = _sums_json(plan, measured, operators, model)
    sets = [_set_json(plan, measured_set, model, clock) for measured_set in measured]
    return {
        "clock_hz": clock,
        "per_invoke": _per_invoke(sets),
        "total": total,
        "control": _control_json(total["instructions"], operators),
        "worst_path": _worst_json(_worst(plan, measured, operators, model), plan, clock),
        "operators": [_operator_json(operator, model) for operator in operators or ()],
        "sets": sets,
        "stack_bytes": max(measured_set.invocation.stack_bytes for measured_set in measured),
    }


def _sums_json(
    plan: Plan, measured: Sequence[MeasuredInvoke], operators: Sequence[OperatorFigures] | None, model: CycleModel
) -> Json:
    """Sums over the invokes; `operators` are their executed operators, None if unknown."""
    instructions = sum(measured_set.invocation.instructions or 0 for measured_set in measured)
    macs = None if operators is None else sum(operator.macs for operator in operators)
    removed = None if operators is None else _macs_removed(plan, operators, len(measured))
    of_file = None if macs is None or removed is None else macs + removed
    return {
        "instructions": instructions,
        **_cycles_json(_sum([measured_set.invocation.cycles_estimated for measured_set in measured]), model),
        "macs": macs,
        "instructions_per_mac": _ratio(instructions, macs),
        "macs_of_file": of_file,
        "instructions_per_mac_of_file": _ratio(instructions, of_file),
    }


def _set_json(plan: Plan, measured_set: MeasuredInvoke, model: CycleModel, clock: int) -> Json:
    """Figures of one invoke and of each operator that it executed."""
    operators = operator_figures(plan, [measured_set])
    sums = _sums_json(plan, [measured_set], operators, model)
    return {
        "label": measured_set.label,
        "signature": plan["signatures"][measured_set.signature]["key"],
        **sums,
        "milliseconds_estimated": milliseconds(sums["cycles_estimated"], clock),
        "stack_bytes": measured_set.invocation.stack_bytes,
        "control": _control_json(sums["instructions"], operators),
        "operators": [{"step": o.step["index"], **_figures_json(o, model)} for o in operators or ()],
    }


def _per_invoke(sets: Sequence[Json]) -> Json:
    """Median and maximum over the invokes, by estimated cycles or else by instructions.

    For an even number of invokes the median is the lower of the two middle ones: a counted invoke, not a mean.
    """

    def cost(number: int) -> int:
        return int(sets[number]["cycles_estimated"] or sets[number]["instructions"] or 0)

    ranked = sorted(range(len(sets)), key=cost)
    worst = max(ranked, key=cost)
    typical = ranked[(len(ranked) - 1) // 2]
    keys = ("instructions", "cycles_estimated", "milliseconds_estimated")
    return {
        name: {"set": number, **{key: sets[number][key] for key in keys}}
        for name, number in (("typical", typical), ("worst", worst))
    }


def milliseconds(cycles: int | None, clock: int) -> float | None:
    """Duration of `cycles` at `clock` Hz, in milliseconds."""
    return None if cycles is None else round(1000 * cycles / clock, 3)


def _macs_removed(plan: Plan, operators: Sequence[OperatorFigures], invokes: int) -> int | None:
    """Multiply-accumulates that value-range analysis removed, times the executions of their operators.

    An operator removed whole counts once per invoke in a model without control flow; with control flow its executions
    are unknown, and the result is None.
    """
    runs = {
        (part["subgraph"], part["operator"]): operator.executions
        for operator in operators
        for part in (operator.step, *operator.step.get("stages", ()))
    }
    is_straight_line = not any(step["kind"] in CONTROL for step in plan["steps"])
    present = {(step["subgraph"], step["operator"]) for step in plan["steps"] if step["kind"] == "operator"}
    total = 0
    for removed in plan["removed"]:
        key = removed["subgraph"], removed["operator"]
        if not removed["macs"]:
            continue
        if key not in runs and key not in present and not is_straight_line:
            return None
        total += removed["macs"] * runs.get(key, invokes if is_straight_line else 0)
    return total


def _sum(parts: Sequence[Cycles | None]) -> Cycles | None:
    estimated = [part for part in parts if part is not None]
    return sum(estimated, Cycles()) if estimated and len(estimated) == len(parts) else None


def _cycles_json(cycles: Cycles | None, model: CycleModel) -> Json:
    if cycles is None:
        return {"cycles_estimated": None, "cycles_range": None}
    return {"cycles_estimated": model.figure(cycles), "cycles_range": [cycles.low, cycles.high]}


def _control_json(total: int, operators: Sequence[OperatorFigures] | None) -> Json:
    """Instructions outside operators: tests and jumps of control flow, copies at its boundaries, entry and exit."""
    if operators is None or any(operator.instructions is None for operator in operators):
        return {"instructions": None}
    return {"instructions": total - sum(operator.instructions or 0 for operator in operators)}


def _worst(
    plan: Plan, measured: Sequence[MeasuredInvoke], operators: Sequence[OperatorFigures] | None, model: CycleModel
) -> WorstCase | None:
    """Most expensive worst-case path among the measured signatures.

    A step costs its mean count; a step that never ran costs its estimate from plan.json, where cycles are estimated.
    """
    costs = {}
    counted = [operator for operator in operators or () if operator.instructions is not None]
    for step in plan["steps"] if not counted or counted[0].cycles is not None else ():
        if expected := step.get("expected"):
            costs[step["index"]] = PathCost(None, expected["cycles"])
    for operator in counted:
        runs, instructions = operator.executions, operator.instructions or 0
        cycles = 0 if operator.cycles is None else -(-model.figure(operator.cycles) // runs)
        costs[operator.step["index"]] = PathCost(-(-instructions // runs), cycles)
    functions = dict.fromkeys(plan["signatures"][measurement.signature]["function"] for measurement in measured)
    paths = [path for function in functions if (path := worst_case_path(plan, function, costs))]
    return max(paths, key=_rank, default=None)


def _rank(path: WorstCase) -> tuple[bool, int, int]:
    cost = path.cost or PathCost()
    return path.cost is None, cost.cycles, cost.instructions or 0


def _worst_json(path: WorstCase | None, plan: Plan, clock: int) -> Json | None:
    if path is None:
        return None
    steps = {step["index"]: step for step in plan["steps"]}
    cycles = path.cost.cycles or None if path.cost else None

    def places(indices: Sequence[int]) -> list[str]:
        return [f"{steps[i]['subgraph']}:{steps[i]['operator']}" for i in indices]

    return {
        "instructions": path.cost.instructions if path.cost else None,
        "cycles_estimated": cycles,
        "milliseconds_estimated": milliseconds(cycles, clock),
        "unbounded_loops": places(path.unbounded),
        "unknown_operators": places(path.unknown),
    }


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
        "expected": step.get("expected"),
        "considered": step.get("considered", []),
        **_figures_json(operator, model, described=True),
    }


def _figures_json(operator: OperatorFigures, model: CycleModel, described: bool = False) -> Json:
    """Figures of an operator and of its row-streaming stages; `described` adds the stages' names and tensors."""
    stages = zip_longest(operator.step.get("stages", ()), operator.stages)
    return {
        "executions": operator.executions,
        "instructions": operator.instructions,
        **_cycles_json(operator.cycles, model),
        "macs": operator.macs,
        "instructions_per_mac": _ratio(operator.instructions, operator.macs),
        "stages": [
            {**(_stage_json(stage) if described else {}), **_stage_figures(stage, operator, tally, model)}
            for stage, tally in stages
        ],
    }


def _stage_json(stage: Json) -> Json:
    return {name: stage[name] for name in ("subgraph", "operator", "name", "outputs", "kernels", "variant")}


def _stage_figures(stage: Json, operator: OperatorFigures, tally: Tally | None, model: CycleModel) -> Json:
    """Figures of one stage of a row-streamed operator; tally None: not counted per stage."""
    runs = operator.executions
    instructions, macs = (tally.instructions if tally else None), stage["macs"] * runs
    return {
        "executions": stage["calls"] * runs,
        "instructions": instructions,
        **_cycles_json(tally.cycles if tally and operator.cycles is not None else None, model),
        "macs": macs,
        "instructions_per_mac": _ratio(instructions, macs),
    }


def _ratio(instructions: int | None, macs: int | None) -> float | None:
    return round(instructions / macs, 4) if instructions is not None and macs else None
