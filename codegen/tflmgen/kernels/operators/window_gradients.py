"""Gradients of convolutions and pools in float32, TflmgenRequire and TflmgenAfter: operators of models that train.

`tflmgen train` writes them; other runtimes have none of them. Options are those of the layer. A filter's gradient gets
the layer's input and the gradient by its output; an input's gets the gradient by the output and the filter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tflmgen.ir import DType
from tflmgen.ir.kernel import Cost, Input, Kernel, Operand, OperatorInstance, Output, Overlap, Params, Target, View
from tflmgen.kernels.operators.custom import CustomOperator
from tflmgen.kernels.specification.operator import Options, Rule, Shape
from tflmgen.kernels.specification.option_fields import positive
from tflmgen.kernels.specification.rules import (
    COMMON,
    input_is,
    input_shape,
    input_type,
    one_type,
    output_is,
    static_shape,
)
from tflmgen.kernels.specification.window import Fields, Steps, Window, four, parse_steps
from tflmgen.kernels.traits import Traits

IMAGES = Rule(
    "operands and a result of 4 dimensions, none of them 0",
    lambda op: all(t is not None and len(t.shape) == 4 and t.elements > 0 for t in (*op.inputs, *op.outputs)),
)


@dataclass(frozen=True, slots=True)
class _Window:
    """Steps of the layer's window, and the taps of a pool, which has no filter."""

    steps: Steps
    taps: tuple[int, int] = (0, 0)


class _WindowGradient(CustomOperator):
    """A gradient of a layer with a window. Subclasses say which operand or result is what."""

    inputs = (2, 2)
    input_place, output_place, filter_place = -1, -1, -1
    """Places of operands with the layer's input, output and filter; -1: the result has."""
    function, header = "", "conv2d_gradients.h"
    depthwise = False

    def attributes(self, options: Options) -> _Window:
        return _Window(parse_steps(options, dilated=True))

    def infer(self, op: OperatorInstance) -> tuple[Shape | None]:
        del op
        return (None,)

    def _shape(self, op: OperatorInstance, place: int) -> tuple[int, int, int, int]:
        return four(static_shape(op.outputs[0]) if place < 0 else input_shape(op, place))

    def _window(self, op: OperatorInstance) -> Window:
        taps = self._shape(op, self.filter_place)[1:3]
        return Window(op.attributes.steps, self._shape(op, self.input_place), taps)

    def _fits(self, op: OperatorInstance) -> bool:
        """Whether the layer has an output of this shape for an input of this one."""
        window, output = self._window(op), self._shape(op, self.output_place)
        return window.fits and (window.input[0], window.height.output, window.width.output) == output[:3]

    def _channels_fit(self, op: OperatorInstance) -> bool:
        channels, results = (self._shape(op, place)[3] for place in (self.input_place, self.output_place))
        filters = self._shape(op, self.filter_place)
        if self.depthwise:
            return filters[0] == 1 and filters[3] == results and results % channels == 0
        groups, rest = divmod(channels, filters[3])
        return filters[0] == results and rest == 0 and results % groups == 0

    @property
    def rules(self) -> tuple[Rule, ...]:  # type: ignore[override]
        """Shapes that a layer has."""
        return (
            *COMMON,
            one_type(DType.FLOAT32),
            output_is(DType.FLOAT32),
            IMAGES,
            Rule("a filter with the channels of the layer's input and output", self._channels_fit),
            Rule("an output of the shape that the layer gives for its input", self._fits),
        )

    def _fields(self, op: OperatorInstance) -> Fields:
        window, filters = self._window(op), self._shape(op, self.filter_place)
        fields = window.fields(self._shape(op, self.output_place)[3])
        return (*fields, *window.dilation_fields, ("filter_channels", filters[3]))

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        filters = self._shape(op, self.filter_place)
        macs = math.prod(self._shape(op, self.output_place)) * math.prod(filters[1:3])
        macs *= 1 if self.depthwise else filters[3]
        params = Params("tflmgen_conv2d_gradient", self._fields(op))
        operands = (Input(0), Input(1), Output(0))
        return Kernel(self.function, self.header, operands, params, cost=Cost(macs))


class ConvFilterGradient(_WindowGradient):
    """Gradient of a loss by the filter of CONV_2D."""

    name = "TflmgenConv2DFilterGradient"
    input_place, output_place = 0, 1
    function = "tflmgen_conv2d_filter_gradient"


class ConvInputGradient(_WindowGradient):
    """Gradient of a loss by the input of CONV_2D."""

    name = "TflmgenConv2DInputGradient"
    output_place, filter_place = 0, 1
    function = "tflmgen_conv2d_input_gradient"


class DepthwiseFilterGradient(ConvFilterGradient):
    """Gradient of a loss by the filter of DEPTHWISE_CONV_2D."""

    name = "TflmgenDepthwiseConv2DFilterGradient"
    function, header = "tflmgen_depthwise_conv2d_filter_gradient", "depthwise_gradients.h"
    depthwise = True


class DepthwiseInputGradient(ConvInputGradient):
    """Gradient of a loss by the input of DEPTHWISE_CONV_2D."""

    name = "TflmgenDepthwiseConv2DInputGradient"
    function, header = "tflmgen_depthwise_conv2d_input_gradient", "depthwise_gradients.h"
    depthwise = True


class _PoolGradient(_WindowGradient):
    """A gradient by the input of a pool."""

    header = "pool_gradients.h"

    def attributes(self, options: Options) -> _Window:
        taps = positive(options, "filter_height"), positive(options, "filter_width")
        return _Window(parse_steps(options, dilated=False), taps)

    def _window(self, op: OperatorInstance) -> Window:
        return Window(op.attributes.steps, self._shape(op, self.input_place), op.attributes.taps)

    def _channels_fit(self, op: OperatorInstance) -> bool:
        return self._shape(op, self.input_place)[3] == self._shape(op, self.output_place)[3]

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        params = Params("tflmgen_pool2d_gradient", self._window(op).channel_fields)
        inputs: list[Operand] = [Input(place) for place in range(len(op.inputs))]
        return Kernel(self.function, self.header, (*inputs, Output(0)), params)


class MaxPoolGradient(_PoolGradient):
    """Gradient of a loss by the input of MAX_POOL_2D, which is its first operand."""

    name = "TflmgenMaxPool2DGradient"
    input_place, output_place = 0, 1
    function = "tflmgen_max_pool2d_gradient"


class AveragePoolGradient(_PoolGradient):
    """Gradient of a loss by the input of AVERAGE_POOL_2D."""

    name = "TflmgenAveragePool2DGradient"
    inputs = (1, 1)
    output_place = 0
    function = "tflmgen_average_pool2d_gradient"


class Require(CustomOperator):
    """Its second operand; where the first, a condition, does not hold, an error instead."""

    name = "TflmgenRequire"
    inputs = (2, 2)
    rules = (
        *COMMON,
        input_is(0, "condition", DType.BOOL),
        input_is(1, "value", DType.FLOAT32),
        output_is(DType.FLOAT32),
        Rule("operands of one element", lambda op: input_type(op, 0).elements == input_type(op, 1).elements == 1),
    )
    traits = Traits(may_fail=True)

    def infer(self, op: OperatorInstance) -> tuple[Shape]:
        return (input_shape(op, 1),)

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del op, target
        operands = (Input(0), Input(1), Output(0))
        return Kernel("tflmgen_require", "require.h", operands, None, (Overlap(1, 0),), error="TFLMGEN_ERROR_ARGUMENT")


class After(CustomOperator):
    """Its first operand, once the second is computed: what reads it cannot run before, nor be merged with what did."""

    name = "TflmgenAfter"
    inputs = (2, 2)
    rules = (*COMMON, one_type(DType.FLOAT32), output_is(DType.FLOAT32))

    def infer(self, op: OperatorInstance) -> tuple[Shape]:
        return (input_shape(op, 0),)

    def kernel(self, op: OperatorInstance, target: Target) -> View:
        del op, target
        return View(0)


OPERATORS = tuple(
    operator.row()
    for operator in (
        ConvFilterGradient(),
        ConvInputGradient(),
        DepthwiseFilterGradient(),
        DepthwiseInputGradient(),
        MaxPoolGradient(),
        AveragePoolGradient(),
        Require(),
        After(),
    )
)
