"""The worst path through a plan with If and While."""

from __future__ import annotations

from typing import Any

import pytest
from tflmgen.actions.worst_case_path import PathCost, WorstCase, worst_case_path


def plan(trips: int | None, limit: int | None) -> dict[str, Any]:
    """if: operator 3 else operator 5; while: condition 8, body 10; a call of a function with operator 21."""

    def step(index: int, kind: str, parent: int | None, function: str = "main", **more: Any) -> dict[str, Any]:
        return {"index": index, "kind": kind, "function": function, "parent": parent, "kernel": "k", **more}

    steps = [
        step(0, "entry", None),
        step(1, "operator", 0),
        step(2, "if", 0),
        step(3, "operator", 2),
        step(4, "then", 2),
        step(5, "operator", 2),
        step(6, "else", 2),
        step(8, "operator", 9),
        step(9, "while", 0, trips=trips),
        step(10, "operator", 9),
        step(12, "call", 0, callee="part"),
        step(13, "exit", 0),
        step(20, "entry", None, "part"),
        step(21, "operator", 20, "part"),
    ]
    return {"steps": steps, "loops": [{"step": 9, "max_iterations": limit}]}


COSTS = {
    1: PathCost(1, 2),
    3: PathCost(10, 50),
    5: PathCost(30, 40),
    8: PathCost(100, 100),
    10: PathCost(1000, 1000),
    21: PathCost(7, 8),
}


@pytest.mark.parametrize(("trips", "limit", "runs"), [(None, 4, 4), (3, 9, 3), (3, None, 3), (None, 0, 0)])
def test_dearest_branches_and_all_iterations(trips: int | None, limit: int | None, runs: int) -> None:
    loop = 100 * (runs + 1) + 1000 * runs
    worst = worst_case_path(plan(trips, limit), "main", COSTS)
    assert worst == WorstCase(PathCost(1 + 30 + loop + 7, 2 + 50 + loop + 8), (), ())


def test_a_loop_without_limit_has_no_worst_case_path() -> None:
    assert worst_case_path(plan(None, None), "main", COSTS) == WorstCase(None, (9,), ())


def test_an_operator_that_nothing_is_known_of() -> None:
    costs = {index: cost for index, cost in COSTS.items() if index != 5}
    assert worst_case_path(plan(2, None), "main", costs) == WorstCase(None, (), (5,))


def test_functions_without_control_flow_have_but_one_path() -> None:
    assert worst_case_path(plan(2, None), "part", COSTS) is None
