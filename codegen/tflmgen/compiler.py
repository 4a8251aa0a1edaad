"""The driver: read → import → optimise → explore → lower → check → emit, one line each.

explore() chooses among plans; each of them is made by select → schedule → analyze → assign → lay_out
(explore/search.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Protocol

from tflmgen.applications import library_stem, read_program
from tflmgen.backend import (
    Json,
    Sources,
    constants_alone,
    emit,
    label_header,
    library_name,
    lower,
    plan_json,
    remarks_of,
)
from tflmgen.errors import Location, ModelError, Problem, UsageError
from tflmgen.explore import (
    Candidate,
    TradeOff,
    choose_plan,
    pareto_front,
    plan_without_overlap,
    prepare,
    prepare_trade_offs,
    push_rows,
    row_streams,
    variants_to_plan,
)
from tflmgen.frontend import Model, TensorKey, class_labels, find_bounds, import_variants, is_lowered
from tflmgen.ir import NO_CHECKS, DeviceChecks, Module, Op, Program, Target, walk
from tflmgen.kernels import Operators, Selector, reader_of, with_custom
from tflmgen.memory import packing_bound
from tflmgen.options import BuildOptions, Optimize, Validate
from tflmgen.passes import (
    check_names,
    claims_of_ranges,
    least_weights,
    limits_by_loop,
    slide_inputs,
    slide_stages,
    slide_trade_offs,
)
from tflmgen.plugins import load_operators, references_of
from tflmgen.proof import Entry, check_constants, check_meaning, check_memory, check_text, without_handles
from tflmgen.reference import Context, validated
from tflmgen.settings import Settings, parse_options
from tflmgen.source_proof import Proof, compared

ARENA_LIMIT = 1 << 30
"""Largest arena in bytes; offsets in it stay far within 32 bits."""

InputShapes = Mapping[TensorKey, tuple[int, ...]] | None
"""Shapes of the user's inputs by dynamically shaped input tensor, or None; `--max-shape` overrides them."""


class Report(Protocol):
    """Told what is being done now and, where known, how many parts of it are done of how many."""

    def __call__(self, text: str, done: int = 0, total: int = 0) -> None: ...


def unreported(text: str, done: int = 0, total: int = 0) -> None:
    """Ignores progress: the reporter of callers that show none."""
    del text, done, total


class CheckWeights(Protocol):
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


def compile_model(
    path: Path,
    target: Target,
    options: BuildOptions,
    input_shapes: InputShapes = None,
    report: Report = unreported,
    check_weights: CheckWeights = unchecked,
) -> Compilation:
    """Compiles a .tflite file for one processor. Raises ModelError for a bad model, InternalError for a bad plan."""
    settings = parse_options(options)
    model, imports, selector, proofs = _imported(path, target, settings, input_shapes, report)
    name = library_name(options.name or library_stem(path, options))
    compilation = _compiled(imports, name, selector, settings, model, report, check_weights)
    plan = {**compilation.plan, "proof": [*compilation.plan["proof"], *source_parts(proofs)]}
    sources = compilation.sources
    header = label_header(sources.entries, name, class_labels(path, options.labels or ()))
    return replace(compilation, sources=replace(sources, files={**sources.files, **header}), plan=plan)


def estimate_model(path: Path, target: Target, options: BuildOptions) -> Json:
    """Contents of plan.json as compile_model gives them, but without lines of C and without proof: nothing is written.

    Raises ModelError for a bad model.
    """
    settings = parse_options(options)
    _, imports, selector, _ = _imported(path, target, settings)
    check_names(settings.loops, imports[0])
    # Kernels that the search for a plan has met need not be made anew, since nothing is proved of them.
    selector = selector.remembering
    modules = optimise(imports, selector, settings, settings.trades_cycles)
    plan_choice = explore(modules, selector, settings)
    module, name = plan_choice.module, library_name(options.name or library_stem(path, options))
    program = lower(module, plan_choice.best, limits_by_loop(settings.loops, module))
    return _plan(plan_choice, program, constants_alone(program), name, options)


def compile_module(imported: Module, name: str, target: Target, options: BuildOptions) -> Compilation:
    """Compiles an imported graph; `name` is the prefix of all generated names. Raises as compile_model does."""
    return _compiled((imported,), name, Selector(target), parse_options(options))


def ram_curve(path: Path, target: Target, options: BuildOptions) -> list[TradeOff]:
    """The Pareto front of a model's plans, from the fastest to the smallest: estimated cycles against bytes of RAM."""
    settings = parse_options(options)
    if options.winograd:
        raise UsageError("--winograd trades RAM for speed: it excludes --pareto")
    _, imports, selector, _ = _imported(path, target, settings)
    return pareto_front(optimise(imports, selector, settings, for_little_ram=True), selector)


def _imported(
    path: Path,
    target: Target,
    settings: Settings,
    input_shapes: InputShapes = None,
    report: Report = unreported,
) -> tuple[Model, tuple[Module, ...], Selector, Mapping[Path, Proof]]:
    """A file, its equivalent graphs, with the loops of the file first, and the kernel selector with its plug-ins.

    Last, how sources that were lowered compare with what they mean. Raises ModelError where one differs.
    """
    options, files = settings.options, dict[Path, Model]()
    model = read_program(path, options, files.__setitem__)
    bounds = find_bounds(model, settings.shapes, options.max_dim, input_shapes)
    operators = with_custom(load_operators(options.plugin or (), model.operator_names))
    imports = import_variants(model, bounds, operators)
    proofs = {
        file: compared(file, options.source, lowered, options.validate.value, report)
        for file, lowered in files.items()
        if is_lowered(file)
    }
    return model, imports, Selector(target, operators), proofs


def source_parts(proofs: Mapping[Path, Proof]) -> list[Json]:
    """How sources compare with what was lowered, as parts of the plan's proof."""
    return [
        {"part": "source", "text": f"{file.name}: {proof.text[0].lower()}{proof.text[1:]}", "warning": proof.warning}
        for file, proof in proofs.items()
    ]


def _compiled(
    imports: tuple[Module, ...],
    name: str,
    selector: Selector,
    settings: Settings,
    model: Model | None = None,
    report: Report = unreported,
    check_weights: CheckWeights = unchecked,
) -> Compilation:
    """model: the file, with which the graph is compared; None: there is none."""
    options, imported = settings.options, imports[0]
    check_names(settings.loops, imported)
    modules = optimise(imports, selector, settings, settings.trades_cycles)
    check_weights(imported.path, min(map(least_weights, modules)))
    plan_choice = explore(modules, selector, settings)
    module = plan_choice.module
    loop_limits = limits_by_loop(settings.loops, module)
    program = lower(module, plan_choice.best, loop_limits)
    check_memory(program, module.constants)
    anew = selector.select(module, row_streams(module, selector.target))
    check_meaning(module, program, anew.selected, loop_limits)
    check_constants(module, program, anew.selected, reader_of)
    remarks = remarks_of(imported, module.removed, program)
    checks = DeviceChecks(options.check_memory, options.check_weights.value)
    sources = emit(
        program,
        name,
        module.sha256,
        options.text,
        options.progress_hook,
        remarks=remarks,
        checks=checks,
        reentrant=options.reentrant,
    )
    check_sources(program, name, sources, checks)
    plan = {**_plan(plan_choice, program, sources, name, options), "proof": []}
    if model is not None:
        context = Context(references_of(selector.operators), imported, partial(report, "Validating, input sets"))
        plan["proof"] = _proof(model, module, settings.options.validate, context)
    return Compilation(name, module, program, sources, plan, _plugin_files(modules[0], selector.operators))


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


def _proof(model: Model, module: Module, effort: Validate, context: Context) -> list[Json]:
    """What was proved of this build, part by part: its name, a sentence for people, and the figures."""
    parts: list[Json] = []
    if effort is not Validate.OFF:
        result = validated(model, module, effort.value, claims_of_ranges(module), context)
        fields = {**asdict(result), "branches": [*result.branches]}
        warning = {"warning": result.warning} if result.warning else {}
        parts.append({"part": "input sets", "text": result.text, **fields, **warning})
    return parts


def optimise(
    imports: Sequence[Module], selector: Selector, settings: Settings, for_little_ram: bool = False
) -> tuple[Module, ...]:
    """Graphs after the passes, the fastest first: several for a fast plan in little RAM, else one.

    imports  the file's graph, then the one with its LSTM loops fused, if it has any
    """
    optimize = settings.options.optimize
    # Estimates do not tell how much slower the other graph is, as --max-slowdown would need.
    for_speed = settings.slowdown is not None or (optimize is Optimize.SPEED and not for_little_ram)
    for_ram = for_little_ram or optimize is Optimize.RAM
    variants = variants_to_plan(imports, selector.target, for_speed, for_ram)
    modules = (_optimised(imported, selector, settings, for_little_ram) for imported in variants)
    return tuple(chain.from_iterable(modules))


def _optimised(imported: Module, selector: Selector, settings: Settings, for_little_ram: bool) -> tuple[Module, ...]:
    analyze_ranges = not settings.options.no_range_analysis
    imported = slide_stages(imported, selector.operators)
    if settings.is_fast and for_little_ram:
        modules = prepare_trade_offs(imported, selector, analyze_ranges)
    else:
        modules = (prepare(imported, selector, analyze_ranges, settings.is_fast),)
    if settings.slides and settings.is_fast and for_little_ram:
        slid = (
            slide_trade_offs(m, settings.slides, selector.operators, settings.options.slide_phases) for m in modules
        )
        return tuple(chain.from_iterable(slid))
    if settings.slides:
        options, rings = settings.options, settings.options.optimize is not Optimize.RAM
        return tuple(
            slide_inputs(module, settings.slides, selector.operators, options.slide_phases, rings=rings)
            for module in modules
        )
    return tuple(push_rows(module, settings.options.push_rows or ()) for module in modules)


def explore(modules: tuple[Module, ...], selector: Selector, settings: Settings) -> TradeOff:
    """The best plan for --optimize, --ram-budget and --max-slowdown. Raises ModelError if no plan meets the budget."""
    if settings.options.no_overlap:
        plan_choice = plan_without_overlap(modules[0], selector)
    else:
        plan_choice = choose_plan(modules, selector, settings.options.optimize, settings.ram_budget, settings.slowdown)
    _within_limit(plan_choice.module, plan_choice.best)
    return plan_choice


def _plugin_files(module: Module, operators: Operators) -> dict[str, bytes]:
    names = {node.operator for f in module.functions for node in walk(f.body) if isinstance(node, Op)}
    paths = {path for name in names if name in operators for path in operators[name].files}
    folders = {".h": "include/tflmgen", ".c": "src"}
    return {f"{folders[path.suffix]}/{path.name}": path.read_bytes() for path in sorted(paths)}


def _within_limit(module: Module, best: Candidate) -> None:
    if best.layout.arena.bytes > ARENA_LIMIT:
        largest = max(best.storage.buffers, key=lambda b: b.bytes)
        rule = (
            f"needs {best.layout.arena.bytes} bytes of RAM for its activations, '{largest.name}' alone {largest.bytes}"
        )
        raise ModelError([Problem(Location(module.path), rule, "No microcontroller has that; make the input smaller")])
