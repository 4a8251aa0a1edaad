"""Live ranges over hand-made schedules. Steps are numbered in the order of the text; entry and load come first."""

from __future__ import annotations

import pytest
from support.stages import plan_graph
from tflmgen.memory.liveness import runs


@pytest.mark.parametrize(
    ("steps", "expected"), [(0, []), (1, [(0, 0)]), (0b1101, [(0, 0), (2, 3)]), (0b1111 << 70, [(70, 73)])]
)
def test_runs(steps: int, expected: list[tuple[int, int]]) -> None:
    assert list(runs(steps)) == expected


def test_a_chain() -> None:
    """Entry 0, load 1, ADD 2, MUL 3, store 4, exit 5."""
    plan = plan_graph("""
        function main(%x: int32[8], %unused: int32[8]) {
          %a: int32[8] = ADD(%x, %x)
          %b: int32[8] = MUL(%a, %a)
          return %b
        }
        signature : main(x, unused) -> (b)
    """)
    assert plan.schedule.steps == 6
    assert plan.live("%x") == [(0, 2)]
    assert plan.live("%unused") == [(0, 0)]
    assert plan.live("%a") == [(2, 3)]
    assert plan.live("%b") == [(3, 5)]


def test_branches_are_apart() -> None:
    """Entry 0, load 1, IF 2, ADD 3, then 4, SUB 5, else 6, store 7, exit 8."""
    plan = plan_graph("""
        function main(%p: bool[1], %x: int32[8], %y: int32[8]) {
          if %p {
            %s: int32[8] = ADD(%x, %x)
            yield %s
          } else {
            %t: int32[8] = SUB(%y, %y)
            yield %t
          } -> %z: int32[8]
          return %z
        }
        signature : main(p, x, y) -> (z)
    """)
    assert plan.live("%p") == [(0, 2)]
    assert plan.live("%x") == [(0, 3)]
    assert plan.live("%y") == [(0, 2), (5, 5)]
    assert plan.live("%s") == [(3, 4)]
    assert plan.live("%t") == [(5, 6)]
    assert plan.live("%z") == [(4, 4), (6, 8)]


def test_what_a_loop_reads_from_outside_lives_through_it() -> None:
    """Entry 0, load 1, init 2, LESS 3, WHILE 4, ADD 5, next 6, store 7, exit 8."""
    plan = plan_graph("""
        constant #zero: int32[1] = 0
        function main(%step: int32[1], %n: int32[1]) {
          while (%i: int32[1], %kept: int32[1]) = (#zero, %n) {
            %p: bool[1] = LESS(%i, %n)
            test %p
          } do {
            %i1: int32[1] = ADD(%i, %step)
            next %i1, %step
          } -> %i2: int32[1], %kept2: int32[1]
          return %i2
        }
        signature : main(step, n) -> (i2)
    """)
    assert plan.live("%step") == [(0, 6)]
    assert plan.live("%n") == [(0, 6)]
    assert plan.live("%p") == [(3, 4)]
    assert plan.live("%i1") == [(5, 6)]
    assert plan.live("%i") == [(2, 6)]
    assert plan.live("%kept") == [(2, 2), (6, 6)]
    assert plan.live("%i2") == [(4, 4), (7, 8)]


def test_what_lives_across_a_call_lives_in_the_callee() -> None:
    """f: entry 0, load 1, ADD 2, store 3, exit 4. main: entry 5, load 6, arguments 7, call 8, results 9, MUL 10."""
    plan = plan_graph("""
        function f(%a: int32[8]) {
          %b: int32[8] = ADD(%a, %a)
          return %b
        }
        function main(%x: int32[8], %kept: int32[8]) {
          %y: int32[8] = call f(%x)
          %z: int32[8] = MUL(%y, %kept)
          return %z
        }
        signature : main(x, kept) -> (z)
    """)
    assert plan.live("%kept") == [(0, 10)]
    assert plan.live("%x") == [(5, 7)]
    assert plan.live("%a") == [(0, 2), (7, 7)]
    assert plan.live("%b") == [(2, 4), (9, 9)]
    assert plan.live("%y") == [(9, 10)]
