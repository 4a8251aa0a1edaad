"""Gradients of loops: a WHILE becomes another WHILE that counts the iterations down.

The forward loop counts its iterations and stores what the backward body reads of each in a row of an array, which is
one of its variables. The backward loop has the gradients of the variables as its variables. What the loop leaves as it
is, such as weights, is not stored: the backward loop reads it from outside, and its gradient adds up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tflmgen.errors import ModelError, Problem
from tflmgen.frontend.tflite import FileTensor
from tflmgen.gradients.activity import loop_activity
from tflmgen.gradients.branch_gradients import BranchGradient, derive
from tflmgen.gradients.flow_graph import FlowGraph, FlowNode, Shape, location_of
from tflmgen.gradients.graph_arithmetic import Arithmetic
from tflmgen.gradients.rule import Gradients
from tflmgen.gradients.tape import ControlRule, Tape
from tflmgen.gradients.trip_bounds import trip_bound
from tflmgen.ir import DType

_COUNT = FileTensor.added(0, "iteration", DType.INT32, ())


@dataclass(frozen=True, slots=True)
class Stored:
    """A value of each iteration: a tensor of the forward body, an input of the backward body, and its array."""

    own: int
    kept: int
    shape: Shape
    dtype: DType

    def array(self, rows: int) -> FileTensor:
        """The array's type: one row for each iteration."""
        return FileTensor.added(0, "stored", self.dtype, (rows, math.prod(self.shape)))


def loop_rule(max_iterations: int | None) -> ControlRule:
    """The rule for loops, and the bound of those that have none of their own."""

    def rule(tape: Tape, node: FlowNode, copy: FlowNode, gradients: Sequence[int | None]) -> Gradients:
        return _loop_gradients(tape, node, copy, gradients, max_iterations)

    return rule


def _loop_gradients(
    tape: Tape, node: FlowNode, copy: FlowNode, gradients: Sequence[int | None], max_iterations: int | None
) -> Gradients:
    bound = trip_bound(tape.source, node)
    rows = max_iterations if bound is None else bound.greatest
    if rows is None:
        where = location_of(tape.derivation.model, tape.source, node)
        rule = "training through a loop requires a bound of its iterations, and its condition gives none"
        raise ModelError([Problem(where, rule, "Give one: --max-iterations N")])
    passes = _passes(tape, node, gradients)
    if passes is None or rows == 0:
        return gradients
    stored, outside = _kept(passes.branch, node.graphs[1])
    last = _extend_forward(tape, node, copy, passes.branch.forward, stored, rows)
    if bound is None:
        _limit(copy.graphs[0], copy.graphs[0].inputs[len(node.inputs)], rows)
    arrays = [tape.keep_forward(tensor) for tensor in last]
    operands = [tape.keep_forward(copy.inputs[place]) for place, _ in outside]
    condition, body = _backward_loop(passes, stored, [kept for _, kept in outside], rows)
    variables = [arrays[0], *_starts(tape, passes, gradients), *arrays[1:], *operands]
    results = [_after(tape.backward.tensors[tensor]) for tensor in variables]
    run = tape.backward.run("WHILE", variables, results, cond_subgraph_index=condition, body_subgraph_index=body)
    by_input = dict(zip(passes.carried, run.outputs[1:], strict=False))
    flags = dict(zip(passes.lacking, run.outputs[1 + len(passes.carried) :], strict=False))
    for place, flag in flags.items():
        if bound is None or not bound.exact or passes.branch.may_lack(place):
            tape.present[by_input[place]] = flag
    return [by_input.get(place) for place in range(len(node.inputs))]


def _after(tensor: FileTensor) -> FileTensor:
    assert tensor.dtype is not None
    return FileTensor.added(0, f"{tensor.name}_after", tensor.dtype, tensor.shape)


@dataclass(frozen=True, slots=True)
class Passes:
    """The two passes of a body. carried: variables with gradients; lacking: those whose gradient a step may lack."""

    branch: BranchGradient
    carried: list[int]
    lacking: list[int]


def _passes(tape: Tape, node: FlowNode, gradients: Sequence[int | None]) -> Passes | None:
    """The body's passes with gradients of the variables asked for, and of all that these are computed from."""
    active = loop_activity(node.graphs[1], [tensor in tape.active for tensor in node.inputs])
    carried = [place for place, gradient in enumerate(gradients) if gradient is not None and active[place]]
    lacking: list[int] = []
    while carried:
        if tape.derivation.presence:
            starts = {place: gradients[place] for place in carried}
            lacking = sorted({*lacking, *(k for k, g in starts.items() if g is None or g in tape.present)})
        branch = derive(tape, node.graphs[1], active, carried, lacking)
        more = [k for k, gradient in enumerate(branch.by_input) if gradient is not None and k not in carried]
        flagged = [k for k in carried if branch.may_lack(k)] if tape.derivation.presence else []
        if not more and set(flagged) <= set(lacking):
            return Passes(branch, carried, lacking)
        carried, lacking = sorted({*carried, *more}), sorted({*lacking, *flagged})
    return None


def _starts(tape: Tape, passes: Passes, gradients: Sequence[int | None]) -> list[int]:
    """Gradients of the variables behind the loop, and whether a step has those that it may lack."""
    graph = tape.backward
    starts = [(place, gradients[place]) for place in passes.carried]
    shape = passes.branch.forward.shape
    inputs = passes.branch.forward.inputs
    values = [tape.arithmetic.zeros(shape(inputs[k])) if gradient is None else gradient for k, gradient in starts]
    flags = {
        place: tape.present[gradient] if gradient in tape.present else graph.constant(gradient is not None, DType.BOOL)
        for place, gradient in starts
    }
    return [*values, *(flags[place] for place in passes.lacking)]


def _kept(branch: BranchGradient, body: FlowGraph) -> tuple[list[Stored], list[tuple[int, int]]]:
    """Values that the backward body reads: of each iteration, and (variable, input) of what stays as it is."""
    stored, outside = [], []
    for own, kept in branch.tape.inputs_to_keep():
        place = branch.forward.inputs.index(own) if own in branch.forward.inputs else None
        if place is not None and body.outputs[place] == body.inputs[place]:
            outside.append((place, kept))
        else:
            graph = branch.forward
            stored.append(Stored(own, kept, graph.shape(own), graph.dtype(own)))
    return stored, outside


def _extend_forward(
    tape: Tape, node: FlowNode, copy: FlowNode, body: FlowGraph, stored: Sequence[Stored], rows: int
) -> list[int]:
    """Has the forward loop count and store; its count and arrays behind the last iteration."""
    outer, inner = Arithmetic(tape.forward), Arithmetic(body)
    arrays = [value.array(rows) for value in stored]
    condition = _with_inputs(node.graphs[0], [_COUNT, *arrays])
    count, *rows_of = [body.copy_tensor(tensor) for tensor in (_COUNT, *arrays)]
    body.inputs += [count, *rows_of]
    begin = inner.concatenate([inner.reshape(count, (1,)), inner.integers([0])], 0)
    written = [
        body.compute(
            "DYNAMIC_UPDATE_SLICE",
            [array, inner.reshape(value.own, (1, math.prod(value.shape))), begin],
            (rows, math.prod(value.shape)),
            value.dtype,
        )
        for array, value in zip(rows_of, stored, strict=True)
    ]
    following = body.compute("ADD", [count, inner.integers(1)], (), DType.INT32)
    body.outputs += [following, *written]
    starts = [_empty(outer, array) for array in arrays]
    copy.inputs += [outer.integers(0), *starts]
    added = [tape.forward.copy_tensor(tensor) for tensor in (_COUNT, *arrays)]
    copy.outputs += added
    copy.graphs = [condition, body]
    _move_behind(tape.forward, copy)
    return added


def _empty(a: Arithmetic, array: FileTensor) -> int:
    """An array before the first iteration; its elements are not read."""
    assert array.dtype is not None
    zero = a.graph.constant(0, array.dtype)
    return a.graph.compute("FILL", [a.integers(list(array.shape)), zero], array.shape, array.dtype)


def _move_behind(graph: FlowGraph, node: FlowNode) -> None:
    """Moves operators that were added last, the node's new operands, before it."""
    place = graph.nodes.index(node)
    producers = {t: n for n in graph.nodes for t in n.outputs}
    late = [n for n in graph.nodes[place + 1 :] if any(producers.get(t) is n for t in node.inputs)]
    graph.nodes = [n for n in graph.nodes if n not in late]
    place = graph.nodes.index(node)
    graph.nodes[place:place] = late


def _limit(condition: FlowGraph, count: int, rows: int) -> None:
    """Ends a loop after as many iterations as its arrays have rows."""
    a = Arithmetic(condition)
    goes_on = condition.compute("LESS", [count, a.integers(rows)], (), DType.BOOL)
    both = condition.compute("LOGICAL_AND", [condition.outputs[0], goes_on], (), DType.BOOL)
    condition.outputs = [both]


def _with_inputs(graph: FlowGraph, more: Sequence[FileTensor]) -> FlowGraph:
    """A copy of a graph with further inputs."""
    copy = FlowGraph(graph.name, list(graph.tensors), list(graph.nodes), list(graph.inputs), list(graph.outputs))
    copy.inputs += [copy.copy_tensor(tensor) for tensor in more]
    return copy


def _backward_loop(
    passes: Passes, stored: Sequence[Stored], outside: Sequence[int], rows: int
) -> tuple[FlowGraph, FlowGraph]:
    """Condition and body of the loop that goes back; its variables: count, gradients, arrays, what stays as it is."""
    branch = passes.branch
    graph, a = branch.backward, branch.tape.arithmetic
    count = graph.copy_tensor(_COUNT)
    arrays = [graph.copy_tensor(value.array(rows)) for value in stored]
    steps, graph.nodes = graph.nodes, []
    place = graph.compute("SUB", [count, a.integers(1)], (), DType.INT32)
    for array, value in zip(arrays, stored, strict=True):
        row = graph.compute("GATHER", [array, place], (math.prod(value.shape),), value.dtype, {"axis": 0})
        shape = list(value.shape)
        graph.add_node("RESHAPE", [row, a.integers(shape)], [value.kept], {"new_shape": shape})
    graph.nodes += steps
    gradients = [branch.gradient(k) for k in passes.carried] + [branch.presence(k) for k in passes.lacking]
    graph.inputs = [count, *branch.seeds, *arrays, *outside]
    graph.outputs = [place, *gradients, *arrays, *outside]
    condition = FlowGraph(f"{graph.name}_condition")
    condition.inputs = [condition.copy_tensor(graph.tensors[tensor]) for tensor in graph.inputs]
    zero = Arithmetic(condition).integers(0)
    condition.outputs = [condition.compute("GREATER", [condition.inputs[0], zero], (), DType.BOOL)]
    return condition, graph
