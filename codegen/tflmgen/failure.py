"""Exceptions of commands as text or JSON on standard error and an exit code, without a traceback.

An internal error has its stage, the operator of the model, the options, and where to report it.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Any

import typer

from tflmgen.errors import InternalError, ModelError, Problem, TflmgenError, UsageError, os_error_text
from tflmgen.options import BuildOptions
from tflmgen.terminal import error_line

PACKAGE = __package__ or "tflmgen"
DRIVERS = tuple(
    f"{PACKAGE}.{name}"
    for name in (
        "api.",
        "cli",
        "commands.",
        "compiler",
        "explore.optimised_graphs",
        "failure",
        "graph_compiler",
        "sweep.",
    )
)
"""Modules that call the stages without being one."""

FAILED, USAGE, HUNG_UP, INTERRUPTED, TERMINATED = 1, 2, 129, 130, 143
"""Exit codes; those of signals are 128 and the signal's number, as of a shell."""

RAISED_AGAIN_AFTER = 0.01
"""Seconds from a signal that a destructor swallowed to the next attempt: destructors are over by then."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Outcome of a failed command. `kind` is an enumerator of schema/error.json; `problems` are those of a model."""

    kind: str
    text: str
    code: int
    problems: tuple[Problem, ...] = ()


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Wraps `command` so that every exception becomes a message and an exit code."""

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        try:
            command(**arguments)
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise
            failure = failure_of(error, arguments)
            if failure.kind == "internal":
                _print_traceback()
            print_failure(failure, getattr(arguments.get("output"), "json", False))
            raise typer.Exit(failure.code) from None

    return run


def failure_of(error: BaseException, arguments: Mapping[str, object]) -> Failure:
    """Failure that reports an exception of a command; `arguments` are the command's parameters by name."""
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return Failure("interrupted", "interrupted", INTERRUPTED)
    if isinstance(error, UsageError):
        return Failure("usage", str(error), USAGE)
    if isinstance(error, ModelError):
        return Failure("model", str(error), FAILED, error.problems)
    if isinstance(error, TflmgenError) and not isinstance(error, InternalError):
        return Failure("failed", str(error), FAILED)
    if isinstance(error, OSError):
        return Failure("failed", os_error_text(error), FAILED)
    name = "" if isinstance(error, InternalError) else f"internal error: {type(error).__name__}: "
    return Failure("internal", _report(error, name + " ".join(str(error).split()), arguments), FAILED)


def print_failure(failure: Failure, as_json: bool) -> None:
    """Prints the failure on standard error, apart from the command's result on standard output."""
    if as_json:
        error_line(json.dumps(_failure_json(failure), indent=2))
    else:
        error_line(f"Usage error: {failure.text}" if failure.kind == "usage" else failure.text)


def leave_on_sigterm() -> None:
    """Makes SIGTERM, and SIGHUP unless nohup ignores it, raise SystemExit.

    So `finally` blocks end processes and remove incomplete folders. What signals raise is lost where Python happens to
    be in a destructor, as imports often are: it is raised again a little later.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    hangup = getattr(signal, "SIGHUP", None)  # Windows has none
    if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:
        signal.signal(hangup, lambda *_: sys.exit(HUNG_UP))
    sys.unraisablehook = _raise_again


def _raise_again(lost: sys.UnraisableHookArgs) -> None:
    error = lost.exc_value
    if not isinstance(error, (KeyboardInterrupt, SystemExit)):
        sys.__unraisablehook__(lost)
        return

    def leave(*_: object) -> None:
        raise error

    signal.signal(signal.SIGALRM, leave)
    signal.setitimer(signal.ITIMER_REAL, RAISED_AGAIN_AFTER)


def _failure_json(failure: Failure) -> dict[str, Any]:
    problems = [{"location": asdict(p.where), "rule": p.rule, "hint": p.advice} for p in failure.problems]
    return {
        "error": failure.text,
        "kind": failure.kind,
        "exit_code": failure.code,
        "problems": problems or [{"location": None, "rule": failure.text, "hint": ""}],
    }


def _print_traceback() -> None:
    """Prints the traceback of the handled exception if TFLMGEN_DEBUG is set."""
    if os.environ.get("TFLMGEN_DEBUG"):
        traceback.print_exc()


def _report(error: BaseException, text: str, arguments: Mapping[str, object]) -> str:
    """Message of an internal error: text, stage, options, and a request to report it."""
    files, options = _files(arguments), options_text(arguments)
    facts = [f"{files}: {text}" if files else text, crash_site(error), f"with {options}" if options else ""]
    attached = f"this line and {files}" if files else "this line"
    report = f"This is a fault of tflmgen's: please report it to {where_to_report()}, with {attached}"
    return f"{'; '.join(filter(None, facts))}. {report}. TFLMGEN_DEBUG=1 shows the traceback"


def _files(arguments: Mapping[str, object]) -> str:
    """The models that a command was given, with commas between."""
    several = arguments.get("models")
    files = several if isinstance(several, list) else [arguments.get("model")]
    return ", ".join(str(file) for file in files if file)


def crash_site(error: BaseException) -> str:
    """Stage, source line and model operator of an exception, as far as known; empty if raised outside a stage."""
    walked = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if _is_ours(frame)]
    driven = max((i for i, (frame, _) in enumerate(walked) if _module(frame).startswith(DRIVERS)), default=-1)
    if driven + 1 >= len(walked):
        return ""
    (first, _), (last, line) = walked[driven + 1], walked[-1]
    stage = _module(first).removeprefix(f"{PACKAGE}.")
    site = f"in stage {stage} ({Path(last.f_code.co_filename).name}, line {line}, {last.f_code.co_name})"
    operator = next(filter(None, (_operator(frame) for frame, _ in reversed(walked))), "")
    return site + (f", at {operator}" if operator else "")


def options_text(arguments: Mapping[str, object]) -> str:
    """Board and build options of a command as command-line text."""
    board = f"--board {arguments['board']}" if arguments.get("board") else ""
    options = (value.text for value in arguments.values() if isinstance(value, BuildOptions))
    return " ".join(filter(None, [board, *options]))


def where_to_report() -> str:
    """First issue tracker, URL or mail address in the package's metadata; else a phrase for its supplier."""
    metadata = import_module("importlib.metadata")  # slow to import, and needed for faults alone
    try:
        package_metadata = metadata.metadata(PACKAGE)
    except metadata.PackageNotFoundError:
        return "whoever gave you tflmgen"
    urls = dict(entry.split(", ", 1) for entry in package_metadata.get_all("Project-URL") or ())
    tracker_urls = [url for label, url in urls.items() if label.lower() in ("issues", "bug tracker", "tracker")]
    fallbacks = [package_metadata.get_all(field) or [] for field in ("Home-page", "Author-email")]
    return next(iter([*tracker_urls, *urls.values(), *chain.from_iterable(fallbacks)]), "whoever gave you tflmgen")


def _is_ours(frame: FrameType) -> bool:
    return _module(frame).startswith(PACKAGE)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _operator(frame: FrameType) -> str:
    """Model operator held by an argument or local variable of the frame; empty if there is none."""
    from tflmgen.frontend.tflite import FileOperator
    from tflmgen.ir.graph import Origin

    for variable in frame.f_locals.values():
        for candidate in (variable, getattr(variable, "op", None), getattr(variable, "node", None)):
            origin: Any = candidate if isinstance(candidate, Origin) else getattr(candidate, "origin", None)
            if isinstance(origin, Origin):
                return f"subgraph {origin.subgraph}, operator {origin.operator} ({origin.operator_name})"
            if isinstance(candidate, FileOperator):
                return f"operator {candidate.index} ({candidate.name})"
    return ""
