"""Operands and results of rules: what a rule for an operator's gradient gets, and gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tflmgen.gradients.flow_graph import ABSENT, FlowGraph, FlowNode, Shape
from tflmgen.gradients.graph_arithmetic import Arithmetic


class NoGradientError(Exception):
    """A case of an operator that its rule does not cover; the text goes behind "has no gradient for"."""


LARGEST_MATRIX = 1 << 24
"""Elements that a rule may make a constant matrix of: 64 MB of float32."""


def check_matrix(rows: int, columns: int) -> None:
    """Raises NoGradientError before a constant matrix is made that a small file could declare too large."""
    if rows * columns > LARGEST_MATRIX:
        raise NoGradientError(f"dimensions whose matrix has {rows} by {columns} elements")


@dataclass(frozen=True, slots=True)
class RuleContext:
    """An operator of the source, seen from the graph in which its gradient is computed.

    node       the operator; indices of tensors are those of `source`
    arithmetic adds operators to the graph of gradients
    keep       a tensor of the source -> its value there: asked for only where it is needed, since it is kept until then
    active     whether an input depends on weights that train
    """

    node: FlowNode
    source: FlowGraph
    arithmetic: Arithmetic
    keep: Callable[[int], int]
    active: Callable[[int], bool]

    def has(self, place: int) -> bool:
        """Whether an optional input is there."""
        return place < len(self.node.inputs) and self.node.inputs[place] != ABSENT

    def needs(self, place: int) -> bool:
        """Whether the gradient by an input is asked for."""
        return self.has(place) and self.active(self.node.inputs[place])

    def input(self, place: int) -> int:
        """The value of an input."""
        return self.keep(self.node.inputs[place])

    def output(self, place: int = 0) -> int:
        """The value of a result."""
        return self.keep(self.node.outputs[place])

    def shape(self, place: int) -> Shape:
        """Dimensions of an input."""
        return self.source.shape(self.node.inputs[place])

    def output_shape(self, place: int = 0) -> Shape:
        """Dimensions of a result."""
        return self.source.shape(self.node.outputs[place])

    def constants(self, place: int, label: str) -> list[int]:
        """Elements of an input that is constant. Raises NoGradientError where it is not."""
        values = self.source.values(self.node.inputs[place]) if self.has(place) else None
        if values is None:
            raise NoGradientError(f"a {label} that is known at run time only")
        return [int(value) for value in np.ravel(values)]


Gradients = Sequence[int | None]
"""By input: its gradient, None where that is not asked for or always 0."""

GradientRule = Callable[[RuleContext, Sequence[int | None]], Gradients]
"""Adds an operator's gradient: by result its gradient, None for 0 -> gradients by inputs, trailing ones left out."""


def through_activation(context: RuleContext, gradient: int) -> int:
    """The gradient before a fused activation, by the result behind it."""
    activation = context.node.activation
    if activation == 0:
        return gradient
    if activation not in (1, 2, 3):
        raise NoGradientError(f"the fused activation {activation}")
    a = context.arithmetic
    result = context.output()
    low, high = ((0.0, None), (-1.0, 1.0), (0.0, 6.0))[activation - 1]
    gradient = a.where(a.greater(result, a.number(low)), gradient)
    return gradient if high is None else a.where(a.greater(a.number(high), result), gradient)
