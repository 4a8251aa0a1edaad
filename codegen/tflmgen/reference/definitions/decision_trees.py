"""TreeEnsemble: the leaves that a row of features ends in, joined over all trees.

Nodes are two int32: a threshold as an integer in the order of the floats, or what a leaf has; and a link, of which the
high half is how far the next node is where the feature is greater (0: a leaf), and the low half names the feature (bit
15: NaN is no greater) or the leaf's output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tflmgen.reference.operation import Array, Evaluation, Operation

_NAN = np.iinfo(np.int32).max


def _ordered(values: Array) -> Array:
    """int32 in the order of float32 values; NaN is the greatest."""
    bits = np.ascontiguousarray(values, np.float32).view(np.int32)
    return np.where(np.isnan(values), _NAN, np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits))


def _leaf(nodes: Array, links: Array, root: int, features: Array) -> int:
    """Number of the node in which a row of features, as ordered integers, ends."""
    node = root
    while links[node] >> 16:
        feature = features[links[node] & 0x7FFF]
        is_near = feature <= nodes[node, 0] or (links[node] & 0x8000 and feature == _NAN)
        node += 1 if is_near else int(links[node] >> 16)
    return node


def _ensemble(op: Operation) -> Sequence[Array]:
    nodes, roots = op.array(1), op.integers(2)
    links = nodes[:, 1].astype(np.int64) & 0xFFFFFFFF
    dtype = np.float64 if op.wide else np.float32
    outputs, aggregate = int(op.options["outputs"]), int(op.options["aggregate"])
    join = (np.add, np.minimum, np.maximum)[aggregate]
    weights = op.array(3) if op.has(3) else None
    result = np.zeros((len(op.array(0)), outputs), dtype)
    for row, features in enumerate(_ordered(op.array(0))):
        for tree, root in enumerate(roots):
            leaf = _leaf(nodes, links, int(root), features)
            places = slice(None) if weights is not None else links[leaf] & 0x7FFF
            weight = nodes[leaf, 0].view(np.float32) if weights is None else weights[nodes[leaf, 0]]
            own = result[row, places]
            result[row, places] = weight if aggregate and not tree else join(own, dtype(weight))
    return [result]


EVALUATIONS: Mapping[str, Evaluation] = {"CUSTOM:TreeEnsemble": _ensemble}
