"""Processes that a command has started, and which must not outlive it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path


def is_running(process: int) -> bool:
    """Whether a process of this number runs: one that ended and was not waited for does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:  # also one that ends between opening and reading
        return False
    return state not in "ZX"


def survivors(processes: Sequence[int], seconds: float = 5.0) -> list[int]:
    """The processes that still run after at most `seconds`."""
    until = time.monotonic() + seconds
    while (running := [process for process in processes if is_running(process)]) and time.monotonic() < until:
        time.sleep(0.01)
    return running
