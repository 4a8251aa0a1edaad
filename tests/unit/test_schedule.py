"""Numbers of steps, loop depths, boundaries."""

from __future__ import annotations

from support.graph_parser import parse_graph
from tflmgen.memory.schedule_tree import CallStep, IfStep, Step, WhileStep, boundaries, schedule, walk_items

GRAPH = """
    constant #zero: int32[1] = 0
    function f(%a: int32[1]) {
      %b: int32[1] = ADD(%a, %a)
      return %b
    }
    function main(%p: bool[1], %x: int32[1]) {
      if %p {
        %s: int32[1] = ADD(%x, %x)
        yield %s
      } else {
        yield %x
      } -> %y: int32[1]
      while (%i: int32[1]) = (#zero) {
        %q: bool[1] = LESS(%i, %y)
        test %q
      } do {
        %j: int32[1] = call f(%i)
        next %j
      } -> %k: int32[1]
      return %k
    }
    signature : main(p, x) -> (k)
"""


def test_each_step_has_its_number_in_the_order_in_which_it_runs() -> None:
    plan = schedule(parse_graph(GRAPH))
    callee, main = plan.functions
    assert (callee.entry, callee.load.index, callee.store.index, callee.exit) == (0, 1, 3, 4)
    assert (main.entry, main.load.index, main.store.index, main.exit) == (5, 6, 18, 19)
    assert plan.steps == 20
    branch, loop = main.body.items
    assert isinstance(branch, IfStep)
    assert isinstance(loop, WhileStep)
    assert (branch.index, branch.then_end.index, branch.else_end.index) == (7, 9, 10)
    assert (loop.init.index, loop.index, loop.next.index) == (11, 13, 17)
    (call,) = loop.body.items
    assert isinstance(call, CallStep)
    assert (call.arguments.index, call.index, call.results.index) == (14, 15, 16)


def test_loop_depth_counts_condition_body_and_back_edge() -> None:
    plan = schedule(parse_graph(GRAPH))
    depths = {item.index: depth for item, depth in walk_items(plan.functions[1].body)}
    assert depths[7] == depths[8] == 0
    assert {depth for index, depth in depths.items() if index > 11 and index != 13} == {1}
    in_loop = {boundary.kind for boundary, depth in boundaries(plan) if depth}
    assert in_loop == {"next", "arguments", "results"}


def test_boundaries_pair_values_with_their_sources() -> None:
    plan = schedule(parse_graph(GRAPH))
    pairs = {b.kind: [(v.name, s.name) for v, s in zip(b.values, b.sources, strict=True)] for b, _ in boundaries(plan)}
    assert pairs["then"] == [("%y", "%s")]
    assert pairs["else"] == [("%y", "%x")]
    assert pairs["init"] == [("%i", "#zero")]
    assert pairs["next"] == [("%i", "%j")]
    assert pairs["arguments"] == [("%a", "%i")]
    assert pairs["results"] == [("%j", "%b")]


def test_only_entries_are_entries() -> None:
    plan = schedule(parse_graph(GRAPH))
    assert [f.is_entry for f in plan.functions] == [False, True]
    assert sum(isinstance(item, Step) for f in plan.functions for item, _ in walk_items(f.body)) == 3
