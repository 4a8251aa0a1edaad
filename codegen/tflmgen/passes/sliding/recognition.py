"""Recognition of operators that compute each row of time from a window of rows. Others run on whole tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from tflmgen.errors import ModelError, Problem
from tflmgen.ir import TensorType, constant_array
from tflmgen.ir.graph import Op, Value
from tflmgen.kernels import Sliding, instance_of_op, traits_of
from tflmgen.kernels.operators import axis_of, fixed_cuts, paddings
from tflmgen.kernels.specification import Operators, Window, four, is_hybrid
from tflmgen.passes.sliding.moving_sums import MovingSum, moving_sum
from tflmgen.passes.sliding.row_maps import CutRows, Padded, RowMap, RowWise, Viewed
from tflmgen.passes.sliding.track import Track
from tflmgen.passes.sliding.windowed_rows import Windowed

Tracks = Mapping[Value, Track]


class Recognition:
    """Finds the RowMap of operators.

    path    of the model, for messages
    phases  whether rows that move by a part of a stride in each hop are kept for several windows
    """

    def __init__(self, constants: Mapping[str, bytes], operators: Operators, path: str, phases: bool = False) -> None:
        self._constants, self._operators, self._path, self._phases = constants, operators, path, phases

    def row_map(self, op: Op, tracks: Tracks) -> RowMap | None:
        """Map from rows of sliding inputs to the operator's; None if it combines rows of different time.

        Raises ModelError where rows move by a part of a hop, unless phases are kept.
        """
        sliding = {i: tracks[v] for i, v in enumerate(op.inputs) if v is not None and v in tracks}
        others = [v for v in op.inputs if v is not None and v not in tracks]
        entry = self._operators.get(op.operator)
        if entry is None or entry.state or entry.updates or not all(v.is_constant for v in others):
            return None
        traits = traits_of(op.operator, self._operators)
        if traits.may_fail or not all(v.type.is_static for v in (*op.outputs, *others)):
            return None
        if traits.elementwise or traits.joins:
            return None if traits.aligns_leading else self._together(op, sliding)
        (index, track), *several = sliding.items()
        if several or index not in (0, traits.roles.data):
            return None
        if index:
            return self._row_wise(op, index, track)
        if traits.view:
            return self._viewed(op, track)
        if traits.window is not None and track.axis in (1, 2):
            return self._windowed(op, track)
        if traits.cuts:
            return self._cut(op, track)
        if traits.pads and self._pads_time(op, track):
            return self._padded(op, track)
        return self._row_wise(op, 0, track)

    def moving_sum(self, op: Op, tracks: Tracks) -> MovingSum | None:
        """The operator as one on sums that are kept from hop to hop; None where it is none."""
        return moving_sum(op, tracks, self._constants, self._operators)

    def _together(self, op: Op, sliding: Mapping[int, Track]) -> RowMap | None:
        """Operators on several tensors whose rows lie side by side."""
        rank = len(op.outputs[0].type.shape)
        traits = traits_of(op.operator, self._operators)
        from_end = {i: track.axis - len(_type(op, i).shape) for i, track in sliding.items()}
        period = math.lcm(*(track.period for track in sliding.values()))
        alike = {(t.rows, t.at_period(period).hop, from_end[i]) for i, t in sliding.items()}
        if len(alike) > 1 or len(op.outputs) != 1:
            return None
        rows, hop, axis = alike.pop()
        if op.outputs[0].type.max_shape[axis] != rows:
            return None
        if traits.joins and (
            any(len(_type(op, i).shape) != rank for i in sliding)
            or axis_of(instance_of_op(op, self._constants)) == rank + axis
        ):
            return None
        constants = {}
        for i, value in enumerate(op.inputs):
            if value is None or i in sliding or len(value.type.shape) < -axis or value.type.max_shape[axis] == 1:
                continue
            array = constant_array(value, self._constants)
            if array is None or not (array == np.take(array, [0], axis)).all() or array.ndim == 0:
                return None
            constants[i] = array.ndim + axis
        if traits.joins and any(v is not None and v.type.max_shape[axis] != rows for v in op.inputs):
            return None
        first, end = max(t.first for t in sliding.values()), min(t.end for t in sliding.values())
        track = Track(rank + axis, rows, hop, first, max(first, end), period)
        return RowWise(op, (track,), {i: t.axis for i, t in sliding.items()}, constants)

    def _row_wise(self, op: Op, index: int, track: Track) -> RowMap | None:
        """Operators on one tensor that keep the rows along its axis of time apart."""
        instance = instance_of_op(op, self._constants)
        traits = traits_of(op.operator, self._operators)
        if track.rows < 2 or not traits.row_wise(instance, track.axis):
            return None
        type_ = _type(op, index)
        larger = type_.with_dim(track.axis, track.rows + 1)
        enlarged = replace(instance, inputs=tuple(larger if i == index else t for i, t in enumerate(instance.inputs)))
        entry = self._operators[op.operator]
        try:
            shapes = [s if s is None else TensorType(larger.dtype, s).max_shape for s in entry.infer(enlarged)]
        except (ValueError, ArithmeticError, LookupError, TypeError):
            return None
        places = [_grown(v.type.max_shape, s, track.rows) for v, s in zip(op.outputs, shapes, strict=True)]
        outer = math.prod(type_.max_shape[: track.axis])
        grown_axes = [axis for axis in places if axis is not None]
        if len(grown_axes) < len(places):
            return None
        if traits.reshapes_rows and any(
            math.prod(v.type.max_shape[:axis]) != outer for v, axis in zip(op.outputs, grown_axes, strict=True)
        ):
            return None
        return RowWise(op, tuple(replace(track, axis=axis) for axis in grown_axes), {index: track.axis}, {})

    def _windowed(self, op: Op, track: Track) -> RowMap | None:
        steps: Any = op.attributes.steps
        image = four(_type(op, 0).max_shape)
        is_pool = traits_of(op.operator, self._operators).window is Sliding.POOL
        taps = op.attributes.taps if is_pool else four(_type(op, 1).max_shape)[1:3]
        window = Window(steps, image, taps)
        dim = track.axis - 1
        extent = (window.height, window.width)[dim]
        stride = (steps.stride_height, steps.stride_width)[dim]
        dilation = (steps.dilation_height, steps.dilation_width)[dim]
        reach, padding = window.reach[dim], extent.padding
        if extent.output < 2 or (not is_pool and is_hybrid(instance_of_op(op, self._constants))):
            return None  # TFLite quantises the input of int8 weights beside floats by the range of all its rows
        moved = self._in_steps(track, stride)
        if moved is None:
            rows = f"{track.hop} row{'s' * (track.hop != 1)}"
            self._fail(op, f"moves {stride} rows at a time, and a hop has {rows} of its input", stride, track)
        first = min(max(0, -(-(track.first + padding) // stride)), extent.output)
        end = min(max(first, (track.end - reach + padding) // stride + 1), extent.output)
        own = replace(moved, rows=extent.output, hop=moved.hop // stride, first=first, end=end)
        return Windowed(op, (own,), window, dim, stride, padding, dilation)

    def _viewed(self, op: Op, track: Track) -> RowMap | None:
        """A view in which rows stay rows, or several of them become one, or one several."""
        shape, viewed = _type(op, 0).max_shape, op.outputs[0].type.max_shape
        outer, inner = math.prod(shape[: track.axis]), math.prod(shape[track.axis + 1 :])
        axes = [axis for axis in range(len(viewed)) if math.prod(viewed[:axis]) == outer and viewed[axis] > 1]
        if not axes or not inner:
            return None
        axis = axes[0]
        own = math.prod(viewed[axis + 1 :])
        if viewed[axis] * own != track.rows * inner or (inner % own and own % inner):
            return None
        split, joined = max(1, inner // own), max(1, own // inner)
        moved = self._in_steps(track, joined)
        if moved is None:
            return None
        first, end = -(-track.first * split // joined), track.end * split // joined
        hop = moved.hop * split // joined
        own_track = replace(moved, axis=axis, rows=viewed[axis], hop=hop, first=first, end=max(first, end))
        return Viewed(op, (own_track,), split, joined)

    def _in_steps(self, track: Track, step: int) -> Track | None:
        """The track over as many windows as move its rows by a multiple of `step`; None if only phases have that."""
        times = track.times_until_whole(step)
        return track.at_period(track.period * times) if times == 1 or self._phases else None

    def _fail(self, op: Op, reason: str, step: int, track: Track) -> NoReturn:
        where = op.origin.location(self._path)
        times = track.times_until_whole(step)
        advice = (
            f"Choose {'twice' if times == 2 else f'{times} times'} the HOP, or a multiple of that, or keep the rows of "
            f"{times} windows with --slide-phases"
        )
        raise ModelError([Problem(where, f"--slide: {op.operator} {reason}", advice)])

    def _cut(self, op: Op, track: Track) -> RowMap | None:
        cuts = fixed_cuts(instance_of_op(op, self._constants))
        value = op.inputs[0]
        if (
            cuts is None
            or value is None
            or 0 in (count for _, count, _ in cuts)
            or value.type.quantization != op.outputs[0].type.quantization
        ):
            return None
        start, count, stays = cuts[track.axis]
        if not stays or count < 2:
            return CutRows(op, (), track.axis, cuts)
        first = min(max(0, track.first - start), count)
        axis = sum(kept for _, _, kept in cuts[: track.axis])
        own = replace(track, axis=axis, rows=count, first=first, end=max(first, min(count, track.end - start)))
        return CutRows(op, (own,), track.axis, cuts)

    def _pads_time(self, op: Op, track: Track) -> bool:
        return constant_array(op.inputs[1], self._constants) is not None and any(
            paddings(instance_of_op(op, self._constants))[track.axis]
        )

    def _padded(self, op: Op, track: Track) -> RowMap | None:
        sides, quantization = tuple(paddings(instance_of_op(op, self._constants))), op.outputs[0].type.quantization
        fills = constant_array(op.inputs[2], self._constants) if len(op.inputs) > 2 else None
        fill = quantization.zero_point if quantization is not None and fills is None else 0
        before, after = sides[track.axis]
        own = replace(track, rows=before + track.rows + after, first=track.first + before, end=track.end + before)
        return Padded(op, (own,), track.rows, sides, fill if fills is None else fills.reshape(-1)[0])


def _type(op: Op, index: int) -> TensorType:
    value = op.inputs[index]
    assert value is not None
    return value.type


def _grown(before: Sequence[int], after: Sequence[int] | None, rows: int) -> int | None:
    """The only axis along which a shape has one row more; None if there is none, or it had another number of rows."""
    if after is None or len(before) != len(after):
        return None
    changed = [axis for axis, sizes in enumerate(zip(before, after, strict=True)) if sizes[0] != sizes[1]]
    if len(changed) != 1 or (before[changed[0]], after[changed[0]]) != (rows, rows + 1):
        return None
    return changed[0]
