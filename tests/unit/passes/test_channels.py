"""drop_channels on the text form: which channels go, which have to stay, what biases gain."""

from __future__ import annotations

import numpy as np
import pytest
from support.graph_parser import parse_graph
from tflmgen.ir.constants import constant_array
from tflmgen.ir.graph.module import Module, Op, walk
from tflmgen.passes.range_pass import range_pass

STEPS = "stride_h=1, stride_w=1, dilation_h_factor=1, dilation_w_factor=1"
X = "int8[1,4,4,2]@0.1:-128"
MID = "int8[1,4,4,4]@0.1:-128"
OUT = "int8[1,4,4,3]@0.1:0"

FIRST = """
    constant #w: int8[4,1,1,2]@0.01:0 = 5, -3, 0, 0, 7, 1, 0, 0
    constant #b: int32[4] = 10, {bias}, 20, -3000
    constant #v: int8[3,1,1,4]@0.02:0 = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
    constant #a: int32[3] = 100, 200, 300
"""
"""Of four channels, the second and the last have no weights: the last is clamped to zero, the second to `bias`."""

FLAT = f"{{padding=1, {STEPS}, fused_activation_function=0}}"
CLAMPED = f"{{padding=1, {STEPS}, fused_activation_function=1}}"
SAME = f"{{padding=0, {STEPS}, fused_activation_function=1}}"


def model(*lines: str, bias: int = -3000, results: str = "y", constants: str = "") -> Module:
    body = "\n".join((f"%m: {MID} = CONV_2D(%x, #w, #b) {CLAMPED}", *lines))
    text = f"{FIRST.format(bias=bias)}\n{constants}\nfunction main(%x: {X}) {{\n{body}\nreturn {arguments(results)}\n}}"
    return parse_graph(f"{text}\nsignature main: main(x) -> ({results})")


def arguments(results: str) -> str:
    return ", ".join(f"%{name}" for name in results.split(", "))


def shapes(module: Module) -> dict[str, tuple[int, ...]]:
    """Of what operators give, by the name of the value."""
    ops = [node for f in module.functions for node in walk(f.body) if isinstance(node, Op)]
    return {v.name.strip("%"): v.type.max_shape for op in ops for v in op.outputs}


def operand(module: Module, name: str, index: int) -> list[int]:
    """The elements of a constant that the operator reads which makes a value."""
    ops = [node for f in module.functions for node in walk(f.body) if isinstance(node, Op)]
    op = next(op for op in ops if op.outputs[0].name == f"%{name}")
    return np.ravel(np.asarray(constant_array(op.inputs[index], module.constants))).tolist()


READ = f"%y: {OUT} = CONV_2D(%m, #v, #a) {FLAT}"


def test_channels_that_are_zero_go_with_their_weights() -> None:
    module = range_pass(1)(model(READ))
    assert shapes(module) == {"m": (1, 4, 4, 2), "y": (1, 4, 4, 3)}
    assert operand(module, "m", 1) == [5, -3, 7, 1]
    assert operand(module, "m", 2) == [10, 20]
    assert operand(module, "y", 1) == [1, 3, 5, 7, 9, 11]
    assert operand(module, "y", 2) == [100, 200, 300]
    assert [(entry.name, entry.channels, entry.macs) for entry in module.removed] == [("%m", 2, 64), ("%y", 0, 96)]
    (narrowed,) = module.narrowed.values()
    assert (narrowed.kept, narrowed.channels) == ((0, 2), 4)


def test_a_constant_goes_into_biases() -> None:
    """0.01 * 0.1 * 3000 is 3.0, or 30 steps of 0.1 above the zero point."""
    module = range_pass(1)(model(READ, bias=3000))
    assert shapes(module)["m"] == (1, 4, 4, 2)
    assert operand(module, "y", 2) == [100 + 2 * 30, 200 + 6 * 30, 300 + 10 * 30]


def test_a_layer_without_a_bias_gets_one() -> None:
    module = range_pass(1)(model(READ.replace(", #a", ""), bias=3000))
    assert operand(module, "y", 2) == [2 * 30, 6 * 30, 10 * 30]


@pytest.mark.parametrize(("bias", "left"), [(-3000, 2), (3000, 3)])
def test_borders_are_zeros(bias: int, left: int) -> None:
    """A constant that is not zero stays where windows reach beyond the image."""
    wide = "constant #k: int8[3,3,3,4]@0.02:0 = 1, 2, 3"
    module = range_pass(1)(model(f"%y: {OUT} = CONV_2D(%m, #k, #a) {SAME}", bias=bias, constants=wide))
    assert shapes(module)["m"] == (1, 4, 4, left)


@pytest.mark.parametrize("between", ["MAX_POOL_2D", "DEPTHWISE_CONV_2D", "ADD", "RELU", "PAD"])
def test_channels_go_from_all_tensors_that_share_them(between: str) -> None:
    constants = """
        constant #d: int8[1,3,3,4]@0.01:0 = 1, 2, 3
        constant #e: int8[4]@0.1:-128 = -128, -128, -100, -128
        constant #p: int32[4,2] = 0, 0, 0, 0, 0, 0, 0, 0
    """
    line = {
        "MAX_POOL_2D": f"MAX_POOL_2D(%m) {{padding=0, {STEPS}, filter_height=2, filter_width=2}}",
        "DEPTHWISE_CONV_2D": f"DEPTHWISE_CONV_2D(%m, #d) {SAME}",
        "ADD": "ADD(%m, #e)",
        "RELU": "RELU(%m)",
        "PAD": "PAD(%m, #p)",
    }[between]
    module = range_pass(1)(model(f"%n: {MID} = {line}", READ.replace("%m", "%n"), constants=constants))
    shapes_by_name = shapes(module)
    # What RELU leaves as it is has gone.
    assert shapes_by_name.get("n", (1, 4, 4, 2)) == shapes_by_name["m"] == (1, 4, 4, 2)
    assert operand(module, "y", 1) == [1, 3, 5, 7, 9, 11]
    if between == "ADD":
        assert operand(module, "n", 1) == [-128, -100]


def test_rows_of_a_matrix_are_pixels_of_the_image() -> None:
    module = range_pass(1)(
        model(
            "%f: int8[1,64]@0.1:-128 = RESHAPE(%m) {new_shape=(1,64)}",
            "%y: int8[1,2]@0.1:0 = FULLY_CONNECTED(%f, #q)",
            constants="constant #q: int8[2,64]@0.02:0 = 1, 2, 3, 4",
        )
    )
    assert shapes(module) == {"m": (1, 4, 4, 2), "f": (1, 32), "y": (1, 2)}
    assert operand(module, "y", 1) == [1, 3] * 32


def test_parts_of_a_concatenation_lose_theirs() -> None:
    module = range_pass(1)(
        model(
            "%c: int8[1,4,4,6]@0.1:-128 = CONCATENATION(%m, #fixed) {axis=3}",
            f"%y: int8[1,4,4,1]@0.1:0 = CONV_2D(%c, #q) {FLAT}",
            constants="""
                constant #fixed: int8[1,4,4,2]@0.1:-128 = 3, 4, 5, 6
                constant #q: int8[1,1,1,6]@0.02:0 = 1, 2, 3, 4, 0, 6
            """,
        )
    )
    assert shapes(module)["c"] == (1, 4, 4, 3)
    assert operand(module, "c", 1) == [4, 6] * 8
    assert operand(module, "y", 1) == [1, 3, 6]


STAY = {
    "an output": ([READ], "y, m"),
    "read by another operator": ([READ, f"%z: {MID} = SOFTMAX(%m) {{beta=1.0}}"], "y, z"),
}


@pytest.mark.parametrize("name", STAY)
def test_channels_stay(name: str) -> None:
    lines, results = STAY[name]
    module = range_pass(1)(model(*lines, results=results))
    assert shapes(module)["m"] == (1, 4, 4, 4)
    # The reader has its weights for them nonetheless only where it reads them.
    assert len(operand(module, "y", 1)) == 12
    assert not module.removed


def test_layers_with_computed_biases_stay_as_they_are() -> None:
    text = f"""
        constant #d: int8[1,1,1,4]@0.01:0 = 1, 2, 3, 4
        constant #v: int8[3,1,1,4]@0.02:0 = 0, 2, 3, 4
        constant #one: int32[4] = 1
        function main(%x: {MID}, %b: int32[4]) {{
          %c: int32[4] = ADD(%b, #one)
          %m: {MID} = DEPTHWISE_CONV_2D(%x, #d, %c) {CLAMPED}
          %y: {OUT} = CONV_2D(%m, #v) {FLAT}
          return %y
        }}
        signature main: main(x, b) -> (y)
    """
    module = parse_graph(text)
    assert range_pass(1)(module).functions == module.functions


def test_channels_that_no_reader_uses_are_not_computed() -> None:
    unused = "constant #q: int8[3,1,1,4]@0.02:0 = 0, 2, 0, 4, 0, 6, 0, 8, 0, 10, 0, 12"
    constants = unused + "\nconstant #r: int8[4,1,1,2]@0.01:0 = 5, -3, 6, 6, 7, 1, 3, 4"
    lines = f"%n: {MID} = CONV_2D(%x, #r) {CLAMPED}", f"%y: {OUT} = CONV_2D(%n, #q) {FLAT}"
    module = range_pass(1)(model(*lines, constants=constants))
    assert shapes(module)["n"] == (1, 4, 4, 2)
    assert operand(module, "n", 1) == [6, 6, 3, 4]


@pytest.mark.parametrize(("multiple", "left"), [(1, 2), (2, 2), (4, 4), (8, 4), (0, 4)])
def test_multiples_of_channels_stay(multiple: int, left: int) -> None:
    assert shapes(range_pass(multiple)(model(READ)))["m"][3] == left


def test_one_channel_always_stays() -> None:
    nothing = "constant #q: int8[3,1,1,4]@0.02:0 = 0"
    module = range_pass(1)(model(f"%y: {OUT} = CONV_2D(%m, #q, #a) {FLAT}", constants=nothing, results="y"))
    assert shapes(module).get("m", (1, 4, 4, 1)) == (1, 4, 4, 1)
