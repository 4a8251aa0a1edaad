"""The program `tflmgen`."""

from __future__ import annotations

import io
import os
import sys

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


def main() -> None:
    """Run the command line; exits with the code that docs/use/commands.md gives."""
    try:
        # Takes a good part of a second, in which Ctrl-C may come, too.
        from tflmgen.commands import app
        from tflmgen.failure import leave_on_sigterm

        leave_on_sigterm()
        _open_closed_streams()
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # a model's names may hold what the terminal cannot show
        app()
    except KeyboardInterrupt:  # before or after the command itself, which reports its own
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


def _open_closed_streams() -> None:
    """Gives the null device to standard streams that the caller closed.

    Python has None for them, and the next file to be opened would get the number of one: what a tool that is started
    prints would go into that file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(descriptor, True)
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))
