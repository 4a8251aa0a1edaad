"""Nodes whose operands are constants: ONNX's reference evaluator computes them, so that shape arithmetic leaves nothing
behind. Sizes of results are known before any of them is allocated.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from tflmgen.frontend.onnx.layout_graph import (
    LARGEST_CONSTANT,
    NUMPY_DTYPES,
    Array,
    OnnxValue,
    check_constant,
    constant,
)
from tflmgen.frontend.onnx.lowerings import NOT_EVALUATED
from tflmgen.frontend.onnx.node import OnnxNode
from tflmgen.frontend.onnx.parameter_array import as_parameter, names_of

OWN_DOMAINS = ("", "ai.onnx")

SEQUENCES = frozenset(
    {
        *("SequenceConstruct", "SequenceEmpty", "SequenceInsert", "SequenceErase", "SequenceAt", "SequenceLength"),
        *("ConcatFromSequence", "SplitToSequence"),
    }
)
"""Operators that take or give sequences, whose lengths and places are known at build time."""

RANDOM = frozenset(
    ["RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"]
)
"""Operators that are not evaluated at build time."""


LARGEST_FOLDED = 1 << 24
"""Elements up to which a node without run-time operands is evaluated at build time."""


FOLDABLE_DOMAINS = ("ai.onnx.preview.training", "ai.onnx.ml")
"""Domains beside ONNX's own that its reference evaluator knows."""


MOVING = frozenset(["Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"])
"""Operators of which a dequantised constant keeps its integers, because their lowering knows them."""


CUTTING = MOVING | {"Slice", "Split", "Concat", "Cast", "CastLike", "Shape", "Size"}
"""Operators whose results have each element of a parameter once at most: they are evaluated even if it trains."""


def _onnx_type(array: Array) -> int:
    return int(onnx.helper.np_dtype_to_tensor_dtype(array.dtype))


def is_foldable(node: OnnxNode) -> bool:
    """Whether ONNX's evaluator may compute the node's results: its operands are constants, and not too large."""
    if node.op in NOT_EVALUATED | SEQUENCES or node.proto.domain not in (*OWN_DOMAINS, *FOLDABLE_DOMAINS):
        return False
    has_codes = any(value is not None and value.codes is not None for value in node.inputs)
    if has_codes and node.op in MOVING:
        return False
    if node.op in RANDOM or any(a.type == onnx.AttributeProto.GRAPH for a in node.proto.attribute):
        return False
    if any(value is not None and value.constant is None for value in node.inputs):
        return False
    return sum(value.size for value in node.inputs if value is not None) <= LARGEST_FOLDED


def computes_parameters(node: OnnxNode) -> bool:
    """Whether the node would be evaluated, and its results change with parameters."""
    return node.op not in CUTTING and any(map(names_of, _contents(node))) and is_foldable(node)


def _contents(node: OnnxNode) -> list[Array | None]:
    return [value.constant for value in node.inputs if value is not None]


def evaluated(node: OnnxNode, domain: str) -> list[OnnxValue] | None:
    """The results by ONNX's reference evaluator; None where it can't evaluate the node."""
    names = [name for name in node.proto.input if name]
    arrays = _contents(node)
    feeds = {name: np.asarray(array) for name, array in zip(names, arrays, strict=True) if array is not None}
    parameters = frozenset[str]().union(*map(names_of, arrays))
    inputs = [onnx.helper.make_tensor_value_info(n, _onnx_type(a), a.shape) for n, a in feeds.items()]
    outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.proto.output if name]
    body = onnx.helper.make_graph([node.proto], "constant", inputs, outputs)
    opset = onnx.helper.make_opsetid(domain, node.version)
    model = onnx.helper.make_model(body, opset_imports=[opset])
    if not check_results(model, feeds):
        return None
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            evaluated = iter(ReferenceEvaluator(model).run(None, feeds))
    except Exception:
        # The evaluator raises whatever numpy does; the operator's lowering says what is wrong.
        return None
    results = [np.asarray(next(evaluated)) if name else None for name in node.proto.output]
    if any(array is not None and array.dtype not in NUMPY_DTYPES for array in results):
        return None
    return [constant(as_parameter(array, parameters)) if array is not None else constant(0) for array in results]


READ = 4096
"""Elements of an operand up to which ONNX's shape inference gets its contents: shapes, axes, limits."""
GROWTH = 16
"""Result bytes per byte of operands that are assumed where shape inference does not know the result's shape."""


def check_results(model: onnx.ModelProto, operands: Mapping[str, Array]) -> bool:
    """Raises NodeError if the model's one node makes more than LARGEST_CONSTANT bytes of these operands.

    False if its results may be larger, but need not be.
    """
    known = onnx.ModelProto()
    known.CopyFrom(model)
    small = {name: array for name, array in operands.items() if array.size <= READ}
    known.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in small.items())
    try:
        inferred = onnx.shape_inference.infer_shapes(known, data_prop=True)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        inferred = known
    is_bounded = True
    for output in inferred.graph.output:
        proto = output.type.tensor_type
        sizes = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in proto.shape.dim]
        if not proto.HasField("shape") or not proto.elem_type or -1 in sizes:
            is_bounded &= GROWTH * sum(array.nbytes for array in operands.values()) <= LARGEST_CONSTANT
        else:
            check_constant(sizes, _bytes_of(proto.elem_type))
    return is_bounded


def _bytes_of(elem_type: int) -> int:
    try:
        return int(onnx.helper.tensor_dtype_to_np_dtype(elem_type).itemsize)
    except (KeyError, TypeError):
        return 8
