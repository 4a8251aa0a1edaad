"""Comparison of each operator's output with its reference: the first that differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tflmgen.actions import PlannedModel, sets_of
from tflmgen.applications import is_application
from tflmgen.compare import (
    HOST_BUILD,
    TFLM,
    ComparedValue,
    Expected,
    LayerDifference,
    NoReferenceError,
    OracleError,
    Tolerance,
    comparable_pairs,
    first_difference,
    last_values,
    read_layers,
    tflm_tensors,
    with_layers,
)
from tflmgen.compiler import Compilation
from tflmgen.emulators import run_sets, running
from tflmgen.errors import UsageError
from tflmgen.frontend.tflite import SubGraph, read_model
from tflmgen.hardware import HOST, Board
from tflmgen.input_sets import Vectors, set_caption
from tflmgen.options import BuildOptions, Emulator, SessionOptions
from tflmgen.project import plan_for
from tflmgen.sources import is_tflite
from tflmgen.terminal import Console

Array = NDArray[Any]

REGIONS = ("then_subgraph_index", "else_subgraph_index", "cond_subgraph_index", "body_subgraph_index")
"""Options of the operators that enter a subgraph in TFLite Micro."""


@dataclass(frozen=True, slots=True)
class LayerCheck:
    """Comparison of one input set: number of traced values, how many were compared, and the first difference."""

    set: str
    reference: str
    compared: int
    traced: int
    difference: LayerDifference | None


@dataclass(frozen=True, slots=True)
class LayerComparison:
    """Comparison of every set; `why_not_tflm` is the reason for another reference, or empty."""

    sets: tuple[LayerCheck, ...]
    emulator: str
    why_not_tflm: str

    @property
    def wrong(self) -> tuple[LayerCheck, ...]:
        """Comparisons with a difference, in the order of the sets."""
        return tuple(check for check in self.sets if check.difference is not None)


def check_static(model: Path, compilation: Compilation) -> None:
    """Raises UsageError for a model with shapes that are known at run time only, and for sliding windows."""
    if compilation.module.hops:
        raise UsageError(f"{model}: --layers compares whole tensors, of which --slide computes a part: leave it out")
    if not all(port.type.is_static for s in compilation.module.signatures for port in (*s.inputs, *s.outputs)):
        raise UsageError(f"{model}: --layers needs fixed shapes, and this model's are known at run time only")


def compare_layers(
    model: PlannedModel, vectors_path: Path | None, tolerance: Tolerance, session: SessionOptions, console: Console
) -> LayerComparison:
    """Compares each operator's output, for the input sets of a file or seeded ones."""
    path, plain, board, options = model.path, model.compilation, model.board, model.options
    if is_application(path):
        raise UsageError("--layers compares the operators of one model: test each stage's model by itself")
    if options.also:
        raise UsageError("--layers compares the operators of one model: test each of several by itself")
    vectors = sets_of(path, vectors_path, plain.module.signatures, session)
    traced, emulator = _trace_layers(plain, board, vectors, options, session, console)
    sets, why_not = _compare(path, plain, board, vectors, traced, tolerance, options, session, console)
    return LayerComparison(tuple(sets), emulator, why_not)


def _trace_layers(
    plain: Compilation,
    board: Board,
    vectors: Vectors,
    options: BuildOptions,
    session: SessionOptions,
    console: Console,
) -> tuple[list[list[ComparedValue]], str]:
    """Values that the operators wrote, per input set, and the name of the emulator."""
    with console.progress("Planning again, with its layers"):
        compilation = with_layers(plain, options)
    with running(compilation, board, options, session, console) as run:
        with console.progress("Starting") as progress:
            results = run_sets(run.session, plain.module.signatures, vectors.sets, vectors.stateful, progress)
        emulator = run.session.emulator
    narrowed = plain.module.narrowed
    return [read_layers(plain.program, result.invocation.layers, narrowed) for result in results], emulator


def _compare(
    model: Path,
    plain: Compilation,
    board: Board,
    vectors: Vectors,
    traced: Sequence[Sequence[ComparedValue]],
    tolerance: Tolerance,
    options: BuildOptions,
    session: SessionOptions,
    console: Console,
) -> tuple[list[LayerCheck], str]:
    """Comparison of each set with TFLite Micro, or with the host build and the reason why not TFLite Micro."""
    try:
        with console.progress(f"Running {TFLM}"):
            expected = _tflm(model, plain, vectors, traced, session.timeout)
        name, why_not, layers = TFLM, "", [last_values(traced_set) for traced_set in traced]
    except OracleError as error:
        why_not = str(error)
        if board.is_host:
            raise NoReferenceError(f"{model}: nothing to compare with. {TFLM}: {error}") from error
        host_session = replace(session, emulator=Emulator.AUTO)
        host, _ = _trace_layers(plan_for(model, HOST, options), HOST, vectors, options, host_session, console)
        name, layers = HOST_BUILD, [list(traced_set) for traced_set in traced]
        expected = [
            _match_by_key(set_layers, reference_values)
            for set_layers, reference_values in zip(traced, host, strict=True)
        ]
    sets = []
    for number, (set_layers, reference_values) in enumerate(zip(layers, expected, strict=True)):
        label = vectors.sets[number].label
        pairs = comparable_pairs(set_layers, reference_values)
        difference = first_difference(pairs, tolerance)
        sets.append(LayerCheck(set_caption(number, label), name, len(pairs), len(set_layers), difference))
    return sets, why_not


def _tflm(
    model: Path, plain: Compilation, vectors: Vectors, traced: Sequence[Sequence[ComparedValue]], timeout: float
) -> list[dict[int, Expected]]:
    """TFLite Micro's tensors of the same name and shape as each set's last values, by index of the value."""
    if not is_tflite(model):
        raise OracleError(f"it runs .tflite files, not {model.suffix} ones")
    graphs = read_model(model).subgraphs
    expected = []
    for number, layers in enumerate(traced):
        places, tensors = [], []
        for place, layer in enumerate(last_values(layers)):
            candidates = [t for t in graphs[layer.origin.subgraph].tensors if t.name == layer.tensor]
            has_run = _is_in_place(layer, graphs)
            if has_run and len(candidates) == 1 and tuple(candidates[0].shape) == layer.shape:
                places.append(place)
                tensors.append((layer.origin.subgraph, candidates[0].index))
        before = vectors.sets[: number + 1] if vectors.stateful else vectors.sets[number : number + 1]
        arena = int(plain.plan["arena"]["bytes"]) + sum(layer.array.nbytes for layer in layers)
        arrays = tflm_tensors(model, before, arena, timeout, tensors)
        expected.append({place: Expected(array) for place, array in zip(places, arrays, strict=True)})
    return expected


def _is_in_place(layer: ComparedValue, graphs: Sequence[SubGraph]) -> bool:
    """Whether the operator is still in its region. Passes may hoist it out of one that TFLite Micro never enters."""
    if layer.regions is None or layer.origin.subgraph == 0:
        return True
    operators = (graphs[region.subgraph].operators[region.operator] for region in layer.regions)
    return any((op.options or {}).get(name) == layer.origin.subgraph for op in operators for name in REGIONS)


def _match_by_key(layers: Sequence[ComparedValue], reference_layers: Sequence[ComparedValue]) -> dict[int, Expected]:
    """Reference value of the same operator, tensor, iteration and call, by index into `layers`."""
    reference_values: dict[object, Expected] = {}
    calls: Counter[object] = Counter()
    for layer in reference_layers:
        reference_values[layer.key, calls[layer.key]] = Expected(layer.array, layer.narrowed)
        calls[layer.key] += 1
    calls.clear()
    matches = {}
    for place, layer in enumerate(layers):
        key = layer.key, calls[layer.key]
        calls[layer.key] += 1
        if key in reference_values:
            matches[place] = reference_values[key]
    return matches
