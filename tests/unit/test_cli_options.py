from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from dataclasses import asdict, fields
from importlib.metadata import version
from typing import Any, get_type_hints

import jsonschema  # type: ignore[import-untyped]
import pytest
import typer
from support.commands import tflmgen
from support.repository import ROOT
from tflmgen import __version__
from tflmgen.commands import app
from tflmgen.commands.command_line import board_commands
from tflmgen.commands.command_line.option_groups import with_groups
from tflmgen.options import BuildOptions, OutputOptions, SessionOptions

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

COMMANDS = {command.name or command.callback.__name__: command.callback for command in app.registered_commands}  # type: ignore[union-attr]
COMMANDS["boards"] = board_commands.boards_app.registered_callback.callback  # type: ignore[union-attr]
COMMANDS["boards new"] = board_commands.boards_new
BUILDING = ("build", "run", "test", "accuracy", "bench", "inspect", "export", "flash")
RUNNING = ("run", "test", "accuracy", "bench")
OTHERS = (
    "boards",
    "boards new",
    "convert",
    "diff",
    "fit",
    "monitor",
    "operators",
    "quantize",
    "sweep",
    "tokenizer",
    "train",
)


def _parameters(command: str) -> set[str]:
    return set(inspect.signature(COMMANDS[command]).parameters)  # type: ignore[arg-type]


def test_groups_reach_the_commands_that_need_them() -> None:
    for commands, group in ((BUILDING, BuildOptions), (RUNNING, SessionOptions), (tuple(COMMANDS), OutputOptions)):
        for command in commands:
            assert {f.name for f in fields(group)} <= _parameters(command), command


def test_a_group_arrives_as_one_value() -> None:
    seen: list[Any] = []

    def command(model: str, *, options: BuildOptions, output: OutputOptions) -> None:
        seen.extend((model, options, output))

    with_groups(command)(model="m", **asdict(BuildOptions("n")), json=True, quiet=False, wide=False, strict=False)
    assert seen == ["m", BuildOptions("n"), OutputOptions(json=True)]
    options = {field.name for group in (BuildOptions, OutputOptions) for field in fields(group)}
    assert set(get_type_hints(with_groups(command))) == {"model", *options}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_has_an_example(command: str) -> None:
    finished = tflmgen(*command.split(), "--help")
    assert finished.code == 0
    assert f"tflmgen {command}" in finished.out


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_shows_flags_without_a_type(command: str) -> None:
    """Typer 0.29 says `--json <bool>`, earlier versions of it and of Click BOOLEAN or nothing."""
    text = tflmgen(*command.split(), "--help").out
    assert re.search(r"--help +-h +Show this message", text)
    assert not re.search(r"bool|\[default: (?:no-|False)", text, re.IGNORECASE)
    assert not command or re.search(r"--json +Print JSON", text)


def test_typer_is_bounded_to_the_versions_that_were_tried() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        (bounds,) = (d for d in tomllib.load(file)["project"]["dependencies"] if d.startswith("typer"))
    least, next_ = (tuple(map(int, v.split("."))) for v in re.findall(r"[\d.]+", bounds))
    assert bounds == f"typer>={'.'.join(map(str, least))},<{'.'.join(map(str, next_))}"
    assert least <= tuple(map(int, version("typer").split(".")))[:2] < next_


USAGE_ERRORS = [
    ("fly",),
    ("buidl", "m.tflite"),
    ("build",),
    ("build", "m.tflite"),
    ("boards", "--fly"),
    ("build", "m.tflite", "--board", "host", "--optimize", "beauty"),
    ("test", "m.tflite", "--board", "host", "--emulator", "qemu"),
    ("boards", "new", "x"),
    ("flash", "m.tflite", "--board", "host"),
]


@pytest.mark.parametrize("words", USAGE_ERRORS, ids=" ".join)
def test_usage_errors_look_alike(words: tuple[str, ...]) -> None:
    finished = tflmgen(*words)
    assert finished.code == 2
    assert finished.out == ""
    assert re.fullmatch(r"Usage error: [^\n]+\n", finished.err)


def test_a_word_that_is_no_choice_is_named_first() -> None:
    """Not after the words of a library that parses it."""
    error = tflmgen("inspect", "x.tflite", "--optimize", "fast").err
    assert error.startswith("Usage error: Invalid value for '--optimize': 'fast' is not one of 'balanced', ")


@pytest.mark.parametrize("words", USAGE_ERRORS, ids=" ".join)
def test_usage_errors_are_json_under_json(words: tuple[str, ...]) -> None:
    finished = tflmgen(*words, "--json")
    assert (finished.code, finished.out) == (2, "")
    error = json.loads(finished.err)
    jsonschema.validate(error, json.loads((ROOT / "schema" / "error.json").read_text(encoding="utf-8")))
    assert (error["kind"], error["exit_code"]) == ("usage", 2)
    assert tflmgen(*words).err == f"Usage error: {error['error']}\n"


def test_version() -> None:
    assert tflmgen("--version").out == f"tflmgen {__version__}\n"


def test_help_loads_nothing_heavy() -> None:
    heavy = {"numpy", "jinja2", "jsonschema", "flatbuffers", "importlib.metadata", "platformio", "tflmgen.ir.types"}
    code = f"import sys, tflmgen.cli; print(*({heavy!r} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


def test_python_m_tflmgen_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "tflmgen", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"tflmgen {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [
        ("fly",),
        ("build",),
        ("build", "m.tflite"),
        ("build", "m.tflite", "--board", "host", "--optimize", "beauty"),
        ("run", "m.tflite", "--board", "host", "--inputs", "in.npz"),
        ("test", "m.tflite", "--board", "host", "--atol", "-1"),
        ("test", "m.tflite", "--board", "host", "--timeout", "0"),
        ("bench", "m.tflite", "--board", "host"),
        ("test", "m.tflite", "--board", "host", "--emulator", "qemu"),
    ],
    ids=" ".join,
)
def test_malformed_command_lines_exit_with_2(words: tuple[str, ...]) -> None:
    finished = tflmgen(*words)
    assert finished.code == 2
    assert finished.out == ""
    assert finished.err != ""


def test_no_command_shows_the_help() -> None:
    assert "Commands" in tflmgen().out + tflmgen().err


def test_typer_is_told_of_every_command() -> None:
    assert set(COMMANDS) == {*BUILDING, *OTHERS}
    assert isinstance(app, typer.Typer)
