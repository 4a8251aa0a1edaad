"""Activations and other functions of one element that TFLite spells in several operators, or in one with options."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tflmgen.frontend.onnx.element_graph import F32
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, check_constant, constant
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import OnnxNode
from tflmgen.frontend.onnx.node_error import NodeError


@lowers("Elu", "Selu", "Celu")
def elu(node: OnnxNode) -> OnnxValue:
    """gamma * (x > 0 ? x : alpha * (exp(x / beta) - 1)), with beta = alpha in Celu."""
    g, value = node.graph, node[0]
    alpha = float(node.attribute("alpha", 1.6732632423543772 if node.op == "Selu" else 1.0))
    gamma = float(node.attribute("gamma", 1.0507009873554805)) if node.op == "Selu" else 1.0
    if node.op == "Celu" and alpha != 1.0:
        return g.mul(g.unit_elu(g.div(value, alpha)), alpha)
    return scaled_elu(g, value, alpha, gamma)


def scaled_elu(g: Graph, value: OnnxValue, alpha: float, gamma: float = 1.0) -> OnnxValue:
    """gamma * (x > 0 ? x : alpha * (exp(x) - 1))."""
    if alpha == 1.0:
        activated = g.unit_elu(value)
        return activated if gamma == 1.0 else g.mul(activated, gamma)
    below = g.mul(g.unit_elu(g.minimum(value, 0.0)), alpha * gamma)
    above = g.relu(value)
    return g.add(above if gamma == 1.0 else g.mul(above, gamma), below)


@lowers("LeakyRelu")
def lower_leaky_relu(node: OnnxNode) -> OnnxValue:
    """LeakyRelu: x, or alpha * x below 0."""
    return node.graph.leaky_relu(node[0], float(node.attribute("alpha", 0.01)))


@lowers("PRelu")
def parametric_relu(node: OnnxNode) -> OnnxValue:
    """PRelu: x, or slope * x below 0, with the slope broadcast to the value's shape."""
    g, value, slope = node.graph, node[0], node[1]
    if value.dtype is not F32:
        return g.where(g.less(value, 0), g.mul(value, slope), value)
    return g.prelu(value, slope)


@lowers("ThresholdedRelu")
def thresholded_relu(node: OnnxNode) -> OnnxValue:
    """ThresholdedRelu: x above alpha, else 0."""
    alpha = float(node.attribute("alpha", 1.0))
    return node.graph.where(node.graph.greater(node[0], alpha), node[0], 0.0)


@lowers("HardSigmoid")
def hard_sigmoid(node: OnnxNode) -> OnnxValue:
    """HardSigmoid: alpha * x + beta, clamped to 0 and 1."""
    alpha, beta = float(node.attribute("alpha", 0.2)), float(node.attribute("beta", 0.5))
    return node.graph.clamped_to_1(node.graph.add(node.graph.mul(node[0], alpha), beta))


@lowers("Swish", "Silu")
def swish(node: OnnxNode) -> OnnxValue:
    """Swish (Silu): x * sigmoid(alpha * x)."""
    g, alpha = node.graph, float(node.attribute("alpha", 1.0))
    scaled = node[0] if alpha == 1.0 else g.mul(node[0], alpha)
    return g.mul(node[0], g.logistic(scaled))


@lowers("Softplus")
def softplus_node(node: OnnxNode) -> OnnxValue:
    """Softplus: log(1 + exp(x))."""
    return softplus(node.graph, node[0])


def softplus(g: Graph, value: OnnxValue) -> OnnxValue:
    """log(1 + exp(x)) without overflow: max(x, 0) + log(1 + exp(-|x|))."""
    small = g.log(g.add(g.exp(g.neg(g.absolute(value))), 1.0))
    return g.add(g.relu(value), small)


@lowers("Mish")
def mish(node: OnnxNode) -> OnnxValue:
    """Mish: x * tanh(softplus(x))."""
    return node.graph.mul(node[0], node.graph.tanh(softplus(node.graph, node[0])))


@lowers("Softsign")
def softsign(node: OnnxNode) -> OnnxValue:
    """Softsign: x / (1 + |x|)."""
    g = node.graph
    return g.div(node[0], g.add(g.absolute(node[0]), 1.0))


@lowers("Shrink")
def shrink(node: OnnxNode) -> OnnxValue:
    """Shrink: x + bias below -lambd, x - bias above lambd, else 0; computed in floats, and cast back."""
    g, value, dtype = node.graph, node[0], node[0].dtype
    bias, lambd = float(node.attribute("bias", 0.0)), float(node.attribute("lambd", 0.5))
    real = g.cast(value, F32)
    below = g.where(g.less(real, -lambd), g.add(real, bias), 0.0)
    return g.cast(g.where(g.greater(real, lambd), g.sub(real, bias), below), dtype)


@lowers("Gelu")
def lower_gelu(node: OnnxNode) -> OnnxValue:
    """Gelu, exact or by the approximation with tanh."""
    return node.graph.gelu(node[0], node.attribute("approximate", "none") == "tanh")


NEAR_ZERO = 4e-4
"""Below, two terms of erf's series differ from one by less than a float32 step."""

LARGE = 1e15
"""erf is 1 from here on by far; an infinity would be divided by itself."""


@lowers("Erf")
def erf(node: OnnxNode) -> OnnxValue:
    """erf(x) = sign(x) (2 GELU(z) / z - 1) with z = sqrt(2) |x|, since GELU(z) = z (1 + erf(z / sqrt(2))) / 2.

    Near 0, where the quotient is undefined and the difference cancels, erf(x) = 2 x / sqrt(pi) (1 - x^2 / 3 + ...).
    """
    g, value = node.graph, node.graph.cast(node[0], F32)
    size = g.absolute(value)
    z = g.minimum(g.mul(size, math.sqrt(2.0)), LARGE)
    ratio = g.div(g.gelu(z), z)
    far = g.mul(g.sign(value), g.sub(g.mul(ratio, 2.0), 1.0))
    near = g.mul(value, 2 / math.sqrt(math.pi))
    return g.cast(g.where(g.less(size, NEAR_ZERO), near, far), node[0].dtype)


def _cosine_of_arc(g: Graph, x: OnnxValue) -> OnnxValue:
    """sqrt((1 - x)(1 + x)): NaN outside of [-1, 1]."""
    return g.sqrt(g.mul(g.sub(constant(1.0, F32), x), g.add(x, 1.0)))


def _asinh(g: Graph, x: OnnxValue) -> OnnxValue:
    size = g.absolute(x)
    root = g.sqrt(g.add(g.mul(size, size), 1.0))
    return g.mul(g.sign(x), g.log(g.add(size, root)))


def _acosh(g: Graph, x: OnnxValue) -> OnnxValue:
    root = g.sqrt(g.mul(g.sub(x, 1.0), g.add(x, 1.0)))
    return g.log(g.add(x, root))


def _atanh(g: Graph, x: OnnxValue) -> OnnxValue:
    ratio = g.div(g.add(x, 1.0), g.sub(constant(1.0, F32), x))
    return g.mul(g.log(ratio), 0.5)


def _halves(g: Graph, x: OnnxValue, combine: Callable[..., OnnxValue]) -> OnnxValue:
    """(exp(x) combined with exp(-x)) / 2."""
    return g.mul(combine(g, g.exp(x), g.exp(g.neg(x))), 0.5)


_FUNCTIONS: dict[str, Callable[[Graph, OnnxValue], OnnxValue]] = {
    "Acos": lambda g, x: g.atan2(_cosine_of_arc(g, x), x),
    "Asin": lambda g, x: g.atan2(x, _cosine_of_arc(g, x)),
    "Atan": lambda g, x: g.atan2(x, constant(np.float32(1.0))),
    "Acosh": _acosh,
    "Asinh": _asinh,
    "Atanh": _atanh,
    "Cosh": lambda g, x: _halves(g, x, Graph.add),
    "Sinh": lambda g, x: _halves(g, x, Graph.sub),
    "Tan": lambda g, x: g.div(g.sin(x), g.cos(x)),
}


@lowers(*_FUNCTIONS)
def real_function(node: OnnxNode) -> OnnxValue:
    """Functions that `_FUNCTIONS` spells in TFLite's operators."""
    return _FUNCTIONS[node.op](node.graph, node[0])


@lowers("Dropout")
def dropout(node: OnnxNode) -> list[OnnxValue]:
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
def identity(node: OnnxNode) -> OnnxValue:
    """Operators whose output is their first input at inference."""
    return node[0]
