"""Fixtures for tests of models: a plug-in of pytest, there wherever tflmgen is installed (docs/use/testing.md)."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tflmgen.api import Bench, CompiledModel

Golden = Callable[[str, Mapping[str, NDArray[Any]]], None]
"""Compares arrays with the file of a name, or writes it."""

Compile = Callable[..., "CompiledModel"]
"""tflmgen.compile for the board of the tests."""

Benched = Callable[..., "Bench"]
"""The cost of one invoke of a model on the board of the tests."""

FOLDER = "goldens"
"""Beside the test's file."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the command-line options of the fixtures. Called by pytest."""
    group = parser.getgroup("tflmgen")
    group.addoption(
        "--tflmgen-board", default="host", metavar="BOARD", help="Board of the fixture tflmgen_board; host by default."
    )
    group.addoption(
        "--tflmgen-update", action="store_true", help="Write the files of tflmgen_golden instead of comparing."
    )


@pytest.fixture(scope="session")
def tflmgen_board(request: pytest.FixtureRequest) -> str:
    """The board that tests compile for: --tflmgen-board."""
    return str(request.config.getoption("--tflmgen-board"))


@pytest.fixture(scope="session")
def tflmgen_compile(tflmgen_board: str) -> Compile:
    """tflmgen.compile(source, **options) for --tflmgen-board."""

    def compile_for_board(source: Any, **options: Any) -> CompiledModel:
        from tflmgen import compile

        return compile(source, tflmgen_board, **options)

    return compile_for_board


@pytest.fixture(scope="session")
def tflmgen_bench() -> Benched:
    """A function of a compiled model and, if any, inputs: the cost of one invoke, as CompiledModel.bench counts it.

    Skips the test where the model is for the host, whose instructions nothing counts.
    """

    def bench(model: CompiledModel, inputs: Any = None, **options: Any) -> Bench:
        if model.board == "host":
            pytest.skip("instructions are counted on boards only: pytest --tflmgen-board BOARD")
        return model.bench(inputs, **options)

    return bench


@pytest.fixture
def tflmgen_golden(request: pytest.FixtureRequest) -> Golden:
    """A function of a name and arrays: they equal those of goldens/NAME.npz beside the test's file.

    With --tflmgen-update it writes the file instead.
    """
    folder = request.path.parent / FOLDER
    updates = bool(request.config.getoption("--tflmgen-update"))

    def compare(name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        path = folder / f"{name}.npz"
        if updates:
            path.parent.mkdir(parents=True, exist_ok=True)
            contents: Any = dict(arrays)
            np.savez(path, **contents)
            return
        _compare(path, arrays)

    return compare


def _compare(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    if not path.is_file():
        pytest.fail(f"{path}: there is no such file. pytest --tflmgen-update writes it", pytrace=False)
    golden = _golden(path)
    if set(golden) != set(arrays):
        pytest.fail(f"{path} has {sorted(golden)}, the model {sorted(arrays)}", pytrace=False)
    for key, expected in golden.items():
        np.testing.assert_array_equal(arrays[key], expected, err_msg=f"{path}: {key}")


def _golden(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path) as golden:
            return dict(golden)
    except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
        pytest.fail(f"{path}: cannot be read: {error}. pytest --tflmgen-update writes it anew", pytrace=False)
