"""Trains a little decoder on stories that this file makes up, and writes it as llama2.c's files.

    pip install torch numpy
    python make_model.py

It writes story.bin, a checkpoint of 2 layers 32 wide; tokenizer.bin, byte pairs learnt from the stories; and text.npz,
the tokens of stories that the decoder was not trained on, for `tflmgen quantize`.
"""

from __future__ import annotations

import itertools
import random
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

HERE = Path(__file__).resolve().parent
DIM, HIDDEN, LAYERS, HEADS, KV_HEADS, POSITIONS = 32, 64, 2, 4, 2, 64
SIZE = DIM // HEADS
MERGES, STORIES, STEPS, BATCH, SEED = 120, 1500, 400, 16, 5
BEGIN, END, BYTES = 1, 2, 3
"""Tokens that begin and end a text, and the first of the 256 that stand for bytes."""

NAMES = {"Tom": "he", "Lily": "she", "Ben": "he", "Mia": "she"}
ANIMALS, COLOURS = ("cat", "dog", "bird", "frog"), ("red", "blue", "green")
THINGS, PLACES = ("ball", "hat", "kite", "boat"), ("garden", "park", "wood")


def story(choose: random.Random) -> str:
    """A story of three sentences, in which names and things come back."""
    name, animal, place = choose.choice([*NAMES]), choose.choice(ANIMALS), choose.choice(PLACES)
    thing = f"{choose.choice(COLOURS)} {choose.choice(THINGS)}"
    return (
        f"{name} had a {thing}. One day {NAMES[name]} lost the {thing} in the {place}. "
        f"A {animal} found it, and {name} was happy."
    )


def learnt_pieces(text: str) -> list[str]:
    """Characters, and pairs that are frequent once those before are joined; none crosses the end of a word."""
    words = Counter(f" {word}" for word in text.split(" "))
    parts = {word: list(word) for word in words}
    pieces = sorted({character for word in words for character in word})
    for _ in range(MERGES):
        pairs = Counter[tuple[str, str]]()
        for word, count in words.items():
            for pair in itertools.pairwise(parts[word]):
                pairs[pair] += count
        if not pairs:
            break
        best = max(sorted(pairs), key=lambda pair: pairs[pair])
        pieces.append("".join(best))
        for own in parts.values():
            place = 0
            while place < len(own) - 1:
                if (own[place], own[place + 1]) == best:
                    own[place : place + 2] = ["".join(best)]
                place += 1
    return pieces


def encoded(text: str, places: dict[str, int]) -> list[int]:
    """Tokens of a text behind BEGIN: pairs are joined in the order in which they were learnt."""
    parts = list(f" {text}")
    while True:
        known = [
            (places["".join(pair)], i) for i, pair in enumerate(itertools.pairwise(parts)) if "".join(pair) in places
        ]
        if not known:
            return [BEGIN, *(places[part] for part in parts), END]
        _, place = min(known)
        parts[place : place + 2] = ["".join(parts[place : place + 2])]


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.mlp_norm = nn.Parameter(torch.ones(DIM)), nn.Parameter(torch.ones(DIM))
        sizes = {"q": (DIM, DIM), "k": (KV_HEADS * SIZE, DIM), "v": (KV_HEADS * SIZE, DIM), "o": (DIM, DIM)}
        sizes |= {"gate": (HIDDEN, DIM), "up": (HIDDEN, DIM), "down": (DIM, HIDDEN)}
        for name, (rows, columns) in sizes.items():
            setattr(self, name, nn.Linear(columns, rows, bias=False))

    def forward(self, x: Tensor, angles: Tensor) -> Tensor:
        h = normalized(x, self.norm)
        q, k, v = (part(h).unflatten(-1, (-1, SIZE)).transpose(1, 2) for part in (self.q, self.k, self.v))
        q, k = rotated(q, angles), rotated(k, angles)
        k, v = (part.repeat_interleave(HEADS // KV_HEADS, 1) for part in (k, v))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).flatten(2))
        h = normalized(x, self.mlp_norm)
        return x + self.down(functional.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, DIM)
        nn.init.normal_(self.embedding.weight, std=0.3)
        self.layers, self.norm = nn.ModuleList(Layer() for _ in range(LAYERS)), nn.Parameter(torch.ones(DIM))

    def forward(self, tokens: Tensor) -> Tensor:
        frequencies = 10000.0 ** (-torch.arange(0, SIZE, 2) / SIZE)
        angles = torch.outer(torch.arange(tokens.shape[1]), frequencies)
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, angles)
        return normalized(x, self.norm) @ self.embedding.weight.T


def normalized(x: Tensor, weights: Tensor) -> Tensor:
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * weights


def rotated(x: Tensor, angles: Tensor) -> Tensor:
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), -1).flatten(-2)


def trained(texts: list[list[int]], vocabulary: int) -> Decoder:
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    decoder, choose = Decoder(vocabulary), random.Random(SEED)
    optimizer = torch.optim.AdamW(decoder.parameters(), 3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for step in range(STEPS):
        rows = [text[:POSITIONS] for text in choose.choices(texts, k=BATCH)]
        length = max(map(len, rows))
        tokens = torch.tensor([row + [0] * (length - len(row)) for row in rows])
        loss = functional.cross_entropy(decoder(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step == STEPS - 1:
            print(f"step {step}: loss {loss.item():.3f}")
    return decoder


def write_checkpoint(decoder: Decoder, vocabulary: int) -> None:
    """llama2.c's version 0: the shape, then each kind of weight for all layers."""
    names = ("norm", "q", "k", "v", "o", "mlp_norm", "gate", "down", "up")
    parts = [decoder.embedding.weight]
    for name in names:
        own = (getattr(layer, name) for layer in decoder.layers)
        parts += [part if isinstance(part, nn.Parameter) else part.weight for part in own]
    parts += [decoder.norm, torch.zeros(POSITIONS, SIZE)]
    header = struct.pack("<7i", DIM, HIDDEN, LAYERS, HEADS, KV_HEADS, vocabulary, POSITIONS)
    data = b"".join(part.detach().numpy().astype("<f4").tobytes() for part in parts)
    (HERE / "story.bin").write_bytes(header + data)


def write_tokenizer(pieces: list[str]) -> None:
    texts = [b"<unk>", b"\n<s>\n", b"\n</s>\n", *(b"<0x%02X>" % byte for byte in range(256))]
    scores = [0.0] * len(texts) + [-float(i) for i in range(len(pieces))]
    texts += [piece.encode() for piece in pieces]
    tokens = (struct.pack("<fi", score, len(text)) + text for score, text in zip(scores, texts, strict=True))
    (HERE / "tokenizer.bin").write_bytes(struct.pack("<i", max(map(len, texts))) + b"".join(tokens))


def main() -> None:
    choose = random.Random(SEED)
    stories = [story(choose) for _ in range(STORIES)]
    pieces = learnt_pieces(" ".join(stories))
    places = {piece: BYTES + 256 + i for i, piece in enumerate(pieces)}
    vocabulary = BYTES + 256 + len(pieces)
    texts = [encoded(text, places) for text in stories]
    decoder = trained(texts[:-20], vocabulary)
    write_checkpoint(decoder, vocabulary)
    write_tokenizer(pieces)
    rows = [(token, position) for text in texts[-20:] for position, token in enumerate(text[:POSITIONS])]
    token, position = (np.array(column, np.int32)[:, None] for column in zip(*rows, strict=True))
    np.savez(HERE / "text.npz", token=token, position=position, stateful=np.array(True))


if __name__ == "__main__":
    main()
