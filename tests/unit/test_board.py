from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.repository import ROOT
from tflmgen.emulators.open_session import describe_flash
from tflmgen.errors import UsageError
from tflmgen.hardware.board import list_boards, load_board
from tflmgen.hardware.board_files import BoardError
from tflmgen.hardware.flash_timing import FlashCache
from tflmgen.hardware.memory_regions import with_flash_of

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
    "pico2",
    "nucleo_u575zi",
    "mps2_an505",
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
        ("mps2_an505", "cortex-m33", {"dsp", "fpu"}),
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


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', "{}", "[" * 100_000])
def test_not_a_board(tmp_path: Path, text: str) -> None:
    (tmp_path / "board.json").write_text(text)
    with pytest.raises(BoardError, match=r"board\.json: "):
        load_board(str(tmp_path))


HIGH = {"name": "HIGH", "origin": "0xFFFFF000", "size": "1M", "kind": "ram"}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"core": "riscv"}, r"\$\.core: "),
        ({"colour": "red"}, r"\$: .*colour"),
        ({"uart": {**GOOD["uart"], "base": 5}}, r"\$\.uart\.base: "),
        ({"uart": {**GOOD["uart"], "driver": "i8250"}}, r"\$\.uart\.driver: no uart_i8250\.c"),
        ({"memories": [GOOD["memories"][0]] * 2}, r"\$\.memories: no memory of kind ram"),
        ({"memories": [GOOD["memories"][0], *GOOD["memories"]]}, r"\$\.memories: two have the same name"),
        ({"placement": {"arena": "FLASH"}}, r"\$\.placement\.arena: 'FLASH' is not a memory of kind ram"),
        ({"placement": {"arena": "CCM"}}, r"\$\.placement\.arena: 'CCM'"),
        ({"core": "cortex-m55", "features": ["mve"]}, r"\$\.fpu: "),
        ({"core": "cortex-m3", "features": ["dsp"]}, r"\$\.features: 'dsp', which cortex-m3 does not have"),
        ({"features": ["dsp", "mve"], "fpu": "auto"}, r"\$\.features: 'mve', which cortex-m4 does not have"),
        ({"core": "cortex-m0plus", "fpu": "auto"}, r"\$\.fpu: 'auto', but cortex-m0plus has none"),
        ({"memories": [GOOD["memories"][0], HIGH]}, r"\$\.memories: HIGH ends beyond"),
        ({"title": "a */ b"}, r"\$\.title: "),
        ({"title": "a\n"}, r"\$\.title: "),
        ({"clock": 10**400}, r"\$\.clock: "),
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


FLASH: dict[str, Any] = {"clock": 168000000, "wait_states": 5, "read_bytes": 16, "source": "a manual"}
LINES = {"lines": 64, "line_bytes": 16, "ways": 64}


def test_the_flash_of_a_board(tmp_path: Path) -> None:
    flash = load_board(own_board(tmp_path / "b", flash={**FLASH, "divider": 2, "cache": LINES})).flash
    assert flash is not None
    assert (flash.board, flash.wait_cycles, flash.unified, flash.constant_cache) == ("b", 11, True, None)
    assert flash.code_cache == FlashCache(64, 16, 64)
    assert load_board(own_board(tmp_path / "c")).flash is None


def test_boards_with_known_wait_states_have_their_source() -> None:
    timings = {board.id: board.flash for board in list_boards() if board.flash}
    assert timings.keys() >= {"disco_f407vg", "nucleo_f446re", "nucleo_l4r5zi", "nucleo_f767zi", "bluepill_f103c8"}
    assert all(re.search(r"RM\d{4}|PM\d{4}|Datasheet", timing.source) for timing in timings.values())
    assert all(timing.clock > load_board(board).clock for board, timing in timings.items())
    assert not any(board.startswith("mps") for board in timings)  # ideal memories


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"instruction_cache": {**LINES, "ways": 48}}, "64 cache lines for code do not make sets of 48"),
        ({"data_cache": {**LINES, "line_bytes": 24}}, "a cache line of 24 bytes for constants is not 1 to 32 reads"),
        ({"data_cache": {**LINES, "line_bytes": 1024}}, "a cache line of 1024 bytes for constants is not 1 to 32"),
        ({"cache": LINES, "data_cache": LINES}, r"\$\.flash: "),
        ({"wait_states": -1}, r"\$\.flash\.wait_states"),
    ],
)
def test_a_flash_that_cannot_be(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(BoardError, match=problem):
        load_board(own_board(tmp_path / "b", flash={**FLASH, **changes}))


def test_the_plugin_gets_the_regions_and_the_caches() -> None:
    board = with_flash_of(load_board("mps2_an386"), "nucleo_l4r5zi")
    assert describe_flash(board).splitlines() == [
        "region 0 400000",
        "read 8",
        "wait 5",
        "prefetch",
        "code 1 32 32",
        "constants 1 8 32",
    ]
    pico = describe_flash(load_board("pico")).splitlines()
    assert pico[1:] == ["read 8", "wait 55", "low", "code 1024 2 8", "unified"]
    pico2 = describe_flash(load_board("pico2")).splitlines()
    assert pico2[1:] == ["read 8", "wait 55", "sequential 31", "code 1024 2 8", "unified"]
    assert describe_flash(load_board("mps2_an386")) == ""
    with pytest.raises(UsageError, match=r"--flash-of microbit: the wait states of its flash are not known\. Known: "):
        with_flash_of(board, "microbit")


def test_the_page_has_the_flash_of_each_board() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| (\d+) MHz \| (\d+)[^|]* \| (\d+) bytes \| (yes|no) \| (\S+)[^|]* \|",
        (ROOT / "docs" / "understand" / "counting.md").read_text(encoding="utf-8"),
        re.M,
    )
    boards = {
        (
            board,
            str(flash.clock // 1_000_000),
            str(flash.wait_states),
            str(flash.read_bytes),
            "yes" if flash.prefetch else "no",
            f"{flash.code_cache.lines:,}" if flash.code_cache else "\u2013",
        )
        for board, flash in ((board.id, board.flash) for board in list_boards())
        if flash is not None
    }
    assert set(rows) == boards


@pytest.mark.parametrize(
    ("name", "board"),
    [
        ("NUCLEO-F446RE", "nucleo_f446re"),
        ("STM32F446RE", "nucleo_f446re"),
        ("Nucleo F446RE", "nucleo_f446re"),
        ("stm32h753zi", "nucleo_h753zi"),
        ("disco-f407vg", "disco_f407vg"),
        ("STM32F4DISCOVERY", "disco_f407vg"),
        ("MPS2-AN386", "mps2_an386"),
        ("nRF52840-DK", "nrf52840_dk"),
        ("RP2040", "pico"),
        ("RP2350", "pico2"),
        ("STM32U575ZI", "nucleo_u575zi"),
        ("MICROBIT", "microbit"),
    ],
)
def test_names_of_makers_and_of_platformio(name: str, board: str) -> None:
    assert load_board(name).id == board


def test_a_chip_of_two_boards_is_a_question() -> None:
    with pytest.raises(BoardError, match=r"unknown board 'nRF52840'\. Did you mean nano33ble or nrf52840_dk"):
        load_board("nRF52840")


@pytest.mark.parametrize("model", ["m.tflite", "./m.tflite"])
def test_model_and_board_exchanged(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(model).write_bytes(b"")
    with pytest.raises(BoardError, match=r"this is a file\. The model comes first, then --board"):
        load_board(model)
