"""fuse_functions and fuse_lookups on the text form."""

from __future__ import annotations

import numpy as np
import pytest
from support.graph_parser import parse_graph, same_graph
from tflmgen.ir.graph import Module, Op, walk
from tflmgen.passes.activation_functions import fuse_functions
from tflmgen.passes.dead_code import prune
from tflmgen.passes.fuse_lookups import fuse_lookups
from tflmgen.passes.pipeline import run_passes
from tflmgen.reference.module_interpreter import ModuleInterpreter

F = "float32[2,9]"


def operators(module: Module) -> list[str]:
    return [n.operator for f in module.functions for n in walk(f.body) if isinstance(n, Op)]


def spelled(*lines: str) -> str:
    body = "\n".join(f"%{line.replace(' = ', f': {F} = ', 1)}" for line in lines)
    return f"""
        constant #three: float32[1] = 3.0
        constant #sixth: float32[] = 0.16666667
        constant #six: float32[] = 6.0
        constant #half: float32[] = 0.5
        constant #one: float32[] = 1.0
        constant #cubic: float32[] = 0.044715
        constant #root: float32[] = 0.79788456
        constant #exponent: float32[] = 3.0
        constant #slope: float32[] = 0.2
        constant #minus: float32[] = -1.0
        constant #zero: float32[] = 0.0
        function main(%x: {F}) {{
          {body}
          return %y
        }}
        signature main: main(x) -> (y)
    """


SPELLED = {
    "hard-swish": (["a = ADD(%x, #three)", "b = RELU6(%a)", "c = MUL(%x, %b)", "y = MUL(%c, #sixth)"], "HARD_SWISH"),
    "hard-swish, divided first": (
        ["a = ADD(%x, #three) {fused_activation_function=3}", "b = DIV(%a, #six)", "y = MUL(%b, %x)"],
        "HARD_SWISH",
    ),
    "swish": (["a = LOGISTIC(%x)", "y = MUL(%a, %x)"], "SILU"),
    "swish by exponentials": (["a = NEG(%x)", "b = EXP(%a)", "c = ADD(%b, #one)", "y = DIV(%x, %c)"], "SILU"),
    "GELU with a power": (
        [
            "a = POW(%x, #exponent)",
            "b = MUL(%a, #cubic)",
            "c = ADD(%x, %b)",
            "d = MUL(%c, #root)",
            "e = TANH(%d)",
            "f = ADD(%e, #one)",
            "g = MUL(%f, #half)",
            "y = MUL(%x, %g)",
        ],
        "GELU",
    ),
    "leaky": (["a = MUL(%x, #slope)", "y = MAXIMUM(%a, %x)"], "LEAKY_RELU"),
    "leaky of two halves": (
        ["a = RELU(%x)", "b = NEG(%x)", "c = RELU(%b)", "d = MUL(%c, #slope)", "y = SUB(%a, %d)"],
        "LEAKY_RELU",
    ),
    "magnitude": (["a = SUB(#zero, %x)", "y = MAXIMUM(%a, %x)"], "ABS"),
}


@pytest.mark.parametrize("name", SPELLED)
def test_spelled_out(name: str) -> None:
    lines, operator = SPELLED[name]
    assert operators(prune(fuse_functions(parse_graph(spelled(*lines))))) == [operator]


def test_a_function_of_a_sum_keeps_the_sum() -> None:
    text = spelled("a = ADD(%x, #one)", "b = LOGISTIC(%a)", "y = MUL(%a, %b)")
    same_graph(prune(fuse_functions(parse_graph(text))), spelled("a = ADD(%x, #one)", "y = SILU(%a)"))


OTHERS = {
    "other constants": ["a = ADD(%x, #one)", "b = RELU6(%a)", "c = MUL(%x, %b)", "y = MUL(%c, #sixth)"],
    "another operand": ["a = LOGISTIC(%x)", "b = EXP(%x)", "y = MUL(%a, %b)"],
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_functions_stay(name: str) -> None:
    text = spelled(*OTHERS[name])
    same_graph(fuse_functions(parse_graph(text)), text)


def test_what_is_read_elsewhere_is_no_part_of_a_function() -> None:
    text = spelled("a = LOGISTIC(%x)", "y = MUL(%a, %x)").replace("return %y", "return %y, %a").replace("(y)", "(y, a)")
    same_graph(fuse_functions(parse_graph(text)), text)


Q = "int8[32]@0.05:-10"
UNIT = "int8[32]@0.00390625:-128"

INT8 = f"""
    constant #three: int8[1]@0.0625:0 = 48
    constant #sixth: int8[]@0.0013123:0 = 127
    constant #table: int8[256] = 5, 6, 7
    function main(%x: {Q}, %z: {Q}) {{
      %s: {UNIT} = LOGISTIC(%x)
      %w: {Q} = MUL(%s, %x)
      %a: int8[32]@0.04:-128 = ADD(%w, #three) {{fused_activation_function=3}}
      %v: int8[4,8]@0.04:-128 = RESHAPE(%a) {{new_shape=(4,8)}}
      %b: int8[4,8]@0.04:-128 = RESHAPE(%v) {{new_shape=(4,8)}}
      %c: int8[32]@0.04:-128 = RESHAPE(%b) {{new_shape=(32,)}}
      %d: int8[32]@0.1:-100 = MUL(%c, %w)
      %e: {Q} = MUL(%d, #sixth)
      %f: float32[32] = DEQUANTIZE(%z)
      %g: float32[32] = SQUARE(%f)
      %h: {Q} = QUANTIZE(%g)
      return %e, %h
    }}
    signature main: main(x, z) -> (e, h)
"""


def test_what_maps_int8_to_int8_is_a_table() -> None:
    module = parse_graph(INT8)
    fused = prune(fuse_lookups(module))
    assert operators(fused) == ["LOOKUP", "LOOKUP"]
    for first in range(-128, 128, 32):
        x = np.arange(first, first + 32).astype(np.int8)
        for result, other in zip(
            ModuleInterpreter(module).call("main", [x, x]), ModuleInterpreter(fused).call("main", [x, x]), strict=True
        ):
            np.testing.assert_array_equal(result, other)


def test_tables_of_tables_are_one() -> None:
    module = parse_graph("""
        constant #t: int8[256] = 1, 2, 3
        constant #u: int8[256] = 4, 5, 6
        function main(%x: int8[4]@0.5:0) {
          %a: int8[4]@0.5:0 = LOOKUP(%x, #t)
          %b: int8[4]@0.5:0 = LOOKUP(%a, #u)
          return %b
        }
        signature main: main(x) -> (b)
    """)
    fused = prune(fuse_lookups(module))
    assert operators(fused) == ["LOOKUP"]
    x = np.array([-128, -1, 0, 127], np.int8)
    np.testing.assert_array_equal(
        ModuleInterpreter(fused).call("main", [x])[0], ModuleInterpreter(module).call("main", [x])[0]
    )


@pytest.mark.parametrize("count", [8, 32])
def test_a_table_needs_elements_to_pay_for_it(count: int) -> None:
    text = f"""
        constant #c: int8[]@0.5:0 = 3
        function main(%x: int8[{count}]@0.5:0) {{
          %a: int8[{count}]@0.25:0 = MUL(%x, #c)
          %b: int8[{count}]@0.5:0 = MUL(%a, #c)
          return %b
        }}
        signature main: main(x) -> (b)
    """
    assert operators(prune(fuse_lookups(parse_graph(text)))) == (["LOOKUP"] if count == 32 else ["MUL", "MUL"])


def test_two_operands_are_no_table() -> None:
    text = """
        constant #c: int8[32]@0.5:0 = 1, 2, 3
        function main(%x: int8[32]@0.5:0, %z: int8[32]@0.5:0) {
          %a: int8[32]@0.5:0 = MUL(%x, #c)
          %b: int8[32]@0.5:0 = MUL(%a, %z)
          return %b
        }
        signature main: main(x, z) -> (b)
    """
    same_graph(fuse_lookups(parse_graph(text)), text)


def test_constants_of_several_numbers_are_no_table() -> None:
    text = """
        constant #c: int8[32]@0.5:0 = 1, 2, 3
        constant #d: int8[]@0.5:0 = 3
        function main(%x: int8[32]@0.5:0) {
          %a: int8[32]@0.5:0 = ADD(%x, #c)
          %b: int8[32]@0.5:0 = MUL(%a, #d)
          return %b
        }
        signature main: main(x) -> (b)
    """
    same_graph(fuse_lookups(parse_graph(text)), text)


def test_the_pipeline_ends() -> None:
    for text in (INT8, *(spelled(*lines) for lines, _ in SPELLED.values())):
        module = run_passes(parse_graph(text))
        assert run_passes(module).functions == module.functions


def test_a_clamp_at_a_large_number_is_no_activation() -> None:
    """min(max(x, 0), 255) bends where RELU does not."""
    for text in ("#minus: float32[] = 255.0", "#minus: float32[] = 2e20"):
        clamped = spelled("a = MAXIMUM(%x, #zero)", "y = MINIMUM(%a, #minus)")
        clamped = clamped.replace("#minus: float32[] = -1.0", text)
        same_graph(fuse_functions(parse_graph(clamped)), clamped)
