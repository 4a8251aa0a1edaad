"""The page on custom operators: its example is the one in examples/, its commands print what it shows, its C runs.

--update-golden puts in what they print now.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.commands import tflmgen
from support.model_writer import ModelWriter
from support.repository import ROOT, page_named
from support.tools import requires_compiler, requires_qemu
from support.transcripts import PLAIN_80_COLUMNS

PAGE = page_named("custom-operators")
CONSOLE = re.compile(r"(?<=```console\n)\$ tflmgen ([^\n]+)\n(.*?)(?=^```$)", re.DOTALL | re.MULTILINE)
EXAMPLE = ROOT / "examples" / "erfinv"
ON_A_BOARD = (pytest.mark.emulator, requires_compiler, requires_qemu)


def blocks(language: str) -> list[re.Match[str]]:
    pattern = re.compile(rf"(?<=```{language}\n)(.*?)(?=^```$)", re.DOTALL | re.MULTILINE)
    return list(pattern.finditer(PAGE.read_text(encoding="utf-8")))


@pytest.mark.parametrize(("language", "file"), [("python", "erfinv.py"), ("c", "erfinv.h")])
def test_the_example_is_the_file(language: str, file: str, update_golden: bool) -> None:
    shown, text = blocks(language)[0], (EXAMPLE / file).read_text(encoding="utf-8")
    if update_golden:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(page[: shown.start()] + text + page[shown.end() :], encoding="utf-8")
    else:
        assert shown[0] == text


def test_what_the_commands_print(update_golden: bool, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    page = PAGE.read_text(encoding="utf-8")
    environment = {**os.environ, **PLAIN_80_COLUMNS}
    printed = {}
    for shown in CONSOLE.finditer(page):
        command = [sys.executable, "-m", "tflmgen", *shown[1].split()]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == int("build" in command)
        lines = [line.rstrip() for line in (done.stderr if done.returncode else done.stdout).splitlines()]
        printed[shown[0]] = f"$ tflmgen {shown[1]}\n" + "\n".join(lines).rstrip("\n") + "\n"
    assert len(printed) == 2
    if update_golden:
        for old, new in printed.items():
            page = page.replace(old, new)
        PAGE.write_text(page, encoding="utf-8")
    else:
        assert list(printed) == list(printed.values())


@pytest.mark.parametrize("board", ["host", pytest.param("mps2_an386", marks=ON_A_BOARD)])
@pytest.mark.parametrize("has_source", [False, True], ids=["header", "source"])
def test_the_counter(has_source: bool, board: str, tmp_path: Path) -> None:
    """The page's second example: all in a header, or the function in a source file of its own."""
    plugin = tmp_path / "counter.py"
    python, header = (blocks(language)[1][0] for language in ("python", "c"))
    if has_source:
        python = python.replace('("counter.h",)', '("counter.h", "counter.c")')
        header, start, body = header.replace("TFLMGEN_KERNEL ", "").partition("void counter")
        include = '#include "tflmgen/counter.h"\n'
        (tmp_path / "counter.c").write_text(include + start + body, encoding="utf-8")
        header += start + body[: body.index(")") + 1] + ";\n"
        header = f"#ifndef COUNTER_H\n#define COUNTER_H\n{header}#endif\n"
    plugin.write_text("from tflmgen.plugin import *\n" + python, encoding="utf-8")
    (tmp_path / "counter.h").write_text(header, encoding="utf-8")
    writer = ModelWriter()
    graph = writer.subgraph("main")
    x, y = graph.tensor("x", "int32", [3]), graph.tensor("y", "int32", [3])
    graph.operator("CUSTOM:Counter", [x], [y])
    graph.inputs, graph.outputs = [x], [y]
    (tmp_path / "m.tflite").write_bytes(writer.finish())
    values = np.arange(3, dtype=np.int32)
    sets = {f"s{k}_in_0": values for k in range(3)} | {f"s{k}_out_0": values + 1 + k for k in range(3)}
    np.savez(tmp_path / "v.npz", n_sets=np.array(3), stateful=np.array(True), **sets)  # type: ignore[arg-type]
    model, vectors = tmp_path / "m.tflite", tmp_path / "v.npz"
    emulator = () if board == "host" else ("--emulator", "qemu")
    done = tflmgen("test", model, "--board", board, *emulator, "--plugin", plugin, "--vectors", vectors)
    assert done.code == 0, done.out + done.err


@pytest.mark.emulator
@requires_compiler
@requires_qemu
def test_the_example_on_a_board() -> None:
    words = ("--plugin", EXAMPLE / "erfinv.py", "--vectors", EXAMPLE / "erfinv.npz", "--emulator", "qemu")
    done = tflmgen("test", EXAMPLE / "erfinv.tflite", "--board", "mps2_an386", *words)
    assert done.code == 0, done.out + done.err
