"""Samples of WAV files: integers of 8 to 32 bits and float32, in plain and extensible headers.

The format is Microsoft's and IBM's RIFF/WAVE (1991), with WAVE_FORMAT_EXTENSIBLE of 2001.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tflmgen.input_sets.array_file import VectorsError
from tflmgen.user_files import DATA_LIMIT, MEGABYTE, read_limited

_INTEGERS, _FLOATS, _EXTENSIBLE = 1, 3, 0xFFFE
"""Formats of a header's first field: integers, floats, and the format in a further field."""
_CODECS = {2: "ADPCM", 6: "A-law", 7: "mu-law", 0x11: "IMA ADPCM", 0x50: "MPEG", 0x55: "MP3"}

SOUND_LIMIT = min(DATA_LIMIT, 512 * MEGABYTE)
"""Bytes of the longest recording that is read: 45 minutes of stereo at 48 kHz."""


@dataclass(frozen=True, slots=True)
class Sound:
    """Samples [frame, channel], from -1 to 1.

    rate  frames per second
    bits  of a sample's magnitude: integers are the samples times 2^bits
    """

    samples: NDArray[np.float64]
    rate: int
    bits: int

    @property
    def channels(self) -> int:
        """Samples of a frame."""
        return int(self.samples.shape[1])


def read_sound(path: Path) -> Sound:
    """The sound of a file. Raises VectorsError where it is no WAV file of plain samples, OSError for one unreadable."""
    data = read_limited(path, SOUND_LIMIT)
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise VectorsError(f"{path}: not a WAV file: it does not begin with RIFF and WAVE")
    try:
        chunks = _chunks(path, data)
        return _sound(path, chunks[b"fmt "], chunks[b"data"])
    except KeyError as error:
        raise VectorsError(f"{path}: a damaged WAV file: it has no '{error.args[0].decode()}' chunk") from error
    except struct.error as error:
        raise VectorsError(f"{path}: a damaged WAV file: its header ends early") from error


def _chunks(path: Path, data: bytes) -> dict[bytes, bytes]:
    """Contents of the file's chunks by name, the first of each."""
    chunks: dict[bytes, bytes] = {}
    position = 12
    while position + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, position)
        position += 8
        if name == b"data" and position + size > len(data):
            present = f"{len(data) - position} bytes of samples, and the header says {size}"
            raise VectorsError(f"{path}: a damaged WAV file: {present}")
        chunks.setdefault(name, data[position : position + size])
        position += size + size % 2
    return chunks


def _sound(path: Path, header: bytes, data: bytes) -> Sound:
    kind, channels, rate, _, frame_bytes, bits = struct.unpack_from("<HHIIHH", header)
    if kind == _EXTENSIBLE:
        (kind,) = struct.unpack_from("<H", header, 24)
    width = frame_bytes // max(channels, 1)
    if kind not in (_INTEGERS, _FLOATS):
        name = _CODECS.get(kind, f"format {kind}")
        raise VectorsError(f"{path}: its samples are {name}. Save it as 16-bit PCM or 32-bit float")
    if channels < 1 or rate < 1 or frame_bytes != channels * width or not 1 <= width <= 4 or bits > 8 * width:
        raise VectorsError(f"{path}: a damaged WAV file: {channels} channels of {bits} bits at {rate} Hz")
    if kind == _FLOATS and width != 4:
        raise VectorsError(f"{path}: its samples are float{8 * width}. Save it as 16-bit PCM or 32-bit float")
    if len(data) % frame_bytes:
        raise VectorsError(f"{path}: a damaged WAV file: {len(data)} bytes of samples in frames of {frame_bytes}")
    if kind == _FLOATS:
        samples = np.frombuffer(data, "<f4").astype(np.float64)
        if not np.isfinite(samples).all():
            raise VectorsError(f"{path}: a sample is infinite or no number")
        return Sound(samples.reshape(-1, channels), rate, 15)
    return Sound(_integers(data, width).reshape(-1, channels) / 2.0 ** (8 * width - 1), rate, 8 * width - 1)


def _integers(data: bytes, width: int) -> NDArray[np.int64]:
    """Samples around 0, of `width` bytes each."""
    if width == 1:  # WAV's only unsigned samples
        return np.frombuffer(data, np.uint8).astype(np.int64) - 128
    words = np.zeros((len(data) // width, 4), np.uint8)
    words[:, 4 - width :] = np.frombuffer(data, np.uint8).reshape(-1, width)
    return words.view("<i4")[:, 0].astype(np.int64) >> 8 * (4 - width)
