"""One writer at a time for a folder: a second `tflmgen` that builds into it is an error, not a mixture of both."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tflmgen.project.folder import FolderError
from tflmgen.user_cache import cache_folder


@contextmanager
def exclusive_folder(directory: Path) -> Iterator[None]:
    """Keeps the user's other processes from writing `directory`, which need not exist yet.

    Raises FolderError if another one writes there. The lock is a file in the user's cache, since a lock within the
    folder would be one more file to explain; a cache that cannot be written, or a system without flock(), has none.
    """
    lock = _acquired(directory)
    try:
        yield
    finally:
        if lock is not None:
            path, descriptor = lock
            # Before the file is closed, so that nobody can wait for a file that has no name any more.
            path.unlink(missing_ok=True)
            os.close(descriptor)


def _acquired(directory: Path) -> tuple[Path, int] | None:
    """The lock's file and its descriptor; None where there are no locks."""
    try:
        import fcntl
    except ImportError:
        return None
    path = cache_folder("locks") / hashlib.sha256(os.fsencode(os.path.realpath(directory))).hexdigest()
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise FolderError(
                f"{directory}: another tflmgen is writing there. Wait for it, or choose another folder with -o"
            ) from None
        except OSError:  # of file systems that have no locks
            os.close(descriptor)
            return None
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return path, descriptor
        os.close(descriptor)  # its owner removed the file before it was locked here
