"""Checkpoints of llama2.c with random weights, and what run.c computes with them, in numpy and from its formulas."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass
class Checkpoint:
    """Shape and weights, in the file's order of names; `shares_output`: the classifier is the embedding."""

    dim: int = 16
    hidden: int = 20
    layers: int = 2
    heads: int = 4
    kv_heads: int = 2
    vocabulary: int = 24
    positions: int = 12
    shares_output: bool = True
    seed: int = 0
    weights: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rng, kv = np.random.default_rng(self.seed), self.dim // self.heads * self.kv_heads
        norms = {"norm": (self.layers, self.dim), "mlp_norm": (self.layers, self.dim), "final_norm": (self.dim,)}
        sizes: dict[str, tuple[int, ...]] = {
            "embedding": (self.vocabulary, self.dim), "norm": norms["norm"], "q": (self.layers, self.dim, self.dim),
            "k": (self.layers, kv, self.dim), "v": (self.layers, kv, self.dim), "o": (self.layers, self.dim, self.dim),
            "mlp_norm": norms["mlp_norm"], "gate": (self.layers, self.hidden, self.dim),
            "down": (self.layers, self.dim, self.hidden), "up": (self.layers, self.hidden, self.dim),
            "final_norm": norms["final_norm"], "tables": (self.positions, self.dim // self.heads),
        }  # fmt: skip
        if not self.shares_output:
            sizes["output"] = (self.vocabulary, self.dim)
        for name, size in sizes.items():
            values = rng.normal(0, 1 if name == "embedding" else size[-1] ** -0.5, size)
            self.weights[name] = (1 + 0.2 * values if name in norms else values).astype("<f4")

    def bytes(self) -> bytes:
        vocabulary = self.vocabulary if self.shares_output else -self.vocabulary
        numbers = (self.dim, self.hidden, self.layers, self.heads, self.kv_heads, vocabulary, self.positions)
        return struct.pack("<7i", *numbers) + b"".join(array.tobytes() for array in self.weights.values())

    def logits(self, tokens: list[int]) -> Array:
        """Logits after each token, [tokens, vocabulary], by run.c's forward(), in float64."""
        size, w = self.dim // self.heads, {name: a.astype(np.float64) for name, a in self.weights.items()}
        keys: list[list[Array]] = [[] for _ in range(self.layers)]
        values: list[list[Array]] = [[] for _ in range(self.layers)]
        rows = []
        for position, token in enumerate(tokens):
            x = w["embedding"][token]
            for i in range(self.layers):
                h = _normalized(x, w["norm"][i])
                q = _rotated((w["q"][i] @ h).reshape(self.heads, size), position)
                keys[i].append(_rotated((w["k"][i] @ h).reshape(self.kv_heads, size), position))
                values[i].append((w["v"][i] @ h).reshape(self.kv_heads, size))
                shared = self.heads // self.kv_heads
                heads = []
                for head in range(self.heads):
                    scores = np.array([q[head] @ k[head // shared] for k in keys[i]]) / np.sqrt(size)
                    weights = np.exp(scores - scores.max())
                    weights /= weights.sum()
                    heads.append(sum(p * v[head // shared] for p, v in zip(weights, values[i], strict=True)))
                x = x + w["o"][i] @ np.concatenate(heads)
                h = _normalized(x, w["mlp_norm"][i])
                gate = w["gate"][i] @ h
                x = x + w["down"][i] @ (gate / (1 + np.exp(-gate)) * (w["up"][i] @ h))
            rows.append(w.get("output", w["embedding"]) @ _normalized(x, w["final_norm"]))
        return np.array(rows)


def _normalized(x: Array, weights: Array) -> Array:
    return np.asarray(x / np.sqrt((x * x).mean() + 1e-5) * weights)


def _rotated(heads: Array, position: int) -> Array:
    """Pairs of neighbours, rotated by an angle that falls with their place in the head."""
    size = heads.shape[1]
    angles = position / 10000.0 ** (np.arange(0, size, 2) / size)
    pairs = (heads[:, ::2] + 1j * heads[:, 1::2]) * np.exp(1j * angles)
    return np.stack([pairs.real, pairs.imag], -1).reshape(heads.shape)
