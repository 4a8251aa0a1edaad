"""Operators between DEQUANTIZE and QUANTIZE become integer operators, as TFLite has them.

First conversions move: DEQUANTIZE behind operators that keep elements as they are, QUANTIZE before them. Then each
operator whose operands are dequantised and whose result is quantised is tried with the integers themselves; the
operator table says whether there is a kernel. What has none stays in float, between its conversions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tflmgen.frontend.onnx.graph_rewrite import Element, GraphRewrite
from tflmgen.frontend.onnx.integer_weights import integer_bias, integer_operand, integer_weights
from tflmgen.frontend.onnx.laid_out import Codes
from tflmgen.frontend.onnx.lower_window import VALID
from tflmgen.frontend.onnx.merged_layers import CLAMPS, with_bias
from tflmgen.frontend.tflite.model import ABSENT, Model, Operator
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

WEIGHTED: Mapping[str, tuple[int, int, int, int]] = {
    "CONV_2D": (0, 1, 2, 0),
    "DEPTHWISE_CONV_2D": (0, 1, 2, 3),
    "FULLY_CONNECTED": (0, 1, 2, 0),
    "TRANSPOSE_CONV": (2, 1, 3, 0),
}
"""Places of what is filtered, the weights and the bias, and the axis of the weights that counts output channels."""

REQUANTISED = frozenset(
    {
        *("ADD", "SUB", "MUL", "MEAN", "SUM", "BATCH_MATMUL", "FULLY_CONNECTED"),
        *("HARD_SWISH", "LEAKY_RELU", "PRELU", "ELU", "EXP", "GELU", "ABS", "NEG"),
    }
)
"""Operators whose integer kernels take a scale for each operand and one for the result."""

ROUNDED = frozenset({"AVERAGE_POOL_2D", "RESIZE_BILINEAR"})
"""Operators whose integer kernels keep the scale and round."""

_SHARES = {DType.INT8: Quantization((1 / 256,), (-128,)), DType.INT16: Quantization((1 / 32768,), (0,))}
FIXED: Mapping[str, Mapping[DType, Quantization]] = {
    "SOFTMAX": _SHARES,
    "LOGISTIC": _SHARES,
    "TANH": {DType.INT8: Quantization((1 / 128,), (0,)), DType.INT16: Quantization((1 / 32768,), (0,))},
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
            rewriting = GraphRewrite(graph, codes[graph.index], buffer)
            _rewrite(rewriting)
            graph = rewriting.result()
        graphs.append(graph)
    return replace(model, subgraphs=tuple(graphs))


def _rewrite(graph: GraphRewrite) -> None:
    _lower_dequantize(graph)
    while _hoist_requantization(graph):
        pass
    while with_bias(graph):
        pass
    _lower_dequantize(graph)
    _compute_in_integers(graph)
    _lower_dequantize(graph)
    graph.drop_unread()


def _data(op: Operator) -> tuple[int, ...]:
    """Places of the operands whose elements a commuting operator moves."""
    return COMMUTING[op.name] or tuple(range(len(op.inputs)))


def _lower_dequantize(graph: GraphRewrite) -> None:
    """Operators that keep elements as they are run on integers, and what quantises back to the same is nothing."""
    sources: dict[int, int] = {}
    same: dict[int, int] = {}
    kept: list[Operator] = []
    for original in graph.operators:
        op = replace(original, inputs=tuple(same.get(i, i) for i in original.inputs))
        if op.name in ("QUANTIZE", "DEQUANTIZE") and op.inputs[0] in sources:
            source = sources[op.inputs[0]]
            if graph.element(source) == graph.element(op.outputs[0]) and op.outputs[0] not in graph.graph.outputs:
                same[op.outputs[0]] = source
                continue
        if op.name == "DEQUANTIZE" or (op.name == "QUANTIZE" and graph.element(op.inputs[0])):
            sources[op.outputs[0]] = op.inputs[0]
        moved = _on_integers(graph, op, sources)
        if moved is None:
            kept.append(op)
        else:
            kept += [moved, graph.operator("DEQUANTIZE", moved.outputs, op.outputs)]
            sources[op.outputs[0]] = moved.outputs[0]
    graph.operators = kept


def _on_integers(graph: GraphRewrite, op: Operator, sources: Mapping[int, int]) -> Operator | None:
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
    retyped = _retyped(graph, op, inputs, element, graph.like(op.outputs[0], element))
    return retyped if retyped is not None and graph.is_computed(retyped) else None


def _retyped(graph: GraphRewrite, op: Operator, inputs: list[int], element: Element, result: int) -> Operator | None:
    """A commuting operator on integers; None where its filler has no integer."""
    if op.name == "PADV2":
        value = graph.values(inputs[2])
        if value is None:
            return None
        least, greatest = element.dtype.limits
        with np.errstate(over="ignore"):
            code = np.rint(value.astype(np.float64) / element.quantization.scale) + element.quantization.zero_point
        if np.isnan(code).any():
            return None
        array = np.clip(code, least, greatest).astype(element.dtype.numpy)
        inputs[2] = graph.constant(inputs[2], array, element)
    return graph.operator(op.name, inputs, [result], op.options)


def _hoist_requantization(graph: GraphRewrite) -> bool:
    """Moves one QUANTIZE or clamp before a commuting operator that it alone reads; whether there was one."""
    producers, readers = graph.producers(), graph.readers()
    for place, op in enumerate(graph.operators):
        if (op.name != "QUANTIZE" and op.name not in CLAMPS) or op.inputs[0] not in producers:
            continue
        before = graph.operators[producers[op.inputs[0]]]
        if before.name not in COMMUTING or readers[op.inputs[0]] != [place]:
            continue
        swapped = _swapped(graph, before, op)
        if swapped is not None:
            at = producers[op.inputs[0]]
            graph.operators[place : place + 1] = []
            graph.operators[at : at + 1] = swapped
            return True
    return False


def _swapped(graph: GraphRewrite, before: Operator, op: Operator) -> list[Operator] | None:
    """A commuting operator and an element-wise one after it, in the other order."""
    if op.name in CLAMPS and before.name == "PADV2":
        return None
    element = graph.element(op.outputs[0])
    inputs, first = list(before.inputs), []
    for place in _data(before):
        if graph.tensors[inputs[place]].data is not None:
            return None
        result = graph.like(inputs[place], element)
        first.append(graph.operator(op.name, [inputs[place]], [result], op.options))
        inputs[place] = result
    if element is None:
        return [*first, graph.operator(before.name, inputs, op.outputs, before.options)]
    moved = _retyped(graph, before, inputs, element, op.outputs[0])
    return [*first, moved] if moved is not None and graph.is_computed(moved) else None


def _compute_in_integers(graph: GraphRewrite) -> None:
    """Each operator whose operands are dequantised and whose result is quantised."""
    readers = graph.readers()
    sources = {op.outputs[0]: op.inputs[0] for op in graph.operators if op.name == "DEQUANTIZE"}
    absorbed: set[int] = set()
    replaced: dict[int, list[Operator]] = {}
    for place, op in enumerate(graph.operators):
        if op.name not in WEIGHTED and op.name not in REQUANTISED | ROUNDED and op.name not in FIXED:
            continue
        chain = _to_quantize(graph, readers, op)
        if chain is None:
            continue
        clamp, last = chain
        activation = None if clamp is None else graph.operators[clamp]
        operators = _in_integers(graph, op, sources, activation, graph.operators[last])
        if operators:
            replaced[place] = operators
            absorbed |= {last} if clamp is None else {clamp, last}
    kept: list[Operator] = []
    for place, op in enumerate(graph.operators):
        kept += replaced.get(place, [] if place in absorbed else [op])
    graph.operators = kept


def _to_quantize(graph: GraphRewrite, readers: Mapping[int, list[int]], op: Operator) -> tuple[int | None, int] | None:
    """Places of the clamp, if any, and of the QUANTIZE that alone read an operator's result."""
    clamp: int | None = None
    tensor = op.outputs[0]
    while True:
        places = readers.get(tensor, [])
        if len(places) != 1 or places[0] >= len(graph.operators):
            return None
        reader = graph.operators[places[0]]
        if reader.name == "QUANTIZE":
            return clamp, places[0]
        if reader.name not in CLAMPS or clamp is not None or op.name in ROUNDED or op.name in FIXED:
            return None
        clamp, tensor = places[0], reader.outputs[0]


def _in_integers(
    graph: GraphRewrite, op: Operator, sources: Mapping[int, int], clamp: Operator | None, quantize: Operator
) -> list[Operator] | None:
    """The operator on integers, with a clamp as its activation; None where there is no kernel for it."""
    element = graph.element(quantize.outputs[0])
    options = dict(op.options or {})
    if element is None or (clamp is not None and options.get("fused_activation_function") != 0):
        return None
    if clamp is not None:
        options["fused_activation_function"] = CLAMPS[clamp.name]
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
        middle = own if op.name in ROUNDED else Element(element.dtype, FIXED[op.name][element.dtype])
        if element.quantization.scale < middle.quantization.scale * LEAST_RATIO:
            sums = _window_sums(graph, op, inputs, quantize)
            return [sums] if sums is not None and graph.is_computed(sums) else None
    if middle == element:
        computed = graph.operator(op.name, inputs, quantize.outputs, options)
        return [computed] if graph.is_computed(computed) else None
    result, real = graph.like(op.outputs[0], middle), graph.like(op.outputs[0], None)
    computed = graph.operator(op.name, inputs, [result], options)
    conversions = [
        graph.operator("DEQUANTIZE", [result], [real]),
        graph.operator("QUANTIZE", [real], quantize.outputs),
    ]
    return [computed, *conversions] if graph.is_computed(computed) else None


def _window_sums(graph: GraphRewrite, op: Operator, inputs: list[int], quantize: Operator) -> Operator | None:
    """An average pool without padding as a depthwise convolution with weights of 1, which rounds once."""
    options = op.options or {}
    if op.name != "AVERAGE_POOL_2D" or options["padding"] != VALID:
        return None
    height, width, channels = options["filter_height"], options["filter_width"], graph.tensors[inputs[0]].shape[3]
    kind = Element(DType.INT8, Quantization((float(np.float32(1 / (height * width))),), (0,)))
    weights = graph.constant(op.outputs[0], np.ones((1, height, width, channels), np.int8), kind)
    bias = integer_bias(graph, graph.constant(weights, np.zeros(channels, np.float32), None), inputs[0], weights)
    if bias is None:
        return None
    steps = {"padding": VALID, "stride_h": options["stride_h"], "stride_w": options["stride_w"], "depth_multiplier": 1}
    return graph.operator("DEPTHWISE_CONV_2D", [inputs[0], weights, bias], quantize.outputs, steps)


def _integer_operands(graph: GraphRewrite, op: Operator, sources: Mapping[int, int]) -> list[int] | None:
    """The integers of an operator's operands, its weights and its bias; None where some have none."""
    inputs = list(op.inputs)
    weighted = WEIGHTED.get(op.name)
    if weighted is not None and graph.tensors[inputs[weighted[1]]].data is not None:
        source, weights, bias, axis = weighted
        filtered = graph.element(sources.get(inputs[source], inputs[source]))
        packed = integer_weights(graph, inputs[weights], axis)
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
