"""Bodies of stages: a model, or a built-in of operators that models have, too."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tflmgen.applications.app_file import AppFile, AppStage
from tflmgen.applications.glue_graph import GlueGraph, Initials, type_of
from tflmgen.applications.link_models import moved, references_of
from tflmgen.frontend.tflite import CUSTOM, Model, ModelBuilder, SubGraph
from tflmgen.ir import TensorType

Build = Callable[[GlueGraph, Sequence[int]], list[int]]
"""(graph, inputs) -> outputs, as tensors of the graph. With `hold` the last input and output are its timer."""


@dataclass(frozen=True, slots=True)
class StageBody:
    """A stage's computation.

    wanted   types of the inputs; None: any
    outputs  names
    hold     calls that its timer counts up to, starting from there; 0: it has none
    initial  what outputs are before the stage runs first, other than zeros
    keeps_state  whether a run depends on those before it
    """

    wanted: tuple[TensorType | None, ...]
    outputs: tuple[str, ...]
    build: Build
    hold: int = 0
    initial: Mapping[str, int] = field(default_factory=dict)
    keeps_state: bool = True


@dataclass(frozen=True, slots=True)
class StageContext:
    """Inputs for building a built-in: its stage, the types it reads, seconds per call, and where state is noted."""

    file: AppFile
    stage: AppStage
    types: tuple[TensorType, ...]
    period: float | None
    initials: Initials

    def key(self, name: str) -> str:
        """A setting of the stage as messages name it."""
        return f"stage.{self.stage.name}.{name}"

    def variable(self, name: str, type_: TensorType, values: object = None) -> str:
        """A variable of this stage with initial contents, zeros by default; its name in the model."""
        return self.initials.add(f"{self.stage.name}/{name}", type_, values)

    def check_settings(self, known: Sequence[str]) -> None:
        """Fails with the file's line if the stage has a setting that the built-in does not know."""
        for name in self.stage.settings:
            if name not in known:
                listed = ", ".join(known) or "none"
                self.file.fail(self.key(name), f"is not a setting of {self.stage.builtin}; there are {listed}")

    def number(self, name: str, default: float | None, least: float, greatest: float) -> float:
        """A setting that is a number from `least` to `greatest`; fails with the file's line if it is none."""
        value = self.stage.settings.get(name, default)
        if type(value) not in (int, float) or not least <= value <= greatest:
            self.file.fail(self.key(name), f"is a number from {least:g} to {greatest:g}")
        return float(value)

    def whole(self, name: str, default: int | None, least: int, greatest: int) -> int:
        """A setting that is a whole number from `least` to `greatest`; fails with the file's line if it is none."""
        value = self.stage.settings.get(name, default)
        if type(value) is not int or not least <= value <= greatest:
            self.file.fail(self.key(name), f"is a whole number from {least} to {greatest}")
        return int(value)


def model_body(file: AppFile, stage: AppStage, model: Model, builder: ModelBuilder) -> StageBody:
    """The body of a stage that runs a model. Its further subgraphs are added to `builder` when it is built."""
    key = f"stage.{stage.name}.model"
    if len(model.signatures) > 1:
        file.fail(key, f"{model.name} has {len(model.signatures)} signatures, and a stage runs a model of one")
    entry = model.subgraphs[model.signatures[0].subgraph if model.signatures else 0]
    called = {int((op.options or {})[n]) for g in model.subgraphs for op in g.operators for n in references_of(op)
              if n in (op.options or {})}  # fmt: skip
    if entry.index in called or any(entry.tensors[i].dtype is None for i in (*entry.inputs, *entry.outputs)):
        file.fail(key, f"{model.name} calls its main subgraph, or has a resource as an input")
    if any(-1 in (entry.tensors[i].shape_signature or ()) for i in entry.inputs):
        entry = replace(entry, tensors=tuple(replace(t, shape_signature=None) for t in entry.tensors))
    names = {i: name for name, i in model.signatures[0].outputs} if model.signatures else {}
    outputs = [re.sub(r"\W", "_", names.get(i) or entry.tensors[i].name) or "output" for i in entry.outputs]
    distinct = tuple(n if outputs.count(n) == 1 else f"{n}_{place}" for place, n in enumerate(outputs))
    wanted = tuple(type_of(entry.tensors[i]) for i in entry.inputs)

    def build(graph: GlueGraph, inputs: Sequence[int]) -> list[int]:
        return graph.graft(_linked(entry, model, f"{stage.name}/model", builder), inputs)

    return StageBody(wanted, distinct, build, keeps_state=_keeps_state(model))


def _keeps_state(model: Model) -> bool:
    """Whether a model may keep state: variables, or custom operators, which may do anything."""
    return any(t.dtype is None or t.is_variable for g in model.subgraphs for t in g.tensors) or any(
        name.startswith(CUSTOM) for name in model.operator_names
    )


def _linked(entry: SubGraph, model: Model, key: str, builder: ModelBuilder) -> SubGraph:
    """The entry, with the model's other subgraphs behind those of the builder."""
    others = [graph for graph in model.subgraphs if graph.index != entry.index]
    places = {graph.index: len(builder.subgraphs) + place for place, graph in enumerate(others)}
    for graph in others:
        changed = moved(graph, key, places, builder.buffer)
        added = builder.subgraph(f"{key}/{graph.name}")
        added.tensors, added.operators = list(changed.tensors), list(changed.operators)
        added.inputs, added.outputs = changed.inputs, changed.outputs
    return moved(entry, key, places, builder.buffer)


Builtin = Callable[[StageContext], StageBody]
