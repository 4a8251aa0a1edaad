"""Compiles models in memory and keeps what every stage made, for tests that look between the stages."""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.backend.c_library import Sources, emit
from tflmgen.backend.lowering import lower
from tflmgen.explore.search import Candidate, best_candidate
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.model import Model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.graph import Module
from tflmgen.ir.kernel import Target
from tflmgen.ir.program import Program
from tflmgen.kernels.selection import Selection, Selector
from tflmgen.memory.offsets import lay_out
from tflmgen.memory.storage import assign
from tflmgen.passes.pipeline import PIPELINE, Pass, run_passes
from tflmgen.schedule.liveness import analyze
from tflmgen.schedule.tree import schedule

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
    selection = Selector(HOST).select(module)
    plan = best_candidate(module, selection) if pipeline is PIPELINE else _plain(module, selection)
    program = lower(module, plan.selection, plan.schedule, plan.storage, plan.layout)
    return Stages(model, module, plan.selection, plan, program)


def _plain(module: Module, selection: Selection) -> Candidate:
    scheduled = schedule(module)
    homes = {variable.home for variable in module.state.values()}
    liveness = analyze(scheduled, homes)
    storage = assign(scheduled, selection, liveness, homes)
    return Candidate(selection, scheduled, liveness, storage, lay_out(storage, scheduled.steps))
