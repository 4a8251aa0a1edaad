"""Instructions of layers of odd shapes and of their twins (shape_layers.py), many layers in one firmware image."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import numpy as np
from tflmgen.hardware import load_board
from tflmgen.options import BuildOptions
from tflmgen.project import plan_for

from support.commands import tflmgen
from support.cost_samples import Measured, write_model
from support.model_writer import SubgraphWriter
from support.repository import ROOT
from support.shape_layers import Shape

KEPT = ROOT / "build" / "shapes"

LAYERS = 16
"""Of one firmware image, with as many twins."""


@dataclass(frozen=True, slots=True)
class Count:
    """Instructions of a shape's layer and of its twin; kernels: C functions of the two."""

    shape: Shape
    instructions: int
    twin: int
    kernels: tuple[str, str]

    @property
    def ratio(self) -> float:
        """Instructions of the layer relative to its twin's."""
        return self.instructions / self.twin

    @property
    def work_ratio(self) -> float:
        """Instructions per multiply-accumulate relative to the twin's."""
        own, twin = self.shape.work
        return self.ratio * twin / own

    @property
    def per_work(self) -> float:
        return self.instructions / self.shape.work[0]


@dataclass(slots=True)
class _Placed:
    """A layer, and which operators of the file it became."""

    layer: Measured
    operators: set[int] = field(default_factory=set)

    @property
    def operator(self) -> str:
        return self.layer.operator

    @property
    def dtype(self) -> str:
        return self.layer.dtype

    @property
    def inputs(self) -> Sequence[tuple[int, ...]]:
        return self.layer.inputs

    def add_to(self, graph: SubgraphWriter, inputs: list[int], rng: np.random.Generator) -> int:
        first = len(graph.operators)
        output = self.layer.add_to(graph, inputs, rng)
        self.operators.update(range(first, len(graph.operators)))
        return output


def counted(shapes: Sequence[Shape], board: str) -> Iterator[Count]:
    """Counts of all shapes, those of one type together; each counted once for the kernels as they are."""
    for dtype in dict.fromkeys(shape.layer.dtype for shape in shapes):
        typed = [shape for shape in shapes if shape.layer.dtype == dtype]
        for first in range(0, len(typed), LAYERS):
            yield from _batch(typed[first : first + LAYERS], board)


def _batch(shapes: Sequence[Shape], board: str) -> list[Count]:
    """Counts of up to LAYERS shapes of one type, from KEPT where the generated code is what it was."""
    placed = [_Placed(layer) for shape in shapes for layer in (shape.layer, shape.twin)]
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "layers.tflite"
        write_model(model, placed, np.random.default_rng(0), gives_all=True)
        kept = KEPT / f"{_fingerprint(model, board)}.json"
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(_instructions(model, placed, board)))
    rows = json.loads(kept.read_text())
    return [
        Count(shape, own, twin, (kernel, others))
        for shape, (own, kernel), (twin, others) in zip(shapes, rows[::2], rows[1::2], strict=True)
    ]


def _fingerprint(model: Path, board: str) -> str:
    """A hash of the C code of a model and of all kernels: all of them, because kernels include one another."""
    sources = plan_for(model, load_board(board), BuildOptions(no_range_analysis=True)).sources
    digest = sha256(board.encode())
    for name in sorted(sources.files):
        digest.update(sources.files[name].encode())
    for header in sorted((ROOT / "firmware" / "kernels").glob("*.h")):
        digest.update(header.read_bytes())
    return digest.hexdigest()[:24]


def _instructions(model: Path, placed: Sequence[_Placed], board: str) -> list[tuple[int, str]]:
    """Instructions and kernels of each layer."""
    done = tflmgen("bench", model, "--board", board, "--json", "--no-range-analysis", "--timeout", "600")
    assert done.code == 0, done.err
    rows = []
    for layer in placed:
        own = [row for row in done.json["operators"] if row["operator"] in layer.operators and row["executions"]]
        kernels = [row["kernel"] or row["variant"] for row in own]
        rows.append((sum(row["instructions"] for row in own), " ".join(kernels)))
    return rows
