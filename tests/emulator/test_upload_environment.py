"""The environment for PlatformIO's own platforms, on a stand-in that builds and uploads as they do."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import tiny
from support.tools import requires_compiler, requires_qemu
from tflmgen.emulators.open_session import open_session
from tflmgen.hardware.board import Board, list_boards, load_board
from tflmgen.project.platformio import UploadError, environment_variables, upload
from tflmgen.toolchain.elf import read_elf

STAND_IN = Path(__file__).parents[1] / "support" / "upload_platform"
BARE = [b for b in list_boards() if b.platformio and not b.platformio.framework]
ARDUINO = [b for b in list_boards() if b.platformio and b.platformio.framework]

pytestmark = [
    pytest.mark.emulator,
    requires_compiler,
    requires_qemu,
]


@pytest.fixture(autouse=True)
def core_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of a stand-in stays where PlatformIO keeps platforms."""
    monkeypatch.setenv("PLATFORMIO_CORE_DIR", str(tmp_path_factory.getbasetemp() / "core"))


def stand_in(folder: Path, board_id: str, core: str) -> Path:
    """The project in `folder` with its upload environment on the stand-in platform."""
    platform = folder / "stand_in"
    shutil.copytree(STAND_IN, platform)
    board = platform / "boards" / f"{board_id}.json"
    board.parent.mkdir(exist_ok=True)
    board.write_text((STAND_IN / "board.json").read_text().replace("CORE", core))
    ini = folder / "platformio.ini"
    text = re.sub(r"^platform = platformio/.*", f"platform = symlink://{platform}", ini.read_text(), flags=re.MULTILINE)
    ini.write_text(re.sub(r"platform_packages =\n    platformio/.*\n", "", text))
    return folder


def run_platformio(project: Path, command_name: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "platformio", command_name, "-d", str(project), *words]
    return subprocess.run(
        command, env=environment_variables(project), capture_output=True, text=True, check=False, timeout=200
    )


def test_bare_firmware_is_the_local_one(tmp_path: Path) -> None:
    board = load_board("nucleo_f446re")
    project = stand_in(tiny.write_project(board, tmp_path / "project"), board.id, board.core)
    upload(project, f"{board.id}_upload", "/dev/probe")
    assert (project / "uploaded").read_text() == "firmware.elf to /dev/probe by stlink\n"
    elf = project / ".pio" / "build" / f"{board.id}_upload" / "firmware.elf"
    assert read_elf(elf).symbols["tflmgen_vectors"] == 0x08000000
    attributes = subprocess.run(["arm-none-eabi-readelf", "-A", str(elf)], capture_output=True, text=True, check=True)
    assert "Tag_ABI_VFP_args: VFP registers" in attributes.stdout
    with open_session(board, project, elf, "qemu", timeout=20) as session:
        result = session.invoke(1, [tiny.VALUES, tiny.mode(0)])
    assert tiny.total(result.outputs[0]) == tiny.TOTAL


def test_a_failed_upload_tells_the_tools_words(tmp_path: Path) -> None:
    board = load_board("nucleo_f446re")
    project = stand_in(tiny.write_project(board, tmp_path / "project"), board.id, board.core)
    with pytest.raises(UploadError, match=r"(?s)PlatformIO cannot build and upload it\n.*no probe"):
        upload(project, f"{board.id}_upload", None)


@pytest.mark.parametrize("board", ARDUINO, ids=lambda board: board.id)
def test_arduino_firmware_has_setup_and_loop(board: Board, tmp_path: Path) -> None:
    project = stand_in(tiny.write_project(board, tmp_path / "project"), board.id, board.core)
    done = run_platformio(project, "run", "-e", f"{board.id}_upload")
    assert done.returncode == 0, done.stdout + done.stderr
    symbols = read_elf(project / ".pio" / "build" / f"{board.id}_upload" / "firmware.elf").symbols
    assert {"setup", "loop", "tflmgen_serve", "tflmgen_board_link"} <= symbols.keys()
    assert "tflmgen_vectors" not in symbols
    words = ("-e", f"{board.id}_upload", "--without-uploading", "--without-testing")
    done = run_platformio(project, "test", *words)
    assert done.returncode == 0, done.stdout + done.stderr
