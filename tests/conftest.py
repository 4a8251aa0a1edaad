"""Options of the whole suite."""

from __future__ import annotations

import os
import signal

import pytest


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
