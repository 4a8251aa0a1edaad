"""Products of two matrices that are both computed, in many shapes: for the cost models of ops/costs/estimate.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from support.model_writer import SubgraphWriter


@dataclass(frozen=True, slots=True)
class Product:
    """BATCH_MATMUL of [batches, rows, depth] and [batches, depth, columns], or the latter's adjoint."""

    batches: int
    rows: int
    depth: int
    columns: int
    adjoint: bool
    scale: float
    dtype: str = "int8"

    @property
    def operator(self) -> str:
        return "BATCH_MATMUL"

    @property
    def inputs(self) -> Sequence[tuple[int, ...]]:
        sides = (self.columns, self.depth) if self.adjoint else (self.depth, self.columns)
        return [(self.batches, self.rows, self.depth), (self.batches, *sides)]

    def add_to(self, graph: SubgraphWriter, inputs: list[int], rng: np.random.Generator) -> int:
        del rng
        shape = [self.batches, self.rows, self.columns]
        quantization: dict[str, Any] = {"scale": [self.scale], "zero_point": [3]} if self.dtype == "int8" else {}
        y = graph.tensor("product", self.dtype, shape, **quantization)
        graph.operator("BATCH_MATMUL", inputs, [y], {"adj_y": self.adjoint})
        return y


def product_row(rng: np.random.Generator) -> Product:
    """Of one row, as in attention to what came before."""
    drawn = product(rng)
    return replace(drawn, rows=1, columns=drawn.columns + int(rng.integers(4, 40)))


def product(rng: np.random.Generator) -> Product:
    batches, rows, columns = int(rng.integers(1, 4)), int(rng.integers(1, 30)), int(rng.integers(1, 40))
    depth = int(rng.choice([8, 13, 16, 24, 32, 40, 48, 64, 77, 128]))
    return Product(batches, rows, depth, columns, bool(rng.random() < 0.5), 0.05 * float(rng.choice([1.0, 2.0])))
