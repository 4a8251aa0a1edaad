"""What each command shows on a terminal of 80 columns, in tests/screens. --update-golden puts in what is shown now.

Digits of numbers that are measured or planned stand as 0: layouts are tested here, figures by the README and the pages.
"""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.model_writer import ModelWriter
from support.repository import ROOT
from support.terminal import on_a_terminal
from support.tools import requires_compiler, requires_qemu
from tflmgen.commands import app
from tflmgen.hardware.board import load_board
from tflmgen.terminal.text_table import text_width

WIDTH = 80
SCREENS = Path(__file__).parent / "screens"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
NUMBER = re.compile(r"(?<!\w)\d[\d,.]*")
RULE = re.compile(r"-+(  -+)*")
"""Below the titles of a table."""

ON_A_BOARD = (pytest.mark.emulator, requires_compiler, requires_qemu)


@dataclass(frozen=True, slots=True)
class Screen:
    """A command; `figures`: its digits differ by compiler or kernel. tables: how many it shows at least."""

    words: str
    tables: int = 0
    figures: bool = False


WITHOUT_BOARD = {
    "accuracy": Screen("accuracy gate.tflite --inputs gate.npz --labels-of classes.npy", tables=3, figures=True),
    "boards": Screen("boards", tables=1),
    "boards_new": Screen("boards new my_board --like nucleo_f446re"),
    "build_no_compile": Screen("build gate.tflite --board microbit --no-compile -o gate", tables=1, figures=True),
    "convert": Screen("convert long_names.onnx --shape frame=1,3,32,32", tables=1, figures=True),
    "diff": Screen("diff before.json after.json --allow all=20", tables=2),
    "export": Screen("export gate.tflite --format plain -o gate", figures=True),
    "fit": Screen("fit gate.tflite --boards microbit,nucleo_f446re,host", tables=1, figures=True),
    "inspect": Screen("inspect gate.tflite", tables=8, figures=True),
    "inspect_dump_graph": Screen("inspect gate.tflite --dump-graph"),
    "inspect_long_names": Screen("inspect long_names.tflite", tables=4, figures=True),
    "inspect_pareto": Screen("inspect gate.tflite --board microbit --pareto", tables=1, figures=True),
    "monitor": Screen("monitor --port port --seconds 0.1"),
    "operators": Screen("operators", tables=1),
    "operators_one": Screen("operators MAX_POOL_2D", tables=1),
    "quantize": Screen("quantize long_names.tflite --calibration long_names.npz", tables=1, figures=True),
    "run": Screen("run gate.tflite --board host --inputs gate.npz --outputs out.npz"),
    "test": Screen("test gate.tflite --board host --vectors gate.npz", tables=1),
    "tokenizer": Screen("tokenizer tokenizer.bin -o words", figures=True),
    "train": Screen("train motions_gru.tflite --loss sparse_categorical_crossentropy --optimizer adam", tables=1),
    "test_long_names": Screen("test long_names.tflite --board host --vectors long_names.npz", tables=1),
}
BOARDS = {
    "bench": Screen("bench gate.tflite --board microbit --emulator qemu --inputs gate.npz", tables=3, figures=True),
    "bench_flash": Screen("bench gate.tflite --board nucleo_f446re --emulator qemu", tables=4, figures=True),
    "bench_long_names": Screen("bench long_names.tflite --board mps2_an386 --emulator qemu", tables=2, figures=True),
    "bench_streams": Screen(
        "bench gate.tflite --board microbit --emulator qemu --optimize ram", tables=2, figures=True
    ),
    "build": Screen("build gate.tflite --board nucleo_h753zi -o gate", tables=1, figures=True),
    "flash": Screen("flash gate.tflite --board own_board"),
}
CASES = [
    *(pytest.param(name, screen, id=name) for name, screen in WITHOUT_BOARD.items()),
    *(pytest.param(name, screen, id=name, marks=ON_A_BOARD) for name, screen in BOARDS.items()),
]


def write_long_names(folder: Path) -> None:
    """An operator of which every name is longer than a column may be, and vectors for it."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    prefix = "serving_default/sequential_17/residual_block_3/separable_convolution"
    x = graph.tensor(f"{prefix}/input_frame:0", "float32", [1, 64, 64, 1])
    y = graph.tensor(f"{prefix}/Relu6;BiasAdd/ReadVariableOp:0", "float32", [1, 64, 64, 1])
    graph.operator("ABS", [x], [y])
    graph.inputs, graph.outputs = [x], [y]
    (folder / "long_names.tflite").write_bytes(writer.finish())
    ones = np.ones((1, 64, 64, 1), np.float32)
    np.savez(folder / "long_names.npz", s0_in_0=-ones, s0_out_0=ones, s0_label="a label that says what there is to see")


def write_onnx(folder: Path) -> None:
    """An ONNX model with an input of dynamic shape and an output with a long name."""
    name = "serving_default/sequential_17/residual_block_3/Relu6;BiasAdd/ReadVariableOp:0"
    x, y = (
        helper.make_tensor_value_info(label, TensorProto.FLOAT, ["batch", 3, "height", "width"])
        for label in ("frame", name)
    )
    graph = helper.make_graph([helper.make_node("Abs", ["frame"], [name])], "net", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "long_names.onnx")


def bench_of_a_layer(instructions: int) -> dict[str, Any]:
    """What `diff` reads of a benchmark of one layer."""
    sizes = {"arena_bytes": 416, "weights_bytes": 2910, "code_bytes": 9246, "flash_bytes": 15656, "ram_bytes": 1176}
    return {
        "model": {"path": "gate.tflite"},
        "board": "microbit",
        "memory": sizes,
        "stack_bytes": 940,
        "per_invoke": {"worst": {"set": 0, "instructions": instructions + 600}},
        "sets": [{"operators": [{"step": 2, "instructions": instructions}]}],
        "operators": [{"step": 2, "subgraph": 0, "operator": 0, "name": "CONV_2D"}],
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with all that the commands name."""
    for name in ("gate.tflite", "gate.npz"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    shutil.copy(ROOT / "examples" / "story" / "tokenizer.bin", tmp_path)
    shutil.copy(ROOT / "examples" / "quantize" / "motions_gru.tflite", tmp_path)
    np.save(tmp_path / "classes.npy", np.arange(12) % 5)
    write_long_names(tmp_path)
    write_onnx(tmp_path)
    for name, cost in (("before", 901_000), ("after", 1_044_669)):
        (tmp_path / f"{name}.json").write_text(json.dumps(bench_of_a_layer(cost)), encoding="utf-8")
    own = load_board("nucleo_f446re").folder
    assert own is not None
    data = json.loads((own / "board.json").read_text(encoding="utf-8"))
    (tmp_path / "own_board").mkdir()
    (tmp_path / "own_board" / "board.json").write_text(json.dumps({**data, "upload": ["true"]}), encoding="utf-8")
    return tmp_path


def tables_of(lines: list[str]) -> list[list[str]]:
    """The lines of each table: those around its rule, up to empty ones."""
    tables = []
    for rule in (i for i, line in enumerate(lines) if RULE.fullmatch(line)):
        begin = max((i for i in range(rule) if not lines[i]), default=-1) + 1
        end = min((i for i in range(rule, len(lines)) if not lines[i]), default=len(lines))
        tables.append(lines[begin:end])
    return tables


def text_of(shown: str, figures: bool) -> str:
    text = ESCAPES.sub("", shown).replace("\r\n", "\n")
    return NUMBER.sub(lambda number: re.sub(r"\d", "0", number[0]), text) if figures else text


@pytest.fixture
def terminal(folder: Path) -> Iterator[Callable[[str], str]]:
    """Runs a command in the folder. `port` is a serial port that says nothing, and boards have both emulators."""
    ours, theirs = pty.openpty()
    (folder / "port").symlink_to(os.ttyname(theirs))
    (folder / "emulators").mkdir()
    for program in ("qemu-system-arm", "renode"):
        (folder / "emulators" / program).write_text("#!/bin/sh\n", encoding="utf-8")
        (folder / "emulators" / program).chmod(0o755)

    def run(words: str) -> str:
        path = {"PATH": str(folder / "emulators")} if words == "boards" else {}
        return on_a_terminal(words.split(), WIDTH, folder, with_errors=False, **path)

    yield run
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize(("name", "screen"), CASES)
def test_screen(name: str, screen: Screen, terminal: Callable[[str], str], update_golden: bool) -> None:
    shown = text_of(terminal(screen.words), screen.figures)
    tables = tables_of(shown.splitlines())
    assert len(tables) >= screen.tables
    assert [line for table in tables for line in table if text_width(line) > WIDTH] == []
    assert [line for line in shown.splitlines() if line != line.rstrip()] == []
    kept = SCREENS / f"{name}.txt"
    if update_golden:
        SCREENS.mkdir(exist_ok=True)
        kept.write_text(shown, encoding="utf-8")
    assert shown == kept.read_text(encoding="utf-8")


def test_every_command_has_a_screen() -> None:
    commands = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    commands.remove("sweep")  # needs packages of its own: tests/unit/test_sweep_cluster.py
    groups = {group.name for group in app.registered_groups}
    assert {screen.words.split()[0] for screen in (*WITHOUT_BOARD.values(), *BOARDS.values())} == commands | groups
    assert {path.stem for path in SCREENS.iterdir()} == {*WITHOUT_BOARD, *BOARDS}


@pytest.mark.parametrize("option", ["--wide", ""])
def test_what_is_no_terminal_gets_every_column_without_padding(option: str, folder: Path) -> None:
    words = [sys.executable, "-m", "tflmgen", "inspect", "long_names.tflite", *option.split()]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment |= {"COLUMNS": "40"} if option else {}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.isascii()
    assert "residual_block_3/separable_convolution/Relu6;BiasAdd/ReadVariableOp:0" in done.stdout
    assert [line for line in done.stdout.splitlines() if line != line.rstrip()] == []
