from __future__ import annotations

from typing import Any

from tflmgen.emulators.invoke_cost import Cycles, OperatorCount, Tally, join_counts
from tflmgen.emulators.step_counts import executions
from tflmgen.emulators.step_runs import mark_steps


def step(index: int, kind: str, parent: int | None, function: str = "main", **more: Any) -> dict[str, Any]:
    return {"index": index, "kind": kind, "function": function, "parent": parent, **more}


def plan(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"steps": [step(0, "entry", None), *steps, step(99, "exit", 0)], "signatures": [{"function": "main"}]}


BRANCH = plan(
    step(1, "operator", 0),
    step(2, "if", 0),
    step(3, "operator", 2),
    step(4, "then", 2),
    step(5, "operator", 2),
    step(6, "operator", 2),
    step(7, "else", 2),
)
LOOP = plan(
    step(1, "init", 0),
    step(2, "operator", 4),
    step(3, "operator", 4),
    step(4, "while", 0),
    step(5, "operator", 4),
    step(6, "next", 4),
    step(7, "operator", 0),
)


def test_straight_line_runs_once() -> None:
    assert executions(plan(step(1, "operator", 0)), "main", {}) == {0: 1, 1: 1, 99: 1}


def test_views_run_as_often_as_their_block() -> None:
    assert executions(BRANCH, "main", {3: 0, 5: 1}) == {0: 1, 1: 1, 2: 1, 3: 0, 4: 0, 5: 1, 6: 1, 7: 1, 99: 1}


def test_one_of_two_branches_runs() -> None:
    assert {3: 1, 5: 0, 6: 0}.items() <= executions(BRANCH, "main", {3: 1}).items()
    assert {3: 0, 5: 1, 6: 1}.items() <= executions(BRANCH, "main", {3: 0}).items()
    assert {3: 1, 5: 0, 6: 0}.items() <= executions(BRANCH, "main", {6: 0}).items()
    assert {3: 0, 5: 0, 6: 0}.items() <= executions(BRANCH, "main", {}).items()


def test_conditions_run_once_more_than_bodies() -> None:
    counts = executions(LOOP, "main", {4: 8})
    assert counts == {0: 1, 1: 1, 2: 8, 3: 8, 4: 8, 5: 7, 6: 7, 7: 1, 99: 1}


def test_counted_loops() -> None:
    inner = step(3, "while", 2, trips=5)
    nested = plan(step(1, "operator", 0), step(2, "while", 0, trips=4), inner, step(4, "operator", 3))
    assert executions(nested, "main", {1: 1, 2: 1, 3: 4, 4: 20}) == {0: 1, 1: 1, 2: 1, 3: 4, 4: 20, 99: 1}


def test_nested_loops() -> None:
    nested = plan(
        step(1, "while", 0), step(2, "operator", 3), step(3, "while", 1), step(4, "operator", 3), step(5, "operator", 1)
    )
    assert executions(nested, "main", {1: 4, 3: 9}) == {0: 1, 1: 4, 2: 9, 3: 9, 4: 6, 5: 3, 99: 1}


def test_functions_run_as_often_as_they_are_called() -> None:
    called = {
        "steps": [
            step(0, "entry", None, "leaf"),
            step(1, "operator", 0, "leaf"),
            step(2, "entry", None, "middle"),
            step(3, "call", 2, "middle", callee="leaf"),
            step(4, "call", 2, "middle", callee="leaf"),
            step(5, "entry", None),
            step(6, "while", 5),
            step(7, "call", 6, callee="middle"),
            step(8, "call", 5, callee="leaf"),
        ]
    }
    counts = executions(called, "main", {6: 4})
    assert (counts[2], counts[0], counts[1]) == (3, 7, 7)
    assert executions(called, "leaf", {})[6] == 0


def test_operators_that_ran_in_the_plans_order() -> None:
    counts = {5: Tally(40, Cycles(50, 60)), -1: Tally(3, Cycles(4, 5)), 1: Tally(2, Cycles(2, 3))}
    joined = join_counts(BRANCH, counts, {1: 1, 3: 0, 5: 1, 6: 1}, {})
    assert (joined.instructions, joined.cycles) == (45, Cycles(56, 68))
    assert joined.operators == (
        OperatorCount(1, 1, 2, Cycles(2, 3)),
        OperatorCount(5, 1, 40, Cycles(50, 60)),
        OperatorCount(6, 1, 0, Cycles(0, 0)),
    )


def test_a_stream_is_divided_as_its_stages_are_to_each_other() -> None:
    shares = {5: [Tally(10, Cycles(1, 2)), Tally(0, Cycles(0, 0)), Tally(20, Cycles(2, 2))]}
    counts = {5: Tally(40, Cycles(50, 61))}
    (joined,) = join_counts(plan(step(5, "operator", 0)), counts, {5: 1}, shares).operators or ()
    assert joined.stages == (Tally(13, Cycles(17, 31)), Tally(0, Cycles(0, 0)), Tally(27, Cycles(33, 30)))


def test_marks_of_a_stream_stand_before_its_calls() -> None:
    source = "case 0:\n    f();\ncase 1:\n    g();\ncase 2:\n    f();\n"
    stages = [{"lines": [2, 6], "calls": 3}, {"lines": [4], "calls": 1}]
    marked = mark_steps(source, {"steps": [step(7, "operator", 0, line=1, stages=stages)]})
    assert [line.split(")")[0] for line in marked.splitlines()[-6:]] == [
        "TFLMGEN_RAN(7",
        "TFLMGEN_RAN(8",
        "case 1:",
        "TFLMGEN_RAN(9",
        "case 2:",
        "TFLMGEN_RAN(8",
    ]


def test_marks_stand_before_statements() -> None:
    source = "void f(void)\n{\n    g();\n    if (a) {\n        h();\n    }\n}\n"
    steps = [step(7, "operator", 0, line=3), step(8, "if", 0, line=4), step(9, "view", 0, line=None)]
    expected = source.replace("    g", "TFLMGEN_RAN(7)     g").replace("    if", "TFLMGEN_RAN(8)     if")
    marked = mark_steps(source, {"steps": steps})
    assert marked.endswith(f"#endif\n{expected}")
    assert "#define TFLMGEN_RAN(step)" in marked
