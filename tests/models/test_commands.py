"""The commands on the examples, on well-known networks and on the corpus: `test` finds them equal, on all boards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.commands import tflmgen
from support.corpus import CORPUS, requires_corpus
from support.repository import ROOT
from support.sampling import sampled
from support.well_known import BENCHMARKS, well_known

KWS = BENCHMARKS[0]
MPS = ("mps2_an385", "mps2_an386", "mps2_an500", "mps3_an547")
ARENA_LIMITS = dict(zip(BENCHMARKS, (16_000, 55_296, 49_152, 768, 55_296), strict=True))
SMALL = ("tflm_hello_world_int8", "tflm_hello_world_float")
EXAMPLES = ("gate", "lstm_sequences")


def _foundation() -> list[str]:
    path = CORPUS / "foundation.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in lines if line and not line.startswith("#")]


def _entries() -> dict[str, Any]:
    manifest = CORPUS / "manifest.json"
    models = json.loads(manifest.read_text())["models"] if manifest.exists() else []
    return {entry["name"]: entry for entry in models}


ENTRIES = _entries()


def _test(model: Path, board: str) -> None:
    """By the vectors beside the model, where there are some."""
    words: tuple[object, ...] = ()
    if model.with_suffix(".npz").is_file():
        words = ("--vectors", model.with_suffix(".npz"))
    if model.is_relative_to(CORPUS):
        tolerance = ENTRIES[model.stem]["tolerance"] or {"atol": 0, "rtol": 0}
        words += ("--atol", tolerance["atol"], "--rtol", tolerance["rtol"])
    finished = tflmgen("test", model, "--board", board, *words, "--json")
    assert finished.code == 0, finished.err
    assert finished.json["checks"] != []


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_on_the_host(name: str) -> None:
    _test(ROOT / "examples" / f"{name}.tflite", "host")


STATEFUL = [name for name, entry in ENTRIES.items() if entry["category"] == "stateful"]


@requires_corpus
@pytest.mark.parametrize("name", sampled([*_foundation(), *STATEFUL], 5))
def test_foundation_and_state_on_the_host(name: str) -> None:
    _test(CORPUS / ENTRIES[name]["path"], "host")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_arena_of_the_mlperf_models(name: str, tmp_path: Path) -> None:
    plan = tflmgen("inspect", well_known(name, tmp_path), "--board", "mps2_an386", "--json").json
    assert plan["arena"]["bytes"] <= ARENA_LIMITS[name]


@pytest.mark.emulator
@pytest.mark.parametrize("board", sampled(["mps2_an385_m0", "disco_f407vg", *MPS], 2))
def test_kws_on_every_board_that_holds_it(board: str, tmp_path: Path) -> None:
    _test(well_known(KWS, tmp_path), board)


@pytest.mark.emulator
@pytest.mark.sweep
@pytest.mark.parametrize("board", MPS)
@pytest.mark.parametrize("name", BENCHMARKS[1:])
def test_mlperf_on_the_mps_boards(name: str, board: str, tmp_path: Path) -> None:
    _test(well_known(name, tmp_path), board)


@pytest.mark.emulator
@pytest.mark.parametrize("name", SMALL)
def test_small_models_on_the_microbit(name: str, tmp_path: Path) -> None:
    _test(well_known(name, tmp_path), "microbit")


@pytest.mark.emulator
def test_seeded_inputs_against_the_host_build_and_tflite_micro(tmp_path: Path) -> None:
    pytest.importorskip("tflite_micro", reason="needs tflite-micro")
    finished = tflmgen("test", well_known(SMALL[0], tmp_path), "--board", "mps2_an386", "--json")
    assert finished.code == 0, finished.err
    assert [r["name"] for r in finished.json["references"] if r["used"]] == ["host build", "TFLite Micro"]


@pytest.mark.emulator
def test_build_of_kws_within_its_budget(tmp_path: Path) -> None:
    model = well_known(KWS, tmp_path)
    finished = tflmgen("build", model, "--board", "mps2_an386", "-o", tmp_path / "kws", "--json")
    assert finished.code == 0, finished.err
    plan, firmware = finished.json, finished.json["firmware"]
    assert Path(firmware["elf"]).is_file()
    assert plan["arena"]["bytes"] <= firmware["bss"]
    flash = firmware["text"] + firmware["data"]
    assert 0 < firmware["code_bytes"] < flash - plan["weights"]["bytes"]
