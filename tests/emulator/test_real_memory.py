"""The tables of docs/understand/real-memory.md are what `bench` estimates today."""

from __future__ import annotations

import re

import pytest
from support.commands import tflmgen
from support.corpus import CORPUS, requires_corpus
from support.repository import page_named
from support.tools import requires_compiler, requires_qemu

pytestmark = [pytest.mark.emulator, pytest.mark.sweep, requires_compiler, requires_qemu, requires_corpus]

MODELS = {
    "KWS": "mlperf_kws_int8",
    "VWW": "mlperf_vww_int8",
    "IC": "mlperf_ic_resnet_int8",
    "AD": "mlperf_ad01_int8",
}
BOARDS = (
    ("--board", "mps2_an386", "--flash-of", "nucleo_l4r5zi"),
    ("--board", "mps2_an386", "--flash-of", "nucleo_l4r5zi", "--place", "code=ssram23"),
    ("--board", "nucleo_f446re"),
    ("--board", "nucleo_f446re", "--place", "code=sram"),
)
TOLERANCE = 0.02
"""Relative difference at which the page must be made anew."""


PAGE = page_named("real-memory").read_text(encoding="utf-8")


def cells_of(table: str, model: str) -> list[float]:
    (row,) = re.findall(rf"^\| {model} \|(.*)\|$", table, re.MULTILINE)
    return [float(cell.replace(",", "")) for cell in row.split("|")]


@pytest.mark.parametrize("model", MODELS)
def test_the_page_has_what_bench_estimates(model: str) -> None:
    path = CORPUS / "real" / f"{MODELS[model]}.tflite"
    benched = [tflmgen("bench", path, *board, "--validate", "off", "--json").json for board in BOARDS]
    flash = [figures["sets"][0]["flash"]["milliseconds_estimated"] for figures in benched]
    estimated = [*flash[:2], benched[1]["memory"]["code_bytes"], *flash[2:]]
    milliseconds, rest = PAGE.split("And with weights in a serial flash")
    serial, cycles = rest.split("Of the L4R5's cycles:")
    assert estimated == pytest.approx(cells_of(milliseconds, model), rel=TOLERANCE, abs=0.06)
    if model != "VWW":
        waits = benched[0]["sets"][0]["flash"]
        parts = [waits["code_wait_cycles"], waits["constant_wait_cycles"]]
        assert [waits["cycles_estimated"] - sum(parts), *parts] == pytest.approx(cells_of(cycles, model), rel=TOLERANCE)
    rp2350 = ("--board", "mps2_an505", "--flash-of", "pico2", "--no-range-analysis", "--validate", "off", "--json")
    from_serial = tflmgen("bench", path, *rp2350).json["sets"][0]["flash"]["milliseconds_estimated"]
    assert from_serial == pytest.approx(cells_of(serial, model)[0], rel=TOLERANCE)
