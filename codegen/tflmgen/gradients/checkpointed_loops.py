"""Gradients of loops that keep their variables at every S-th iteration only, and compute what lies between again.

The forward loop stores its variables as they are before iterations 0, S, 2 S, ... The backward loop goes back by
segments of S iterations: it runs the forward body over a segment, which stores what the backward body reads of each,
and then the backward body. Of T iterations T / S + S rows are kept at a time instead of T, for one more forward pass.

Source: A. Griewank, Achieving logarithmic growth of temporal and spatial complexity in reverse automatic
differentiation, 1992; with one level of checkpoints, T. Chen et al., Training Deep Nets with Sublinear Memory Cost,
2016.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tflmgen.frontend.tflite import FileTensor
from tflmgen.gradients.flow_graph import FlowGraph, FlowNode, reachable
from tflmgen.gradients.graph_arithmetic import Arithmetic
from tflmgen.gradients.loop_parts import COUNT, Passes, Stored, backward_loop, extend_forward
from tflmgen.ir import DType

_LIMIT = FileTensor.added(0, "segment_length", DType.INT32, ())

_EFFECTS = frozenset({"ASSIGN_VARIABLE", "READ_VARIABLE", "RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", "MULTINOMIAL"})
"""Operators of which a second run does something else than the first."""


@dataclass(frozen=True, slots=True)
class LoopCut:
    """LoopCut of a loop's iterations.

    spacing    iterations of a segment
    varying    variables that are kept before each segment: all on which what is stored depends
    invariant  variables that stay as they are, and that the forward body reads
    """

    spacing: int
    varying: tuple[int, ...]
    invariant: tuple[int, ...]

    def rows(self, iterations: int) -> int:
        """Rows of an array of checkpoints: one for each segment, and one that the last segment may begin to write."""
        return (iterations - 1 + self.spacing - 1) // self.spacing + 1


def loop_cut(passes: Passes, body: FlowGraph, stored: Sequence[Stored], rows: int, limit: int) -> LoopCut | None:
    """The cut by which least is kept; None for a loop that keeps at most `limit` bytes, or less without a cut."""
    row_bytes = sum(value.bytes for value in stored)
    if rows * row_bytes <= limit or any(n.name in _EFFECTS for g in reachable([body]) for n in g.nodes):
        return None
    forward = passes.branch.forward
    places = _needed(forward, [value.own for value in stored])
    invariant = tuple(k for k in places if body.outputs[k] == body.inputs[k])
    varying = tuple(k for k in places if k not in invariant)
    state_bytes = sum(state.bytes for state in _states(forward, varying))

    def kept(spacing: int) -> int:
        return LoopCut(spacing, varying, invariant).rows(rows) * state_bytes + spacing * row_bytes

    spacing = min(range(1, rows + 1), key=kept)
    return LoopCut(spacing, varying, invariant) if kept(spacing) < rows * row_bytes else None


def _states(body: FlowGraph, places: Sequence[int]) -> list[Stored]:
    """Variables of a body as values of each iteration."""
    return [Stored(t, -1, body.shape(t), body.dtype(t)) for t in (body.inputs[k] for k in places)]


def _needed(forward: FlowGraph, values: Sequence[int]) -> list[int]:
    """Places of a body's variables on which values depend, in this iteration or one before it."""
    places: list[int] = []
    while True:
        read = _read_by(forward, [*values, *(forward.outputs[k] for k in places)])
        more = [k for k, tensor in enumerate(forward.inputs) if tensor in read]
        if more == places:
            return places
        places = more


def _read_by(graph: FlowGraph, results: Sequence[int]) -> set[int]:
    """Tensors that results are computed from, with these."""
    read = set(results)
    for node in reversed(graph.nodes):
        if not read.isdisjoint(node.outputs):
            read.update(node.inputs)
    return read


def keep_checkpoints(graph: FlowGraph, loop: FlowNode, body: FlowGraph, cut: LoopCut, rows: int) -> list[int]:
    """Has a loop of a graph, with this body, count and keep checkpoints; its count and these behind the last iteration.

    Iteration k writes row (k + S - 1) / S, rounded down: the last one that writes row r is r S, which begins a segment.
    """
    states = _states(body, cut.varying)
    return extend_forward(graph, loop, body, states, cut.rows(rows), cut.spacing)


def backward_segments(
    passes: Passes,
    cut: LoopCut,
    stored: Sequence[Stored],
    outside: Sequence[tuple[int, int]],
    kept_invariants: Sequence[int],
    iterations: int,
) -> tuple[FlowGraph, FlowGraph]:
    """Condition and body of the loop over segments, from the last one to the first.

    Its variables: the count of iterations that remain, gradients, checkpoints, and variables that stay as they are,
    in the order of `kept_invariants`, their places.
    """
    forward = passes.branch.forward
    graph = FlowGraph(f"{forward.name}_segments")
    a = Arithmetic(graph)
    count = graph.copy_tensor(COUNT)
    seeds = [graph.copy_tensor(passes.branch.backward.tensors[tensor]) for tensor in passes.branch.seeds]
    states = _states(forward, cut.varying)
    checkpoints = [graph.copy_tensor(state.array(cut.rows(iterations))) for state in states]
    invariants = {k: graph.copy_tensor(forward.tensors[forward.inputs[k]]) for k in kept_invariants}
    size = a.integers(cut.spacing)
    last = graph.compute("SUB", [count, a.integers(1)], (), DType.INT32)
    number = graph.compute("FLOOR_DIV", [last, size], (), DType.INT32)
    begin = graph.compute("MUL", [number, size], (), DType.INT32)
    length = graph.compute("SUB", [count, begin], (), DType.INT32)
    begun = [_row(graph, array, number, state) for array, state in zip(checkpoints, states, strict=True)]
    operands = dict(zip(cut.varying, begun, strict=True)) | {k: invariants[k] for k in cut.invariant}
    arrays = _run_segment(graph, forward, operands, length, stored, cut.spacing)
    condition, body = backward_loop(passes, stored, [kept for _, kept in outside], cut.spacing)
    variables = [length, *seeds, *arrays, *(invariants[k] for k, _ in outside)]
    results = [FileTensor.added(0, "after", graph.dtype(t), graph.shape(t)) for t in variables]
    run = graph.run("WHILE", variables, results, cond_subgraph_index=condition, body_subgraph_index=body)
    graph.inputs = [count, *seeds, *checkpoints, *invariants.values()]
    graph.outputs = [begin, *run.outputs[1 : 1 + len(seeds)], *checkpoints, *invariants.values()]
    return _while_positive(graph), graph


def _row(graph: FlowGraph, array: int, number: int, state: Stored) -> int:
    """A variable as it was kept in a row of an array."""
    row = graph.compute("GATHER", [array, number], (math.prod(state.shape),), state.dtype, {"axis": 0})
    sizes = Arithmetic(graph).integers(list(state.shape))
    return graph.compute("RESHAPE", [row, sizes], state.shape, state.dtype, {"new_shape": list(state.shape)})


def _run_segment(
    graph: FlowGraph, forward: FlowGraph, operands: dict[int, int], length: int, stored: Sequence[Stored], rows: int
) -> list[int]:
    """Runs the forward body as often as `length` says; the arrays of what it stores.

    operands  place of a variable -> its value before the first of these iterations
    """
    places = sorted(operands)
    body = FlowGraph(f"{forward.name}_again", list(forward.tensors), list(forward.nodes))
    limit = body.copy_tensor(_LIMIT)
    body.inputs = [*(forward.inputs[k] for k in places), limit]
    body.outputs = [*(forward.outputs[k] for k in places), limit]
    read = _read_by(forward, [*body.outputs, *(value.own for value in stored)])
    body.nodes = [node for node in forward.nodes if not read.isdisjoint(node.outputs)]
    condition = FlowGraph(f"{body.name}_condition")
    condition.inputs = [condition.copy_tensor(body.tensors[tensor]) for tensor in body.inputs]
    variables = [*(operands[k] for k in places), length]
    results = [FileTensor.added(0, "after", graph.dtype(t), graph.shape(t)) for t in variables]
    loop = graph.run("WHILE", variables, results, cond_subgraph_index=condition, body_subgraph_index=body)
    _, *arrays = extend_forward(graph, loop, body, stored, rows)
    condition = loop.graphs[0]
    count = condition.inputs[len(variables)]
    condition.outputs = [condition.compute("LESS", [count, condition.inputs[len(places)]], (), DType.BOOL)]
    return arrays


def _while_positive(body: FlowGraph) -> FlowGraph:
    """The condition of a loop that runs while its first variable, a count, is more than 0."""
    condition = FlowGraph(f"{body.name}_condition")
    condition.inputs = [condition.copy_tensor(body.tensors[tensor]) for tensor in body.inputs]
    zero = Arithmetic(condition).integers(0)
    condition.outputs = [condition.compute("GREATER", [condition.inputs[0], zero], (), DType.BOOL)]
    return condition
