"""Errors at the command line's edge: one problem a line on standard error, an exit code, no traceback."""

from __future__ import annotations

import errno
import functools
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import typer

from tflmgen.console import error_line
from tflmgen.crash_site import crash_site, options_given, where_to_report
from tflmgen.errors import InternalError, TflmgenError, UsageError

FAILED, USAGE, INTERRUPTED, TERMINATED = 1, 2, 130, 143


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with every exception turned into a message and an exit code."""

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        try:
            command(**arguments)
        except KeyboardInterrupt:
            error_line("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except UsageError as error:
            error_line(f"Usage error: {error}")
            raise typer.Exit(USAGE) from None
        except TflmgenError as error:
            if isinstance(error, InternalError):
                _print_traceback()
                error_line(_report(error, str(error), arguments))
            else:
                error_line(str(error))
            raise typer.Exit(FAILED) from None
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            error_line(_os_error(error))
            raise typer.Exit(FAILED) from None
        except Exception as error:
            _print_traceback()
            text = " ".join(str(error).split())
            error_line(_report(error, f"internal error: {type(error).__name__}: {text}", arguments))
            raise typer.Exit(FAILED) from None

    return run


def leave_on_sigterm() -> None:
    """Make SIGTERM leave as Ctrl-C does, through every `finally`: no process and no half-made folder stays."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))


def _os_error(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def _print_traceback() -> None:
    """Of the exception at hand, for those who ask for it."""
    if os.environ.get("TFLMGEN_DEBUG"):
        traceback.print_exc()


def _report(error: Exception, text: str, arguments: Mapping[str, object]) -> str:
    """A fault of ours with what its report needs: where it arose, and with which options."""
    model, options = arguments.get("model"), options_given(arguments)
    found = [f"{model}: {text}" if model else text, crash_site(error), f"with {options}" if options else ""]
    attached = f"this line and {model}" if model else "this line"
    report = f"This is a fault of tflmgen's: please report it to {where_to_report()}, with {attached}"
    return f"{'; '.join(filter(None, found))}. {report}. TFLMGEN_DEBUG=1 shows the traceback"
