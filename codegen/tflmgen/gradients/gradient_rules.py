"""The rule for the gradient of each operator, and why the others have none."""

from __future__ import annotations

from collections.abc import Mapping

from tflmgen.gradients import elementwise_rules, layer_rules, linear_rules, movement_rules, segment_rules
from tflmgen.gradients.rule import GradientRule

RULES: Mapping[str, GradientRule] = {
    **elementwise_rules.RULES,
    **layer_rules.RULES,
    **linear_rules.RULES,
    **movement_rules.RULES,
    **segment_rules.RULES,
}

ZERO = frozenset({
    "ARG_MAX", "ARG_MIN", "CEIL", "EQUAL", "FLOOR", "FLOOR_DIV", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL",
    "NOT_EQUAL", "ONE_HOT", "RANK", "ROUND", "SHAPE", "SIGN", "ZEROS_LIKE",
})  # fmt: skip
"""Operators whose results are constant wherever they are differentiable: no gradient passes."""

_INTEGERS = frozenset({
    "BITCAST", "BITWISE_XOR", "BROADCAST_ARGS", "BUCKETIZE", "DEQUANTIZE", "LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR",
    "MULTINOMIAL", "NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5", "QUANTIZE", "RANDOM_STANDARD_NORMAL",
    "RANDOM_UNIFORM", "RANGE", "REDUCE_ALL", "REDUCE_ANY", "RIGHT_SHIFT", "STABLEHLO_AND",
    "STABLEHLO_RNG_BIT_GENERATOR", "STABLEHLO_SHIFT_LEFT", "UNIQUE", "WHERE",
})  # fmt: skip
_STATE = frozenset({"LSTM", "RNN", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN"})
_UNWRITTEN = frozenset({
    "CONV_3D", "CONV_3D_TRANSPOSE", "EMBEDDING_LOOKUP_SPARSE", "HASHTABLE_LOOKUP", "REDUCE_WINDOW", "STABLEHLO_SCATTER",
})  # fmt: skip

WITHOUT_RULE: Mapping[str, str] = {
    **dict.fromkeys(_INTEGERS, "it computes integers or random numbers, or moves what has no gradient"),
    **dict.fromkeys(_STATE, "the layer keeps a state of its own; the loop that it was made of has a gradient"),
    **dict.fromkeys(_UNWRITTEN, "there is no rule for it"),
}
"""Operators of the table without a rule, and why."""
