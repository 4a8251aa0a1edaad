"""The compiler of graphs: optimise → explore → lower → check → emit, one line each.

best_plan() chooses among plans; each of them is made by select → schedule → analyze → assign → lay_out
(explore/search.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Protocol

from tflmgen.backend import (
    Json,
    Sources,
    constants_alone,
    emit,
    label_header,
    lower,
    plan_json,
    remarks_of,
)
from tflmgen.explore import TradeOff, best_plan, in_memories, optimise, plan_prefetches, row_streams, with_weight_blocks
from tflmgen.frontend.tflite import Model
from tflmgen.ir import NO_CHECKS, DeviceChecks
from tflmgen.ir.graph import Module, Op, walk
from tflmgen.ir.kernel import Target
from tflmgen.ir.program import Program
from tflmgen.kernels import Selector, reader_of
from tflmgen.kernels.specification import Operators
from tflmgen.memory import packing_bound
from tflmgen.options import BuildOptions, Validate
from tflmgen.passes import check_names, claims_of_ranges, least_weights, limits_by_loop
from tflmgen.plugins import references_of
from tflmgen.proof import Entry, check_constants, check_meaning, check_memory, check_text, without_handles
from tflmgen.reference import ValidationContext, validated
from tflmgen.settings import Settings, parse_options


class Report(Protocol):
    """Told what is being done now and, where known, how many parts of it are done of how many."""

    def __call__(self, text: str, done: int = 0, total: int = 0) -> None: ...


def unreported(text: str, done: int = 0, total: int = 0) -> None:
    """Ignores progress: the reporter of callers that show none."""
    del text, done, total


class WeightsCheck(Protocol):
    """Told how many bytes the weights take at least, as soon as that is known; raises an error to end the build."""

    def __call__(self, path: str, least: int) -> None: ...


def unchecked(path: str, least: int) -> None:
    """Accepts weights of any size."""
    del path, least


@dataclass(frozen=True, slots=True)
class Compilation:
    """A compiled model: graph after the passes, Program, text of the generated library, contents of plan.json.

    plugin_files  C files of the plug-ins in use: path below the library shared by all models -> contents
    """

    name: str
    module: Module
    program: Program
    sources: Sources
    plan: Json
    plugin_files: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class ImportedProgram:
    """A program to compile.

    graphs    equivalent graphs, the one with the loops of the file first
    name      prefix of all generated names
    selector  chooses kernels, those of plug-ins too
    model     the file, with which the graph is compared; None: there is none
    labels    names of classes by output
    proof     how sources that were lowered compare with what they mean: parts of the plan's proof
    """

    graphs: tuple[Module, ...]
    name: str
    selector: Selector
    model: Model | None = None
    labels: Mapping[str | int, Sequence[str]] = field(default_factory=dict)
    proof: Sequence[Json] = ()


def compile_module(imported: Module, name: str, target: Target, options: BuildOptions) -> Compilation:
    """Compiles an imported graph; `name` is the prefix of all generated names. Raises as compile_program does."""
    return compile_program(ImportedProgram((imported,), name, Selector(target)), parse_options(options))


def compile_program(
    source: ImportedProgram, settings: Settings, report: Report = unreported, check_weights: WeightsCheck = unchecked
) -> Compilation:
    """Compiles a program for one processor. Raises ModelError for a bad model, InternalError for a bad plan."""
    options, imported, selector, name = settings.options, source.graphs[0], source.selector, source.name
    check_names(settings.loops, imported)
    modules = optimise(source.graphs, selector, settings, settings.trades_cycles)
    check_weights(imported.path, min(map(least_weights, modules)))
    plan_choice = _plan_choice(modules, selector, settings)
    module = plan_choice.module
    loop_limits = limits_by_loop(settings.loops, module)
    prefetches = plan_prefetches(plan_choice.best, selector.target)
    program = lower(module, plan_choice.best, loop_limits, prefetches)
    check_memory(program, module.constants)
    reselected = selector.select(module, row_streams(module, selector.target))
    check_meaning(module, program, reselected.selected, loop_limits)
    check_constants(module, program, reselected.selected, reader_of)
    sources = _emitted(program, module, imported, name, options, selector.target.code_cache)
    context = ValidationContext(references_of(selector.operators), imported, partial(report, "Validating, input sets"))
    proof = [*_proof(source.model, module, options.validate, context), *source.proof]
    plan = {**_plan(plan_choice, program, sources, name, options), "proof": proof}
    header = label_header(sources.entries, name, source.labels)
    sources = replace(sources, files={**sources.files, **header})
    return Compilation(name, module, program, sources, plan, _plugin_files(modules[0], selector.operators))


def estimated_plan(source: ImportedProgram, settings: Settings) -> Json:
    """Contents of plan.json as compile_program gives them, but without lines of C and without proof."""
    check_names(settings.loops, source.graphs[0])
    # Kernels that the search for a plan has met need not be made anew, since nothing is proved of them.
    selector = source.selector.remembering
    modules = optimise(source.graphs, selector, settings, settings.trades_cycles)
    plan_choice = _plan_choice(modules, selector, settings)
    loop_limits = limits_by_loop(settings.loops, plan_choice.module)
    prefetches = plan_prefetches(plan_choice.best, selector.target)
    program = lower(plan_choice.module, plan_choice.best, loop_limits, prefetches)
    return _plan(plan_choice, program, constants_alone(program), source.name, settings.options)


def _plan_choice(modules: tuple[Module, ...], selector: Selector, settings: Settings) -> TradeOff:
    """The best plan, with weights in blocks where flash is slow, and its arena in the memories of the target."""
    choice = with_weight_blocks(best_plan(modules, selector, settings), selector, settings)
    return replace(choice, best=in_memories(choice.best, selector.target.arena))


def _emitted(
    program: Program, module: Module, imported: Module, name: str, options: BuildOptions, code_cache: int
) -> Sources:
    """The generated C, which check_sources() has checked."""
    checks = DeviceChecks(options.check_memory, options.check_weights.value)
    sources = emit(
        program,
        name,
        module.sha256,
        options.text,
        options.progress_hook,
        remarks=remarks_of(imported, module.removed, program),
        checks=checks,
        reentrant=options.reentrant,
        code_cache=code_cache,
    )
    check_sources(program, name, sources, checks)
    return sources


def _plan(plan_choice: TradeOff, program: Program, sources: Sources, name: str, options: BuildOptions) -> Json:
    module, best = plan_choice.module, plan_choice.best
    plan_options = {"name": name, "optimize": options.optimize.value, "max_iterations": options.max_iterations or []}
    return plan_json(module, best, program, sources, plan_options, packing_bound(module, best.selection))


def check_sources(program: Program, name: str, sources: Sources, checks: DeviceChecks = NO_CHECKS) -> None:
    """Raises InternalError where the generated C does not do what the Program says."""
    entries = [
        Entry(
            tuple(name + tensor.function for tensor in entry.inputs),
            tuple(name + tensor.function for tensor in entry.outputs),
            name + entry.invoke,
            name + entry.push,
        )
        for entry in sources.entries
    ]
    files = without_handles(sources.files, name) if sources.is_reentrant else sources.files
    check_text(program, name, files, entries, checks)


def _proof(model: Model | None, module: Module, effort: Validate, context: ValidationContext) -> list[Json]:
    """Comparison of the graph with its file: a part of the plan's proof, with a sentence for people and the figures."""
    if model is None or effort is Validate.OFF:
        return []
    result = validated(model, module, effort.value, claims_of_ranges(module), context)
    fields = {**asdict(result), "branches": [*result.branches]}
    warning = {"warning": result.warning} if result.warning else {}
    return [{"part": "input sets", "text": result.text, **fields, **warning}]


def _plugin_files(module: Module, operators: Operators) -> dict[str, bytes]:
    names = {node.operator for f in module.functions for node in walk(f.body) if isinstance(node, Op)}
    paths = {path for name in names if name in operators for path in operators[name].files}
    folders = {".h": "include/tflmgen", ".c": "src"}
    return {f"{folders[path.suffix]}/{path.name}": path.read_bytes() for path in sorted(paths)}
