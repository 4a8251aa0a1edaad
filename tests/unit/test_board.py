from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tflmgen.project.board import BoardError, list_boards, load_board

IDS = {
    "microbit",
    "mps2_an385",
    "mps2_an385_m0",
    "mps2_an386",
    "mps2_an500",
    "mps3_an547",
    "disco_f407vg",
    "nucleo_f446re",
    "nucleo_f767zi",
    "nucleo_l4r5zi",
    "nucleo_h753zi",
    "bluepill_f103c8",
    "nrf52840_dk",
    "nano33ble",
    "pico",
}

GOOD: dict[str, Any] = {
    "title": "Mine",
    "core": "cortex-m4",
    "memories": [
        {"name": "FLASH", "origin": "0x08000000", "size": "512K", "kind": "flash"},
        {"name": "RAM", "origin": "0x20000000", "size": 65536, "kind": "ram"},
    ],
    "uart": {"driver": "stm32v1", "base": "0x40004400", "clock": 16000000, "baud": 115200},
}


def own_board(folder: Path, **changes: Any) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "board.json").write_text(json.dumps({**GOOD, **changes}))
    return str(folder)


def test_known_boards() -> None:
    assert {board.id for board in list_boards()} >= IDS


@pytest.mark.parametrize(
    ("board", "core", "features"),
    [
        ("microbit", "cortex-m0", set()),
        ("mps2_an385", "cortex-m3", set()),
        ("mps2_an385_m0", "cortex-m0", set()),
        ("mps2_an386", "cortex-m4", {"dsp", "fpu"}),
        ("mps2_an500", "cortex-m7", {"dsp", "fpu"}),
        ("mps3_an547", "cortex-m55", {"dsp", "fpu", "mve"}),
        ("host", "host", {"fpu"}),
    ],
)
def test_target(board: str, core: str, features: set[str]) -> None:
    target = load_board(board).target
    assert target.core == core
    assert target.features == frozenset(features)


def test_f407_stays_within_the_memory_that_qemu_has() -> None:
    board = load_board("disco_f407vg")
    placed = {name for memory_name, name in board.placement if memory_name in ("data", "state", "arena")}
    (sram,) = (m for m in board.memories if m.name in placed)
    assert (sram.origin, sram.size) == (0x20000000, 128 * 1024)


def test_own_board_is_a_path(tmp_path: Path) -> None:
    board = load_board(own_board(tmp_path / "mine"))
    assert (board.id, board.flash_bytes, board.ram_bytes) == ("mine", 512 * 1024, 65536)
    assert dict(board.placement) == {"code": "FLASH", "weights": "FLASH", "data": "RAM", "state": "RAM", "arena": "RAM"}
    assert board.cpu_flags == ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=soft")


def test_unknown_board_lists_the_known_ones() -> None:
    with pytest.raises(BoardError, match=r"unknown board 'nucleo'.*microbit.*mps2_an386.*host"):
        load_board("nucleo")


def test_path_without_board(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match=r"no board\.json in this folder"):
        load_board(str(tmp_path))


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', "{}"])
def test_not_a_board(tmp_path: Path, text: str) -> None:
    (tmp_path / "board.json").write_text(text)
    with pytest.raises(BoardError, match=r"board\.json: "):
        load_board(str(tmp_path))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"core": "riscv"}, r"\$\.core: "),
        ({"colour": "red"}, r"\$: .*colour"),
        ({"uart": {**GOOD["uart"], "base": 5}}, r"\$\.uart\.base: "),
        ({"uart": {**GOOD["uart"], "driver": "ns16550"}}, r"\$\.uart\.driver: no uart_ns16550\.c"),
        ({"memories": [GOOD["memories"][0]] * 2}, r"\$\.memories: no memory of kind ram"),
        ({"memories": [GOOD["memories"][0], *GOOD["memories"]]}, r"\$\.memories: two have the same name"),
        ({"placement": {"arena": "FLASH"}}, r"\$\.placement\.arena: 'FLASH' is not a memory of kind ram"),
        ({"placement": {"arena": "CCM"}}, r"\$\.placement\.arena: 'CCM'"),
        ({"core": "cortex-m55", "features": ["mve"]}, r"\$\.fpu: "),
        ({"renode": {"platform": "x.repl", "uart": "sysbus.u"}}, r"\$\.renode\.platform: no file 'x\.repl'"),
    ],
)
def test_bad_boards_are_located(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(BoardError, match=r"board\.json: " + problem):
        load_board(own_board(tmp_path, **changes))


def test_overlapping_memories(tmp_path: Path) -> None:
    clash = {"name": "CCM", "origin": "0x20008000", "size": "64K", "kind": "ram"}
    with pytest.raises(BoardError, match=r"RAM and CCM overlap"):
        load_board(own_board(tmp_path, memories=[*GOOD["memories"], clash]))


def test_all_problems_of_a_board_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(BoardError) as caught:
        load_board(own_board(tmp_path, core="riscv", title=""))
    assert len(str(caught.value).splitlines()) == 2
