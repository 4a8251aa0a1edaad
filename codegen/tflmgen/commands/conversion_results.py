"""Results of a conversion for people and programs: its ports, what was rewritten, and the comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tflmgen.conversion import SourceConversion
from tflmgen.frontend.tflite import FileTensor

ConvertedPort = dict[str, Any]
"""An input or output: name, type in the source, and type and shape in the file, null where it became a constant."""


def ports_of(result: SourceConversion) -> tuple[list[ConvertedPort], list[ConvertedPort]]:
    """Inputs and outputs of all entries; with several entries, names begin with their key."""
    inputs: list[ConvertedPort] = []
    outputs: list[ConvertedPort] = []
    for entry, signature in zip(result.entries, result.model.signatures, strict=True):
        tensors = result.model.subgraphs[signature.subgraph].tensors
        for source_ports, places, ports in (
            (entry.inputs, dict(signature.inputs), inputs),
            (entry.outputs, dict(signature.outputs), outputs),
        ):
            prefix = f"{entry.key}:" if len(result.entries) > 1 else ""
            ports += [_port(prefix, port.name, port.text, tensors, places) for port in source_ports]
    return inputs, outputs


def proof_json(result: SourceConversion) -> dict[str, Any]:
    """The comparison for programs."""
    proof = result.proof
    return {
        "compared": not proof.unsupported,
        "runner": proof.runner,
        "equal": proof.equal,
        "undecided": proof.undecided,
        "undefined": proof.undefined,
        "branches": list(proof.branches),
        "errors": [{"signature": k, "output": o, "relative_error": e} for (k, o), e in proof.errors.items()],
        "composites": [*proof.composites],
    }


def proof_lines(result: SourceConversion, tolerance: float) -> Iterator[str]:
    """Rewrites of the source and the result of the comparison, a line each."""
    for mend in result.mends:
        yield f"Mended: {mend}."
    yield f"{result.proof.text}."
    several = len(result.entries) > 1
    for (key, name), error in result.proof.errors.items():
        label = f"{key}:{name}" if several else name
        yield f"  {label}: largest relative difference {error:.2g} ({tolerance:g} allowed)"


def _port(
    prefix: str, name: str, source_type: str, tensors: Sequence[FileTensor], places: Mapping[str, int]
) -> ConvertedPort:
    tensor = tensors[places[name]] if name in places else None
    return {
        "name": prefix + name,
        "source_type": source_type,
        "dtype": tensor and tensor.type_name,
        "shape": tensor and list(tensor.shape),
    }
