"""Activations and other functions of one element that TFLite spells in several operators, or in one with options."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tflmgen.frontend.onnx import compose as c
from tflmgen.frontend.onnx.compose import F32
from tflmgen.frontend.onnx.laid_out import Graph, Value, check_constant, constant
from tflmgen.frontend.onnx.located import NodeError
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import Node


@lowers("Elu", "Selu", "Celu")
def elu(node: Node) -> Value:
    """gamma * (x > 0 ? x : alpha * (exp(x / beta) - 1)), with beta = alpha in Celu."""
    g, value = node.graph, node[0]
    alpha = float(node.attribute("alpha", 1.6732632423543772 if node.op == "Selu" else 1.0))
    gamma = float(node.attribute("gamma", 1.0507009873554805)) if node.op == "Selu" else 1.0
    if node.op == "Celu" and alpha != 1.0:
        return c.mul(g, c.elementwise(g, "ELU", c.div(g, value, alpha)), alpha)
    return scaled_elu(g, value, alpha, gamma)


def scaled_elu(g: Graph, value: Value, alpha: float, gamma: float = 1.0) -> Value:
    """gamma * (x > 0 ? x : alpha * (exp(x) - 1))."""
    if alpha == 1.0:
        activated = c.elementwise(g, "ELU", value)
        return activated if gamma == 1.0 else c.mul(g, activated, gamma)
    below = c.mul(g, c.elementwise(g, "ELU", c.minimum(g, value, 0.0)), alpha * gamma)
    above = c.relu(g, value)
    return c.add(g, above if gamma == 1.0 else c.mul(g, above, gamma), below)


@lowers("LeakyRelu")
def leaky_relu(node: Node) -> Value:
    """LeakyRelu: x, or alpha * x below 0."""
    return c.elementwise(node.graph, "LEAKY_RELU", node[0], options={"alpha": float(node.attribute("alpha", 0.01))})


@lowers("PRelu")
def parametric_relu(node: Node) -> Value:
    """PRelu: x, or slope * x below 0, with the slope broadcast to the value's shape."""
    g, value, slope = node.graph, node[0], node[1]
    if value.dtype is not F32:
        return c.where(g, c.less(g, value, 0), c.mul(g, value, slope), value)
    if slope.rank < value.rank:
        slope = c.expanded(g, slope, value.rank)
    return c.elementwise(g, "PRELU", value, slope)


@lowers("ThresholdedRelu")
def thresholded_relu(node: Node) -> Value:
    """ThresholdedRelu: x above alpha, else 0."""
    alpha = float(node.attribute("alpha", 1.0))
    return c.where(node.graph, c.greater(node.graph, node[0], alpha), node[0], 0.0)


@lowers("HardSigmoid")
def hard_sigmoid(node: Node) -> Value:
    """HardSigmoid: alpha * x + beta, clamped to 0 and 1."""
    alpha, beta = float(node.attribute("alpha", 0.2)), float(node.attribute("beta", 0.5))
    return c.clamped_to_1(node.graph, c.add(node.graph, c.mul(node.graph, node[0], alpha), beta))


@lowers("HardSwish")
def hard_swish(node: Node) -> Value:
    """HardSwish: x * clamp(x / 6 + 1/2, 0, 1)."""
    return c.elementwise(node.graph, "HARD_SWISH", node[0])


@lowers("Swish", "Silu")
def swish(node: Node) -> Value:
    """Swish (Silu): x * sigmoid(alpha * x)."""
    g, alpha = node.graph, float(node.attribute("alpha", 1.0))
    scaled = node[0] if alpha == 1.0 else c.mul(g, node[0], alpha)
    return c.mul(g, node[0], c.logistic(g, scaled))


@lowers("Softplus")
def softplus_node(node: Node) -> Value:
    """Softplus: log(1 + exp(x))."""
    return softplus(node.graph, node[0])


def softplus(g: Graph, value: Value) -> Value:
    """log(1 + exp(x)) without overflow: max(x, 0) + log(1 + exp(-|x|))."""
    small = c.log(g, c.add(g, c.exp(g, c.neg(g, c.absolute(g, value))), 1.0))
    return c.add(g, c.relu(g, value), small)


@lowers("Mish")
def mish(node: Node) -> Value:
    """Mish: x * tanh(softplus(x))."""
    return c.mul(node.graph, node[0], c.tanh(node.graph, softplus(node.graph, node[0])))


@lowers("Softsign")
def softsign(node: Node) -> Value:
    """Softsign: x / (1 + |x|)."""
    g = node.graph
    return c.div(g, node[0], c.add(g, c.absolute(g, node[0]), 1.0))


@lowers("Shrink")
def shrink(node: Node) -> Value:
    """Shrink: x + bias below -lambd, x - bias above lambd, else 0; computed in floats, and cast back."""
    g, value, dtype = node.graph, node[0], node[0].dtype
    bias, lambd = float(node.attribute("bias", 0.0)), float(node.attribute("lambd", 0.5))
    real = c.cast(g, value, F32)
    below = c.where(g, c.less(g, real, -lambd), c.add(g, real, bias), 0.0)
    return c.cast(g, c.where(g, c.greater(g, real, lambd), c.sub(g, real, bias), below), dtype)


@lowers("Gelu")
def gelu(node: Node) -> Value:
    """Gelu, exact or by the approximation with tanh."""
    options = {"approximate": node.attribute("approximate", "none") == "tanh"}
    return c.elementwise(node.graph, "GELU", node[0], options=options)


NEAR_ZERO = 4e-4
"""Below, two terms of erf's series differ from one by less than a float32 step."""

LARGE = 1e15
"""erf is 1 from here on by far; an infinity would be divided by itself."""


@lowers("Erf")
def erf(node: Node) -> Value:
    """erf(x) = sign(x) (2 GELU(z) / z - 1) with z = sqrt(2) |x|, since GELU(z) = z (1 + erf(z / sqrt(2))) / 2.

    Near 0, where the quotient is undefined and the difference cancels, erf(x) = 2 x / sqrt(pi) (1 - x^2 / 3 + ...).
    """
    g, value = node.graph, c.cast(node.graph, node[0], F32)
    size = c.absolute(g, value)
    z = c.minimum(g, c.mul(g, size, math.sqrt(2.0)), LARGE)
    ratio = c.div(g, c.elementwise(g, "GELU", z, options={"approximate": False}), z)
    far = c.mul(g, c.sign(g, value), c.sub(g, c.mul(g, ratio, 2.0), 1.0))
    near = c.mul(g, value, 2 / math.sqrt(math.pi))
    return c.cast(g, c.where(g, c.less(g, size, NEAR_ZERO), near, far), node[0].dtype)


def _cosine_of_arc(g: Graph, x: Value) -> Value:
    """sqrt((1 - x)(1 + x)): NaN outside of [-1, 1]."""
    return c.sqrt(g, c.mul(g, c.sub(g, constant(1.0, F32), x), c.add(g, x, 1.0)))


def _asinh(g: Graph, x: Value) -> Value:
    size = c.absolute(g, x)
    root = c.sqrt(g, c.add(g, c.mul(g, size, size), 1.0))
    return c.mul(g, c.sign(g, x), c.log(g, c.add(g, size, root)))


def _acosh(g: Graph, x: Value) -> Value:
    root = c.sqrt(g, c.mul(g, c.sub(g, x, 1.0), c.add(g, x, 1.0)))
    return c.log(g, c.add(g, x, root))


def _atanh(g: Graph, x: Value) -> Value:
    ratio = c.div(g, c.add(g, x, 1.0), c.sub(g, constant(1.0, F32), x))
    return c.mul(g, c.log(g, ratio), 0.5)


def _halves(g: Graph, x: Value, combine: Callable[..., Value]) -> Value:
    """(exp(x) combined with exp(-x)) / 2."""
    return c.mul(g, combine(g, c.exp(g, x), c.exp(g, c.neg(g, x))), 0.5)


_FUNCTIONS: dict[str, Callable[[Graph, Value], Value]] = {
    "Acos": lambda g, x: c.atan2(g, _cosine_of_arc(g, x), x),
    "Asin": lambda g, x: c.atan2(g, x, _cosine_of_arc(g, x)),
    "Atan": lambda g, x: c.atan2(g, x, constant(np.float32(1.0))),
    "Acosh": _acosh,
    "Asinh": _asinh,
    "Atanh": _atanh,
    "Cosh": lambda g, x: _halves(g, x, c.add),
    "Sinh": lambda g, x: _halves(g, x, c.sub),
    "Tan": lambda g, x: c.div(g, c.sin(g, x), c.cos(g, x)),
}


@lowers(*_FUNCTIONS)
def real_function(node: Node) -> Value:
    """Functions that `_FUNCTIONS` spells in TFLite's operators."""
    return _FUNCTIONS[node.op](node.graph, node[0])


@lowers("Dropout")
def dropout(node: Node) -> list[Value]:
    """The identity outside of training, with a mask that keeps all."""
    ratio = node.optional(1)
    training = node.has(2) and bool(node.known(2, "whether it trains"))
    if training and (ratio is None or node.known(1, "its ratio") != 0):
        raise NodeError("drops at random, which is for training only")
    if not node.wants(1):
        return [node[0]]
    check_constant(node[0].shape, 1)
    return [node[0], constant(np.ones(node[0].shape, bool))]


@lowers("Identity")
def identity(node: Node) -> Value:
    """Operators whose output is their first input at inference."""
    return node[0]
