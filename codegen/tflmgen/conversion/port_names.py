"""Names and order of a converted file's inputs and outputs: those of its source again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tflmgen.frontend import Model, Signature
from tflmgen.source_proof import SourceEntry, SourcePort


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


def _signature(model: Model, number: int, entry: SourceEntry, tensors: Sequence[str]) -> Signature:
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
    return Signature(entry.key, subgraph, taken, results)
