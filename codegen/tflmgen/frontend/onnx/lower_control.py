"""Lowerings of ONNX's If, Loop and Scan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from tflmgen.frontend.onnx.element_graph import BOOL, I32, I64
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, constant
from tflmgen.frontend.onnx.loop_builder import Iteration, LoopBuilder, branch
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.move_graph import transpose
from tflmgen.frontend.onnx.node import OnnxNode, normal_axis
from tflmgen.frontend.onnx.node_error import NodeError, ShapeInputError

NO_LIMIT = 2**31 - 1
"""Iterations from which a trip count is none: the counter is int32."""

LARGEST_UNROLLED = 64
"""Iterations up to which a loop whose variables change their shape is written out."""


def inner(
    node: OnnxNode, graph: Graph, proto: onnx.GraphProto, arguments: Sequence[OnnxValue | None]
) -> list[OnnxValue]:
    """The results of a graph that is an attribute, for these arguments."""
    scope = dict(node.scope)
    names = {entry.name for entry in (*proto.initializer, *proto.input)}
    for name in names:
        scope.pop(name, None)
    scope.update((entry.name, value) for entry, value in zip(proto.input, arguments, strict=False))
    return node.walker.lower(proto, graph, scope)


@lowers("If")
def conditional(node: OnnxNode) -> list[OnnxValue]:
    """Lowers If to TFLite's IF; of a constant condition, to the nodes of the branch that runs."""
    g, condition = node.graph, node[0]
    graphs = [node.attribute("then_branch"), node.attribute("else_branch")]
    if condition.constant is not None:
        return inner(node, g, graphs[0 if condition.constant.all() else 1], ())
    branches = [lambda own, proto=proto: inner(node, own, proto, ()) for proto in graphs]
    return branch(node.walker, g, condition, branches)


@lowers("Loop")
def loop(node: OnnxNode) -> list[OnnxValue]:
    """Loop, as TFLite's WHILE. Raises NodeError where a number of iterations decides a shape and is not known."""
    proto: onnx.GraphProto = node.attribute("body")
    trips, condition, inits = node.optional(0), node.optional(1), [node[k] for k in range(2, len(node.inputs))]
    has_rows = len(proto.output) - 1 > len(inits)
    if has_rows and trips is not None:
        trips = constant(node.known(0, "the number of iterations, whose results it stacks"))
    if has_rows and condition is not None and condition.constant is None and _passes_through(proto):
        node.known(1, "whether it runs, since it stacks the results of iterations")
    trips = _counted(node.graph, trips)

    def body(g: Graph, number: OnnxValue, follows: OnnxValue | None, variables: Sequence[OnnxValue]) -> Iteration:
        count = g.cast(number, I64)
        results = inner(node, g, proto, [g.reshape(count, _counter_shape(proto)), follows, *variables])
        condition = results[0]
        if condition is follows and follows is not None and follows.constant is not None:
            condition = constant(True, BOOL)
        return Iteration(condition, results[1 : 1 + len(inits)], results[1 + len(inits) :])

    builder = LoopBuilder(node.walker, node.graph, node.graph.node or "loop", trips, condition, inits, body)
    try:
        finals, stacks = builder.build()
    except NodeError as error:
        if isinstance(error, ShapeInputError) or "loop variable" not in error.text:
            raise
        return _unrolled(node, trips, condition, inits, body, error)
    return [*finals, *stacks]


def _counted(graph: Graph, trips: OnnxValue | None) -> OnnxValue | None:
    """The trip count within int32, of which the counter is; None where a constant one limits nothing.

    Exporters write the greatest int64 for a loop that its condition alone ends.
    """
    if trips is None:
        return None
    if trips.constant is None:
        return graph.minimum(trips, NO_LIMIT)
    count = int(trips.constant.reshape(-1)[0])
    return None if count >= NO_LIMIT else constant(np.int32(max(count, 0)))


def _counter_shape(proto: onnx.GraphProto) -> tuple[int, ...]:
    dims = proto.input[0].type.tensor_type.shape.dim if proto.input else ()
    return (1,) * len(dims)


def _passes_through(proto: onnx.GraphProto) -> bool:
    """Whether the body returns the condition that it gets."""
    name, producers = proto.output[0].name, {o: n for n in proto.node for o in n.output}
    while name in producers and producers[name].op_type == "Identity":
        name = producers[name].input[0]
    return len(proto.input) > 1 and name == proto.input[1].name


def _unrolled(
    node: OnnxNode,
    trips: OnnxValue | None,
    condition: OnnxValue | None,
    inits: Sequence[OnnxValue],
    body: object,
    error: NodeError,
) -> list[OnnxValue]:
    """Iteration after iteration, with shapes of their own."""
    known = trips is not None and trips.constant is not None
    if not known or (condition is not None and condition.constant is None) or not callable(body):
        raise error
    assert trips is not None
    assert trips.constant is not None
    count = int(trips.constant.reshape(-1)[0])
    if count > LARGEST_UNROLLED:
        raise error
    variables, stacks = list(inits), None
    follows: OnnxValue | None = constant(True, BOOL)
    for number in range(count):
        iteration: Iteration = body(node.graph, constant(number, I32), follows, variables)
        if iteration.follows is not None and iteration.follows.constant is None:
            raise error
        variables = list(iteration.variables)
        rows = [node.graph.unsqueeze(row, 0) for row in iteration.rows]
        stacks = [[row] for row in rows] if stacks is None else [[*s, r] for s, r in zip(stacks, rows, strict=True)]
        if (
            iteration.follows is not None
            and iteration.follows.constant is not None
            and not iteration.follows.constant.all()
        ):
            break
    return [*variables, *(node.graph.concat(stack, 0) for stack in stacks or [])]


@lowers("Scan")
def scan(node: OnnxNode) -> list[OnnxValue]:
    """Scan, as a loop over the scanned axes; of version 8, one such loop for each sequence of the batch."""
    values = [node[k] for k in range(len(node.inputs)) if node.version >= 9 or k]
    if node.version >= 9:
        return _scan(node, values, False)
    if node.has(0):
        raise NodeError("gives the lengths of sequences, which version 8 of Scan alone has")
    parts = []
    for place in range(values[0].shape[0]):
        own = [node.graph.squeeze(node.graph.part(v, 0, place, 1), [0]) for v in values]
        parts.append([node.graph.unsqueeze(v, 0) for v in _scan(node, own, True)])
    return [node.graph.concat(list(rows), 0) for rows in zip(*parts, strict=True)]


def _scan(node: OnnxNode, values: Sequence[OnnxValue], is_old: bool) -> list[OnnxValue]:
    g, proto = node.graph, node.attribute("body")
    scanned = int(node.attribute("num_scan_inputs"))
    inits, sequences = values[: len(values) - scanned], values[len(values) - scanned :]
    stacked = len(proto.output) - len(inits)
    axes = [
        normal_axis(axis, v.rank)
        for axis, v in zip(node.attribute("scan_input_axes") or [0] * scanned, sequences, strict=True)
    ]
    backward = node.attribute("directions" if is_old else "scan_input_directions") or [0] * scanned
    stored_back = node.attribute("scan_output_directions") or [0] * stacked
    counts = {v.shape[axis] for v, axis in zip(sequences, axes, strict=True)}
    if len(counts) != 1:
        raise NodeError(f"scans sequences of different lengths: {sorted(counts)}")
    count = counts.pop()

    def body(own: Graph, number: OnnxValue, _: OnnxValue | None, variables: Sequence[OnnxValue]) -> Iteration:
        rows = []
        for value, axis, back in zip(sequences, axes, backward, strict=True):
            at = own.sub(constant(count - 1, I32), number) if back else number
            rows.append(own.gather(value, at, axis))
        results = inner(node, own, proto, [*variables, *rows])
        return Iteration(None, results[: len(inits)], results[len(inits) :])

    builder = LoopBuilder(
        node.walker, g, g.node or "scan", constant(np.int32(count)), None, inits, body, [bool(b) for b in stored_back]
    )
    finals, stacks = builder.build()
    moved = []
    for value, axis in zip(stacks, node.attribute("scan_output_axes") or [0] * stacked, strict=True):
        order = list(range(1, value.rank))
        order.insert(normal_axis(axis, value.rank), 0)
        moved.append(transpose(value, order))
    return [*finals, *moved]
