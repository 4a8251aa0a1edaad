"""Which homes may lie over one another by a distance, because a kernel writes into what it has finished with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tflmgen.ir import Called, Computation, Input, Kernel, Op, Value
from tflmgen.kernels import Selection
from tflmgen.memory.homes import Buffer, Spot
from tflmgen.schedule import Liveness, ScheduleItem, Step

Overlaps = Mapping[tuple[int, int], tuple[int, int]]
"""(output's buffer, input's buffer) -> the least distances in bytes, multiples of 4: it must begin so much earlier, or
so much later."""


def find_overlaps(
    items: Iterable[ScheduleItem],
    selection: Selection,
    liveness: Liveness,
    buffers: Sequence[Buffer],
    home: Mapping[Value, Spot],
    fixed: frozenset[int],
    close: bool = False,
) -> Overlaps:
    """The pairs of buffers that are live together only where one operator reads the one last and writes the other.

    `fixed` buffers, whose places change at run time, take no part. `close`: distances that must not be exceeded but by
    multiples are among those, which `keeps_multiples` has to confirm.
    """
    distances: dict[tuple[int, int], tuple[int, int]] = {}
    shared_steps: dict[tuple[int, int], int] = {}
    for item in items:
        kernel = selection.of(item.op) if isinstance(item, Step) else None
        if not isinstance(item, Step) or not isinstance(kernel, Called):
            continue
        ahead = _claims(item, kernel, liveness, buffers, home, close)
        backward = kernel.backward if isinstance(kernel, Kernel) else None
        behind = _claims(item, backward, liveness, buffers, home, close) if backward else {}
        for pair in {**ahead, **behind}:
            if fixed & set(pair):
                continue
            output, source = pair
            before, after = distances.get(pair, (0, 0))
            before = max(before, ahead.get(pair, buffers[output].bytes))
            distances[pair] = before, max(after, behind.get(pair, buffers[source].bytes))
            shared_steps[pair] = shared_steps.get(pair, 0) | 1 << item.index
    return {
        (output, source): (-(-before // 4) * 4, -(-after // 4) * 4)
        for (output, source), (before, after) in distances.items()
        if buffers[output].steps & buffers[source].steps == shared_steps[output, source]
    }


def has_multiples(kernel: Computation) -> bool:
    """Whether there are distances that must not be exceeded but by multiples."""
    return isinstance(kernel, Called) and any(claim.multiple > 1 for claim in kernel.overlaps)


def keeps_multiples(
    items: Iterable[ScheduleItem], selection: Selection, home: Mapping[Value, Spot], offsets: Sequence[int]
) -> bool:
    """Whether outputs lie over inputs only as their kernels allow, where these have distances with multiples."""
    for item in items:
        kernel = selection.of(item.op) if isinstance(item, Step) else None
        if not isinstance(item, Step) or not isinstance(kernel, Called) or not has_multiples(kernel):
            continue
        for claim in kernel.overlaps:
            output, source = item.op.outputs[claim.output], item.op.inputs[claim.input]
            if source is None or source.is_constant:
                continue
            here, there = (offsets[home[v].buffer] + home[v].offset for v in (output, source))
            apart = here + output.type.bytes <= there or there + source.type.bytes <= here
            same = (o for o in kernel.overlaps if (o.input, o.output) == (claim.input, claim.output))
            if not apart and not any(o.allows(there - here) for o in same):
                return False
    return True


def claimed_inputs(op: Op, kernel: Called, output: int, most: int | None = None) -> set[Value | None]:
    """The inputs that `output` may overlap by distances up to `most`, wherever the kernel reads them."""
    claimed = {o.input for o in kernel.overlaps if o.output == output and (most is None or o.distance <= most)}
    elsewhere = {op.inputs[o.index] for o in kernel.operands if isinstance(o, Input) and o.index not in claimed}
    return {op.inputs[index] for index in claimed} - elsewhere


def _claims(
    step: Step,
    kernel: Called,
    liveness: Liveness,
    buffers: Sequence[Buffer],
    home: Mapping[Value, Spot],
    close: bool,
) -> dict[tuple[int, int], int]:
    """The distances of one operator, for its dying inputs that live alone in their homes at this step."""
    found: dict[tuple[int, int], int] = {}
    bit = 1 << step.index
    dying = liveness.dying[step.index]
    for claim in kernel.overlaps:
        output, source = step.op.outputs[claim.output], step.op.inputs[claim.input]
        if has_multiples(kernel) and close == (claim.multiple == 1):
            continue
        if claim.exact or source not in dying or home[output].buffer == home[source].buffer:
            continue
        here, there = buffers[home[output].buffer], buffers[home[source].buffer]
        claimed = claimed_inputs(step.op, kernel, claim.output)
        if source not in claimed:
            continue
        alone = all(v in dying and v in claimed for v in there.values if liveness.ranges[v] & bit)
        if alone and all(v == output for v in here.values if liveness.ranges[v] & bit):
            pair = home[output].buffer, home[source].buffer
            shift = home[output].offset - home[source].offset
            distance = claim.distance + (-shift if claim.behind else shift)
            found[pair] = max(found.get(pair, distance), distance)
    return found
