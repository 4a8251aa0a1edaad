"""The whole way from a source to a .tflite file that was compared with it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tflmgen.conversion.source_kind import TensorFlowSource
from tflmgen.conversion.tensorflow_process import TEMPORARY, TensorFlowProcess
from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.tflite import CUSTOM, FileSignature, Model, parse_model, write_model
from tflmgen.input_sets import ArrayFile
from tflmgen.options import SourceOptions
from tflmgen.reference import Array
from tflmgen.sources import (
    Proof,
    ProofSettings,
    SourceEntry,
    SourcePort,
    entry_of,
    prove,
    prove_lowered,
    read_source,
    source_program,
)


def source_entries(description: Mapping[str, Any]) -> list[SourceEntry]:
    """The entries as the process describes them."""
    return [
        SourceEntry(entry["key"], _ports(entry["inputs"]), _ports(entry["outputs"])) for entry in description["entries"]
    ]


def _ports(ports: Sequence[Mapping[str, Any]]) -> tuple[SourcePort, ...]:
    return tuple(SourcePort(p["name"], p["dtype"], None if p["shape"] is None else tuple(p["shape"])) for p in ports)


def with_source_names(model: Model, entries: Sequence[SourceEntry], tensors: Sequence[str]) -> Model:
    """The Model with a signature for each entry, in the source's order; inputs that became nothing are left out.

    tensors  names of the inputs' tensors, for a file without signatures
    """
    signatures = [_signature(model, number, entry, tensors) for number, entry in enumerate(entries)]
    subgraphs = list(model.subgraphs)
    for signature in signatures:
        graph = subgraphs[signature.subgraph]
        own, results = (tuple(index for _, index in side) for side in (signature.inputs, signature.outputs))
        subgraphs[graph.index] = replace(graph, inputs=own, outputs=results)
    return replace(model, subgraphs=tuple(subgraphs), signatures=tuple(signatures))


def _signature(model: Model, number: int, entry: SourceEntry, tensors: Sequence[str]) -> FileSignature:
    signature = next((s for s in model.signatures if s.key == f"entry_{number}"), None)
    if signature is not None:
        inputs = dict(signature.inputs)
        places = [inputs.get(f"in_{i:03}") for i in range(len(entry.inputs))]
        outputs = [dict(signature.outputs)[f"out_{j:03}"] for j in range(len(entry.outputs))]
        subgraph = signature.subgraph
    else:
        graph = model.subgraphs[0]
        by_name = {graph.tensors[i].name.split(":")[0]: i for i in graph.inputs}
        if len(graph.inputs) == len(entry.inputs) and not set(tensors) <= set(by_name):
            places = list(graph.inputs)
        else:
            places = [by_name.get(name) for name in tensors]
        outputs, subgraph = list(graph.outputs), 0
    taken = tuple((port.name, place) for port, place in zip(entry.inputs, places, strict=True) if place is not None)
    results = tuple((port.name, place) for port, place in zip(entry.outputs, outputs, strict=True))
    return FileSignature(entry.key, subgraph, taken, results)


Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ConversionSettings:
    """Settings of a conversion: ConvertOptions and the source's own options, checked and parsed.

    inputs, outputs  nodes of a frozen graph; empty: its placeholders, and what nothing reads
    shapes           shapes of inputs
    batch            size of the first dimension of other inputs where that alone is open
    calibration      input sets on which it is compared, too
    tolerance        greatest difference of floats, relative to the greatest magnitude of the tensor
    keep             folder for the intermediate files
    keras_objects    Python file with the classes and functions of a Keras file's own
    composites       names of custom operators, which functions that implement these names become
    max_iterations   bound of loops whose condition gives none, where a gradient keeps values of each iteration
    digest           of the source and the options, kept in the file
    """

    signature: str | None = None
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()
    shapes: Mapping[str, Sequence[int]] | None = None
    batch: int = 1
    calibration: Path | None = None
    tolerance: float = 1e-4
    keep: Path | None = None
    keras_objects: Path | None = None
    composites: Sequence[str] = ()
    max_iterations: int | None = None
    digest: str = ""


@dataclass(frozen=True, slots=True)
class SourceConversion:
    """A converted source. `mends`: sentences about what was rewritten before TensorFlow's converter."""

    model: Model
    data: bytes
    entries: Sequence[SourceEntry]
    mends: Sequence[str]
    proof: Proof


def convert_source(source: TensorFlowSource, settings: ConversionSettings, progress: Progress) -> SourceConversion:
    """Converts and compares. Raises ModelError for a source that cannot be loaded, converted, or that differs."""
    progress(f"Starting TensorFlow for {source.path.name}")
    with TensorFlowProcess(str(source.path)) as process:
        return convert_in(process, source, settings, progress)


def convert_in(
    process: TensorFlowProcess, source: TensorFlowSource, settings: ConversionSettings, progress: Progress
) -> SourceConversion:
    """convert_source() in a process that may have converted others before."""
    process.source = str(source.path)
    description = process.ask(
        "load",
        source=str(source.path.resolve()),
        kind=source.kind,
        function=source.function,
        signature=settings.signature,
        inputs=list(settings.inputs),
        outputs=list(settings.outputs),
        objects=None if settings.keras_objects is None else str(settings.keras_objects.resolve()),
        shapes={key: list(shape) for key, shape in (settings.shapes or {}).items()},
        batch=settings.batch,
    )
    entries = source_entries(description)
    progress(f"Converting {source.path.name}")
    try:
        answer = _converted_by(process, settings, settings.composites)
    finally:
        if settings.keep is not None:
            shutil.copytree(process.folder, settings.keep, dirs_exist_ok=True, ignore=shutil.ignore_patterns(TEMPORARY))
    model = _named(process, entries, answer)
    model = replace(model, description=f"converted from {source.path.name} {settings.digest}".rstrip())
    data = write_model(model)
    progress(f"Comparing with {source.path.name}")
    choices = bool(description["stateful"]), ProofSettings(_arrays(settings.calibration), settings.tolerance)
    proof = prove(model, entries, process, *choices)
    if proof.unsupported and answer["custom"]:
        # What a plug-in computes cannot be evaluated; that its composite arrives with the rest as it is can be shown.
        bodies = _without_custom(process, entries, settings)
        if bodies is not None:
            proof = replace(prove(bodies, entries, process, *choices), composites=tuple(answer["custom"]))
    return SourceConversion(parse_model(data, process.source), data, entries, answer["mends"], proof)


def _converted_by(
    process: TensorFlowProcess, settings: ConversionSettings, composites: Sequence[str]
) -> dict[str, Any]:
    return process.ask("convert", composites=list(composites), max_iterations=settings.max_iterations)


def _without_custom(
    process: TensorFlowProcess, entries: Sequence[SourceEntry], settings: ConversionSettings
) -> Model | None:
    """The model with the bodies of composites that are custom operators; None where TFLite cannot compute these."""
    try:
        return _named(process, entries, _converted_by(process, settings, []))
    except ModelError:
        return None


def _named(process: TensorFlowProcess, entries: Sequence[SourceEntry], answer: Mapping[str, Any]) -> Model:
    """The file that the process has written, with the source's names.

    Raises ModelError for a custom operator that is no composite: where some are allowed, the converter makes one of
    each operation that it does not know.
    """
    converted = parse_model((process.folder / "converted.tflite").read_bytes(), process.source)
    # The reader writes transforms by an operator of this kind, too.
    for name in converted.operator_names if answer["custom"] else ():
        if name.startswith(CUSTOM) and name.removeprefix(CUSTOM) not in answer["custom"]:
            rule = f"TFLite has no operator for {name.removeprefix(CUSTOM)}"
            raise ModelError([Problem(Location(process.source), rule, "Write it with other operations")])
    return with_source_names(converted, entries, answer["inputs"])


def convert_lowered(
    source: Path, options: SourceOptions, calibration: Path | None, tolerance: float, progress: Progress
) -> SourceConversion:
    """Lowers an ONNX model or PyTorch program and compares. Raises ModelError for a bad source, or if it differs."""
    progress(f"Converting {source.name}")
    model = read_source(source, options)
    data = write_model(model)
    progress(f"Comparing with {source.name}")
    settings = ProofSettings(_arrays(calibration), tolerance)
    proof = prove_lowered(source_program(source, options), model, options, settings)
    return SourceConversion(model, data, [entry_of(model)], (), proof)


def _arrays(file: Path | None) -> Mapping[str, Array]:
    return {} if file is None else ArrayFile(file)
