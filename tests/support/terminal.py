"""Commands on a pseudoterminal: what a person sees."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

OF_A_USER = ("NO_COLOR", "CI", "COLUMNS", "LINES")
"""Variables that change what is printed."""


def on_a_terminal(
    words: Sequence[object], columns: int, folder: Path | None = None, with_errors: bool = True, **environment: str
) -> str:
    """All that `tflmgen WORDS...` writes to a terminal of so many columns; without errors, to standard output alone."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    variables = {name: value for name, value in os.environ.items() if name not in OF_A_USER}
    process = subprocess.Popen(
        [sys.executable, "-m", "tflmgen", *map(str, words)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs if with_errors else subprocess.DEVNULL,
        env={**variables, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **environment},
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            read = os.read(ours, 4096)
        except OSError:  # Linux says so that nobody has the other end any more
            break
        if not read:
            break
        text += read
    os.close(ours)
    assert process.wait() == 0, text.decode()
    return text.decode()
