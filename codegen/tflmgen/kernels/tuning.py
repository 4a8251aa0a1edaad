"""What the search for a plan takes for cheap, how long it tries, and what it gives up for what."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tuning:
    """Limits and exchange rates of the search for a plan; nothing that a model computes depends on them.

    Figures are of 25 models on a Cortex-M4 and a Cortex-M55 (50 plans: 564,156 bytes of arena and state, 101.9 million
    estimated cycles), with the field at a value that switches it off.

    free_copied_bytes: bytes that loops may copy per iteration, in all, without counting against a plan. More prefers
    small arenas to few copies. Off: no change.
    rotation_bytes: bytes per iteration up to which a loop's back edge copies instead of exchanging pointers: a variable
    of 16 bytes is two LDM and two STM. Off: no change.
    slower_share: slower kernels that save memory may cost one cycle of so many of the whole program, and beyond that
    half as great a part of the cycles as they save of the memory. Less trades more cycles for memory. Off: 624 bytes
    more, 475,312 cycles fewer (one plan).
    slight_share: slower kernels that save less than one byte of so many are not taken. More trades more cycles for
    memory. Off: no change.
    dead_channel_gain: factor by which the cycles without dead channels must be fewer than with them, for estimates
    err. Off: 13,693 cycles fewer by the estimates themselves (one plan).
    streams_tried: plans with row streaming that are laid out for least RAM. More takes longer: an estimate
    ranks them, which knows no packing.
    slowdown: part of the cycles by which --optimize ram may slow a model down.
    order_effort: tasks looked at for the order of least peak, of each block; one to two seconds. Off: no change.
    packing_effort: pairs of buffers looked at for one plan of the many that are compared, half a second at most. Off:
    17,580 bytes more and, where slower kernels make up for it, 11,697,932 cycles more (five plans). Ten times as much:
    no change.
    thorough_packing_effort: the same for a packing by itself, ten seconds at most.
    stream_packing_effort: the same for the line buffers of one stream.
    """

    free_copied_bytes: int = 32
    rotation_bytes: int = 16
    slower_share: int = 16
    slight_share: int = 512
    dead_channel_gain: float = 1.01
    streams_tried: int = 3
    slowdown: float = 0.25
    order_effort: int = 2_000_000
    packing_effort: int = 400_000
    thorough_packing_effort: int = 50_000_000
    stream_packing_effort: int = 20_000


TUNING = Tuning()
