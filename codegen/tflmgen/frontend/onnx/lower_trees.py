"""Ensembles of decision trees, as scikit-learn, LightGBM and XGBoost export them (domain ai.onnx.ml)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tflmgen.frontend.onnx.class_scores import both_classes, chosen_class, labels_of, named, numbered, transformed
from tflmgen.frontend.onnx.element_graph import F32, I64
from tflmgen.frontend.onnx.layout_graph import Array, OnnxValue, check_constant, constant
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import OnnxNode
from tflmgen.frontend.onnx.node_error import NodeError
from tflmgen.frontend.onnx.tree_tables import MOST_NAMES, Condition, Leaf, tables

_AGGREGATES = ("average", "sum", "min", "max")
_JOINED_BY = {"average": 0, "sum": 0, "min": 1, "max": 2}
"""The operator's number of an aggregate function."""
_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
"""By the number that TreeEnsemble has for each."""


def _numbers(node: OnnxNode, name: str, default: Sequence[float] = ()) -> Array:
    """An attribute, or its twin that is a tensor."""
    tensor = node.attribute(f"{name}_as_tensor")
    if tensor is not None:
        return np.asarray(tensor, np.float32).reshape(-1)
    return np.array(node.attribute(name, default), np.float32)


def _same_lengths(node: OnnxNode, *names: str) -> list[list[int]]:
    """Attributes of one length, which the first decides. Raises NodeError for others."""
    lists = [list(node.attribute(name) or ()) for name in names]
    for name, values in zip(names, lists, strict=True):
        if len(values) != len(lists[0]):
            raise NodeError(f"has {len(values)} {name}, but {len(lists[0])} {names[0]}")
    return lists


def _ensemble(
    node: OnnxNode, branches: Mapping[int, Condition], leaves: Mapping[int, Leaf], roots: Sequence[int], outputs: int
) -> OnnxValue:
    """float32 [rows, outputs]: the leaves joined as the attribute aggregate_function has it."""
    g, value = node.graph, node[0]
    if value.rank == 1:
        value = g.reshape(value, [1, value.size])
    if value.rank != 2:
        raise NodeError(f"takes rows of features, but its input has {value.rank} dimensions")
    if not 1 <= outputs <= MOST_NAMES:
        raise NodeError(f"has {outputs:,} outputs; there can be 1 to {MOST_NAMES:,}")
    check_constant((value.shape[0], outputs))
    name = named(node, "aggregate_function", _AGGREGATES, 1)
    if _JOINED_BY[name] and outputs > 1 and any({o for o, _ in leaf} != {*range(outputs)} for leaf in leaves.values()):
        raise NodeError(f"takes the {name} of leaves that are not for all its outputs")
    if not roots:
        return constant(np.zeros((value.shape[0], outputs), np.float32))
    table = tables(branches, leaves, roots, value.shape[1], outputs)
    weights = None if table.weights is None else constant(table.weights)
    joined = g.tree_ensemble(
        g.cast(value, F32), constant(table.nodes), constant(table.roots), weights, outputs, _JOINED_BY[name]
    )
    return g.div(joined, float(len(roots))) if name == "average" else joined


def _old_trees(node: OnnxNode, kind: str) -> tuple[dict[int, Condition], dict[int, Leaf], list[int]]:
    """Branches, leaves and roots of attributes nodes_* and `kind`_*, numbered by their place there."""
    trees, numbers, features, yes, no = _same_lengths(
        node, *(f"nodes_{k}" for k in ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids"))
    )
    values, modes = _numbers(node, "nodes_values"), node.attribute("nodes_modes") or []
    missing = node.attribute("nodes_missing_value_tracks_true") or [0] * len(trees)
    if not len(values) == len(modes) == len(missing) == len(trees):
        raise NodeError(f"has {len(trees)} nodes, but {len(values)} values and {len(modes)} modes for them")
    places = {key: place for place, key in enumerate(zip(trees, numbers, strict=True))}
    if len(places) != len(trees):
        raise NodeError("has two nodes of the same number in a tree")
    branches: dict[int, Condition] = {}
    for place, tree in enumerate(trees):
        if modes[place] != "LEAF":
            first, second = (places.get((tree, child[place]), -1) for child in (yes, no))
            compared = (float(values[place]),)
            branches[place] = Condition(features[place], modes[place], compared, first, second, bool(missing[place]))
    followed = {number for branch in branches.values() for number in (branch.yes, branch.no)}
    firsts = [place for place, tree in enumerate(trees) if place not in followed]
    roots = {trees[place]: place for place in reversed(firsts)}
    if len(firsts) != len(roots):
        raise NodeError("has a tree of several roots")
    weights = defaultdict[int, list[tuple[int, float]]](list)
    outputs = _same_lengths(node, *(f"{kind}_{k}" for k in ("treeids", "nodeids", "ids")))
    numbers_added = _numbers(node, f"{kind}_weights")
    if len(numbers_added) != len(outputs[0]):
        raise NodeError(f"has {len(numbers_added)} {kind}_weights for {len(outputs[0])} leaves")
    for *key, output, weight in zip(*outputs, numbers_added, strict=True):
        weights[places.get((key[0], key[1]), -1)].append((output, float(weight)))
    leaves: dict[int, Leaf] = {place: weights[place] for place, mode in enumerate(modes) if mode == "LEAF"}
    if set(weights) - set(leaves):
        raise NodeError("has weights for a node that is no leaf")
    return branches, leaves, [roots[tree] for tree in sorted(roots)]


def _with_base(node: OnnxNode, scores: OnnxValue) -> OnnxValue:
    base = _numbers(node, "base_values")
    return node.graph.add(scores, constant(base)) if base.size in (1, scores.shape[-1]) and base.any() else scores


@lowers("ai.onnx.ml.TreeEnsembleRegressor", evaluated=False)
def lower_regressor(node: OnnxNode) -> OnnxValue:
    """TreeEnsembleRegressor: a number for each target."""
    branches, leaves, roots = _old_trees(node, "target")
    scores = _ensemble(node, branches, leaves, roots, int(node.attribute("n_targets", 1)))
    return transformed(node, _with_base(node, scores))


@lowers("ai.onnx.ml.TreeEnsembleClassifier", evaluated=False)
def lower_classifier(node: OnnxNode) -> tuple[OnnxValue, OnnxValue]:
    """TreeEnsembleClassifier: label and scores of each row."""
    g = node.graph
    labels = labels_of(node, "classlabels_int64s", "classlabels_strings")
    branches, leaves, roots = _old_trees(node, "class")
    scores = _ensemble(node, branches, leaves, roots, max(len(labels), 1))
    classes = {output for leaf in leaves.values() for output, _ in leaf}
    if len(labels) != 2:
        scores = _with_base(node, scores)
        return chosen_class(g, scores, labels), transformed(node, scores)
    are_positive = all(weight >= 0 for leaf in leaves.values() for _, weight in leaf)
    base = _numbers(node, "base_values")
    if classes == {0} and base.size < 2:
        return both_classes(node, _with_base(node, g.part(scores, 1, 0, 1)), labels, are_positive)
    scores = _with_base(node, scores)
    if len(classes) == 2:
        return chosen_class(g, scores, labels), transformed(node, scores)
    least = 0.5 if are_positive else 0.0
    is_second = g.greater(g.part(scores, 1, 1 if classes == {1} else 0, 1), least)
    return numbered(g, g.cast(g.squeeze(is_second, [1]), I64), labels), transformed(node, scores)


@lowers("ai.onnx.ml.TreeEnsemble", evaluated=False)
def lower_ensemble(node: OnnxNode) -> OnnxValue:
    """TreeEnsemble: a number for each target; leaves have numbers of their own, and conditions may be sets."""
    features, yes, no, yes_leaf, no_leaf = _same_lengths(
        node,
        *(f"nodes_{k}" for k in ("featureids", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")),
    )
    count = len(features)
    splits, modes = _tensor(node, "nodes_splits"), _tensor(node, "nodes_modes").astype(int)
    missing = node.attribute("nodes_missing_value_tracks_true") or [0] * count
    if not len(splits) == len(modes) == len(missing) == count or any(not 0 <= m < len(_MODES) for m in modes):
        raise NodeError("has splits or modes that do not fit its nodes")
    sets = _sets(_tensor(node, "membership_values"))
    branches = {}
    for place in range(count):
        mode = _MODES[modes[place]]
        values = (float(splits[place]),) if mode != "BRANCH_MEMBER" else next(sets, ())
        # Leaves are numbered behind the branches.
        first, second = (n[place] + count * leaf[place] for n, leaf in ((yes, yes_leaf), (no, no_leaf)))
        branches[place] = Condition(features[place], mode, values, first, second, bool(missing[place]))
    targets, weights = list(node.attribute("leaf_targetids") or ()), _tensor(node, "leaf_weights")
    if len(targets) != len(weights):
        raise NodeError(f"has {len(weights)} leaf_weights for {len(targets)} leaf_targetids")
    leaves = {count + k: [(t, float(w))] for k, (t, w) in enumerate(zip(targets, weights, strict=True))}
    roots = list(node.attribute("tree_roots") or ())
    return transformed(node, _ensemble(node, branches, leaves, roots, int(node.attribute("n_targets", 1))))


def _tensor(node: OnnxNode, name: str) -> Array:
    array = node.attribute(name)
    return np.zeros(0, np.float32) if array is None else np.asarray(array).reshape(-1)


def _sets(values: Array) -> Iterator[tuple[float, ...]]:
    """The members of each set; NaN ends a set."""
    members: list[float] = []
    for value in values.tolist():
        if value != value:
            yield tuple(members)
            members = []
        else:
            members.append(value)
    if members:
        yield tuple(members)
