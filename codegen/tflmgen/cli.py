"""The program `tflmgen`."""

from __future__ import annotations

import io
import sys

from tflmgen.commands import app
from tflmgen.failure import leave_on_sigterm


def main() -> None:
    """Run the command line; exits with the code that docs/use/commands.md gives."""
    leave_on_sigterm()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a model's names may hold what the terminal cannot show
    app()
