"""The rules for files of the user's: no command writes over what it reads, nor begins work that it cannot write."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from tflmgen.errors import UsageError
from tflmgen.user_files import check_writable

WRITTEN = frozenset({"file", "outputs", "report", "csv", "junit", "markdown"})
"""Parameters of commands that name files to write; paths in all others are read, but for folders."""

FOLDERS = frozenset({"directory", "keep", "results"})
"""Parameters that name folders to write into, which have rules of their own."""

_NAMED_FILES = frozenset({"labels", "labels_of"})
"""Parameters whose texts are [NAME=]FILE."""


_PAGES = frozenset({".html", ".xml", ".md"})
"""Suffixes of files that no command reads out of a folder: a page may stand beside the samples that it shows."""


def keeps_its_inputs(command: Callable[..., None]) -> Callable[..., None]:
    """Wraps a command: its errors where a file that it would write cannot be written, or is among those that it reads.

    UsageError where it is one that the command reads, or is in a folder of such; OutputFileError for others.
    """

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        values = dict(_flat(arguments))
        read = [path for name, value in values.items() if name not in WRITTEN | FOLDERS for path in _paths(name, value)]
        targets = [path for name in WRITTEN & set(values) for path in _paths(name, values[name])]
        for target in sorted(targets):
            if target.is_file() and any(_covers(path, target) for path in read):
                raise UsageError(f"{target}: it is read, and would be overwritten. Give another path")
            check_writable(target)
        command(**arguments)

    return run


def _flat(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Parameters by name, those of groups among them."""
    for name, value in arguments.items():
        if is_dataclass(value):
            yield from ((field.name, getattr(value, field.name)) for field in fields(value))
        else:
            yield name, value


def _covers(path: Path, target: Path) -> bool:
    """Whether reading `path`, a file or a folder, may read `target`."""
    if path.is_dir():
        return target.suffix.lower() not in _PAGES and path.resolve() in target.resolve().parents
    return path.exists() and path.samefile(target)


def _paths(name: str, value: Any) -> Iterator[Path]:
    """Files and folders that a parameter's value names."""
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _paths(name, part)
    elif isinstance(value, Path):
        yield value
        source, colon, _ = str(value).rpartition(":")
        if colon:
            yield Path(source)  # FILE.py:FUNCTION
    elif isinstance(value, str) and name in _NAMED_FILES:
        yield from (Path(value), Path(value.rpartition("=")[2]))
    elif isinstance(value, str) and name == "board" and Path(value).is_dir():
        yield Path(value)
