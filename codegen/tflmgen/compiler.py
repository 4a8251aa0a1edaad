"""The driver: a .tflite file to generated C, one line per boundary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tflmgen.backend import Json, Sources, emit, library_name, lower, plan_json
from tflmgen.errors import Location, ModelError, Problem, UsageError
from tflmgen.explore import (
    Candidate,
    Choice,
    apart,
    choose,
    curve,
    parse_budget,
    prepare,
    prepare_trade_offs,
    push_rows,
)
from tflmgen.frontend import TensorKey, find_bounds, import_model, read_model
from tflmgen.ir import Module, Op, Program, Target, walk
from tflmgen.kernels import OPERATORS, Operators, Selector, with_custom
from tflmgen.memory import check
from tflmgen.options import BuildOptions, Optimize
from tflmgen.passes import check_names, limits_by_loop, parse_limits
from tflmgen.plugins import load_operators

ARENA_LIMIT = 1 << 30

FAST = (Optimize.BALANCED, Optimize.SPEED)
"""Those for which as many dead channels stay as make fewest estimated cycles; the others drop them all."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """A compiled model: its graph after the passes, its Program, the generated library and plan.json's contents.

    plugin_files  C files of the plug-ins that it uses: path below the library that all models share -> contents
    """

    name: str
    module: Module
    program: Program
    sources: Sources
    plan: Json
    plugin_files: Mapping[str, bytes]


def compile_model(
    path: Path, target: Target, options: BuildOptions, given: Mapping[TensorKey, tuple[int, ...]] | None = None
) -> Compilation:
    """Compiles a .tflite file for one processor. Raises ModelError for a bad model, InternalError for a bad plan.

    `given` are the rows that inputs of open shape need, for those of which the options don't say more.
    """
    imported, operators = _imported(path, options, given)
    return compile_module(imported, library_name(options.name or path.stem), target, options, operators)


def ram_curve(path: Path, target: Target, options: BuildOptions) -> list[Choice]:
    """The ways to run a model's operators that trade speed for RAM, from the fastest to the smallest; see ram.curve."""
    if options.winograd:
        raise UsageError("--winograd takes RAM for speed: it goes without --pareto")
    imported, operators = _imported(path, options)
    selector = Selector(target, operators)
    modules = _prepared(imported, selector, options, has_budget=True)
    return curve([push_rows(module, options.push_rows or ()) for module in modules], selector)


def compile_module(
    imported: Module, name: str, target: Target, options: BuildOptions, operators: Operators = OPERATORS
) -> Compilation:
    """Compiles a graph as the importer makes it, of the table's `operators`; `name` prefixes all generated names."""
    selector = Selector(target, operators)
    limits, budget = parse_limits(options.max_iterations or ()), parse_budget(options.ram_budget)
    if options.winograd and (options.optimize not in FAST or budget is not None):
        raise UsageError(
            "--winograd takes flash and RAM for speed: it goes with --optimize balanced or speed, no --ram-budget"
        )
    check_names(limits, imported)
    modules = _prepared(imported, selector, options, budget is not None)
    rows = [push_rows(module, options.push_rows or ()) for module in modules]
    how = options.optimize, budget
    chosen = apart(rows[0], selector, *how) if options.no_overlap else choose(rows, selector, *how)
    module, best = chosen.module, chosen.best
    _within_limit(module, best)
    loop_limits = limits_by_loop(limits, module)
    program = lower(module, best.selection, best.schedule, best.storage, best.layout, loop_limits)
    check(program, module.constants)
    sources = emit(program, name, module.sha256, options.text, options.progress_hook)
    described = {"name": name, "optimize": options.optimize.value, "max_iterations": options.max_iterations or []}
    plan = plan_json(module, best.selection, best, program, sources, described)
    return Compilation(name, module, program, sources, plan, _plugin_files(modules[0], operators))


def _imported(
    path: Path, options: BuildOptions, given: Mapping[TensorKey, tuple[int, ...]] | None = None
) -> tuple[Module, Operators]:
    """The graph of a file, and the operator table with the plug-ins that it needs."""
    model = read_model(path)
    bounds = find_bounds(model, options.max_shape or (), options.max_dim, given)
    names = [op.name for subgraph in model.subgraphs for op in subgraph.operators]
    operators = with_custom(load_operators(options.plugin or (), names))
    return import_model(model, bounds, operators), operators


def _prepared(imported: Module, selector: Selector, options: BuildOptions, has_budget: bool) -> tuple[Module, ...]:
    """The graphs after the passes that plans are made of: several, the fastest one first, where little RAM decides."""
    fast, analyze_ranges = options.optimize in FAST, not options.no_range_analysis
    if fast and has_budget:
        return prepare_trade_offs(imported, selector, analyze_ranges)
    return (prepare(imported, selector, analyze_ranges, fast),)


def _plugin_files(module: Module, operators: Operators) -> dict[str, bytes]:
    names = {node.operator for f in module.functions for node in walk(f.body) if isinstance(node, Op)}
    paths = {path for name in names for path in operators[name].files}
    folders = {".h": "include/tflmgen", ".c": "src"}
    return {f"{folders[path.suffix]}/{path.name}": path.read_bytes() for path in sorted(paths)}


def _within_limit(module: Module, best: Candidate) -> None:
    if best.layout.arena.bytes > ARENA_LIMIT:
        largest = max(best.storage.buffers, key=lambda b: b.bytes)
        rule = (
            f"needs {best.layout.arena.bytes} bytes of RAM for its activations, '{largest.name}' alone {largest.bytes}"
        )
        raise ModelError([Problem(Location(module.path), rule, "No microcontroller has that; make the input smaller")])
