"""Lists that grow where they are written: TensorArrays of a dynamic size, as arrays of static size with a count.

    list' = TensorListSetItem(list, i, x), resizing   ->   rows' = rows with x in place i; length' = max(length, i + 1)

The array has place for the highest index that can be written: a place is a constant, is computed of counters of loops,
whose bounds are known, or is the list's own length. Intervals are those of integers without overflow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.flow_forms import allocated, extended
from tflmgen.tensorflow_worker.flow_values import ListValue, Value, constant_of, known_integers
from tflmgen.tensorflow_worker.graph_functions import bodies_of
from tflmgen.tensorflow_worker.written_shapes import UnwritableError

Interval = tuple[float, float]
"""Least and greatest value; infinite where it is not known."""
_UNKNOWN: Interval = (-math.inf, math.inf)
_SAME = frozenset({"Cast", "Identity", "Reshape", "StopGradient"})
_DEEPEST = 16
"""Operations that a place is followed through."""


_RESIZES = "resize_if_index_out_of_bounds"
"""Attribute of TensorListSetItem."""


def is_resized(node: Any) -> bool:
    """Whether a node writes to a list that grows, which TensorFlow's converter does not know in a loop."""
    return _RESIZES in node.attr and bool(node.attr[_RESIZES].b)


def has_growing_lists(graph_def: Any) -> bool:
    """Whether a graph or a function of it writes to lists that grow."""
    return any(is_resized(node) for nodes in bodies_of(graph_def) for node in nodes)


def is_native(op: str, operands: Sequence[Any]) -> bool:
    """Whether an operation makes or takes a list of a number of rows that is computed: it stays the converter's."""
    if any(isinstance(operand, tf.Tensor) and operand.dtype == tf.variant for operand in operands):
        return True
    if op == "TensorListReserve":
        return constant_of(operands[1]) is None
    return op == "TensorListFromTensor" and operands[0].shape[:1].rank == 1 and operands[0].shape[0] is None


def _product(a: Interval, b: Interval) -> Interval:
    if not all(map(math.isfinite, (*a, *b))):
        return _UNKNOWN
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


_OPERATIONS: Mapping[str, Callable[[Interval, Interval], Interval]] = {
    "Add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "AddV2": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "Sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "Mul": _product,
    "Minimum": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "Maximum": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}


class IndexIntervals:
    """Intervals of integer tensors: of the counters that are noted, and of what is computed of these and constants."""

    def __init__(self) -> None:
        self._noted: dict[int, tuple[Any, Interval]] = {}

    def note(self, tensor: Any, interval: Interval) -> None:
        """Keeps the interval of a counter."""
        self._noted[id(tensor)] = tensor, interval

    def constant(self, tensor: Any) -> Any:
        """The scalar that an integer tensor is by its interval, or None."""
        least, greatest = self.interval(tensor) if tensor.shape.rank == 0 else _UNKNOWN
        return np.array(least, tensor.dtype.as_numpy_dtype) if least == greatest else None

    def interval(self, tensor: Any, depth: int = _DEEPEST) -> Interval:
        """The interval of an integer tensor; that of any other is not known."""
        if id(tensor) in self._noted:
            return self._noted[id(tensor)][1]
        known = known_integers(tensor)
        if known is not None and known.size:
            return int(known.min()), int(known.max())
        outer = _outside(tensor)
        if outer is not tensor:
            return self.interval(outer, depth)
        operation = tensor.op
        if depth == 0 or not tensor.dtype.is_integer:
            return _UNKNOWN
        if operation.type in _SAME and operation.inputs[0].dtype.is_integer:
            return self.interval(operation.inputs[0], depth - 1)
        if operation.type not in _OPERATIONS:
            return _UNKNOWN
        return _OPERATIONS[operation.type](*(self.interval(operand, depth - 1) for operand in operation.inputs))


def _outside(tensor: Any) -> Any:
    """The tensor around a loop's body or a branch that a placeholder stands for; any other as it is."""
    if tensor.op.type != "Placeholder":
        return tensor
    return next((outer for outer, inner in getattr(tensor.graph, "captures", ()) if inner is tensor), tensor)


def _is_length(place: Any, list_: ListValue) -> bool:
    while isinstance(place, tf.Tensor) and place is not list_.length and place.op.type in _SAME:
        place = place.op.inputs[0]
    return place is list_.length


def grown(list_: Value, place: Any, intervals: IndexIntervals) -> ListValue:
    """The list with an element in this place, if it had none. Raises UnwritableError for a place without a bound."""
    if not isinstance(list_, ListValue):
        rule = "a TensorArray of a dynamic size starts with a computed one"
        raise UnwritableError(rule, "Start with a constant size, or give it its size and no dynamic_size")
    count = list_.capacity or 0
    base, growth = count if list_.base is None else list_.base, list_.growth
    if list_.length is not None and _is_length(place, list_):
        growth += 1
    else:
        greatest = intervals.interval(place)[1]
        if not math.isfinite(greatest):
            rule = "a TensorArray of a dynamic size is written at a place that no loop's counter bounds"
            raise UnwritableError(rule, "Give it a size: tf.TensorArray(dtype, size=N)")
        base = max(base, int(greatest) + 1)
    length = tf.constant(count) if list_.length is None else list_.length
    length = tf.maximum(length, tf.cast(place, tf.int32) + 1)
    capacity = max(count, base + growth)
    rows = extended(list_.rows, capacity)
    return replace(list_, rows=rows, length=length, capacity=capacity, growth=growth, base=base)


def place_for(form: ListValue, rows: int, bound: int | None) -> tuple[int, ListValue]:
    """Rows that a loop pushes, and the list with place for them. Raises UnwritableError for a loop without a bound."""
    if rows > 0 and (form.capacity is None or form.base is not None):
        if bound is None:
            rule = "a gradient keeps values of each iteration, and the loop's condition gives no bound of their number"
            raise UnwritableError(rule, "Give one: maximum_iterations of tf.while_loop, or --max-iterations N")
        needed = (form.base or 0) + form.growth + rows * bound
        form = replace(form, capacity=rows * bound if form.base is None else max(form.capacity or 0, needed))
    elif form.base is not None:
        form = replace(form, capacity=max(form.capacity or 0, form.base + form.growth))
    return rows * (bound or 0), form if form.capacity is None else allocated(form, form.capacity)
