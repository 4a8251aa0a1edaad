"""References for a firmware's outputs without golden vectors: the host build, and TFLite Micro."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tflmgen.compare.oracle import TFLM, OracleError, tflm_outputs
from tflmgen.compiler import Compilation
from tflmgen.emulators import run_sets, running
from tflmgen.errors import TflmgenError
from tflmgen.hardware import HOST, Board
from tflmgen.input_sets import Vectors, VectorSet
from tflmgen.options import BuildOptions, Emulator, SessionOptions
from tflmgen.project import plan_for
from tflmgen.terminal import Console

HOST_BUILD = "host build"
VECTORS = "vectors"


@dataclass(frozen=True, slots=True)
class Reference:
    """Expected outputs of each set; or none, with the reason in `unused`."""

    name: str
    outputs: Sequence[Sequence[NDArray[Any]]] = ()
    unused: str = ""


class NoReferenceError(TflmgenError):
    """No reference is available."""


def find_references(
    model: Path,
    board: Board,
    compilation: Compilation,
    vectors: Vectors,
    options: BuildOptions,
    session: SessionOptions,
    console: Console,
) -> list[Reference]:
    """References for sets without expected outputs, unavailable ones included.

    Raises NoReferenceError if all are unavailable.
    """
    references = []
    if not board.is_host:
        host = plan_for(model, HOST, options)
        with running(host, HOST, options, replace(session, emulator=Emulator.AUTO, port=None), console) as run:
            results = run_sets(run.session, host.module.signatures, vectors.sets, vectors.stateful)
        references.append(Reference(HOST_BUILD, [result.outputs for result in results]))
    try:
        ports = (p for s in compilation.module.signatures for p in (*s.inputs, *s.outputs))
        if not all(port.type.is_static for port in ports):
            raise OracleError("the model's shapes are known at run time only")
        with console.progress(f"Running {TFLM}"):
            outputs = _of_each_model([model, *(options.also or ())], compilation, vectors, session.timeout)
        references.append(_checked(outputs, compilation, vectors.sets))
    except OracleError as error:
        references.append(Reference(TFLM, unused=str(error)))
    if all(reference.unused for reference in references):
        reasons = "; ".join(f"{reference.name}: {reference.unused}" for reference in references)
        raise NoReferenceError(f"{model}: nothing to compare with. {reasons}. Give --vectors")
    return references


def _of_each_model(
    models: Sequence[Path], compilation: Compilation, vectors: Vectors, timeout: float
) -> list[Sequence[NDArray[Any]]]:
    """Outputs of each set, of the model that has its signature. Raises OracleError if one of them cannot be run."""
    arena, sets = int(compilation.plan["arena"]["bytes"]), vectors.sets
    if len(models) == 1:
        return list(tflm_outputs(models[0], sets, arena, timeout, vectors.stateful))
    if len(compilation.module.signatures) != len(models):
        raise OracleError("it runs models of one signature, and one of these has several")
    outputs: list[Sequence[NDArray[Any]]] = [()] * len(sets)
    for place, model in enumerate(models):
        own = [number for number, vector_set in enumerate(sets) if vector_set.signature == place]
        results = tflm_outputs(model, [sets[number] for number in own], arena, timeout) if own else []
        for number, arrays in zip(own, results, strict=True):
            outputs[number] = arrays
    return outputs


def _checked(
    outputs: Sequence[Sequence[NDArray[Any]]], compilation: Compilation, sets: Sequence[VectorSet]
) -> Reference:
    """The outputs as a reference. Raises OracleError if their shapes or types differ from those of the file."""
    for arrays, vector_set in zip(outputs, sets, strict=True):
        ports = compilation.module.signatures[vector_set.signature].outputs
        declared = [(port.type.dtype.numpy, port.type.max_shape) for port in ports]
        if [(array.dtype, array.shape) for array in arrays] != declared:
            raise OracleError("its outputs have other shapes or types than the file declares")
    return Reference(TFLM, outputs)
