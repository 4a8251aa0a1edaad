"""LSTM, GRU and RNN, in all directions: products with the whole input at once, the rest in a loop.

The gates are stacked as ONNX has them: i, o, f, c in an LSTM; z, r, h in a GRU. There is no state between calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tflmgen.frontend.onnx.element_graph import F32, I32
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, constant
from tflmgen.frontend.onnx.loop_builder import Iteration, LoopBuilder
from tflmgen.frontend.onnx.lower_activation import scaled_elu, softplus
from tflmgen.frontend.onnx.lower_codes import dynamic_product
from tflmgen.frontend.onnx.lower_index import flat_places
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.move_graph import transpose
from tflmgen.frontend.onnx.node import OnnxNode
from tflmgen.frontend.onnx.node_error import NodeError

Function = Callable[[Graph, OnnxValue], OnnxValue]
Product = Callable[[Graph, OnnxValue], OnnxValue]
"""Function from rows to their products with weights."""


class _Kind(Enum):
    """Kind of a layer: how many gates it has, and the functions that it applies by default."""

    LSTM = (4, ("Sigmoid", "Tanh", "Tanh"))
    GRU = (3, ("Sigmoid", "Tanh"))
    RNN = (1, ("Tanh",))


_TAKES_ALPHA = {"affine", "scaledtanh", "hardsigmoid", "leakyrelu", "thresholdedrelu", "elu"}
_TAKES_BETA = {"affine", "scaledtanh", "hardsigmoid"}


def _activations(names: Sequence[str], alphas: Sequence[float], betas: Sequence[float]) -> list[Function]:
    """The functions of all directions. Each coefficient belongs to the next function that takes one."""
    alpha, beta = iter(alphas), iter(betas)
    functions = []
    for name in names:
        own = next(alpha, None) if name.lower() in _TAKES_ALPHA else None
        functions.append(_activation(name, own, next(beta, None) if name.lower() in _TAKES_BETA else None))
    return functions


def _activation(name: str, alpha: float | None, beta: float | None) -> Function:
    a, b = alpha, beta
    functions: dict[str, Function] = {
        "sigmoid": Graph.logistic,
        "tanh": Graph.tanh,
        "relu": Graph.relu,
        "affine": lambda g, x: g.add(g.mul(x, _or(a, 1.0)), _or(b, 0.0)),
        "scaledtanh": lambda g, x: g.mul(g.tanh(g.mul(x, _or(b, 1.0))), _or(a, 1.0)),
        "hardsigmoid": lambda g, x: g.clamped_to_1(g.add(g.mul(x, _or(a, 0.2)), _or(b, 0.5))),
        "leakyrelu": lambda g, x: g.leaky_relu(x, _or(a, 0.01)),
        "thresholdedrelu": lambda g, x: g.where(g.greater(x, _or(a, 1.0)), x, 0.0),
        "elu": lambda g, x: scaled_elu(g, x, _or(a, 1.0)),
        "softsign": lambda g, x: g.div(x, g.add(g.absolute(x), 1.0)),
        "softplus": softplus,
    }
    if name.lower() not in functions:
        raise NodeError(f"has the activation {name}, which is unsupported")
    return functions[name.lower()]


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


@dataclass(frozen=True, slots=True)
class _Layer:
    """A layer in one direction: recurrent weights (gates * hidden, hidden), bias, peepholes, activations, options.

    product  of the output of the last step with the weights, where these are codes
    """

    kind: _Kind
    hidden: int
    weights: OnnxValue
    bias: OnnxValue | None
    peepholes: OnnxValue | None
    functions: Sequence[Function]
    clip: float | None
    before_reset: bool
    input_forget: bool
    product: Product | None = None

    def step(self, g: Graph, x: OnnxValue, states: Sequence[OnnxValue]) -> list[OnnxValue]:
        """The next states, the output first, from the input's products (batch, gates * hidden)."""
        if self.kind is _Kind.LSTM:
            return self._lstm(g, x, states[0], states[1])
        return [self._gru(g, x, states[0]) if self.kind is _Kind.GRU else self._rnn(g, x, states[0])]

    def _gate(self, g: Graph, value: OnnxValue, first: int, count: int = 1) -> OnnxValue:
        return g.part(value, value.rank - 1, first * self.hidden, count * self.hidden)

    def _clipped(self, g: Graph, value: OnnxValue) -> OnnxValue:
        return value if self.clip is None else g.minimum(g.maximum(value, -self.clip), self.clip)

    def _rnn(self, g: Graph, x: OnnxValue, h: OnnxValue) -> OnnxValue:
        total = g.add(x, g.fully_connected(h, self.weights, self.bias))
        return self.functions[0](g, self._clipped(g, total))

    def _lstm(self, g: Graph, x: OnnxValue, h: OnnxValue, cell: OnnxValue) -> list[OnnxValue]:
        f, gg, hh = self.functions
        product = self.product or (lambda g, rows: g.fully_connected(rows, self.weights, self.bias))
        total = g.add(x, product(g, h))
        i, o, forget, new = (self._gate(g, total, k) for k in range(4))
        if self.peepholes is not None:
            i = g.add(i, g.mul(self._gate(g, self.peepholes, 0), cell))
            forget = g.add(forget, g.mul(self._gate(g, self.peepholes, 2), cell))
        i = f(g, self._clipped(g, i))
        forget = g.sub(constant(1.0, F32), i) if self.input_forget else f(g, self._clipped(g, forget))
        new = gg(g, self._clipped(g, new))
        after = g.add(g.mul(forget, cell), g.mul(i, new))
        if self.peepholes is not None:
            o = g.add(o, g.mul(self._gate(g, self.peepholes, 1), after))
        return [g.mul(f(g, self._clipped(g, o)), hh(g, after)), after]

    def _gru(self, g: Graph, x: OnnxValue, h: OnnxValue) -> OnnxValue:
        f, gg = self.functions
        size = self.hidden
        gates, new = g.part(self.weights, 0, 0, 2 * size), g.part(self.weights, 0, 2 * size, size)
        biases = [None, None] if self.bias is None else [
            g.part(self.bias, 0, 0, 2 * size), g.part(self.bias, 0, 2 * size, size)
        ]  # fmt: skip
        both = g.add(self._gate(g, x, 0, 2), g.fully_connected(h, gates, biases[0]))
        both = f(g, self._clipped(g, both))
        z, r = self._gate(g, both, 0), self._gate(g, both, 1)
        if self.before_reset:
            inner = g.mul(r, g.fully_connected(h, new, biases[1]))
        else:
            inner = g.fully_connected(g.mul(r, h), new, biases[1])
        candidate = gg(g, self._clipped(g, g.add(self._gate(g, x, 2), inner)))
        return g.add(g.mul(g.sub(constant(1.0, F32), z), candidate), g.mul(z, h))


@lowers(*_Kind.__members__, "com.microsoft.DynamicQuantizeLSTM", evaluated=False)
def recurrent(node: OnnxNode) -> list[OnnxValue]:
    """LSTM, GRU and RNN, and the LSTM of dynamic quantisation: all outputs over time, then the last states.

    Directions are an axis.
    """
    g, value = node.graph, node[0]
    by_batch = bool(node.attribute("layout", 0))
    if by_batch:
        value = transpose(value, [1, 0, 2])
    direction = node.attribute("direction", "forward")
    backwards = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    outputs, states = [], []
    for place, backward in enumerate(backwards):
        y, last = _direction(node, value, place, backward, by_batch)
        outputs.append(g.unsqueeze(y, 1))
        states.append([g.unsqueeze(state, 0) for state in last])
    y = g.concat(outputs, 1)
    finals = [g.concat(list(parts), 0) for parts in zip(*states, strict=True)]
    if by_batch:
        y = transpose(y, [2, 0, 1, 3])
        finals = [transpose(state, [1, 0, 2]) for state in finals]
    return [y, *finals]


def _own(node: OnnxNode, index: int, place: int) -> OnnxValue | None:
    """The part of an operand that belongs to one direction."""
    operand = node.optional(index)
    return None if operand is None else node.graph.squeeze(node.graph.part(operand, 0, place, 1), [0])


def _codes_product(node: OnnxNode, index: int, place: int, bias: OnnxValue | None) -> Product:
    """Products with weights that are codes (depth, gates * hidden), whose scales and zero points come last."""
    weights, scale, zero = (_own(node, k, place) for k in (index, 6 + 2 * index, 7 + 2 * index))
    if weights is None or scale is None:
        raise NodeError("lacks its weights or their scales")
    return lambda g, rows: dynamic_product(g, rows, weights, scale, zero, bias)


def _layer(node: OnnxNode, place: int) -> tuple[_Layer, Product]:
    """One direction's layer, and the products of the input with its weights."""
    g, is_quantised = node.graph, node.op == "DynamicQuantizeLSTM"
    kind = _Kind.LSTM if is_quantised else _Kind[node.op]
    count, defaults = kind.value
    weights, recurrent_weights, bias = (_own(node, k, place) for k in (1, 2, 3))
    if weights is None or recurrent_weights is None:
        raise NodeError("lacks its weights")
    hidden = recurrent_weights.shape[0 if is_quantised else 1]
    names = node.attribute("activations") or defaults * 2
    each = len(defaults)
    alphas, betas = node.attribute("activation_alpha") or [], node.attribute("activation_beta") or []
    functions = _activations(names, alphas, betas)[place * each : place * each + each]
    input_bias = None if bias is None else g.part(bias, 0, 0, count * hidden)
    hidden_bias = None if bias is None else g.part(bias, 0, count * hidden, count * hidden)
    clip = node.attribute("clip")
    layer = _Layer(
        kind,
        hidden,
        recurrent_weights,
        hidden_bias,
        _own(node, 7, place) if kind is _Kind.LSTM else None,
        functions,
        None if clip is None else float(clip),
        bool(node.attribute("linear_before_reset", 0)),
        bool(node.attribute("input_forget", 0)),
        _codes_product(node, 2, place, hidden_bias) if is_quantised else None,
    )
    if is_quantised:
        return layer, _codes_product(node, 1, place, input_bias)
    return layer, lambda g, rows: g.fully_connected(rows, weights, input_bias)


def _direction(
    node: OnnxNode, value: OnnxValue, place: int, backward: bool, by_batch: bool
) -> tuple[OnnxValue, list[OnnxValue]]:
    """Outputs (time, batch, hidden) and last states of one direction."""
    g = node.graph
    layer, product = _layer(node, place)
    time, batch = value.shape[:2]
    lengths = node.optional(4)
    if lengths is not None and lengths.constant is not None and np.all(lengths.constant == time):
        lengths = None
    if lengths is not None and backward:
        value = _turned(g, value, lengths)
    products = product(g, value)
    inits = []
    for index in (5, 6) if layer.kind is _Kind.LSTM else (5,):
        operand = node.optional(index)
        if operand is None:
            inits.append(constant(np.zeros((batch, layer.hidden), np.float32)))
        else:
            operand = transpose(operand, [1, 0, 2]) if by_batch else operand
            inits.append(g.squeeze(g.part(operand, 0, place, 1), [0]))
    is_turned = backward and lengths is None

    def body(own: Graph, number: OnnxValue, _: OnnxValue | None, states: Sequence[OnnxValue]) -> Iteration:
        at = own.sub(constant(time - 1, I32), number) if is_turned else number
        after = layer.step(own, own.gather(products, at, 0), states)
        output = after[0]
        if lengths is not None:
            runs = own.reshape(own.less(at, own.cast(lengths, I32)), [batch, 1])
            after = [own.where(runs, new, old) for new, old in zip(after, states, strict=True)]
            output = own.where(runs, output, 0.0)
        return Iteration(None, after, [output])

    loop = LoopBuilder(node.walker, g, g.node or "recurrent", constant(time, I32), None, inits, body, [is_turned])
    finals, stacks = loop.build()
    output = stacks[0]
    return (_turned(g, output, lengths) if lengths is not None and backward else output), finals


def _turned(g: Graph, value: OnnxValue, lengths: OnnxValue) -> OnnxValue:
    """Each sequence of (time, batch, ...) turned around within its length."""
    time, batch = value.shape[:2]
    steps = constant(np.arange(time, dtype=np.int32).reshape(time, 1, 1))
    ends = g.reshape(g.cast(lengths, I32), [1, batch, 1])
    back = g.sub(g.sub(ends, 1), steps)
    places = g.where(g.less(steps, ends), back, steps)
    places = g.broadcast_to(places, value.shape)
    flat = flat_places(g, places, value.shape, 0)
    return g.gather(g.reshape(value, [math.prod(value.shape)]), flat, 0)
