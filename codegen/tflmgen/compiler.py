"""The driver: read → import → compile, from the path of a model or an application to C."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tflmgen.applications import library_stem, read_program
from tflmgen.backend import Json, library_name
from tflmgen.errors import BudgetError, ModelError, UsageError
from tflmgen.explore import TradeOff, optimise, pareto_front
from tflmgen.frontend import TensorKey, find_bounds, import_variants
from tflmgen.frontend.tflite import Model
from tflmgen.graph_compiler import (
    Compilation,
    ImportedProgram,
    Report,
    WeightsCheck,
    check_sources,
    compile_module,
    compile_program,
    estimated_plan,
    unchecked,
    unreported,
)
from tflmgen.ir import DType
from tflmgen.ir.kernel import Target
from tflmgen.kernels import Selector, with_custom
from tflmgen.options import BuildOptions
from tflmgen.passes import folding_compactly
from tflmgen.plugins import load_operators
from tflmgen.settings import Settings, parse_options
from tflmgen.sources import class_labels, compared, is_lowered, kept_verdict

__all__ = [
    "Compilation",
    "Report",
    "check_sources",
    "compile_model",
    "compile_module",
    "estimate_model",
    "ram_curve",
    "unchecked",
    "unreported",
]

InputShapes = Mapping[TensorKey, tuple[int, ...]] | None
"""Shapes of the user's inputs by dynamically shaped input tensor, or None; `--max-shape` overrides them."""


def compile_model(
    path: Path,
    target: Target,
    options: BuildOptions,
    input_shapes: InputShapes = None,
    report: Report = unreported,
    check_weights: WeightsCheck = unchecked,
) -> Compilation:
    """Compiles a model or an application for one processor. Raises as compile_program does."""
    settings = parse_options(options)
    source = _imported(path, target, settings, input_shapes, report)
    try:
        return compile_program(source, settings, report, check_weights)
    except BudgetError:
        smaller = _with_halves(source, settings, input_shapes)
        if smaller is None:
            raise
    return compile_program(smaller, settings, report, check_weights)


def estimate_model(path: Path, target: Target, options: BuildOptions) -> Json:
    """Contents of plan.json as compile_model gives them, but without lines of C and without proof: nothing is written.

    Raises ModelError for a bad model.
    """
    settings = parse_options(options)
    return estimated_plan(_imported(path, target, settings), settings)


def ram_curve(path: Path, target: Target, options: BuildOptions) -> list[TradeOff]:
    """The Pareto front of a model's plans, from the fastest to the smallest: estimated cycles against bytes of RAM."""
    settings = parse_options(options)
    if options.winograd:
        raise UsageError("--winograd trades RAM for speed: it excludes --pareto")
    source = _imported(path, target, settings)
    return pareto_front(optimise(source.graphs, source.selector, settings, for_little_ram=True), source.selector)


def _imported(
    path: Path, target: Target, settings: Settings, input_shapes: InputShapes = None, report: Report = unreported
) -> ImportedProgram:
    """The program of a file, with its plug-ins. Raises ModelError where a lowered source computes something else."""
    options, files = settings.options, dict[Path, Model]()
    model = read_program(path, options, files.__setitem__)
    bounds = find_bounds(model, settings.shapes, options.max_dim, input_shapes)
    operators = with_custom(load_operators(options.plugin or (), model.operator_names))
    graphs = import_variants(model, bounds, operators)
    proof = [part for file, lowered in files.items() for part in _source_parts(file, lowered, options, report)]
    name = library_name(options.name or library_stem(path, options))
    labels = {**model.class_names, **class_labels(path, options.labels or ())}
    return ImportedProgram(graphs, name, Selector(target, operators), model, labels, proof)


def _with_halves(source: ImportedProgram, settings: Settings, input_shapes: InputShapes) -> ImportedProgram | None:
    """The program whose weights of float16 stay so in flash, and are widened in the arena layer by layer.

    None where it has no such weights, or an operator takes none that are computed.
    """
    model, operators = source.model, folding_compactly(source.selector.operators)
    if model is None or not any(t.dtype is DType.FLOAT16 for subgraph in model.subgraphs for t in subgraph.tensors):
        return None
    bounds = find_bounds(model, settings.shapes, settings.options.max_dim, input_shapes)
    try:
        graphs = import_variants(model, bounds, operators)
    except ModelError:
        return None
    note = "float16 weights stay so in flash, which is too small for them in float32: layers widen them in the arena"
    graphs = tuple(replace(graph, notes=(*graph.notes, note)) for graph in graphs)
    return replace(source, graphs=graphs, selector=replace(source.selector, operators=operators))


def _source_parts(file: Path, model: Model, options: BuildOptions, report: Report) -> Iterator[Json]:
    """Comparison of a source with its lowered Model, as parts of the plan's proof; of a converted file, as kept."""
    if is_lowered(file):
        proof = compared(file, options, model, options.validate.value, report)
        text = f"{proof.text[0].lower()}{proof.text[1:]}"
        yield {"part": "source", "text": f"{file.name}: {text}", "warning": proof.warning}
    elif (verdict := kept_verdict(model.sha256)) is not None:
        yield {"part": "source", "text": f"{file.name}: {verdict['text']}", "warning": verdict["warning"]}
