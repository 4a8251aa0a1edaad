"""Random ONNX models of the domain ai.onnx.ml: ensembles of trees, linear models, support vector machines, encoders.

Each maker draws a node with its attributes and gives the model and its inputs. Thresholds of trees are few, and inputs
are drawn among them, so that equality, signed zeros and NaN decide branches.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

Array = NDArray[Any]
Rng = np.random.Generator

DOMAIN = "ai.onnx.ml"
THRESHOLDS = np.array([-2.5, -1.0, -0.0, 0.0, 0.25, 1.0, 3.0], np.float32)
ODD = np.array([np.nan, np.inf, -np.inf, 1e-45, -1e-45, 3.4e38], np.float32)


@dataclass(frozen=True)
class ClassicCase:
    """A model of one input `x` and its values."""

    model: onnx.ModelProto
    x: Array


def model_of(
    op: str, shape: tuple[int, ...], outputs: Mapping[str, int], version: int = 3, dtype: int = TensorProto.FLOAT,
    **attributes: Any,
) -> onnx.ModelProto:  # fmt: skip
    """A model of one node. outputs: name -> element type."""
    node = helper.make_node(op, ["x"], list(outputs), "classic", domain=DOMAIN, **attributes)
    ranks = {"label": 1, "y": len(shape) + (op == "OneHotEncoder"), "scores": 2}
    infos = [helper.make_tensor_value_info(n, kind, [f"d{k}" for k in range(ranks[n])]) for n, kind in outputs.items()]
    inputs = [helper.make_tensor_value_info("x", dtype, list(shape))]
    graph = helper.make_graph([node], "g", inputs, infos)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def rows_of_features(rng: Rng, rows: int, features: int, odd: float = 0.1) -> Array:
    """float32 [rows, features], many of them equal to a threshold of trees."""
    values = rng.normal(0, 2, (rows, features)).astype(np.float32)
    values = np.where(rng.random(values.shape) < 0.4, rng.choice(THRESHOLDS, values.shape), values)
    return np.where(rng.random(values.shape) < odd, rng.choice(ODD, values.shape), values).astype(np.float32)


MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


class _Trees:
    """Attributes nodes_* and those of leaves, tree by tree. ONNX Runtime compares mixed modes node by node."""

    def __init__(self, rng: Rng, features: int) -> None:
        self.rng, self.features = rng, features
        kinds = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
        self.nodes: dict[str, list[Any]] = {kind: [] for kind in (*kinds, "missing_value_tracks_true")}
        self.leaves: list[tuple[int, int]] = []
        self.modes = MODES if rng.random() < 0.5 else MODES[:1]
        self.missing = rng.random() < 0.5

    def grow(self, tree: int, depth: int) -> None:
        """A random tree, whose nodes are numbered as they come."""
        pending = [(0, depth)]
        numbers = 1
        while pending:
            number, left = pending.pop()
            is_leaf = left == 0 or self.rng.random() < 0.2
            children = (0, 0) if is_leaf else (numbers, numbers + 1)
            mode = "LEAF" if is_leaf else str(self.rng.choice(self.modes))
            missing = int(not is_leaf and self.missing and self.rng.random() < 0.5)
            feature, value = int(self.rng.integers(self.features)), float(self.rng.choice(THRESHOLDS))
            row = (tree, number, feature, value, mode, *children, missing)
            for kind, entry in zip(self.nodes, row, strict=True):
                self.nodes[kind].append(entry)
            if is_leaf:
                self.leaves.append((tree, number))
            else:
                pending += [(child, left - 1) for child in children]
                numbers += 2

    def attributes(self) -> dict[str, Any]:
        """nodes_*, without the optional one where no node has it."""
        named = {f"nodes_{kind}": values for kind, values in self.nodes.items()}
        if not any(self.nodes["missing_value_tracks_true"]):
            del named["nodes_missing_value_tracks_true"]
        return named


def _grown(rng: Rng) -> tuple[_Trees, int]:
    features = int(rng.integers(1, 6))
    trees = _Trees(rng, features)
    for tree in range(int(rng.integers(1, 6))):
        trees.grow(tree, int(rng.integers(1, 5)))
    return trees, features


def _weights(rng: Rng, kind: str, leaves: list[tuple[int, int]], outputs: list[int], least: float) -> dict[str, Any]:
    """Weights of each leaf for these outputs, or for the one that its tree is for."""
    # ONNX Runtime leaves out the base of an output to which no leaf of the row has added.
    is_full = len({tree for tree, _ in leaves}) < len(outputs) or rng.random() < 0.5
    rows = [
        (*leaf, output) for leaf in leaves for output in (outputs if is_full else [outputs[leaf[0] % len(outputs)]])
    ]
    values = rng.uniform(least, 1, len(rows)).astype(np.float32)
    trees, nodes, ids = (list(column) for column in zip(*rows, strict=True))
    return {
        f"{kind}_treeids": trees, f"{kind}_nodeids": nodes, f"{kind}_ids": ids, f"{kind}_weights": values.tolist()
    }  # fmt: skip


def tree_regressor(rng: Rng) -> ClassicCase:
    trees, features = _grown(rng)
    targets = int(rng.integers(1, 4))
    aggregate = str(rng.choice(["SUM", "AVERAGE", "MIN", "MAX"])) if targets == 1 else str(rng.choice(["SUM"]))
    weights = _weights(rng, "target", trees.leaves, list(range(targets)), -1)
    base = {"base_values": rng.normal(size=targets).tolist()} if rng.random() < 0.5 else {}
    rows = int(rng.integers(1, 5))
    named = {"n_targets": targets, "aggregate_function": aggregate, **weights, **base, **trees.attributes()}
    model = model_of("TreeEnsembleRegressor", (rows, features), {"y": TensorProto.FLOAT}, **named)
    return ClassicCase(model, rows_of_features(rng, rows, features))


def tree_classifier(rng: Rng) -> ClassicCase:
    trees, features = _grown(rng)
    classes = int(rng.integers(2, 5))
    kinds = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]
    # Of two classes with leaves for both ONNX Runtime gives 1 or 0, even if the model has no such label.
    outputs = [int(rng.random() < 0.3)] if classes == 2 else list(range(classes))
    weights = _weights(rng, "class", trees.leaves, outputs, float(rng.choice([-1.0, 0.0])))
    labels: dict[str, Any] = {"classlabels_int64s": rng.permutation(10)[:classes].tolist()}
    if rng.random() < 0.3:
        labels = {"classlabels_strings": [f"class {k}" for k in range(classes)]}
    if classes > 2 and rng.random() < 0.5:
        labels["base_values"] = rng.normal(size=classes).tolist()
    rows = int(rng.integers(1, 5))
    kind = TensorProto.STRING if "classlabels_strings" in labels else TensorProto.INT64
    model = model_of(
        "TreeEnsembleClassifier", (rows, features), {"label": kind, "scores": TensorProto.FLOAT},
        post_transform=str(rng.choice(kinds)), **labels, **weights, **trees.attributes(),
    )  # fmt: skip
    return ClassicCase(model, rows_of_features(rng, rows, features))


def linear(rng: Rng) -> ClassicCase:
    features, targets, rows = (int(n) for n in rng.integers(1, 6, 3))
    weights = {
        "coefficients": rng.normal(size=targets * features).tolist(),
        "intercepts": rng.normal(size=targets).tolist(),
    }
    x = rows_of_features(rng, rows, features, odd=0)
    if rng.random() < 0.4:
        model = model_of("LinearRegressor", x.shape, {"y": TensorProto.FLOAT}, version=1, targets=targets, **weights)
        return ClassicCase(model, x)
    labels = max(targets, 2)
    kind = str(rng.choice(["NONE", "LOGISTIC"] if targets == 1 else ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]))
    outputs = {"label": TensorProto.INT64, "scores": TensorProto.FLOAT}
    named = {"classlabels_ints": list(range(3, 3 + labels)), "post_transform": kind, **weights}
    return ClassicCase(model_of("LinearClassifier", x.shape, outputs, version=1, **named), x)


def vectors(rng: Rng) -> ClassicCase:
    features, rows, classes = int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.integers(2, 4))
    counts = rng.integers(1, 4, classes)
    count = int(counts.sum())
    kernel = str(rng.choice(["LINEAR", "POLY", "RBF", "SIGMOID"]))
    named: dict[str, Any] = {
        "kernel_type": kernel,
        "kernel_params": [0.3, 0.5, 2.0],
        "support_vectors": rng.normal(size=count * features).tolist(),
    }
    x = rng.normal(size=(rows, features)).astype(np.float32)
    if rng.random() < 0.4:
        named |= {"n_supports": count, "coefficients": rng.normal(size=count).tolist(), "rho": [0.2]}
        named["one_class"] = int(rng.random() < 0.3)
        return ClassicCase(model_of("SVMRegressor", x.shape, {"y": TensorProto.FLOAT}, version=1, **named), x)
    pairs = classes * (classes - 1) // 2
    if rng.random() < 0.5:
        named |= {"prob_a": (-rng.uniform(0.5, 2, pairs)).tolist(), "prob_b": rng.normal(size=pairs).tolist()}
    named |= {
        "vectors_per_class": counts.tolist(),
        "coefficients": rng.normal(size=(classes - 1) * count).tolist(),
        "rho": rng.normal(size=pairs).tolist(),
        "classlabels_ints": list(range(classes)),
    }
    outputs = {"label": TensorProto.INT64, "scores": TensorProto.FLOAT}
    return ClassicCase(model_of("SVMClassifier", x.shape, outputs, version=1, **named), x)


def prepared(rng: Rng) -> ClassicCase:
    shape = (int(rng.integers(1, 4)), int(rng.integers(1, 6)))
    x = rows_of_features(rng, *shape, odd=0)
    op = str(rng.choice(["Scaler", "Normalizer", "Binarizer", "Imputer"]))
    named: dict[str, Any] = {}
    if op == "Scaler":
        count = int(rng.choice([1, shape[1]]))
        named = {"offset": rng.normal(size=count).tolist(), "scale": rng.uniform(0.5, 2, count).tolist()}
    elif op == "Normalizer":
        named = {"norm": str(rng.choice(["MAX", "L1", "L2"]))}
    elif op == "Binarizer":
        named = {"threshold": float(rng.choice(THRESHOLDS))}
    else:
        x = np.where(rng.random(shape) < 0.3, np.float32(np.nan), x)
        count = int(rng.choice([1, shape[1]]))
        named = {"imputed_value_floats": rng.normal(size=count).tolist(), "replaced_value_float": float("nan")}
    return ClassicCase(model_of(op, shape, {"y": TensorProto.FLOAT}, version=1, **named), x)


def encoded(rng: Rng) -> ClassicCase:
    shape = (int(rng.integers(1, 4)), int(rng.integers(1, 6)))
    x = rng.integers(0, 8, shape)
    keys = rng.permutation(8)[:5]
    if rng.random() < 0.4:
        named = {"cats_int64s": keys.tolist(), "zeros": 1}
        info = {"y": TensorProto.FLOAT}
        return ClassicCase(model_of("OneHotEncoder", shape, info, version=1, dtype=TensorProto.INT64, **named), x)
    named = {"keys_int64s": keys.tolist(), "values_floats": rng.normal(size=5).tolist(), "default_float": -9.0}
    info = {"y": TensorProto.FLOAT}
    return ClassicCase(model_of("LabelEncoder", shape, info, version=2, dtype=TensorProto.INT64, **named), x)


MAKERS: Mapping[str, Callable[[Rng], ClassicCase]] = {
    "tree_regressor": tree_regressor,
    "tree_classifier": tree_classifier,
    "linear": linear,
    "vectors": vectors,
    "prepared": prepared,
    "encoded": encoded,
}


def damaged(model: onnx.ModelProto, rng: Rng) -> onnx.ModelProto:
    """The model with one attribute left out, cut, longer, or of another number or name."""
    changed = copy.deepcopy(model)
    node = changed.graph.node[0]
    entry = node.attribute[int(rng.integers(len(node.attribute)))]
    if rng.random() < 0.2:
        node.attribute.remove(entry)
        return changed
    entry.i = int(rng.choice([-1, 0, 5, 99, 2**40]))
    entry.f = float(rng.choice([np.nan, np.inf, -1e38]))
    entry.s = bytes(rng.choice([b"", b"X", b"PROBIT", b"MAX"]))
    del entry.t.dims[:]
    numbers, names = [-1, -(2**40), 2**40, 7, 0, 100_000], [b"LEAF", b"BRANCH_EQ", b"", b"BRANCH_X"]
    for values, others in ((entry.ints, numbers), (entry.floats, [np.nan, np.inf]), (entry.strings, names)):
        if len(values):
            place, other = int(rng.integers(len(values))), others[int(rng.integers(len(others)))]
            kind = rng.integers(3)
            if kind == 0:
                del values[place:]
            elif kind == 1:
                values.append(other)
            else:
                values[place] = other
    return changed
