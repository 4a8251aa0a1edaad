"""Linear models, and what prepares features for them, as scikit-learn exports both (domain ai.onnx.ml)."""

from __future__ import annotations

import numpy as np

from tflmgen.frontend.onnx.class_scores import (
    both_classes,
    chosen_class,
    labels_of,
    numbered,
    transform_of,
    transformed,
)
from tflmgen.frontend.onnx.element_graph import F32, I32, I64
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import Array, OnnxValue, constant
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import OnnxNode
from tflmgen.frontend.onnx.node_error import NodeError


def floats_of(node: OnnxNode, name: str) -> Array:
    """float32 numbers of an attribute; none where it is absent."""
    return np.array(node.attribute(name) or (), np.float32)


def rows_of(node: OnnxNode, index: int = 0) -> OnnxValue:
    """An operand as float32 rows of features."""
    g, value = node.graph, node[index]
    if value.rank > 2:
        raise NodeError(f"takes rows of features, but its input has {value.rank} dimensions")
    return g.reshape(g.cast(value, F32), [1] * (2 - value.rank) + list(value.shape))


def matrix_of(values: Array, columns: int, name: str) -> Array:
    """Numbers of an attribute in rows of so many. Raises NodeError if they make no whole rows."""
    if not columns or values.size % columns or not values.size:
        raise NodeError(f"has {values.size} {name}, which are no rows of {columns}")
    return values.reshape(-1, columns)


def times(g: Graph, value: OnnxValue, weights: Array, bias: Array) -> OnnxValue:
    """value [rows, n] times the transpose of weights [outputs, n], plus a bias."""
    return g.fully_connected(value, constant(weights), constant(bias) if bias.any() else None)


@lowers("ai.onnx.ml.Scaler")
def scaler(node: OnnxNode) -> OnnxValue:
    """Scaler: (x - offset) scale, each a number or one for each feature."""
    g = node.graph
    offset, scale = floats_of(node, "offset"), floats_of(node, "scale")
    value = g.cast(node[0], F32)
    value = g.sub(value, constant(offset)) if offset.any() else value
    return g.mul(value, constant(scale)) if scale.size and (scale != 1).any() else value


@lowers("ai.onnx.ml.Normalizer", evaluated=False)
def normalizer(node: OnnxNode) -> OnnxValue:
    """Normalizer: rows divided by their greatest element, their L1 or L2 norm; those of zeros stay as they are."""
    g, value = node.graph, rows_of(node)
    norm = node.attribute("norm", "MAX")
    if norm == "MAX":
        size = g.reduce_max(value, [1])
    elif norm == "L1":
        size = g.reduce_sum(g.absolute(value), [1])
    elif norm == "L2":
        size = g.sqrt(g.reduce_sum(g.mul(value, value), [1]))
    else:
        raise NodeError(f"has the norm {norm}, which ONNX lacks")
    normal = g.div(value, g.where(g.equal(size, 0.0), 1.0, size))
    return g.reshape(normal, node[0].shape)


@lowers("ai.onnx.ml.Binarizer")
def binarizer(node: OnnxNode) -> OnnxValue:
    """Binarizer: 1 above a threshold, else 0."""
    g, value = node.graph, node[0]
    return g.cast(g.greater(g.cast(value, F32), float(node.attribute("threshold", 0.0))), value.dtype)


@lowers("ai.onnx.ml.Imputer")
def imputer(node: OnnxNode) -> OnnxValue:
    """Imputer: features that equal a number, or are NaN, take values of their own."""
    g, value = node.graph, node[0]
    integers = node.attribute("imputed_value_int64s")
    values = np.array(integers, np.int64) if integers else floats_of(node, "imputed_value_floats")
    replaced = node.attribute("replaced_value_int64" if integers else "replaced_value_float", 0)
    if values.size not in (1, value.shape[-1] if value.rank else 1):
        raise NodeError(f"has {values.size} values for {value.shape[-1]} features")
    is_missing = g.not_equal(value, value) if replaced != replaced else g.equal(value, replaced)
    return g.where(is_missing, g.broadcast_to(constant(values.astype(value.dtype.numpy)), value.shape), value)


@lowers("ai.onnx.ml.FeatureVectorizer")
def feature_vectorizer(node: OnnxNode) -> OnnxValue:
    """FeatureVectorizer: the features of all operands side by side."""
    return node.graph.concat([rows_of(node, k) for k in range(len(node.inputs))], 1)


@lowers("ai.onnx.ml.ArrayFeatureExtractor")
def array_feature_extractor(node: OnnxNode) -> OnnxValue:
    """ArrayFeatureExtractor: the elements of the last dimension at some places."""
    g, value = node.graph, node[0]
    places = g.reshape(g.cast(node[1], I32), [node[1].size])
    if value.rank == 1:
        value = g.reshape(value, [1, value.size])
    return g.gather(value, g.in_range(places, value.shape[-1]), value.rank - 1)


@lowers("ai.onnx.ml.OneHotEncoder")
def one_hot_encoder(node: OnnxNode) -> OnnxValue:
    """OneHotEncoder: a 1 at the place of each element's category; zeros for an unknown one, if the model allows it."""
    g, value = node.graph, node[0]
    categories = labels_of(node, "cats_int64s", "cats_strings")
    if not node.attribute("zeros", 1):
        node.walker.notes["OneHotEncoder gives zeros for a category that it lacks, where ONNX has an error"] = None
    whole = g.unsqueeze(g.cast(value, I64), value.rank)
    return g.cast(g.equal(whole, constant(np.array(categories, np.int64))), F32)


@lowers("ai.onnx.ml.LabelEncoder")
def label_encoder(node: OnnxNode) -> OnnxValue:
    """LabelEncoder: each element replaced by the value of the key that it equals, or by a default."""
    g, value = node.graph, node[0]
    keys, values = _table(node, "keys"), _table(node, "values")
    if len(keys) != len(values) or not len(keys):
        raise NodeError(f"has {len(keys)} keys for {len(values)} values")
    default = _default(node, values)
    wide = g.unsqueeze(g.cast(value, I64 if keys.dtype == np.int64 else F32), value.rank)
    # The first of equal keys counts; the place behind them stands for no key at all.
    is_key = g.cast(g.equal(wide, constant(keys)), I32)
    if keys.dtype == np.float32 and np.isnan(keys).any():
        is_nan = g.logical_and(g.not_equal(wide, wide), constant(np.isnan(keys)))
        is_key = g.maximum(is_key, g.cast(is_nan, I32))
    place = g.cast(g.place_of_extreme(is_key, value.rank), I32)
    place = g.where(g.reduce_any(g.greater(is_key, 0), [value.rank], keep=False), place, len(keys))
    return g.gather(constant(np.append(values, default).astype(values.dtype)), place, 0)


def _table(node: OnnxNode, kind: str) -> Array:
    """keys_* or values_* of a LabelEncoder; strings are numbers by now."""
    tensor = node.attribute(f"{kind}_tensor")
    if tensor is not None:
        array = np.asarray(tensor).reshape(-1)
        return array.astype(np.float32 if array.dtype.kind == "f" else np.int64)
    if node.attribute(f"{kind}_floats"):
        return floats_of(node, f"{kind}_floats")
    return np.array(labels_of(node, f"{kind}_int64s", f"{kind}_strings"), np.int64)


def _default(node: OnnxNode, values: Array) -> float | int:
    tensor = node.attribute("default_tensor")
    if tensor is not None:
        return np.asarray(tensor).reshape(-1)[0].item()  # type: ignore[no-any-return]
    if values.dtype == np.float32:
        return float(node.attribute("default_float", -0.0))
    strings = node.attribute("values_strings")
    return int(node.attribute("default_string" if strings else "default_int64", -1))


@lowers("ai.onnx.ml.LinearRegressor", evaluated=False)
def linear_regressor(node: OnnxNode) -> OnnxValue:
    """LinearRegressor: a product with constant rows, and intercepts."""
    g, value = node.graph, rows_of(node)
    weights = matrix_of(floats_of(node, "coefficients"), value.shape[1], "coefficients")
    intercepts = floats_of(node, "intercepts")
    if intercepts.size not in (0, len(weights)):
        raise NodeError(f"has {intercepts.size} intercepts for {len(weights)} targets")
    return transformed(node, times(g, value, weights, intercepts))


@lowers("ai.onnx.ml.LinearClassifier", evaluated=False)
def linear_classifier(node: OnnxNode) -> tuple[OnnxValue, OnnxValue]:
    """LinearClassifier: label and scores of each row."""
    g, value = node.graph, rows_of(node)
    labels = labels_of(node, "classlabels_ints", "classlabels_strings")
    weights = matrix_of(floats_of(node, "coefficients"), value.shape[1], "coefficients")
    intercepts = floats_of(node, "intercepts")
    if intercepts.size not in (0, len(weights)) or len(labels) not in (len(weights), len(weights) + 1):
        raise NodeError(f"has {len(weights)} rows of coefficients, {intercepts.size} intercepts, {len(labels)} labels")
    scores = times(g, value, weights, intercepts)
    if len(weights) == 1 and len(labels) == 2:
        kind = transform_of(node)
        label = numbered(g, g.cast(g.squeeze(g.greater(scores, 0.0), [1]), I64), labels)
        if kind in ("none", "logistic"):
            second = scores if kind == "none" else g.logistic(scores)
            return label, g.concat([g.sub(1.0, second), second], 1)
        return both_classes(node, scores, labels, are_positive=False)
    return chosen_class(g, scores, labels[: len(weights)]), transformed(node, scores)
