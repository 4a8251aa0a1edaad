"""Atomic writing of single output files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tflmgen.errors import TflmgenError, UsageError


class OutputFileError(TflmgenError):
    """A file that cannot be written."""


def check_writable(path: Path, *read: Path | None) -> None:
    """Raises OutputFileError if `path` cannot be written; for use before any work is done.

    read  files of the user's that the command reads: UsageError where `path` is one of them
    """
    if _is_device(path):
        return
    if path.resolve() in [file.resolve() for file in read if file is not None]:
        raise UsageError(f"{path}: it is read, and would be overwritten. Give another path")
    folder = path.resolve().parent
    if path.is_dir():
        raise OutputFileError(f"{path}: cannot be written: it is a directory")
    if not folder.is_dir():
        raise OutputFileError(f"{path}: cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise OutputFileError(f"{path}: cannot be written: no permission in folder {folder}")


def write_whole(path: Path, data: bytes) -> None:
    """Writes `data` to a temporary file and renames it to `path`. Follows links, and writes devices directly."""
    try:
        if _is_device(path):
            path.write_bytes(data)
            return
        target = path.resolve()
        with tempfile.TemporaryDirectory(prefix=".tflmgen-", dir=target.parent) as folder:
            new = Path(folder) / "new"
            new.write_bytes(data)
            new.replace(target)
    except OSError as error:
        raise OutputFileError(f"{path}: cannot be written: {error.strerror or error}") from error


def _is_device(path: Path) -> bool:
    """Whether the path is a device or a named pipe, which a rename must not replace."""
    return path.exists() and not path.is_file() and not path.is_dir()
