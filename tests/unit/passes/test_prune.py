"""prune and freeze_variables."""

from __future__ import annotations

from dataclasses import replace

from support.graph_parser import parse_graph, same_graph
from tflmgen.ir.graph.module import Module, Value, Variable
from tflmgen.passes.constant_variables import freeze_variables
from tflmgen.passes.dead_code import prune


def test_unused_variables_results_and_parameters_go_away_with_what_makes_them() -> None:
    module = parse_graph("""
        constant #one: int32[] = 1
        function f(%a: int32[], %b: int32[]) {
          %c: int32[] = ADD(%a, #one)
          %d: int32[] = MUL(%b, %b)
          return %c, %d
        }
        function unused(%u: int32[]) {
          return %u
        }
        function main(%x: int32[], %n: int32[], %p: bool[]) {
          while (%i: int32[], %j: int32[], %s: int32[]) = (%x, %n, %n) {
            %t: bool[] = LESS(%i, %n)
            test %t
          } do {
            %i1: int32[], %s1: int32[] = call f(%i, %s)
            %j1: int32[] = ADD(%j, %i)
            next %i1, %j1, %s1
          } -> %i2: int32[], %j2: int32[], %s2: int32[]
          if %p {
            %k: int32[] = ADD(%i2, %n)
            yield %k, %j2
          } else {
            yield %n, %s2
          } -> %y: int32[], %z: int32[]
          %v: int32[] = call unused(%z)
          return %y
        }
        signature main: main(x, n, p) -> (y)
    """)
    same_graph(
        prune(prune(module)),
        """
        constant #one: int32[] = 1
        function f(%a: int32[]) {
          %c: int32[] = ADD(%a, #one)
          return %c
        }
        function main(%x: int32[], %n: int32[], %p: bool[]) {
          while (%i: int32[]) = (%x) {
            %t: bool[] = LESS(%i, %n)
            test %t
          } do {
            %i1: int32[] = call f(%i)
            next %i1
          } -> %i2: int32[]
          if %p {
            %k: int32[] = ADD(%i2, %n)
            yield %k
          } else {
            yield %n
          } -> %y: int32[]
          return %y
        }
        signature main: main(x, n, p) -> (y)
    """,
    )


def test_control_flow_without_used_results_goes_away() -> None:
    module = parse_graph("""
        function main(%x: int32[], %p: bool[]) {
          while (%i: int32[]) = (%x) {
            test %p
          } do {
            %j: int32[] = ADD(%i, %i)
            next %j
          } -> %k: int32[]
          if %p {
            yield %k
          } else {
            yield %x
          } -> %y: int32[]
          return %x
        }
        signature main: main(x, p) -> (x)
    """)
    expected = "function main(%x: int32[], %p: bool[]) {\nreturn %x\n}\nsignature main: main(x, p) -> (x)"
    same_graph(prune(module), expected)


def test_entries_keep_their_ports_and_their_callers_give_all() -> None:
    text = """
        function f(%a: int32[], %b: int32[]) {
          return %a, %a
        }
        function main(%x: int32[]) {
          %y: int32[] = ADD(%x, %x)
          %p: int32[], %q: int32[] = call f(%x, %y)
          return %p
        }
        signature f: f(a, b) -> (c, d)
        signature main: main(x) -> (p)
    """
    same_graph(prune(parse_graph(text)), text)


def _with_state(text: str, state: dict[str, tuple[str, ...]]) -> Module:
    """The module of a text whose functions' last inputs and results are variables, all int32[] and 7 at first."""
    module = parse_graph(text)
    functions = tuple(replace(f, state=state[f.name]) for f in module.functions)
    names = {name for names in state.values() for name in names}
    like = module.functions[0].inputs[-1]
    variables = {name: Variable(Value(900 + i, name, like.type), "initial") for i, name in enumerate(sorted(names))}
    constants = {**module.constants, "initial": (7).to_bytes(4, "little")}
    return replace(module, functions=functions, state=variables, constants=constants)


STATEFUL = """
    function infer(%x: int32[], %w: int32[], %m: int32[]) {
      %y: int32[] = MUL(%x, %w)
      %z: int32[] = ADD(%y, %m)
      return %z, %w, %m
    }
    function train(%t: int32[], %v: int32[]) {
      %u: int32[] = ADD(%t, %v)
      return %u, %u
    }
"""


def test_variables_that_no_entry_assigns_become_constants() -> None:
    module = _with_state(STATEFUL, {"infer": ("w", "m"), "train": ("m",)})
    signatures = parse_graph("function f(%x: int32[]) {\nreturn %x\n}\nsignature s: f(x) -> (y)").signatures
    entries = tuple(replace(signatures[0], function=name) for name in ("infer", "train"))
    frozen = freeze_variables(replace(module, signatures=entries))
    assert [f.state for f in frozen.functions] == [("m",), ("m",)]
    assert list(frozen.state) == ["m"]
    same_graph(
        replace(frozen, signatures=()),
        """
        constant #w: int32[] = 7
        function infer(%x: int32[], %m: int32[]) {
          %y: int32[] = MUL(%x, #w)
          %z: int32[] = ADD(%y, %m)
          return %z, %m
        }
        function train(%t: int32[], %v: int32[]) {
          %u: int32[] = ADD(%t, %v)
          return %u, %u
        }
    """,
    )
