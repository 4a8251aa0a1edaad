"""TRANSPOSE_CONV of images, or to a size, that are known at run time only.

It runs without padding: rows not in use are zeros and add nothing to those that the rows in use make. The SAME padding
that follows from the size is cut off afterwards. An error at run time where a convolution of the size would not give
an image of the extents in use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_row_call import DynamicCall, RowError
from tflmgen.frontend.import_row_wise import row_wise
from tflmgen.ir import constant_array
from tflmgen.ir.graph import Value
from tflmgen.kernels.operators import Cut, RowWindow, Spacing
from tflmgen.kernels.specification import Steps

VALID = 1
"""The schema's number of padding VALID."""


def transpose(context: Context, builder: Builder, call: DynamicCall) -> tuple[Value, ...] | None:
    """TRANSPOSE_CONV; None if its operands have no form that is known. Raises RowError if channels or weights are
    dynamic."""
    shape, weights, image = (*call.inputs, None, None)[:3]
    if shape is None or weights is None or image is None or shape.type.elements != 4:
        return None
    if len(image.type.shape) != 4 or len(weights.type.shape) != 4:
        return None
    if 3 in context.extents.get(image, {}) or any(v in context.extents for v in (weights, *call.inputs[3:]) if v):
        raise RowError(f"{call.op.name} requires channels and weights whose dimensions do not depend on the run time")
    try:
        steps = context.operators[call.op.name].attributes(call.op.options).steps
    except ValueError as error:
        raise RowError(str(error)) from error
    return (_Transpose(context, builder, call, steps, weights.type.max_shape).output(image, shape),)


class _Transpose:
    """One operator; axes are those of the image and of the output."""

    def __init__(
        self, context: Context, builder: Builder, call: DynamicCall, steps: Steps, filters: Sequence[int]
    ) -> None:
        self._context, self._builder, self._call, self._filters = context, builder, call, filters
        strides = ((1, steps.stride_height), (2, steps.stride_width))
        self._spacings = {axis: Spacing(stride, filters[axis], steps.same) for axis, stride in strides}
        self._limits: dict[int, int] = {}

    def output(self, image: Value, shape: Value) -> Value:
        builder = self._builder
        sizes = [self._size(image, shape, axis) for axis in range(3)]
        image, batches = self._with_batches(image, sizes[0])
        zero = image.type.quantization.zero_point if image.type.quantization else 0
        for axis, spacing in self._spacings.items():
            size, extents = sizes[axis], self._context.extents.get(image, {})
            if isinstance(size, Value) or axis in extents:
                wanted = builder.integers("size", size) if isinstance(size, int) else size
                rows = builder.equal_extent(builder.window_count(wanted, spacing), builder.extent(image, axis))
                image = builder.fill(image, zero, axis, rows)
            elif _windows(size, spacing) != image.type.max_shape[axis]:
                raise RowError(
                    f"{self._call.op.name} requires an input of the size that a convolution of the output would give; "
                    f"this one has {image.type.max_shape[axis]} elements along axis {axis}, the output {size}"
                )
        whole = self._whole(image)
        if batches is not None:
            self._context.extents[whole] = {0: batches}
        for axis in self._spacings:
            whole = self._cut(whole, axis, sizes[axis])
        return whole

    def _size(self, image: Value, shape: Value, axis: int) -> Value | int:
        """A dimension of the output: a number where the file says it, else an extent of at most what there may be."""
        numbers = constant_array(shape, self._context.constants)
        declared = self._declared(axis)
        largest = self._largest_extent(image, axis)
        number = declared if numbers is None else int(numbers.reshape(-1)[axis])
        if number > largest or number == 0:
            raise RowError(f"{self._call.op.name} makes 1 to {largest} of {number} elements along axis {axis}")
        if numbers is not None:
            return number
        size = self._builder.element(shape, axis)
        self._limits[axis] = declared
        if declared >= 0:
            return declared if axis == 0 else self._builder.limited_extent(size, declared, declared, True)
        bound = self._call.max_dims.get(axis, largest)
        self._limits[axis] = min(bound, largest)
        return self._builder.limited_extent(size, min(bound, largest), 1, wrong_argument=bound >= largest)

    def _declared(self, axis: int) -> int:
        tensor = self._call.tensors[0]
        sizes = tensor.shape_signature or tensor.shape
        return sizes[axis] if len(sizes) == 4 else -1

    def _largest_extent(self, image: Value, axis: int) -> int:
        extent = image.type.max_shape[axis]
        if axis == 0:
            return extent
        spacing = self._spacings[axis]
        return extent * spacing.stride if spacing.same else self._reached(image, axis)

    def _reached(self, image: Value, axis: int) -> int:
        """The most rows from which a convolution without padding gives those of the image."""
        spacing = self._spacings[axis]
        return image.type.max_shape[axis] * spacing.stride + spacing.reach - 1

    def _with_batches(self, image: Value, size: Value | int) -> tuple[Value, Value | None]:
        """The image, and how many are in use where that varies."""
        builder = self._builder
        if isinstance(size, Value):
            return image, builder.equal_extent(builder.extent(image), size)
        varies = 0 in self._context.extents.get(image, {})
        return (builder.exactly(image, size, 0) if varies else image), None

    def _whole(self, image: Value) -> Value:
        """The output without padding."""
        call = self._call
        sizes = [image.type.max_shape[0], *(self._reached(image, axis) for axis in self._spacings), self._filters[0]]
        options = {**(call.op.options or {}), "padding": VALID}
        inputs = (self._builder.integers("shape", sizes), call.inputs[1], image, *call.inputs[3:])
        valid = replace(call, op=replace(call.op, options=options), inputs=inputs)
        (whole,) = row_wise(self._context, self._builder, valid, frozenset((2, axis) for axis in (0, 1, 2)))
        return whole

    def _cut(self, whole: Value, axis: int, size: Value | int) -> Value:
        """The rows after the padding."""
        builder, spacing, declared = self._builder, self._spacings[axis], self._declared(axis)
        if isinstance(size, int):
            missing = max(0, (_windows(size, spacing) - 1) * spacing.stride + spacing.reach - size)
            first = missing // 2 if spacing.same else 0
            return builder.window(whole, RowWindow(first, first + size, True, axis), size)
        first_row = builder.window_padding(size, spacing) if spacing.same else builder.integers("padding", 0)
        return builder.cut(whole, first_row, size, Cut(axis, 1, False, False, True, declared >= 0), self._limits[axis])


def _windows(size: int, spacing: Spacing) -> int:
    return -(-size // spacing.stride) if spacing.same else (size - spacing.reach) // spacing.stride + 1
