"""Bad input at the command line: exit code 1, one located line on standard error, nothing left behind."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import Finished, tflmgen, write_adder
from tflmgen.failure import guarded
from tflmgen.folder import FolderError
from typer import Exit

BOARD = ("--board", "mps2_an386")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_adder(tmp_path / "adder.tflite")
    np.savez("in.npz", left=np.zeros((1, 4), np.float32), right=np.zeros((1, 4), np.float32))
    return tmp_path


def _fails(*words: object) -> str:
    before = sorted(Path().iterdir())
    finished = tflmgen(*words)
    assert finished.code == 1, finished.out
    assert finished.err != ""
    assert "internal error" not in finished.err
    assert sorted(Path().iterdir()) == before
    return finished.err


def _run(*words: object) -> str:
    return _fails("run", "adder.tflite", "--board", "host", "--inputs", "in.npz", "--outputs", "out.npz", *words)


def test_models_that_are_none(folder: Path) -> None:
    (folder / "text.tflite").write_text("hello")
    (folder / "empty.tflite").touch()
    for path in ("absent.tflite", "text.tflite", "empty.tflite", "."):
        assert path in _fails("build", path, *BOARD)
        assert path in _fails("inspect", path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_model_that_may_not_be_read(folder: Path) -> None:
    (folder / "adder.tflite").chmod(0)
    assert "Permission denied" in _fails("build", "adder.tflite", *BOARD)


def test_unknown_board_lists_the_known_ones() -> None:
    text = _fails("build", "adder.tflite", "--board", "mps9")
    assert "'mps9'" in text
    assert "mps2_an386" in text


def test_over_budget_names_the_peak_and_what_helps(folder: Path) -> None:
    write_adder(folder / "adder.tflite", "int8", (1, 100, 100, 4))
    text = _fails("build", "adder.tflite", "--board", "microbit", "--no-compile")
    assert "board microbit has 16,384" in text
    assert "operator 0 (ADD" in text
    assert "mps2_an386" in text


@pytest.mark.emulator
def test_over_budget_is_also_found_by_the_linker(folder: Path) -> None:
    """The arena alone would fit; with the firmware's own variables the stack has no room."""
    write_adder(folder / "adder.tflite", "int8", (1, 7500))
    text = _fails("build", "adder.tflite", "--board", "microbit")
    assert "the RAM of board microbit leaves less than 1,024 bytes for the stack" in text
    assert "operator 0 (ADD" in text


def test_missing_cross_compiler_names_its_package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder / "empty"))
    assert "gcc-arm-none-eabi" in _fails("build", "adder.tflite", *BOARD)
    assert "gcc-arm-none-eabi" in _fails("test", "adder.tflite", *BOARD)


def test_missing_host_compiler_names_its_package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder / "empty"))
    monkeypatch.delenv("CC", raising=False)
    assert "apt install gcc" in _run()


def test_an_output_folder_that_is_a_file(folder: Path) -> None:
    (folder / "taken").touch()
    assert "taken" in _fails("build", "adder.tflite", *BOARD, "--no-compile", "-o", "taken")


def test_full_disk_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, _: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))

    monkeypatch.setattr(Path, "write_bytes", full)
    assert "No space left on device" in _fails("build", "adder.tflite", *BOARD, "--no-compile", "-o", "out")


def test_failed_compilation_leaves_no_fresh_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise FolderError("model.c:1: error: no")

    monkeypatch.setattr("tflmgen.commands.build.compile_project", broken)
    assert "model.c:1: error: no" in _fails("build", "adder.tflite", "--board", "host", "-o", "out")


def test_outputs_that_cannot_be_written() -> None:
    words = ("run", "adder.tflite", "--board", "host", "--inputs", "in.npz", "--outputs")
    assert "there is no folder" in _fails(*words, "none/out.npz")
    assert "is a directory" in _fails(*words, ".")


def test_inputs_that_do_not_fit(folder: Path) -> None:
    np.savez("in.npz", left=np.zeros((1, 4), np.float32), right=np.zeros((4,), np.float32))
    assert "in.npz: array 'right' is float32[4], but input is float32[1,4]" in _run()
    (folder / "in.npz").unlink()
    assert "in.npz: cannot be read" in _run()


def test_unknown_signature() -> None:
    assert "no signature 'fly'" in _run("--signature", "fly")
    assert "no signature 'fly'" in _fails("test", "adder.tflite", "--board", "host", "--signature", "fly")


def test_renode_by_name_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFLMGEN_RENODE", "no-such-renode")
    assert "no-such-renode" in _fails("boards")


def _guarded(error: BaseException) -> Finished:
    def command(**_: Any) -> None:
        raise error

    with pytest.raises(Exit) as caught:
        guarded(command)(model="m.tflite")
    return Finished(caught.value.exit_code, "", "")


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (ZeroDivisionError("by\nzero"), 1, "m.tflite: internal error: ZeroDivisionError: by zero."),
        (MemoryError(), 1, "internal error: MemoryError"),
        (OSError(errno.ENOSPC, "No space left on device", "/mnt/x"), 1, "/mnt/x: No space left on device"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_nothing_gets_out_as_a_traceback(
    error: BaseException, code: int, text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TFLMGEN_DEBUG", raising=False)
    assert _guarded(error).code == code
    err = capsys.readouterr().err
    assert text in err
    assert "Traceback" not in err
    assert len(err.splitlines()) == 1


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFLMGEN_DEBUG", "1")
    assert _guarded(ZeroDivisionError("x")).code == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.emulator
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_build_leaves_nothing(folder: Path, number: int, code: int) -> None:
    """The build is stopped once its folder stands, while PlatformIO compiles in it."""
    command = [sys.executable, "-m", "tflmgen", "build", "adder.tflite", *BOARD, "-o", "out"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, start_new_session=True) as process:
        until = time.monotonic() + 20
        while not (folder / "out").exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert b"Traceback" not in err
    assert not (folder / "out").exists()
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
