"""RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR of images whose sizes, before or after, are known at run time only."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_row_call import DynamicCall, RowError, bounded, checked
from tflmgen.ir import DType, constant_array
from tflmgen.ir.graph import Value
from tflmgen.kernels.operators import in_use


def resize(context: Context, builder: Builder, call: DynamicCall) -> tuple[Value, ...] | None:
    """The resized image; None if all sizes are known. Raises RowError if the channels are dynamic."""
    image, wanted = call.inputs
    if image is None or wanted is None or len(image.type.shape) != 4 or wanted.type.elements != 2:
        return None
    extents = context.extents.get(image, {})
    numbers = constant_array(wanted, context.constants)
    if numbers is not None and not any(axis in extents for axis in (1, 2)):
        return None
    if 3 in extents:
        raise RowError(f"{call.op.name} requires channels whose number does not depend on the run time")
    largest_size = _largest_size(context, call, wanted) if numbers is None else numbers.reshape(-1).astype(int).tolist()
    fixed = replace(call, inputs=(image, builder.integers("size", largest_size)))
    output = checked(context, fixed, fixed.inputs).outputs[0]
    before = [
        builder.limited_extent(builder.extent(image, a), image.type.max_shape[a], 1, wrong_argument=True)
        for a in (1, 2)
    ]
    after = [builder.integers("size", size) for size in largest_size]
    output_extents = {axis: extent for axis, extent in extents.items() if axis == 0}
    if numbers is None:
        after = [builder.limited_extent(builder.element(wanted, index), largest_size[index], 1) for index in (0, 1)]
        output_extents |= {1: after[0], 2: after[1]}
    resized = builder.op(in_use(call.op.name), (image, *before, *after), output, call.op.options)
    if output_extents:
        context.extents[resized] = output_extents
    return (resized,)


def _largest_size(context: Context, call: DynamicCall, wanted: Value) -> list[int]:
    """The most pixels that the output has at run time, down and across."""
    if wanted.type.dtype is not DType.INT32:
        raise RowError(f"{call.op.name} requires a size of int32, this one has {wanted.type.dtype.label}")
    largest = context.largest.get(wanted)
    signature = call.tensors[0].shape_signature or (-1,) * 4
    largest_size = []
    for index, axis in enumerate((1, 2)):
        if signature[axis] >= 0:
            largest_size.append(signature[axis])
        elif largest is not None and axis not in call.max_dims:
            largest_size.append(int(largest.reshape(-1)[index]))
        else:
            largest_size.append(bounded(context, call, axis))
    return largest_size
