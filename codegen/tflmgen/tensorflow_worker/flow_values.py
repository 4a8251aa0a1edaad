"""Values of a graph that is traced again: tensors, and what TensorFlow keeps in variants, made of tensors.

    optional: whether there is a value, and its components        list: arrays [capacity, ...], and how many rows count

A form is what a branch or a loop passes on: a value with a TensorSpec for each tensor that it makes, tensors of outside
that it leaves as they are, and arrays for constants. What is not known yet, the rows of a list that is empty, is None;
another branch or an iteration tells.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.value_numbers import ValueNumbers

Value = Any
"""A leaf, OptionalValue or ListValue; None: not known yet. A leaf is a tensor, an array, RepeatedRow or, in a form,
a TensorSpec."""
MOST_FOLDED = 64
"""Elements of the largest integer tensor that becomes a constant."""


Condition = tuple[str, bool]
"""Number of a predicate, and the side that is taken."""


@dataclass(frozen=True, eq=False)
class OptionalChoice:
    """Components of an optional, and the conditions under which these are its: all of one of the sets."""

    components: tuple[Value, ...]
    when: frozenset[frozenset[Condition]] = frozenset({frozenset()})

    def under(self, condition: Condition) -> OptionalChoice:
        """The choice outside of a branch."""
        return replace(self, when=frozenset(conditions | {condition} for conditions in self.when))

    def fits(self, facts: frozenset[Condition]) -> bool:
        """Whether it may be the optional's where these conditions hold."""
        contrary = {(number, not side) for number, side in facts}
        return any(conditions.isdisjoint(contrary) for conditions in self.when)


@dataclass(frozen=True, eq=False)
class OptionalValue:
    """An optional.

    is_present  bool; in a list, one for each row
    choices     one for each kind that branches give: TensorFlow lets an optional be of one type in a branch and of
                another type in the next; none: no branch gives any
    """

    is_present: Any
    choices: tuple[OptionalChoice, ...]


@dataclass(frozen=True, eq=False)
class ListValue:
    """A list of rows.

    rows      a value whose leaves have the rows as their first dimension, or are RepeatedRow
    length    int32: rows that count; None: all
    capacity  rows that there is place for; None: not known yet
    home      the graph that the list was made in
    growth    most rows that were pushed since a loop began
    base      of a list that grows where it is written: most rows that count beside those; None: it does not
    """

    rows: Value
    length: Any
    capacity: int | None
    home: Any
    growth: int = 0
    base: int | None = None


@dataclass(frozen=True, eq=False)
class RepeatedRow:
    """In the place of an array: the leaf that every row is, such as weights that a loop leaves alone."""

    leaf: Any


def mapped(function: Callable[[Any], Any], value: Value) -> Value:
    """The value with what a function makes of each leaf."""
    return paired(lambda leaf, _: function(leaf), value, value)


def paired(function: Callable[[Any, Any], Any], a: Value, b: Value) -> Value:
    """A value of the first's structure, which the second has, too, of what a function makes of each two leaves."""
    if isinstance(a, OptionalValue):
        choices = []
        for own, other in zip(a.choices, b.choices, strict=True):
            parts = zip(own.components, other.components, strict=True)
            choices.append(replace(own, components=tuple(paired(function, x, y) for x, y in parts)))
        return OptionalValue(paired(function, a.is_present, b.is_present), tuple(choices))
    if isinstance(a, ListValue):
        return replace(a, rows=paired(function, a.rows, b.rows), length=paired(function, a.length, b.length))
    return None if a is None else function(a, b)


def within(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of leaves, also of those that are repeated."""

    def applied(leaf: Any) -> Any:
        return RepeatedRow(applied(leaf.leaf)) if isinstance(leaf, RepeatedRow) else function(leaf)

    return applied


def is_outside(leaf: Any, graph: Any) -> bool:
    """Whether a leaf exists around a graph: it is none of its tensors, nor of a graph inside of it."""
    if isinstance(leaf, RepeatedRow):
        return is_outside(leaf.leaf, graph)
    own = leaf.graph if isinstance(leaf, tf.Tensor) else None
    while own is not None and own is not graph:
        own = getattr(own, "outer_graph", None)
    return own is None


def constant_of(leaf: Any) -> Any:
    """The array of a tensor that is a constant, or None."""
    return leaf if isinstance(leaf, np.ndarray) else tf.get_static_value(leaf)


def known_integers(leaf: Any) -> Any:
    """The array of a small constant of integers or bools, or None."""
    count = leaf.shape.num_elements() if isinstance(leaf, tf.Tensor) else None
    is_small = count is not None and count <= MOST_FOLDED and (leaf.dtype.is_integer or leaf.dtype == tf.bool)
    value = constant_of(leaf) if is_small else None
    return None if value is None else np.asarray(value)


def form_of(value: Value, graph: Any, numbers: ValueNumbers) -> Value:
    """The form of a value that a graph gives: what is not of the graph stays as it is."""

    def leaf(own: Any) -> Any:
        if isinstance(own, np.ndarray) or is_outside(own, graph):
            return own
        known = known_integers(own)
        return tf.TensorSpec(own.shape, own.dtype, numbers.number(own)) if known is None else known

    return mapped(within(leaf), value)


def key_of(form: Value) -> Hashable:
    """A value that is equal for equal forms."""
    leaves: list[Hashable] = []

    def leaf(own: Any) -> Any:
        is_array = isinstance(own, np.ndarray)
        array = (own.tobytes(), own.shape, str(own.dtype)) if is_array else None
        leaves.append(array or (id(own) if isinstance(own, tf.Tensor) else own))
        return 0

    return _structure(mapped(within(leaf), form)), tuple(leaves)


def _structure(value: Value) -> Hashable:
    if isinstance(value, OptionalValue):
        return "optional", tuple((tuple(map(_structure, c.components)), c.when) for c in value.choices)
    if isinstance(value, ListValue):
        return "list", _structure(value.rows), value.length is None, value.capacity, value.growth, value.base
    return ("repeated", _structure(value.leaf)) if isinstance(value, RepeatedRow) else value is None


def passed_on(values: Sequence[Value], forms: Sequence[Value]) -> list[Any]:
    """The tensors of values of these forms that are passed on, in the order of built()."""
    tensors: list[Any] = []

    def leaf(form: Any, own: Any) -> None:
        if isinstance(form, RepeatedRow):
            leaf(form.leaf, own.leaf)
        elif isinstance(form, tf.TensorSpec):
            tensors.append(own)

    for form, value in zip(forms, values, strict=True):
        paired(leaf, form, value)
    return tensors


def built(form: Value, tensors: Iterator[Any], numbers: ValueNumbers) -> Value:
    """A value of this form, of the tensors that were passed on."""

    def leaf(own: Any) -> Any:
        if not isinstance(own, tf.TensorSpec):
            return own
        tensor = next(tensors)
        numbers.assign(tensor, own.name)
        return tensor

    return mapped(within(leaf), form)


def under(value: Value, condition: Condition) -> Value:
    """The value of a branch as it is outside of the branch."""
    if isinstance(value, OptionalValue):
        return replace(value, choices=tuple(choice.under(condition) for choice in value.choices))
    return value


def as_tensor(leaf: Any) -> Any:
    """A leaf with constants as tensors of the default graph."""
    return tf.constant(leaf) if isinstance(leaf, np.ndarray) else leaf
