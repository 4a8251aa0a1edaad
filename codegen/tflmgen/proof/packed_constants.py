"""Shows that the packed constants of a Program are those of its Module.

What a kernel reads from flash is read back by the reader beside its declaration, and compared with the file's numbers:
the weights one by one, and bias, multiplier and shift by what they make of sums. Requantisation only ascends, in the
kernel as in TFLite. So the two agree for every input if they agree on both sides of each sum at which TFLite's output
changes, and at the ends; which sums these are follows from TFLite's formula (layer_numbers.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.errors import InternalError
from tflmgen.ir import constant_array
from tflmgen.ir.graph import Module, Op, walk
from tflmgen.ir.kernel import (
    OperatorInstance,
    Outputs,
    PackedCall,
    Params,
    ParamValue,
    Reader,
    Selected,
    Unpacked,
    UnpackedPart,
    UnpackedSums,
)
from tflmgen.ir.program import Flash, InputArgument, KernelCall, OutputArgument, Place, Program, Work, walk_instructions
from tflmgen.ir.streams import RowStream
from tflmgen.proof.array_calls import ArrayCall
from tflmgen.proof.layer_arrays import arrays_problem
from tflmgen.proof.layer_numbers import (
    Integers,
    LayerNumbers,
    SumNumbers,
    layer_numbers,
    reachable,
    spread,
    sum_numbers,
)
from tflmgen.proof.refusals import refusing


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of a kernel for an operator; places: what its arguments point to."""

    step: int
    op: Op
    function: str
    header: str
    params: Params | None
    places: tuple[Place | None, ...]


ReaderOf = Callable[[str], Reader | None]
"""Gives the reader of packed constants of a header's kernels; None where they have none."""


@refusing
def check_constants(
    module: Module, program: Program, selected_of: Callable[[Op], Selected], reader_of: ReaderOf
) -> int:
    """Number of calls whose packed constants equal the Module's. Raises InternalError for the first that do not.

    selected_of: what the operator table makes of an operator; of streams the operators inside are taken from it.
    """
    checked: dict[tuple[object, ...], bool] = {}
    for call in _calls(module, program, selected_of):
        key = (call.op.inputs, call.op.outputs, call.function, call.params, call.places)
        if key not in checked:
            checked[key] = _check_call(call, reader_of(call.header), module.constants, program)
    return sum(checked.values())


def _calls(module: Module, program: Program, selected_of: Callable[[Op], Selected]) -> Iterator[_Call]:
    ops = {node.outputs[0]: node for f in module.functions for node in walk(f.body) if isinstance(node, Op)}
    for function in program.functions:
        for instruction in walk_instructions(function.body):
            if not isinstance(instruction, KernelCall):
                continue
            values = [a.access.value for a in instruction.arguments if isinstance(a, OutputArgument)]
            op = next((ops[value] for value in values if value in ops), None)
            if op is None:
                continue
            if instruction.rows is None:
                places = tuple(_place(a) for a in instruction.arguments)
                yield _Call(instruction.step, op, instruction.function, instruction.header, instruction.params, places)
                continue
            stream = selected_of(op)
            if not isinstance(stream, RowStream):
                continue
            for row in instruction.rows.calls:
                places = tuple(a.place if isinstance(a, Work) else None for a in row.arguments)
                inner = stream.stages[row.stage].op
                yield _Call(instruction.step, inner, row.function, row.header, row.params, places)


def _place(argument: InputArgument | OutputArgument | Work) -> Place | None:
    return argument.contents if isinstance(argument, Work) else argument.access.place


def _check_call(call: _Call, reader: Reader | None, constants: Mapping[str, bytes], program: Program) -> bool:
    """Whether there was something to compare. Raises InternalError where it differs."""
    data = tuple(
        program.constants[place.name].data[place.offset :] if isinstance(place, Flash) else None
        for place in call.places
    )
    op = call.op
    instance = OperatorInstance(
        tuple(None if v is None else v.type for v in op.inputs),
        tuple(v.type for v in op.outputs),
        tuple(constant_array(v, constants) for v in op.inputs),
        op.attributes,
    )
    fields = dict(call.params.fields) if call.params else {}
    try:
        problem = arrays_problem(call.header, ArrayCall(op.operator, instance, call.function, data))
    except ValueError as error:
        problem = str(error)
    if reader is not None and not problem:
        unpacked = problem_of(call.op.operator, instance, call.function, fields, data, reader)
        problem = problem if unpacked is None else unpacked
    if problem:
        raise InternalError(
            f"step {call.step}: the constants of {call.function} are not those of {call.op.operator} "
            f"({call.op.origin.operator_name}): {problem}"
        )
    return problem is not None


def problem_of(
    operator: str,
    op: OperatorInstance,
    function: str,
    fields: Mapping[str, ParamValue],
    data: Sequence[bytes | None],
    reader: Reader,
) -> str | None:
    """The first difference between a call's constants and the operator's; empty if they are equal, None if the operator
    has none to compare.

    fields: of the call's struct. data: per argument the bytes in flash that it points to.
    """
    layer, sums = layer_numbers(operator, op), sum_numbers(operator, op)
    try:
        if layer is not None:
            call = PackedCall(function, fields, data, layer.channels, layer.taps, layer.inputs)
            return difference(reader(call), layer, fields)
        if sums is not None:
            channels, rows = sums
            call = PackedCall(function, fields, data, channels, (1, 1), rows[0].weights.shape[1])
            return _sums_difference(reader(call), rows)
    except (ValueError, IndexError) as error:
        return str(error)
    return None


def _sums_difference(unpacked: Sequence[Unpacked], wanted: Sequence[SumNumbers]) -> str:
    """Difference of rows of sums from the operator's; biases wrap."""
    for part, numbers in zip(unpacked, wanted, strict=True):
        assert isinstance(part, UnpackedSums)
        weights = numbers.weights if part.weights is None else part.weights
        if weights.shape != numbers.weights.shape or part.starts.shape != numbers.starts.shape:
            return "the weights have another number"
        for subject, packed, own in (
            ("weights", weights, numbers.weights),
            ("bias", part.starts[:, None], _wrapped(numbers.starts)[:, None]),
        ):
            rows = np.flatnonzero((packed != own).any(axis=1))
            if len(rows):
                return f"the {subject} of row {rows[0]} differs"
    return ""


def _wrapped(values: Integers) -> Integers:
    """Modulo 2^32, as signed numbers."""
    result: Integers = (values + 2**31) % 2**32 - 2**31
    return result


def _scales_difference(part: UnpackedSums, layer: LayerNumbers, fields: Mapping[str, ParamValue]) -> str:
    """Difference of rows with constants of their own from the layer's, number by number.

    A kernel of int16 multiplies by 16 bits of the multiplier, and rounds once: TFLite's MultiplyByQuantizedMultiplier
    of 64 bits.
    """
    own = layer.weights.reshape(layer.channels, -1)
    if part.weights is not None and (part.weights.shape != own.shape or (part.weights != own).any()):
        return "the weights differ"
    added, starts = fields.get("input_offset", 0), layer.starts
    assert isinstance(added, int)
    begin = part.starts + added * own.sum(axis=1)
    if layer.bits == 8:
        begin, starts = _wrapped(begin), _wrapped(starts)
    short = np.minimum((layer.multipliers + (1 << 15)) >> 16, 0x7FFF)
    numbers = (
        ("bias", begin, starts),
        ("multiplier", part.high, short << (17 + layer.shifts).clip(0)),
        ("multiplier", None if part.scales is None else part.scales[:, 0], layer.multipliers),
        ("shift", None if part.scales is None else part.scales[:, 1], layer.shifts),
    )
    for subject, packed, right in numbers:
        if packed is not None and (packed != right).any():
            return f"the {subject} of channel {np.flatnonzero(packed != right)[0]} differs"
    return ""


def difference(unpacked: Sequence[Unpacked], layer: LayerNumbers, fields: Mapping[str, ParamValue]) -> str:
    """Difference of the unpacked constants from the layer's; empty where there is none."""
    parts = [part for part in unpacked if isinstance(part, UnpackedPart)]
    for part in unpacked:
        if isinstance(part, UnpackedSums):
            return _scales_difference(part, layer, fields)
    low, high = (fields.get(name, limit) for name, limit in (("output_min", -128), ("output_max", 127)))
    assert isinstance(low, int)
    assert isinstance(high, int)
    covered = np.zeros((layer.channels, layer.weights.shape[1]), dtype=np.int64)
    for part in parts:
        if not len(part.rows):
            continue
        down = range(layer.taps[0]) if part.tap_rows is None else part.tap_rows
        across = range(layer.taps[1]) if part.tap_columns is None else part.tap_columns
        taps = np.array([y * layer.taps[1] + x for y in down for x in across], dtype=np.int64)
        covered[np.ix_(part.rows, taps)] += 1
        problem = _part_difference(part, layer, taps, (low, high))
        if problem:
            return problem
    return "" if (covered == 1).all() else "some weights are packed twice, or not at all"


def _part_difference(part: UnpackedPart, layer: LayerNumbers, taps: Integers, limits: tuple[int, int]) -> str:
    own = part.weights.shape[1] // len(taps)
    wanted = spread(layer, own, part.rows)[:, taps].reshape(len(part.rows), -1)
    if wanted.shape != part.weights.shape:
        return "the weights have another number"
    factors = _factors(part.weights, wanted)
    starts = layer.bias[part.rows] - layer.input_zero * wanted.sum(axis=1)
    ends = tuple(sums + starts for sums in reachable(wanted))
    rows = _rows(layer, part.rows)
    # The weights of a channel whose output is always the same may be left out.
    extremes = np.clip(rows.outputs(np.stack(ends, axis=1)), layer.least, layer.greatest)
    idle = ~part.weights.any(axis=1) & (extremes[:, 0] == extremes[:, 1])
    wrong = (part.weights != factors[:, None] * wanted).any(axis=1) & ~idle
    if wrong.any():
        return f"the weights of channel {part.rows[np.flatnonzero(wrong)[0]]} differ"
    factors = np.where(idle, 0, factors)

    def outputs(accumulators: Integers) -> Integers:
        sums = (accumulators - starts[:, None]) * factors[:, None]
        return np.clip(part.outputs(sums), limits[0], limits[1])

    channel = _first_wrong_output(rows, outputs, ends)
    return "" if channel is None else f"the bias or the scale of channel {part.rows[channel]} differs"


def _rows(layer: LayerNumbers, rows: Integers) -> LayerNumbers:
    """The layer of some channels, for its outputs only."""
    return replace(layer, multipliers=layer.multipliers[rows], shifts=layer.shifts[rows])


def _factors(packed: Integers, wanted: Integers) -> Integers:
    """Factors by which the packed weights of each row are scaled up, read off its largest weight: at least 1."""
    at = np.abs(wanted).argmax(axis=1)[:, None]
    factors, of = np.take_along_axis(wanted, at, 1)[:, 0], np.take_along_axis(packed, at, 1)[:, 0]
    result: Integers = np.maximum(np.where(factors == 0, 1, of // np.where(factors == 0, 1, factors)), 1)
    return result


def _first_wrong_output(layer: LayerNumbers, outputs: Outputs, ends: Sequence[Integers]) -> int | None:
    """The first channel whose kernel gives another output than TFLite for a sum between its two ends."""
    values = np.arange(layer.least + 1, layer.greatest + 1)
    least, greatest = (end[:, None] for end in ends)
    # On both sides of zero, a kernel's outputs ascend by themselves.
    known = np.clip(np.concatenate([least, greatest, 0 * least - 1, 0 * least], axis=1), least, greatest)
    exact = np.clip(layer.outputs(known), layer.least, layer.greatest) == outputs(known)
    wrong = ~exact.all(axis=1)
    if len(values):
        moving = np.where(layer.multipliers == 0, 1, layer.multipliers)
        begin = replace(layer, multipliers=moving).thresholds(values)
        reached = outputs(np.clip(begin, least, greatest)) >= values
        before = outputs(np.clip(begin - 1, least, greatest)) < values
        fails = ((begin <= greatest) & ~reached) | ((begin > least) & ~before)
        wrong |= fails.any(axis=1) & (layer.multipliers != 0)
    places = np.flatnonzero(wrong)
    return int(places[0]) if len(places) else None
