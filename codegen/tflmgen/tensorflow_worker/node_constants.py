"""Shapes of a graph's tensors, and values of those that depend on constants alone."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tflmgen.tensorflow_worker.written_shapes import MOST_ELEMENTS

SHAPES = "_output_shapes"
"""Attribute of a node that TensorFlow gives its shapes by."""
_EXTREMES = frozenset({"Maximum", "Minimum"})
DEEPEST = 16
"""Nodes between an operand and constants that it is computed of."""


class GraphBody:
    """Nodes of the graph or a function, and what is known of their tensors.

    constants  (node, output's number) -> results of written operations that depend on constants alone
    """

    def __init__(self, graph: Any, is_function: bool) -> None:
        self.nodes = graph.node_def if is_function else graph.node
        self._by_name = {node.name: node for node in self.nodes}
        self._shapes: dict[str, Any] = {}
        if is_function:
            shapes = {number: _first_shape(attributes.attr) for number, attributes in graph.arg_attr.items()}
            self._shapes = {arg.name: shapes.get(i) for i, arg in enumerate(graph.signature.input_arg)}
        self.constants: dict[tuple[str, int], Any] = {}

    def operand(self, name: str) -> tuple[Any, Any]:
        """Shape of a tensor, and its value where it is a constant; None for what is not known."""
        base, _, rest = name.partition(":")
        source = self._by_name.get(base)
        if source is None:
            return self._shapes.get(base), None
        port = _output_number(source, rest)
        return _first_shape(source.attr, port), self._constant(source, port, DEEPEST)

    def _constant(self, node: Any, port: int, depth: int) -> Any:
        """Value of a node's output that depends on constants alone, over at most `depth` nodes; None of any other."""
        if (node.name, port) not in self.constants:
            for i, value in enumerate(self._values(node, depth)):
                self.constants[node.name, i] = value
        return self.constants.get((node.name, port))

    def _values(self, node: Any, depth: int) -> Sequence[Any]:
        if node.op == "Const":
            return [tf.make_ndarray(node.attr["value"].tensor)]
        shapes = node.attr[SHAPES].list.shape if SHAPES in node.attr else ()
        sizes = [tf.TensorShape(shape).num_elements() for shape in shapes]
        if depth == 0 or not is_pure(node) or any(size is None or size > MOST_ELEMENTS for size in sizes):
            return []
        values = []
        for name in node.input:
            base, _, rest = name.partition(":")
            source = self._by_name.get(base)
            value = None if source is None else self._constant(source, _output_number(source, rest), depth - 1)
            if value is None:
                return self._clamped(node, depth)
            values.append(value)
        return evaluated(node.op, attributes_of(node), grouped_operands(node, values))

    def _clamped(self, node: Any, depth: int) -> Sequence[Any]:
        """The constant c that Minimum(c, Maximum(d, x)) is where d is no less, whatever x is; and the other way round.

        So are a bincount's numbers of bins whose least and greatest are one.
        """
        if node.op not in _EXTREMES:
            return []
        for own, other in (node.input, reversed(node.input)):
            limit = self._scalar(own, depth)
            inner = self._by_name.get(other.partition(":")[0])
            if limit is None or inner is None or inner.op not in _EXTREMES or inner.op == node.op:
                continue
            for name in inner.input:
                clamp = self._scalar(name, depth)
                if clamp is not None and (clamp >= limit if node.op == "Minimum" else clamp <= limit):
                    return [limit]
        return []

    def _scalar(self, name: str, depth: int) -> Any:
        """Value of a tensor that is a constant integer, or None."""
        base, _, rest = name.partition(":")
        source = self._by_name.get(base)
        if source is None or depth == 0:
            return None
        value = self._constant(source, _output_number(source, rest), depth - 1)
        return value if value is not None and value.ndim == 0 and value.dtype.kind in "iu" else None


def _first_shape(attr: Any, port: int = 0) -> Any:
    shapes = attr[SHAPES].list.shape if SHAPES in attr else ()
    return tf.TensorShape(shapes[port]) if port < len(shapes) else None


def _output_number(source: Any, output: str) -> int:
    """Number of an output: "2" in a graph; in a function also "values:0", by the output's name."""
    name, _, number = output.rpartition(":")
    known = op_def_registry.get(source.op) if source is not None and name else None
    names = [] if known is None else [arg.name for arg in known.output_arg]
    return int(number or 0) + (names.index(name) if name in names else 0)


def count_of(arg: Any, node: Any) -> int:
    """Number of tensors that an operand or result is."""
    return int(node.attr[arg.number_attr].i) if arg.number_attr else 1


def types_of(args: Any, node: Any) -> list[Any]:
    """Element types of an operation's operands or results."""
    types = [(node.attr[arg.type_attr].type if arg.type_attr else arg.type, count_of(arg, node)) for arg in args]
    return [tf.as_dtype(dtype) for dtype, count in types for _ in range(count)]


def _attribute_value(attribute: Any) -> Any:
    kind = attribute.WhichOneof("value")
    value = getattr(attribute, kind) if kind else None
    return value.decode() if isinstance(value, bytes) else tf.as_dtype(value) if kind == "type" else value


def is_pure(node: Any) -> bool:
    """Whether a node's results depend on its operands alone, of which it has some."""
    op_def = op_def_registry.get(node.op)
    if op_def is None or op_def.is_stateful or not node.input or any(name.startswith("^") for name in node.input):
        return False
    args = (*op_def.input_arg, *op_def.output_arg)
    foreign = (tf.resource.as_datatype_enum, tf.variant.as_datatype_enum)
    return not any(arg.type_list_attr or arg.is_ref or arg.type in foreign for arg in args) and not any(
        attr.type in ("func", "list(func)") for attr in op_def.attr
    )


def attributes_of(node: Any) -> dict[str, Any]:
    """Attributes of a node, or what they are by default."""
    attributes = {attr.name: _attribute_value(attr.default_value) for attr in op_def_registry.get(node.op).attr}
    return attributes | {key: _attribute_value(node.attr[key]) for key in node.attr if not key.startswith("_")}


def grouped_operands(node: Any, operands: Sequence[Any]) -> list[Any]:
    """Operands by their arguments: a list for one that is several tensors."""
    rest = iter(operands)
    return [
        [next(rest) for _ in range(count_of(arg, node))] if arg.number_attr else next(rest)
        for arg in op_def_registry.get(node.op).input_arg
    ]


def evaluated(name: str, attributes: Mapping[str, Any], operands: Sequence[Any]) -> tuple[np.ndarray[Any, Any], ...]:
    """Arrays that TensorFlow computes of constants by an operation. `operands`: as grouped_operands() has them."""
    with tf.init_scope():
        constants = [[tf.constant(v) for v in o] if isinstance(o, list) else tf.constant(o) for o in operands]
        return tuple(tensor.numpy() for tensor in tf.nest.flatten(applied(name, attributes, constants)))


def applied(name: str, attributes: Mapping[str, Any], operands: Sequence[Any]) -> Any:
    """Result of an operation of these attributes for operands whose types they need not say."""
    op_def = op_def_registry.get(name)
    inferred = {attribute for arg in op_def.input_arg for attribute in (arg.type_attr, arg.number_attr)}
    own = {attr.name: _plain(attributes[attr.name]) for attr in op_def.attr if attr.name not in inferred}
    operation = getattr(tf.raw_ops, name)
    # Python has other names for some operands, in the same places.
    names = list(inspect.signature(operation).parameters)
    known = [arg.name if arg.name in names else names[i] for i, arg in enumerate(op_def.input_arg)]
    return operation(**dict(zip(known, operands, strict=True)), **own)


def _plain(attribute: Any) -> Any:
    """An attribute as tf.raw_ops takes it: lists of a message as those of Python."""
    fields = attribute.ListFields() if hasattr(attribute, "ListFields") else None
    return attribute if fields is None else [value for _, values in fields for value in values]
