"""The page on a quantisation: what --json says, one picture per web, and nothing from a model escapes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import tflmgen
from support.quantize_models import decaying_loop, f32
from tflmgen.frontend.tflite import write_model
from tflmgen.report import quantization_html


@pytest.fixture
def contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    Path("decay.tflite").write_bytes(write_model(decaying_loop()))
    rng = np.random.default_rng(3)
    x = f32(rng.normal(1, 4, (40, 4)))
    np.savez("cal.npz", x=x, limit=np.ones((40, 1), np.float32))
    finished = tflmgen("quantize", "decay.tflite", "--calibration", "cal.npz", "--report", "q.html", "--json")
    assert finished.code == 0, finished.err
    return dict(finished.json)


def test_webs_have_all_measured_values(contents: dict[str, Any]) -> None:
    (loop,) = (web for web in contents["webs"] if (web["subgraph"], web["tensor"]) == (0, 0))
    assert loop["tensors"] > 4  # main's input, the condition's and body's operand, the body's result, the loop's
    assert loop["minimum"] <= -1
    assert loop["maximum"] > 4
    for web in contents["webs"]:
        assert sum(web["histogram"]) > 0
        if web["type"] != "float32":
            assert web["low"] <= 0 <= web["high"]
            assert 0 <= web["clipped"] <= 1
            assert web["sqnr_db"] is None or web["sqnr_db"] > 20
    decided = {(d["subgraph"], d["operator"]): (d["name"], d["total"]) for d in contents["evaluation"]["decisions"]}
    assert decided == {(0, 0): ("WHILE", contents["held_out"]), (0, 3): ("IF", contents["held_out"])}


def test_the_page_shows_each_web_and_needs_no_network(contents: dict[str, Any]) -> None:
    page = Path("q.html").read_text(encoding="utf-8")
    assert page == quantization_html(contents)
    assert page.count("<svg") == len(contents["webs"])
    assert page.count("<rect") == sum(number > 0 for web in contents["webs"] for number in web["histogram"])
    assert not re.findall(r"(?:src|href)=|https?:", page)
    for web in contents["webs"]:
        assert f"<td>{web['subgraph']}.{web['tensor']}</td>" in page


def test_the_page_says_which_samples_errors_are_of(contents: dict[str, Any]) -> None:
    assert "40 samples, 10 of them held out for the errors · " in Path("q.html").read_text(encoding="utf-8")
    contents["held_out"] = contents["samples"] = 4
    assert "4 samples, for ranges and errors · " in quantization_html(contents)


def test_names_of_a_model_are_escaped(contents: dict[str, Any]) -> None:
    contents["webs"][0]["name"] = contents["model"] = "<script>alert(1)</script>"
    assert "<script>" not in quantization_html(contents)


def test_costs_before_and_after(contents: dict[str, Any]) -> None:
    contents["board"] = {
        "id": "some_board",
        "emulator": "qemu",
        "before": {"flash": 4000, "ram": 800, "instructions": 123456},
        "after": {"flash": 2000, "ram": 200, "instructions": 61728},
    }
    page = quantization_html(contents)
    assert '<td class="n">123,456</td><td class="n">61,728</td><td class="n">50.0 %</td>' in page


def test_a_page_that_cannot_be_written_is_an_error_before_anything(contents: dict[str, Any]) -> None:
    Path("decay-int8.tflite").unlink()
    finished = tflmgen("quantize", "decay.tflite", "--calibration", "cal.npz", "--report", "none/q.html")
    assert finished.code == 1
    assert "none" in finished.err
    assert not Path("decay-int8.tflite").exists()
    assert contents["board"] is None
