"""Operators between DEQUANTIZE and QUANTIZE become integer operators, as TFLite has them.

First conversions move: DEQUANTIZE behind operators that keep elements as they are, QUANTIZE before them. Then each
operator whose operands are dequantised and whose result is quantised is tried with the integers themselves; the
operator table says whether there is a kernel. What has none stays in float, between its conversions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tflmgen.frontend.model_graph.integer_tensors import FLOAT, PROBABILITIES, SIGNED_UNITS, ElementType, weight_places
from tflmgen.frontend.model_graph.model_rewrite import SubGraphRewrite, TensorUses
from tflmgen.frontend.onnx.codes_rewrite import CodesRewrite, integer_bias, integer_operand, integer_weights
from tflmgen.frontend.onnx.layout_graph import Codes
from tflmgen.frontend.onnx.lower_window import VALID
from tflmgen.frontend.onnx.merged_layers import clamp_of, merge_biases
from tflmgen.frontend.tflite.model import ABSENT, FileOperator, Model
from tflmgen.ir import DType, Quantization

COMMUTING: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(
        (
            *("RESHAPE", "TRANSPOSE", "STRIDED_SLICE", "SLICE", "GATHER", "GATHER_ND", "PAD", "PADV2", "REVERSE_V2"),
            *("TILE", "BROADCAST_TO", "SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "RESIZE_NEAREST_NEIGHBOR", "MAX_POOL_2D"),
            *("REDUCE_MAX", "REDUCE_MIN"),
        ),
        (0,),
    ),
    **dict.fromkeys(("MAXIMUM", "MINIMUM"), (0, 1)),
    **dict.fromkeys(("CONCATENATION", "PACK"), ()),
}
"""Operators that give the same whether elements are quantised before or after them, and the places of these elements
among their operands; none: all. They move elements, or choose among them by their order."""


REQUANTISED = frozenset(
    {
        *("ADD", "SUB", "MUL", "MEAN", "SUM", "BATCH_MATMUL", "FULLY_CONNECTED"),
        *("HARD_SWISH", "LEAKY_RELU", "PRELU", "ELU", "EXP", "GELU", "ABS", "NEG"),
    }
)
"""Operators whose integer kernels take a scale for each operand and one for the result."""

ROUNDED = frozenset({"AVERAGE_POOL_2D", "RESIZE_BILINEAR"})
"""Operators whose integer kernels keep the scale and round."""


FIXED: Mapping[str, Mapping[DType, Quantization]] = {
    "SOFTMAX": PROBABILITIES,
    "LOGISTIC": PROBABILITIES,
    "TANH": SIGNED_UNITS,
}
"""Operators whose integer kernels have a result of this quantisation."""

LEAST_RATIO = 0.6
"""Least ratio of the result's scale to that of an intermediate rounding. The intermediate is off by at most 0.6 of its
steps (SOFTMAX; others by 0.5), one step of the result; two roundings to it add half a step each. Integers that are less
than two steps apart differ by at most one."""


def with_integer_operators(model: Model, codes: Sequence[Mapping[int, Codes]], buffer: Callable[[bytes], int]) -> Model:
    """The Model with integer operators where it quantises.

    codes   of the constants of each subgraph
    buffer  gives contents their number in the file
    """
    graphs = []
    for graph in model.subgraphs:
        if any(op.name in ("QUANTIZE", "DEQUANTIZE") for op in graph.operators):
            rewriting = CodesRewrite(graph, codes[graph.index], buffer)
            _rewrite(rewriting)
            graph = rewriting.result()
        graphs.append(graph)
    return replace(model, subgraphs=tuple(graphs))


_CONVERSIONS = frozenset({"QUANTIZE", "DEQUANTIZE", "CAST", "ADD"})
"""Operators of conversions, also to and from unsigned codes, that others may have been put in place of."""


def _rewrite(graph: CodesRewrite) -> None:
    _lower_dequantize(graph)
    while _hoist_requantization(graph):
        pass
    merge_biases(graph)
    _lower_dequantize(graph)
    _compute_in_integers(graph)
    _lower_dequantize(graph)
    graph.drop_unread(lambda op: op.name in _CONVERSIONS)


def _data(op: FileOperator) -> tuple[int, ...]:
    """Places of the operands whose elements a commuting operator moves."""
    return COMMUTING[op.name] or tuple(range(len(op.inputs)))


def _lower_dequantize(graph: CodesRewrite) -> None:
    """Operators that keep elements as they are run on integers, and what quantises back to the same is nothing."""
    sources: dict[int, int] = {}

    def lower(_: SubGraphRewrite, op: FileOperator) -> bool:
        if op.name in ("QUANTIZE", "DEQUANTIZE") and op.inputs[0] in sources:
            source = sources[op.inputs[0]]
            if graph.element(source) == graph.element(op.outputs[0]) and op.outputs[0] not in graph.graph.outputs:
                graph.use_instead(source, op.outputs[0])
                return True
        if op.name == "DEQUANTIZE" or (op.name == "QUANTIZE" and graph.element(op.inputs[0])):
            sources[op.outputs[0]] = op.inputs[0]
        moved = _on_integers(graph, op, sources)
        if moved is None:
            return False
        graph.operators.append(moved)
        graph.add("DEQUANTIZE", moved.outputs, op.outputs)
        sources[op.outputs[0]] = moved.outputs[0]
        return True

    graph.apply(lower)


def _on_integers(graph: CodesRewrite, op: FileOperator, sources: Mapping[int, int]) -> FileOperator | None:
    """A commuting operator of dequantised elements of one quantisation, on the integers."""
    if op.name not in COMMUTING or graph.tensors[op.outputs[0]].dtype is not DType.FLOAT32:
        return None
    inputs = list(op.inputs)
    for place in _data(op):
        if op.inputs[place] not in sources:
            return None
        inputs[place] = sources[op.inputs[place]]
    elements = {graph.element(inputs[place]) for place in _data(op)}
    element = elements.pop()
    if elements or element is None:
        return None
    retyped = _retyped(graph, op, inputs, element, graph.in_element(op.outputs[0], element))
    return retyped if retyped is not None and graph.is_computed(retyped) else None


def _retyped(
    graph: CodesRewrite, op: FileOperator, inputs: list[int], element: ElementType, result: int
) -> FileOperator | None:
    """A commuting operator on integers; None where its filler has no integer."""
    if op.name == "PADV2":
        value = graph.values(inputs[2])
        if value is None:
            return None
        least, greatest = element.dtype.limits
        with np.errstate(over="ignore"):
            code = np.rint(value.astype(np.float64) / element.affine.scale) + element.affine.zero_point
        if np.isnan(code).any():
            return None
        array = np.clip(code, least, greatest).astype(element.dtype.numpy)
        inputs[2] = graph.constant_in_element(inputs[2], array, element)
    return graph.operator(op.name, inputs, [result], op.options)


def _hoist_requantization(graph: CodesRewrite) -> bool:
    """Moves one QUANTIZE or clamp before a commuting operator that it alone reads; whether there was one."""
    uses = graph.uses()
    for op in graph.operators:
        before = uses.sole_producer(op.inputs[0]) if op.name == "QUANTIZE" or clamp_of(op) else None
        swapped = _swapped(graph, before, op) if before is not None and before.name in COMMUTING else None
        if before is not None and swapped is not None:
            graph.replace(op)
            graph.replace(before, *swapped)
            return True
    return False


def _swapped(graph: CodesRewrite, before: FileOperator, op: FileOperator) -> list[FileOperator] | None:
    """A commuting operator and an element-wise one after it, in the other order."""
    if clamp_of(op) and before.name == "PADV2":
        return None
    element = graph.element(op.outputs[0])
    inputs, first = list(before.inputs), []
    for place in _data(before):
        if graph.tensors[inputs[place]].data is not None:
            return None
        result = graph.in_element(inputs[place], element or FLOAT)
        first.append(graph.operator(op.name, [inputs[place]], [result], op.options))
        inputs[place] = result
    if element is None:
        return [*first, graph.operator(before.name, inputs, op.outputs, before.options)]
    moved = _retyped(graph, before, inputs, element, op.outputs[0])
    return [*first, moved] if moved is not None and graph.is_computed(moved) else None


def _compute_in_integers(graph: CodesRewrite) -> None:
    """Each operator whose operands are dequantised and whose result is quantised."""
    uses = graph.uses()
    sources = {op.outputs[0]: op.inputs[0] for op in graph.operators if op.name == "DEQUANTIZE"}
    absorbed: set[int] = set()

    def compute(_: SubGraphRewrite, op: FileOperator) -> bool:
        if not absorbed.isdisjoint(op.outputs):
            return True
        if weight_places(op.name) is None and op.name not in REQUANTISED | ROUNDED and op.name not in FIXED:
            return False
        clamp, last = _to_quantize(uses, op)
        operators = None if last is None else _in_integers(graph, op, sources, clamp, last)
        if last is None or not operators:
            return False
        graph.operators += operators
        absorbed.update(last.outputs, () if clamp is None else clamp.outputs)
        return True

    graph.apply(compute)


def _to_quantize(uses: TensorUses, op: FileOperator) -> tuple[FileOperator | None, FileOperator | None]:
    """The clamp, if any, and the QUANTIZE that alone read an operator's result; None for those that are not there."""
    clamp = None
    reader = uses.sole_reader(op.outputs[0])
    if reader is not None and clamp_of(reader) and op.name not in ROUNDED and op.name not in FIXED:
        clamp, reader = reader, uses.sole_reader(reader.outputs[0])
    return clamp, reader if reader is not None and reader.name == "QUANTIZE" else None


def _in_integers(
    graph: CodesRewrite,
    op: FileOperator,
    sources: Mapping[int, int],
    clamp: FileOperator | None,
    quantize: FileOperator,
) -> list[FileOperator] | None:
    """The operator on integers, with a clamp as its activation; None where there is no kernel for it."""
    element = graph.element(quantize.outputs[0])
    options = dict(op.options or {})
    if element is None or (clamp is not None and options.get("fused_activation_function") != 0):
        return None
    if clamp is not None:
        options["fused_activation_function"] = clamp_of(clamp)
    inputs = _integer_operands(graph, op, sources)
    if inputs is None:
        return None
    kinds = {entry.dtype for i in inputs if (entry := graph.element(i)) is not None and graph.tensors[i].data is None}
    if kinds != {element.dtype}:
        return None
    middle = element
    if op.name in ROUNDED or op.name in FIXED:
        own = graph.element(inputs[0])
        assert own is not None
        middle = own if op.name in ROUNDED else ElementType(element.dtype, FIXED[op.name][element.dtype])
        if element.affine.scale < middle.affine.scale * LEAST_RATIO:
            sums = _window_sums(graph, op, inputs, quantize)
            return [sums] if sums is not None and graph.is_computed(sums) else None
    if middle == element:
        computed = graph.operator(op.name, inputs, quantize.outputs, options)
        return [computed] if graph.is_computed(computed) else None
    result, real = graph.in_element(op.outputs[0], middle), graph.in_element(op.outputs[0], FLOAT)
    computed = graph.operator(op.name, inputs, [result], options)
    conversions = [
        graph.operator("DEQUANTIZE", [result], [real]),
        graph.operator("QUANTIZE", [real], quantize.outputs),
    ]
    return [computed, *conversions] if graph.is_computed(computed) else None


def _window_sums(
    graph: CodesRewrite, op: FileOperator, inputs: list[int], quantize: FileOperator
) -> FileOperator | None:
    """An average pool without padding as a depthwise convolution with weights of 1, which rounds once."""
    options = op.options or {}
    if op.name != "AVERAGE_POOL_2D" or options["padding"] != VALID:
        return None
    height, width, channels = options["filter_height"], options["filter_width"], graph.tensors[inputs[0]].shape[3]
    kind = ElementType(DType.INT8, Quantization((float(np.float32(1 / (height * width))),), (0,)))
    weights = graph.constant_in_element(op.outputs[0], np.ones((1, height, width, channels), np.int8), kind)
    bias = integer_bias(
        graph, graph.constant_in_element(weights, np.zeros(channels, np.float32), FLOAT), inputs[0], weights
    )
    if bias is None:
        return None
    steps = {"padding": VALID, "stride_h": options["stride_h"], "stride_w": options["stride_w"], "depth_multiplier": 1}
    return graph.operator("DEPTHWISE_CONV_2D", [inputs[0], weights, bias], quantize.outputs, steps)


def _integer_operands(graph: CodesRewrite, op: FileOperator, sources: Mapping[int, int]) -> list[int] | None:
    """The integers of an operator's operands, its weights and its bias; None where some have none."""
    inputs = list(op.inputs)
    places = weight_places(op.name)
    if places is not None and graph.tensors[inputs[places.weights]].data is not None:
        source, weights, bias = places.source, places.weights, places.bias
        filtered = graph.element(sources.get(inputs[source], inputs[source]))
        packed = integer_weights(graph, inputs[weights], places.axis)
        if filtered is None or packed is None:
            return None
        inputs[source], inputs[weights] = sources[inputs[source]], packed
        if len(inputs) > bias and inputs[bias] != ABSENT:
            integers = integer_bias(graph, inputs[bias], inputs[source], packed)
            if integers is None:
                return None
            inputs[bias] = integers
        return inputs
    for place, tensor in enumerate(op.inputs):
        if tensor == ABSENT or graph.tensors[tensor].dtype is not DType.FLOAT32:
            continue
        if tensor in sources:
            inputs[place] = sources[tensor]
        else:
            constant = integer_operand(graph, tensor)
            if constant is None:
                return None
            inputs[place] = constant
    return inputs
