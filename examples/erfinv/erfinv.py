"""A custom operator as a plug-in of tflmgen: Erfinv, the inverse of the error function, in float32."""

from tflmgen.plugin import (
    COMMON,
    CustomOperator,
    DType,
    Input,
    Kernel,
    OperatorInstance,
    Output,
    Overlap,
    Params,
    Shape,
    Target,
    input_type,
    one_type,
)


class Erfinv(CustomOperator):
    name = "Erfinv"
    files = ("erfinv.h",)
    rules = (*COMMON, one_type(DType.FLOAT32))

    def infer(self, op: OperatorInstance) -> tuple[Shape | None, ...]:
        return (input_type(op, 0).shape,)

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        params = Params("erfinv", (("elements", op.outputs[0].elements),))
        return Kernel("erfinv", "erfinv.h", (Input(0), Output(0)), params, overlaps=(Overlap(0, 0),))
