"""Offsets of every home: packed in the arena, consecutive in the state, all of which is always live."""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.memory.homes import Buffer
from tflmgen.memory.placement import ArenaPlan, place
from tflmgen.memory.placement_blocks import Block
from tflmgen.memory.storage import Storage


@dataclass(frozen=True, slots=True)
class Layout:
    """offsets[i]: byte offset of buffer i in its memory; plan of the arena; bytes of the state."""

    offsets: tuple[int, ...]
    arena: ArenaPlan
    state_bytes: int


def lay_out(storage: Storage, steps: int) -> Layout:
    """Places all buffers of a program with `steps` steps."""
    members = [i for i, b in enumerate(storage.buffers) if b.memory == "arena"]
    position = {buffer: i for i, buffer in enumerate(members)}
    overlaps = {(position[o], position[i]): distances for (o, i), distances in storage.overlaps.items()}
    arena = place([_block(storage.buffers[i]) for i in members], steps, overlaps)
    packed = iter(arena.offsets)
    offsets, end = [], 0
    for buffer in storage.buffers:
        if buffer.memory == "arena":
            offsets.append(next(packed))
        else:
            offset = -(-end // buffer.alignment) * buffer.alignment
            offsets.append(offset)
            end = offset + buffer.bytes
    return Layout(tuple(offsets), arena, end)


def _block(buffer: Buffer) -> Block:
    return Block(buffer.bytes, buffer.alignment, buffer.steps)
