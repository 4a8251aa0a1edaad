"""A decoder as a Model: a token and its position in, the logits of the next token out, keys and values as state.

A call appends one row to each cache. Weights of norms are part of the matrices behind them, and so is the scale of the
scores. Pairs that are rotated stand half a head apart, so that a rotation is two products with whole heads: rows of
queries and keys move alike, and scores are the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.tflite import Model, ModelBuilder, SubGraphBuilder, parse_model, write_model
from tflmgen.ir import DType
from tflmgen.reference import Array
from tflmgen.sources.decoder_weights import DecoderLayer, DecoderShape, LlamaDecoder

TOKEN, POSITION, LOGITS = "token", "position", "logits"
"""Names of the inputs, int32[1] each, and of the output, float32[1, vocabulary]."""

OWN_GRAPH = "the file is weights alone: their graph is tflmgen's own, and no other program was asked what it computes"
"""Note on such a model: what a build validates is the graph that was made."""

MOST_POSITION_BYTES = 64_000_000
"""Bytes of caches and of tables of angles at most, which a file may declare without having them."""

_MASK = -1e9
"""Added to scores of positions that are still to come, so that their probability is 0."""


def decoder_model(decoder: LlamaDecoder, name: str) -> Model:
    """The Model of one signature, `step`; `name` is that of the file in messages.

    Raises ModelError for a decoder of more positions than MOST_POSITION_BYTES hold, before these are made.
    """
    shape = decoder.shape
    if shape.position_bytes > MOST_POSITION_BYTES:
        rule = (
            f"caches and angles of {shape.positions:,} positions take {shape.position_bytes:,} bytes, "
            f"more than {MOST_POSITION_BYTES:,}"
        )
        raise ModelError([Problem(Location(name), rule, "Declare the longest text that the device is to handle")])
    builder = ModelBuilder(name=name)
    main = builder.subgraph("decoder")
    graph = _DecoderGraph(builder, main, decoder)
    token, position = (main.tensor(text, DType.INT32, (1,)) for text in (TOKEN, POSITION))
    logits = graph.logits(token, position)
    main.inputs, main.outputs = (token, position), (logits,)
    builder.signature("step", main, [(TOKEN, token), (POSITION, position)], [(LOGITS, logits)])
    graph.add_initial_state()
    return replace(parse_model(write_model(builder.model()), name), notes=(OWN_GRAPH,))


class _DecoderGraph:
    def __init__(self, builder: ModelBuilder, graph: SubGraphBuilder, decoder: LlamaDecoder) -> None:
        self._builder, self._graph, self._decoder, self._shape = builder, graph, decoder, decoder.shape
        self._initial = builder.subgraph("initial state")
        graph.operator("CALL_ONCE", [], [], {"init_subgraph_index": self._initial.index})

    def logits(self, token: int, position: int) -> int:
        """The logits of the next token, float32[1, vocabulary]."""
        shape, decoder = self._shape, self._decoder
        cosines, sines = (
            self._gather(name, table, position) for name, table in zip(("cos", "sin"), _rotations(shape), strict=True)
        )
        mask = self._mask(position)
        x = self._gather("embedding", decoder.embedding, token)
        for number, layer in enumerate(decoder.layers):
            heads = self._attention(number, layer, self._normalized(x), position, mask, (cosines, sines))
            x = self._op("ADD", (x, self._dense(heads, layer.o)), (1, shape.dim))
            x = self._op("ADD", (x, self._feed_forward(layer, self._normalized(x))), (1, shape.dim))
        x, weights = self._normalized(x), decoder.output
        if decoder.shares_output:
            x = self._op("MUL", (x, self._constant("final norm", decoder.final_norm)), (1, shape.dim))
        else:
            weights = weights * decoder.final_norm
        return self._dense(x, weights, LOGITS)

    def add_initial_state(self) -> None:
        """Caches of zeros, written once before the first call."""
        for number in range(self._shape.layers):
            for name in _cache_names(number):
                handle = self._handle(self._initial, name)
                zeros = self._initial.constant(name, np.zeros(self._cache_shape, np.float32))
                self._initial.operator("ASSIGN_VARIABLE", [handle, zeros], [])

    @property
    def _cache_shape(self) -> tuple[int, int]:
        return self._shape.positions, self._shape.kv_heads * self._shape.head_size

    def _attention(
        self, number: int, layer: DecoderLayer, x: int, position: int, mask: int, angles: tuple[int, int]
    ) -> int:
        shape = self._shape
        size, groups = shape.head_size, shape.heads // shape.kv_heads
        scale = layer.norm / np.float32(math.sqrt(size))
        q = self._rotated(self._dense(x, _halved(layer.q, size) * scale), shape.heads, angles)
        k = self._rotated(self._dense(x, _halved(layer.k, size) * layer.norm), shape.kv_heads, angles)
        v = self._dense(x, layer.v * layer.norm)
        keys, values = (
            self._stored(name, self._view(row, (1, self._cache_shape[1])), position)
            for name, row in zip(_cache_names(number), (k, v), strict=True)
        )
        heads = (shape.kv_heads, shape.positions, size)
        rows = (shape.kv_heads, groups, shape.positions)
        queries = self._view(q, (shape.kv_heads, groups, size))
        scores = self._op("BATCH_MATMUL", (queries, self._by_head(keys, heads)), rows, adj_y=True)
        masked = self._op("ADD", (scores, mask), rows)
        weights = self._op("SOFTMAX", (masked,), rows, beta=1.0)
        mixed = self._op("BATCH_MATMUL", (weights, self._by_head(values, heads)), (shape.kv_heads, groups, size))
        return self._view(mixed, (1, shape.heads * size))

    def _feed_forward(self, layer: DecoderLayer, x: int) -> int:
        """The SwiGLU of Shazeer, "GLU variants improve transformer", 2020."""
        hidden = (1, self._shape.hidden)
        gate = self._dense(x, layer.gate * layer.mlp_norm)
        swish = self._op("MUL", (gate, self._op("LOGISTIC", (gate,), hidden)), hidden)
        return self._dense(self._op("MUL", (swish, self._dense(x, layer.up * layer.mlp_norm)), hidden), layer.down)

    def _normalized(self, x: int) -> int:
        """The vector divided by its root mean square; weights of the norm are in what reads it."""
        squares = self._op("MUL", (x, x), (1, self._shape.dim))
        mean = self._op("MEAN", (squares, self._constant("axis", np.array([1], np.int32))), (1, 1), keep_dims=True)
        sum_ = self._op("ADD", (mean, self._constant("epsilon", np.float32(self._shape.epsilon))), (1, 1))
        return self._op("MUL", (x, self._op("RSQRT", (sum_,), (1, 1))), (1, self._shape.dim))

    def _rotated(self, rows: int, heads: int, angles: tuple[int, int]) -> int:
        """Heads in which each pair, half a head apart, is rotated by its angle at this position."""
        size = self._shape.head_size
        whole, half = (heads, size), (heads, size // 2)
        x = self._view(rows, whole)
        lower, upper = (self._op("SLICE", (x, *self._corner((0, at), half)), half) for at in (0, size // 2))
        turned = self._op("CONCATENATION", (upper, lower), whole, axis=1)
        along, across = (self._op("MUL", (a, b), whole) for a, b in zip((x, turned), angles, strict=True))
        return self._op("ADD", (along, across), whole)

    def _mask(self, position: int) -> int:
        """0 up to this position, _MASK behind it."""
        places = self._constant("positions", np.arange(self._shape.positions, dtype=np.int32))
        seen = self._graph.tensor("seen", DType.BOOL, (self._shape.positions,))
        self._graph.operator("LESS_EQUAL", [places, position], [seen])
        choices = (self._constant(name, np.float32(n)) for name, n in (("seen", 0), ("unseen", _MASK)))
        return self._op("SELECT_V2", (seen, *choices), (self._shape.positions,))

    def _stored(self, name: str, row: int, position: int) -> int:
        """The cache with a row at this position, which it keeps for the next call."""
        handle = self._handle(self._graph, name)
        before = self._graph.tensor(name, DType.FLOAT32, self._cache_shape)
        self._graph.operator("READ_VARIABLE", [handle], [before])
        first = self._constant("first column", np.zeros(1, np.int32))
        corner = self._graph.tensor("corner", DType.INT32, (2,))
        self._graph.operator("CONCATENATION", [position, first], [corner], {"axis": 0})
        after = self._op("DYNAMIC_UPDATE_SLICE", (before, row, corner), self._cache_shape)
        self._graph.operator("ASSIGN_VARIABLE", [handle, after], [])
        return after

    def _by_head(self, cache: int, heads: tuple[int, int, int]) -> int:
        """A cache [positions, heads of keys and their elements] as [heads, positions, elements]."""
        rows = self._view(cache, (heads[1], heads[0], heads[2]))
        return self._op("TRANSPOSE", (rows, self._constant("heads first", np.array([1, 0, 2], np.int32))), heads)

    def _dense(self, x: int, weights: Array, name: str = "fully_connected") -> int:
        matrix = self._constant("weights", np.ascontiguousarray(weights, np.float32))
        return self._op("FULLY_CONNECTED", (x, matrix), (1, len(weights)), name)

    def _gather(self, name: str, table: Array, index: int) -> int:
        """A row of a table."""
        return self._op("GATHER", (self._constant(name, table), index), (1, table.shape[1]))

    def _view(self, tensor: int, shape: tuple[int, ...]) -> int:
        return self._op("RESHAPE", (tensor, self._constant("shape", np.array(shape, np.int32))), shape, new_shape=shape)

    def _corner(self, begin: tuple[int, ...], size: tuple[int, ...]) -> tuple[int, int]:
        begin_, size_ = (self._constant("place", np.array(numbers, np.int32)) for numbers in (begin, size))
        return begin_, size_

    def _constant(self, name: str, values: Array | np.generic) -> int:
        return self._graph.constant(name, values)

    def _handle(self, graph: SubGraphBuilder, name: str) -> int:
        handle = graph.tensor(f"{name}/handle", None, [])
        graph.operator("VAR_HANDLE", [], [handle], {"shared_name": name})
        return handle

    def _op(
        self, operator: str, inputs: Sequence[int], shape: tuple[int, ...], name: str = "", **options: object
    ) -> int:
        """An operator of one float32 output."""
        output = self._graph.tensor(name or operator.lower(), DType.FLOAT32, shape)
        self._graph.operator(operator, inputs, [output], options or None)
        return output


def _cache_names(layer: int) -> tuple[str, str]:
    return f"layer {layer}/keys", f"layer {layer}/values"


def _halved(weights: Array, head_size: int) -> Array:
    """Rows of heads with the first elements of all pairs before the second ones."""
    rows = weights.reshape(-1, head_size // 2, 2, weights.shape[1])
    return rows.swapaxes(1, 2).reshape(weights.shape)


def _rotations(shape: DecoderShape) -> tuple[Array, Array]:
    """Factors of a head and of its halves that changed places, [positions, head_size] (Su et al., "RoFormer", 2021)."""
    frequencies = shape.theta ** (-np.arange(0, shape.head_size, 2) / shape.head_size)
    angles = np.outer(np.arange(shape.positions), frequencies)
    cosines, sines = np.cos(angles), np.sin(angles)
    return np.tile(cosines, 2).astype(np.float32), np.hstack((-sines, sines)).astype(np.float32)
