"""The figures of a benchmark: counts of invokes laid beside the plan. Their JSON has the schema schema/bench.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from tflmgen.commands.worst_path import Cost, WorstPath, worst_path
from tflmgen.emulators import NO_CYCLES, NOTHING, CycleModel, Cycles, Invocation, Tally

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
    """One operator over all sets; `instructions` and `cycles` are None where they are not counted per operator.

    stages: what those of a stream took; empty where that is not counted.
    """

    step: Json
    executions: int
    instructions: int | None
    cycles: Cycles | None
    stages: tuple[Tally, ...] = ()

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
        stages: dict[int, tuple[Tally, ...]] = {}
        for one in measured:
            for counted in one.invocation.operators or ():
                executions[counted.step] = executions.get(counted.step, 0) + counted.executions
                instructions[counted.step] = instructions.get(counted.step, 0) + counted.instructions
                cycles[counted.step] = cycles.get(counted.step, NO_CYCLES) + counted.cycles
                before = stages.get(counted.step, (NOTHING,) * len(counted.stages))
                stages[counted.step] = tuple(a + b for a, b in zip(before, counted.stages, strict=True))
        ran = [step for step in steps if executions.get(step["index"])]
        return [
            OperatorFigures(step, executions[i], instructions[i], cycles[i], stages[i])
            for step in ran
            for i in [step["index"]]
        ]
    entered = [plan["signatures"][one.signature]["function"] for one in measured]
    if any(step["kind"] in CONTROL and step["function"] in entered for step in plan["steps"]):
        return None
    return [OperatorFigures(s, entered.count(s["function"]), None, None) for s in steps if s["function"] in entered]


def bench_json(plan: Plan, measured: Sequence[Measured], model: CycleModel, clock: int) -> Json:
    """Everything that comes of the counts: `per_invoke`, `total`, `sets` and so on.

    model: what estimated the cycles
    clock: Hz, by which cycles become milliseconds
    """
    operators = operator_figures(plan, measured)
    total = _sums_json(plan, measured, operators, model)
    sets = [_set_json(plan, one, model, clock) for one in measured]
    return {
        "clock_hz": clock,
        "per_invoke": _per_invoke(sets),
        "total": total,
        "control": _control_json(total["instructions"], operators),
        "worst_path": _worst_json(_worst(plan, measured, operators, model), plan, clock),
        "operators": [_operator_json(operator, model) for operator in operators or ()],
        "sets": sets,
        "stack_bytes": max(one.invocation.stack_bytes for one in measured),
    }


def _sums_json(
    plan: Plan, measured: Sequence[Measured], operators: Sequence[OperatorFigures] | None, model: CycleModel
) -> Json:
    """What the invokes took together; `operators` are those that ran in them."""
    instructions = sum(one.invocation.instructions or 0 for one in measured)
    macs = None if operators is None else sum(operator.macs for operator in operators)
    removed = None if operators is None else _macs_removed(plan, operators, len(measured))
    of_file = None if macs is None or removed is None else macs + removed
    return {
        "instructions": instructions,
        **_cycles_json(_sum([one.invocation.cycles_estimated for one in measured]), model),
        "macs": macs,
        "instructions_per_mac": _ratio(instructions, macs),
        "macs_of_file": of_file,
        "instructions_per_mac_of_file": _ratio(instructions, of_file),
    }


def _set_json(plan: Plan, one: Measured, model: CycleModel, clock: int) -> Json:
    """One invoke, and what each operator that ran in it took."""
    operators = operator_figures(plan, [one])
    sums = _sums_json(plan, [one], operators, model)
    return {
        "label": one.label,
        "signature": plan["signatures"][one.signature]["key"],
        **sums,
        "milliseconds_estimated": milliseconds(sums["cycles_estimated"], clock),
        "stack_bytes": one.invocation.stack_bytes,
        "control": _control_json(sums["instructions"], operators),
        "operators": [{"step": o.step["index"], **_figures_json(o, model)} for o in operators or ()],
    }


def _per_invoke(sets: Sequence[Json]) -> Json:
    """The invoke of the median and the one of the most cycles, or instructions where cycles are not estimated.

    Of an even number of invokes the median is the lower one of the middle, so that both are invokes that were counted.
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
    """How long `cycles` take at `clock` Hz."""
    return None if cycles is None else round(1000 * cycles / clock, 3)


def _macs_removed(plan: Plan, operators: Sequence[OperatorFigures], invokes: int) -> int | None:
    """Multiply-accumulates of the file that value-range analysis has removed, as often as their operators ran.

    An operator of which nothing is left ran once per invoke where there is no control flow; else that is not known.
    """
    runs = {
        (part["subgraph"], part["operator"]): operator.executions
        for operator in operators
        for part in (operator.step, *operator.step.get("stages", ()))
    }
    straight = not any(step["kind"] in CONTROL for step in plan["steps"])
    known = {(step["subgraph"], step["operator"]) for step in plan["steps"] if step["kind"] == "operator"}
    total = 0
    for removed in plan["removed"]:
        place = removed["subgraph"], removed["operator"]
        if not removed["macs"]:
            continue
        if place not in runs and place not in known and not straight:
            return None
        total += removed["macs"] * runs.get(place, invokes if straight else 0)
    return total


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


def _worst(
    plan: Plan, measured: Sequence[Measured], operators: Sequence[OperatorFigures] | None, model: CycleModel
) -> WorstPath | None:
    """The dearest of the measured signatures, by what each operator took on average, or was expected to take."""
    costs = {}
    for step in plan["steps"]:
        if expected := step.get("expected"):
            costs[step["index"]] = Cost(None, expected["cycles"])
    for operator in operators or ():
        if operator.instructions is not None and operator.cycles is not None:
            runs = operator.executions
            cycles = -(-model.figure(operator.cycles) // runs)
            costs[operator.step["index"]] = Cost(-(-operator.instructions // runs), cycles)
    functions = dict.fromkeys(plan["signatures"][one.signature]["function"] for one in measured)
    found = [path for function in functions if (path := worst_path(plan, function, costs))]
    return max(found, key=lambda path: (path.cost is None, path.cost.cycles if path.cost else 0), default=None)


def _worst_json(path: WorstPath | None, plan: Plan, clock: int) -> Json | None:
    if path is None:
        return None
    steps = {step["index"]: step for step in plan["steps"]}

    def places(indices: Sequence[int]) -> list[str]:
        return [f"{steps[i]['subgraph']}:{steps[i]['operator']}" for i in indices]

    return {
        "instructions": path.cost.instructions if path.cost else None,
        "cycles_estimated": path.cost.cycles if path.cost else None,
        "milliseconds_estimated": milliseconds(path.cost.cycles if path.cost else None, clock),
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
    """What an operator took; of a stream, also what each stage took, and where `described` what the stage is."""
    stages = zip_longest(operator.step.get("stages", ()), operator.stages)
    return {
        "executions": operator.executions,
        "instructions": operator.instructions,
        **_cycles_json(operator.cycles, model),
        "macs": operator.macs,
        "instructions_per_mac": _ratio(operator.instructions, operator.macs),
        "stages": [
            {**(_stage_json(stage) if described else {}), **_stage_figures(stage, operator.executions, tally, model)}
            for stage, tally in stages
        ],
    }


def _stage_json(stage: Json) -> Json:
    return {name: stage[name] for name in ("subgraph", "operator", "name", "outputs", "kernels", "variant")}


def _stage_figures(stage: Json, runs: int, tally: Tally | None, model: CycleModel) -> Json:
    """An operator of a stream that ran `runs` times."""
    instructions, macs = (tally.instructions if tally else None), stage["macs"] * runs
    return {
        "executions": stage["calls"] * runs,
        "instructions": instructions,
        **_cycles_json(tally.cycles if tally else None, model),
        "macs": macs,
        "instructions_per_mac": _ratio(instructions, macs),
    }


def _ratio(instructions: int | None, macs: int | None) -> float | None:
    return round(instructions / macs, 4) if instructions is not None and macs else None
