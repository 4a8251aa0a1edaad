"""The user's cache folder: results that are slow to compute, in files named by a digest of all their inputs."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def cache_folder(name: str) -> Path:
    """The folder of one kind of files; it may not exist yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tflmgen" / name


def write_cached(path: Path, text: str) -> None:
    """Writes a file of the cache whole, or not at all: a cache that cannot be written costs time, no more."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", delete=False) as file:
            file.write(text)
        Path(file.name).replace(path)
