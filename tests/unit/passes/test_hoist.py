"""hoist on the text form."""

from __future__ import annotations

import pytest
from support.graph_parser import parse_graph, same_graph
from tflmgen.passes.loop_invariant_code import hoist

LOOP = """
    constant #one: int32[] = 1
    function main(%x: float32[64], %n: int32[], %m: int32[], %z: float32[64]) {{
      {before}
      while (%i: int32[], %s: float32[64]) = (#one, %z) {{
        {condition}
        %c: bool[] = LESS(%i, {limit})
        test %c
      }} do {{
        %i1: int32[] = ADD(%i, #one)
        {body}
        %s1: float32[64] = ADD(%s, {term})
        next %i1, %s1
      }} -> %i2: int32[], %s2: float32[64]
      return {results}
    }}
    signature main: main(x, n, m, z) -> (s, v)
"""


def test_invariant_operators_leave_condition_and_body() -> None:
    shapes = {"limit": "%l", "term": "%d", "results": "%s2, %n"}
    limit = "%l: int32[] = ADD(%n, %m)"
    term = "%q: int8[64]@0.5:0 = QUANTIZE(%x)\n%d: float32[64] = DEQUANTIZE(%q)"
    module = parse_graph(LOOP.format(before="", condition=limit, body=term, **shapes))
    same_graph(hoist(module), LOOP.format(before=f"{limit}\n{term}", condition="", body="", **shapes))


@pytest.mark.parametrize("results", ["%s2, %x", "%s2, %n"])
def test_a_product_moves_only_where_its_operand_then_dies(results: str) -> None:
    """Where x lives on anyway, both would live through the loop."""
    fields = {"condition": "", "limit": "%n", "term": "%t", "results": results}
    term = "%t: float32[64] = MUL(%x, %x)"
    module = parse_graph(LOOP.format(before="", body=term, **fields))
    moved = LOOP.format(before=term, body="", **fields)
    stayed = LOOP.format(before="", body=term, **fields)
    same_graph(hoist(module), stayed if "%x" in results else moved)


def test_what_is_invariant_in_a_nest_leaves_both_loops() -> None:
    module = parse_graph("""
        function main(%x: int32[], %n: int32[], %m: int32[]) {
          while (%i: int32[]) = (%x) {
            %c: bool[] = LESS(%i, %n)
            test %c
          } do {
            while (%j: int32[]) = (%i) {
              %d: bool[] = LESS(%j, %n)
              test %d
            } do {
              %k: int32[] = ADD(%n, %m)
              %l: int32[] = MUL(%i, %i)
              %o: int32[] = ADD(%k, %l)
              %p: int32[] = ADD(%j, %o)
              next %p
            } -> %q: int32[]
            next %q
          } -> %r: int32[]
          return %r
        }
        signature main: main(x, n, m) -> (r)
    """)
    same_graph(
        hoist(module),
        """
        function main(%x: int32[], %n: int32[], %m: int32[]) {
          %k: int32[] = ADD(%n, %m)
          while (%i: int32[]) = (%x) {
            %c: bool[] = LESS(%i, %n)
            test %c
          } do {
            %l: int32[] = MUL(%i, %i)
            %o: int32[] = ADD(%k, %l)
            while (%j: int32[]) = (%i) {
              %d: bool[] = LESS(%j, %n)
              test %d
            } do {
              %p: int32[] = ADD(%j, %o)
              next %p
            } -> %q: int32[]
            next %q
          } -> %r: int32[]
          return %r
        }
        signature main: main(x, n, m) -> (r)
    """,
    )


def test_an_invariant_if_leaves_the_loop_and_an_invariant_loop_stays() -> None:
    inner = """
          if %p {
            %a: int32[] = ADD(%n, %n)
            yield %a
          } else {
            yield %n
          } -> %b: int32[]
    """
    loop = """
          while (%e: int32[]) = (%n) {
            test %p
          } do {
            %f: int32[] = ADD(%e, %n)
            next %f
          } -> %b: int32[]
    """
    outer = """
        function main(%x: int32[], %n: int32[], %p: bool[]) {{
          {before}
          while (%i: int32[]) = (%x) {{
            %c: bool[] = LESS(%i, %n)
            test %c
          }} do {{
            {inside}
            %j: int32[] = ADD(%i, %b)
            next %j
          }} -> %k: int32[]
          return %k
        }}
        signature main: main(x, n, p) -> (k)
    """
    same_graph(hoist(parse_graph(outer.format(before="", inside=inner))), outer.format(before=inner, inside=""))
    kept = outer.format(before="", inside=loop)
    same_graph(hoist(parse_graph(kept)), kept)
