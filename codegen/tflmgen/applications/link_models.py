"""Several models as one: their subgraphs side by side, each model's variables its own, each signature an entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tflmgen.frontend.model_graph import CONTROL_FLOW
from tflmgen.frontend.tflite import CUSTOM, FileOperator, FileSignature, Model, SubGraph
from tflmgen.ir.graph import StageWindow

INITIALISER = "init_subgraph_index"
"""Option of the operator that runs a subgraph once, which CONTROL_FLOW does not have."""


def link(models: Mapping[str, Model], name: str, sha256: str) -> Model:
    """A Model with the subgraphs of all; signatures are called like their model, several of a model with their keys.

    models  key of each model, by which its variables are told from those of others
    name    of the whole, for messages
    """
    buffers: dict[bytes, int] = {b"": 0}
    graphs: list[SubGraph] = []
    signatures: list[FileSignature] = []
    windows: list[StageWindow] = []
    for key, model in models.items():
        first = len(graphs)
        places = {graph.index: graph.index + first for graph in model.subgraphs}
        graphs += [
            replace(moved(graph, key, places, lambda data: buffers.setdefault(data, len(buffers))), index=place)
            for graph, place in zip(model.subgraphs, places.values(), strict=True)
        ]
        own = model.signatures or (FileSignature("", 0, (), ()),)
        keys = [key] if len(own) == 1 else [f"{key}_{signature.key}" for signature in own]
        signatures += [replace(s, key=k, subgraph=s.subgraph + first) for s, k in zip(own, keys, strict=True)]
        windows += [_moved_window(window, key, places) for window in model.windows]
    notes = tuple(dict.fromkeys(note for model in models.values() for note in model.notes))
    return Model(name, sha256, "", tuple(graphs), tuple(signatures), tuple(windows), notes=notes)


def _moved_window(window: StageWindow, key: str, places: Mapping[int, int]) -> StageWindow:
    """The window of a stage, whose name and variables are behind their model's: another may have a stage so called."""
    stage, whole, newest, left = (
        f"{key}.{name}" if name else "" for name in (window.stage, window.window, window.newest, window.left)
    )
    return replace(window, stage=stage, subgraph=places[window.subgraph], window=whole, newest=newest, left=left)


def moved(graph: SubGraph, key: str, places: Mapping[int, int], buffer_of: Callable[[bytes], int]) -> SubGraph:
    """A subgraph of one model among those of others.

    key        before the names of its variables
    places     index of a subgraph in the file -> its index among all
    buffer_of  index of contents: equal ones of all models are one buffer
    """
    tensors = tuple(replace(t, buffer=buffer_of(t.data) if t.data else 0) for t in graph.tensors)
    operators = tuple(replace(op, options=_options(op, key, places)) for op in graph.operators)
    return replace(graph, tensors=tensors, operators=operators)


def _options(op: FileOperator, key: str, places: Mapping[int, int]) -> Mapping[str, Any] | None:
    """An operator's options with subgraphs at their new places, and a variable's name behind its model's."""
    if op.options is None:
        return None
    changed: dict[str, Any] = {name: places[int(op.options[name])] for name in references_of(op) if name in op.options}
    if "shared_name" in op.options and not op.name.startswith(CUSTOM):
        changed["shared_name"] = f"{key}.{op.options['shared_name']}"
    return {**op.options, **changed}


def references_of(op: FileOperator) -> Sequence[str]:
    """Options of an operator that are indices of subgraphs."""
    return () if op.name.startswith(CUSTOM) else CONTROL_FLOW.get(op.name, (INITIALISER,))
