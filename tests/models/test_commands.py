"""The commands on the corpus's models: `run` equals the goldens, `test` says so, on the host and on emulated boards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.commands import tflmgen
from support.corpus import CORPUS, requires_corpus

pytestmark = requires_corpus

KWS = "mlperf_kws_int8"
FIVE = (KWS, "mlperf_vww_int8", "mlperf_ic_resnet_int8", "mlperf_ad01_int8", "tflm_person_detect")
MPS = ("mps2_an385", "mps2_an386", "mps2_an500", "mps3_an547")
ARENA_LIMITS = dict(zip(FIVE, (16_000, 55_296, 49_152, 768, 55_296), strict=True))
SMALL = ("tflm_hello_world_int8", "tflm_hello_world_float")


def _foundation() -> list[str]:
    path = CORPUS / "foundation.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in lines if line and not line.startswith("#")]


def _entries() -> dict[str, Any]:
    manifest = CORPUS / "manifest.json"
    models = json.loads(manifest.read_text())["models"] if manifest.exists() else []
    return {entry["name"]: entry for entry in models}


ENTRIES = _entries()


def _test(name: str, board: str) -> None:
    entry = ENTRIES[name]
    model: Path = CORPUS / entry["path"]
    tolerance = entry["tolerance"] or {"atol": 0, "rtol": 0}
    words = ("--vectors", model.with_suffix(".npz"), "--atol", tolerance["atol"], "--rtol", tolerance["rtol"], "--json")
    finished = tflmgen("test", model, "--board", board, *words)
    assert finished.code == 0, finished.err
    assert finished.json["checks"] != []


@pytest.mark.parametrize("name", _foundation())
def test_foundation_on_the_host(name: str) -> None:
    _test(name, "host")


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry["category"] == "stateful"])
def test_state_is_kept_from_set_to_set(name: str) -> None:
    _test(name, "host")


@pytest.mark.parametrize("name", FIVE)
def test_arena_of_the_mlperf_models(name: str) -> None:
    plan = tflmgen("inspect", CORPUS / ENTRIES[name]["path"], "--board", "mps2_an386", "--json").json
    assert plan["arena"]["bytes"] <= ARENA_LIMITS[name]


@pytest.mark.emulator
@pytest.mark.parametrize("board", ["mps2_an385_m0", "disco_f407vg", *MPS])
def test_kws_on_every_board_that_holds_it(board: str) -> None:
    _test(KWS, board)


@pytest.mark.emulator
@pytest.mark.sweep
@pytest.mark.parametrize("board", MPS)
@pytest.mark.parametrize("name", FIVE[1:])
def test_mlperf_on_the_mps_boards(name: str, board: str) -> None:
    _test(name, board)


@pytest.mark.emulator
@pytest.mark.parametrize("name", SMALL)
def test_small_models_on_the_microbit(name: str) -> None:
    _test(name, "microbit")


@pytest.mark.emulator
def test_seeded_inputs_against_the_host_build_and_tflite_micro() -> None:
    pytest.importorskip("tflite_micro", reason="needs tflite-micro")
    finished = tflmgen("test", CORPUS / ENTRIES[SMALL[0]]["path"], "--board", "mps2_an386", "--json")
    assert finished.code == 0, finished.err
    assert [r["name"] for r in finished.json["references"] if r["used"]] == ["host build", "TFLite Micro"]


@pytest.mark.emulator
def test_build_of_kws_within_its_budget(tmp_path: Path) -> None:
    model = CORPUS / ENTRIES[KWS]["path"]
    finished = tflmgen("build", model, "--board", "mps2_an386", "-o", tmp_path / "kws", "--json")
    assert finished.code == 0, finished.err
    plan, firmware = finished.json, finished.json["firmware"]
    assert Path(firmware["elf"]).is_file()
    assert plan["arena"]["bytes"] <= firmware["bss"]
    flash = firmware["text"] + firmware["data"]
    assert 0 < firmware["code_bytes"] < flash - plan["weights"]["bytes"]
