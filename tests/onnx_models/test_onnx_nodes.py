"""ONNX's own node tests: a sample by default, all in the sweep. None may be wrong; each refusal has a reason."""

from __future__ import annotations

import pytest
from support.onnx_nodes import NodeTest, node_tests, outcomes

LEAST = 1300
"""Tests that pass at least."""


def _sample() -> list[NodeTest]:
    """One test of each set of operators that some test has, and every ninth of those."""
    first: dict[frozenset[str], NodeTest] = {}
    for test in node_tests():
        if not test.name.endswith("_expanded"):
            first.setdefault(test.operators, test)
    return list(first.values())[::3]


def test_a_sample_passes_or_is_refused_with_a_reason() -> None:
    results = list(outcomes(_sample()))
    assert [r for r in results if r.verdict == "wrong"] == []
    assert all(r.reason for r in results if r.verdict == "refused")
    assert sum(r.verdict == "passes" for r in results) >= 0.75 * len(results)


@pytest.mark.sweep
def test_all_pass_or_are_refused_with_a_reason() -> None:
    results = list(outcomes(node_tests()))
    assert [r for r in results if r.verdict == "wrong"] == []
    assert sum(r.verdict == "passes" for r in results) >= LEAST
