"""Commands that commands print: a shell that runs them gives the program the options that were typed."""

from __future__ import annotations

import json
import shlex
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from support.commands import tflmgen, write_adder
from tflmgen.actions import project_build
from tflmgen.options import BuildOptions, command_line
from tflmgen.options.option_declaration import option_words
from tflmgen.project.platformio import Firmware

TYPED: dict[str, Any] = {
    "name": "net of mine",
    "max_iterations": ["3", "loop=4"],
    "max_shape": ["in put=4,3", "$(out)=2"],
    "max_rows": ["it's found=4"],
    "max_dim": 7,
    "labels": ["scores=my words.txt", "metadata"],
    "plugin": [Path("it's mine.py"), Path("b.py")],
    "ram_budget": "32K",
    "max_slowdown": "10%",
    "push_rows": ["frame"],
    "slide": ["in put=1,2"],
    "also": [Path("it's another.tflite"), Path("b.onnx")],
    "place": ["arena=ram", "weights=flash"],
    "quantize": Path("my samples.npz"),
    "shape": ["in put=1,2", "y=3"],
    "constant": ["axes=[1, 2]"],
    "keras_objects": Path("it's my cells.py"),
}
"""A value of each option that is neither a flag nor a choice, with what a shell would take apart."""


def _typed(field: Any) -> Any:
    if field.name in TYPED:
        return TYPED[field.name]
    if isinstance(field.default, bool):
        return not field.default
    return next(value for value in type(field.default) if value is not field.default)


ALL = BuildOptions(**{field.name: _typed(field) for field in fields(BuildOptions)})


def _read_back(line: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    """The model, the board and the options that `tflmgen test` gets from the shell."""
    seen: list[tuple[Any, ...]] = []
    monkeypatch.setattr("tflmgen.commands.prepared_model.prepared_model", lambda *values: values)
    monkeypatch.setattr("tflmgen.commands.test.test_command", lambda prepared, *_: seen.append(prepared))
    program, *words = shlex.split(line)
    assert program == "tflmgen"
    finished = tflmgen(*words)
    assert finished.code == 0, finished.err
    (((model,), board, options, _, session),) = seen
    return model, board, options, session.port


@pytest.mark.parametrize("field", fields(BuildOptions), ids=lambda field: str(field.name))
def test_each_option_comes_back(field: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    options = replace(BuildOptions(), **{field.name: _typed(field)})
    line = command_line("test", Path("m.tflite"), "host", options)
    assert _read_back(line, monkeypatch) == (Path("m.tflite"), "host", options, None)


@pytest.mark.parametrize("model", ["a b.tflite", "it's $HOME.tflite", "-m.tflite", "x/;rm.tflite"])
def test_all_options_and_strange_paths_come_back(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    line = command_line("test", Path(model), "./my board", ALL, suffix="--port PORT")
    assert _read_back(line, monkeypatch) == (Path(model), "./my board", ALL, "PORT")


def test_defaults_are_left_out() -> None:
    assert command_line("test", Path("m.tflite"), "host", BuildOptions()) == "tflmgen test m.tflite --board host"


@pytest.fixture
def uncompiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`tflmgen build` in a folder of its own, without what a compiler would make."""
    monkeypatch.chdir(tmp_path)
    firmware = Firmware(Path("firmware.elf"), 1, 1, 1)
    sizes = {"code_bytes": 1, "stack_worst_case": None, "memories": {"FLASH": 1, "RAM": 1}}
    monkeypatch.setattr(project_build, "require_compiler", lambda _: None)
    monkeypatch.setattr(project_build, "compile_project", lambda *_: firmware)
    monkeypatch.setattr(project_build, "firmware_json", lambda *_: sizes)
    monkeypatch.setattr(project_build, "report_html", lambda *_: "")


def _printed(*words: str) -> list[str]:
    finished = tflmgen("build", *words)
    assert finished.code == 0, finished.err
    return ["tflmgen " + line.partition(": tflmgen ")[2] for line in finished.out.splitlines() if ": tflmgen " in line]


@pytest.mark.usefixtures("uncompiled")
def test_build_prints_the_command_that_tests_it(monkeypatch: pytest.MonkeyPatch) -> None:
    write_adder(Path("a model.tflite"))
    assert tflmgen("boards", "new", "mine", "--like", "mps2_an386").code == 0
    typed = ("--name", "n", "--optimize", "size", "--max-dim", "3", "--no-overlap", "--place", "arena=ssram23")
    (line,) = _printed("a model.tflite", "--board", "mine", *typed)
    model, board, options, _ = _read_back(line, monkeypatch)
    assert (model, board) == (Path("a model.tflite"), "./mine")
    assert option_words(options) == list(typed)


@pytest.mark.usefixtures("uncompiled")
def test_without_an_emulator_flash_and_test_are_what_tests_it(monkeypatch: pytest.MonkeyPatch) -> None:
    write_adder(Path("adder.tflite"))
    flash, test = _printed("adder.tflite", "--board", "pico", "--optimize", "size")
    assert flash == "tflmgen flash adder.tflite --board pico --optimize size"
    assert _read_back(test, monkeypatch)[3] == "PORT"


@pytest.mark.usefixtures("uncompiled")
def test_a_board_that_nothing_runs_or_flashes() -> None:
    write_adder(Path("adder.tflite"))
    uart = "stm32v2@0x40004800:16000000"
    memory = [word for m in ("FLASH=0x0:1M:flash", "RAM=0x20000000:1M:ram") for word in ("--memory", m)]
    assert tflmgen("boards", "new", "mine", "--core", "cortex-m33", *memory, "--uart", uart).code == 0
    board = json.loads(Path("mine/board.json").read_text(encoding="utf-8"))
    del board["renode"]
    Path("mine/board.json").write_text(json.dumps(board), encoding="utf-8")
    assert _printed("adder.tflite", "--board", "./mine") == ["tflmgen test adder.tflite --board ./mine --port PORT"]


def test_the_project_that_is_not_compiled_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_adder(Path("adder.tflite"))
    finished = tflmgen("build", "adder.tflite", "--board", "host", "--no-compile", "-o", "a folder")
    assert "Compile it with: pio run -d 'a folder'" in finished.out


def test_a_main_that_the_user_has_changed_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_adder(Path("adder.tflite"))
    words: tuple[str, ...] = ("build", "adder.tflite", "--board", "host", "--no-compile", "-o", "out")
    assert "has been changed" not in tflmgen(*words).out + tflmgen(*words).out
    Path("out/src/main.c").write_text("int main(void) { return 0; }")
    for _ in range(2):
        assert "note: out/src/main.c has been changed, so it is kept as it is\n" in tflmgen(*words).out
    words = ("export", "adder.tflite", "--format", "plain", "-o", "library")
    assert "has been changed" not in tflmgen(*words).out
    Path("library/examples/main.c").write_text("mine")
    assert "note: library/examples/main.c has been changed" in tflmgen(*words).out
