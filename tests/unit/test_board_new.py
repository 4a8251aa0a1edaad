from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.commands import tflmgen
from tflmgen.errors import UsageError
from tflmgen.hardware.board import list_boards, load_board
from tflmgen.hardware.board_files import BoardError
from tflmgen.hardware.board_new import UARTS, known_cores, new_board
from tflmgen.options import NewBoardOptions

ANY = NewBoardOptions(
    core="cortex-m33",
    memory=["FLASH=0x0:1M:flash", "ram=0x20000000:256K:ram", "FAST=0x30000000:64K:ram"],
    uart="nrf_uarte@0x40008000:16000000:57600",
    place=["arena=fast"],
    stack=2048,
)


@pytest.mark.parametrize("like", [board.id for board in list_boards()])
def test_a_board_like_another_is_that_board(like: str, tmp_path: Path) -> None:
    new, old = new_board(tmp_path / "mine", NewBoardOptions(like=like, title="Mine")), load_board(like)
    assert (new.id, new.title) == ("mine", "Mine")
    assert (new.target, new.memories, new.uart, new.qemu) == (old.target, old.memories, old.uart, old.qemu)
    assert (new.platformio, new.placement, new.cpu_flags) == (old.platformio, old.placement, old.cpu_flags)
    assert old.folder
    assert {p.name for p in (tmp_path / "mine").iterdir()} == {p.name for p in old.folder.iterdir()}


def test_any_cortex_m(tmp_path: Path) -> None:
    board = new_board(tmp_path / "any", ANY)
    assert board.cpu_flags == ("-mcpu=cortex-m33", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16")
    assert board.target.features == {"dsp", "fpu"}
    assert [(m.name, m.origin, m.size) for m in board.memories][1:] == [
        ("RAM", 0x20000000, 256 * 1024),
        ("FAST", 0x30000000, 64 * 1024),
    ]
    assert board.uart
    assert (board.uart.driver, board.uart.base, board.uart.clock, board.uart.baud) == (
        "nrf_uarte",
        0x40008000,
        16000000,
        57600,
    )
    assert dict(board.placement)["arena"] == "FAST"
    assert (board.stack, board.qemu, board.platformio) == (2048, None, None)


@pytest.mark.parametrize("core", known_cores())
def test_every_core_makes_a_valid_board(core: str, tmp_path: Path) -> None:
    board = new_board(tmp_path / "any", NewBoardOptions(core=core, memory=ANY.memory, uart=ANY.uart))
    assert board.core == core
    assert ("fpu" in board.features) == (board.fpu is not None)


def test_soft_float(tmp_path: Path) -> None:
    board = new_board(tmp_path / "soft", NewBoardOptions(like="nucleo_f446re", fpu="none"))
    assert board.cpu_flags[-1] == "-mfloat-abi=soft"
    assert board.features == {"dsp"}


@pytest.mark.parametrize(
    ("answers", "dropped", "kept"),
    [
        ({"core": "cortex-m3"}, {"qemu", "renode", "platformio", "clock"}, {"memories", "uart"}),
        ({"memory": ANY.memory}, {"qemu", "renode", "placement"}, {"platformio", "uart", "clock"}),
        ({"uart": ANY.uart}, {"qemu", "renode", "clock"}, {"platformio", "memories", "placement"}),
    ],
)
def test_what_a_new_answer_makes_void(answers: Any, dropped: set[str], kept: set[str], tmp_path: Path) -> None:
    new_board(tmp_path / "mine", NewBoardOptions(like="nucleo_f767zi", **answers))
    written = json.loads((tmp_path / "mine" / "board.json").read_text())
    assert not (dropped - {"renode"}) & written.keys()
    assert kept <= written.keys()


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        (NewBoardOptions(), "give what is missing: --core, --memory, --uart"),
        (NewBoardOptions(core="cortex-m4"), "give what is missing: --memory, --uart"),
        (NewBoardOptions(like="nucleo_f446re", core="riscv"), "--core riscv: not one of cortex-m0, "),
        (NewBoardOptions(like="nucleo_f446re", memory=["RAM"]), "--memory RAM: not of the form NAME=ORIGIN:SIZE:flash"),
        (NewBoardOptions(like="nucleo_f446re", uart="x"), "--uart x: not of the form DRIVER@BASE:CLOCK"),
        (NewBoardOptions(like="nucleo_f446re", place=["arena"]), "--place arena: not of the form"),
        (NewBoardOptions(like="nucleo_f446re", qemu="m:x"), "--qemu: 'x' is not a number"),
        (NewBoardOptions(like="host"), "this computer is no board"),
    ],
)
def test_malformed_answers(answers: NewBoardOptions, problem: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=problem.replace("(", r"\(")):
        new_board(tmp_path / "mine", answers)
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        (NewBoardOptions(like="nope"), "unknown board 'nope'"),
        (NewBoardOptions(like="nucleo_f446re", place=["arena=ccm"]), r"mine/board.json: \$\.placement\.arena: 'CCM'"),
        (NewBoardOptions(like="nucleo_f446re", memory=["RAM=0x0:1K:ram"]), r"\$\.memories: .*too short"),
        (NewBoardOptions(like="nucleo_f446re", uart="i8250@0x4:1"), "no uart_i8250.c"),
    ],
)
def test_answers_that_make_no_board(answers: NewBoardOptions, problem: str, tmp_path: Path) -> None:
    with pytest.raises(BoardError, match=problem):
        new_board(tmp_path / "mine", answers)
    assert not (tmp_path / "mine").exists()


def test_a_folder_that_is_in_use_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="exists, and is not an empty folder"):
        new_board(tmp_path, NewBoardOptions(like="nucleo_f446re"))


def test_a_name_that_is_no_id(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match="the folder's name, 'my board', has more than"):
        new_board(tmp_path / "my board", NewBoardOptions(like="nucleo_f446re"))


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finished = tflmgen("boards", "new", "mine", "--like", "nucleo_f446re", "--json")
    assert finished.json["board"]["core"] == "cortex-m4"
    assert "tflmgen build MODEL --board ./mine2" in tflmgen("boards", "new", "mine2", "--like", "nucleo_f446re").out
    assert tflmgen("boards", "--json").json[-1]["id"] == "host"
    finished = tflmgen("boards", "new", "mine3")
    assert (finished.code, "--like BOARD" in finished.err) == (2, True)


def test_a_terminal_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tflmgen.commands import boards_new

    asked = []
    replies = iter(["", "cortex-m4", "0x0:1M", "0x20000000:64K", "cmsdk@0x40004000:25000000"])

    def prompt(text: str, **_: Any) -> str:
        asked.append(text)
        return next(replies)

    monkeypatch.setattr("tflmgen.commands.boards_new.typer.prompt", prompt)
    monkeypatch.setattr(boards_new, "_is_terminal", lambda: True)
    finished = tflmgen("boards", "new", tmp_path / "mine")
    assert finished.code == 0, finished.err
    assert len(asked) == 5
    assert load_board(str(tmp_path / "mine")).ram_bytes == 65536


@pytest.mark.parametrize("driver", sorted(UARTS))
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m3", "cortex-m33"])
def test_a_board_without_a_template_is_described_for_renode(driver: str, core: str, tmp_path: Path) -> None:
    words = ("--core", core, "--uart", f"{driver}@0x40008000:16000000")
    memories = ("--memory", "FLASH=0x0:1M:flash", "--memory", "RAM=0x20000000:255K:ram")
    done = tflmgen("boards", "new", tmp_path / "mine", *words, *memories)
    assert done.code == 0, done.err
    assert "No emulator" not in done.out
    board = load_board(str(tmp_path / "mine"))
    assert board.renode is not None
    assert (board.renode.platform, board.renode.uart) == ("board.repl", "sysbus.uart0")
    text = (tmp_path / "mine" / "board.repl").read_text(encoding="utf-8")
    assert f"uart0: {UARTS[driver][0]} @ sysbus 0x40008000" in text
    assert "Memory.MappedMemory @ sysbus 0x20000000\n    size: 0x40000\n" in text
    assert ("Miscellaneous.DWT" in text) == (core != "cortex-m0plus")


def test_other_memories_get_another_description(tmp_path: Path) -> None:
    memories = ("--memory", "FLASH=0x08000000:1M:flash", "--memory", "RAM=0x20000000:256K:ram")
    assert tflmgen("boards", "new", tmp_path / "mine", "--like", "nucleo_f767zi", *memories).code == 0
    text = (tmp_path / "mine" / "board.repl").read_text(encoding="utf-8")
    assert "size: 0x100000" in text
    assert "UART.STM32F7_USART @ sysbus 0x40004800\n    frequency: 16000000" in text


def test_a_start_that_waits_for_registers_is_not_described(tmp_path: Path) -> None:
    done = tflmgen("boards", "new", tmp_path / "mine", "--like", "pico")
    assert "No emulator runs it" in done.out
    assert not (tmp_path / "mine" / "board.repl").exists()
