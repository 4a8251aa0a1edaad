"""Prints the tables of docs/understand/memory.md: the arenas of all models of the corpus, by default and for least RAM.

    python tests/memory_figures.py ../shared/corpus > tables.md

The file's bound is the most bytes that live at once if the operators of the file run in its order and each tensor has
its own place, of whole words, from its producer to its last reader; of a file with control flow there is none.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tflmgen.compiler import compile_model
from tflmgen.errors import TflmgenError
from tflmgen.frontend.tflite.model import FileTensor, Model
from tflmgen.frontend.tflite.reader import read_model
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions, Optimize

M4 = Target("cortex-m4", frozenset({"dsp", "fpu"}))
COLUMNS = ("TFLM", "file's bound", "tflmgen", "for RAM")


@dataclass(frozen=True)
class Row:
    """Bytes in the order of COLUMNS; None where there is no such figure."""

    category: str
    name: str
    figures: tuple[int | None, ...]


def file_bound(model: Model) -> int | None:
    """Of the first subgraph, in a file without control flow."""
    graph = model.subgraphs[0]
    first = dict.fromkeys(graph.inputs, 0)
    last = {t: len(graph.operators) for t in graph.outputs}
    for step, op in enumerate(graph.operators):
        for t in op.inputs:
            last[t] = max(step, last.get(t, step))
        for t in op.outputs:
            first.setdefault(t, step)
            last.setdefault(t, step)
    live = [0] * (len(graph.operators) + 1)
    for t, begin in first.items():
        if t >= 0 and graph.tensors[t].data is None:
            for step in range(begin, last.get(t, begin) + 1):
                live[step] += _bytes(graph.tensors[t])
    return max(live) or None


def _bytes(tensor: FileTensor) -> int:
    return -(-math.prod(tensor.shape) * tensor.dtype.bits // 32) * 4 if tensor.dtype else 0


def rows(corpus: Path, names: Collection[str] | None = None) -> Iterator[Row]:
    """Every model of the corpus that compiles, or of these names."""
    for entry in json.loads((corpus / "manifest.json").read_text(encoding="utf-8"))["models"]:
        path = corpus / entry["path"]
        if (names is None or entry["name"] in names) and path.is_file() and (row := _row(path, entry)):
            yield row


def _row(path: Path, entry: Mapping[str, Any]) -> Row | None:
    controlled = entry["has_if"] or entry["has_while"] or entry["has_call"]
    try:
        bound = None if controlled else file_bound(read_model(path))
        plans = [
            compile_model(path, M4, BuildOptions(optimize=optimize)).plan
            for optimize in (Optimize.BALANCED, Optimize.RAM)
        ]
    except TflmgenError:
        return None
    tflm = (entry.get("tflm_arena") or {}).get("head_nonpersistent") if entry.get("tflm_equal") else None
    return Row(entry["category"], entry["name"], (tflm, bound, *(plan["arena"]["bytes"] for plan in plans)))


def mean(rows: Iterable[Row], figure: int, of: int) -> tuple[int, float, float] | None:
    """How many rows have both figures, the geometric mean of their quotients and the greatest."""
    quotients = [max(a, 1) / b for row in rows if (a := row.figures[figure]) is not None and (b := row.figures[of])]
    if not quotients:
        return None
    return len(quotients), math.exp(sum(map(math.log, quotients)) / len(quotients)), max(quotients)


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """One line per category: quotients of the arena and of the file's bound, or of TFLite Micro's arena."""
    yield "| | models | of the file's bound | greatest | for RAM | of TFLM's arena | greatest |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for category in dict.fromkeys(row.category for row in rows):
        rows_of_category = [row for row in rows if row.category == category]
        bound, ram, tflm = mean(rows_of_category, 2, 1), mean(rows_of_category, 3, 1), mean(rows_of_category, 2, 0)
        cells = [f"{bound[1]:.3f} | {bound[2]:.2f}" if bound else " | ", f"{ram[1]:.3f}" if ram else ""]
        cells += [f"{tflm[1]:.3f} | {tflm[2]:.2f}" if tflm else " | "]
        yield f"| {category} | {len(rows_of_category)} | {' | '.join(cells)} |"


def table(rows: Sequence[Row]) -> Iterator[str]:
    """One line per model."""
    yield f"| model | {' | '.join(COLUMNS)} |"
    yield f"|---|{'--:|' * len(COLUMNS)}"
    for row in rows:
        yield line(row)


def line(row: Row) -> str:
    return f"| {row.name} | {' | '.join('' if n is None else f'{n:,}' for n in row.figures)} |"


if __name__ == "__main__":
    everything = list(rows(Path(sys.argv[1])))
    print("\n".join([*summary(everything), "", *table(everything)]))
