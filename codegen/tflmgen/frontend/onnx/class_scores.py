"""Scores of ai.onnx.ml's classifiers: transforms behind the sums, and the class that they choose.

ONNX leaves open what a classifier of two classes does with a single score; here it does what ONNX Runtime does
(onnxruntime/core/providers/cpu/ml: ml_common.h, tree_ensemble_aggregator.h, linearclassifier.cc).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tflmgen.frontend.onnx.element_graph import I64
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, constant
from tflmgen.frontend.onnx.node import OnnxNode
from tflmgen.frontend.onnx.node_error import NodeError

_TINY = 1e-7
"""Scores of smaller magnitude are zeros for SOFTMAX_ZERO."""


def labels_of(node: OnnxNode, *names: str) -> list[int]:
    """The classes' numbers, from the first attribute that is there; strings are numbers by now (class_names.py)."""
    for name in names:
        labels = node.attribute(name)
        if labels:
            return [int(label) for label in labels]
    return []


_TRANSFORMS = ("none", "softmax", "logistic", "softmax_zero", "probit")
"""By the number that TreeEnsemble has for each."""


def named(node: OnnxNode, attribute: str, names: Sequence[str], default: int) -> str:
    """One of these names, which an attribute has in capitals, or its number. Raises NodeError for another."""
    value = node.attribute(attribute, default)
    number = value if isinstance(value, int) else names.index(value.lower()) if value.lower() in names else -1
    if not 0 <= number < len(names):
        raise NodeError(f"has the {attribute} {value}, which ONNX lacks")
    return names[number]


def transform_of(node: OnnxNode) -> str:
    """The attribute post_transform in lower case."""
    return named(node, "post_transform", _TRANSFORMS, 0)


def transformed(node: OnnxNode, scores: OnnxValue) -> OnnxValue:
    """Scores [rows, classes] after the attribute post_transform, row by row."""
    g, kind = node.graph, transform_of(node)
    if kind == "none":
        return scores
    if kind == "logistic":
        return g.logistic(scores)
    if kind == "softmax":
        return g.softmax(scores, scores.rank - 1)
    if kind == "softmax_zero":
        return _softmax_zero(g, scores)
    return _probit(g, scores)


def _softmax_zero(g: Graph, scores: OnnxValue) -> OnnxValue:
    """Softmax among the scores that are not zero; those that are stay so."""
    greatest = g.reduce_max(scores, [scores.rank - 1])
    is_zero = g.less_equal(g.absolute(scores), _TINY)
    powers = g.where(is_zero, g.mul(scores, g.exp(g.neg(greatest))), g.exp(g.sub(scores, greatest)))
    total = g.reduce_sum(g.where(is_zero, 0.0, powers), [scores.rank - 1])
    return g.div(powers, total)


def _probit(g: Graph, scores: OnnxValue) -> OnnxValue:
    """sqrt(2) erfinv(2 x - 1) by Winitzki's approximation (2008), with the constants that ONNX Runtime has."""
    x = g.sub(g.mul(scores, 2.0), 1.0)
    logarithm = g.log(g.mul(g.sub(1.0, x), g.add(1.0, x)))
    half = g.add(g.mul(logarithm, 0.5), 2 / (3.14159 * 0.147))
    root = g.sqrt(g.sub(g.sqrt(g.sub(g.mul(half, half), g.mul(logarithm, 1 / 0.147))), half))
    return g.mul(g.where(g.less(x, 0.0), g.neg(root), root), 1.41421356)


def chosen_class(g: Graph, scores: OnnxValue, labels: Sequence[int]) -> OnnxValue:
    """int64 [rows]: the label of the greatest score, the first of equals."""
    return numbered(g, g.place_of_extreme(scores, scores.rank - 1), labels)


def numbered(g: Graph, places: OnnxValue, labels: Sequence[int]) -> OnnxValue:
    """int64 labels at places among them."""
    if list(labels) == list(range(len(labels))):
        return g.cast(places, I64)
    return g.gather(constant(np.array(labels, np.int64)), places, 0)


def both_classes(
    node: OnnxNode, score: OnnxValue, labels: Sequence[int], are_positive: bool
) -> tuple[OnnxValue, OnnxValue]:
    """Label and scores of two classes from one score s [rows, 1].

    are_positive  s is a probability, and 1 - s the other class's; else that has -s
    """
    g, kind = node.graph, transform_of(node)
    is_second = g.greater(score, 0.5 if are_positive else 0.0)
    label = numbered(g, g.cast(g.squeeze(is_second, [1]), I64), labels)
    if kind == "probit":
        raise NodeError("has one score of two classes and PROBIT, for which ONNX Runtime gives one score only")
    if kind == "logistic":
        return label, g.concat([g.logistic(g.neg(score)), g.logistic(score)], 1)
    return label, g.concat([g.sub(1.0, score) if are_positive else g.neg(score), score], 1)
