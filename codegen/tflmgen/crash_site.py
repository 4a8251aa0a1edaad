"""Description of an internal error: stage, operator of the model, options, and address for reports."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Any

from tflmgen.options import BuildOptions

PACKAGE = __package__ or "tflmgen"
DRIVERS = tuple(f"{PACKAGE}.{name}" for name in ("api.", "commands.", "cli", "compiler", "failure", "sweep."))
"""Modules that call the stages without being one."""


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
    from tflmgen.frontend import Operator
    from tflmgen.ir import Origin

    for variable in frame.f_locals.values():
        for candidate in (variable, getattr(variable, "op", None), getattr(variable, "node", None)):
            origin: Any = candidate if isinstance(candidate, Origin) else getattr(candidate, "origin", None)
            if isinstance(origin, Origin):
                return f"subgraph {origin.subgraph}, operator {origin.operator} ({origin.operator_name})"
            if isinstance(candidate, Operator):
                return f"operator {candidate.index} ({candidate.name})"
    return ""
