"""A decoder of the Llama family as numbers: its shape and weights, whatever file they come from."""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.reference import Array


@dataclass(frozen=True, slots=True)
class DecoderShape:
    """Sizes of a decoder.

    dim         elements of a token's vector
    hidden      units of a layer's feed-forward part
    heads       heads of queries; kv_heads: of keys and values, which several heads of queries share
    head_size   elements of a head
    vocabulary  tokens
    positions   rows of the caches: the longest text
    epsilon     added to mean squares
    theta       base of the angles by which heads are rotated
    """

    dim: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    positions: int
    epsilon: float
    theta: float

    @property
    def weights(self) -> int:
        """Number of weights, but for those of an output layer of its own."""
        attention = 2 * self.dim * self.head_size * (self.heads + self.kv_heads)
        layer = attention + 3 * self.dim * self.hidden + 2 * self.dim
        return self.vocabulary * self.dim + self.layers * layer + self.dim

    @property
    def position_bytes(self) -> int:
        """Bytes of float32 that all positions take: caches, and tables of cosines and sines."""
        return 4 * self.positions * (2 * self.layers * self.kv_heads + 1) * self.head_size


@dataclass(frozen=True, slots=True)
class DecoderLayer:
    """Weights of a layer, float32; matrices have a row per output, and those of heads [head, element of a pair, ...].

    Rows 2i and 2i + 1 of a head of q and k are a pair that is rotated.
    """

    norm: Array
    q: Array
    k: Array
    v: Array
    o: Array
    mlp_norm: Array
    gate: Array
    up: Array
    down: Array


@dataclass(frozen=True, slots=True)
class LlamaDecoder:
    """A decoder. output: [vocabulary, dim], the embedding itself where both share their weights."""

    shape: DecoderShape
    embedding: Array
    layers: tuple[DecoderLayer, ...]
    final_norm: Array
    output: Array

    @property
    def shares_output(self) -> bool:
        """Whether the output layer has the embedding's weights."""
        return self.output is self.embedding
