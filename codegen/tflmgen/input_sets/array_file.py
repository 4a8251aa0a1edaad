"""Arrays of an .npz file, each read when it is asked for: until then only its header is known."""

from __future__ import annotations

import io
import math
import tokenize
import weakref
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.errors import TflmgenError
from tflmgen.frontend.tflite import printable
from tflmgen.user_files import DAMAGED_ZIP, DATA_LIMIT, MEGABYTE, open_regular

Array = NDArray[Any]

LARGEST_ARRAY = 1024 * MEGABYTE
"""Bytes of the largest array that is read: an archive of a few MB may declare any number of zeros."""

LONGEST_HEADER = 1 << 16
"""Bytes of an array's header that are read; NumPy takes no longer one, but reads what the header declares."""

DAMAGED_ARRAY = (*DAMAGED_ZIP, tokenize.TokenError, SyntaxError, TypeError, LookupError, ArithmeticError)
"""Exceptions that NumPy raises for headers of arrays, which it reads as Python's literals."""

_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class VectorsError(TflmgenError):
    """An invalid file of inputs or expected outputs; the text names the file and the array."""


@dataclass(frozen=True, slots=True)
class ArrayHeader:
    """Header of an array in an archive. `member`: the array's file there."""

    member: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def bytes(self) -> int:
        """Bytes of the array's elements."""
        return math.prod(self.shape) * self.dtype.itemsize


class ArrayFile(Mapping[str, Array]):
    """The arrays of a file by name. Reading one raises VectorsError if it is damaged or larger than LARGEST_ARRAY.

    Raises VectorsError if the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            file = open_regular(path, DATA_LIMIT)
            weakref.finalize(self, file.close)
            self._archive = zipfile.ZipFile(file)
            members = [member for member in self._archive.namelist() if member.endswith(".npy")]
            self.headers = {member.removesuffix(".npy"): self._header(member) for member in members}
        except OSError as error:
            raise VectorsError(f"{path}: cannot be read: {error.strerror or error}") from error
        except DAMAGED_ZIP as error:
            raise VectorsError(f"{path}: not an .npz file, or a damaged one. Make one with numpy.savez") from error

    def __getitem__(self, name: str) -> Array:
        header = self.headers[name]
        if header.bytes > LARGEST_ARRAY:
            size = f"{header.bytes:,} bytes; at most {LARGEST_ARRAY:,} are read"
            raise VectorsError(f"{self._path}: array '{printable(name)}' has {size}")
        try:
            with self._archive.open(header.member) as data:
                array: Array = np.lib.format.read_array(data, allow_pickle=False)
                return array
        except DAMAGED_ARRAY as error:
            raise self._unreadable(name, error) from error

    def __iter__(self) -> Iterator[str]:
        return iter(self.headers)

    def __len__(self) -> int:
        return len(self.headers)

    def __contains__(self, name: object) -> bool:
        return name in self.headers

    def _header(self, member: str) -> ArrayHeader:
        try:
            with self._archive.open(member) as data:
                start = io.BytesIO(data.read(LONGEST_HEADER))
            read = _READERS.get(np.lib.format.read_magic(start), np.lib.format.read_array_header_2_0)
            shape, _, dtype = read(start)
            return ArrayHeader(member, shape, dtype)
        except DAMAGED_ARRAY as error:
            raise self._unreadable(member.removesuffix(".npy"), error) from error

    def _unreadable(self, name: str, error: Exception) -> VectorsError:
        reason = printable(str(error).partition("\n")[0])
        return VectorsError(f"{self._path}: array '{printable(name)}' cannot be read: {reason}")
