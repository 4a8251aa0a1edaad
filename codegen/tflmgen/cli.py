"""The program `tflmgen`."""

from __future__ import annotations

import io
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
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # a model's names may hold what the terminal cannot show
        app()
    except KeyboardInterrupt:  # before or after the command itself, which reports its own
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
