"""Random small models of the patterns that particular passes look for, in ever other sizes, types and surroundings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from support.mixed_depthwise import mixed
from support.model_writer import ModelWriter, SubgraphWriter

Rng = np.random.Generator
NONE = {"fused_activation_function": 0}
STEPS = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1, **NONE}


def quantization(rng: Rng) -> dict[str, Any]:
    return {"scale": [float(rng.choice((0.1, 0.25, 0.3)))], "zero_point": [int(rng.integers(-9, 10))]}


def _branch(graph: SubgraphWriter, size: int, stored: dict[str, Any], factors: Sequence[float] | None) -> None:
    """int8 to float: dequantised, and multiplied."""
    x, real = graph.tensor("x", "int8", [size], **stored), graph.tensor("real", "float32", [size])
    graph.operator("DEQUANTIZE", [x], [real], {})
    graph.inputs, graph.outputs = [x], [real]
    if factors is not None:
        other = graph.tensor("other", "float32", [size])
        graph.operator("MUL", [real, graph.constant("factor", factors, "float32")], [other], NONE)
        graph.outputs = [other]


def quantized_after_branches(rng: Rng) -> bytes:
    """An If of floats that are dequantised in a branch and quantised behind it, in the same type or another."""
    writer, size, stored = ModelWriter(), int(rng.integers(1, 6)), quantization(rng)
    main = writer.subgraph("main")
    x, flag = main.tensor("x", "int8", [size], **stored), main.tensor("flag", "bool", [1])
    real = main.tensor("real", "float32", [size])
    target = stored if rng.integers(2) else quantization(rng)
    y = main.tensor("y", "int8", [size], **target)
    _branch(writer.subgraph("then"), size, stored, None)
    _branch(writer.subgraph("else"), size, stored, rng.normal(size=size).tolist() if rng.integers(2) else None)
    main.operator("IF", [flag, x], [real], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    main.operator("QUANTIZE", [real], [y], {})
    main.inputs, main.outputs = [x, flag], [y]
    return bytes(writer.finish())


def quantized_after_loop(rng: Rng) -> bytes:
    """A loop whose float variable is quantised in its body and behind it."""
    writer, size, stored = ModelWriter(), int(rng.integers(1, 6)), quantization(rng)
    main, test, body = (writer.subgraph(name) for name in ("main", "test", "body"))
    x = main.tensor("x", "int8", [size], **stored)
    start, end = main.tensor("start", "float32", [size]), main.tensor("end", "float32", [size])
    last, y = main.tensor("last", "int32", []), main.tensor("y", "int8", [size], **stored)
    main.operator("DEQUANTIZE", [x], [start], {})
    loop = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    main.operator("WHILE", [main.constant("zero", 0, "int32"), start], [last, end], loop)
    main.operator("QUANTIZE", [end], [y], {})
    main.inputs, main.outputs = [x], [y]
    _count_to(test, int(rng.integers(0, 4)), [("float32", [size])])
    counter, following = _next_counter(body)
    real, narrow = body.tensor("real", "float32", [size]), body.tensor("narrow", "int8", [size], **stored)
    result, wide = body.tensor("result", "int8", [size], **stored), body.tensor("wide", "float32", [size])
    body.operator("QUANTIZE", [real], [narrow], {})
    level = body.constant("level", rng.integers(-30, 30, size), "int8", **stored)
    body.operator(str(rng.choice(("ADD", "MAXIMUM", "MINIMUM"))), [narrow, level], [result])
    body.operator("DEQUANTIZE", [result], [wide], {})
    body.inputs, body.outputs = [counter, real], [following, wide]
    return bytes(writer.finish())


def _count_to(test: SubgraphWriter, limit: int, others: list[tuple[str, list[int]]]) -> None:
    """The condition of a loop: its first variable is less than a limit."""
    counter, flag = test.tensor("i", "int32", []), test.tensor("flag", "bool", [])
    test.operator("LESS", [counter, test.constant("limit", limit, "int32")], [flag])
    test.inputs = [counter, *(test.tensor(f"v{k}", *other) for k, other in enumerate(others))]
    test.outputs = [flag]


def _next_counter(body: SubgraphWriter) -> tuple[int, int]:
    counter, following = body.tensor("i", "int32", []), body.tensor("following", "int32", [])
    body.operator("ADD", [counter, body.constant("one", 1, "int32")], [following], NONE)
    return counter, following


def rows_of_a_table(rng: Rng) -> bytes:
    """Rows of a stored table that is dequantised as a whole; the importer evaluates small ones itself."""
    rows, width, picks = (int(n) for n in (rng.integers(50, 80), rng.integers(5, 9), rng.integers(1, 5)))
    writer = ModelWriter()
    graph = writer.subgraph("main")
    if rng.integers(2):
        table = graph.constant("table", rng.normal(size=(rows, width)).astype(np.float16), "float16")
    else:
        values = rng.integers(-128, 128, (rows, width))
        table = graph.constant("table", values, "int8", **quantization(rng))
    wide = graph.tensor("wide", "float32", [rows, width])
    indices, y = graph.tensor("indices", "int32", [picks]), graph.tensor("y", "float32", [picks, width])
    graph.operator("DEQUANTIZE", [table], [wide], {})
    if rng.integers(2):
        graph.operator("GATHER", [wide, indices], [y], {"axis": 0})
    else:
        graph.operator("EMBEDDING_LOOKUP", [indices, wide], [y], {})
    graph.inputs, graph.outputs = [indices], [y]
    return bytes(writer.finish())


def mixed_depthwise(rng: Rng) -> bytes:
    """Depthwise layers of several sizes over parts of the channels."""
    taps = [int(t) for t in rng.integers(2, 5, int(rng.integers(2, 4)))]
    channels = [int(c) for c in rng.integers(4, 7, len(taps))]
    return mixed(rng, taps, channels, returned=bool(rng.integers(2)), biases=bool(rng.integers(2)))


def flattened_channels_first(rng: Rng) -> bytes:
    """A matrix of an image that was transposed and flattened."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    height, width, channels, units = (int(n) for n in rng.integers(1, 5, 4))
    is_float, depth = bool(rng.integers(2)), height * width * channels
    dtype, stored = ("float32", {}) if is_float else ("int8", quantization(rng))
    x = graph.tensor("x", dtype, [1, height, width, channels], **stored)
    turned = graph.tensor("turned", dtype, [1, channels, height, width], **stored)
    flat = graph.tensor("flat", dtype, [1, depth], **stored)
    graph.operator("TRANSPOSE", [x, graph.constant("order", [0, 3, 1, 2], "int32")], [turned])
    graph.operator("RESHAPE", [turned, graph.constant("shape", [1, depth], "int32")], [flat], {"new_shape": [1, depth]})
    if is_float:
        weights = graph.constant("w", rng.normal(size=(units, depth)), "float32")
        y = graph.tensor("y", "float32", [1, units])
    else:
        weights = graph.constant("w", rng.integers(-127, 128, (units, depth)), "int8", scale=[0.01], zero_point=[0])
        y = graph.tensor("y", "int8", [1, units], scale=[0.4], zero_point=[1])
    graph.operator("FULLY_CONNECTED", [flat, weights, -1], [y], NONE)
    graph.inputs, graph.outputs = [x], [y]
    return bytes(writer.finish())


def reshaped_in_loop(rng: Rng) -> bytes:
    """A loop that keeps a vector and the same vector in another shape, which it only writes."""
    writer, size = ModelWriter(), int(rng.integers(1, 5))
    main, test, body = (writer.subgraph(name) for name in ("main", "test", "body"))
    shapes = [("float32", [size]), ("float32", [1, size]), ("float32", [size])]
    x, first = main.tensor("x", "float32", [size]), rng.normal(size=size)
    starts = [main.constant("a", first, "float32"), main.constant("b", first[None], "float32"), x]
    ends = [main.tensor("last", "int32", []), *(main.tensor(f"end{k}", *s) for k, s in enumerate(shapes))]
    loop = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    main.operator("WHILE", [main.constant("zero", 0, "int32"), *starts], ends, loop)
    main.inputs, main.outputs = [x], [ends[2], ends[1]] if rng.integers(2) else [ends[2]]
    _count_to(test, int(rng.integers(0, 4)), shapes)
    counter, following = _next_counter(body)
    a, b, step = (body.tensor(name, *shape) for name, shape in zip("abx", shapes, strict=True))
    total, view = body.tensor("total", "float32", [size]), body.tensor("view", "float32", [1, size])
    body.operator(str(rng.choice(("ADD", "SUB", "MUL"))), [a, step], [total], NONE)
    body.operator("RESHAPE", [total, body.constant("shape", [1, size], "int32")], [view], {"new_shape": [1, size]})
    body.inputs, body.outputs = [counter, a, b, step], [following, total, view, step]
    return bytes(writer.finish())


def _float_convolution(rng: Rng, graph: SubgraphWriter, x: int, shape: list[int], channels: int) -> tuple[int, int]:
    """(output, its channels) of a float layer without an activation and with padding SAME."""
    filters = graph.constant("f", rng.normal(size=(channels, 1, 2, shape[3])), "float32")
    bias = graph.constant("b", rng.normal(size=channels), "float32")
    y = graph.tensor("layer", "float32", [*shape[:3], channels])
    graph.operator("CONV_2D", [x, filters, bias], [y], {"padding": 0, **STEPS})
    return y, channels


def view_before_activation(rng: Rng) -> bytes:
    """A layer, a view, and an activation or arithmetic by a constant that the layer can absorb."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    shape = [1, *(int(n) for n in rng.integers(1, 5, 3))]
    x = graph.tensor("x", "float32", shape)
    layer, channels = _float_convolution(rng, graph, x, shape, int(rng.integers(1, 5)))
    flat_shape = [shape[1] * shape[2], channels]
    flat, y = graph.tensor("flat", "float32", flat_shape), graph.tensor("y", "float32", flat_shape)
    graph.operator("RESHAPE", [layer, graph.constant("shape", flat_shape, "int32")], [flat], {"new_shape": flat_shape})
    if rng.integers(2):
        graph.operator(str(rng.choice(("RELU", "RELU6"))), [flat], [y])
    else:
        factor = graph.constant("factor", rng.normal(size=channels), "float32")
        graph.operator(str(rng.choice(("MUL", "ADD"))), [flat, factor], [y], NONE)
    graph.inputs, graph.outputs = [x], [y]
    return bytes(writer.finish())


def normalized_layer(rng: Rng) -> bytes:
    """A layer with what batch normalisation leaves behind: a factor and a sum per channel, before or after."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    shape = [1, *(int(n) for n in rng.integers(1, 5, 3))]
    x = value = graph.tensor("x", "float32", shape)
    if rng.integers(2):
        value = graph.tensor("scaled", "float32", shape)
        factor = graph.constant("before", rng.uniform(0.5, 2, shape[3]), "float32")
        graph.operator(str(rng.choice(("MUL", "DIV"))), [x, factor], [value], NONE)
    value, channels = _float_convolution(rng, graph, value, shape, int(rng.integers(1, 5)))
    for number in range(int(rng.integers(1, 3))):
        constant = graph.constant(f"c{number}", rng.uniform(0.5, 2, channels), "float32")
        operands = [value, constant]
        name = str(rng.choice(("MUL", "ADD", "SUB", "DIV")))
        if name != "DIV" and rng.integers(2):
            operands.reverse()
        value = graph.tensor(f"y{number}", "float32", [*shape[:3], channels])
        graph.operator(name, operands, [value], {"fused_activation_function": int(rng.choice((0, 1)))})
    graph.inputs, graph.outputs = [x], [value]
    return bytes(writer.finish())


def padded_layer(rng: Rng) -> bytes:
    """A convolution or a pool of an image that a PAD has made larger."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    height, width, channels = (int(n) for n in rng.integers(2, 5, 3))
    pads = rng.integers(0, 3, (2, 2))
    pads[0, 0] += 1
    is_float = bool(rng.integers(2))
    dtype, stored = ("float32", {}) if is_float else ("int8", quantization(rng))
    padded_shape = [1, height + int(pads[0].sum()), width + int(pads[1].sum()), channels]
    x = graph.tensor("x", dtype, [1, height, width, channels], **stored)
    padded = graph.tensor("padded", dtype, padded_shape, **stored)
    graph.operator("PAD", [x, graph.constant("pads", [[0, 0], *pads.tolist(), [0, 0]], "int32")], [padded])
    result = [1, padded_shape[1] - 1, padded_shape[2] - 1]
    if is_float:
        filters = graph.constant("f", rng.normal(size=(3, 2, 2, channels)), "float32")
        bias = graph.constant("b", rng.normal(size=3), "float32")
        y = graph.tensor("y", "float32", [*result, 3])
    else:
        filters = graph.constant(
            "f", rng.integers(-127, 128, (3, 2, 2, channels)), "int8", scale=[0.01], zero_point=[0]
        )
        bias = graph.constant("b", rng.integers(-500, 500, 3), "int32", scale=[stored["scale"][0] * 0.01])
        y = graph.tensor("y", "int8", [*result, 3], scale=[0.2], zero_point=[-4])
    graph.operator("CONV_2D", [padded, filters, bias], [y], {"padding": 1, **STEPS})
    graph.inputs, graph.outputs = [x], [y]
    return bytes(writer.finish())


PATTERNS: Mapping[str, tuple[Callable[[Rng], bytes], str]] = {
    "quantised after branches": (quantized_after_branches, "narrow"),
    "quantised after a loop": (quantized_after_loop, "cancel_quantization"),
    "rows of a table": (rows_of_a_table, "dequantize_late"),
    "mixed depthwise": (mixed_depthwise, "merge_mixed_depthwise"),
    "flattened, channels first": (flattened_channels_first, "fold_into_weights"),
    "reshaped in a loop": (reshaped_in_loop, "view_after_loop"),
    "view before an activation": (view_before_activation, "delay_views"),
    "normalised layer": (normalized_layer, "fold_affine"),
    "padded layer": (padded_layer, "fuse_padding"),
}
"""Pattern -> (its model, the pass that looks for it)."""


def random_pattern(seed: int) -> bytes:
    """The patterns in turns."""
    make, _ = list(PATTERNS.values())[seed % len(PATTERNS)]
    return make(np.random.default_rng(seed))
