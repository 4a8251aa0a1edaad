"""Bad input at the command line: exit code 1, one located line on standard error, nothing left behind."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from email.message import Message
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pytest
from support.commands import Finished, tflmgen, write_adder
from support.model_writer import ModelWriter
from support.processes import survivors
from support.repository import ROOT
from tflmgen.failure import guarded, where_to_report
from tflmgen.project.folder import FolderError
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


def test_paths_are_not_tried_before_they_are_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert tflmgen("inspect", "adder.tflite", "--board", "mps2_an386").code == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_model_that_may_not_be_read(folder: Path) -> None:
    (folder / "adder.tflite").chmod(0)
    assert "Permission denied" in _fails("build", "adder.tflite", *BOARD)


def test_unknown_board_lists_the_known_ones() -> None:
    text = _fails("build", "adder.tflite", "--board", "mps9")
    assert "'mps9'" in text
    assert "mps2_an386" in text


@pytest.mark.parametrize(("typed", "meant"), [("mps2_an368", "mps2_an386"), ("nucleo_f446er", "nucleo_f446re")])
def test_an_unknown_board_like_a_known_one(typed: str, meant: str) -> None:
    assert f"unknown board '{typed}'. Did you mean {meant}" in _fails("build", "adder.tflite", "--board", typed)
    assert "Did you mean" not in _fails("build", "adder.tflite", "--board", "zzz")


def test_options_that_are_alike_are_suggested() -> None:
    assert "--board" in tflmgen("build", "adder.tflite", "--bord", "host").err
    finished = tflmgen("build", "adder.tflite", "--board", "host", "--nonsense")
    assert finished.code == 2
    assert "No such option: --nonsense. See" in finished.err


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


@pytest.mark.parametrize("held", [["build", "--board", "host", "--no-compile"], ["export", "--format", "plain"]])
def test_an_output_folder_of_another_format(held: list[str], folder: Path) -> None:
    """Whichever was first: nothing is deleted, and no model is planned for nothing."""
    command, *options = held
    assert tflmgen(command, "adder.tflite", *options, "-o", "out").code == 0
    with (folder / "out" / "README.md").open("a") as readme:
        readme.write("mine")
    before = {path: path.read_bytes() for path in sorted((folder / "out").rglob("*")) if path.is_file()}
    others = [["export", "--format", "cmake"], ["export", "--format", "zephyr"]]
    others += [["flash", "--board", "pico"]]
    others += [["build", "--board", "host", "--no-compile"]] if command == "export" else []
    for command, *options in others if held[0] == "export" else others[:2]:
        assert "out: holds what tflmgen has written in another format" in _fails(
            command, "adder.tflite", *options, "-o", "out"
        )
    assert {path: path.read_bytes() for path in sorted((folder / "out").rglob("*")) if path.is_file()} == before


def test_an_output_folder_of_the_users(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "thesis.txt").write_text("years of work")
    for command, *options in (["build", "--board", "host"], ["export", "--format", "cmake"], ["flash", "-b", "pico"]):
        assert "out: is not empty" in _fails(command, "adder.tflite", *options, "-o", "out")
    assert [path.name for path in (folder / "out").iterdir()] == ["thesis.txt"]


def test_full_disk_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, _: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))

    monkeypatch.setattr(Path, "write_bytes", full)
    assert "No space left on device" in _fails("build", "adder.tflite", *BOARD, "--no-compile", "-o", "out")


def test_failed_compilation_leaves_no_fresh_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise FolderError("model.c:1: error: no")

    monkeypatch.setattr("tflmgen.actions.project_build.compile_project", broken)
    assert "model.c:1: error: no" in _fails("build", "adder.tflite", "--board", "host", "-o", "out")


def test_outputs_that_cannot_be_written() -> None:
    words = ("run", "adder.tflite", "--board", "host", "--inputs", "in.npz", "--outputs")
    assert "there is no folder" in _fails(*words, "none/out.npz")
    assert "is a directory" in _fails(*words, ".")


WRITERS = {
    "--outputs": ("run", "adder.tflite", "--board", "host", "--inputs", "in.npz"),
    "--junit": ("test", "adder.tflite", "--board", "host"),
    "--report": ("inspect", "adder.tflite"),
}


@pytest.mark.parametrize("option", WRITERS)
def test_a_directory_where_a_file_is_to_be_written(option: str, folder: Path) -> None:
    (folder / "taken").mkdir()
    assert "taken: cannot be written: it is a directory" in _fails(*WRITERS[option], option, "taken")


@pytest.mark.parametrize("option", WRITERS)
def test_a_file_that_cannot_be_written_whole_stays(option: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "old").write_text("last week's")

    replace = Path.replace

    def broken(self: Path, target: Path) -> Path:
        if Path(target).name == "old":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", broken)
    assert "old: cannot be written: Input/output error" in _fails(*WRITERS[option], option, "old")
    assert (folder / "old").read_text() == "last week's"


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


def test_an_internal_error_says_where_it_arose(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stage, operator, options and whom to tell, whatever it was that failed."""

    def fails(*_: object) -> None:
        raise KeyError("bias")

    monkeypatch.setattr("tflmgen.kernels.selection.instance_of_op", fails)
    finished = tflmgen("build", "adder.tflite", "--board", "host", "--optimize", "size", "--no-compile", "-o", "out")
    assert finished.code == 1
    assert (
        "adder.tflite: internal error: KeyError: 'bias'; in stage explore.ram_trade_offs (selection.py, line "
        in finished.err
    )
    assert ", _looked_up), at subgraph 0, operator 0 (ADD); " in finished.err
    assert "; with --board host --optimize size. This is a fault of tflmgen's" in finished.err
    assert "please report it to whoever gave you tflmgen, with this line and adder.tflite" in finished.err


def test_reports_go_to_the_address_of_the_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    described = Message()
    described["Project-URL"] = "Documentation, https://example.org/docs"
    described["Project-URL"] = "Issues, https://example.org/issues"
    monkeypatch.setattr("importlib.metadata.metadata", lambda _: described)
    assert where_to_report() == "https://example.org/issues"


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFLMGEN_DEBUG", "1")
    assert _guarded(ZeroDivisionError("x")).code == 1
    assert "Traceback" in capsys.readouterr().err


def _json(*words: object) -> Any:
    finished = tflmgen(*words, "--json")
    assert finished.code == 1
    error = json.loads(finished.err)
    jsonschema.validate(error, json.loads((ROOT / "schema" / "error.json").read_text(encoding="utf-8")))
    return error


def test_errors_are_json_under_json() -> None:
    error = _json("build", "adder.tflite", "--board", "mps9")
    assert (error["kind"], error["exit_code"]) == ("failed", 1)
    assert [problem["location"] for problem in error["problems"]] == [None]
    assert error["error"] == _fails("build", "adder.tflite", "--board", "mps9").rstrip("\n")


def test_each_problem_of_a_model_is_one_in_json(folder: Path) -> None:
    writer = ModelWriter()
    graph = writer.subgraph("main")
    x, y, z = (graph.tensor(name, "float32", [1, 4]) for name in "xyz")
    graph.operator("DELEGATE", [x], [y])
    graph.operator("HASHTABLE_SIZE", [y], [z])
    graph.inputs, graph.outputs = [x], [z]
    (folder / "bad.tflite").write_bytes(writer.finish())
    error = _json("build", "bad.tflite", "--board", "host", "--no-compile")
    assert error["kind"] == "model"
    assert [p["location"]["operator"] for p in error["problems"]] == [0, 1]
    first = error["problems"][0]
    assert first["location"]["model"] == "bad.tflite"
    assert first["location"]["operator_name"] == "DELEGATE"
    lines = _fails("build", "bad.tflite", "--board", "host", "--no-compile").splitlines()
    assert error["error"].splitlines() == lines
    assert all(p["rule"] in line for p, line in zip(error["problems"], lines, strict=True))


def test_a_mismatch_is_a_result_and_an_error() -> None:
    np.savez("v.npz", s0_in_0=np.zeros((1, 4), np.float32), s0_in_1=np.zeros((1, 4), np.float32))
    with np.load("v.npz") as arrays:
        np.savez("v.npz", **arrays, s0_out_0=np.ones((1, 4), np.float32))
    finished = tflmgen("test", "adder.tflite", "--board", "host", "--vectors", "v.npz", "--json")
    assert finished.json["passed"] is False
    assert json.loads(finished.err)["error"].endswith("FAILED: 1 of 1 outputs differ")


COMPILER = """\
#!/bin/sh
touch "$TMPDIR/ccIntermediate.s"
sleep 60 &
echo $! > child
touch started
wait
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_an_interrupted_compiler_leaves_nothing(folder: Path, number: int, code: int) -> None:
    """Neither its temporary files nor a process that it has started."""
    (folder / "slow-cc").write_text(COMPILER)
    (folder / "slow-cc").chmod(0o755)
    (folder / "temporary").mkdir()
    environment = {**os.environ, "CC": str(folder / "slow-cc"), "TMPDIR": str(folder / "temporary")}
    words = ("run", "adder.tflite", "--board", "host", "--inputs", "in.npz", "--outputs", "out.npz")
    command = [sys.executable, "-m", "tflmgen", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) as process:
        until = time.monotonic() + 60
        while not (folder / "started").exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert not list((folder / "temporary").iterdir())
    assert not survivors([int((folder / "child").read_text())])


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


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams(closed: str) -> None:
    """As a supervisor may start it. What it writes goes to none of its own files."""
    words = ("run", "adder.tflite", "--board", "host", "--inputs", "in.npz", "--outputs", "out.npz")
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "tflmgen", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    with np.load("out.npz") as arrays:
        assert [array.shape for array in arrays.values()] == [(1, 4)]
