"""count_trips on the text form, and the number of trips against plain counting."""

from __future__ import annotations

import itertools
import operator

import pytest
from support.graph_parser import parse_graph, same_graph
from tflmgen.frontend.trips import Counter, first_failure
from tflmgen.kernels import Comparison
from tflmgen.passes.counted_loops import count_trips
from tflmgen.passes.dead_code import prune

HOLDS = {
    Comparison.LESS: operator.lt,
    Comparison.LESS_EQUAL: operator.le,
    Comparison.GREATER: operator.gt,
    Comparison.GREATER_EQUAL: operator.ge,
    Comparison.NOT_EQUAL: operator.ne,
}


@pytest.mark.parametrize("comparison", HOLDS)
def test_the_first_failure_is_where_counting_stops(comparison: Comparison) -> None:
    for start, step, limit in itertools.product(range(-4, 5), (-3, -2, -1, 1, 2, 3), range(-4, 5)):
        counted = next((k for k in range(20) if not HOLDS[comparison](start + k * step, limit)), None)
        assert first_failure(Counter(start, step, 32), comparison, limit) == counted


def test_a_counter_that_only_counts_goes_away() -> None:
    module = parse_graph("""
        constant #zero: int32[] = 0
        constant #ten: int32[] = 10
        constant #one: int32[] = 1
        function main(%x: int32[4]) {
          while (%i: int32[], %y: int32[4]) = (#zero, %x) {
            %c: bool[] = LESS(%i, #ten)
            test %c
          } do {
            %j: int32[] = ADD(%i, #one)
            %z: int32[4] = ADD(%y, %y)
            next %j, %z
          } -> %i2: int32[], %y2: int32[4]
          return %i2, %y2
        }
        signature main: main(x) -> (i, y)
    """)
    same_graph(
        prune(count_trips(module)),
        """
        constant #ten: int32[] = 10
        function main(%x: int32[4]) {
          10 times (%y: int32[4]) = (%x) {
            %z: int32[4] = ADD(%y, %y)
            next %z
          } -> %y2: int32[4]
          return #ten, %y2
        }
        signature main: main(x) -> (i, y)
    """,
    )


def counted(condition: str, start: int = 0, step: str = "ADD(%i, #one)") -> int | None:
    """How often a loop with this condition is found to run; %i counts up from `start`, %k down from 9."""
    module = parse_graph(f"""
        constant #start: int32[] = {start}
        constant #nine: int32[] = 9
        constant #one: int32[] = 1
        constant #most: int32[] = 2147483647
        function main(%n: int32[]) {{
          while (%i: int32[], %k: int32[]) = (#start, #nine) {{
            {condition}
            test %c
          }} do {{
            %j: int32[] = {step}
            %l: int32[] = SUB(%k, #one)
            next %j, %l
          }} -> %i2: int32[], %k2: int32[]
          return %i2, %k2, %n
        }}
        signature main: main(n) -> (i, k, n)
    """)
    loops = [node for node in count_trips(module).functions[0].body.nodes if hasattr(node, "trips")]
    return loops[0].trips if loops else 0


def test_conditions_that_are_understood() -> None:
    assert counted("%c: bool[] = LESS(%i, #nine)") == 9
    assert counted("%c: bool[] = GREATER(#nine, %i)") == 9
    assert counted("%c: bool[] = GREATER_EQUAL(%k, #one)") == 9
    assert counted("%c: bool[] = NOT_EQUAL(%i, #nine)", start=3) == 6
    assert counted("%c: bool[] = LESS(%i, #nine)", start=9) == 0
    both = "%a: bool[] = LESS(%i, #nine)\n %b: bool[] = GREATER(%k, #one)\n %c: bool[] = LOGICAL_AND(%a, %b)"
    assert counted(both) == 8


def test_conditions_that_tell_no_number() -> None:
    assert counted("%c: bool[] = LESS(%i, %n)") is None
    assert counted("%c: bool[] = LESS(%i, #nine)", step="ADD(%i, %n)") is None
    assert counted("%c: bool[] = LESS(%i, #nine)", step="MUL(%i, #one)") is None
    assert counted("%c: bool[] = LESS_EQUAL(%i, #most)") is None
    assert counted("%c: bool[] = GREATER(%i, #one)", start=9) is None
    either = "%a: bool[] = LESS(%i, #nine)\n %b: bool[] = LESS(%i, %n)\n %c: bool[] = LOGICAL_AND(%a, %b)"
    assert counted(either) is None
