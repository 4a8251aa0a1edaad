"""Compiles models in memory and keeps what every stage made, for tests that look between the stages."""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.backend.c_library import Sources, emit
from tflmgen.backend.lowering import lower
from tflmgen.explore import best_plan, optimise
from tflmgen.explore.search import PlanCandidate
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.model import Model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.graph.module import Module
from tflmgen.ir.kernel.call import Target
from tflmgen.ir.program.instructions import Program
from tflmgen.kernels.selection import Selection, Selector
from tflmgen.memory.liveness import analyze
from tflmgen.memory.placement import lay_out
from tflmgen.memory.schedule_tree import schedule
from tflmgen.memory.storage import assign
from tflmgen.options import BuildOptions
from tflmgen.passes.pipeline import PIPELINE, Pass, run_passes
from tflmgen.settings import parse_options

HOST = Target(core="host")
SELECTOR = Selector(HOST)
SETTINGS = parse_options(BuildOptions())


@dataclass(frozen=True, slots=True)
class Stages:
    """Results of each stage of the compiler for one model."""

    model: Model
    module: Module
    selection: Selection
    plan: PlanCandidate
    program: Program

    def sources(self, name: str) -> Sources:
        return emit(self.program, name, self.module.sha256, "")


def compile_bytes(data: bytes, pipeline: tuple[Pass, ...] = PIPELINE) -> Stages:
    """Every stage but the checker and the emitter, as the driver runs them.

    With other passes than its own, the first schedule that comes, not the best one.
    """
    return compile_parsed(parse_model(data, "m.tflite"), pipeline)


def compile_parsed(model: Model, pipeline: tuple[Pass, ...] = PIPELINE) -> Stages:
    """The same for a file that is read already."""
    if pipeline is PIPELINE:
        chosen = best_plan(optimise((import_model(model),), SELECTOR, SETTINGS), SELECTOR, SETTINGS)
        module, plan = chosen.module, chosen.best
    else:
        module = run_passes(import_model(model), pipeline)
        plan = first_plan(module)
    return Stages(model, module, plan.selection, plan, lower(module, plan))


def first_plan(module: Module) -> PlanCandidate:
    """The plan of the fastest kernels in the graph's own order; nothing else is tried."""
    selection = SELECTOR.select(module)
    scheduled = schedule(module)
    homes = {variable.home for variable in module.state.values()}
    liveness = analyze(scheduled, homes)
    storage = assign(scheduled, selection, liveness, homes)
    return PlanCandidate(selection, scheduled, liveness, storage, lay_out(storage, scheduled.steps))
