"""TensorArrays of TensorFlow 1 become tensor lists, which its converter knows, in a graph of one body.

    handle, flow = TensorArrayV3(size)            ->  list = TensorListReserve(shape, size)
    flow' = TensorArrayWriteV3(handle, i, x, flow) -> list' = TensorListSetItem(list, i, x)

A TensorArray's flow, a scalar that only orders its accesses, becomes the list itself; types follow it through the
operations of control flow. Its handle goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.graph_functions import node_name
from tflmgen.tensorflow_worker.loaded_source import SourceError
from tflmgen.tensorflow_worker.symbolic_shapes import SymbolicShapes

PASSING = frozenset({"Enter", "Merge", "Switch", "Exit", "NextIteration", "Identity"})
_PREFIX = "TensorArray"
_GRADIENT = "TensorArrayGrad"
_FLOW_INPUT = {"WriteV3": 3, "ReadV3": 2, "ScatterV3": 3, "GatherV3": 2, "SizeV3": 1}
_MAKES_FLOW = frozenset({"TensorArrayWriteV3", "TensorArrayScatterV3"})


def lower_tensor_arrays(graph_def: Any, outputs: Sequence[str]) -> str:
    """Rewrites all TensorArrays whose every access is known; none if one is not.

    Raises SourceError for arrays of gradients.
    """
    derived = next((node for node in graph_def.node if node.op.startswith(_GRADIENT)), None)
    if derived is not None:
        rule = f"{derived.op} '{derived.name}': gradients of TensorArrays of TensorFlow 1 are not read"
        raise SourceError(rule, "Trace the model with tf.compat.v1.enable_control_flow_v2()")
    arrays = [node for node in graph_def.node if node.op == "TensorArrayV3"]
    known = {f"{_PREFIX}{name}" for name in (*_FLOW_INPUT, "V3", "CloseV3")}
    if not arrays or any(node.op.startswith(_PREFIX) and node.op not in known for node in graph_def.node):
        return ""
    rewrite = _Rewrite(graph_def)
    if not rewrite.is_possible:
        return ""
    rewrite.run()
    prune(graph_def, outputs)
    return f"{len(arrays)} TensorArrays written as tensor lists"


def prune(graph_def: Any, outputs: Sequence[str]) -> None:
    """Removes nodes on which no output depends; placeholders stay."""
    by_name = {node.name: node for node in graph_def.node}
    needed: set[str] = set()
    pending = [node_name(name) for name in outputs]
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            pending += [node_name(source) for source in by_name[name].input]
    kept = [node for node in graph_def.node if node.name in needed or node.op == "Placeholder"]
    copies = [type(node).FromString(node.SerializeToString()) for node in kept]
    del graph_def.node[:]
    graph_def.node.extend(copies)


def without_back_edges(graph_def: Any, shapes: Mapping[str, Sequence[int]]) -> Any:
    """A copy for the inference of shapes: loop variables have the shape that they enter with, as TensorFlow demands.

    shapes  of elements, by arrays that get them
    """
    copy = type(graph_def).FromString(graph_def.SerializeToString())
    for node in copy.node:
        if node.name in shapes:
            node.attr["element_shape"].shape.CopyFrom(tf.TensorShape(shapes[node.name]).as_proto())
    returns = {node.name for node in copy.node if node.op == "NextIteration"}
    for node in copy.node:
        if node.op in ("Enter", "Exit", "NextIteration"):
            node.op = "Identity"
            for name in [name for name in node.attr if name != "T"]:
                del node.attr[name]
        elif node.op == "Merge" and returns.intersection(map(node_name, node.input)):
            node.op = "Identity"
            entering = [name for name in node.input if node_name(name) not in returns]
            del node.input[:]
            node.input.extend(entering[:1])
            del node.attr["N"]
    return copy


class _Rewrite:
    def __init__(self, graph_def: Any) -> None:
        self._graph_def = graph_def
        self._nodes: Mapping[str, Any] = {node.name: node for node in graph_def.node}
        self._accesses = [
            node
            for node in graph_def.node
            if node.op.removeprefix(_PREFIX) in _FLOW_INPUT and node.op.startswith(_PREFIX)
        ]
        self._array_of = {node.name: self._array(node.input[0]) for node in self._accesses}
        self._shapes = self._element_shapes()

    @property
    def is_possible(self) -> bool:
        """Whether every array has elements of one shape, and is scattered and gathered as a whole."""
        whole = all(
            self._is_range(node.input[1]) for node in self._accesses if node.op.endswith(("ScatterV3", "GatherV3"))
        )
        return whole and all(array is not None and array in self._shapes for array in self._array_of.values())

    def run(self) -> None:
        """Rewrites the nodes in place."""
        self._follow_flows()
        for node in list(self._accesses):
            self._access(node)
        for node in [n for n in self._graph_def.node if n.op == "TensorArrayV3"]:
            shape = self._shapes.get(node.name, ())
            size, dtype = node.input[0], node.attr["dtype"].type
            self._set(node, "TensorListReserve", [self._constant(node.name, shape, size), size], dtype)
            node.attr["shape_type"].type = tf.int32.as_datatype_enum

    def _array(self, name: str) -> str | None:
        """The TensorArrayV3 behind a handle."""
        node = self._nodes[node_name(name)]
        while node.op in PASSING:
            node = self._nodes[node_name(node.input[0])]
        return str(node.name) if node.op == "TensorArrayV3" else None

    def _element_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of elements by array. What is read from an array tells what is written to the next."""
        names = sorted({name for name in self._array_of.values() if name is not None})
        shapes: dict[str, tuple[int, ...]] = {}
        while len(shapes) < len(names):
            graph = tf.Graph()
            with graph.as_default():
                tf.graph_util.import_graph_def(without_back_edges(self._graph_def, shapes), name="")
            known = {name: shape for name in names if (shape := self._element_shape(graph, name)) is not None}
            if len(known) == len(shapes):
                break
            shapes = known
        return shapes

    def _element_shape(self, graph: Any, name: str) -> tuple[int, ...] | None:
        """The shape of an array's elements as it declares them, or of what is written; None if both leave it open."""
        symbolic = SymbolicShapes(self._nodes, graph)
        candidates = [tf.TensorShape(self._nodes[name].attr["element_shape"].shape)]
        for node in self._accesses:
            if self._array_of[node.name] == name and node.op in _MAKES_FLOW:
                value = node.input[2] if ":" in node.input[2] else f"{node.input[2]}:0"
                shape = symbolic.shape(value)
                is_whole = node.op.endswith("ScatterV3") and shape.rank is not None
                candidates.append(shape[1:] if is_whole else shape)
        known_shape = next((shape for shape in candidates if shape.is_fully_defined()), None)
        return None if known_shape is None else tuple(int(dim) for dim in known_shape)

    def _is_range(self, name: str) -> bool:
        """Whether indices are 0, 1, 2 and so on."""
        node = self._nodes[node_name(name)]
        if node.op == "Const":
            values = tf.make_ndarray(node.attr["value"].tensor)
            return bool(np.array_equal(values, np.arange(values.size)))
        if node.op != "Range":
            return False
        start, step = (self._nodes[node_name(node.input[i])] for i in (0, 2))
        return all(
            source.op == "Const" and int(tf.make_ndarray(source.attr["value"].tensor)) == value
            for source, value in ((start, 0), (step, 1))
        )

    def _follow_flows(self) -> None:
        """Gives operations that pass a flow on the type of a list; an array's flow becomes its first output."""
        flows = {f"{n.name}:1" for n in self._graph_def.node if n.op == "TensorArrayV3"}
        flows |= {n.name for n in self._graph_def.node if n.op in _MAKES_FLOW}
        changed = True
        while changed:
            changed = False
            for node in self._graph_def.node:
                if node.op not in PASSING or node.name in flows or not any(i in flows for i in node.input):
                    continue
                flows |= {node.name, f"{node.name}:1"} if node.op == "Switch" else {node.name}
                node.attr["T"].type = tf.variant.as_datatype_enum
                node.attr.pop("_output_shapes", None)
                changed = True
        arrays = {f"{n.name}:1": n.name for n in self._graph_def.node if n.op == "TensorArrayV3"}
        for node in self._graph_def.node:
            for place, source in enumerate(node.input):
                node.input[place] = arrays.get(source, source)

    def _access(self, node: Any) -> None:
        kind, dtype = node.op.removeprefix(_PREFIX), node.attr["T"].type or node.attr["dtype"].type
        flow = node.input[_FLOW_INPUT[kind]]
        shape = self._shapes[self._array_of[node.name] or ""]
        near = node.input[1] if kind != "SizeV3" else ""
        if kind == "SizeV3":
            self._set(node, "TensorListLength", [flow], None)
        elif kind == "WriteV3":
            self._set(node, "TensorListSetItem", [flow, node.input[1], node.input[2]], dtype)
        elif kind == "ReadV3":
            self._set(node, "TensorListGetItem", [flow, node.input[1], self._constant(node.name, shape, near)], dtype)
        elif kind == "ScatterV3":
            value = node.input[2]
            self._set(node, "TensorListFromTensor", [value, self._constant(node.name, shape, near)], dtype)
            node.attr["shape_type"].type = tf.int32.as_datatype_enum
        else:
            self._set(node, "TensorListStack", [flow, self._constant(node.name, shape, near)], dtype)
            node.attr["num_elements"].i = -1

    def _set(self, node: Any, op: str, inputs: Sequence[str], dtype: int | None) -> None:
        controls = [name for name in node.input if name.startswith("^")]
        del node.input[:]
        node.input.extend([*inputs, *controls])
        node.op = op
        for name in list(node.attr):
            del node.attr[name]
        if dtype is not None:
            node.attr["element_dtype"].type = dtype

    def _constant(self, name: str, shape: Sequence[int], near: str) -> str:
        """A new vector of dimensions; with a control input from `near`, so that it is in that tensor's loop."""
        node = self._graph_def.node.add(name=f"{name}/element_shape", op="Const")
        node.attr["dtype"].type = tf.int32.as_datatype_enum
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(np.array(shape, np.int32), tf.int32, [len(shape)]))
        if near:
            node.input.append(f"^{node_name(near)}")
        return str(node.name)
