"""Generated C as text, beside what it computes. `pytest --update-golden` writes the texts anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.native import Invocation, build_native, run_native
from support.pipeline import Stages, compile_bytes
from support.tiny_graphs import branch_model, straight_model, swap_model
from tflmgen import __version__

Array = NDArray[Any]

FOLDER = Path(__file__).parent
MODELS = {"straight": straight_model(), "branch": branch_model(), "swap": swap_model(), "small_swap": swap_model(2)}


def texts(name: str, stages: Stages) -> dict[str, str]:
    """Path -> text, without what changes with the version and the writer of the test's model."""
    files = stages.sources(name).files
    return {
        path: text.replace(__version__, "VERSION").replace(stages.module.sha256, "SHA256")
        for path, text in files.items()
    }


@pytest.mark.parametrize("name", MODELS)
def test_text(name: str, update_golden: bool) -> None:
    generated = texts(name, compile_bytes(MODELS[name]))
    folder = FOLDER / name
    if update_golden:
        for path, text in generated.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    kept = {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}
    assert kept.keys() == generated.keys()
    for path, text in generated.items():
        assert text == kept[path], path


X, Y = np.arange(1, 5, dtype=np.int32), np.array([5, -6, 7], np.int32)
EIGHT = np.arange(8, dtype=np.int32)
YES, NO = np.array([True]), np.array([False])


def times(count: int) -> Array:
    return np.array([count], np.int32)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(
    ("name", "inputs", "outputs"),
    [
        ("straight", (X,), (((X + X) * X).reshape(2, 2),)),
        ("branch", (YES, X[:3], Y), (X[:3] + Y,)),
        ("branch", (NO, X[:3], Y), (X[:3],)),
        ("swap", (times(0), EIGHT, -EIGHT), (EIGHT, -EIGHT)),
        ("swap", (times(1), EIGHT, -EIGHT), (-EIGHT, EIGHT)),
        ("swap", (times(4), EIGHT, -EIGHT), (EIGHT, -EIGHT)),
        ("small_swap", (times(3), X[:2], X[2:]), (X[2:], X[:2])),
        ("small_swap", (times(-1), X[:2], X[2:]), (X[:2], X[2:])),
    ],
)
def test_execution(name: str, inputs: tuple[Array, ...], outputs: tuple[Array, ...], compiler: str) -> None:
    stages = {key: compile_bytes(data) for key, data in MODELS.items()}
    program = build_native({key: s.sources(key) for key, s in stages.items()}, compiler)
    signatures = [s.program.signatures for s in stages.values()]
    once = Invocation(list(MODELS).index(name), 0, inputs)
    for got in run_native(program, [once, once], signatures):
        for array, wanted in zip(got, outputs, strict=True):
            np.testing.assert_array_equal(array, wanted)
