"""Wrong or unusual arguments of the Python interface: what is raised is a TflmgenError, and no file is lost."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflmgen
from support.repository import ROOT
from tflmgen.api import build_options
from tflmgen.options import BuildOptions, Option, declared_options

GATE = ROOT / "examples" / "gate.tflite"


def _described(option: Option) -> str:
    """A line of the reference: the option's help, and what Python gives where the command line has texts."""
    text = option.help.removesuffix(" Repeatable.")
    if option.python is not None:
        text += f" Takes {option.python.description}."
    elif option.type in (list[str] | None, list[Path] | None):
        text += " Takes a sequence."
    elif isinstance(option.default, Enum):
        text += f" `{option.default.value}` by default."
    return textwrap.fill(
        f"{option.name}: {text}", 120, initial_indent=" " * 8, subsequent_indent=" " * 12, break_on_hyphens=False
    )


def test_keywords_are_those_that_the_options_declare(update_golden: bool) -> None:
    """A TypedDict stands for static typing, which needs it in the source; its text is made from the declarations."""
    path = ROOT / "codegen" / "tflmgen" / "api" / "build_choices.py"
    text, declared = path.read_text(encoding="utf-8"), declared_options(BuildOptions)
    keywords = list(tflmgen.CompileOptions.__annotations__)
    assert set(keywords) == {field.name for field in fields(BuildOptions)}
    described = "\n".join(_described(declared[name]) for name in keywords)
    if update_golden:
        path.write_text(
            re.sub(r"(?<=    Attributes:\n).*?(?=\n    \"\"\")", lambda _: described, text, flags=re.DOTALL)
        )
    assert described in path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def gate() -> tflmgen.CompiledModel:
    return tflmgen.compile(GATE)


@pytest.mark.parametrize("name", ["kws/small", "{tmp}/mine", "../mine", "n" * 300, "nul\0"])
def test_names_of_models_write_no_file_of_the_users(tmp_path: Path, name: str) -> None:
    mine = tmp_path / "mine.tflite"
    mine.write_text("mine", encoding="utf-8")
    assert tflmgen.compile(GATE.read_bytes(), name=name.format(tmp=tmp_path)).name
    assert mine.read_text(encoding="utf-8") == "mine"


def test_a_path_that_the_system_refuses() -> None:
    with pytest.raises(tflmgen.TflmgenError, match="name too long"):
        tflmgen.compile("n" * 5000 + ".tflite")


CALLS: tuple[Callable[[Any], object], ...] = (
    lambda _: tflmgen.compile(GATE, inputs=3),  # type: ignore[arg-type]
    lambda gate: gate.save(None),
    lambda gate: gate.export("plain", None),
    lambda gate: gate.report(None),
    lambda gate: gate.report("page.html", bench=3),
    lambda gate: gate.run([[1], [1, 2]]),
)


@pytest.mark.parametrize("call", CALLS)
def test_wrong_arguments(gate: tflmgen.CompiledModel, call: Callable[[Any], object]) -> None:
    with pytest.raises(tflmgen.UsageError, match=r"must be|is no array"):
        call(gate)


def test_numbers_of_numpy_are_options() -> None:
    assert build_options({"max_dim": np.int64(3)}) == build_options({"max_dim": 3})  # type: ignore[typeddict-item]
    assert build_options({"max_dim": np.int64(3)}).text.endswith("--max-dim 3")  # type: ignore[typeddict-item]


def test_a_session_is_for_one_with(gate: tflmgen.CompiledModel) -> None:
    context = gate.session()
    with context as session:
        session.reset()
    with pytest.raises(tflmgen.UsageError, match="for one `with`"), context:
        pass


def test_a_report_does_not_overwrite_the_model(tmp_path: Path) -> None:
    model = tmp_path / "mine.tflite"
    model.write_bytes(GATE.read_bytes())
    with pytest.raises(tflmgen.UsageError, match="it is read, and would be overwritten"):
        tflmgen.compile(model).report(model)
    assert model.read_bytes() == GATE.read_bytes()
