"""Tuning constants of the search for a plan: limits of its effort, and trade-offs between memory and cycles."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tuning:
    """Limits and exchange rates of the search for a plan; nothing that a model computes depends on them.

    Each has what it gains: how plans change where the field has a value that switches it off, on a Cortex-M4 and an
    M55. The figures of dead_channel_gain and packing_effort are of 50 plans with 101.9 million estimated cycles, those
    of packed_share and padding_bytes of 50 with 239.8 million, those of copied_operators to table_elements of 374 with
    2,565 million.

    balanced_slowdown: part of the fastest plan's cycles that --optimize balanced may take beyond them, for slower
    kernels that save at least as great a part of the memory. Off, which is --optimize speed, of 191 plans on an M4:
    8,120 bytes more and 668,430 of 384 million cycles fewer (eight plans).
    similar_cycles: kernels whose estimates differ by less than this factor count as equally fast, for estimates err;
    the one that is declared first is taken. Off, by counts of 74 models: 3,031 cycles more on an M0 (0.009 %), as many
    within 600 on an M4, M7 and M55, and 6,208 bytes of flash more of an autoencoder on an M0 (2.1 %).
    unknown_slowdown: how many times the cycles of a fast kernel a portable one without an estimate counts as, where
    it may save memory; TRANSPOSE_CONV's takes 3 to 11 times as many instructions. Off, one byte of memory is enough
    for it: random TRANSPOSE_CONVs take 4.5 times the instructions of those with channels of a multiple of 8.
    packed_share, padding_bytes: packed weights may take so many times the bytes of the weights with their biases and
    scales, and so many bytes beyond that; as many zeros may stand for weights of other groups of channels. Share off:
    144 bytes of RAM and 286,626 cycles more, 1,864 bytes of flash fewer (two plans). Bytes off: 9,392 bytes of RAM and
    6,250,952 cycles more, 9,456 bytes of flash fewer (14 plans). Without a limit: no change, but a layer of many
    groups would take as many times its flash.
    padding_sums_share: part of the weights' bytes that sums may take with which convolutions leave out rows of padding.
    Off, which leaves none out, of 28 plans with 227.7 million estimated cycles: 1,023,902 cycles more, 4,640 bytes of
    flash and 1,084 of RAM fewer (nine plans). Without a limit: 633,390 cycles more, for packed_share refuses some
    kernels.
    dead_channel_gain: factor by which the cycles without dead channels must be fewer than with them, for estimates
    err. Off: 13,693 cycles fewer by the estimates themselves (one plan).
    rotation_bytes: bytes per iteration up to which a loop's back edge copies instead of exchanging pointers: a
    variable of 16 bytes is two LDM and two STM. Off, of 90 plans with loops: 8 bytes of RAM more, and 6 pointers for
    16 bytes copied (two plans, of a greatest common divisor).
    row_call_cycles: about what the call of a row of a stream takes beside its kernel; part of the cycles that
    `inspect --pareto` prints. Off, of 52 models for least RAM on an M4: the same plans, but a chain of three small
    convolutions loses the points of its curve that stream, for these seem to cost nothing.
    loop_invariant_bytes: bytes by which what is computed before a loop may enlarge what is live through it: a few
    scalars. Off, of 117 plans on an M4: 4 bytes of RAM fewer and 51 cycles more (2.6 %, one nest of loops).
    copied_operators: a function of so many operators is copied to its call sites. Off: 64 bytes of RAM and 480 copied
    bytes more (eight plans).
    specialized_bytes, specialized_nodes: a constant argument of so many bytes justifies a copy of the function, for
    weights would be copied from flash to RAM at each call, and a counter is little; all copies of a function together
    have no more nodes. Off: no change, but three calls with 1,024 bytes of weights copy these, and take as much RAM.
    folded_bytes: bytes by which a folded result of more elements may exceed the constants that it is made of, and the
    greatest size of a value that is the same for every input. Off: 76 bytes of RAM, 30,806 cycles and 19,592 bytes of
    flash more (four plans). Without a limit: 1,310,720 bytes of flash in place of as many of RAM (one model).
    table_elements: elements from which a table is worth its 256 bytes of flash, where none of the operators in its
    place has one anyway. Off: no change, but a product in float between 15 int8 elements takes 252 bytes of flash more
    and 44 of RAM fewer.
    dropped_caches: numbers of caches of windows that slide which are traded for work: each is a graph for which plans
    are searched, in seconds of CPU. Off, of 20 curves of cycles against RAM: the smallest plans take 33,156 bytes more
    (12 curves).
    fused_loop_ram: part of the memory that the loop of an LSTM layer must save for --optimize balanced to keep it: it
    stores one row of outputs where the fused operator stores all. It takes 14 % to 44 % more instructions on an M4.
    Off, an LSTM of 49 steps and 32 units whose last row is read takes 7,040 bytes instead of 3,140.
    ram_slowdown: part of the fastest plan's cycles that --optimize ram may take beyond them. Off, of 191 plans for
    least RAM on an M4: 399,308 bytes more (22 plans).
    order_effort: tasks looked at for the order of least peak, of each block; one to two seconds. It ends searches in
    graphs of many parallel chains, whose sets of tasks are exponentially many. Off, of 191 plans: 176 bytes more (seven
    plans).
    packing_effort: pairs of buffers looked at for one plan of the many that are compared, half a second at most, and
    for first fit in further orders, which seldom gains from more. Off: 17,580 bytes more and, where slower kernels
    make up for it, 11,697,932 cycles more (five plans). Ten times as much: no change.
    stream_packing_effort: the effort for the line buffers of one stream. Off, of 191 plans for least RAM: 448 bytes
    more (one plan).
    """

    balanced_slowdown: float = 0.06
    similar_cycles: float = 1.05
    unknown_slowdown: int = 8
    packed_share: float = 1.25
    padding_bytes: int = 1024
    padding_sums_share: float = 1 / 8
    dead_channel_gain: float = 1.01
    rotation_bytes: int = 16
    row_call_cycles: int = 100
    loop_invariant_bytes: int = 16
    copied_operators: int = 2
    specialized_bytes: int = 16
    specialized_nodes: int = 200
    folded_bytes: int = 4096
    table_elements: int = 16
    dropped_caches: tuple[int, ...] = (1, 2, 3, 4, 6, 8, 12)
    fused_loop_ram: float = 1 / 4
    ram_slowdown: float = 1 / 3
    order_effort: int = 2_000_000
    packing_effort: int = 400_000
    stream_packing_effort: int = 20_000


TUNING = Tuning()
