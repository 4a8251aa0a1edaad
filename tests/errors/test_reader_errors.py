"""The texts of every problem that the reader reports, each with its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.model_writer import ModelWriter, SubgraphWriter
from tflmgen.errors import ModelError
from tflmgen.frontend.tflite.reader import parse_model

Fault = Callable[[SubgraphWriter], object]
"""Puts something wrong into a model (`g.model`) whose only subgraph `g` is empty."""

CASES: dict[str, tuple[Fault, str]] = {}
"""Name of a fault -> the fault, the whole message."""

SUPPORTED = "Supported are float32, float16, int4, int8, uint8, int16, uint16, int32, uint32, int64, uint64, bool"


def case(*expected: str) -> Callable[[Fault], Fault]:
    def register(fault: Fault) -> Fault:
        CASES[fault.__name__] = (fault, "\n".join(f"m.tflite: {text}" for text in expected))
        return fault

    return register


@case("schema version 2 is not supported. Only 3 is")
def schema_version(g: SubgraphWriter) -> None:
    g.model.version = 2


@case("it has no subgraphs")
def no_subgraphs(g: SubgraphWriter) -> None:
    g.model.subgraphs.clear()


@case(f"subgraph 0 'main', tensor 0 'x': element type string is not supported. {SUPPORTED}")
def string_tensor(g: SubgraphWriter) -> None:
    g.inputs = [g.tensor("x", "string", [1])]


@case(f"subgraph 0 'main', tensor 0 'x': element type float8_e5m2 is not supported. {SUPPORTED}")
def newer_type(g: SubgraphWriter) -> None:
    g.inputs = [g.tensor("x", "float8_e5m2", [1])]


@case(f"subgraph 0 'main', tensor 0 'x': element type number 77 is not supported. {SUPPORTED}")
def unknown_type(g: SubgraphWriter) -> None:
    g.inputs = [g.tensor("x", 77, [1])]


@case("subgraph 0 'main', tensor 0 'w': its sparse form is damaged: the order of its dimensions is none")
def sparse_tensor(g: SubgraphWriter) -> None:
    g.outputs = [g.tensor("w", "int8", [8], buffer=g.model.buffer(b"1"), sparse=True)]


@case("subgraph 0 'main', tensor 0 'x': it refers to buffer 9, but the file has 1")
def buffer_index(g: SubgraphWriter) -> None:
    g.outputs = [g.tensor("x", "int8", [1], buffer=9)]


@case("subgraph 0 'main', tensor 0 'x': it is both a variable and a constant")
def variable_with_contents(g: SubgraphWriter) -> None:
    g.outputs = [g.tensor("x", "int8", [1], buffer=g.model.buffer(b"1"), variable=True)]


@case("subgraph 0 'main', tensor 0 'x': it has 9 dimensions; at most 8 are supported")
def too_many_dimensions(g: SubgraphWriter) -> None:
    g.inputs = [g.tensor("x", "int8", [1] * 9)]


@case("subgraph 0 'main', tensor 0 'x': shape [2, -4] has a negative dimension")
def negative_dimension(g: SubgraphWriter) -> None:
    g.inputs = [g.tensor("x", "int8", [2, -4])]


@case(
    "subgraph 0 'main', tensor 0 'x': shape [2, 4] contradicts its signature [-1, 5]",
    "subgraph 0 'main', tensor 1 'y': shape [2] contradicts its signature [-1, -1]",
)
def signature_shape(g: SubgraphWriter) -> None:
    g.inputs = [
        g.tensor("x", "int8", [2, 4], shape_signature=[-1, 5]),
        g.tensor("y", "int8", [2], shape_signature=[-1, -1]),
    ]


@case(
    "subgraph 0 'main', tensor 0 'x': float32[65536, 65536] takes 17,179,869,184 bytes; "
    "a tensor can have at most 2,147,483,647"
)
def huge_tensor(g: SubgraphWriter) -> None:
    g.inputs = [g.tensor("x", "float32", [65536, 65536])]


@case(
    "subgraph 0 'main', tensor 0 'long': float32[4] takes 16 bytes, but its contents have 64",
    "subgraph 0 'main', tensor 1 'short': int4[5] takes 3 bytes, but its contents have 2",
)
def size_of_contents(g: SubgraphWriter) -> None:
    g.outputs = [
        g.constant("long", np.zeros(16, np.float32), shape=[4]),
        g.constant("short", np.zeros(4), dtype="int4", shape=[5]),
    ]


@case(
    "subgraph 0 'main', tensor 0 'zero': quantisation scale 0 is not a positive number",
    "subgraph 0 'main', tensor 1 'minus': quantisation scale -0.5 is not a positive number",
    "subgraph 0 'main', tensor 2 'nan': quantisation scale nan is not a positive number",
    "subgraph 0 'main', tensor 3 'inf': quantisation scale inf is not a positive number",
)
def scales(g: SubgraphWriter) -> None:
    values = {"zero": 0.0, "minus": -0.5, "nan": float("nan"), "inf": float("inf")}
    g.inputs = [g.tensor(name, "int8", [2], scale=[scale], zero_point=[0]) for name, scale in values.items()]


@case(
    "subgraph 0 'main', tensor 0 'x': zero point 300 is outside int8's range -128 to 127",
    "subgraph 0 'main', tensor 1 'y': zero point -1 is outside uint8's range 0 to 255",
)
def zero_points(g: SubgraphWriter) -> None:
    g.inputs = [
        g.tensor("x", "int8", [2], scale=[1.0], zero_point=[300]),
        g.tensor("y", "uint8", [2], scale=[1.0], zero_point=[-1]),
    ]


def by_blocks(g: SubgraphWriter, **blocks: Any) -> None:
    """Adds three tensors that scales and zero points may be, and weights of two rows quantised by these blocks."""
    if not g.tensors:
        g.constant("s", np.ones((2, 4), np.float16))
        g.constant("i", np.ones((2, 4), np.int32))
        g.constant("z", [1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], "float16")
    fields = {"scales": 0, "zero_points": -1, "block_size": 4} | blocks
    g.outputs.append(g.constant(f"w{len(g.outputs)}", np.zeros((2, 16)), "int4", blocks=fields))


@case(
    "subgraph 0 'main', tensor 3 'w0': it is quantised by blocks of 5, which do not divide shape [2, 16]",
    "subgraph 0 'main', tensor 4 'w1': it is quantised by blocks of 0, which do not divide shape [2, 16]",
    "subgraph 0 'main', tensor 5 'w2': it is quantised by blocks of -4, which do not divide shape [2, 16]",
    "subgraph 0 'main', tensor 6 'w3': it is quantised by blocks of shape [2, 4]; "
    "only blocks along the last dimension are supported",
    "subgraph 0 'main', tensor 7 'w4': it is quantised by blocks of shape [1, 8]; "
    "only blocks along the last dimension are supported",
)
def block_sizes(g: SubgraphWriter) -> None:
    for size in (5, 0, -4):
        by_blocks(g, block_size=size)
    by_blocks(g, block_shape=[2, 4])
    by_blocks(g, block_shape=[1, 8])


@case(
    "subgraph 0 'main', tensor 3 'w0': the scales of its blocks are tensor -1, but there are 10 tensors",
    "subgraph 0 'main', tensor 4 'w1': the scales of its blocks are tensor 10, but there are 10 tensors",
    "subgraph 0 'main', tensor 5 'w2': the scales of its blocks, tensor 1, are neither float16 nor float32",
    "subgraph 0 'main', tensor 6 'w3': it has 16 blocks, but their scales, tensor 0, have 16 bytes",
    "subgraph 0 'main', tensor 7 'w4': scale 0 of a block is not a positive number",
    "subgraph 0 'main', tensor 9 'w5': it has 8 blocks, but their scales, tensor 8, have 0 bytes",
)
def block_scales(g: SubgraphWriter) -> None:
    by_blocks(g, scales=-1)
    by_blocks(g, scales=10)
    by_blocks(g, scales=1)
    by_blocks(g, block_size=2)
    by_blocks(g, scales=2)
    by_blocks(g, scales=g.tensor("run time", "float16", [2, 4]))


@case(
    "subgraph 0 'main', tensor 3 'w0': its blocks have zero points other than 0, which is not supported",
    "subgraph 0 'main', tensor 4 'w1': the zero points of its blocks are tensor 7, but there are 5 tensors",
)
def block_zero_points(g: SubgraphWriter) -> None:
    by_blocks(g, zero_points=1)
    by_blocks(g, zero_points=7)


@case("subgraph 0 'main', tensor 0 'x': it has 2 quantisation scales, but 1 zero points")
def zero_point_count(g: SubgraphWriter) -> None:
    g.inputs = [g.tensor("x", "int8", [2], scale=[1.0, 2.0], zero_point=[0])]


@case(
    "subgraph 0 'main', tensor 0 'x': it has 2 quantisation scales for 3 channels along axis 1",
    "subgraph 0 'main', tensor 1 'y': quantisation axis 2 is not one of its 2 dimensions",
)
def scale_count(g: SubgraphWriter) -> None:
    g.inputs = [
        g.tensor("x", "int8", [2, 3], scale=[1.0, 2.0], zero_point=[0, 0], axis=1),
        g.tensor("y", "int8", [2, 3], scale=[1.0, 2.0], zero_point=[0, 0], axis=2),
    ]


@case(
    "subgraph 0 'main', operator 0: builtin operator code 9999 is not known. Known are 0 to 209 (STABLEHLO_CASE)",
    "subgraph 0 'main', operator 1: a custom operator without a name",
    "subgraph 0 'main', operator 2: it refers to operator code 9, but the file has 2",
)
def operator_codes(g: SubgraphWriter) -> None:
    g.operator(9999, [], [])
    g.operator("CUSTOM", [], [])
    g.operators.append({**g.operators[0], "code": 9})


NEWER = "Convert the model with an older TensorFlow, or get a newer tflmgen"


@case(
    "subgraph 0 'main', operator 1 (ADD): its version is 7, but the highest that is known is 6. " + NEWER,
    "subgraph 0 'main', operator 2 (CALL): its version is 2, but the highest that is known is 1. " + NEWER,
)
def operator_versions(g: SubgraphWriter) -> None:
    """A custom operator's versions are its maker's."""
    g.operator("ADD", [], [], version=6)
    g.operator("ADD", [], [], version=7)
    g.operator("CALL", [], [], version=2)
    g.operator("CUSTOM:Mine", [], [], version=99)


@case(
    "subgraph 0 'main', operator 0 (ADD): input 1 is tensor -2, but the subgraph has 1 tensors",
    "subgraph 0 'main', operator 0 (ADD): output 0 is tensor 7, but the subgraph has 1 tensors",
    "subgraph 0 'main', operator 0 (ADD): output 1 is tensor -1, but the subgraph has 1 tensors",
    "subgraph 0 'main', operator 1 (LSTM): intermediate 0 is tensor 8, but the subgraph has 1 tensors",
)
def operand_indices(g: SubgraphWriter) -> None:
    g.inputs = [g.tensor("x", "int8", [1])]
    g.operator("ADD", [0, -2], [7, -1])
    g.operator("LSTM", [0], [], intermediates=[8])


@case("subgraph 0 'main', operator 0 (CONV_2D): it has Pool2DOptions instead of Conv2DOptions")
def options_of_another_operator(g: SubgraphWriter) -> None:
    g.operator("MAX_POOL_2D", [], [])
    g.model.codes.insert(0, (3, 3, None, 1))


@case(
    "subgraph 0 'main', operator 0 (IF): then_subgraph_index is 7, but the file has 1 subgraphs",
    "subgraph 0 'main', operator 1 (WHILE): body_subgraph_index is -1, but the file has 1 subgraphs",
    "subgraph 0 'main', operator 2 (CALL): subgraph is 1, but the file has 1 subgraphs",
    "subgraph 0 'main', operator 3 (CALL_ONCE): init_subgraph_index is 2, but the file has 1 subgraphs",
)
def called_subgraphs(g: SubgraphWriter) -> None:
    g.operator("IF", [], [], {"then_subgraph_index": 7})
    g.operator("WHILE", [], [], {"body_subgraph_index": -1})
    g.operator("CALL", [], [], {"subgraph": 1})
    g.operator("CALL_ONCE", [], [], {"init_subgraph_index": 2})


@case(
    "subgraph 0 'main': its inputs name tensor 55, but it has 1 tensors",
    "subgraph 0 'main': its outputs name tensor -1, but it has 1 tensors",
)
def port_indices(g: SubgraphWriter) -> None:
    g.tensor("x", "int8", [1])
    g.inputs, g.outputs = [55], [-1]


@case(
    "subgraph 0 'main': tensor 0 is 2 of its inputs at once",
    "subgraph 0 'main', tensor 1 'c': it is both an input and a constant",
)
def odd_inputs(g: SubgraphWriter) -> None:
    x = g.tensor("x", "int8", [1])
    g.inputs = [x, g.constant("c", np.zeros(1, np.int8)), x]


@case(
    "subgraph 0 'main', operator 0 (NEG): it writes tensor 1 'y', which it reads too",
    "subgraph 0 'main', operator 1 (ABS): it writes tensor 1 'y', which operator 0 (NEG) writes too",
    "subgraph 0 'main', operator 2 (ABS): it writes tensor 0 'x', an input of the subgraph",
    "subgraph 0 'main', operator 3 (ABS): it writes tensor 2 'c', a constant",
    "subgraph 0 'main', operator 4 (ABS): it writes tensor 3 'v', a variable",
    "subgraph 0 'main', operator 5 (SPLIT): it writes tensor 4 'z', which operator 5 (SPLIT) writes too",
)
def writers(g: SubgraphWriter) -> None:
    x, y = g.tensor("x", "int8", [1]), g.tensor("y", "int8", [1])
    c, v = g.constant("c", np.zeros(1, np.int8)), g.tensor("v", "int8", [1], variable=True)
    z = g.tensor("z", "int8", [1])
    g.inputs = [x]
    g.operator("NEG", [y], [y])
    for output in (y, x, c, v):
        g.operator("ABS", [], [output])
    g.operator("SPLIT", [], [z, z])


@case(
    "subgraph 0 'main', operator 0 (NEG): it reads tensor 0 'x', which is never written",
    "subgraph 0 'main', tensor 2 'z': it is an output, but is never written",
)
def never_written(g: SubgraphWriter) -> None:
    x, y, z = (g.tensor(name, "int8", [1]) for name in "xyz")
    g.operator("NEG", [x], [y])
    g.outputs = [y, z]


@case("subgraph 0 'main': operators 0 (NEG), 1 (ABS) wait for each other's outputs")
def cycle(g: SubgraphWriter) -> None:
    x, y, z = (g.tensor(name, "int8", [1]) for name in "xyz")
    g.operator("NEG", [x], [y])
    g.operator("ABS", [y], [x])
    g.operator("ABS", [y], [z])


@case(
    "input 'x' of signature 'serve' is tensor 5, no input of subgraph 0",
    "signature 'serve' leaves out input tensor 0 of subgraph 0",
    "signature 'far' is of subgraph 3, but there are 1",
    "2 signatures are named 'far'",
)
def signatures(g: SubgraphWriter) -> None:
    g.inputs = g.outputs = [g.tensor("x", "int8", [1])]
    g.model.signature("serve", {"x": 5}, {"x": 0})
    g.model.signature("far", {}, {}, subgraph=3)
    g.model.signature("far", {"x": 0}, {"x": 0})


@pytest.mark.parametrize("name", CASES)
def test_problem(name: str) -> None:
    fault, expected = CASES[name]
    writer = ModelWriter()
    fault(writer.subgraph("main"))
    with pytest.raises(ModelError) as caught:
        parse_model(writer.finish(), "m.tflite")
    assert str(caught.value) == expected


def test_a_subgraph_without_a_name_is_a_number() -> None:
    writer = ModelWriter()
    writer.subgraph("main")
    g = writer.subgraph("")
    g.inputs = [g.tensor("", "int8", [-1])]
    with pytest.raises(ModelError, match=r"^m\.tflite: subgraph 1, tensor 0: shape "):
        parse_model(writer.finish(), "m.tflite")


def test_the_hundredth_problem_is_the_last() -> None:
    writer = ModelWriter()
    g = writer.subgraph("main")
    g.inputs = [g.tensor("", "int8", [-1]) for _ in range(130)]
    with pytest.raises(ModelError) as caught:
        parse_model(writer.finish(), "m.tflite")
    assert len(caught.value.problems) == 101
    assert str(caught.value).endswith("\nm.tflite: and 30 more problems")
