"""Forms of what several branches or iterations give: the form that all of them have, and values made to be of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.flow_values import (
    ListValue,
    OptionalChoice,
    OptionalValue,
    RepeatedRow,
    Value,
    as_tensor,
    key_of,
    mapped,
)
from tflmgen.tensorflow_worker.written_shapes import UnwritableError, check_size


def joined(a: Value, b: Value, capacity: int | None = None) -> Value:
    """The form of values that are of one of two forms; of rows of a list with this capacity."""
    if a is None or b is None or key_of(a) == key_of(b):
        return b if a is None else a
    if isinstance(a, OptionalValue) and isinstance(b, OptionalValue):
        of_rows = capacity is not None
        choices = [_joined_choice(own, _like(own, b.choices, of_rows), capacity) for own in a.choices]
        choices += [other for other in b.choices if _like(other, a.choices, of_rows) is None]
        return OptionalValue(joined(a.is_present, b.is_present, capacity), tuple(choices))
    if isinstance(a, ListValue) and isinstance(b, ListValue):
        capacity_of_both = max((c for c in (a.capacity, b.capacity) if c is not None), default=None)
        rows, length = joined(a.rows, b.rows, capacity_of_both or 1), joined(a.length, b.length, capacity)
        base = max((n for n in (a.base, b.base) if n is not None), default=None)
        return ListValue(rows, length, capacity_of_both, a.home, max(a.growth, b.growth), base)
    if isinstance(a, RepeatedRow) or isinstance(b, RepeatedRow):
        a, b = (_array_spec(leaf, capacity or 1) for leaf in (a, b))
    a, b = spec_of(a), spec_of(b)
    return tf.TensorSpec(a.shape.most_specific_compatible_shape(b.shape), a.dtype, a.name if a.name == b.name else None)


def _joined_choice(a: OptionalChoice, b: OptionalChoice | None, capacity: int | None) -> OptionalChoice:
    if b is None:
        return a
    parts = zip(a.components, b.components, strict=True)
    return OptionalChoice(tuple(joined(x, y, capacity) for x, y in parts), a.when | b.when)


def spec_of(leaf: Any) -> Any:
    """The type of a tensor, array or TensorSpec."""
    name = leaf.name if isinstance(leaf, tf.TensorSpec) else None
    return tf.TensorSpec(leaf.shape, tf.as_dtype(leaf.dtype), name)


def _array_spec(leaf: Any, capacity: int) -> Any:
    """The type of the array that a repeated row is, or of one that there is."""
    if not isinstance(leaf, RepeatedRow):
        return spec_of(leaf)
    if isinstance(leaf.leaf, RepeatedRow):
        raise UnwritableError("a list of lists has rows of several forms")
    return tf.TensorSpec([capacity, *leaf.leaf.shape], tf.as_dtype(leaf.leaf.dtype))


def _like(wanted: OptionalChoice, choices: Sequence[OptionalChoice], of_rows: bool) -> OptionalChoice | None:
    """The choice of the same kind as another."""
    for choice in choices:
        pairs = list(zip(choice.components, wanted.components, strict=False))
        if len(choice.components) == len(wanted.components) and all(_is_alike(a, b, of_rows) for a, b in pairs):
            return choice
    return None


def _is_alike(a: Value, b: Value, of_rows: bool) -> bool:
    """Whether two forms are of one kind: element types and shapes are equal, so that they can share a place."""
    if a is None or b is None:
        return True
    if isinstance(a, ListValue) and isinstance(b, ListValue):
        has_place = a.capacity == b.capacity or a.capacity is None or b.capacity is None
        return has_place and _is_alike(a.rows, b.rows, of_rows=True)
    if isinstance(a, (ListValue, OptionalValue)) or isinstance(b, (ListValue, OptionalValue)):
        return type(a) is type(b)
    kinds = [_row_kind(leaf) if of_rows else _kind(leaf) for leaf in (a, b)]
    return bool(kinds[0] == kinds[1])


def _kind(leaf: Any) -> Any:
    return tf.TensorSpec(leaf.shape, tf.as_dtype(leaf.dtype))


def _row_kind(leaf: Any) -> Any:
    """The type of a row: its array may have a capacity that is not known yet."""
    if isinstance(leaf, RepeatedRow):
        return _row_kind(leaf.leaf) if isinstance(leaf.leaf, RepeatedRow) else _kind(leaf.leaf)
    return tf.TensorSpec(leaf.shape[1:], tf.as_dtype(leaf.dtype))


def fitted(value: Value, form: Value, of_rows: bool = False) -> Value:
    """The value, or rows of a list, as of this form: what it leaves open is zero."""
    if form is None:
        return None
    if value is None:
        return mapped(lambda leaf: _fitted_leaf(None, leaf), form)
    if isinstance(form, OptionalValue):
        choices = tuple(_fitted_choice(value, choice, of_rows) for choice in form.choices)
        return OptionalValue(_fitted_leaf(value.is_present, form.is_present), choices)
    if isinstance(form, ListValue):
        # All rows count of a list without a length.
        own = np.int32(value.capacity or 0) if value.length is None else value.length
        length = None if form.length is None else _fitted_leaf(own, form.length)
        rows = value.rows if form.base is None else extended(value.rows, form.capacity or 0)
        rows = fitted(rows, form.rows, of_rows=True)
        return replace(value, rows=rows, length=length, capacity=form.capacity, base=form.base)
    return _fitted_leaf(value, form)


def _fitted_choice(value: OptionalValue, wanted: OptionalChoice, of_rows: bool) -> OptionalChoice:
    like = _like(wanted, value.choices, of_rows)
    own = (None,) * len(wanted.components) if like is None else like.components
    parts = zip(own, wanted.components, strict=True)
    return replace(wanted, components=tuple(fitted(part, form, of_rows) for part, form in parts))


def _fitted_leaf(leaf: Any, form: Any) -> Any:
    if isinstance(form, RepeatedRow):
        return RepeatedRow(_fitted_leaf(None if leaf is None else leaf.leaf, form.leaf))
    if not isinstance(form, tf.TensorSpec):
        return form
    if leaf is not None and not isinstance(leaf, RepeatedRow):
        return as_tensor(leaf)
    if not form.shape.is_fully_defined():
        raise UnwritableError(f"a gradient keeps a value of shape {form.shape}", "Give the inputs static shapes")
    return tf.zeros(form.shape, form.dtype) if leaf is None else tf.broadcast_to(as_tensor(leaf.leaf), form.shape)


def extended(rows: Value, capacity: int) -> Value:
    """Rows of a list that grows, with rows of zeros up to a capacity."""

    def leaf(own: Any) -> Any:
        missing = 0 if own.shape[0] is None else capacity - own.shape[0]
        return tf.pad(own, [[0, missing]] + [[0, 0]] * (own.shape.rank - 1)) if missing > 0 else own

    return mapped(leaf, rows)


def allocated(form: ListValue, capacity: int) -> ListValue:
    """The form of a list with place for so many rows."""

    def sized(leaf: Any) -> Any:
        if not isinstance(leaf, RepeatedRow):
            check_size(capacity * (leaf.shape[1:].num_elements() or 1), "an array of what iterations keep")
        return (
            leaf if isinstance(leaf, RepeatedRow) else tf.TensorSpec([capacity, *leaf.shape[1:]], leaf.dtype, leaf.name)
        )

    return replace(form, rows=mapped(sized, form.rows), capacity=capacity)
