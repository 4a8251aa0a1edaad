"""Building with PlatformIO, and what can go wrong in it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from support import tiny
from support.commands import tflmgen, write_adder
from support.tools import requires_compiler
from tflmgen.hardware.board import load_board
from tflmgen.project.platformio import BuildError, Firmware, build
from tflmgen.toolchain.elf import ElfError, read_elf
from tflmgen.toolchain.programs import ToolchainError

pytestmark = [
    pytest.mark.emulator,
    requires_compiler,
]

BOARD = "mps2_an386"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tiny.write_project(load_board(BOARD), tmp_path / "project")


def test_a_folder_that_platformio_cannot_build_in_is_named(tmp_path: Path) -> None:
    folder = tiny.write_project(load_board(BOARD), tmp_path / "$x" / "project")
    message = f"{folder}: PlatformIO cannot build in a folder whose path has $"
    with pytest.raises(BuildError, match=f"^{re.escape(message)}$"):
        build(folder, load_board(BOARD))


def test_a_folder_may_have_any_other_name(tmp_path: Path) -> None:
    folder = tiny.write_project(load_board(BOARD), tmp_path / "it's ü [a] #1;b=c,d%e\"f")
    assert build(folder, load_board(BOARD)).text > 0


def test_sizes_are_those_of_binutils(project: Path) -> None:
    lines: list[str] = []
    firmware = build(project, load_board(BOARD), lines.append)
    command = ["arm-none-eabi-size", str(firmware.elf)]
    row = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[1]
    assert [firmware.text, firmware.data, firmware.bss] == [int(word) for word in row.split()[:3]]
    assert any(line.endswith("tiny/tiny.o") for line in lines)
    assert lines[-1].startswith("Linking ")


def test_symbols_are_those_of_binutils(project: Path) -> None:
    firmware = build(project, load_board(BOARD))
    listing = subprocess.run(["arm-none-eabi-nm", str(firmware.elf)], capture_output=True, text=True, check=True).stdout
    names = {line.split()[2]: int(line.split()[0], 16) for line in listing.splitlines() if " T " in line}
    symbols = read_elf(firmware.elf).symbols
    assert len(names) > 10
    assert {name: symbols[name] & ~1 for name in names} == names


def test_second_build_does_nothing(project: Path) -> None:
    build(project, load_board(BOARD))
    tiny.write_project(load_board(BOARD), project)
    lines: list[str] = []
    build(project, load_board(BOARD), lines.append)
    assert lines == []


def test_host_builds_too(tmp_path: Path) -> None:
    project = tiny.write_project(load_board("host"), tmp_path / "project")
    firmware = build(project, load_board("host"))
    assert isinstance(firmware, Firmware)
    assert firmware.data + firmware.bss > 1024


def test_compiler_errors_pass_through(project: Path) -> None:
    (project / "lib/tiny/src/tiny.c").write_text("int nonsense = ;\n")
    with pytest.raises(BuildError, match=r"lib/tiny/src/tiny\.c:1:16: error: expected expression") as caught:
        build(project, load_board(BOARD))
    assert "registry" not in str(caught.value)


def test_compiler_errors_in_a_users_main(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_adder(tmp_path / "adder.tflite")
    words = ("build", "adder.tflite", "--board", BOARD, "-o", "p")
    assert tflmgen(*words, "--no-compile").code == 0
    Path("p/src/main.c").write_text("#include <adder.h>\nint main(void) { return adder_input(); }\n")
    failed = tflmgen(*words)
    assert failed.code == 1
    assert "src/main.c:2:" in failed.err
    assert failed.err.splitlines()[-1].startswith("p/src/main.c has been changed, so it is kept: make it call")


def test_image_that_does_not_fit(tmp_path: Path) -> None:
    project = tiny.write_project(load_board("microbit"), tmp_path / "project")
    source = project / "lib/tiny/src/tiny.c"
    source.write_text(source.read_text().replace("arena[1024]", "arena[16000]"))
    with pytest.raises(BuildError, match=r"RAM is full|overflowed by \d+ bytes"):
        build(project, load_board("microbit"))


def test_missing_compiler_names_its_packages(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match="apt install gcc-arm-none-eabi libnewlib-arm-none-eabi"):
        build(project, load_board(BOARD))


def test_missing_newlib_names_its_package(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "arm-none-eabi-gcc"
    compiler.write_text("#!/bin/sh\necho nano.specs\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match=r"no newlib \(nano\.specs\).*libnewlib-arm-none-eabi"):
        build(project, load_board(BOARD))


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x01\x01" + b"\xff" * 60, b"MZ" + bytes(100)])
def test_not_an_elf(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(ElfError, match="ELF file"):
        read_elf(tmp_path / "x")


def test_two_projects_build_at_once(tmp_path: Path) -> None:
    script = """if True:
        import pathlib, sys, tflmgen.hardware, tflmgen.project
        tflmgen.project.build(pathlib.Path(sys.argv[1]), tflmgen.hardware.load_board(sys.argv[2]))
    """
    running = []
    for board in (BOARD, "microbit"):
        project = tiny.write_project(load_board(board), tmp_path / board)
        running.append(subprocess.Popen([sys.executable, "-c", script, str(project), board]))
    assert [process.wait(timeout=60) for process in running] == [0, 0]


def test_interrupt_leaves_no_process(project: Path) -> None:
    endless = project / "lib/tiny/src/slow.c"
    endless.write_text("/* slow */\n" + "".join(f"int f{i}(int x) {{ return x * {i}; }}\n" for i in range(60000)))
    script = textwrap.dedent(f"""
        from pathlib import Path
        from tflmgen.hardware import load_board
        from tflmgen.project.platformio import build
        build(Path({str(project)!r}), load_board({BOARD!r}), lambda line: print(line, flush=True))
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) != 0
    time.sleep(0.2)
    left = subprocess.run(["pgrep", "-f", str(project)], capture_output=True, text=True, check=False).stdout
    assert left == ""
