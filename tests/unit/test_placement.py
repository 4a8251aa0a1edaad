from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support import tiny
from support.commands import tflmgen, write_adder
from tflmgen.actions.planned_model import plan_file
from tflmgen.errors import UsageError
from tflmgen.hardware.board import load_board
from tflmgen.hardware.memory_regions import placed, with_code_in_ram
from tflmgen.options import BuildOptions, OutputOptions
from tflmgen.terminal.console import Console


def test_places_replace_the_boards_own() -> None:
    board = load_board("nucleo_h753zi")
    assert dict(board.placement)["arena"] == "AXI"
    moved = placed(board, ["arena=dtcm", "STATE=SRAM4", "arena=sram4"])
    assert dict(moved.placement) == {**dict(board.placement), "arena": "SRAM4", "state": "SRAM4"}
    assert moved.bytes_for("arena") == 65536
    assert replace(moved, placement=board.placement) == board


def test_code_in_ram_is_the_models_code() -> None:
    board = load_board("nucleo_h753zi")
    moved = placed(board, ["code=axi"])
    assert (moved.code_in, moved.placement) == ("AXI", board.placement)
    assert placed(moved, ["code=flash"]) == board


@pytest.mark.parametrize(
    ("name", "memory"),
    [("nucleo_l4r5zi", "SRAM"), ("nucleo_f446re", ""), ("mps2_an386", ""), ("pico2", ""), ("bluepill_f103c8", "SRAM")],
)
def test_code_goes_to_ram_where_it_waits(name: str, memory: str) -> None:
    board = placed(load_board(name), ["code=auto"])
    assert board.code_in == "auto"
    assert with_code_in_ram(board).code_in == memory


@pytest.mark.parametrize(("name", "memory"), [("nucleo_l4r5zi", "SRAM"), ("bluepill_f103c8", "")])
def test_code_stays_in_flash_where_ram_is_short(name: str, memory: str, tmp_path: Path) -> None:
    model = write_adder(tmp_path / "adder.tflite")
    planned = plan_file(
        model, placed(load_board(name), ["code=auto"]), BuildOptions(), Console(OutputOptions(quiet=True))
    )
    assert planned.board.code_in == memory


@pytest.mark.parametrize(
    ("board", "wish", "problem"),
    [
        ("disco_f407vg", "code=ccm", "the core cannot fetch code from CCM"),
        ("nucleo_h753zi", "weights=axi", "AXI is ram, not flash"),
        ("nucleo_h753zi", "arena", r"not of the form WHAT=MEMORY, WHAT being one of code, weights, data, state, arena"),
        ("nucleo_h753zi", "heap=DTCM", "not of the form WHAT=MEMORY"),
        ("nucleo_h753zi", "arena=CCM", r"board nucleo_h753zi has no such memory. For arena: DTCM, AXI, SRAM4"),
        ("nucleo_h753zi", "weights=DTCM", "DTCM is ram, not flash"),
        ("host", "arena=RAM", "this computer has only one memory"),
    ],
)
def test_wrong_places(board: str, wish: str, problem: str) -> None:
    with pytest.raises(UsageError, match=f"--place {wish}: {problem}"):
        placed(load_board(board), [wish])


def test_linker_script_and_plan_follow(tmp_path: Path) -> None:
    board = placed(load_board("nucleo_f767zi"), ["arena=DTCM"])
    script = dict(tiny.project(board).files)["platform/ldscripts/board.ld"].decode()
    assert 'REGION_ALIAS("arena", "DTCM")' in script
    assert 'REGION_ALIAS("state", "SRAM")' in script
    model = write_adder(tmp_path / "adder.tflite")
    words = ("--board", "nucleo_f767zi", "--place", "arena=dtcm", "--no-compile", "--json", "-o", tmp_path / "p")
    assert tflmgen("build", model, *words).json["placement"]["arena"] == "DTCM"


def test_the_budget_is_that_of_the_memory(tmp_path: Path) -> None:
    model = write_adder(tmp_path / "adder.tflite", shape=(1, 20000))
    words = ("build", model, "--board", "nucleo_f767zi", "--no-compile", "-o", tmp_path / "p")
    assert tflmgen(*words).code == 0
    finished = tflmgen(*words, "--place", "arena=dtcm")
    assert finished.code == 1
    assert "bytes of DTCM are needed, and board nucleo_f767zi has 131,072" in finished.err
    assert "--place arena=sram" in finished.err


def test_boards_that_would_fit_have_one_memory_that_does(tmp_path: Path) -> None:
    model = write_adder(tmp_path / "adder.tflite", shape=(1, 66500))  # 532,000 bytes
    finished = tflmgen("build", model, "--board", "nucleo_f767zi", "--no-compile", "-o", tmp_path / "p")
    assert finished.code == 1
    assert "nucleo_l4r5zi" in finished.err
    assert "nucleo_h753zi" not in finished.err  # more than that in all, but no memory of more than 524,288
    assert "--place" not in finished.err


def test_the_library_is_the_same_wherever_it_lies(tmp_path: Path) -> None:
    model = write_adder(tmp_path / "adder.tflite")
    for name, words in (("one", ()), ("other", ("--place", "arena=dtcm"))):
        command = ("build", model, "--board", "nucleo_f767zi", "--no-compile", "-o", tmp_path / name, *words)
        assert tflmgen(*command).code == 0
    files = [p.relative_to(tmp_path / "one") for p in (tmp_path / "one" / "lib").rglob("*") if p.is_file()]
    assert [(tmp_path / "one" / f).read_bytes() for f in files] == [
        (tmp_path / "other" / f).read_bytes() for f in files
    ]
