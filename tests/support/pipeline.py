"""Compiles models in memory and keeps what every stage made, for tests that look between the stages."""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.arena.layout import lay_out
from tflmgen.emit import Sources, emit
from tflmgen.graph import Module
from tflmgen.importer import import_model
from tflmgen.kernel import Target
from tflmgen.liveness import analyze
from tflmgen.lower import lower
from tflmgen.passes import PIPELINE, Pass, run_passes
from tflmgen.program import Program
from tflmgen.schedule import schedule
from tflmgen.search import Candidate, best_candidate
from tflmgen.select import Selection, select
from tflmgen.storage import assign
from tflmgen.tflite.model import Model
from tflmgen.tflite.reader import parse_model

HOST = Target(core="host")


@dataclass(frozen=True, slots=True)
class Stages:
    """What each stage made of one model."""

    model: Model
    module: Module
    selection: Selection
    plan: Candidate
    program: Program

    def sources(self, name: str) -> Sources:
        return emit(self.program, name, self.module.sha256, "")


def compile_bytes(data: bytes, pipeline: tuple[Pass, ...] = PIPELINE) -> Stages:
    """Every stage but the checker and the emitter, as the driver runs them.

    With other passes than its own, the first schedule that comes, not the best one.
    """
    model = parse_model(data, "m.tflite")
    module = run_passes(import_model(model), pipeline)
    selection = select(module, HOST)
    plan = best_candidate(module, selection) if pipeline is PIPELINE else _plain(module, selection)
    program = lower(module, plan.selection, plan.schedule, plan.storage, plan.layout)
    return Stages(model, module, plan.selection, plan, program)


def _plain(module: Module, selection: Selection) -> Candidate:
    scheduled = schedule(module)
    homes = {variable.home for variable in module.state.values()}
    liveness = analyze(scheduled, homes)
    storage = assign(scheduled, selection, liveness, homes)
    return Candidate(selection, scheduled, liveness, storage, lay_out(storage, scheduled.steps))
