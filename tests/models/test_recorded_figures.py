"""Tables that were recorded once: some of their rows, counted anew, are those that the pages print.

The scripts that make the tables take from minutes to an hour; a row that differs here means that they have to run.
"""

from __future__ import annotations

import pytest
from control_flow_figures import one_iteration
from control_flow_figures import row as control_flow_row
from memory_figures import line, rows
from performance_page import CORES, MODELS, bench
from performance_page import row as performance_row
from support.corpus import CORPUS, requires_corpus
from support.repository import page_named
from support.tools import requires_compiler

ARENAS = ("mlperf_kws_int8", "k2_tcn_i8io", "if_rfc_f32", "while_int8_state_fc")


def _lines(page: str) -> list[str]:
    return page_named(page).read_text(encoding="utf-8").splitlines()


@requires_corpus
@pytest.mark.parametrize("name", ARENAS)
def test_arenas(name: str) -> None:
    (row,) = rows(CORPUS, [name])
    assert line(row) in _lines("memory")


@requires_corpus
@requires_compiler
@pytest.mark.emulator
def test_control_flow() -> None:
    assert control_flow_row("if/if_nested2_f32") in _lines("control-flow")


@requires_corpus
@requires_compiler
@pytest.mark.emulator
def test_one_more_iteration() -> None:
    (row,) = (line for line in _lines("control-flow") if line.startswith("| `while_counter_f32`"))
    assert row.endswith(f"| {one_iteration():,} |")


@requires_corpus
@requires_compiler
@pytest.mark.emulator
@pytest.mark.parametrize("board", ["mps2_an386", "qemu_rv32"])
def test_performance(board: str) -> None:
    (core,) = (core for core in CORES if core.board == board)
    (at,) = (index for index, model in enumerate(MODELS) if model.title == "AD")
    row = performance_row(MODELS[at], core.peers[at], bench(MODELS[at], board))
    lines = _lines("performance")
    assert row in lines[lines.index(f"## {core.title}") :]
