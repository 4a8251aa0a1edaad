"""Map of the arena over time: one block per tensor, steps to the right, bytes upwards. Coordinates in percent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from tflmgen.report.occupancy import Occupancy
from tflmgen.report.palette import Palette
from tflmgen.report.steps import Json, PlanSteps, shape
from tflmgen.report.timeline import Timeline
from tflmgen.terminal import count, readable

HEIGHT = 380
"""Height of the map in pixels."""

GLYPH = 7.2
"""Width of a letter of a block's label in pixels."""

LINE = 13
"""Height of a line of text in pixels."""


@dataclass(frozen=True, slots=True)
class ArenaBlock:
    """A tensor or scratch buffer during its lifetime.

    label        empty if it does not fit
    label_width  width available to the label: without the last step if another block covers it there
    """

    x: float
    y: float
    width: float
    height: float
    style: str
    label_width: float
    label: str
    size: str
    upright: bool
    tip: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Tick:
    """A horizontal line of the map at a number of bytes."""

    y: float
    label: str


@dataclass(frozen=True, slots=True)
class ArenaMap:
    """The blocks of a plan's arena, its lower bound, the fullest step, and horizontal grid lines."""

    blocks: tuple[ArenaBlock, ...]
    ticks: tuple[Tick, ...]
    bound: float
    peak_x: float
    peak_width: float


def arena_map(steps: PlanSteps, occupancy: Occupancy, timeline: Timeline, palette: Palette) -> ArenaMap:
    """Map of a plan whose arena is not empty."""
    size = max(1, steps.plan["arena"]["bytes"])
    painter = _Painter(steps, timeline, palette, size, _first_steps(occupancy))
    blocks = [block for buffer in occupancy.buffers for block in painter.blocks(buffer)]
    peak = timeline.columns[steps.plan["arena"]["peak_step"]]
    return ArenaMap(
        tuple(sorted(blocks, key=lambda b: (-b.bytes, b.x))),
        (*_ticks(size), *_boundaries(steps.plan, size)),
        100 - 100 * steps.plan["arena"]["lower_bound"] / size,
        peak.x,
        peak.width,
    )


def _first_steps(occupancy: Occupancy) -> Mapping[int, Sequence[tuple[int, int]]]:
    """Step -> spans of bytes of the tensors and scratch buffers that begin there."""
    spans = defaultdict(list)
    for buffer in occupancy.buffers:
        for part in buffer["tensors"] or [{**buffer, "offset": 0}]:
            begin = buffer["offset"] + part["offset"]
            for first, _ in part["ranges"]:
                spans[first].append((begin, begin + part["bytes"]))
    return spans


def _ticks(size: int) -> Iterator[Tick]:
    step = next(s for power in range(12) for s in (10**power, 2 * 10**power, 5 * 10**power) if size / s <= 6)
    for value in range(0, size + 1, step):
        if value == 0 or size - value > step / 3:
            yield Tick(100 - 100 * value / size, count(value))
    yield Tick(0.0, count(size))


def _boundaries(plan: Json, size: int) -> Iterator[Tick]:
    """The line at which each further memory of the arena begins."""
    ends = accumulate(plan["arena"].get("parts", ()))
    for name, end in zip(plan.get("arena_memories", ())[1:], ends, strict=False):
        yield Tick(100 - 100 * end / size, name)


@dataclass(frozen=True, slots=True)
class _Painter:
    steps: PlanSteps
    timeline: Timeline
    palette: Palette
    size: int
    first_steps: Mapping[int, Sequence[tuple[int, int]]]

    def blocks(self, buffer: Json) -> Iterator[ArenaBlock]:
        if not buffer["tensors"]:
            for first, last in buffer["ranges"]:
                tip = self._tip(buffer["name"], "scratch memory of one operator", buffer["offset"], buffer["bytes"])
                style = f"{self.palette.of_step(self.steps.by_index[first])} scratch"
                yield self._block(buffer["offset"], buffer["bytes"], first, last, style, "scratch", tip)
            return
        for first, last in buffer["ranges"]:
            home = self._tip(buffer["name"], "memory of one buffer", buffer["offset"], buffer["bytes"])
            yield self._block(buffer["offset"], buffer["bytes"], first, last, "home", "", home)
        begun: dict[int, list[Json]] = {}
        for tensor in buffer["tensors"]:
            for first in dict.fromkeys(first for first, _ in tensor["ranges"]):
                begun.setdefault(first, []).append(tensor)
        for tensor in buffer["tensors"]:
            for first, last in tensor["ranges"]:
                yield self._tensor(buffer, tensor, first, last, begun.get(last, ()))

    def _tensor(self, buffer: Json, tensor: Json, first: int, last: int, begun: Sequence[Json]) -> ArenaBlock:
        """begun: tensors of the buffer that begin at the step `last`."""
        offset = buffer["offset"] + tensor["offset"]
        description = f"{shape(tensor['type'])}, {self._lives(first, last)}"
        tip = self._tip(tensor["name"], description, offset, tensor["bytes"])
        label = self._label(tensor, first)
        style = self.palette.of_tensor(tensor, first)
        end = last - 1 if last > first and self._is_overwritten(tensor, begun) else last
        return self._block(offset, tensor["bytes"], first, end, style, label, tip)

    def _is_overwritten(self, tensor: Json, begun: Sequence[Json]) -> bool:
        """Whether one of the tensors that begin at the step of its last read is written over this one."""
        begin, end = tensor["offset"], tensor["offset"] + tensor["bytes"]
        return any(
            tensor_after is not tensor
            and tensor_after["offset"] < end
            and begin < tensor_after["offset"] + tensor_after["bytes"]
            for tensor_after in begun
        )

    def _label(self, tensor: Json, first: int) -> str:
        step = self.steps.by_index[first]
        if tensor["subgraph"] is not None and step["kind"] == "operator":
            return self.steps.title(first)
        return self.steps.short(tensor["name"], 24)

    def _lives(self, first: int, last: int) -> str:
        begin, end = (f"step {i} ({self.steps.title(i)})" for i in (first, last))
        return f"at {begin}" if first == last else f"from {begin} to {end}"

    def _tip(self, name: str, description: str, offset: int, size: int) -> str:
        return f"{name}\n{count(size)} bytes ({readable(size)}) at {count(offset)}\n{description}"

    def _block(self, offset: int, size: int, first: int, last: int, style: str, label: str, tip: str) -> ArenaBlock:
        x, width = self.timeline.span(first, last)
        height = 100 * size / self.size
        begun = self.first_steps.get(last, ()) if last > first else ()
        is_covered = any(begin < offset + size and offset < end for begin, end in begun)
        free = self.timeline.span(first, last - 1)[1] if is_covered else width
        y = 100 - 100 * (offset + size) / self.size
        block = ArenaBlock(x, y, width, height, style, free, "", "", False, tip, size)
        return _labelled(block, label, count(size), self.timeline.least_width)


def _labelled(block: ArenaBlock, label: str, size: str, map_width: int) -> ArenaBlock:
    """The block with its label, horizontal or upright, as far as it fits."""
    width, height = block.label_width / 100 * map_width - 6, block.height / 100 * HEIGHT - 4
    label_width = len(label) * GLYPH
    if not label:
        return block
    if width >= label_width and height >= LINE:
        return replace(block, label=label, size=size if height >= 2 * LINE and width >= len(size) * GLYPH else "")
    if height >= label_width and width >= LINE - 4:
        return replace(block, label=label, upright=True)
    return block
