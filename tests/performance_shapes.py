"""The section of docs/understand/performance.md on layers of odd shapes, counted beside layers of round ones.

    PYTHONPATH=tests python -m performance_shapes [BOARD...]

counts all layers anew, or those of some boards, a quarter of an hour in all, records that in
tests/models/shape_counts.json and writes this section. Counts are kept below build/shapes until a kernel changes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
from support.cost_products import Product
from support.cost_samples import Layer, Measured
from support.repository import ROOT, page_named
from support.shape_counts import Count, counted
from support.shape_layers import FAMILIES, Moved, shapes

TITLE = "## Every shape"

TEXT = """Random layers with a fixed seed: odd channels, filters of any size, strides, dilation, groups, broadcast
operands. Each is counted beside the same layer with its channels, those of each group, rounded up to the next multiple
of 8, on the M55 of 16. `ratio` is the instructions of the layer to those of the rounded one, which computes more. `per
MAC` is the worst ratio of instructions per multiply-accumulate where all channel counts, those of each group, are at
least 16. The last two columns are medians of instructions per multiply-accumulate, or per element of the output of
operators without weights: of the layers, and of the rounded ones. The aim is a ratio of at most 1.10, or 1.35 per MAC.
The M33 has the M4's kernels, and so has the M7 but for float32.

What moves bytes alone is measured per byte, the last two columns, on cores without MVE. Where rows are whole words, an
LDM and an STM move 16 bytes; no other row can keep to 1.10 of that. An M4 loads words from any address, and stores
whole ones by STM: 12 instructions for 32 bytes, 0.38 per byte, beside 0.19 of whole words. Blocks of up to 64 bytes,
which have no time to align, take an LDR and an STR for each word, 0.5 per byte. An M0 loads no words from odd
addresses: it puts words together of two, 10 instructions for 8 bytes, 1.25 per byte beside 0.25, where single bytes
take 2 each. Per row come 8 to 30 instructions for the call, the bytes before the first whole word and those after the
last one. CONCATENATION of 42 and 27 channels on an M4 takes 54 for 69 bytes: 38 that load and store, 16 that count and
move pointers on.

An M55 multiplies 16 values of int8 at a time, 8 of int16 and 4 of float32. A pixel of 17 to 23 channels takes two
vectors of int8, as one of 32 does: per MAC, 1x1 layers and LSTMs of so few channels cannot keep to 1.35. One CONV_2D,
of 28 channels in windows of 2x5, is at 1.10: of 32 channels, whole vectors are read."""

BOARDS = {
    "Cortex-M0": "mps2_an385_m0",
    "Cortex-M4": "mps2_an386",
    "Cortex-M7": "mps2_an500",
    "Cortex-M55": "mps3_an547",
}
"""Boards with the cores, by title; the M33 has the M4's kernels."""

ALL_BOARDS = tuple(BOARDS.values())

RECORD = ROOT / "tests" / "models" / "shape_counts.json"
"""By board and family: instructions of each layer and of the rounded one, and their kernels."""

MOVES = ("RESIZE_NEAREST_NEIGHBOR", "PAD", "CONCATENATION", "STRIDED_SLICE")
"""Families that move bytes: measured per byte where there is no MVE."""

LAYERS = 5
"""Of each family and core."""

WORST = 10


def multiple(board: str) -> int:
    """What channels are rounded up to a multiple of."""
    return 16 if board == "mps3_an547" else 8


def families(board: str) -> list[str]:
    """Those that are counted on a core: float32 where it has a floating-point unit."""
    return [name for name in FAMILIES if "float32" not in name or board != "mps2_an385_m0"]


def is_compared(board: str, family: str) -> bool:
    """Whether layers of a family are held to the instructions of rounded ones: not what is measured per byte."""
    return family not in MOVES or board == "mps3_an547"


def counts(board: str, names: Iterable[str], count: int = LAYERS) -> list[Count]:
    """Layers of these families, mixed, so that no firmware has many calls of one portable kernel."""
    drawn = [shapes(name, multiple(board), count) for name in names]
    return list(counted([shape for one_of_each in zip(*drawn, strict=True) for shape in one_of_each], board))


def record(chosen: Collection[str] = ALL_BOARDS) -> None:
    """Counts the layers of these boards and writes RECORD; the others keep their counts."""
    boards = json.loads(RECORD.read_text(encoding="utf-8"))
    for title, board in BOARDS.items():
        if board not in chosen:
            continue
        own = counts(board, families(board))
        boards[board] = {
            name: [[c.instructions, c.twin, *c.kernels] for c in own if c.shape.family == name]
            for name in families(board)
        }
        print(title, len(own), "layers", flush=True)
    # A line for each family.
    lines = [
        f' "{board}": {{\n'
        + ",\n".join(f"  {json.dumps(name)}: {json.dumps(rows)}" for name, rows in rows_of.items())
        + "\n }"
        for board, rows_of in boards.items()
    ]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def recorded(board: str) -> Iterator[Count]:
    """The counts that RECORD has of a board, family by family."""
    for name, rows in json.loads(RECORD.read_text(encoding="utf-8"))[board].items():
        for shape, (own, twin, *kernels) in zip(shapes(name, multiple(board), len(rows)), rows, strict=True):
            yield Count(shape, own, twin, (kernels[0], kernels[1]))


def row(family: str, own: Sequence[Count]) -> str:
    """A family's line in the table of a core."""
    ratios = np.array([count.ratio for count in own])
    wide = [count.work_ratio for count in own if count.shape.is_wide]
    twins = [count.twin / count.shape.work[1] for count in own]
    cells = [family, str(len(own)), f"{np.median(ratios):.2f}", f"{np.quantile(ratios, 0.95):.2f}"]
    cells += [f"{ratios.max():.2f}", f"{max(wide):.2f}" if wide else ""]
    cells += [f"{np.median([count.per_work for count in own]):.2f}", f"{np.median(twins):.2f}"]
    return f"| {' | '.join(cells)} |"


def described(layer: Measured) -> str:
    """A layer in a few words."""
    if isinstance(layer, Product):
        return f"BATCH_MATMUL {layer.batches}x{layer.rows}x{layer.depth} by {layer.depth}x{layer.columns}"
    if isinstance(layer, Moved):
        operands = " and ".join("x".join(map(str, shape)) for shape in layer.inputs)
        return f"{layer.operator} of {operands}, {layer.dtype}"
    assert isinstance(layer, Layer)
    words = [layer.operator]
    if layer.taps != (1, 1) or "CONV" in layer.operator:
        words.append(f"{layer.taps[0]}x{layer.taps[1]}")
    words.append(f"{layer.channels} → {layer.outputs},")
    words += [f"stride {layer.stride},"] if layer.stride > 1 else []
    words += [f"dilation {layer.dilation},"] if layer.dilation > 1 else []
    words += [f"{layer.groups} groups,"] if layer.groups > 1 else []
    return " ".join([*words, f"{layer.size[0]}x{layer.size[1]}, {layer.dtype}"])


def shapes_section() -> list[str]:
    """A table for each core, and the worst layers of all, as they are recorded."""
    lines, every = [TITLE, "", TEXT, ""], []
    for title, board in BOARDS.items():
        names = families(board)
        own = list(recorded(board))
        every += [(title, count) for count in own if is_compared(board, count.shape.family)]
        lines += [
            f"### {title}, by family",
            "",
            "| Family | layers | ratio, median | 95th percentile | worst | per MAC, worst | median | rounded |",
            "|---|--:|--:|--:|--:|--:|--:|--:|",
        ]
        lines += [row(name, [shape_count for shape_count in own if shape_count.shape.family == name]) for name in names]
        lines.append("")
    lines += [
        "### The worst layers",
        "",
        "But for those that are measured per byte:",
        "",
        "| Core | Layer | kernel | instructions | rounded | ratio |",
        "|---|---|---|--:|--:|--:|",
    ]
    for title, worst in sorted(every, key=lambda pair: -pair[1].ratio)[:WORST]:
        cells = [title.removeprefix("Cortex-"), described(worst.shape.layer), f"`{worst.kernels[0]}`"]
        cells += [f"{worst.instructions:,}", f"{worst.twin:,}", f"{worst.ratio:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def main() -> None:
    record(sys.argv[1:] or ALL_BOARDS)
    page = page_named("performance")
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(f"\n{TITLE}\n")
    following = re.search(r"^## ", rest, re.M)
    after = rest[following.start() :] if following else ""
    page.write_text("\n".join([before.rstrip(), "", *shapes_section(), after]).rstrip() + "\n", encoding="utf-8")
    print(f"Wrote the section in {page.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()
