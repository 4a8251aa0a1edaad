"""Checkpoints of llama2.c, a .bin file: seven int32 numbers of a decoder's shape, then its weights in float32.

The format is that of llama2.c's run.c (Karpathy, 2023), version 0: little-endian, matrices row by row, each kind of
weight for all layers before the next. A vocabulary with a minus sign says that the output layer has weights of its own.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NoReturn

import numpy as np

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.reference import Array
from tflmgen.sources.decoder_weights import DecoderLayer, DecoderShape, LlamaDecoder
from tflmgen.user_files import MODEL_LIMIT, read_limited

_HEADER = struct.Struct("<7i")
_NAMES = ("dim", "hidden_dim", "n_layers", "n_heads", "n_kv_heads", "vocab_size", "seq_len")
_VERSIONED = 0x616B3432
"""First number of files of version 1 and later."""

_EPSILON, _THETA = 1e-5, 10000.0
"""The two numbers of run.c that a file does not have: what its norms add, and the base of its angles."""


def read_llama2(path: Path) -> LlamaDecoder:
    """The decoder of a checkpoint. Raises ModelError for a file that is none, of which nothing is allocated before."""
    try:
        data = read_limited(path, MODEL_LIMIT)
    except OSError as error:
        raise ModelError([Problem(Location(str(path)), f"cannot be read: {error.strerror}")]) from None
    return _Checkpoint(path, data).decoder()


class _Checkpoint:
    def __init__(self, path: Path, data: bytes) -> None:
        self._path, self._data, self._place = path, data, _HEADER.size
        self._shape, self._shares_output = self._header()

    def decoder(self) -> LlamaDecoder:
        shape, count = self._shape, self._shape.layers
        embedding = self._take(shape.vocabulary, shape.dim)
        rows, kept = shape.heads * shape.head_size, shape.kv_heads * shape.head_size
        sizes = (
            (shape.dim,), (rows, shape.dim), (kept, shape.dim), (kept, shape.dim), (shape.dim, rows), (shape.dim,),
            (shape.hidden, shape.dim), (shape.dim, shape.hidden), (shape.hidden, shape.dim),
        )  # fmt: skip
        norm, q, k, v, o, mlp_norm, gate, down, up = (self._take(count, *size) for size in sizes)
        layers = tuple(
            DecoderLayer(norm[i], q[i], k[i], v[i], o[i], mlp_norm[i], gate[i], up[i], down[i]) for i in range(count)
        )
        final_norm = self._take(shape.dim)
        self._take(shape.positions, shape.head_size)  # Tables of cosines and sines, which run.c computes anew, too.
        output = embedding if self._shares_output else self._take(shape.vocabulary, shape.dim)
        return LlamaDecoder(shape, embedding, layers, final_norm, output)

    def _header(self) -> tuple[DecoderShape, bool]:
        """The shape, checked against the file's size, and whether the output layer has the embedding's weights."""
        if len(self._data) < _HEADER.size:
            self._fail(f"it has {len(self._data)} bytes, and the header of a llama2.c checkpoint has {_HEADER.size}")
        numbers = _HEADER.unpack_from(self._data)
        if numbers[0] == _VERSIONED:
            advice = "Export it with --version 0"
            self._fail(f"it is a llama2.c checkpoint of version {numbers[1]}; only version 0 is read", advice)
        named = dict(zip(_NAMES, numbers, strict=True))
        dim, hidden, layers, heads, kv_heads, vocabulary, positions = numbers
        for name, number in named.items():
            if number == 0 or (number < 0 and name != "vocab_size"):
                self._fail(f"it is no llama2.c checkpoint: {name} in its header is {number}")
        if dim % heads or heads % kv_heads or (dim // heads) % 2:
            rule = f"{heads} heads of {dim} elements and {kv_heads} heads of keys do not go into each other"
            self._fail(f"it is no llama2.c checkpoint: {rule}")
        shape = DecoderShape(
            dim, hidden, layers, heads, kv_heads, dim // heads, abs(vocabulary), positions, _EPSILON, _THETA
        )
        expected = _HEADER.size + 4 * (
            shape.weights + positions * shape.head_size + (vocabulary < 0) * vocabulary * -dim
        )
        if len(self._data) != expected:
            written = ", ".join(f"{name} {number}" for name, number in named.items())
            self._fail(f"it has {len(self._data):,} bytes, and a checkpoint of {written} has {expected:,}")
        return shape, vocabulary > 0

    def _take(self, *shape: int) -> Array:
        """The next weights of the file."""
        count = int(np.prod(shape))
        values = np.frombuffer(self._data, "<f4", count, self._place).reshape(shape)
        self._place += 4 * count
        if not np.isfinite(values).all():
            self._fail("a weight is infinite or not a number")
        return values

    def _fail(self, rule: str, advice: str = "") -> NoReturn:
        raise ModelError([Problem(Location(str(self._path)), rule, advice)])
