"""SOFTMAX, MEAN of integers, recurrent layers ... along a dimension known at run time only: by what is in use of it.

Not operators of TFLite: the importer makes them where filling up what is not in use would change the result. They have
the attributes and the operands of the operator they stand for, and one more: how many elements are in use. Where the
kernel gets the dimension in its params, that is a number of the run time there (`counted`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tflmgen.ir import DType
from tflmgen.ir.kernel import CostedKernel, Input, Kernel, KernelChoice, OperatorInstance, Params, Target
from tflmgen.kernels.operators import log_softmax, lstm, reduce, rnn, softmax
from tflmgen.kernels.operators.row_wise import not_last_axis
from tflmgen.kernels.specification.operator import OperatorSpec, no_attributes
from tflmgen.kernels.traits import BY_AXIS, Traits


def _softmax(
    whole: Callable[[OperatorInstance, Target], Kernel],
) -> Callable[[OperatorInstance, Target], Kernel]:
    """(value, extent of its last dimension)."""

    def kernel(op: OperatorInstance, target: Target) -> Kernel:
        largest = whole(op, target)
        function = largest.function.replace("softmax_", "softmax_in_use_")
        operands = (Input(0), Input(1), *largest.operands[1:])
        return replace(largest, function=function, header="softmax_in_use.h", operands=operands)

    return kernel


def _mean(op: OperatorInstance, target: Target) -> Kernel:
    """(value whose rows not in use are zeros, axes, number of elements that become one)."""
    total = reduce.sum_kernel(op, target)
    params = total.params
    if op.outputs[0].dtype is DType.INT32 and params is not None:
        params = Params("tflmgen_counted_mean", (*params.fields, ("count", 1)))
    function = f"tflmgen_mean_in_use_{reduce.SUFFIX[op.outputs[0].dtype]}"
    operands = (Input(0), Input(2), *total.operands[1:])
    return replace(total, function=function, header="mean_in_use.h", operands=operands, params=params)


def in_use(name: str) -> str:
    """The operator that stands for `name` and has the number of elements in use as its last operand."""
    return f"{name}_IN_USE"


def counted(operator: OperatorSpec, field: str) -> OperatorSpec:
    """The operator with all inputs that it may have and one more: the extent that `field` of its params becomes.

    Its tensors are dense: they lie as those of the actual dimension do.
    """
    at = operator.inputs[1]

    def kernel(op: OperatorInstance, target: Target) -> KernelChoice:
        largest = operator.kernel(replace(op, inputs=op.inputs[:at], constants=op.constants[:at]), target)
        choice = KernelChoice.of(largest) if isinstance(largest, Kernel) else largest
        assert isinstance(choice, KernelChoice)
        return KernelChoice(
            _counted_kernel(choice.chosen, at, field),
            tuple(_counted_kernel(costed, at, field) for costed in choice.alternatives),
            tuple(_counted_kernel(costed, at, field) for costed in choice.considered),
        )

    return replace(operator, name=in_use(operator.name), inputs=(at + 1, at + 1), rules=(), kernel=kernel)


def _counted_kernel(costed: CostedKernel, at: int, field: str) -> CostedKernel:
    kernel = costed.kernel
    return replace(costed, kernel=replace(kernel, operands=(*kernel.operands, Input(at)), counts=(field,)))


BY_ROW = Traits(row_wise=not_last_axis)

OPERATORS = (
    OperatorSpec(
        "SOFTMAX_IN_USE", softmax.parse, (1, 2), 1, (), softmax.infer, _softmax(softmax.kernel), traits=BY_ROW
    ),
    OperatorSpec(
        "LOG_SOFTMAX_IN_USE", no_attributes, (1, 2), 1, (), softmax.infer, _softmax(log_softmax.kernel), traits=BY_ROW
    ),
    OperatorSpec("MEAN_IN_USE", reduce.parse, (2, 3), 1, (), reduce.infer, _mean, traits=BY_AXIS),
    *(counted(layer, "steps") for layer in (*lstm.OPERATORS, *rnn.OPERATORS) if layer.name.startswith("UNI")),
)
