"""RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR between sizes that are known at run time only.

Not operators of TFLite: the importer makes them. Their operands are the image, the extents of its height and width,
and those of the output's; attributes as in resize.py.
"""

from __future__ import annotations

from collections.abc import Callable

from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Params, Target
from tflmgen.kernels.operators.binary import SUFFIX
from tflmgen.kernels.operators.resize import parse
from tflmgen.kernels.specification.operator import OperatorSpec, Shape
from tflmgen.kernels.specification.rules import input_type, static_shape


def _shape(op: OperatorInstance) -> tuple[Shape]:
    return (op.outputs[0].shape,)


def _kernel(name: str) -> Callable[[OperatorInstance, Target], Kernel]:
    def kernel(op: OperatorInstance, target: Target) -> Kernel:
        del target
        image, sampling = input_type(op, 0), op.attributes
        (batches, height, width, channels), output = static_shape(image), static_shape(op.outputs[0])
        fields = (
            ("batches", batches),
            ("input_height", height),
            ("input_width", width),
            ("output_height", output[1]),
            ("output_width", output[2]),
            ("pixel_bytes", channels * image.dtype.bits // 8),
            ("channels", channels),
            ("align_corners", sampling.align_corners),
            ("half_pixel_centers", sampling.half_pixel_centers),
        )
        function = f"tflmgen_resize_{name}_in_use"
        if name == "bilinear":
            function += f"_{SUFFIX[image.dtype]}"
        operands = (Input(0), Input(1), Input(2), Input(3), Input(4), Output(0))
        return Kernel(function, "resize_in_use.h", operands, Params("tflmgen_resize_in_use", fields))

    return kernel


OPERATORS = (
    OperatorSpec("RESIZE_NEAREST_NEIGHBOR_IN_USE", parse, (5, 5), 1, (), _shape, _kernel("nearest")),
    OperatorSpec("RESIZE_BILINEAR_IN_USE", parse, (5, 5), 1, (), _shape, _kernel("bilinear")),
)
