"""Filters and pools over images and volumes whose extents in space are known at run time only.

The operator runs over the largest image. What is not in use becomes padding, which changes no result: zeros for a
filter, the least number for the greatest of a window. The extent of the output is counted at run time (WINDOW_COUNT).
With SAME padding and a stride, the padding before the image depends on its extent, too: the image is moved by so much.
A mean over SAME padding counts the pixels of the image only; it is computed at its extents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_row_call import DynamicCall, RowError, checked
from tflmgen.frontend.import_row_wise import row_wise
from tflmgen.ir.graph import Value
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels import Sliding, instance_of, traits_of
from tflmgen.kernels.numeric import FLOAT_MAX
from tflmgen.kernels.operators import Spacing
from tflmgen.kernels.specification import EXPLICIT_PADDING, Window, four, is_hybrid

MEANS = {"AVERAGE_POOL_2D": "AVERAGE_POOL_IN_USE", "L2_POOL_2D": "L2_POOL_IN_USE"}
"""Pools in which padding takes no part -> the operator that computes one at the image's extents."""

VALID = 1
"""The schema's number of padding VALID."""
SPACE = (1, 2, 3)
"""Axes of a volume along which a filter moves."""


def slide(context: Context, builder: Builder, call: DynamicCall) -> tuple[Value, ...] | None:
    """CONV_2D, DEPTHWISE_CONV_2D and the pools of an image with a dynamic height or width."""
    image = call.inputs[0]
    if image is None or len(image.type.shape) != 4:
        return None
    extents = context.extents.get(image, {})
    dynamic = [axis for axis in (1, 2) if axis in extents]
    if not dynamic:
        return None
    if 3 in extents or any(v in context.extents for v in call.inputs[1:] if v is not None):
        raise RowError(f"{call.op.name} requires channels and weights whose dimensions do not depend on the run time")
    operator = checked(context, call, call.inputs)
    instance = instance_of(call.inputs, operator.outputs, operator.attributes, context.constants)
    return _Slide(context, builder, call, _window_of(call, instance), instance).outputs(image, dynamic)


def slide_volume(context: Context, builder: Builder, call: DynamicCall) -> tuple[Value, ...] | None:
    """CONV_3D of a volume with a dynamic depth, height or width; its SAME padding is laid around the volume."""
    volume = call.inputs[0]
    if volume is None or len(volume.type.shape) != 5:
        return None
    extents = context.extents.get(volume, {})
    if not any(axis in extents for axis in SPACE):
        return None
    if 4 in extents or any(v in context.extents for v in call.inputs[1:] if v is not None):
        raise RowError(f"{call.op.name} requires channels and weights whose dimensions do not depend on the run time")
    attributes = checked(context, call, call.inputs).attributes
    assert call.inputs[1] is not None
    taps = call.inputs[1].type.max_shape
    counts = {}
    for axis in SPACE:
        reach = (taps[axis - 1] - 1) * attributes.dilations[axis - 1] + 1
        spacing, extent = Spacing(attributes.strides[axis - 1], reach, attributes.same), volume.type.max_shape[axis]
        if axis in extents:
            counts[axis] = builder.window_count(extents[axis], spacing)
        room = _room(spacing, extent)
        if attributes.same and (axis in extents or room > extent):
            varying, fixed = axis in extents, builder.integers("padding", (room - extent) // 2)
            padding = builder.window_padding(extents[axis], spacing) if varying else fixed
            volume = builder.place(volume, padding, 0, axis, room)
    options = {**(call.op.options or {}), "padding": VALID}
    valid = replace(call, op=replace(call.op, options=options), inputs=(volume, *call.inputs[1:]))
    (output,) = row_wise(context, builder, valid, frozenset((0, axis) for axis in counts))
    context.extents[output] = {**context.extents.get(output, {}), **counts}
    return (output,)


def _room(spacing: Spacing, extent: int) -> int:
    """Rows that `most` rows and the padding before them, or their last window, take at most."""
    windows = -(-extent // spacing.stride)
    return max(extent, (windows - 1) * spacing.stride + spacing.reach)


def _window_of(call: DynamicCall, instance: OperatorInstance) -> Window:
    shapes = [four(t.max_shape) for t in instance.inputs[:2] if t is not None]
    taps = shapes[1][1:3] if traits_of(call.op.name).window is Sliding.FILTER else instance.attributes.taps
    return Window(instance.attributes.steps, shapes[0], taps)


class _Slide:
    """One operator whose window moves over an image; axes are those of the image."""

    def __init__(
        self, context: Context, builder: Builder, call: DynamicCall, window: Window, instance: OperatorInstance
    ) -> None:
        self._context = context
        self._builder = builder
        self._call = call
        self._window = window
        self._instance = instance

    def outputs(self, image: Value, dynamic: Sequence[int]) -> tuple[Value, ...]:
        context, builder = self._context, self._builder
        counts = {axis: builder.window_count(builder.extent(image, axis), self._spacing(axis)) for axis in dynamic}
        if self._window.steps.same and self._call.op.name in MEANS:
            return (self._mean_in_use(image, counts),)
        before, after = [0, 0], [0, 0]
        for axis in (1, 2):
            if axis not in counts:
                before[axis - 1], after[axis - 1] = self._static_padding(axis)
            elif not self._window.steps.same:
                image = builder.fill(image, 0, axis) if self._reads_all() else image
            elif self._spacing(axis).stride == 1:
                missing = self._spacing(axis).reach - 1
                before[axis - 1], after[axis - 1] = missing // 2, missing - missing // 2
                if missing or self._reads_all():
                    image = builder.fill(image, self._neutral(image), axis)
            else:
                padding = builder.window_padding(builder.extent(image, axis), self._spacing(axis))
                room = _room(self._spacing(axis), self._window.input[axis])
                image = builder.place(image, padding, self._neutral(image), axis, room)
        options = {**(self._call.op.options or {}), "padding": VALID, EXPLICIT_PADDING: (*before, *after)}
        valid = replace(self._call, op=replace(self._call.op, options=options), inputs=(image, *self._call.inputs[1:]))
        (output,) = row_wise(context, builder, valid, frozenset((0, axis) for axis in dynamic))
        context.extents[output] = {**context.extents.get(output, {}), **counts}
        return (output,)

    def _spacing(self, axis: int) -> Spacing:
        steps = self._window.steps
        stride = (steps.stride_height, steps.stride_width)[axis - 1]
        return Spacing(stride, self._window.reach[axis - 1], steps.same)

    def _static_padding(self, axis: int) -> tuple[int, int]:
        """Padding along a dimension that is not dynamic, before and after."""
        spacing, size = self._spacing(axis), self._window.input[axis]
        if not spacing.same:
            return self._window.steps.before[axis - 1], self._window.steps.after[axis - 1]
        window_extent = (self._window.height, self._window.width)[axis - 1]
        return window_extent.padding, max(
            0, (window_extent.output - 1) * spacing.stride + spacing.reach - size - window_extent.padding
        )

    def _neutral(self, image: Value) -> float:
        """The number of which a window takes no notice."""
        if traits_of(self._call.op.name).window is Sliding.FILTER:
            return image.type.quantization.zero_point if image.type.quantization else 0
        return -FLOAT_MAX if image.type.dtype.is_float else image.type.dtype.limits[0]

    def _reads_all(self) -> bool:
        """Whether what is not in use counts even outside of windows: in the range of values that are quantised."""
        return traits_of(self._call.op.name).window is Sliding.FILTER and is_hybrid(self._instance)

    def _mean_in_use(self, image: Value, windows: dict[int, Value]) -> Value:
        context, builder = self._context, self._builder
        (type_,) = self._instance.outputs
        extents = [builder.extent(image, axis) for axis in range(3)]
        dense = builder.op(
            MEANS[self._call.op.name], (builder.dense(image), *extents), type_, dict(self._call.op.options or {})
        )
        batches = {0: extents[0]} if 0 in context.extents.get(image, {}) else {}
        context.extents[dense] = {**batches, **windows}
        return builder.spread(dense, type_, builder.shape(dense), context.extents[dense])
