"""What compilers made for tests, and what emulators ran without a fault: kept under a digest of all it depends on.

The folder is the user's own. Entries are made beside their place and renamed, so that tests of other processes see
whole ones. The least recently used go when all of them take more than MOST_BYTES.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from tflmgen.user_cache import cache_folder

MOST_BYTES = 2 << 30
KEPT_SECONDS = 6 * 3600
"""Entries that were used this recently stay in any case: a test may be about to run them."""
VARIABLES = ("CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "GCC_EXEC_PREFIX", "SOURCE_DATE_EPOCH")
"""What compilers take from the environment."""


def cached(key: object, make: Callable[[Path], None]) -> Path:
    """The folder that make() filled for this key. key: whatever the contents depend on, with a full repr.

    make() gets an empty folder; nothing is kept of one that raises. The text of its module is part of the key.
    """
    module_text = Path(inspect.getfile(make)).read_text(encoding="utf-8")
    environment = [os.environ.get(name) for name in VARIABLES]
    folder = _root() / hashlib.sha256(repr((key, module_text, environment)).encode()).hexdigest()[:32]
    if folder.exists():
        os.utime(folder)
        return folder
    partial = Path(tempfile.mkdtemp(prefix="partial-", dir=_root()))
    try:
        make(partial)
        with suppress(OSError):  # another process was faster
            partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def digest(folders: Iterable[Path], *suffixes: str) -> str:
    """Of the names and contents of all files below `folders` with these suffixes."""
    total = hashlib.sha256()
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.suffix in suffixes):
            contents = path.read_bytes()
            total.update(f"{path.relative_to(folder)} {len(contents)} ".encode() + contents)
    return total.hexdigest()


@cache
def version(program: str) -> str:
    """What a compiler or an emulator says of itself."""
    words = [program, "--version"] if program.startswith("qemu") else [program, "-v"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


@cache
def _root() -> Path:
    folder = cache_folder("tests")
    folder.mkdir(parents=True, exist_ok=True)
    prune(folder, MOST_BYTES)
    return folder


def prune(folder: Path, most_bytes: int) -> None:
    """Removes the least recently used entries until the others take no more than `most_bytes`."""
    entries = []
    for path in folder.iterdir():
        with suppress(OSError):  # another process removes it
            entries.append((path.stat().st_mtime, sum(f.stat().st_size for f in path.rglob("*")), path))
    total = sum(size for _, size, _ in entries)
    for used, size, path in sorted(entries):
        if total <= most_bytes or used > time.time() - KEPT_SECONDS:
            return
        shutil.rmtree(path, ignore_errors=True)
        total -= size
