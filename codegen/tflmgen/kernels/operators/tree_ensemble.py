"""TreeEnsemble, an operator of tflmgen's own: decision trees as tables (firmware/kernels/tree_ensemble.h).

What scikit-learn, LightGBM and XGBoost export as ONNX's TreeEnsemble* becomes it; other runtimes refuse it by its name.

Inputs: float32 features [rows, features]; int32 nodes [nodes, 2], a threshold and a link as the kernel's header has
them; int32 roots [trees], each the number of a node; optional float32 weights [leaves, outputs].
Output: float32 [rows, outputs].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, Null, OperatorInstance, Output, Params, Scratch, Target
from tflmgen.kernels.operators.custom import CustomOperator
from tflmgen.kernels.specification.operator import Options, Rule, Shape
from tflmgen.kernels.specification.option_fields import integer
from tflmgen.kernels.specification.rules import STATIC, constant, input_is, input_shape, input_type, output_is

Array = NDArray[Any]

FEATURES, NODES, ROOTS, WEIGHTS = range(4)
"""The operator's inputs."""
MOST_FEATURES = 1 << 15
"""Numbers of features and of outputs that a link can name."""


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Number of outputs, and how trees are joined: 0 by sum, 1 by the least, 2 by the greatest."""

    outputs: int
    aggregate: int


def has_weight_rows(op: OperatorInstance) -> bool:
    """Whether leaves are rows of weights; else each is a weight for one output."""
    return len(op.inputs) > WEIGHTS and op.inputs[WEIGHTS] is not None


def _are_rows(op: OperatorInstance) -> bool:
    weights = input_type(op, WEIGHTS)
    return weights.dtype is DType.FLOAT32 and len(weights.shape) == 2 and op.constants[WEIGHTS] is not None


def _can_join(op: OperatorInstance) -> bool:
    return op.attributes.aggregate == 0 or op.attributes.outputs == 1 or has_weight_rows(op)


def _tables_fit(op: OperatorInstance) -> bool:
    """Whether every node is within the tables, and the last one is a leaf: links lead forward, so walks end."""
    nodes, roots = op.constants[NODES], op.constants[ROOTS]
    assert nodes is not None
    assert roots is not None
    if nodes.ndim != 2 or nodes.shape[1:] != (2,) or roots.ndim != 1 or not roots.size:
        return False
    links = nodes[:, 1].astype(np.int64) & 0xFFFFFFFF
    steps, names = links >> 16, links & 0x7FFF
    is_leaf = steps == 0
    numbers = np.arange(len(nodes))
    nodes_fit = bool(((numbers + np.maximum(steps, 1) < len(nodes)) | is_leaf).all())
    features_fit = bool((names[~is_leaf] < input_shape(op, FEATURES)[-1]).all())
    roots_fit = bool(((roots >= 0) & (roots < len(nodes))).all())
    return nodes_fit and features_fit and roots_fit and _leaves_fit(op, nodes[is_leaf, 0], names[is_leaf])


def _leaves_fit(op: OperatorInstance, rows: Array, names: Array) -> bool:
    if not has_weight_rows(op):
        return bool((names < op.attributes.outputs).all())
    count, outputs = input_shape(op, WEIGHTS)
    return outputs == op.attributes.outputs and bool(((rows >= 0) & (rows < count)).all())


class TreeEnsemble(CustomOperator):
    """Decision trees on the features of each row; the leaves that a row ends in are joined."""

    name = "TreeEnsemble"
    inputs = (3, 4)
    rules = (
        STATIC,
        input_is(FEATURES, "input", DType.FLOAT32),
        input_is(NODES, "tensor of nodes", DType.INT32),
        input_is(ROOTS, "tensor of roots", DType.INT32),
        output_is(DType.FLOAT32),
        constant(NODES, "tensor of nodes"),
        constant(ROOTS, "tensor of roots"),
        Rule("features in rows", lambda op: len(input_shape(op, FEATURES)) == 2),
        Rule(
            "constant float32 weights in rows, where there are any",
            lambda op: not has_weight_rows(op) or _are_rows(op),
        ),
        Rule("one output, or rows of weights, where trees are joined by their least or greatest leaf", _can_join),
        Rule("nodes, roots and leaves within their tables", _tables_fit),
    )

    def attributes(self, options: Options) -> Ensemble:
        return Ensemble(integer(options, "outputs", 1, MOST_FEATURES), integer(options, "aggregate", 0, 2))

    def infer(self, op: OperatorInstance) -> tuple[Shape]:
        return ((input_shape(op, FEATURES)[0], op.attributes.outputs),)

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        rows, features = input_shape(op, FEATURES)
        nodes, roots = op.constants[NODES], op.constants[ROOTS]
        assert nodes is not None
        assert roots is not None
        links = nodes[:, 1]
        fields = (
            ("rows", rows),
            ("features", features),
            ("trees", len(roots)),
            ("outputs", op.attributes.outputs),
            ("aggregate", op.attributes.aggregate),
            ("nan_links", bool(((links >> 16 != 0) & (links & 0x8000 != 0)).any())),
            ("weight_rows", has_weight_rows(op)),
        )
        weights = Input(WEIGHTS) if has_weight_rows(op) else Null()
        operands = (Input(FEATURES), Input(NODES), Input(ROOTS), weights, Output(0), Scratch(features * 4))
        params = Params("tflmgen_tree_ensemble", fields)
        return Kernel("tflmgen_tree_ensemble", "tree_ensemble.h", operands, params)


OPERATORS = (TreeEnsemble().row(),)
