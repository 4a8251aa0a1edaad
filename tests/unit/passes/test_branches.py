"""fold_branches and share_branches on the text form."""

from __future__ import annotations

from support.graph_parser import parse_graph, same_graph
from tflmgen.passes.branch_code_motion import share_branches
from tflmgen.passes.branches import fold_branches


def test_an_if_on_a_constant_is_its_branch() -> None:
    module = parse_graph("""
        constant #false: bool[] = False
        function main(%x: int32[]) {
          if #false {
            yield %x
          } else {
            %y: int32[] = ADD(%x, %x)
            yield %y
          } -> %z: int32[]
          %u: int32[] = ADD(%z, %x)
          return %u, %z
        }
        signature main: main(x) -> (u, z)
    """)
    same_graph(
        fold_branches(module),
        """
        function main(%x: int32[]) {
          %y: int32[] = ADD(%x, %x)
          %u: int32[] = ADD(%y, %x)
          return %u, %y
        }
        signature main: main(x) -> (u, z)
    """,
    )


def test_results_that_agree_leave_the_if() -> None:
    module = parse_graph("""
        constant #true: bool[] = True
        constant #false: bool[] = False
        function main(%x: int32[], %p: bool[]) {
          %y: int32[] = ADD(%x, %x)
          if %p {
            yield %x, %x, %x, #true
          } else {
            yield %x, %y, %y, #false
          } -> %a: int32[], %b: int32[], %c: int32[], %d: bool[]
          return %a, %b, %c, %d
        }
        signature main: main(x, p) -> (a, b, c, d)
    """)
    same_graph(
        fold_branches(module),
        """
        constant #true: bool[] = True
        constant #false: bool[] = False
        function main(%x: int32[], %p: bool[]) {
          %y: int32[] = ADD(%x, %x)
          if %p {
            yield %x, %x, %x, #true
          } else {
            yield %x, %y, %y, #false
          } -> %a: int32[], %b: int32[], %c: int32[], %d: bool[]
          return %x, %b, %b, %p
        }
        signature main: main(x, p) -> (a, b, c, d)
    """,
    )


def test_inside_a_branch_its_condition_is_known() -> None:
    module = parse_graph("""
        function main(%x: int32[], %y: int32[], %p: bool[]) {
          if %p {
            if %p {
              yield %x
            } else {
              yield %y
            } -> %a: int32[]
            yield %a
          } else {
            if %p {
              yield %x
            } else {
              yield %y
            } -> %b: int32[]
            yield %b
          } -> %z: int32[]
          return %z
        }
        signature main: main(x, y, p) -> (z)
    """)
    same_graph(
        fold_branches(module),
        """
        function main(%x: int32[], %y: int32[], %p: bool[]) {
          if %p {
            yield %x
          } else {
            yield %y
          } -> %z: int32[]
          return %z
        }
        signature main: main(x, y, p) -> (z)
    """,
    )


def test_a_loop_that_never_runs_is_its_initial_values() -> None:
    module = parse_graph("""
        constant #false: bool[] = False
        function main(%x: int32[]) {
          while (%i: int32[]) = (%x) {
            test #false
          } do {
            %j: int32[] = ADD(%i, %i)
            next %j
          } -> %k: int32[]
          return %k
        }
        signature main: main(x) -> (k)
    """)
    same_graph(fold_branches(module), "function main(%x: int32[]) {\nreturn %x\n}\nsignature main: main(x) -> (k)")


def test_a_flag_that_a_loop_tests_is_true_inside_and_false_after() -> None:
    module = parse_graph("""
        function main(%p: bool[], %q: bool[]) {
          while (%f: bool[]) = (%p) {
            test %f
          } do {
            %g: bool[] = LOGICAL_AND(%f, %q)
            next %g
          } -> %h: bool[]
          return %h
        }
        signature main: main(p, q) -> (h)
    """)
    same_graph(
        fold_branches(module),
        """
        constant #true: bool[] = True
        constant #false: bool[] = False
        function main(%p: bool[], %q: bool[]) {
          while (%f: bool[]) = (%p) {
            test %f
          } do {
            %g: bool[] = LOGICAL_AND(#true, %q)
            next %g
          } -> %h: bool[]
          return #false
        }
        signature main: main(p, q) -> (h)
    """,
    )


def test_what_both_branches_begin_with_is_done_before() -> None:
    module = parse_graph("""
        function main(%x: float32[8], %p: bool[]) {
          if %p {
            %a: int8[8]@0.5:0 = QUANTIZE(%x)
            %b: int8[8]@0.5:0 = MAXIMUM(%a, %a)
            yield %b
          } else {
            %c: int8[8]@0.5:0 = QUANTIZE(%x)
            %d: int8[8]@0.5:0 = MAXIMUM(%c, %c)
            %e: int8[8]@0.5:0 = ADD(%d, %c)
            yield %e
          } -> %y: int8[8]@0.5:0
          return %y
        }
        signature main: main(x, p) -> (y)
    """)
    same_graph(
        share_branches(module),
        """
        function main(%x: float32[8], %p: bool[]) {
          %a: int8[8]@0.5:0 = QUANTIZE(%x)
          %b: int8[8]@0.5:0 = MAXIMUM(%a, %a)
          if %p {
            yield %b
          } else {
            %e: int8[8]@0.5:0 = ADD(%b, %a)
            yield %e
          } -> %y: int8[8]@0.5:0
          return %y
        }
        signature main: main(x, p) -> (y)
    """,
    )


def test_what_would_enlarge_an_if_is_not_shared() -> None:
    text = """
        function main(%x: int8[64]@0.5:0, %p: bool[]) {
          if %p {
            %a: float32[64] = DEQUANTIZE(%x)
            yield %a
          } else {
            %b: float32[64] = DEQUANTIZE(%x)
            %c: float32[64] = ADD(%b, %b)
            yield %c
          } -> %y: float32[64]
          return %y
        }
        signature main: main(x, p) -> (y)
    """
    same_graph(share_branches(parse_graph(text)), text)
