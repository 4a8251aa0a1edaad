"""Compiles models in memory and keeps what every stage made, for tests that look between the stages."""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.arena.layout import Layout, lay_out
from tflmgen.emit import Sources, emit
from tflmgen.graph import Module
from tflmgen.importer import import_model
from tflmgen.kernel import Target
from tflmgen.liveness import Liveness, analyze
from tflmgen.lower import lower
from tflmgen.passes import PIPELINE, Pass, run_passes
from tflmgen.program import Program
from tflmgen.schedule import Schedule, schedule
from tflmgen.select import Selection, select
from tflmgen.storage import Storage, assign
from tflmgen.tflite.model import Model
from tflmgen.tflite.reader import parse_model

HOST = Target(core="host")


@dataclass(frozen=True, slots=True)
class Stages:
    """What each stage made of one model."""

    model: Model
    module: Module
    selection: Selection
    schedule: Schedule
    liveness: Liveness
    storage: Storage
    layout: Layout
    program: Program

    def sources(self, name: str) -> Sources:
        return emit(self.program, name, self.module.sha256, "")


def compile_bytes(data: bytes, pipeline: tuple[Pass, ...] = PIPELINE) -> Stages:
    """Every stage but the checker and the emitter, as the driver runs them."""
    model = parse_model(data, "m.tflite")
    return compile_module(model, run_passes(import_model(model), pipeline))


def compile_module(model: Model, module: Module) -> Stages:
    selection = select(module, HOST)
    scheduled = schedule(module)
    homes = {variable.home for variable in module.state.values()}
    liveness = analyze(scheduled, homes)
    storage = assign(scheduled, selection, liveness, homes)
    layout = lay_out(storage, scheduled.steps)
    program = lower(module, selection, scheduled, storage, layout)
    return Stages(model, module, selection, scheduled, liveness, storage, layout, program)
