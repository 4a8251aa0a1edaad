"""Line buffers of a stream: in which slot each row lies at each tick, and whose rows need no line buffer.

A row that one operator makes and the next one takes at once may lie over the rows that its operator has just finished
with, as far as the kernel allows its output over its input: it is then a guest in their line buffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from tflmgen.explore.streams.row_order import INPUT, RowOrder, RowProgress, RowTick, Wiring
from tflmgen.ir.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Slots:
    """One tick: the slot of the row that is written (None: it goes elsewhere), those of the first rows read (None for
    the stream's input and for guests), and the rows that move before: (to slot, from slot, count).
    """

    write: int | None
    reads: tuple[int | None, ...]
    move: tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class Guest:
    """Place of a tensor in the line buffer of another one, `host`: `lead` bytes before its first slot."""

    host: int
    lead: int


@dataclass(frozen=True, slots=True)
class Lines:
    """ticks: the slots at each tick; slots: how many each line buffer has; guests: tensors without one."""

    ticks: tuple[Slots, ...]
    slots: tuple[int, ...]
    guests: Mapping[int, Guest]


def lay_lines(wiring: Wiring, order: RowOrder, kernels: Sequence[Kernel], row_bytes: Sequence[int]) -> Lines:
    """The line buffers of a stream; kernels[i] runs tick i; row_bytes: those of each operator's output."""
    guests: dict[int, Guest] = {}
    calls: list[list[tuple[int, RowTick, Kernel]]] = [[] for _ in wiring.operators]
    for number, (tick, kernel) in enumerate(zip(order.ticks, kernels, strict=True)):
        calls[tick.stage].append((number, tick, kernel))
    for stage in range(len(wiring.operators) - 1):
        guest = _as_guest(stage, wiring, order, calls, row_bytes, guests)
        if guest is not None:
            guests[stage] = guest
    ticks = tuple(slots for slots, _ in _walk(wiring, order.ticks, order.capacity, guests))
    count = [0] * len(wiring.operators)
    for tick, slots in zip(order.ticks, ticks, strict=True):
        if slots.write is not None:
            count[tick.stage] = max(count[tick.stage], slots.write + 1)
    return Lines(ticks, tuple(count), guests)


def _as_guest(
    stage: int,
    wiring: Wiring,
    order: RowOrder,
    calls: Sequence[Sequence[tuple[int, RowTick, Kernel]]],
    row_bytes: Sequence[int],
    guests: Mapping[int, Guest],
) -> Guest | None:
    """Places of the rows of `stage` over those that it reads, at every tick; None if they can't lie so.

    calls: of each operator, the number of each of its ticks in the stream, the tick and its kernel.
    """
    operator = wiring.operators[stage]
    host = _host(stage, wiring, guests)
    if host is None or order.capacity[stage] != 1:
        return None
    claims = [next((o for o in k.overlaps if o.input == operator.data[0]), None) for _, _, k in calls[stage]]
    lead = max((-(-o.distance // 4) * 4 for o in claims if o is not None and not o.exact), default=0)
    size, host_size = row_bytes[stage], row_bytes[host]
    trial = {**guests, stage: Guest(host, lead)}
    at = 0
    around = sorted((call for s in (host, stage, *wiring.readers[stage]) for call in calls[s]), key=itemgetter(0))
    ticks = [tick for _, tick, _ in around]
    for (slots, rows), tick in zip(_walk(wiring, ticks, order.capacity, trial), ticks, strict=True):
        if tick.stage == host and rows.written[stage] > rows.first_needed(stage):
            return None
        if tick.stage != stage:
            continue
        claim, read = claims[at], slots.reads[0]
        at += 1
        assert read is not None
        ahead = read * host_size + lead
        allowed = claim is not None and claim.allows(ahead)
        survivor = rows.first_needed_after(stage, host)
        first, _ = operator.needs[tick.index]
        survives = (read + survivor - first) * host_size + lead if survivor < rows.written[host] else size
        if (ahead < size and not allowed) or survives < size:
            return None
    return Guest(host, lead)


def _host(stage: int, wiring: Wiring, guests: Mapping[int, Guest]) -> int | None:
    """The tensor whose line buffer `stage` may be a guest in: the one that it alone reads, by a window."""
    sources = wiring.sources[stage]
    if wiring.operators[stage].window is None or len(sources) != 1:
        return None
    host = sources[0]
    taken = host in guests or any(guest.host == host for guest in guests.values())
    return None if host == INPUT or taken or wiring.readers[host] != (stage,) else host


def _walk(
    wiring: Wiring, ticks: Sequence[RowTick], capacity: Sequence[int], guests: Mapping[int, Guest]
) -> Iterator[tuple[Slots, RowProgress]]:
    """The slots at each tick, and the rows that exist before it.

    Without the ticks of some operators it is true of those of which the readers' and the guest's ticks are there. The
    line buffer of a host begins with the row at which the guest's window does, as if the padding had rows.
    """
    rows = RowProgress(wiring)
    visitors = {guest.host: stage for stage, guest in guests.items()}
    base = [0] * len(wiring.operators)
    for host, stage in visitors.items():
        base[host] = wiring.operators[stage].begins[0]
    for tick in ticks:
        stage = tick.stage
        write, move = None, None
        if stage < len(wiring.operators) - 1 and stage not in guests:
            rows_written = rows.written[stage]
            first = min(rows.first_needed(stage), rows_written)
            following = base[stage]
            if stage in visitors:
                begins = wiring.operators[visitors[stage]].begins
                ahead = begins[min(rows.next[visitors[stage]], len(begins) - 1)]
                following = max(following, min(ahead, rows_written))
            elif rows_written == first:
                following = rows_written
            elif rows_written + 1 - base[stage] > capacity[stage]:
                following = first
            if following > base[stage] and rows_written > first:
                move = first - following, first - base[stage], rows_written - first
            base[stage] = following
            write = rows_written - base[stage]
        first_read, _ = wiring.operators[stage].needs[tick.index]
        sources = wiring.sources[stage]
        reads = tuple(None if t == INPUT or t in guests else first_read - base[t] for t in sources)
        yield Slots(write, reads, move), rows
        rows.advance(stage)
