"""Support vector machines, as scikit-learn exports LIBSVM's and LIBLINEAR's (domain ai.onnx.ml).

Sources: Chang and Lin, "LIBSVM: a library for support vector machines", 2011; what ONNX leaves open is as ONNX Runtime
has it (onnxruntime/core/providers/cpu/ml/svmclassifier.cc).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tflmgen.frontend.onnx.class_scores import chosen_class, labels_of, transform_of, transformed
from tflmgen.frontend.onnx.element_graph import F32, I32
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import Array, OnnxValue, check_constant, constant
from tflmgen.frontend.onnx.loop_builder import Body, Iteration, LoopBuilder
from tflmgen.frontend.onnx.lower_classic import floats_of, matrix_of, rows_of, times
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import OnnxNode
from tflmgen.frontend.onnx.node_error import NodeError

_TURNS = 100
"""Most turns in which probabilities of pairs are joined."""
_TOLERANCE = 0.005
"""Divided by the number of classes: the greatest error of joined probabilities that ends the turns."""
_MOST_COUPLED = 16
"""Classes whose probabilities are joined: a turn has a dozen operators for each."""


def _kernel(node: OnnxNode, value: OnnxValue, vectors: Array) -> OnnxValue:
    """float32 [rows, vectors]: the kernel function of each row with each support vector."""
    g, kind = node.graph, node.attribute("kernel_type", "LINEAR")
    numbers = [float(value) for value in node.attribute("kernel_params") or (0.0, 0.0, 3.0)]
    if len(numbers) != 3 or not np.isfinite(numbers).all():
        raise NodeError("needs three finite kernel_params: gamma, coef0 and the degree")
    gamma, offset, degree = numbers
    if kind == "RBF":
        gaps = g.sub(g.unsqueeze(value, 1), constant(vectors[None]))
        return g.exp(g.mul(g.reduce_sum(g.mul(gaps, gaps), [2], keep=False), -gamma))
    product = times(g, value, vectors, np.zeros(len(vectors), np.float32))
    if kind == "LINEAR":
        return product
    inner = g.add(g.mul(product, gamma), offset)
    if kind == "SIGMOID":
        return g.tanh(inner)
    if kind != "POLY":
        raise NodeError(f"has the kernel_type {kind}, which ONNX lacks")
    if degree == int(degree) and 1 <= degree <= 8:
        power = inner
        for _ in range(int(degree) - 1):
            power = g.mul(power, inner)
        return power
    return g.power(inner, degree)


@lowers("ai.onnx.ml.SVMRegressor", evaluated=False)
def svm_regressor(node: OnnxNode) -> OnnxValue:
    """SVMRegressor: weighted kernels of the support vectors plus rho; with one_class the sign of that."""
    g, value = node.graph, rows_of(node)
    weights, rho = floats_of(node, "coefficients"), floats_of(node, "rho")
    count = int(node.attribute("n_supports", 0))
    if count:
        vectors = matrix_of(floats_of(node, "support_vectors"), value.shape[1], "support vector elements")
        sums = times(g, _kernel(node, value, vectors), weights.reshape(1, -1), rho[:1])
    else:
        sums = times(g, value, matrix_of(weights, value.shape[1], "coefficients"), rho[:1])
    if node.attribute("one_class", 0):
        return g.where(g.greater(sums, 0.0), constant(1.0, F32), -1.0)
    return transformed(node, sums)


def _pairs(count: int) -> list[tuple[int, int]]:
    """Pairs of classes, in the order of their scores."""
    return [(i, j) for i in range(count) for j in range(i + 1, count)]


def _pair_weights(supports: Sequence[int], coefficients: Array) -> Array:
    """float32 [pairs, vectors]: weights of the kernels in the score of each pair of classes (LIBSVM's sv_coef)."""
    starts = np.cumsum([0, *supports])
    rows = []
    for i, j in _pairs(len(supports)):
        row = np.zeros(int(starts[-1]), np.float32)
        row[starts[i] : starts[i + 1]] = coefficients[j - 1, starts[i] : starts[i + 1]]
        row[starts[j] : starts[j + 1]] = coefficients[i, starts[j] : starts[j + 1]]
        rows.append(row)
    return np.array(rows)


@lowers("ai.onnx.ml.SVMClassifier", evaluated=False)
def svm_classifier(node: OnnxNode) -> tuple[OnnxValue, OnnxValue]:
    """SVMClassifier: label and scores of each row, by votes of pairs of classes (Chang and Lin, LIBSVM, 2011)."""
    g, value = node.graph, rows_of(node)
    labels = labels_of(node, "classlabels_ints", "classlabels_strings")
    supports = [int(n) for n in node.attribute("vectors_per_class") or ()]
    coefficients, rho = floats_of(node, "coefficients"), floats_of(node, "rho")
    if not supports:
        weights = matrix_of(coefficients, value.shape[1], "coefficients")
        scores = times(g, value, weights, np.full(len(weights), rho[0] if rho.size else 0, np.float32))
        return chosen_class(g, scores, labels), transformed(node, scores)
    vectors = matrix_of(floats_of(node, "support_vectors"), value.shape[1], "support vector elements")
    columns = matrix_of(coefficients, len(vectors), "coefficients")
    if len(columns) != len(supports) - 1 or sum(supports) != len(vectors) or len(labels) != len(supports):
        raise NodeError(f"has {len(vectors)} support vectors and {len(labels)} labels, which do not fit its classes")
    pairs = len(supports) * (len(supports) - 1) // 2
    check_constant((pairs, max(len(vectors), len(supports))))
    if rho.size != pairs:
        raise NodeError(f"has {rho.size} rho for {pairs} pairs of classes")
    scores = times(g, _kernel(node, value, vectors), _pair_weights(supports, columns), rho)
    return _voted(node, scores, labels)


def _voted(node: OnnxNode, scores: OnnxValue, labels: Sequence[int]) -> tuple[OnnxValue, OnnxValue]:
    """Label by votes, and the scores of pairs, of two classes, or their probabilities."""
    g, count = node.graph, len(labels)
    pairs = _pairs(count)
    wins = np.zeros((count, len(pairs)), np.float32)
    losses = np.zeros((count, len(pairs)), np.float32)
    for k, (i, j) in enumerate(pairs):
        wins[i, k], losses[j, k] = 1, 1
    is_won = g.cast(g.greater(scores, 0.0), F32)
    votes = times(g, is_won, wins - losses, losses.sum(axis=1))
    label = chosen_class(g, votes, labels)
    a, b = floats_of(node, "prob_a"), floats_of(node, "prob_b")
    if not a.size:
        return label, _pair_scores(node, scores, count)
    both = _probabilities(node, g.sub(1.0, g.logistic(g.add(g.mul(scores, constant(a)), constant(b)))), count)
    return label, transformed(node, both)


def _pair_scores(node: OnnxNode, scores: OnnxValue, count: int) -> OnnxValue:
    """Scores as ONNX Runtime writes them: of two classes both signs, of more those of the pairs."""
    g = node.graph
    if count > 2:
        return transformed(node, scores)
    if transform_of(node) == "none":
        return g.concat([g.neg(scores), scores], 1)
    raise NodeError("has one score of two classes and a post_transform, which ONNX leaves open")


def _probabilities(node: OnnxNode, firsts: OnnxValue, count: int) -> OnnxValue:
    """float32 [rows, classes] from those of pairs (Wu, Lin and Weng, 2004, method 2; as LIBSVM iterates it).

    firsts  probability of the first class of each pair [rows, pairs]
    """
    g = node.graph
    if count > _MOST_COUPLED:
        raise NodeError(f"has probabilities of {count} classes; the limit is {_MOST_COUPLED}")
    limited = g.minimum(g.maximum(firsts, 1e-7), constant(np.float32(1) - np.float32(1e-7)))
    columns = {}
    for k, (i, j) in enumerate(_pairs(count)):
        columns[i, j] = g.part(limited, 1, k, 1)
        columns[j, i] = g.sub(1.0, columns[i, j])
    squares = {i: g.sum_of([g.mul(columns[j, i], columns[j, i]) for j in range(count) if j != i]) for i in range(count)}
    rows = [
        g.concat([squares[i] if i == j else g.neg(g.mul(columns[j, i], columns[i, j])) for j in range(count)], 1)
        for i in range(count)
    ]
    start = constant(np.full((firsts.shape[0], count), 1 / count, np.float32))
    build = LoopBuilder(
        node.walker, g, g.node or "coupling", constant(_TURNS, I32), None, [start], _turn(rows, _TOLERANCE / count)
    )
    return build.build()[0][0]


def _turn(rows: Sequence[OnnxValue], tolerance: float) -> Body:
    """One turn over all classes; rows of Q are in `rows`, each [rows, classes]. Rows within the tolerance stay."""

    def step(g: Graph, _: OnnxValue, __: OnnxValue | None, variables: Sequence[OnnxValue]) -> Iteration:
        before = shares = variables[0]
        products = g.concat([g.reduce_sum(g.mul(row, shares), [1]) for row in rows], 1)
        total = g.reduce_sum(g.mul(shares, products), [1])
        is_far = g.greater_equal(g.reduce_max(g.absolute(g.sub(products, total)), [1]), tolerance)
        for i, row in enumerate(rows):
            product = g.part(products, 1, i, 1)
            diagonal = g.part(row, 1, i, 1)
            change = g.div(g.sub(total, product), diagonal)
            whole = g.add(change, 1.0)
            grown = g.add(total, g.mul(change, g.add(g.mul(change, diagonal), g.mul(product, 2.0))))
            total = g.div(g.div(grown, whole), whole)
            products = g.div(g.add(products, g.mul(change, row)), whole)
            own = np.eye(len(rows), dtype=np.float32)[i : i + 1]
            shares = g.div(g.add(shares, g.mul(change, constant(own))), whole)
        follows = g.reshape(g.reduce_any(is_far, [0, 1]), ())
        return Iteration(follows, [g.where(is_far, shares, before)])

    return step
