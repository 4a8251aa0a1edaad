"""report.html in headless Chromium: it renders, its numbers are the plan's, pointing and sorting work, no errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.browser import Browser, browser, requires_browser
from support.dead_channels import dead_channels
from support.model_writer import ModelWriter
from support.random_program import Seeded, random_program
from support.repository import ROOT
from support.well_known import well_known
from tflmgen.hardware.board import HOST, load_board
from tflmgen.options import BuildOptions
from tflmgen.project.firmware_build import plan_for
from tflmgen.report import report_html
from tflmgen.report.removal_texts import dead_channels as layers_with_dead_channels

pytestmark = requires_browser

EXAMPLES = ROOT / "examples"
GATE = EXAMPLES / "gate.tflite"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def show(tab: Browser, model: Path, folder: Path, width: int = 1200) -> dict[str, Any]:
    """The page of a model in the browser; its plan."""
    board = load_board("microbit")
    plan = plan_for(model, board, BuildOptions()).plan
    page = folder / "report.html"
    page.write_text(report_html(plan, board), encoding="utf-8")
    tab.errors.clear()
    tab.open(page, width)
    return plan


def check_page(tab: Browser, plan: dict[str, Any]) -> None:
    """What the page shows, read from the page, is what the plan says."""
    assert tab.errors == []
    operators = [step for step in plan["steps"] if step["kind"] == "operator"]
    rows = tab.evaluate(
        "[...document.querySelectorAll('.sortable tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
    )
    assert [int(row[0].replace(",", "") or 0) for row in rows] == [step["index"] for step in operators]
    assert [row[2] for row in rows] == [step["name"] for step in operators]
    for column, key in ((6, "macs"), (7, "weights_bytes")):
        assert [int(row[column].replace(",", "") or 0) for row in rows] == [step[key] for step in operators]
    copies = tab.evaluate(
        "[...document.querySelectorAll('#copies + .scroll tbody tr td:nth-child(3)')].map(c => c.innerText)"
    )
    assert [int(text.replace(",", "")) for text in copies] == [copy["bytes"] for copy in plan["copies"]]
    if plan["arena"]["bytes"] == 0:
        return
    assert tab.evaluate("+document.getElementById('plot').dataset.bytes") == plan["arena"]["bytes"]
    drawn = tab.evaluate(
        "(() => { const p = document.getElementById('plot').getBoundingClientRect();"
        "return [...document.querySelectorAll('.plot .block.home, .plot .block.scratch')].map(b => {"
        "const r = b.getBoundingClientRect(); return [p.bottom - r.bottom, r.height, p.height]; }); })()"
    )
    arena = plan["arena"]["bytes"]
    buffers = [b for b in plan["buffers"] if b["memory"] == "arena" for _ in b["ranges"]]
    seen = sorted((round(low / high * arena), round(size / high * arena)) for low, size, high in drawn)
    wanted = sorted((b["offset"], b["bytes"]) for b in buffers)
    tolerance = max(2, arena // 300)
    assert len(seen) == len(wanted)
    assert all(abs(a - c) <= tolerance and abs(b - d) <= tolerance for (a, b), (c, d) in zip(seen, wanted, strict=True))


def test_the_page_of_the_example(tab: Browser, tmp_path: Path) -> None:
    check_page(tab, show(tab, GATE, tmp_path))


@pytest.mark.parametrize("seed", range(4))
def test_pages_of_random_programs(tab: Browser, tmp_path: Path, seed: int) -> None:
    model = tmp_path / "random.tflite"
    model.write_bytes(random_program(Seeded(seed)))
    check_page(tab, show(tab, model, tmp_path))


@pytest.mark.parametrize("name", ["lstm_sequences", "tracker/tracker", "whistle/whistle"])
def test_pages_of_examples(tab: Browser, tmp_path: Path, name: str) -> None:
    check_page(tab, show(tab, EXAMPLES / f"{name}.tflite", tmp_path))


def test_the_page_of_kws(tab: Browser, tmp_path: Path) -> None:
    check_page(tab, show(tab, well_known("mlperf_kws_int8", tmp_path), tmp_path))


def test_pointing_at_a_block_says_what_it_is(tab: Browser, tmp_path: Path) -> None:
    plan = show(tab, GATE, tmp_path)
    buffer = max(plan["buffers"], key=lambda b: b["bytes"])
    place = tab.evaluate(
        "[...document.querySelectorAll('.plot g')].findIndex(g => g.dataset.bytes === "
        f"'{buffer['bytes']}' && !g.querySelector('.home'))"
    )
    tab.point(".plot g", place, across=0.25)
    shown = tab.evaluate("document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText")
    assert buffer["name"] in shown
    assert f"{buffer['bytes']:,} bytes" in shown
    assert "bytes are in use" in tab.evaluate("document.getElementById('step-line').innerText")
    tab.point("h1")
    assert tab.evaluate("document.getElementById('tip').hidden") is True
    assert tab.errors == []


def test_the_frame_of_the_fullest_step_says_what_it_holds(tab: Browser, tmp_path: Path) -> None:
    plan = show(tab, GATE, tmp_path)
    tab.evaluate("document.getElementById('peak').focus()")
    shown = tab.evaluate("document.getElementById('tip').innerText")
    peak = plan["arena"]["peak_step"]
    live = [b for b in plan["buffers"] if any(first <= peak <= last for first, last in b["ranges"])]
    assert f"step {peak}" in shown
    assert all(f"{b['bytes']:,}" in shown for b in live)


def test_a_tap_says_what_a_mouse_would(tab: Browser, tmp_path: Path) -> None:
    show(tab, GATE, tmp_path, width=390)
    tab.tap(".chart [data-step] .card", 1)
    assert "step 2: CONV_2D" in tab.evaluate("document.getElementById('tip').innerText")
    tab.tap("h1")
    assert tab.evaluate("document.getElementById('tip').hidden") is True
    assert tab.errors == []


def test_columns_sort_by_number_and_by_text(tab: Browser, tmp_path: Path) -> None:
    plan = show(tab, GATE, tmp_path)
    operators = [step for step in plan["steps"] if step["kind"] == "operator"]

    def column(number: int) -> list[str]:
        script = f"[...document.querySelectorAll('.sortable tbody tr')].map(r => r.cells[{number}].innerText)"
        return list(tab.evaluate(script))

    tab.click(".sortable th button", 6)
    macs = sorted((step["macs"] for step in operators), reverse=True)
    assert [int(text.replace(",", "") or 0) for text in column(6)] == macs
    tab.click(".sortable th button", 6)
    assert [int(text.replace(",", "") or 0) for text in column(6)] == macs[::-1]
    tab.click(".sortable th button", 2)
    assert column(2) == sorted(step["name"] for step in operators)
    assert tab.errors == []


def test_light_dark_phone_and_paper(tab: Browser, tmp_path: Path) -> None:
    plan = show(tab, GATE, tmp_path)
    paint = "getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color"
    tab.media("light")
    light = tab.evaluate(paint)
    tab.media("dark")
    assert tab.evaluate(paint) != light
    tab.media("dark", "print")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    tab.media("light")
    for width in (360, 414, 800):
        tab.resize(width, 800)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
    check_page(tab, plan)


def test_finding_and_zooming_in_the_graph(tab: Browser, tmp_path: Path) -> None:
    """What is typed marks the operators whose name, kernel or tensor has it; Enter goes from one to the next."""
    plan = show(tab, GATE, tmp_path)
    wanted = [str(step["index"]) for step in plan["steps"] if "conv2d" in (step.get("kernel") or "")]
    hits = "[...document.querySelectorAll('.chart .hit')].map(e => e.dataset.step)"
    typed = "(t => { const f = document.getElementById('find'); f.value = t; f.dispatchEvent(new Event('input')); })"
    enter = "document.getElementById('find').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))"
    words = "document.getElementById('found').textContent"
    tab.evaluate(f"{typed}('conv2d')")
    assert sorted(tab.evaluate(hits), key=int) == wanted != []
    assert tab.evaluate(words) == f"{len(wanted)} found"
    for number in (*range(len(wanted)), 0):
        tab.evaluate(enter)
        assert tab.evaluate(words) == f"{number + 1} of {len(wanted)}"
    tab.evaluate(f"{typed}('no such operator')")
    assert (tab.evaluate(hits), tab.evaluate(words)) == ([], "0 found")
    tab.evaluate(f"{typed}('')")
    assert tab.evaluate(words) == ""
    width = "document.querySelector('svg.drawing').getBoundingClientRect().width"
    before = tab.evaluate(width)
    tab.click("[data-zoom=in]")
    assert tab.evaluate(width) == pytest.approx(1.25 * before)
    tab.click("[data-zoom=fit]")
    assert tab.evaluate(width) <= before
    tab.click("[data-zoom=none]")
    assert tab.evaluate(width) == pytest.approx(before)
    assert tab.errors == []


def test_dead_channels_have_a_table(tab: Browser, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    while True:
        (tmp_path / "dead.tflite").write_bytes(dead_channels(rng, "int8")[0])
        plan = plan_for(tmp_path / "dead.tflite", HOST, BuildOptions()).plan
        if plan["macs"]["computed"] and layers_with_dead_channels(plan):
            break
    show(tab, tmp_path / "dead.tflite", tmp_path)
    rows = tab.evaluate("[...document.querySelectorAll('#dead tbody tr')].map(r => [...r.cells].map(c => c.innerText))")
    layers = layers_with_dead_channels(plan)
    assert [row[0] for row in rows] == [layer.place for layer in layers]
    assert [row[2].split(" (")[0] for row in rows] == [f"{layer.channels} of {layer.of}" for layer in layers]
    parts = [[int(text or 0) for text in row[3:5]] for row in rows]
    assert [sum(numbers) for numbers in parts] == [layer.channels for layer in layers]
    text = tab.evaluate("document.querySelector('#dead .small').innerText")
    assert f"{plan['macs']['computed']:,} of the file's {plan['macs']['file']:,} MACs" in text
    show(tab, GATE, tmp_path)
    assert tab.evaluate("document.querySelector('#dead')") is None


LONG_NAME = "StatefulPartitionedCall/functional/block_one/convolution/BiasAdd/ReadVariableOp:0"


def one_operator(path: Path) -> Path:
    """sum = left + right, with a name as converters write them."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    left, right, total = (graph.tensor(name, "float32", [1, 4]) for name in (LONG_NAME, "right", "sum"))
    graph.operator("ADD", [left, right], [total])
    graph.inputs, graph.outputs = [left, right], [total]
    path.write_bytes(writer.finish())
    return path


def test_one_operator_on_a_phone(tab: Browser, tmp_path: Path) -> None:
    """Tables scroll in their boxes instead of breaking words into letters, and the search field shows its hint."""
    check_page(tab, show(tab, one_operator(tmp_path / "one.tflite"), tmp_path, width=390))
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert tab.evaluate("[...document.querySelectorAll('table')].every(t => t.closest('.scroll'))")
    assert tab.evaluate("Math.max(...[...document.querySelectorAll('tr')].map(r => r.offsetHeight))") < 130
    cells = "[...document.querySelectorAll('#signatures td:nth-child(2)')]"
    assert tab.evaluate(f"{cells}.map(c => c.innerText)") == ["input", "input", "output"]
    lines = "(c => { const r = document.createRange(); r.selectNodeContents(c); return r.getClientRects().length })"
    assert tab.evaluate(f"{cells}.map{lines}") == [1, 1, 1]
    field = "document.querySelector('#find')"
    hint = f"(c => {{ c.font = getComputedStyle({field}).font; return c.measureText({field}.placeholder).width }})"
    hint += "(document.createElement('canvas').getContext('2d'))"
    for width in (390, 1100):
        tab.resize(width, 800)
        assert tab.evaluate(hint) < tab.evaluate(f"{field}.clientWidth") - 16
