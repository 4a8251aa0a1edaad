"""The documentation's examples work: its C compiles, and its new operator equals TFLite Micro."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import typer
from support import differential, kernel_harness, kernel_program
from support.repository import ROOT, page_named
from support.tools import requires_compiler, requires_qemu
from tflmgen.commands import app
from tflmgen.compiler import compile_model
from tflmgen.ir import types
from tflmgen.ir.kernel import call as kernel
from tflmgen.ir.kernel.call import Target
from tflmgen.kernels import traits
from tflmgen.kernels.specification import operator, rules
from tflmgen.kernels.table import OPERATORS
from tflmgen.options import BuildOptions

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def examples(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [block for tag, block in FENCE.findall(text) if tag == language]


def names_of(*modules: Any) -> dict[str, Any]:
    return {name: value for module in modules for name, value in vars(module).items()}


def test_the_recipe_for_an_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tflite_micro", reason="needs tflite-micro")
    (header,) = examples("docs/contribute/adding-an-operator.md", "c")
    entry, family = examples("docs/contribute/adding-an-operator.md", "python")
    for path in kernel_program.KERNELS.glob("*.h"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "clip.h").write_text(header, encoding="utf-8")
    module = names_of(kernel, types, operator, rules, traits)
    exec(entry, module)
    (row,) = module["OPERATORS"]
    monkeypatch.setattr(kernel_program, "KERNELS", tmp_path)
    monkeypatch.setattr(kernel_harness, "OPERATORS", {**OPERATORS, row.name: row})
    module = names_of(kernel_harness, differential)
    exec(family, module)
    rng = np.random.default_rng(0)
    kernel_harness.check_against_tflm([module["relu6"](rng, "int8") for _ in range(20)])


def test_the_first_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CONTRIBUTING.md's: its kernel gives what its line of the reference says."""
    (header,) = examples("CONTRIBUTING.md", "c")
    entry, family = examples("CONTRIBUTING.md", "python")
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    ((name, evaluation),) = re.findall(r'^    "(\w+)": (lambda .*),$', text, re.MULTILINE)
    for path in kernel_program.KERNELS.glob("*.h"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "matrix_diag.h").write_text(header, encoding="utf-8")
    module: dict[str, Any] = {}
    exec(entry, module)
    (row,) = module["OPERATORS"]
    monkeypatch.setattr(kernel_program, "KERNELS", tmp_path)
    monkeypatch.setattr(kernel_harness, "OPERATORS", {**OPERATORS, name: row})
    module = names_of(kernel_harness, differential)
    exec(family, module)
    rng = np.random.default_rng(0)
    runs = [module["matrix_diag"](rng, dtype) for dtype in ("float32", "int32") for _ in range(8)]
    evaluate = eval(evaluation, {"np": np})
    expected = [evaluate(SimpleNamespace(array=values.__getitem__)) for _, values in runs]
    kernel_harness.check_against(runs, expected)


def test_the_recipe_for_a_kernel_is_a_real_one() -> None:
    (header,) = examples("docs/contribute/adding-a-kernel.md", "c")
    (declaration,) = examples("docs/contribute/adding-a-kernel.md", "python")
    assert header == (ROOT / "firmware" / "kernels" / "lookup_mve.h").read_text(encoding="utf-8")
    module = ROOT / "codegen" / "tflmgen" / "kernels" / "mve" / "lookup_mve.py"
    assert declaration == module.read_text(encoding="utf-8")


@pytest.mark.parametrize("compiler", [("gcc", "-xc", "-std=c99"), ("g++", "-xc++")])
def test_c_of_the_api_page(compiler: tuple[str, ...], tmp_path: Path) -> None:
    headers = []
    for reentrant in (False, True):
        options = BuildOptions(reentrant=reentrant)
        sources = compile_model(ROOT / "examples" / "gate.tflite", Target("host"), options).sources
        headers.append(sources.files["include/gate.h"])
    blocks = examples("docs/use/c-api.md", "c")
    assert len(blocks) == 4
    for block in blocks:
        (tmp_path / "gate.h").write_text(headers["gate_t" in block], encoding="utf-8")
        command = [*compiler, "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-fsyntax-only", f"-I{tmp_path}"]
        command += [f"-I{ROOT / 'firmware' / 'runtime'}", "-"]
        done = subprocess.run(command, input=block, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_the_commands_page_has_every_option_and_no_other() -> None:
    commands = dict(vars(typer.main.get_command(app))["commands"])
    commands |= {f"boards {name}": command for name, command in vars(commands["boards"])["commands"].items()}
    options = {name for command in commands.values() for p in command.params for name in p.opts if name[:2] == "--"}
    page = page_named("commands").read_text(encoding="utf-8")
    left_out = {"--help", "--output", "--install-completion"}
    assert set(re.findall(r"--[a-z][a-z0-9-]+", page)) - left_out == options - left_out
    assert all(f"| `{name}" in page for name in commands)


@pytest.mark.emulator
@requires_compiler
@requires_qemu
def test_the_python_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The examples in the page's order, in one namespace, as a reader in a fresh folder would type them."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    blocks = examples("docs/use/python.md", "python")
    assert len(blocks) == 9
    for block in blocks:
        exec(block, namespace)
    printed = capsys.readouterr().out
    for text in ("416 bytes of arena", "CONV_2D", "frame int8 (1, 16, 16, 1)", "CONV_2D takes most", "small_gate True"):
        assert text in printed
    assert "kws.tflite | this is not a TensorFlow Lite file" in printed
    assert all((tmp_path / name).exists() for name in ("gate-firmware/platformio.ini", "plan.html", "lib/zephyr"))
