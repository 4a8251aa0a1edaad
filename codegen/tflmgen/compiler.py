"""The driver: a .tflite file to generated C, one line per boundary."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tflmgen.arena.check import check
from tflmgen.arena.layout import Layout, lay_out
from tflmgen.emit import Sources, emit
from tflmgen.errors import Location, ModelError, Problem
from tflmgen.graph import Module
from tflmgen.importer import import_model
from tflmgen.kernel import Target
from tflmgen.liveness import analyze
from tflmgen.lower import lower
from tflmgen.options import BuildOptions
from tflmgen.order import update_last
from tflmgen.passes import run_passes
from tflmgen.plan import Json, plan_json
from tflmgen.program import Program
from tflmgen.schedule import schedule
from tflmgen.select import select
from tflmgen.storage import Storage, assign
from tflmgen.tflite.reader import read_model

ARENA_LIMIT = 1 << 30


@dataclass(frozen=True, slots=True)
class Compilation:
    """A compiled model: its graph after the passes, its Program, the generated library and plan.json's contents."""

    name: str
    module: Module
    program: Program
    sources: Sources
    plan: Json


def compile_model(path: Path, target: Target, options: BuildOptions) -> Compilation:
    """Compiles a .tflite file for one processor. Raises ModelError for a bad model, InternalError for a bad plan."""
    return compile_module(import_model(read_model(path)), options.prefix(path), target, options)


def compile_module(imported: Module, name: str, target: Target, options: BuildOptions) -> Compilation:
    """Compiles a graph as the importer makes it; `name` is the prefix of all generated names."""
    module = run_passes(imported)
    selection = select(module, target)
    scheduled = schedule(update_last(module))
    variables = {v.home for v in module.state.values()}
    liveness = analyze(scheduled, variables)
    storage = assign(scheduled, selection, liveness, variables)
    layout = lay_out(storage, scheduled.steps)
    _within_limit(module, storage, layout)
    program = lower(module, selection, scheduled, storage, layout)
    check(program, module.constants)
    sources = emit(program, name, module.sha256, options.text)
    described = {"name": name, "optimize": options.optimize.value}
    plan = plan_json(module, selection, scheduled, liveness, storage, layout, program, sources, described)
    return Compilation(name, module, program, sources, plan)


def _within_limit(module: Module, storage: Storage, layout: Layout) -> None:
    if layout.arena.bytes > ARENA_LIMIT:
        largest = max(storage.buffers, key=lambda b: b.bytes)
        rule = f"needs {layout.arena.bytes} bytes of RAM for its activations, '{largest.name}' alone {largest.bytes}"
        raise ModelError([Problem(Location(module.path), rule, "No microcontroller has that; make the input smaller")])
