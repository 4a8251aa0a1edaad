"""Rewrites a function to the cone of a hop: caches become state, operators compute the rows that are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tflmgen.ir import TensorType, resolve_operands, substitute
from tflmgen.ir import with_regions as node_with_regions
from tflmgen.ir.graph import Function, Module, Node, Op, Origin, Value, Variable, blocks_of
from tflmgen.passes.sliding.cone import Cone, values_read
from tflmgen.passes.sliding.graph_builder import GraphBuilder
from tflmgen.passes.sliding.moving_sums import MovingSum
from tflmgen.passes.sliding.rings import POSITION, HeldRows, Ring
from tflmgen.passes.sliding.track import Span


@dataclass(frozen=True, slots=True)
class Hop:
    """Results of a function for one hop, and the caches that it reads and writes.

    caches  name -> what stands for the rows or sums that an earlier hop left
    nexts   what each cache holds after this hop
    """

    results: tuple[Value, ...]
    caches: Mapping[str, Value]
    nexts: tuple[Value, ...]


def cached(cone: Cone, inputs: Mapping[Value, HeldRows]) -> dict[Value, Span]:
    """Tensors with a cache, and its rows in this window: of all but inputs that are there whole."""
    return {
        value: span
        for value, span in cone.caches.items()
        if value not in inputs or inputs[value].span != (0, cone.tracks[value].rows)
    }


class HopRewrite:
    """One function's nodes, one after the other."""

    def __init__(self, function: Function, cone: Cone, builder: GraphBuilder, origin: Origin) -> None:
        self._function, self._cone, self._builder, self._origin = function, cone, builder, origin
        self._parts: dict[Value, list[HeldRows]] = {}
        self._read: dict[tuple[Value, tuple[Span, ...]], Value] = {}
        self._sums: dict[int, Value] = {}

    def run(self, module: Module, sliding: Mapping[Value, Value], counter: str, pushes: int) -> Module:
        """The module with the function rewritten. sliding: input -> the newest rows of it."""
        function, builder, cone = self._function, self._builder, self._cone
        newest = {
            value: HeldRows((cone.tracks[value].rows - cone.tracks[value].hop, cone.tracks[value].rows), rows)
            for value, rows in sliding.items()
        }
        hop = self.hop(newest)
        count = builder.value("pushes", builder.integers([0]).type)
        state = {**hop.caches, counter: count}
        counted = builder.counted(count, pushes, self._origin)
        body = replace(function.body, nodes=tuple(builder.nodes), results=(*hop.results, *hop.nexts, counted))
        inputs = (*(sliding.get(v, v) for v in function.inputs), *state.values())
        changed = replace(function, inputs=inputs, body=body, state=tuple(state))
        variables = {name: self._variable(name, value) for name, value in state.items()}
        return replace(
            module,
            functions=tuple(changed if f is function else f for f in module.functions),
            constants=builder.constants,
            state={**module.state, **variables},
        )

    def hop(self, newest: Mapping[Value, HeldRows]) -> Hop:
        """Adds the nodes of a hop to the builder. newest: input -> the rows of it that exist before the hop."""
        self._parts.update({value: [part] for value, part in newest.items()})
        caches: dict[str, Value] = {}
        kept = cached(self._cone, newest)
        later: dict[Value | int, list[Value]] = {}
        for number, (value, span) in enumerate(kept.items()):
            name = f"rows {number} of {value.name}"
            if value in self._cone.rings:
                later[value] = self._load(caches, name, self._cone.rings[value])
                continue
            track = self._cone.tracks[value]
            type_ = value.type.with_dim(track.axis, span[1] - span[0])
            oldest, *later[value] = self._phases(caches, name, type_, track.period)
            self._parts.setdefault(value, []).append(HeldRows(span, oldest))
        for id_, moving in self._cone.sums.items():
            name = f"sums {len(caches)} of {moving.value.name}"
            self._sums[id_], *later[id_] = self._phases(caches, name, moving.type, moving.track.period)
        for node in self._function.body.nodes:
            self._node(node)
        results = tuple(self._whole(value) for value in self._function.body.results)
        nexts = [next_ for value in kept for next_ in self._nexts(value, later[value])]
        nexts += [next_ for id_ in self._cone.sums for next_ in (*later[id_], self._sums[id_])]
        return Hop(results, caches, tuple(nexts))

    def _load(self, caches: dict[str, Value], name: str, ring: Ring) -> list[Value]:
        """Adds a ring's rows and position to the caches, and what is read of it to the parts."""
        stored, oldest = (
            self._builder.value(*variable) for variable in ((name, ring.type), (f"{name}: oldest", POSITION))
        )
        caches.update({stored.name: stored, oldest.name: oldest})
        self._parts.setdefault(ring.value, []).extend(ring.loaded(stored, oldest, self._builder, self._origin))
        return [stored, oldest]

    def _phases(self, caches: dict[str, Value], name: str, type_: TensorType, period: int) -> list[Value]:
        """Adds what as many windows left to the caches; the oldest first."""
        names = [name, *(f"{name}, {phase} windows later" for phase in range(1, period))]
        values = [self._builder.value(name, type_) for name in names]
        caches.update(zip(names, values, strict=True))
        return values

    def _variable(self, name: str, value: Value) -> Variable:
        key = f"state.{name}"
        self._builder.constants[key] = bytes(value.type.bytes)
        return Variable(self._builder.value(name, value.type), key)

    def _node(self, node: Node) -> None:
        row_map = self._cone.maps.get(node.id)
        if row_map is None:
            if node.id in self._cone.sums:
                self._moving_sum(self._cone.sums[node.id])
            else:
                self._builder.nodes.append(self._on_whole_tensors(node))
            return
        for span in self._cone.computed[node.id]:
            reads: dict[int, list[Span]] = {}
            for index, rows in row_map.reads(span):
                reads.setdefault(index, []).append(rows)
            inputs = {}
            for index, spans in reads.items():
                value = row_map.op.inputs[index]
                assert value is not None
                inputs[index] = self._rows(value, spans, row_map.op.origin)
            built = row_map.build(span, inputs, self._builder)
            for value, part in zip(row_map.op.outputs, built, strict=True):
                if row_map.tracks:
                    self._parts.setdefault(value, []).append(HeldRows(span, part))
                else:
                    self._read[value, ()] = part

    def _moving_sum(self, moving: MovingSum) -> None:
        kept = self._sums[moving.op.id]
        output, self._sums[moving.op.id] = moving.of_hop(kept, self._rows, self._builder)
        self._read[moving.op.outputs[0], ()] = output

    def _on_whole_tensors(self, node: Node) -> Node:
        mapping = {value: self._whole(value) for value in sorted(values_read(node), key=lambda v: v.id)}
        mapping = {old: new for old, new in mapping.items() if old is not new}
        if isinstance(node, Op) or not mapping:
            return resolve_operands(node, mapping)
        regions = [substitute(block, mapping) for block in blocks_of(node)]
        return node_with_regions(resolve_operands(node, mapping), regions)

    def _whole(self, value: Value) -> Value:
        track = self._cone.tracks.get(value)
        if track is None:
            return self._read.get((value, ()), value)
        return self._rows(value, [(0, track.rows)], self._origin)

    def _nexts(self, value: Value, state: Sequence[Value]) -> tuple[Value, ...]:
        """Contents of a tensor's caches after this invoke.

        state: a ring's, or the caches of later windows, which become those of the ones before
        """
        track, ring = self._cone.tracks[value], self._cone.rings.get(value)
        if ring is not None:
            stored, oldest = state
            return ring.updated(
                stored, oldest, self._rows(value, [track.new], self._origin), self._builder, self._origin
            )
        first, end = self._cone.caches[value]
        return (*state, self._rows(value, [(first + track.hop, end + track.hop)], self._origin))

    def _rows(self, value: Value, spans: Sequence[Span], origin: Origin) -> Value:
        """A value that holds rows of a tensor, one span after the other."""
        key = value, tuple(spans)
        if key not in self._read:
            self._read[key] = self._joined(value, spans, origin)
        return self._read[key]

    def _joined(self, value: Value, spans: Sequence[Span], origin: Origin) -> Value:
        axis, cuts = self._cone.tracks[value].axis, list[tuple[Value, Span]]()
        for at, last in spans:
            while at < last:
                part = next(part for part in self._parts[value] if part.span[0] <= at < part.span[1])
                first, end = part.at + at - part.span[0], part.at + min(last, part.span[1]) - part.span[0]
                if cuts and cuts[-1][0] is part.value and cuts[-1][1][1] == first:
                    first = cuts.pop()[1][0]
                cuts.append((part.value, (first, end)))
                at += min(last, part.span[1]) - at
        pieces = [self._builder.cut(part, axis, rows, origin) for part, rows in cuts]
        return self._builder.join(pieces, axis, value.name, origin)
