"""Single files that commands write: whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tflmgen.errors import TflmgenError


class OutputFileError(TflmgenError):
    """A file that cannot be written."""


def check_writable(path: Path) -> None:
    """Raises OutputFileError, before any work is done, where `path` cannot become a file."""
    if _is_device(path):
        return
    folder = path.resolve().parent
    if path.is_dir():
        raise OutputFileError(f"{path}: cannot be written: it is a directory")
    if not folder.is_dir():
        raise OutputFileError(f"{path}: cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise OutputFileError(f"{path}: cannot be written: no permission in folder {folder}")


def write_whole(path: Path, data: bytes) -> None:
    """Write `data` beside `path`, then put it in its place. A link stays one, and a device is written to."""
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
    """/dev/null, /dev/stdout, a named pipe: nothing that another file could replace."""
    return path.exists() and not path.is_file() and not path.is_dir()
