"""Pairs of homes that may overlap by a distance, as a kernel writes over input bytes that it has finished reading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tflmgen.ir.graph import Op, Value
from tflmgen.ir.kernel import Input, Kernel
from tflmgen.ir.streams import Called, Computation
from tflmgen.kernels import Selection
from tflmgen.memory.homes import HomeBuffer, Spot
from tflmgen.memory.liveness import Liveness
from tflmgen.memory.schedule_tree import ScheduleItem, Step

Overlaps = Mapping[tuple[int, int], tuple[int, int]]
"""(output's buffer, input's buffer) -> the least distances in bytes, multiples of 4: it must begin so much earlier, or
so much later."""


def find_overlaps(
    items: Iterable[ScheduleItem],
    selection: Selection,
    liveness: Liveness,
    buffers: Sequence[HomeBuffer],
    home: Mapping[Value, Spot],
    fixed: frozenset[int],
    by_multiples: bool,
) -> Overlaps:
    """Pairs of buffers that are live together only at operators that read one for the last time and write the other.

    fixed         buffers to exclude, since their places change at run time
    by_multiples  use the shorter distances that may only be exceeded by multiples; keeps_multiples() must confirm them
    """
    distances: dict[tuple[int, int], tuple[int, int]] = {}
    shared_steps: dict[tuple[int, int], int] = {}
    for item in items:
        kernel = selection.of(item.op) if isinstance(item, Step) else None
        if not isinstance(item, Step) or not isinstance(kernel, Called):
            continue
        before_claims = _claims(item, kernel, liveness, buffers, home, by_multiples)
        backward = kernel.backward if isinstance(kernel, Kernel) else None
        after_claims = _claims(item, backward, liveness, buffers, home, by_multiples) if backward else {}
        for pair in {**before_claims, **after_claims}:
            if fixed & set(pair):
                continue
            output, source = pair
            before, after = distances.get(pair, (0, 0))
            before = max(before, before_claims.get(pair, buffers[output].bytes))
            distances[pair] = before, max(after, after_claims.get(pair, buffers[source].bytes))
            shared_steps[pair] = shared_steps.get(pair, 0) | 1 << item.index
    return {
        (output, source): (-(-before // 4) * 4, -(-after // 4) * 4)
        for (output, source), (before, after) in distances.items()
        if buffers[output].steps & buffers[source].steps == shared_steps[output, source]
    }


def has_multiples(kernel: Computation) -> bool:
    """Whether the kernel has distances that may only be exceeded by multiples."""
    return isinstance(kernel, Called) and any(claim.multiple > 1 for claim in kernel.overlaps)


def keeps_multiples(
    items: Iterable[ScheduleItem], selection: Selection, home: Mapping[Value, Spot], offsets: Sequence[int]
) -> bool:
    """Whether the offsets satisfy the kernels' distances with multiples."""
    for item in items:
        kernel = selection.of(item.op) if isinstance(item, Step) else None
        if not isinstance(item, Step) or not isinstance(kernel, Called) or not has_multiples(kernel):
            continue
        for claim in kernel.overlaps:
            output, source = item.op.outputs[claim.output], item.op.inputs[claim.input]
            if source is None or source.is_constant:
                continue
            output_offset, source_offset = (offsets[home[v].buffer] + home[v].offset for v in (output, source))
            is_disjoint = (
                output_offset + output.type.bytes <= source_offset or source_offset + source.type.bytes <= output_offset
            )
            alternatives = (o for o in kernel.overlaps if (o.input, o.output) == (claim.input, claim.output))
            if not is_disjoint and not any(o.allows(source_offset - output_offset) for o in alternatives):
                return False
    return True


def claimed_inputs(op: Op, kernel: Called, output: int, max_distance: int | None = None) -> set[Value | None]:
    """The inputs that `output` may overlap by distances up to `most`, wherever the kernel reads them."""
    claimed = {
        o.input for o in kernel.overlaps if o.output == output and (max_distance is None or o.distance <= max_distance)
    }
    read_unclaimed = {op.inputs[o.index] for o in kernel.operands if isinstance(o, Input) and o.index not in claimed}
    return {op.inputs[index] for index in claimed} - read_unclaimed


def _claims(
    step: Step,
    kernel: Called,
    liveness: Liveness,
    buffers: Sequence[HomeBuffer],
    home: Mapping[Value, Spot],
    by_multiples: bool,
) -> dict[tuple[int, int], int]:
    """(output buffer, input buffer) -> distance, for dying inputs that are alone in their homes at this step."""
    distances: dict[tuple[int, int], int] = {}
    bit = 1 << step.index
    dying = liveness.dying[step.index]
    for claim in kernel.overlaps:
        output, source = step.op.outputs[claim.output], step.op.inputs[claim.input]
        if has_multiples(kernel) and by_multiples == (claim.multiple == 1):
            continue
        if claim.exact or source not in dying or home[output].buffer == home[source].buffer:
            continue
        output_buffer, source_buffer = buffers[home[output].buffer], buffers[home[source].buffer]
        claimed = claimed_inputs(step.op, kernel, claim.output)
        if source not in claimed:
            continue
        only_dying = all(v in dying and v in claimed for v in source_buffer.values if liveness.ranges[v] & bit)
        if only_dying and all(v == output for v in output_buffer.values if liveness.ranges[v] & bit):
            pair = home[output].buffer, home[source].buffer
            shift = home[output].offset - home[source].offset
            distance = claim.distance + (-shift if claim.behind else shift)
            distances[pair] = max(distances.get(pair, distance), distance)
    return distances
