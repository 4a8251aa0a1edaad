"""What a fault of ours says of itself: the stage, the model's operator, the options, and where to report it."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, metadata
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Any

from tflmgen.options import BuildOptions

PACKAGE = __package__ or "tflmgen"
DRIVERS = (f"{PACKAGE}.commands.", f"{PACKAGE}.cli", f"{PACKAGE}.compiler", f"{PACKAGE}.failure", f"{PACKAGE}.option_")
"""Modules that call the stages, and are none."""


def crash_site(error: BaseException) -> str:
    """The stage, the line of the source and the operator that an exception came from, as far as known."""
    walked = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if _is_ours(frame)]
    driven = max((i for i, (frame, _) in enumerate(walked) if _module(frame).startswith(DRIVERS)), default=-1)
    if driven + 1 >= len(walked):
        return ""
    (first, _), (last, line) = walked[driven + 1], walked[-1]
    stage = _module(first).removeprefix(f"{PACKAGE}.")
    site = f"in stage {stage} ({Path(last.f_code.co_filename).name}, line {line}, {last.f_code.co_name})"
    operator = next(filter(None, (_operator(frame) for frame, _ in reversed(walked))), "")
    return site + (f", at {operator}" if operator else "")


def options_given(arguments: Mapping[str, object]) -> str:
    """The board and the build options of a command, as one would type them."""
    board = f"--board {arguments['board']}" if arguments.get("board") else ""
    options = (value.text for value in arguments.values() if isinstance(value, BuildOptions))
    return " ".join(filter(None, [board, *options]))


def where_to_report() -> str:
    """The first address of the package's metadata that takes reports; where it has none, who passed it on."""
    try:
        described = metadata(PACKAGE)
    except PackageNotFoundError:
        return "whoever gave you tflmgen"
    urls = dict(entry.split(", ", 1) for entry in described.get_all("Project-URL") or ())
    named = [url for label, url in urls.items() if label.lower() in ("issues", "bug tracker", "tracker")]
    others = [described.get_all(field) or [] for field in ("Home-page", "Author-email")]
    return next(iter([*named, *urls.values(), *chain.from_iterable(others)]), "whoever gave you tflmgen")


def _is_ours(frame: FrameType) -> bool:
    return _module(frame).startswith(PACKAGE)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _operator(frame: FrameType) -> str:
    """The operator of the model that a function was at: an argument or a variable of its that is or has one."""
    from tflmgen.frontend import Operator
    from tflmgen.ir import Origin

    for value in frame.f_locals.values():
        for one in (value, getattr(value, "op", None), getattr(value, "node", None)):
            origin: Any = one if isinstance(one, Origin) else getattr(one, "origin", None)
            if isinstance(origin, Origin):
                return f"subgraph {origin.subgraph}, operator {origin.operator} ({origin.operator_name})"
            if isinstance(one, Operator):
                return f"operator {one.index} ({one.name})"
    return ""
