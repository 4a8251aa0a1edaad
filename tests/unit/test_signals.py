"""Signals end a command wherever it is."""

from __future__ import annotations

import subprocess
import sys

import pytest

IN_A_DESTRUCTOR = """
import os, signal, time
from tflmgen.failure import leave_on_sigterm

class Sends:
    def __del__(self):
        os.kill(os.getpid(), signal.{signal})
        time.sleep(0)

leave_on_sigterm()
Sends()
try:
    time.sleep(10)
finally:
    print("cleaned up")
"""


@pytest.mark.parametrize(("signal", "code"), [("SIGTERM", 143), ("SIGINT", -2)])
def test_a_signal_in_a_destructor_is_not_lost(signal: str, code: int) -> None:
    """Python ignores what is raised there; -2: Python's own end by KeyboardInterrupt, which commands catch."""
    program = IN_A_DESTRUCTOR.format(signal=signal)
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert finished.returncode == code
    assert finished.stdout == "cleaned up\n"
