"""Options of the whole suite."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tflmgen.conversion.tensorflow_process import TensorFlowProcess


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew instead of comparing them"
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


def pytest_configure() -> None:
    # Started in the background of a script, the suite ignores SIGINT, and so do its children, which tests interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Tables would be as wide as it says, and workers of pytest-xdist have it where their parent loads readline.
    os.environ.pop("COLUMNS", None)


def pytest_collection_finish() -> None:
    """Thousands of tests are no garbage: collections of it skip them, and come less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(scope="module")
def tensorflow() -> Iterator[TensorFlowProcess]:
    """A process with TensorFlow, one for all tests of a file: it takes seconds to start."""
    from support.tensorflow_environment import VARIABLE, interpreter
    from tflmgen.conversion.tensorflow_process import TensorFlowProcess

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, interpreter() or "")
        with TensorFlowProcess("") as started:
            yield started
