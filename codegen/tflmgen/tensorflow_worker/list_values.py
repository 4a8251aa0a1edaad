"""Operations on optionals and tensor lists, computed on their values.

Optionals carry what a branch keeps for its gradient, lists what the iterations of a loop keep. A list is an array that
is written and read in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.flow_forms import fitted, joined, spec_of
from tflmgen.tensorflow_worker.flow_values import (
    ListValue,
    OptionalChoice,
    OptionalValue,
    RepeatedRow,
    Value,
    as_tensor,
    constant_of,
    is_outside,
    known_integers,
    mapped,
    paired,
)
from tflmgen.tensorflow_worker.written_axis_gradients import placed
from tflmgen.tensorflow_worker.written_shapes import UnwritableError, check_size

Operate = Callable[[Mapping[str, Any], Sequence[Value]], Sequence[Value]]
"""(attributes, operands) -> results."""


def _stored(array: Any, row: Any, place: Any) -> Any:
    """The array with a row replaced, which the converter makes DYNAMIC_UPDATE_SLICE of."""
    start = tf.stack([place] + [0] * (len(array.shape) - 1))
    return placed(array, tf.reshape(row, [1, *array.shape[1:]]), start)


def _with_row(list_: ListValue, value: Value, place: Any) -> ListValue:
    """The list with a row replaced; rows that it did not know are zeros."""
    if isinstance(value, tf.Tensor) and value.dtype == tf.variant:
        raise UnwritableError("a tensor list keeps lists of a computed number of rows")
    value = _lasting(value, list_.home)

    def form_of_rows(leaf: Any) -> Any:
        known = known_integers(leaf)
        own = leaf if known is None else known
        if isinstance(own, np.ndarray) or _lasts(own, list_.home):
            return RepeatedRow(own)
        if isinstance(own, RepeatedRow):
            raise UnwritableError("a list of lists has rows that are known in one iteration only")
        return tf.TensorSpec([list_.capacity or 1, *own.shape], own.dtype)

    if list_.rows is None and (list_.length is None or list_.base is not None):
        # A reserved list may be written in any order, and what is not written is zero.
        form = mapped(lambda leaf: tf.TensorSpec([list_.capacity, *leaf.shape], leaf.dtype), value)
    else:
        form = joined(list_.rows, mapped(form_of_rows, value), list_.capacity or 1)
    form = mapped(lambda leaf: spec_of(leaf) if isinstance(leaf, tf.Tensor) else leaf, form)

    def row(own: Any, leaf: Any) -> Any:
        return own if isinstance(own, RepeatedRow) else _stored(own, leaf, place)

    element = mapped(lambda leaf: leaf.leaf if isinstance(leaf, RepeatedRow) else _row_of(leaf), form)
    return replace(list_, rows=paired(row, fitted(list_.rows, form, of_rows=True), fitted(value, element)))


def _lasting(value: Value, home: Any, sizes: tuple[int, ...] = ()) -> Value:
    """The value with arrays for rows of lists in it that are one value in this iteration only.

    sizes  rows of the lists around
    """
    if not isinstance(value, ListValue):
        return value
    sizes = (*sizes, value.capacity or 1)
    if isinstance(value.rows, ListValue):
        return replace(value, rows=_lasting(value.rows, home, sizes))

    def leaf(own: Any) -> Any:
        if not isinstance(own, RepeatedRow) or _lasts(own, home):
            return own
        depth = 0
        while isinstance(own, RepeatedRow):
            own, depth = own.leaf, depth + 1
        return tf.broadcast_to(as_tensor(own), [*sizes[:depth], *own.shape])

    return replace(value, rows=mapped(leaf, value.rows))


def _row_of(spec: Any) -> Any:
    return tf.TensorSpec(spec.shape[1:], spec.dtype)


def _lasts(leaf: Any, home: Any) -> bool:
    """Whether a leaf exists as long as a list of this graph."""
    while isinstance(leaf, RepeatedRow):
        leaf = leaf.leaf
    return is_outside(leaf, home) or getattr(leaf, "graph", None) is home


def _row(list_: ListValue, place: Any, shape: Any, dtype: Any) -> Value:
    if list_.rows is not None and list_.capacity is None:
        raise UnwritableError("a tensor list grows outside of a loop without a bound")
    if list_.rows is None:
        # Nothing was stored: such a read is never run, or reads what TensorFlow defines as zeros.
        sizes = constant_of(shape)
        if sizes is None or dtype == tf.variant:
            raise UnwritableError("a tensor list is read before its rows are known")
        return tf.zeros([max(int(size), 1) for size in sizes.reshape(-1)], dtype)
    return mapped(
        lambda leaf: as_tensor(leaf.leaf) if isinstance(leaf, RepeatedRow) else tf.gather(leaf, place), list_.rows
    )


def _empty(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    del attributes
    limit = constant_of(operands[1])
    capacity = int(limit) if limit is not None and int(limit) >= 0 else None
    return [ListValue(None, tf.constant(0), capacity, tf.compat.v1.get_default_graph())]


def _reserve(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    count, shape = (constant_of(operand) for operand in (operands[1], operands[0]))
    rows = None
    if shape is not None and shape.ndim == 1 and (shape >= 0).all() and attributes["element_dtype"] != tf.variant:
        check_size(int(count) * int(np.prod(shape)), "a tensor list")
        rows = tf.zeros([int(count), *map(int, shape)], attributes["element_dtype"])
    return [ListValue(rows, None, int(count), tf.compat.v1.get_default_graph())]


def _push(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    del attributes
    list_, value = operands
    pushed = _with_row(list_, value, as_tensor(list_.length))
    return [replace(pushed, length=as_tensor(list_.length) + 1, growth=list_.growth + 1)]


def _pop(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    list_, shape = operands
    length = as_tensor(list_.length) - 1
    return [replace(list_, length=length), _row(list_, length, shape, attributes["element_dtype"])]


def _get(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    list_, place, shape = operands
    return [_row(list_, place, shape, attributes["element_dtype"])]


def _set(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    del attributes
    list_, place, value = operands
    return [_with_row(list_, value, place)]


def _stack(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    list_, shape = operands
    if list_.rows is not None:
        return [list_.rows if list_.length is None else list_.rows[: list_.length]]
    sizes = constant_of(shape)
    if sizes is None or list_.capacity is None or (sizes < 0).any():
        raise UnwritableError("a tensor list is stacked whose rows are not known")
    return [tf.zeros([list_.capacity, *map(int, sizes.reshape(-1))], attributes["element_dtype"])]


def _from_tensor(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    del attributes
    rows = operands[0]
    return [ListValue(rows, None, int(rows.shape[0]), tf.compat.v1.get_default_graph())]


def _gather(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    list_, places, shape = operands
    return [tf.gather(_stack(attributes, [list_, shape])[0], places)]


def _length(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    del attributes
    return [tf.constant(operands[0].capacity) if operands[0].length is None else as_tensor(operands[0].length)]


def _element_shape(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    rows = operands[0].rows
    shape = None if rows is None else rows.leaf.shape if isinstance(rows, RepeatedRow) else rows.shape[1:]
    return [tf.constant(-1 if shape is None else list(shape), tf.as_dtype(attributes["shape_type"]))]


def _from_value(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    del attributes
    return [OptionalValue(tf.constant(True), (OptionalChoice(tuple(operands)),))]


def _none(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    del attributes, operands
    return [OptionalValue(tf.constant(False), ())]


def _components(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    """Components of an optional; those of one that is none are never read."""
    types = [tf.as_dtype(dtype) for dtype in attributes["output_types"].type]
    shapes = [tf.TensorShape(shape) for shape in attributes["output_shapes"].shape]
    fits = [choice for choice in operands[0].choices if all(map(_is_of, choice.components, types, shapes))]
    if len(fits) > 1:
        raise UnwritableError("branches keep values of several kinds, and nothing says which one is read here")
    if fits:
        return list(fits[0].components)
    return [
        None if dtype == tf.variant else tf.zeros([size or 1 for size in shape], dtype)
        for dtype, shape in zip(types, shapes, strict=True)
    ]


def _is_of(value: Value, dtype: Any, shape: Any) -> bool:
    if value is None or isinstance(value, (ListValue, OptionalValue)):
        return bool(dtype == tf.variant)
    return bool(value.dtype == dtype and shape.is_compatible_with(value.shape))


def _has_value(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    del attributes
    return [as_tensor(operands[0].is_present)]


def _same(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    del attributes
    return list(operands)


def _sum(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    """Lists are added row by row; one without known rows is zeros."""
    del attributes
    known = [list_ for list_ in operands if list_.rows is not None]
    total = known[0] if known else operands[0]
    for list_ in known[1:]:
        total = replace(total, rows=paired(tf.add, total.rows, list_.rows))
    return [total]


def _zeros(attributes: Mapping[str, Any], operands: Sequence[Value]) -> Sequence[Value]:
    del attributes
    return [replace(operands[0], rows=mapped(tf.zeros_like, operands[0].rows))]


OPERATIONS: Mapping[str, Operate] = {
    "EmptyTensorList": _empty,
    "OptionalFromValue": _from_value,
    "OptionalGetValue": _components,
    "OptionalHasValue": _has_value,
    "OptionalNone": _none,
    "TensorListElementShape": _element_shape,
    "TensorListFromTensor": _from_tensor,
    "TensorListGather": _gather,
    "TensorListGetItem": _get,
    "TensorListLength": _length,
    "TensorListPopBack": _pop,
    "TensorListPushBack": _push,
    "TensorListReserve": _reserve,
    "TensorListSetItem": _set,
    "TensorListStack": _stack,
}
"""Operations that make or take optionals and lists."""

ON_VARIANTS: Mapping[str, Operate] = {
    "AddN": _sum,
    "Identity": _same,
    "IdentityN": _same,
    "StopGradient": _same,
    "ZerosLike": _zeros,
}
"""Operations of tensors that take variants, too."""
