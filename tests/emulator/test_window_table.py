"""The table of docs/use/windows.md is what the tool counts today."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.repository import ROOT
from support.tools import requires_compiler, requires_qemu
from window_figures import Example, examples, row

pytestmark = [pytest.mark.emulator, pytest.mark.sweep, requires_compiler, requires_qemu]


TOLERANCE = 0.02
"""Relative difference of counts at which the page must be made anew: kernels that get faster change the last digits."""
ROUNDING = 0.0101
"""A share of two decimals may be rounded up on the page, and down for today's counts."""


@pytest.mark.parametrize("example", [pytest.param(e, id=f"{e.file}-{e.hop}") for e in examples()])
def test_the_page_has_the_instructions_of_each_network(example: Example, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "use" / "windows.md").read_text(encoding="utf-8")
    counted = numbers(row(example, tmp_path))
    listed = [line for line in page.splitlines() if line.startswith(f"| {example.caption} |")]
    (written,) = [cells for cells in map(numbers, listed) if cells[1] == example.hop]
    assert counted == pytest.approx(written, rel=TOLERANCE, abs=ROUNDING)


def numbers(line: str) -> list[float]:
    """The cells of a row behind its caption."""
    return [float(cell.strip().removesuffix(" %").replace(",", "")) for cell in line.split("|")[2:-1]]
