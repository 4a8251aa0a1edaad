"""merge_common and drop_identities on the text form."""

from __future__ import annotations

from support.graph_parser import parse_graph, same_graph
from tflmgen.passes.common_subexpressions import merge_common
from tflmgen.passes.identities import drop_identities


def test_what_an_outer_block_computed_is_not_computed_again() -> None:
    module = parse_graph("""
        function main(%x: int32[], %n: int32[], %p: bool[]) {
          %a: int32[] = ADD(%x, %n)
          %b: int32[] = ADD(%x, %n)
          %c: int32[] = ADD(%n, %x)
          if %p {
            %d: int32[] = ADD(%x, %n)
            %e: int32[] = MUL(%d, %b)
            yield %e
          } else {
            %f: int32[] = MUL(%a, %a)
            yield %f
          } -> %y: int32[]
          %g: int32[] = MUL(%a, %a)
          return %c, %y, %g
        }
        signature main: main(x, n, p) -> (c, y, g)
    """)
    same_graph(
        merge_common(module),
        """
        function main(%x: int32[], %n: int32[], %p: bool[]) {
          %a: int32[] = ADD(%x, %n)
          %c: int32[] = ADD(%n, %x)
          if %p {
            %e: int32[] = MUL(%a, %a)
            yield %e
          } else {
            %f: int32[] = MUL(%a, %a)
            yield %f
          } -> %y: int32[]
          %g: int32[] = MUL(%a, %a)
          return %c, %y, %g
        }
        signature main: main(x, n, p) -> (c, y, g)
    """,
    )


def test_attributes_and_types_tell_operators_apart() -> None:
    text = """
        function main(%x: float32[4]) {
          %a: float32[4] = ADD(%x, %x)
          %b: float32[4] = ADD(%x, %x) {fused_activation_function=1}
          %c: int8[4]@0.5:0 = QUANTIZE(%x)
          %d: int8[4]@0.25:0 = QUANTIZE(%x)
          return %a, %b, %c, %d
        }
        signature main: main(x) -> (a, b, c, d)
    """
    same_graph(merge_common(parse_graph(text)), text)


def test_calls_with_equal_arguments_are_one() -> None:
    module = parse_graph("""
        function f(%a: int32[]) {
          %b: int32[] = ADD(%a, %a)
          return %b, %a
        }
        function main(%x: int32[]) {
          %p: int32[], %q: int32[] = call f(%x)
          %r: int32[], %s: int32[] = call f(%x)
          return %p, %s
        }
        signature main: main(x) -> (p, s)
    """)
    assert len(merge_common(module).function("main").body.nodes) == 1


def test_identities() -> None:
    module = parse_graph("""
        constant #true: bool[] = True
        constant #false: bool[] = False
        constant #shape: int32[2] = 2, 2
        constant #back: int32[1] = 4
        function main(%p: bool[], %q: bool[], %x: int32[4], %y: int32[4]) {
          %a: bool[] = LOGICAL_AND(%p, %p)
          %b: bool[] = LOGICAL_AND(#true, %a)
          %c: bool[] = LOGICAL_OR(%q, #false)
          %d: bool[] = LOGICAL_AND(%b, %c)
          %e: bool[] = LOGICAL_OR(#true, %d)
          %f: int32[2,2] = RESHAPE(%x, #shape)
          %g: int32[4] = RESHAPE(%f, #back)
          %h: int32[4] = MAXIMUM(%g, %x)
          %i: int32[4] = SELECT_V2(%d, %h, %x)
          %j: int32[4] = SELECT_V2(#false, %i, %y)
          return %d, %e, %i, %j
        }
        signature main: main(p, q, x, y) -> (d, e, i, j)
    """)
    same_graph(
        drop_identities(module),
        """
        constant #true: bool[] = True
        constant #shape: int32[2] = 2, 2
        function main(%p: bool[], %q: bool[], %x: int32[4], %y: int32[4]) {
          %d: bool[] = LOGICAL_AND(%p, %q)
          %f: int32[2,2] = RESHAPE(%x, #shape)
          return %d, #true, %x, %y
        }
        signature main: main(p, q, x, y) -> (d, e, i, j)
    """,
    )


def test_a_broadcast_is_no_identity() -> None:
    text = """
        constant #true: bool[4] = True
        function main(%p: bool[], %x: int32[], %y: int32[4]) {
          %a: bool[4] = LOGICAL_AND(#true, %p)
          %b: int32[4] = SELECT_V2(#true, %x, %y)
          return %a, %b
        }
        signature main: main(p, x, y) -> (a, b)
    """
    same_graph(drop_identities(parse_graph(text)), text)


def test_an_if_on_a_negation_has_its_branches_swapped() -> None:
    module = parse_graph("""
        function main(%p: bool[], %x: int32[], %y: int32[]) {
          %n: bool[] = LOGICAL_NOT(%p)
          %m: bool[] = LOGICAL_NOT(%n)
          if %n {
            yield %x
          } else {
            yield %y
          } -> %z: int32[]
          return %z, %m
        }
        signature main: main(p, x, y) -> (z, m)
    """)
    same_graph(
        drop_identities(module),
        """
        function main(%p: bool[], %x: int32[], %y: int32[]) {
          %n: bool[] = LOGICAL_NOT(%p)
          if %p {
            yield %y
          } else {
            yield %x
          } -> %z: int32[]
          return %z, %p
        }
        signature main: main(p, x, y) -> (z, m)
    """,
    )
