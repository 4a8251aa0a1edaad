"""fuse_functions and fuse_lookups on the text form."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support.graph_parser import parse_graph, same_graph
from tflmgen.ir.graph.module import Module, Op, walk
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
        constant #epsilon: float32[] = 1e-7
        constant #greatest: float32[] = 3.4028235e38
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


def test_products_of_the_greatest_constants_are_no_function_that_is_known() -> None:
    lines = ["a0 = ABS(%x)", *(f"a{i} = MUL(%a{i - 1}, #greatest)" for i in range(1, 12)), "y = RELU(%a11)"]
    module = parse_graph(spelled(*lines))
    assert len(operators(fuse_functions(module))) in (len(lines), len(lines) - 1)


def test_a_view_between_is_seen_through() -> None:
    text = spelled("a = LOGISTIC(%x)", "y = MUL(%a, %x)").replace(
        "%a: float32[2,9] = LOGISTIC(%x)",
        "%v: float32[9,2] = RESHAPE(%x, #wide)\n%w: float32[9,2] = LOGISTIC(%v)\n%a: float32[2,9] = RESHAPE(%w, #long)",
    )
    text = text.replace(
        "constant #one", "constant #wide: int32[2] = 9, 2\nconstant #long: int32[2] = 2, 9\nconstant #one"
    )
    assert operators(prune(fuse_functions(parse_graph(text)))) == ["SILU"]


OTHERS = {
    "other constants": ["a = ADD(%x, #one)", "b = RELU6(%a)", "c = MUL(%x, %b)", "y = MUL(%c, #sixth)"],
    "another operand": ["a = LOGISTIC(%x)", "b = EXP(%x)", "y = MUL(%a, %b)"],
}


NEAR_MISSES = {
    "a floor of RELU": (["a = RELU(%x)", "y = ADD(%a, #epsilon)"], "epsilon"),
    "a floor of ABS": (["a = ABS(%x)", "y = ADD(%a, #epsilon)"], "epsilon"),
    "a clip at an epsilon": (["a = MAXIMUM(#epsilon, %x)", "y = MINIMUM(#greatest, %a)"], "epsilon"),
    "a clip below 0": (["a = MAXIMUM(#zero, %x)", "b = SUB(%a, #epsilon)", "y = MAXIMUM(%b, %b)"], "epsilon"),
    "hard-swish": (SPELLED["hard-swish"][0], "sixth six three"),
    "hard-swish, divided first": (SPELLED["hard-swish, divided first"][0], "six three"),
    "swish by exponentials": (SPELLED["swish by exponentials"][0], "one"),
    "GELU": (SPELLED["GELU with a power"][0], "cubic root one half exponent"),
    "magnitude": (SPELLED["magnitude"][0], "zero"),
}
"""Functions, and names of constants of which a millionth more or less makes another function."""


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_constants_that_are_off_by_a_millionth_make_another_function(name: str) -> None:
    lines, constants = NEAR_MISSES[name]
    text = spelled(*lines)
    for constant in constants.split():
        definition = re.search(rf"#{constant}: float32\[1?\] = (\S+)", text)
        if definition is None or (f"#{constant})" not in text and f"#{constant}," not in text):
            continue
        value = np.float32(definition[1])
        others = [value * np.float32(1 + 1e-6), value - np.float32(1e-6), value + np.float32(1e-7)]
        for other in (o for o in others if abs(o - value) > 4e-7 * abs(value)):
            near = text.replace(definition[0], definition[0].replace(definition[1], repr(float(other))))
            assert len(operators(prune(fuse_functions(parse_graph(near))))) == len(lines), (constant, other)


@pytest.mark.parametrize("epsilon", [1e-3, 1e-6, 1e-7, 1e-10, 1e-12, 1e-30, 1e-44])
@pytest.mark.parametrize("name", [name for name, (_, constants) in NEAR_MISSES.items() if constants == "epsilon"])
def test_an_epsilon_of_any_size_stays(name: str, epsilon: float) -> None:
    text = spelled(*NEAR_MISSES[name][0]).replace("= 1e-7", f"= {epsilon}")
    assert len(operators(prune(fuse_functions(parse_graph(text))))) == len(NEAR_MISSES[name][0])


@pytest.mark.parametrize("name", [*SPELLED, *NEAR_MISSES])
def test_results_are_those_of_the_same_real_function(name: str) -> None:
    """Whatever is fused, at points of each size and around each constant."""
    lines = SPELLED[name][0] if name in SPELLED else NEAR_MISSES[name][0]
    module = parse_graph(spelled(*lines))
    tiny = np.geomspace(1e-38, 1, 40)
    points = np.concatenate([tiny, np.linspace(0, 8, 401), np.geomspace(8, 1e10, 20)]).astype(np.float32)
    points = np.concatenate([points, -points, [np.nextafter(np.float32(c), d) for c in (-3, 3, 6) for d in (-9, 9)]])
    points.resize(-(-len(points) // 18) * 18)
    for x in points.astype(np.float32).reshape(-1, 2, 9):
        with np.errstate(all="ignore"):
            (expected,) = ModuleInterpreter(module).call("main", [x])
            (fused,) = ModuleInterpreter(prune(fuse_functions(module))).call("main", [x])
        np.testing.assert_allclose(
            fused, expected, rtol=2e-6, atol=2e-7 * np.abs(x).max() if name != "magnitude" else 0
        )


def test_bounds_that_replace_nan_are_no_relu() -> None:
    """MAXIMUM(NaN, 0) is 0, RELU(NaN) is NaN, and (x + |x|) / 2 of an infinity below 0 is none of both."""
    for lines in (
        ["a = MAXIMUM(%x, #zero)", "y = MAXIMUM(%a, #zero)"],
        ["a = ABS(%x)", "b = ADD(%a, %x)", "y = MUL(%b, #half)"],
    ):
        text = spelled(*lines)
        same_graph(fuse_functions(parse_graph(text)), text)


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
