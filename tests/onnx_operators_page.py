"""Makes docs/use/onnx-operators.md from a run of ONNX's own node tests: `python tests/onnx_operators_page.py`."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from support.onnx_nodes import NodeTest, Outcome, node_tests, outcomes, tests_of_collections

PAGE = Path(__file__).parents[1] / "docs" / "use" / "onnx-operators.md"

_HEAD = """# ONNX operators

This page is made by `python tests/onnx_operators_page.py` from ONNX's own backend node tests. Those count whose inputs
and outputs are tensors that a microcontroller holds: float32, int8, int16, int32, int64, uint8 and bool. Each is
lowered, compiled for the host, run, and compared with ONNX's expected outputs within ONNX's tolerance. A test whose
name ends in `_expanded` has the operator's definition by other operators as its model. Two tests of Resize with
`align_corners`, whose outputs are not ONNX Runtime's, are left out.

**{passed} of {all} tests pass, {refused} are refused with a reason, {wrong} are wrong.**

| operator | tests | pass | refused |
| --- | --- | --- | --- |
{rows}

## Why a test is refused

| reason | tests |
| --- | --- |
{reasons}

## Sequences and optional values

{collections} tests have inputs or outputs that are sequences or optional values, which a function on a device cannot
have. They are not counted above:

{names}
"""


def page(tests: Sequence[NodeTest], results: Sequence[Outcome]) -> str:
    """The page's text."""
    verdicts = Counter(result.verdict for result in results)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    operators = {test.name: _subject(test, tests) for test in tests}
    for result in results:
        counts[operators[result.name]][result.verdict] += 1
    rows = [
        f"| {name} | {count.total()} | {count['passes']} | {count['refused']} |"
        for name, count in sorted(counts.items())
    ]
    reasons = Counter(result.reason.replace("|", "/") for result in results if result.verdict == "refused")
    return _HEAD.format(
        passed=verdicts["passes"],
        all=len(results),
        refused=verdicts["refused"],
        wrong=verdicts["wrong"],
        rows="\n".join(rows),
        collections=len(tests_of_collections()),
        names="\n".join(f"- {name}" for name in tests_of_collections()),
        reasons="\n".join(f"| {reason} | {count} |" for reason, count in sorted(reasons.items())),
    )


def _subject(test: NodeTest, tests: Sequence[NodeTest]) -> str:
    """The operator that a test is for: the last node's, of an expanded one that of the test it expands."""
    stem = test.name.split("_expanded")[0]
    for other in tests:
        if other.name == stem:
            return str(other.model.graph.node[-1].op_type)
    return str(test.model.graph.node[-1].op_type)


if __name__ == "__main__":
    PAGE.write_text(page(node_tests(), list(outcomes(node_tests()))), encoding="utf-8")
