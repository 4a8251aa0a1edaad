"""fold_affine and neutral operands on the text form."""

from __future__ import annotations

import pytest
from support.graph_parser import parse_graph, same_graph
from tflmgen.ir.graph import Op
from tflmgen.passes.affine import fold_affine
from tflmgen.passes.dead_code import prune
from tflmgen.passes.identities import drop_identities
from tflmgen.passes.pipeline import run_passes

CONSTANTS = """
    constant #w: float32[2,3] = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0
    constant #b: float32[2] = 10.0, 20.0
    constant #c: float32[2] = 2.0, 4.0
    constant #k: float32[] = 2.0
    constant #i: float32[1,3] = 1.0, 2.0, 4.0
"""


def graph(*lines: str, constants: str = CONSTANTS) -> str:
    body = "\n".join(lines)
    return f"""
        {constants}
        function main(%x: float32[1,3]) {{
          {body}
          return %y
        }}
        signature main: main(x) -> (y)
    """


DENSE = "{}: float32[1,2] = FULLY_CONNECTED({}, {})"
AFTER = {
    "a factor": ("MUL(%d, #c)", "2.0, 4.0, 6.0, 16.0, 20.0, 24.0", "20.0, 80.0"),
    "a factor before": ("MUL(#k, %d)", "2.0, 4.0, 6.0, 8.0, 10.0, 12.0", "20.0, 40.0"),
    "a quotient": ("DIV(%d, #c)", "0.5, 1.0, 1.5, 1.0, 1.25, 1.5", "5.0, 5.0"),
    "a sum": ("ADD(%d, #c)", "1.0, 2.0, 3.0, 4.0, 5.0, 6.0", "12.0, 24.0"),
    "a difference": ("SUB(%d, #c)", "1.0, 2.0, 3.0, 4.0, 5.0, 6.0", "8.0, 16.0"),
    "from a constant": ("SUB(#c, %d)", "-1.0, -2.0, -3.0, -4.0, -5.0, -6.0", "-8.0, -16.0"),
}


@pytest.mark.parametrize("name", AFTER)
@pytest.mark.parametrize("activation", [0, 1])
def test_after_the_operator(name: str, activation: int) -> None:
    operator, weights, bias = AFTER[name]
    text = graph(
        DENSE.format("%d", "%x", "#w, #b"), f"%y: float32[1,2] = {operator} {{fused_activation_function={activation}}}"
    )
    constants = f"constant #w: float32[2,3] = {weights}\nconstant #b: float32[2] = {bias}"
    line = DENSE.format("%y", "%x", "#w, #b") + f" {{fused_activation_function={activation}}}"
    same_graph(fold_affine(parse_graph(text)), graph(line, constants=constants))


@pytest.mark.parametrize("number", ["1e-30", "1e30"])
def test_constants_whose_product_float32_lacks_stay_two(number: str) -> None:
    text = graph(
        "%m: float32[1,3] = MUL(%x, #n)",
        "%y: float32[1,3] = MUL(%m, #n)",
        constants=f"constant #n: float32[] = {number}",
    )
    same_graph(fold_affine(parse_graph(text)), text)


@pytest.mark.parametrize("factor", ["1e-20, 1.0", "1.0, 1e-24"])
def test_a_factor_that_costs_the_weights_their_digits_stays(factor: str) -> None:
    constants = (
        f"constant #w: float32[2,3] = 1e-20, 2e-20, 3e-20, 4e-20, 5e-20, 6e-20\nconstant #c: float32[2] = {factor}"
    )
    text = graph(DENSE.format("%d", "%x", "#w"), "%y: float32[1,2] = MUL(%d, #c)", constants=constants)
    same_graph(fold_affine(parse_graph(text)), text)


def test_a_bias_appears_where_there_was_none() -> None:
    text = graph(DENSE.format("%d", "%x", "#w"), "%y: float32[1,2] = ADD(#c, %d)")
    same_graph(fold_affine(parse_graph(text)), graph(DENSE.format("%y", "%x", "#w, #c")))


def test_factors_of_the_input() -> None:
    text = graph("%m: float32[1,3] = MUL(%x, #i)", DENSE.format("%y", "%m", "#w, #b"))
    constants = "constant #w: float32[2,3] = 1.0, 4.0, 12.0, 4.0, 10.0, 24.0\nconstant #b: float32[2] = 10.0, 20.0"
    same_graph(prune(fold_affine(parse_graph(text))), graph(DENSE.format("%y", "%x", "#w, #b"), constants=constants))


def test_factors_of_a_depthwise_convolution() -> None:
    options = "{padding=0, stride_h=1, stride_w=1, dilation_h_factor=1, dilation_w_factor=1}"
    text = """
        constant #w: float32[1,1,1,4] = {w}
        {c}
        function main(%x: float32[1,2,2,2]) {{
          {line}
          %y: float32[1,2,2,4] = DEPTHWISE_CONV_2D({x}, #w) {options}
          return %y
        }}
        signature main: main(x) -> (y)
    """
    before = text.format(
        w="1.0, 2.0, 3.0, 4.0",
        c="constant #c: float32[2] = 2.0, 10.0",
        line="%m: float32[1,2,2,2] = MUL(%x, #c)",
        x="%m",
        options=options,
    )
    after = text.format(w="2.0, 4.0, 30.0, 40.0", c="", line="", x="%x", options=options)
    same_graph(prune(fold_affine(parse_graph(before))), after)


def test_chains() -> None:
    text = graph("%a: float32[1,3] = MUL(%x, #i)", "%y: float32[1,3] = MUL(#k, %a)")
    constants = "constant #i: float32[1,3] = 2.0, 4.0, 8.0"
    same_graph(fold_affine(parse_graph(text)), graph("%y: float32[1,3] = MUL(%x, #i)", constants=constants))


NOT_FOLDED = {
    "a sum before the operator": ["%m: float32[1,3] = ADD(%x, #i)", DENSE.format("%y", "%m", "#w, #b")],
    "an activation between": [
        DENSE.format("%d", "%x", "#w, #b") + " {fused_activation_function=1}",
        "%y: float32[1,2] = MUL(%d, #c)",
    ],
    "shared weights": [
        DENSE.format("%d", "%x", "#w, #b"),
        DENSE.format("%e", "%x", "#w"),
        "%f: float32[1,2] = MUL(%d, #c)",
        "%y: float32[1,2] = DIV(%f, %e)",
    ],
    "an earlier constant divided": [DENSE.format("%d", "%x", "#w, #b"), "%y: float32[1,2] = DIV(#c, %d)"],
    "a chain through an activation": [
        "%a: float32[1,3] = MUL(%x, #i) {fused_activation_function=1}",
        "%y: float32[1,3] = MUL(#k, %a)",
    ],
}


@pytest.mark.parametrize("name", NOT_FOLDED)
def test_not_folded(name: str) -> None:
    text = graph(*NOT_FOLDED[name])
    same_graph(fold_affine(parse_graph(text)), text)


def test_nothing_added_and_one_multiplied_with_leave_x() -> None:
    text = """
        constant #zero: float32[4] = 0.0
        constant #one: float32[] = 1.0
        constant #q: int8[]@0.5:0 = 0
        function main(%x: float32[4], %i: int8[4]@0.5:0) {
          %a: float32[4] = ADD(#zero, %x)
          %b: float32[4] = MUL(%a, #one)
          %c: float32[4] = SUB(%b, #zero)
          %d: float32[4] = DIV(%c, #one)
          %e: float32[4] = SUB(#zero, %d)
          %f: float32[4] = ADD(%d, #zero) {fused_activation_function=1}
          %g: int8[4]@0.5:0 = ADD(%i, #q)
          return %d, %e, %f, %g
        }
        signature main: main(x, i) -> (d, e, f, g)
    """
    same_graph(
        drop_identities(parse_graph(text)),
        """
        constant #zero: float32[4] = 0.0
        constant #q: int8[]@0.5:0 = 0
        function main(%x: float32[4], %i: int8[4]@0.5:0) {
          %e: float32[4] = SUB(#zero, %x)
          %f: float32[4] = ADD(%x, #zero) {fused_activation_function=1}
          %g: int8[4]@0.5:0 = ADD(%i, #q)
          return %x, %e, %f, %g
        }
        signature main: main(x, i) -> (d, e, f, g)
    """,
    )


@pytest.mark.parametrize(
    ("shape", "constant"), [("1,18,4", "1,1,4"), ("18,4,1", "1,4,1"), ("3,6,4", "4"), ("1,1,1,18,4", "1,1,1,1,4")]
)
def test_a_view_between_hides_no_channels(shape: str, constant: str) -> None:
    """Batch normalisation of a layer of one dimension, as Keras and ONNX arrange it."""
    text = f"""
        constant #w: float32[4,1,1,2] = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0
        constant #c: float32[{constant}] = 2.0, 3.0, 4.0, 5.0
        constant #s: int32[{len(shape.split(","))}] = {shape}
        function main(%x: float32[1,1,18,2]) {{
          %a: float32[1,1,18,4] = CONV_2D(%x, #w) {{stride_h=1, stride_w=1, dilation_h_factor=1, dilation_w_factor=1}}
          %b: float32[{shape}] = RESHAPE(%a, #s)
          %m: float32[{shape}] = MUL(%b, #c)
          %y: float32[{shape}] = ADD(%m, #c) {{fused_activation_function=1}}
          return %y
        }}
        signature main: main(x) -> (y)
    """
    (function,) = run_passes(parse_graph(text)).functions
    layer, view = (node for node in function.body.nodes if isinstance(node, Op))
    assert (layer.operator, view.operator) == ("CONV_2D", "RESHAPE")


def test_a_factor_of_steps_is_no_channels() -> None:
    text = """
        constant #w: float32[2,1,1,2] = 1.0, 2.0, 3.0, 4.0
        constant #c: float32[2,1] = 2.0, 3.0
        constant #s: int32[2] = 2, 2
        function main(%x: float32[1,1,2,2]) {
          %a: float32[1,1,2,2] = CONV_2D(%x, #w) {stride_h=1, stride_w=1, dilation_h_factor=1, dilation_w_factor=1}
          %b: float32[2,2] = RESHAPE(%a, #s)
          %y: float32[2,2] = MUL(%b, #c)
          return %y
        }
        signature main: main(x) -> (y)
    """
    (function,) = run_passes(parse_graph(text)).functions
    assert [node.operator for node in function.body.nodes if isinstance(node, Op)] == ["CONV_2D", "RESHAPE", "MUL"]


@pytest.mark.parametrize("line", ["%y: float32[1,3] = ADD(%m, #n)", "%y: float32[1,3] = SUB(%m, #p)"])
def test_a_sum_that_rounds_to_integers_stays(line: str) -> None:
    """x + 1.5 * 2^23 - 1.5 * 2^23 is x rounded to an integer in float32."""
    constants = "constant #p: float32[] = 12582912.0\nconstant #n: float32[] = -12582912.0"
    text = graph("%m: float32[1,3] = ADD(%x, #p)", line, constants=constants)
    same_graph(fold_affine(parse_graph(text)), text)
