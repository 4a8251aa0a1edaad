"""analyze_ranges and use_known_values over control flow, on the text form."""

from __future__ import annotations

import pytest
from support.graph_parser import parse_graph, same_graph
from tflmgen.ir.graph.module import Module, Op, While, walk
from tflmgen.kernels.numeric.quantize_math import Activation
from tflmgen.kernels.operators.arithmetic import Fused
from tflmgen.kernels.ranges.intervals import Interval
from tflmgen.passes.apply_ranges import use_known_values
from tflmgen.passes.pipeline import run_passes
from tflmgen.passes.range_analysis import analyze_ranges
from tflmgen.passes.range_pass import range_pass

LEAST, MOST = -(2**31), 2**31 - 1

LOOP = """
    constant #zero: int32[1] = 0
    constant #one: int32[1] = 1
    constant #ten: int32[1] = 10
    function main(%x: int32[1]) {{
      while (%i: int32[1], %y: int32[1]) = (#zero, %x) {{
        %t: bool[1] = {test}
        test %t
      }} do {{
        %j: int32[1] = ADD(%i, #one)
        %z: int32[1] = MINIMUM(%y, #ten)
        next %j, %z
      }} -> %k: int32[1], %w: int32[1]
      return %k, %w
    }}
    signature main: main(x) -> (k, w)
"""


def hulls(module: Module) -> dict[str, tuple[int, int]]:
    """The intervals of all values, by name."""
    ranges = analyze_ranges(module)
    values = [v for f in module.functions for node in walk(f.body) for v in node.outputs]
    values += [v for f in module.functions for n in walk(f.body) if isinstance(n, While) for v in n.variables]
    intervals: dict[str, Interval | None] = {v.name.strip("%"): ranges.of(v) for v in values}
    return {name: interval.hull for name, interval in intervals.items() if interval is not None}


def test_a_condition_bounds_its_counter() -> None:
    bounds = hulls(parse_graph(LOOP.format(test="LESS(%i, #ten)")))
    assert (bounds["i"], bounds["j"], bounds["k"]) == ((0, 10), (1, 10), (10, 10))
    assert (bounds["z"], bounds["w"]) == ((LEAST, 10), (LEAST, MOST))


def test_a_condition_on_something_else_bounds_nothing() -> None:
    bounds = hulls(parse_graph(LOOP.format(test="LESS(%y, #ten)")))
    assert bounds["k"] == (LEAST, MOST)


def test_a_loop_that_is_never_entered_is_its_initial_values() -> None:
    module = parse_graph(LOOP.format(test="GREATER(%i, #ten)"))
    rewritten = use_known_values(module, analyze_ranges(module))
    assert [entry.kind for entry in rewritten.removed] == ["loop"]
    same_graph(
        rewritten,
        """
        constant #zero: int32[1] = 0
        function main(%x: int32[1]) {
          return #zero, %x
        }
        signature main: main(x) -> (k, w)
    """,
    )


BRANCHES = """
    constant #c: int32[1] = {constant}
    constant #five: int32[1] = 5
    constant #three: int32[1] = 3
    function main(%x: int32[1]) {{
      %a: int32[1] = MAXIMUM(%x, #five)
      %p: bool[1] = LESS(%a, #c)
      if %p {{
        %b: int32[1] = MINIMUM(%a, #c)
        yield %b
      }} else {{
        %q: bool[1] = GREATER(%a, #three)
        if %q {{
          yield %x
        }} else {{
          yield #three
        }} -> %d: int32[1]
        yield %d
      }} -> %y: int32[1]
      return %y
    }}
    signature main: main(x) -> (y)
"""


@pytest.mark.parametrize(("constant", "left"), [(5, "x"), (90, "b")])
def test_branches_that_can_not_be_taken_go(constant: int, left: str) -> None:
    module = run_passes(parse_graph(BRANCHES.format(constant=constant)))
    values = {v.name.strip("%") for f in module.functions for node in walk(f.body) for v in node.outputs}
    removed = {(entry.kind, entry.name.strip("%")) for entry in module.removed}
    if left == "x":
        assert not values
        assert ("constant", "p") in removed
    else:
        # Inside the first branch a is less than 90: MINIMUM is a. Inside the other, greater than 3 as everywhere.
        assert values == {"a", "p", "y"}
        assert {("clamp", "b"), ("constant", "q")} <= removed


def test_inside_a_branch_the_comparison_holds() -> None:
    bounds = hulls(parse_graph(BRANCHES.format(constant=90)))
    assert (bounds["a"], bounds["p"], bounds["b"], bounds["q"]) == ((5, MOST), (0, 1), (5, 89), (1, 1))


def test_functions_are_analysed_for_the_arguments_of_each_call() -> None:
    module = parse_graph("""
        constant #one: int32[1] = 1
        constant #two: int32[1] = 2
        function f(%a: int32[1]) {
          %b: int32[1] = ADD(%a, #one)
          return %b
        }
        function main() {
          %x: int32[1] = call f(#one)
          %y: int32[1] = call f(#two)
          return %x, %y
        }
        signature main: main() -> (x, y)
    """)
    bounds = hulls(module)
    assert (bounds["x"], bounds["y"], bounds["b"]) == ((2, 2), (3, 3), (2, 3))


def test_many_different_calls_are_analysed_once_for_all() -> None:
    lines = [f"constant #c{i}: int32[1] = {i}" for i in range(12)]
    lines += ["function f(%a: int32[1]) {", "%b: int32[1] = NEG(%a)", "return %b", "}", "function main() {"]
    lines += [f"%x{i}: int32[1] = call f(#c{i})" for i in range(12)]
    lines += [f"return {', '.join(f'%x{i}' for i in range(12))}", "}"]
    lines.append(f"signature main: main() -> ({', '.join(f'x{i}' for i in range(12))})")
    assert hulls(parse_graph("\n".join(lines)))["x11"] == (LEAST, MOST)


@pytest.mark.parametrize(
    ("start", "bounds"), [(0, (0, 18)), (MOST - 18, (MOST - 18, MOST)), (MOST - 17, (LEAST, MOST))]
)
def test_a_known_number_of_turns_bounds_counters_that_do_not_wrap(start: int, bounds: tuple[int, int]) -> None:
    module = parse_graph(f"""
        constant #start: int32[1] = {start}
        constant #three: int32[1] = 3
        function main(%x: int32[1]) {{
          7 times (%i: int32[1], %y: int32[1]) = (#start, %x) {{
            %j: int32[1] = ADD(%i, #three)
            %z: int32[1] = ADD(%y, %i)
            next %j, %z
          }} -> %k: int32[1], %w: int32[1]
          return %w
        }}
        signature main: main(x) -> (w)
    """)
    assert hulls(module)["i"] == bounds


@pytest.mark.parametrize(("zero_point", "stays"), [(-20, False), (40, True)])
def test_fused_activations_that_can_not_act_go(zero_point: int, stays: bool) -> None:
    """Sums of two elements of at least 0, in a quantisation in which these are at least -20, or 40 for 0."""
    module = parse_graph(f"""
        constant #least: int8[1]@0.5:{zero_point} = 20
        function main(%x: int8[4]@0.5:{zero_point}) {{
          %a: int8[4]@0.5:{zero_point} = MAXIMUM(%x, #least)
          %y: int8[4]@1.0:-20 = ADD(%a, %a) {{fused_activation_function=1}}
          return %y
        }}
        signature main: main(x) -> (y)
    """)
    rewritten = use_known_values(module, analyze_ranges(module))
    *_, add = walk(rewritten.functions[0].body)
    assert isinstance(add, Op)
    assert add.attributes == Fused(Activation.RELU if stays else Activation.NONE)
    assert [entry.kind for entry in rewritten.removed] == ([] if stays else ["clamp"])


CLAMPED = """
    constant #table: int8[256] = {table}
    constant #least: int8[1]@0.5:0 = -100
    function main(%x: int8[4]@0.5:0) {{
      %a: int8[4]@0.5:0 = MAXIMUM(%x, #least)
      %b: int8[4]@0.5:0 = LOOKUP(%a, #table)
      return %b
    }}
    signature main: main(x) -> (b)
"""


@pytest.mark.parametrize(("first", "left"), [(-100, 1), (-101, 1), (-99, 2)])
def test_a_table_that_changes_nothing_that_can_come_is_nothing(first: int, left: int) -> None:
    table = ", ".join(str(max(v, first)) for v in range(-128, 128))
    module = range_pass(1)(parse_graph(CLAMPED.format(table=table)))
    assert len(list(walk(module.functions[0].body))) == left
