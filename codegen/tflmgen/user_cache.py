"""The user's cache folder: results that are slow to compute, in files named by a digest of all their inputs."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path


def cache_folder(name: str) -> Path:
    """The folder of one kind of files; it may not exist yet."""
    configured = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # of a user without a home
        root = Path(configured or Path.home() / ".cache") / "tflmgen"
        return (root if _can_be_written(root) else _folder_of_this_process()) / name
    return _folder_of_this_process() / name


def write_cached(path: Path, text: str) -> None:
    """Writes a file of the cache whole, or not at all: a cache that cannot be written costs time, no more."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", delete=False) as file:
            file.write(text)
        Path(file.name).replace(path)


@cache
def _can_be_written(root: Path) -> bool:
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(root, os.W_OK)


@cache
def _folder_of_this_process() -> Path:
    """In place of the user's, as in containers that run as a user without a home; it goes when the process ends.

    Nothing outlives the process, since others might put files of their own into a known place for temporary ones.
    """
    folder = Path(tempfile.mkdtemp(prefix="tflmgen-cache-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
