"""Files of tokenizers: llama2.c's tokenizer.bin, byte pairs with scores.

The format is that of llama2.c's tokenizer.py (Karpathy, 2023): the length of the longest text, int32; then of each
token its score, float32, the length of its text, int32, and the text. All numbers are little-endian.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.user_files import MEGABYTE, read_limited

_LIMIT = 16 * MEGABYTE
"""Largest file that is read, in bytes."""
_MOST_TOKENS = (1 << 16) - 1
"""Tokens at most: tables have 16 bits of each."""
_LONGEST = 1024
"""Bytes of a token's text at most."""
_BEGIN = 1
"""Token that begins a text, in all of these files."""


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Texts and scores of tokens; begin: the token that begins a text."""

    texts: tuple[bytes, ...]
    scores: tuple[float, ...]
    begin: int = _BEGIN


def read_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a file. Raises ModelError for one that is none, or of another format."""
    try:
        data = read_limited(path, _LIMIT)
    except OSError as error:
        _fail(path, f"cannot be read: {error.strerror}")
    if path.suffix.lower() in (".json", ".model"):
        advice = "Convert a SentencePiece model by llama2.c's tokenizer.py"
        _fail(path, f"tokenizers in {path.suffix} files are not read; llama2.c's tokenizer.bin is", advice)
    if len(data) < 4:
        _fail(path, f"it has {len(data)} bytes: no tokenizer of llama2.c")
    texts, scores, place = list[bytes](), list[float](), 4
    while place < len(data):
        if place + 8 > len(data):
            _fail(path, f"it ends within token {len(texts)}")
        score, length = struct.unpack_from("<fi", data, place)
        place += 8
        if not 0 <= length <= min(_LONGEST, len(data) - place):
            _fail(path, f"token {len(texts)} has a text of {length} bytes at byte {place}: no tokenizer of llama2.c")
        if not math.isfinite(score):
            _fail(path, f"token {len(texts)} has a score that is no number")
        texts.append(data[place : place + length])
        scores.append(score)
        place += length
        if len(texts) > _MOST_TOKENS:
            _fail(path, f"it has more than {_MOST_TOKENS:,} tokens")
    if len(texts) <= _BEGIN:
        _fail(path, f"it has {len(texts)} tokens, and token {_BEGIN} begins a text")
    return Tokenizer(tuple(texts), tuple(scores))


def _fail(path: Path, rule: str, advice: str = "") -> NoReturn:
    raise ModelError([Problem(Location(str(path)), rule, advice)])
