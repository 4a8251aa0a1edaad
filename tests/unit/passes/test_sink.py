"""sink on the text form."""

from __future__ import annotations

from support.graph_parser import parse_graph, same_graph
from tflmgen.passes.branch_code_motion import sink


def test_what_one_branch_needs_is_computed_there() -> None:
    module = parse_graph("""
        function main(%x: float32[8], %n: int32[], %p: bool[]) {
          %two: float32[8] = ADD(%x, %x)
          %four: float32[8] = ADD(%two, %two)
          %both: float32[8] = MUL(%x, %x)
          if %p {
            if %p {
              yield %both
            } else {
              yield %four
            } -> %y: float32[8]
            yield %y
          } else {
            yield %both
          } -> %z: float32[8]
          return %z
        }
        signature main: main(x, n, p) -> (z)
    """)
    same_graph(
        sink(module),
        """
        function main(%x: float32[8], %n: int32[], %p: bool[]) {
          %both: float32[8] = MUL(%x, %x)
          if %p {
            if %p {
              yield %both
            } else {
              %two: float32[8] = ADD(%x, %x)
              %four: float32[8] = ADD(%two, %two)
              yield %four
            } -> %y: float32[8]
            yield %y
          } else {
            yield %both
          } -> %z: float32[8]
          return %z
        }
        signature main: main(x, n, p) -> (z)
    """,
    )


def test_what_is_needed_elsewhere_too_stays() -> None:
    text = """
        function main(%x: float32[8], %p: bool[]) {
          %t: float32[8] = ADD(%x, %x)
          if %p {
            %u: float32[8] = MUL(%t, %x)
            yield %u
          } else {
            yield %x
          } -> %y: float32[8]
          return %y, %t
        }
        signature main: main(x, p) -> (y, t)
    """
    same_graph(sink(parse_graph(text)), text)


def test_nothing_moves_into_a_loop() -> None:
    text = """
        function main(%x: int32[], %n: int32[]) {
          %t: int32[] = ADD(%n, %n)
          while (%i: int32[]) = (%x) {
            %c: bool[] = LESS(%i, %n)
            test %c
          } do {
            %j: int32[] = ADD(%i, %t)
            next %j
          } -> %k: int32[]
          return %k
        }
        signature main: main(x, n) -> (k)
    """
    same_graph(sink(parse_graph(text)), text)


def test_a_sum_is_not_delayed_while_its_long_input_would_wait() -> None:
    text = """
        constant #axes: int32[1] = 0
        function main(%x: float32[64], %p: bool[], %v: float32[]) {
          %t: float32[64] = ADD(%x, %x)
          %s: float32[] = SUM(%t, #axes)
          if %p {
            yield %s
          } else {
            yield %v
          } -> %y: float32[]
          return %y
        }
        signature main: main(x, p, v) -> (y)
    """
    same_graph(sink(parse_graph(text)), text)
