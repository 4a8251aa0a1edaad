"""A board.json from somebody else: data that reads, writes and runs nothing outside its folder and the project."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from support.repository import ROOT
from tflmgen.hardware.board import list_boards, load_board
from tflmgen.hardware.board_files import LARGEST, BoardError
from tflmgen.hardware.qemu_arguments import argument_problems
from tflmgen.options import BuildOptions
from tflmgen.project.firmware_build import plan_for, project_of
from tflmgen.project.folder import Content, FolderError, write_folder

BOARD: dict[str, Any] = json.loads((ROOT / "boards" / "mps2_an386" / "board.json").read_text(encoding="utf-8"))
REPL = (ROOT / "boards" / "mps2_an386" / "board.repl").read_text(encoding="utf-8")


def a_board(tmp_path: Path, repl: str | None = REPL, **changes: Any) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "board.json").write_text(json.dumps({**BOARD, **changes}), encoding="utf-8")
    if repl is not None:
        (folder / "board.repl").write_text(repl, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "platform",
    [
        "../victim.repl",
        "sub/board.repl",
        "/etc/passwd",
        "..",
        "board.json",
        "@../x.repl",
        "@platforms/../../x.repl",
        "@/etc/x.repl",
        "board.repl\n",
        "a b.repl",
        "$x.repl",
    ],
)
def test_the_repl_is_a_plain_name_or_renodes_own(tmp_path: Path, platform: str) -> None:
    folder = a_board(tmp_path, renode={"platform": platform, "uart": "sysbus.uart0"})
    with pytest.raises(BoardError, match=r"\$\.renode\.platform"):
        load_board(str(folder))


@pytest.mark.parametrize("name", ["board.repl", "uart_cmsdk.c", "board.json"])
def test_files_of_the_folder_are_regular_files_in_it(tmp_path: Path, name: str) -> None:
    folder = a_board(tmp_path)
    outside = tmp_path / "outside"
    outside.write_bytes((folder / name).read_bytes() if (folder / name).exists() else b"/* */")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(outside)
    with pytest.raises(BoardError, match="a link out of the board's folder"):
        load_board(str(folder))
    (folder / name).unlink()
    (folder / name).write_bytes(b" " * (LARGEST + 1))
    with pytest.raises(BoardError, match="bytes, and may have"):
        load_board(str(folder))
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(BoardError, match=r"no regular file|no board\.json"):
        load_board(str(folder))


def test_a_path_means_the_users_folder_even_with_the_name_of_a_known_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_board(tmp_path, title="Of my own").rename(tmp_path / "mps2_an386")
    monkeypatch.chdir(tmp_path)
    assert load_board("./mps2_an386").title == "Of my own"
    assert load_board("mps2_an386").title == BOARD["title"]


@pytest.mark.parametrize(
    "line",
    [
        'sysbus:\n    init:\n        python "print(1)"',
        "cpu: { init add: include @x.py }",
        "x: Python.PythonPeripheral @ sysbus 0x50000000\n    size: 4",
        'x: Other @ sysbus 0x5\n    script: "request.value = 1"',
        "x: Other @ sysbus 0x5 { imageFile: @/etc/passwd }",
        'using "/somewhere/else.repl"',
        "x: UART.CoSimulatedUART @ sysbus <0x0, +0x100>",
        "x: Verilated.BaseDoubleWordVerilatedPeripheral @ sysbus 0x5",
        'sysbus:\n    init /**/ :\n        log "x"',
        "sysbus:\n    init // a note\n    :\n        x",
        'x: Other @ sysbus 0x5\n    script/* */: "request.value = 1"',
        'using/* */"x.repl"',
    ],
)
def test_a_repl_describes_hardware_alone(tmp_path: Path, line: str) -> None:
    folder = a_board(tmp_path, f"{REPL}\n{line}\n")
    with pytest.raises(BoardError, match="runs commands or reads files in Renode"):
        load_board(str(folder))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", "x\ny"),
        ("title", "x\u2028y"),
        ("title", "\x1b[2J"),
        ("title", "\ud800"),
        ("title", "\u202e"),
        ("title", "x" * 501),
        ("notes", ["x\r"]),
        ("url", "a\0"),
        ("core", "cortex-m4\n"),
        ("upload", ["a\nb"]),
        ("stack", 4096.0),
        ("stack", 2**40 * 8),
        ("clock", True),
        ("qemu", {"machine": "mps2-an386", "serial": 10**9}),
        ("qemu", {"machine": "mps2-an386 -incoming exec:x"}),
        ("qemu", {"machine": "mps2-an386,firmware=/etc/passwd"}),
        ("renode", {"platform": "board.repl", "uart": "sysbus.uart0; python 'x'"}),
        ("platformio", {"platform": "a/b@1.0", "board": "b", "upload_protocol": "c", "packages": ["x\n[env:y]"]}),
        ("platformio", {"platform": "a/b@1.0", "board": "b", "upload_protocol": "c", "packages": ["../x"]}),
        ("uart", {**BOARD["uart"], "setup": [{"address": "0x0", "set": "0x1", "note": "x\ny"}]}),
        ("memories", [{**BOARD["memories"][0], "name": "FLASH\n"}, BOARD["memories"][1]]),
        ("memories", [{**BOARD["memories"][0], "size": "9" * 5000}, BOARD["memories"][1]]),
    ],
)
def test_texts_and_numbers_of_a_board_are_bounded(tmp_path: Path, field: str, value: Any) -> None:
    with pytest.raises(BoardError, match=rf"board\.json: \$\.{field}"):
        load_board(str(a_board(tmp_path, **{field: value})))


@pytest.mark.parametrize(
    "arguments",
    [
        ["-incoming", "exec:touch x"],
        ["-D", "x", "-d", "in_asm"],
        ["-cpu", "cortex-m4", "-chardev", "file,id=a,path=b"],
        ["-monitor", "stdio"],
        ["-plugin", "./x.so"],
        ["-machine", "firmware=x"],
        ["-machine", "dumpdtb=x"],
        ["-icount", "shift=1,rr=record,rrfile=x"],
        ["-global", "a.romfile=/etc/passwd"],
        ["-m", "999999G"],
        ["-m"],
        ["-cpu", "-D"],
        ["--cpu", "max"],
        ["x"],
        [""],
    ],
)
def test_qemu_arguments_describe_a_machine_and_nothing_else(tmp_path: Path, arguments: list[str]) -> None:
    folder = a_board(tmp_path, qemu={"machine": "mps2-an386", "arguments": arguments})
    with pytest.raises(BoardError, match=r"board\.json: \$\.qemu\.arguments\[\d\]: '"):
        load_board(str(folder))


def test_qemu_arguments_that_boards_need() -> None:
    needed = ["-cpu", "cortex-m33,vfp=off", "-m", "16M", "-machine", "remap=QSPI", "-icount", "shift=4,sleep=off"]
    assert not argument_problems([*needed, "-global", "cpu.init-svtor=0x1000", "-rtc", "clock=vm"])


def test_texts_of_a_board_stay_texts_in_generated_files(tmp_path: Path) -> None:
    title = 'A*/ ${CURDIR} %{HOME} ??/ " & <b> \u00b5  x'
    folder = a_board(tmp_path, title=title.replace("*/", "* /"), url="https://x/%20?a=$b")
    board = load_board(str(folder))
    project = project_of(plan_for(ROOT / "examples" / "gate.tflite", board, BuildOptions()), board, BuildOptions())
    files = dict(project.files)
    (suite,) = (data.decode() for path, data in files.items() if path.endswith(".robot"))
    assert not re.search(r"(?<!\\)[$%]\{(?:CURDIR|HOME)", suite.split("Library")[0])
    assert "??/" not in files["platform/runtime/tflmgen_board_config.h"].decode()


def test_every_board_that_comes_with_tflmgen_is_within_the_rules() -> None:
    assert len(list_boards()) >= 15


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/x", "", "a//b", "link/x"])
def test_no_output_leaves_the_folder(tmp_path: Path, path: str) -> None:
    out = tmp_path / "out"
    about = {"name": "x"}
    write_folder(Content("project", {"a/b": b""}, {}, {}, about), out)
    (out / "link").symlink_to(tmp_path)
    for content in (
        Content("project", {path: b"x"}, {}, {}, about),
        Content("project", {}, {path: b"x"}, {}, about),
        Content("project", {}, {}, {path: b"x"}, about),
    ):
        with pytest.raises(FolderError, match="leads out of the folder"):
            write_folder(content, out)
    assert not (tmp_path / "x").exists()


def test_firmware_with_code_of_a_users_board_reaches_nothing_by_semihosting(tmp_path: Path) -> None:
    folder = a_board(tmp_path)
    assert "enable=on,target=native" in load_board(str(folder)).qemu_command
    (folder / "uart_cmsdk.c").write_text("/* */")
    assert "enable=off" in load_board(str(folder)).qemu_command
