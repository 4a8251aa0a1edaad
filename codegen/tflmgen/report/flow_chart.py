"""Drawing of the graph: operators from top to bottom, branches side by side, loops in frames. All in pixels.

Control flow is structured, so that nested boxes are a layout: a sequence is a stack, an If two adjacent stacks, a
While a frame around its condition and its body. Data flow between steps that are not neighbours is drawn as arcs at
the left of a stack, on as few tracks as keep arcs disjoint (interval colouring, first fit by length).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tflmgen.report.layer_texts import quantization_text, window_text
from tflmgen.report.palette import Palette
from tflmgen.report.steps import Json, PlanSteps, fitting, shapes
from tflmgen.terminal import count

CARD_WIDTH, CARD_HEIGHT, THIN_HEIGHT = 226, 36, 20
"""Pixels of a card; THIN_HEIGHT is that of views, inputs and outputs."""

LETTERS = 36
"""Characters that fit into a card."""

GAP, PADDING, HEADER, TRACK = 16, 12, 24, 9
"""Pixels between cards, around a branch, of its title, and between neighbouring arcs."""

TRACKS = 10
"""Largest number of tracks for the arcs of a stack."""


@dataclass(frozen=True, slots=True)
class Card:
    """Box of one step, with a title and, for an operator, its outputs."""

    step: int
    x: float
    y: float
    width: float
    height: float
    style: str
    title: str
    detail: str
    place: str
    tip: str


@dataclass(frozen=True, slots=True)
class ChartFrame:
    """Outline of a branch, of a loop, or of a loop's part, with a title."""

    x: float
    y: float
    width: float
    height: float
    style: str
    title: str


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow, as an SVG path."""

    path: str
    style: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A part of the chart; its origin is the upper left corner."""

    width: float
    height: float
    cards: tuple[Card, ...] = ()
    frames: tuple[ChartFrame, ...] = ()
    edges: tuple[tuple[float, float, Edge], ...] = ()

    def moved(self, x: float, y: float) -> Drawing:
        """Copy of the drawing, `x` further right and `y` further down."""
        return replace(
            self,
            cards=tuple(replace(c, x=c.x + x, y=c.y + y) for c in self.cards),
            frames=tuple(replace(f, x=f.x + x, y=f.y + y) for f in self.frames),
            edges=tuple((ex + x, ey + y, edge) for ex, ey, edge in self.edges),
        )


@dataclass(frozen=True, slots=True)
class Chart:
    """Drawing of one function."""

    title: str
    drawing: Drawing


def flow_charts(steps: PlanSteps, palette: Palette) -> list[Chart]:
    """One chart per function, those of signatures first."""
    artist = _Artist(steps, palette)
    return [Chart(entry["function"], artist.function(entry["index"])) for entry in steps.entries]


@dataclass(frozen=True, slots=True)
class _Artist:
    steps: PlanSteps
    palette: Palette

    def function(self, entry: int) -> Drawing:
        inside = self.steps.children[entry]
        return self._stack([entry, *inside])

    def _stack(self, parts: Sequence[int]) -> Drawing:
        """Steps of a sequence, one below the other."""
        visible = [i for i in parts if self._is_shown(i)]
        drawings = {i: self._item(i) for i in visible}
        pairs = list(self._pairs(visible))
        arcs = _tracks([(a, b) for a, b in pairs if b - a > 1])
        gutter = TRACK * (max(arcs.values()) + 1) + 8 if arcs else 0
        width = max((d.width for d in drawings.values()), default=0)
        middle = gutter + width / 2
        tops: list[float] = []
        y = 0.0
        for i in visible:
            tops.append(y)
            y += drawings[i].height + GAP
        placed = [drawings[i].moved(middle - drawings[i].width / 2, top) for i, top in zip(visible, tops, strict=True)]
        edges = [_arrow(middle, tops[b] - GAP, tops[b]) for a, b in pairs if b - a == 1]
        for (a, b), track in arcs.items():
            sides = [
                (middle - drawings[i].width / 2, tops[n] + drawings[i].height / 2) for n in (a, b) for i in [visible[n]]
            ]
            edges.append(_arc(sides[0], sides[1], gutter - 8 - TRACK * track))
        return _together(gutter + width, max(0.0, y - GAP), placed, edges)

    def _is_shown(self, index: int) -> bool:
        """Whether a step is drawn; boundaries are drawn only if data passes them."""
        step = self.steps.by_index[index]
        if step["kind"] in ("operator", "if", "while", "call", "entry"):
            return True
        passed = bool(step["inputs"]) or index in self.steps.moved
        return passed and step["kind"] not in ("init", "arguments", "results")

    def _pairs(self, visible: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Data flow between visible steps of a sequence, as pairs of positions."""
        owner = {
            step: place
            for place, i in enumerate(visible)
            for step in (*self._with_boundaries(i), *self.steps.inside(i))
        }
        flows = set()
        for place, i in enumerate(visible):
            for reader in self._readers(i):
                for producer in self.steps.by_index[reader]["inputs"]:
                    source = owner.get(producer)
                    if source is not None and source < place:
                        flows.add((source, place))
        return iter(sorted(flows))

    def _with_boundaries(self, index: int) -> list[int]:
        """A step with the adjacent boundary steps that the chart doesn't draw."""
        kind = self.steps.by_index[index]["kind"]
        if kind == "while":
            return [index, self._init(index)]
        return [index - 1, index, index + 1] if kind == "call" else [index]

    def _readers(self, index: int) -> list[int]:
        if self.steps.by_index[index]["kind"] == "entry":
            return [index]
        return [*self._with_boundaries(index), *self.steps.inside(index)]

    def _init(self, loop: int) -> int:
        """Boundary step that initialises a loop's variables: the last one before its condition."""
        condition, _ = self.steps.parts(loop)
        return min([loop, *condition, *(i for c in condition for i in self.steps.inside(c))]) - 1

    def _item(self, index: int) -> Drawing:
        kind = self.steps.by_index[index]["kind"]
        if kind == "if":
            return self._if(index)
        if kind == "while":
            return self._while(index)
        return self._card(index)

    def _card(self, index: int) -> Drawing:
        step = self.steps.by_index[index]
        title, detail, place = self.steps.title(index), "", ""
        if step["kind"] == "operator":
            detail, place = shapes(step["outputs"]), f"{step['subgraph']}.{step['operator']}"
            thin = step["variant"] == "view"
            style = f"op {self.palette.of_step(step)}" + (" view" if thin else "")
        else:
            thin, style = True, "port"
        height = THIN_HEIGHT if thin else CARD_HEIGHT
        tip = self._tip(step, title, detail)
        room = LETTERS - (len(title) + len(place) + 4 if thin else 0)
        card = Card(index, 0, 0, CARD_WIDTH, height, style, fitting(title, LETTERS), fitting(detail, room), place, tip)
        return Drawing(CARD_WIDTH, height, (card,))

    def _tip(self, step: Json, title: str, detail: str) -> str:
        lines = [f"step {step['index']}: {title}", detail]
        if step["kind"] == "operator":
            lines += [f"operator {step['operator']} of subgraph {step['subgraph']}"]
            lines += [self.steps.short(name, 60) for name in self.steps.tensors_by_step.get(step["index"], ())]
            lines += [f"{stage['name']} -> {shapes(stage['outputs'])}" for stage in step.get("stages", ())]
            lines += [text for text in (window_text(step), quantization_text(step)) if text]
            lines.append(f"{step['kernel'] or 'no kernel'} ({step['variant']})")
            overlapped = step.get("overlapped_bytes", 0)
            lines += (
                [f"{count(overlapped)} bytes of it lie over an input that is no longer needed"] if overlapped else []
            )
            lines += [f"{count(step['macs'])} MACs"] if step["macs"] else []
            lines += [f"{count(step['weights_bytes'])} bytes of weights"] if step["weights_bytes"] else []
        return "\n".join(line for line in lines if line)

    def _if(self, index: int) -> Drawing:
        parts = [
            self._framed(kind, kind, self._stack(p))
            for kind, p in zip(("then", "else"), self.steps.parts(index), strict=True)
        ]
        height = max(part.height for part in parts)
        parts = [_grown(part, height) for part in parts]
        width = sum(part.width for part in parts) + GAP
        placed = [parts[0].moved(0, HEADER + GAP), parts[1].moved(parts[0].width + GAP, HEADER + GAP)]
        card = Card(
            index, width / 2 - 40, 0, 80, HEADER, "test", "if", "", "", f"step {index}: runs one of two branches"
        )
        centres = [parts[0].width / 2, parts[0].width + GAP + parts[1].width / 2]
        edges = [_elbow(width / 2, HEADER, centre, HEADER + GAP) for centre in centres]
        drawing = _together(width, HEADER + GAP + height, placed, edges)
        return replace(drawing, cards=(card, *drawing.cards))

    def _while(self, index: int) -> Drawing:
        condition, body = self.steps.parts(index)
        parts = [self._stack(body)]
        if any(self._is_shown(i) for i in condition):
            parts = [self._framed("condition", "while", self._stack(condition)), self._framed("body", "do", parts[0])]
        width = max(part.width for part in parts)
        placed, y = [], HEADER + 4.0
        for part in parts:
            placed.append(part.moved((width - part.width) / 2 + PADDING, y))
            y += part.height + GAP
        height = y - GAP + PADDING
        full = width + 2 * PADDING + 14
        back_edge = Edge(_back_edge(full - 8, height - PADDING / 2, HEADER - 4), "back")
        title = self.steps.title(index)
        drawing = _together(full, height, placed, [(0.0, 0.0, back_edge)])
        return replace(drawing, frames=(ChartFrame(0, 0, full, height, "loop", title), *drawing.frames))

    def _framed(self, style: str, title: str, inner: Drawing) -> Drawing:
        width = max(inner.width, 96) + 2 * PADDING
        height = inner.height + HEADER + PADDING
        moved = inner.moved((width - inner.width) / 2, HEADER)
        return replace(
            moved, width=width, height=height, frames=(ChartFrame(0, 0, width, height, style, title), *moved.frames)
        )


def _grown(part: Drawing, height: float) -> Drawing:
    outline = replace(part.frames[0], height=height)
    return replace(part, height=height, frames=(outline, *part.frames[1:]))


def _together(
    width: float, height: float, parts: Sequence[Drawing], edges: Sequence[tuple[float, float, Edge]]
) -> Drawing:
    return Drawing(
        width,
        height,
        tuple(card for part in parts for card in part.cards),
        tuple(frame for part in parts for frame in part.frames),
        (*edges, *(edge for part in parts for edge in part.edges)),
    )


def _tracks(arcs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """Track of each arc, the shortest ones innermost; overlapping arcs share a track only if there are too many."""
    tracks: dict[tuple[int, int], int] = {}
    for arc in sorted(arcs, key=lambda a: (a[1] - a[0], a)):
        used = {t for (a, b), t in tracks.items() if a < arc[1] and arc[0] < b}
        tracks[arc] = next((t for t in range(TRACKS) if t not in used), TRACKS - 1)
    return tracks


def _arrow(x: float, begin: float, end: float) -> tuple[float, float, Edge]:
    return (x, begin, Edge(f"M0 0V{end - begin - 1:g}", "flow"))


def _arc(begin: tuple[float, float], end: tuple[float, float], track: float) -> tuple[float, float, Edge]:
    """Arc from the left side of a box to that of a lower box, along a track."""
    drop, r = end[1] - begin[1], 6
    left, right = track - begin[0], end[0] - track
    path = (
        f"M0 0H{left + r:g}Q{left:g} 0 {left:g} {r}V{drop - r:g}"
        f"Q{left:g} {drop:g} {left + r:g} {drop:g}H{left + right - 1:g}"
    )
    return (*begin, Edge(path, "flow skip"))


def _elbow(x: float, y: float, to_x: float, to_y: float) -> tuple[float, float, Edge]:
    half = (to_y - y) / 2
    return (x, y, Edge(f"M0 0V{half:g}H{to_x - x:g}V{to_y - y - 1:g}", "flow"))


def _back_edge(x: float, bottom: float, top: float) -> str:
    """Back edge of a loop: upward along the right side of its frame."""
    return f"M{x - 14:g} {bottom:g}H{x - 4:g}Q{x:g} {bottom:g} {x:g} {bottom - 4:g}V{top:g}"
