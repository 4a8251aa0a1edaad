"""docs/understand/security.md: every test that it names is there."""

from __future__ import annotations

import re

from support.repository import ROOT

PAGE = ROOT / "docs" / "understand" / "security.md"


def test_every_rule_names_a_test_that_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    for file, test in named:
        assert (ROOT / file).is_file(), file
        assert not test or f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| Door")]
    assert rows
    assert all("`tests/" in row for row in rows)
