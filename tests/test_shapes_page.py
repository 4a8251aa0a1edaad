"""The tables of layers of odd shapes in docs/understand/performance.md are those that were recorded."""

from __future__ import annotations

import re

import pytest
from performance_shapes import (
    BOARDS,
    LAYERS,
    MOVES,
    TITLE,
    families,
    is_compared,
    multiple,
    recorded,
    shapes_section,
)
from support import shape_counts
from support.repository import page_named
from support.shape_counts import counted
from support.shape_layers import shapes
from support.tools import requires_compiler, requires_qemu

LIMIT = 1.10
"""Of instructions, to those of the rounded layer."""

PER_BYTE = {
    ("Cortex-M0", "RESIZE_NEAREST_NEIGHBOR"): 7.2,
    ("Cortex-M0", "PAD"): 0.8,
    ("Cortex-M0", "CONCATENATION"): 3.0,
    ("Cortex-M0", "STRIDED_SLICE"): 1.3,
    ("Cortex-M4", "RESIZE_NEAREST_NEIGHBOR"): 2.1,
    ("Cortex-M4", "PAD"): 0.55,
    ("Cortex-M4", "CONCATENATION"): 0.85,
    ("Cortex-M4", "STRIDED_SLICE"): 0.51,
    ("Cortex-M7", "RESIZE_NEAREST_NEIGHBOR"): 2.1,
    ("Cortex-M7", "PAD"): 0.55,
    ("Cortex-M7", "CONCATENATION"): 0.85,
    ("Cortex-M7", "STRIDED_SLICE"): 0.51,
}
"""Instructions per byte that what moves bytes keeps to. Rows of 5 bytes are the most; where a layer's tensors begin in
the arena of 32 layers moves that by 6 %: an M0 loads words from whole addresses alone."""


def test_the_page_has_the_recorded_counts() -> None:
    page = page_named("performance").read_text(encoding="utf-8")
    assert TITLE in page
    section = re.split(r"^## ", page.partition(f"\n{TITLE}\n")[2], maxsplit=1, flags=re.M)[0]
    assert f"{TITLE}\n{section}".rstrip() == "\n".join(shapes_section()).rstrip()


@pytest.mark.parametrize("core", BOARDS)
def test_all_families_are_recorded(core: str) -> None:
    board = BOARDS[core]
    assert [c.shape.family for c in recorded(board)] == [name for name in families(board) for _ in range(LAYERS)]


@pytest.mark.parametrize("core", BOARDS)
def test_families_keep_to_the_limit(core: str) -> None:
    slower = {
        (core, count.shape.family): round(count.ratio, 2)
        for count in sorted(recorded(BOARDS[core]), key=lambda count: count.ratio)
        if is_compared(BOARDS[core], count.shape.family) and count.ratio > LIMIT
    }
    assert slower == {}


@pytest.mark.parametrize("core", [core for core in BOARDS if core != "Cortex-M55"])
def test_moves_keep_to_their_instructions_per_byte(core: str) -> None:
    moves = [count for count in recorded(BOARDS[core]) if count.shape.family in MOVES]
    slower = [(c.shape, c.per_work) for c in moves if c.per_work > PER_BYTE[core, c.shape.family]]
    assert len(moves) == LAYERS * len(MOVES)
    assert slower == []


@pytest.mark.emulator
@requires_compiler
@requires_qemu
def test_counts_are_as_recorded() -> None:
    """Those of the first firmware image with layers of an M4."""
    board = BOARDS["Cortex-M4"]
    first = [shapes(name, multiple(board), 1)[0] for name in families(board)[: shape_counts.LAYERS]]
    known = {count.shape: (count.instructions, count.twin, count.kernels) for count in recorded(board)}
    anew = {count.shape: (count.instructions, count.twin, count.kernels) for count in counted(first, board)}
    assert anew == {shape: known[shape] for shape in first}
