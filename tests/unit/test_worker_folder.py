"""Nothing of the process that has TensorFlow stays on the disk, whichever of the two processes ends first; a request
that takes for ever ends it.

The process needs no TensorFlow here: its Python leaves a temporary file, as TensorFlow does, and waits for requests.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from tflmgen.conversion.tensorflow_process import INTERPRETER, TensorFlowProcess
from tflmgen.errors import ModelError

_OWNER = """
from tflmgen.conversion.tensorflow_process import TensorFlowProcess
with TensorFlowProcess("model") as process:
    print("started", flush=True)
    input()
"""

_SERVE = "import sys; from tflmgen.tensorflow_worker.serve import serve; serve(sys.argv[1])"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, of this process and those it starts."""
    interpreter = tmp_path / "python"
    interpreter.write_text(f'#!/bin/sh\nmktemp > /dev/null\nexec "{sys.executable}" "$@"\n')
    interpreter.chmod(0o755)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv(INTERPRETER, str(interpreter))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def _wait_for_files(folder: Path, present: bool) -> list[Path]:
    """Files below `folder` once there are some besides the log, or none at all; what there is after 30 s."""
    files: list[Path] = []
    for _ in range(300):
        # os.walk, not rglob: folders may go while they are looked through.
        files = [Path(place) / name for place, _, names in os.walk(folder) for name in names if name != "log.txt"]
        if bool(files) == present and (present or not any(folder.iterdir())):
            break
        time.sleep(0.1)
    return files


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, None])
def test_nothing_stays_when_the_owner_leaves(temporary: Path, error: type[BaseException] | None) -> None:
    try:
        with TensorFlowProcess("model"):
            assert _wait_for_files(temporary, present=True)
            if error is not None:
                raise error
    except (KeyboardInterrupt, MemoryError):
        assert error is not None
    assert list(temporary.iterdir()) == []


def test_nothing_stays_when_the_process_is_killed(temporary: Path) -> None:
    with TensorFlowProcess("model") as process:
        assert _wait_for_files(temporary, present=True)
        assert process._process is not None
        process._process.kill()
        with pytest.raises(ModelError, match="want of memory"):
            process.ask("load")
    assert list(temporary.iterdir()) == []


def test_a_request_that_never_ends_is_an_error(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interpreter = temporary.parent / "endless"
    interpreter.write_text("#!/bin/sh\nexec sleep 1000\n")
    interpreter.chmod(0o755)
    monkeypatch.setenv(INTERPRETER, str(interpreter))
    monkeypatch.setattr("tflmgen.conversion.tensorflow_process.REQUEST_SECONDS", 0.5)
    with TensorFlowProcess("model") as process, pytest.raises(ModelError) as refused:
        process.ask("convert")
    assert str(refused.value).startswith("model: TensorFlow takes more than 0.5 s to convert it, and was stopped")
    assert list(temporary.iterdir()) == []


def test_nothing_stays_when_the_owner_is_killed(temporary: Path) -> None:
    words = [sys.executable, "-c", _OWNER]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        owner.stdout.readline()
        assert _wait_for_files(temporary, present=True)
        os.kill(owner.pid, signal.SIGKILL)
    _wait_for_files(temporary, present=False)
    assert list(temporary.iterdir()) == []


def test_nothing_stays_when_the_owner_is_killed_before_an_answer(tmp_path: Path) -> None:
    """The owner's ends of both pipes close while the request is being answered."""
    folder = tmp_path / "worker"
    folder.mkdir()
    words = [sys.executable, "-c", _SERVE, str(folder)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as worker:
        assert worker.stdout is not None
        worker.stdout.close()
        worker.communicate(b'{"do": "nothing"}\n', timeout=30)
    assert not folder.exists()
