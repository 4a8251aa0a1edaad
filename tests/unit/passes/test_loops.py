"""substitute_invariants and merge_variables on the text form."""

from __future__ import annotations

from support.graph_parser import parse_graph, same_graph
from tflmgen.passes.loop_variables import merge_variables, substitute_invariants


def test_unchanged_variables_and_those_set_to_their_beginning_are_not_carried() -> None:
    module = parse_graph("""
        constant #w: int32[] = 5
        constant #one: int32[] = 1
        function main(%x: int32[], %n: int32[]) {
          while (%i: int32[], %a: int32[], %b: int32[]) = (%x, %n, #w) {
            %c: bool[] = LESS(%i, %a)
            test %c
          } do {
            %j: int32[] = ADD(%i, %b)
            next %j, %a, #w
          } -> %i2: int32[], %a2: int32[], %b2: int32[]
          return %i2, %a2, %b2
        }
        signature main: main(x, n) -> (i, a, b)
    """)
    same_graph(
        substitute_invariants(module),
        """
        constant #w: int32[] = 5
        function main(%x: int32[], %n: int32[]) {
          while (%i: int32[]) = (%x) {
            %c: bool[] = LESS(%i, %n)
            test %c
          } do {
            %j: int32[] = ADD(%i, #w)
            next %j
          } -> %i2: int32[]
          return %i2, %n, #w
        }
        signature main: main(x, n) -> (i, a, b)
    """,
    )


def test_an_invariant_of_both_loops_of_a_nest_reaches_the_inner_one() -> None:
    module = parse_graph("""
        function main(%x: int32[], %n: int32[]) {
          while (%i: int32[], %a: int32[]) = (%x, %n) {
            %c: bool[] = LESS(%i, %a)
            test %c
          } do {
            while (%j: int32[], %b: int32[]) = (%i, %a) {
              %d: bool[] = LESS(%j, %b)
              test %d
            } do {
              %k: int32[] = ADD(%j, %b)
              next %k, %b
            } -> %j2: int32[], %b2: int32[]
            next %j2, %b2
          } -> %i2: int32[], %a2: int32[]
          return %i2, %a2
        }
        signature main: main(x, n) -> (i, a)
    """)
    same_graph(
        substitute_invariants(module),
        """
        function main(%x: int32[], %n: int32[]) {
          while (%i: int32[]) = (%x) {
            %c: bool[] = LESS(%i, %n)
            test %c
          } do {
            while (%j: int32[]) = (%i) {
              %d: bool[] = LESS(%j, %n)
              test %d
            } do {
              %k: int32[] = ADD(%j, %n)
              next %k
            } -> %j2: int32[]
            next %j2
          } -> %i2: int32[]
          return %i2, %n
        }
        signature main: main(x, n) -> (i, a)
    """,
    )


COUNTERS = """
    constant #zero: int32[] = 0
    constant #one: int32[] = 1
    constant #two: int32[] = 2
    function main(%n: int32[]) {{
      while (%i: int32[], %j: int32[]) = (#zero, #zero) {{
        %c: bool[] = LESS(%i, %n)
        test %c
      }} do {{
        %i1: int32[] = ADD(%i, #one)
        %j1: int32[] = ADD(%j, {step})
        next {following}
      }} -> %i2: int32[], %j2: int32[]
      return %i2, %j2
    }}
    signature main: main(n) -> (i, j)
"""


def test_counters_that_run_alike_are_one() -> None:
    module = parse_graph(COUNTERS.format(step="#one", following="%i1, %j1"))
    same_graph(
        merge_variables(module),
        """
        constant #zero: int32[] = 0
        constant #one: int32[] = 1
        function main(%n: int32[]) {
          while (%i: int32[]) = (#zero) {
            %c: bool[] = LESS(%i, %n)
            test %c
          } do {
            %i1: int32[] = ADD(%i, #one)
            %j1: int32[] = ADD(%i, #one)
            next %i1
          } -> %i2: int32[]
          return %i2, %i2
        }
        signature main: main(n) -> (i, j)
    """,
    )


def test_variables_that_begin_equal_and_part_are_kept() -> None:
    for text in (
        COUNTERS.format(step="#two", following="%i1, %j1"),
        COUNTERS.format(step="#one", following="%i1, %i"),
    ):
        same_graph(merge_variables(parse_graph(text)), text)


def test_equal_variables_that_change_places_are_one() -> None:
    module = parse_graph(COUNTERS.format(step="#one", following="%j1, %i1"))
    assert len(merge_variables(module).functions[0].body.nodes[0].outputs) == 1
