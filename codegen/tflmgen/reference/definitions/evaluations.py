"""Every operator that the reference evaluates, and what its interpreters know of operators beside that."""

from __future__ import annotations

from collections.abc import Mapping

from tflmgen.reference.definitions import (
    axis_reductions,
    decision_trees,
    element_moves,
    elementwise_binary,
    elementwise_unary,
    fourier_transforms,
    image_resizing,
    layer_gradients,
    probability_rows,
    random_generators,
    recurrent_layers,
    row_selection,
    rows_in_use,
    signal_operators,
    type_conversions,
    weighted_sums,
    window_pools,
)
from tflmgen.reference.operation import Array, Evaluation, Operation

_FAMILIES = (
    elementwise_binary,
    elementwise_unary,
    type_conversions,
    weighted_sums,
    window_pools,
    axis_reductions,
    probability_rows,
    element_moves,
    image_resizing,
    layer_gradients,
    rows_in_use,
    row_selection,
    recurrent_layers,
    signal_operators,
    fourier_transforms,
    random_generators,
    decision_trees,
)

EVALUATIONS: Mapping[str, Evaluation] = {
    name: evaluation for family in _FAMILIES for name, evaluation in family.EVALUATIONS.items()
}

COMPARISONS = frozenset({"LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL"})

MOVES = frozenset(element_moves.EVALUATIONS)
"""Operators that only move elements."""

EXACT = MOVES | {
    *("MAXIMUM", "MINIMUM", "RELU", "RELU6", "ABS", "NEG"),
    *("REDUCE_MAX", "REDUCE_MIN", "CAST", "FLOOR", "CEIL", "ROUND"),
}
"""Operators that round nothing."""

UPDATES = recurrent_layers.UPDATES

INITIAL_STATES = {**signal_operators.INITIAL_STATES, **random_generators.INITIAL_STATES}


def initial_states(op: Operation) -> tuple[Array, ...]:
    """State that an operator keeps by itself, before the first invoke."""
    states = INITIAL_STATES.get(op.name)
    return states(op) if states else ()
