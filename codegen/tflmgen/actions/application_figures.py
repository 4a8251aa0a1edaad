"""Figures of an application's calls: what each stage takes and how often it runs, duty cycle, an estimate of energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tflmgen.actions.bench_figures import MeasuredInvoke
from tflmgen.actions.planned_model import Json, PlannedModel


@dataclass(frozen=True, slots=True)
class Supply:
    """Currents and voltage of a processor: milliamperes while it computes and while it waits, and volts."""

    active: float
    idle: float
    volts: float


def application_json(model: PlannedModel, measured: Sequence[MeasuredInvoke], figures: Json) -> Json | None:
    """The field `application` of schema/bench.json; None for other models. figures: those of bench_json()."""
    app = model.application
    if app is None:
        return None
    calls, key = len(measured), "cycles_estimated"
    names = [port.name for port in model.compilation.module.signatures[0].outputs]
    of_step = {step: part["name"] for part in model.plan["stages"] for step in part["steps"]}
    sums = {part["name"]: {"instructions": 0, key: 0} for part in model.plan["stages"]}
    for operator in (operator for figures_set in figures["sets"] for operator in figures_set["operators"]):
        for field in ("instructions", key):
            if (name := of_step.get(operator["step"])) is not None:
                sums[name][field] += operator[field] or 0
    total = figures["total"][key] or figures["total"]["instructions"]
    counted = key if figures["total"][key] else "instructions"
    stages = [
        {
            "name": stage.name,
            "runs": _runs(stage.name, names, measured),
            **sums[stage.name],
            "share": round(sums[stage.name][counted] / total, 4) if total else 0.0,
        }
        for stage in app.stages
    ]
    return {
        "period_s": app.period,
        "calls": calls,
        "stages": stages,
        "instructions_per_second": app.period and round(figures["total"]["instructions"] / calls / app.period),
        "duty": app.period and _duty(figures, calls, app.period),
        "energy": None,
    }


def _runs(stage: str, outputs: Sequence[str], measured: Sequence[MeasuredInvoke]) -> int | None:
    """Calls in which a stage ran; None where no output says it."""
    if f"{stage}.ran" not in outputs:
        return None
    place = outputs.index(f"{stage}.ran")
    return sum(any(invoke.invocation.outputs[place]) for invoke in measured)


def _duty(figures: Json, calls: int, period: float) -> Json | None:
    """Parts of a period in which the processor computes: of the median, the mean and the longest call."""
    if figures["total"]["cycles_estimated"] is None:
        return None
    cycles = {name: figures["per_invoke"][name]["cycles_estimated"] for name in ("typical", "worst")}
    cycles["mean"] = figures["total"]["cycles_estimated"] / calls
    return {name: round(cycles[name] / figures["clock_hz"] / period, 6) for name in ("typical", "mean", "worst")}


def energy_json(application: Mapping[str, Any], supply: Supply) -> Json | None:
    """An estimate from the mean duty cycle; None where that is unknown."""
    if not application["duty"]:
        return None
    duty = application["duty"]["mean"]
    current = supply.active * duty + supply.idle * (1 - duty)
    return {
        "active_ma": supply.active,
        "idle_ma": supply.idle,
        "volts": supply.volts,
        "mean_ma": round(current, 6),
        "millijoules_per_second": round(current * supply.volts, 6),
    }
