"""Parts of the gradients of loops: what each iteration stores, in the forward loop, and the loop that counts down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tflmgen.frontend.tflite import FileTensor
from tflmgen.gradients.branch_gradients import BranchGradient
from tflmgen.gradients.flow_graph import FlowGraph, FlowNode, Shape
from tflmgen.gradients.graph_arithmetic import Arithmetic
from tflmgen.ir import DType

COUNT = FileTensor.added(0, "iteration", DType.INT32, ())
"""Type of a count of iterations."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A value of each iteration: a tensor of the forward body, an input of the backward body, and its array."""

    own: int
    kept: int
    shape: Shape
    dtype: DType

    @property
    def bytes(self) -> int:
        """Bytes of one row."""
        return math.prod(self.shape) * self.dtype.numpy.itemsize

    def array(self, rows: int) -> FileTensor:
        """The array's type: one row for each iteration."""
        return FileTensor.added(0, "stored", self.dtype, (rows, math.prod(self.shape)))


@dataclass(frozen=True, slots=True)
class Passes:
    """The two passes of a body. carried: variables with gradients; lacking: those whose gradient a step may lack."""

    branch: BranchGradient
    carried: list[int]
    lacking: list[int]


def extend_forward(
    graph: FlowGraph, loop: FlowNode, body: FlowGraph, stored: Sequence[Stored], rows: int, spacing: int = 1
) -> list[int]:
    """Has a loop of a graph count and store; its count and arrays behind the last iteration.

    body     the loop's body from now on
    spacing  iterations that share a row: they write it one after the other, the first of the next ones last
    """
    outer, inner = Arithmetic(graph), Arithmetic(body)
    arrays = [value.array(rows) for value in stored]
    condition = with_inputs(loop.graphs[0], [COUNT, *arrays])
    count, *rows_of = [body.copy_tensor(tensor) for tensor in (COUNT, *arrays)]
    body.inputs += [count, *rows_of]
    place = count
    if spacing > 1:
        raised = body.compute("ADD", [count, inner.integers(spacing - 1)], (), DType.INT32)
        place = body.compute("FLOOR_DIV", [raised, inner.integers(spacing)], (), DType.INT32)
    begin = inner.concatenate([inner.reshape(place, (1,)), inner.integers([0])], 0)
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
    loop.inputs += [outer.integers(0), *starts]
    added = [graph.copy_tensor(tensor) for tensor in (COUNT, *arrays)]
    loop.outputs += added
    loop.graphs = [condition, body]
    _move_behind(graph, loop)
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


def with_inputs(graph: FlowGraph, more: Sequence[FileTensor]) -> FlowGraph:
    """A copy of a graph with further inputs."""
    copy = graph.copy()
    copy.inputs += [copy.copy_tensor(tensor) for tensor in more]
    return copy


def backward_loop(
    passes: Passes, stored: Sequence[Stored], outside: Sequence[int], rows: int
) -> tuple[FlowGraph, FlowGraph]:
    """Condition and body of the loop that goes back; its variables: count, gradients, arrays, what stays as it is."""
    branch = passes.branch
    graph, a = branch.backward, branch.tape.arithmetic
    count = graph.copy_tensor(COUNT)
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
