"""Decoders in safetensors files, with the config.json beside them that transformers writes, of models like Llama's.

The format is that of https://github.com/huggingface/safetensors: the length of a JSON header, 64 bits, the header with
the type, shape and place of each tensor, and the tensors. Nothing in it is executed. Names and the meaning of the
configuration are those of transformers' LlamaForCausalLM.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.reference import Array
from tflmgen.sources.decoder_weights import DecoderLayer, DecoderShape, LlamaDecoder
from tflmgen.user_files import MODEL_LIMIT, TEXT_LIMIT, parse_json, read_limited, read_text_limited

_HEADER_LIMIT = 16_000_000
"""Bytes of a header."""
_TYPES: Mapping[Any, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "BF16": np.dtype("<u2")}
_MODELS = ("llama", "mistral")
_MOST = 1 << 24
"""Largest size that a configuration may name."""

_LAYER = {
    "norm": "input_layernorm",
    "q": "self_attn.q_proj",
    "k": "self_attn.k_proj",
    "v": "self_attn.v_proj",
    "o": "self_attn.o_proj",
    "mlp_norm": "post_attention_layernorm",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}


def read_safetensors(path: Path) -> LlamaDecoder:
    """The decoder of a file. Raises ModelError for one that is none, and for models of other kinds."""
    shape, shares_output = _Configuration(path.with_name("config.json")).shape()
    tensors = _Tensors(path)
    rows, kept, dim = shape.heads * shape.head_size, shape.kv_heads * shape.head_size, shape.dim
    sizes = {
        "norm": (dim,), "q": (rows, dim), "k": (kept, dim), "v": (kept, dim), "o": (dim, rows), "mlp_norm": (dim,),
        "gate": (shape.hidden, dim), "up": (shape.hidden, dim), "down": (dim, shape.hidden),
    }  # fmt: skip
    layers = []
    for number in range(shape.layers):
        own = {part: tensors.take(f"model.layers.{number}.{_LAYER[part]}.weight", size) for part, size in sizes.items()}
        own |= {part: _neighbours(own[part], shape.head_size) for part in ("q", "k")}
        layers.append(DecoderLayer(**own))
    embedding = tensors.take("model.embed_tokens.weight", (shape.vocabulary, dim))
    output = embedding if shares_output else tensors.take("lm_head.weight", (shape.vocabulary, dim))
    return LlamaDecoder(shape, embedding, tuple(layers), tensors.take("model.norm.weight", (dim,)), output)


def _neighbours(weights: Array, head_size: int) -> Array:
    """Rows of heads whose pairs stand half a head apart, as transformers has them, with pairs side by side."""
    rows = weights.reshape(-1, 2, head_size // 2, weights.shape[1])
    return rows.swapaxes(1, 2).reshape(weights.shape)


class _Configuration:
    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            contents = parse_json(read_text_limited(path, TEXT_LIMIT))
        except OSError as error:
            self._fail(f"cannot be read: {error.strerror}", "A safetensors file needs the config.json of its model")
        except ValueError as error:
            self._fail(f"is no JSON: {error}")
        if not isinstance(contents, dict):
            self._fail("is no table of settings")
        self._contents: Mapping[str, Any] = contents

    def shape(self) -> tuple[DecoderShape, bool]:
        """The shape, and whether the output layer has the embedding's weights."""
        kind = self._contents.get("model_type")
        if kind not in _MODELS:
            self._fail(f"model_type is {kind!r}; {' and '.join(_MODELS)} are read")
        for name, usual in (
            ("hidden_act", "silu"), ("rope_scaling", None), ("attention_bias", False), ("mlp_bias", False),
            ("sliding_window", None), ("quantization_config", None),
        ):  # fmt: skip
            if self._contents.get(name, usual) != usual:
                self._fail(f"{name} is {self._contents[name]!r}, which is not supported; {usual!r} is")
        dim, heads = self._size("hidden_size"), self._size("num_attention_heads")
        kv_heads = self._size("num_key_value_heads", heads)
        head_size = self._size("head_dim", dim // heads)
        if head_size % 2 or heads % kv_heads or (self._contents.get("head_dim") is None and dim % heads):
            self._fail(f"{heads} heads of {head_size} elements, {kv_heads} heads of keys and {dim} elements do not fit")
        shape = DecoderShape(
            dim, self._size("intermediate_size"), self._size("num_hidden_layers"), heads, kv_heads, head_size,
            self._size("vocab_size"), self._size("max_position_embeddings"), self._number("rms_norm_eps", 1e-6),
            self._number("rope_theta", 10000.0),
        )  # fmt: skip
        return shape, self._contents.get("tie_word_embeddings", False) is True

    def _size(self, name: str, default: int | None = None) -> int:
        value = self._contents.get(name)
        value = default if value is None else value
        if type(value) is not int or not 0 < value <= _MOST:
            self._fail(f"{name} is {value!r}: requires a whole number from 1 to {_MOST:,}")
        return value

    def _number(self, name: str, default: float) -> float:
        value = self._contents.get(name, default)
        if type(value) not in (int, float) or not 0 < value < 1e12:
            self._fail(f"{name} is {value!r}: requires a number above 0")
        return float(value)

    def _fail(self, rule: str, advice: str = "") -> NoReturn:
        raise ModelError([Problem(Location(str(self._path)), rule, advice)])


class _Tensors:
    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._data = read_limited(path, MODEL_LIMIT)
        except OSError as error:
            self._fail(f"cannot be read: {error.strerror}")
        length = struct.unpack_from("<Q", self._data)[0] if len(self._data) >= 8 else 0
        if not 2 <= length <= min(_HEADER_LIMIT, len(self._data) - 8):
            self._fail("it is no safetensors file: its header does not fit")
        self._first = 8 + length
        try:
            header = parse_json(self._data[8 : self._first])
        except ValueError as error:
            self._fail(f"its header is no JSON: {error}")
        if not isinstance(header, dict):
            self._fail("its header is no table of tensors")
        self._header: Mapping[str, Any] = header

    def take(self, name: str, shape: tuple[int, ...]) -> Array:
        """A tensor in float32. One that is missing, of another shape, or not within the file is an error."""
        entry = self._header.get(name)
        if not isinstance(entry, dict):
            self._fail(f"it has no tensor {name}", "Weights in several files have to be joined first")
        dtype, own, place = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
        if not isinstance(dtype, str) or dtype not in _TYPES:
            self._fail(f"tensor {name} is {dtype!r}; {', '.join(_TYPES)} are read")
        if own != list(shape):
            self._fail(f"tensor {name} has shape {own}, and config.json asks for {list(shape)}")
        size, room = math.prod(shape) * _TYPES[dtype].itemsize, len(self._data) - self._first
        is_place = isinstance(place, list) and len(place) == 2 and all(type(end) is int for end in place)
        begin, end = place if is_place and place is not None else (-1, -1)
        if not 0 <= begin <= end <= room or end - begin != size:
            self._fail(f"tensor {name} lies at {place}, which is not {size:,} bytes of the file")
        values: Array = np.frombuffer(self._data, _TYPES[dtype], math.prod(shape), self._first + begin)
        if dtype == "BF16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        if not np.isfinite(values).all():
            self._fail(f"tensor {name} has a weight that is infinite or not a number")
        return np.asarray(values.astype(np.float32).reshape(shape))

    def _fail(self, rule: str, advice: str = "") -> NoReturn:
        raise ModelError([Problem(Location(str(self._path)), rule, advice)])
