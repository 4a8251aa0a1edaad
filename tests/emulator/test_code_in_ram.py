"""The table "Code in RAM" of docs/understand/counting.md is what `bench` estimates today."""

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


@pytest.mark.parametrize("model", MODELS)
def test_the_page_has_what_bench_estimates(model: str) -> None:
    page = page_named("counting").read_text(encoding="utf-8")
    (cells,) = re.findall(rf"^\| {model} \|(.*)\|$", page.split("## Code in RAM")[1], re.MULTILINE)
    written = [float(cell.replace(",", "")) for cell in cells.split("|")]
    benched = [
        tflmgen("bench", CORPUS / "real" / f"{MODELS[model]}.tflite", *board, "--validate", "off", "--json").json
        for board in BOARDS
    ]
    estimated = [figures["sets"][0]["flash"]["milliseconds_estimated"] for figures in benched]
    assert [benched[1]["memory"]["code_bytes"], *estimated] == pytest.approx(written, rel=TOLERANCE, abs=0.06)
