"""Files of the user's: regular ones read up to a limit of bytes, JSON of finite numbers, and files written whole.

A path may be a FIFO, a device or a link to one; reading such a file whole hangs or fills the memory. What is refused
is an OSError, as for a file that is missing or may not be read.
"""

from __future__ import annotations

import errno
import json
import lzma
import math
import os
import stat
import struct
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from tflmgen.errors import TflmgenError, UsageError

DAMAGED_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
"""Exceptions that zipfile raises for archives that are damaged, encrypted, or compressed in an unknown way."""

MEGABYTE = 1_000_000
"""Bytes."""

TEXT_LIMIT = 4 * MEGABYTE
"""Largest file of settings or names that is read: board.json, app.toml, labels, expected decisions, sweep spaces."""

ARCHIVE_LIMIT = 256 * MEGABYTE
"""Largest JSON of a build that is read. The plan of a model of 10,000 operators takes 20 MB."""

MODEL_LIMIT = 2**31
"""Largest model file that is read: a FlatBuffer's and a protobuf message's offsets end here."""

DATA_LIMIT = 2**31
"""Largest file of samples that is read: an .npz array, a table, a recording or a picture."""


LONGEST_INTEGER = 1000
"""Digits of the longest integer: reading takes time that grows with their square."""


class OutputFileError(TflmgenError):
    """A file that cannot be written."""


def open_regular(path: Path, limit: int = DATA_LIMIT) -> BinaryIO:
    """The file, open for reading bytes. Raises OSError if it is no regular file, or has more than `limit` bytes."""
    # Without O_NONBLOCK, opening a FIFO waits for a writer.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        if status.st_size > limit:
            raise OSError(errno.EFBIG, f"it has {status.st_size:,} bytes, and may have {limit:,}", str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_limited(path: Path, limit: int) -> bytes:
    """Contents of a regular file. Raises OSError as `open_regular` does."""
    with open_regular(path, limit) as file:
        return file.read(limit)


def text_of(data: bytes) -> str:
    """Text in UTF-8, without a byte order mark. Raises ValueError, with a sentence, for bytes that are none."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 text, at byte {error.start}") from None


def read_text_limited(path: Path, limit: int = TEXT_LIMIT) -> str:
    """Text of a regular file in UTF-8, without a byte order mark. Raises OSError, and ValueError as text_of() does."""
    return text_of(read_limited(path, limit)).replace("\r\n", "\n")


def read_member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """Contents of an archive's member, at most `limit` bytes whatever its header declares.

    Raises KeyError for a name that is absent, ValueError for one that is longer, and what zipfile raises for damage.
    """
    with archive.open(name) as member:
        contents = member.read(limit + 1)
    if len(contents) > limit:
        raise ValueError(f"'{name}' has more than {limit:,} bytes")
    return contents


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError, with the place or the offending word, if it is none."""
    try:
        return json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
            parse_int=_short_integer,
            object_pairs_hook=_object,
        )
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _finite_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:40]} is beyond the range of floats")
    return value


def _short_integer(digits: str) -> int:
    if len(digits) > LONGEST_INTEGER:
        raise ValueError(f"an integer of {len(digits):,} digits")
    return int(digits)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} occurs twice")
    return values


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
