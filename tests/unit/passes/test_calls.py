"""resolve_calls, inline and specialize on the text form."""

from __future__ import annotations

from support.graph_parser import parse_graph, same_graph
from tflmgen.passes.functions import inline, resolve_calls, specialize
from tflmgen.passes.pipeline import run_passes


def test_constants_cross_calls_both_ways_where_every_site_agrees() -> None:
    module = parse_graph("""
        constant #one: int32[] = 1
        constant #two: int32[] = 2
        function f(%a: int32[], %b: int32[], %c: int32[], %d: int32[]) {
          %e: int32[] = ADD(%a, %b)
          %g: int32[] = MUL(%e, %c)
          %h: int32[] = SUB(%g, %d)
          return %h, #two, %a, %h
        }
        function main(%x: int32[], %y: int32[]) {
          %p: int32[], %q: int32[], %r: int32[], %s: int32[] = call f(%x, #one, #one, %x)
          %t: int32[], %u: int32[], %v: int32[], %w: int32[] = call f(%y, #one, #two, %y)
          return %p, %q, %r, %s, %t, %u, %v, %w
        }
        signature main: main(x, y) -> (p, q, r, s, t, u, v, w)
    """)
    same_graph(
        resolve_calls(module),
        """
        constant #one: int32[] = 1
        constant #two: int32[] = 2
        function f(%a: int32[], %b: int32[], %c: int32[], %d: int32[]) {
          %e: int32[] = ADD(%a, #one)
          %g: int32[] = MUL(%e, %c)
          %h: int32[] = SUB(%g, %a)
          return %h, #two, %a, %h
        }
        function main(%x: int32[], %y: int32[]) {
          %p: int32[], %q: int32[], %r: int32[], %s: int32[] = call f(%x, #one, #one, %x)
          %t: int32[], %u: int32[], %v: int32[], %w: int32[] = call f(%y, #one, #two, %y)
          return %p, #two, %x, %p, %t, #two, %y, %t
        }
        signature main: main(x, y) -> (p, q, r, s, t, u, v, w)
    """,
    )


ENTRY = """
    constant #one: int32[] = 1
    function f(%a: int32[]) {
      %b: int32[] = ADD(%a, %a)
      %c: int32[] = ADD(%b, %a)
      %d: int32[] = ADD(%c, %a)
      return %d
    }
    function main(%x: int32[]) {
      %p: int32[] = call f(#one)
      return %p
    }
    signature f: f(a) -> (d)
    signature main: main(x) -> (p)
"""


def test_what_a_signature_names_is_left_as_it_is() -> None:
    for rewrite in (resolve_calls, inline, specialize):
        same_graph(rewrite(parse_graph(ENTRY)), ENTRY)


def test_a_function_with_one_call_site_is_inlined_and_a_tiny_one_everywhere() -> None:
    module = parse_graph("""
        function tiny(%a: int32[]) {
          %b: int32[] = ADD(%a, %a)
          return %b, %a
        }
        function once(%c: int32[], %p: bool[]) {
          if %p {
            %d: int32[], %e: int32[] = call tiny(%c)
            yield %d
          } else {
            yield %c
          } -> %f: int32[]
          return %f
        }
        function main(%x: int32[], %p: bool[]) {
          %g: int32[] = call once(%x, %p)
          %h: int32[], %i: int32[] = call tiny(%g)
          return %h, %i
        }
        signature main: main(x, p) -> (h, i)
    """)
    same_graph(
        run_passes(module, (inline, resolve_calls)),
        """
        function tiny(%a: int32[]) {
          %b: int32[] = ADD(%a, %a)
          return %b, %a
        }
        function main(%x: int32[], %p: bool[]) {
          if %p {
            %d: int32[] = ADD(%x, %x)
            yield %d
          } else {
            yield %x
          } -> %f: int32[]
          %h: int32[] = ADD(%f, %f)
          return %h, %f
        }
        signature main: main(x, p) -> (h, i)
    """,
    )


def test_a_chain_where_each_calls_the_next_twice_stays_small() -> None:
    lines = ["function f30(%x30: int32[]) {"]
    lines += [f"%a{i}: int32[] = ADD(%{'x30' if i == 0 else f'a{i - 1}'}, %x30)" for i in range(3)]
    lines += ["return %a2", "}"]
    for i in range(29, -1, -1):
        lines += [
            f"function f{i}(%x{i}: int32[]) {{",
            f"%y{i}: int32[] = call f{i + 1}(%x{i})",
            f"%z{i}: int32[] = call f{i + 1}(%y{i})",
            f"return %z{i}",
            "}",
        ]
    module = run_passes(parse_graph("\n".join([*lines, "signature main: f0(x) -> (y)"])))
    assert len(module.functions) == 31
    assert all(len(f.body.nodes) <= 3 for f in module.functions)


def test_different_weights_make_different_functions() -> None:
    module = parse_graph("""
        constant #v: float32[8] = 1.0
        constant #w: float32[8] = 2.0
        constant #two: float32[] = 2.0
        function f(%a: float32[8], %k: float32[8], %s: float32[]) {
          %b: float32[8] = MUL(%a, %k)
          %c: float32[8] = MUL(%b, %s)
          return %c
        }
        function main(%x: float32[8], %y: float32[]) {
          %p: float32[8] = call f(%x, #v, %y)
          %q: float32[8] = call f(%p, #w, #two)
          %r: float32[8] = call f(%q, #v, #two)
          return %r
        }
        signature main: main(x, y) -> (r)
    """)
    same_graph(
        run_passes(module, (specialize, resolve_calls)),
        """
        constant #v: float32[8] = 1.0
        constant #w: float32[8] = 2.0
        constant #two: float32[] = 2.0
        function f(%a: float32[8], %k: float32[8], %s: float32[]) {
          %b: float32[8] = MUL(%a, #v)
          %c: float32[8] = MUL(%b, %s)
          return %c
        }
        function f_1(%a1: float32[8], %k1: float32[8], %s1: float32[]) {
          %b1: float32[8] = MUL(%a1, #w)
          %c1: float32[8] = MUL(%b1, #two)
          return %c1
        }
        function main(%x: float32[8], %y: float32[]) {
          %p: float32[8] = call f(%x, #v, %y)
          %q: float32[8] = call f_1(%p, #w, #two)
          %r: float32[8] = call f(%q, #v, #two)
          return %r
        }
        signature main: main(x, y) -> (r)
    """,
    )
