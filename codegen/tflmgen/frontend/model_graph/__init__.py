"""The graph of a Model: who computes and reads tensors, rewrites of it, and its integer tensors.

In: a Model. Out: uses of tensors, bindings of subgraphs, constants as arrays, and the Model rewritten.
Decided here: how a rewrite keeps buffers and indices whole; the quantisation that TFLite fixes for operators.
"""

from tflmgen.frontend.model_graph.integer_tensors import (
    FLOAT,
    LOGARITHMS,
    PROBABILITIES,
    SIGNED_UNITS,
    ElementType,
    WeightOperands,
    bias_element,
    weight_places,
    with_element,
)
from tflmgen.frontend.model_graph.invariant_operands import without_captured, without_operands
from tflmgen.frontend.model_graph.model_rewrite import (
    Rule,
    SubGraphRewrite,
    TensorUses,
    rewrite_model,
    rewrite_subgraph,
    with_own_buffers,
    with_subgraphs,
)
from tflmgen.frontend.model_graph.subgraphs import (
    CONTROL_FLOW,
    Binding,
    OperatorKey,
    bindings,
    fused_activation,
    is_loop,
)
from tflmgen.frontend.model_graph.tensor_values import along_axis, constant_values
from tflmgen.frontend.model_graph.union_find import UnionFind

__all__ = [
    "CONTROL_FLOW",
    "FLOAT",
    "LOGARITHMS",
    "PROBABILITIES",
    "SIGNED_UNITS",
    "Binding",
    "ElementType",
    "OperatorKey",
    "Rule",
    "SubGraphRewrite",
    "TensorUses",
    "UnionFind",
    "WeightOperands",
    "along_axis",
    "bias_element",
    "bindings",
    "constant_values",
    "fused_activation",
    "is_loop",
    "rewrite_model",
    "rewrite_subgraph",
    "weight_places",
    "with_element",
    "with_own_buffers",
    "with_subgraphs",
    "without_captured",
    "without_operands",
]
