"""LSTM, GRU and RNN, in all directions: products with the whole input at once, the rest in a loop.

The gates are stacked as ONNX has them: i, o, f, c in an LSTM; z, r, h in a GRU. There is no state between calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tflmgen.frontend.onnx import compose as c
from tflmgen.frontend.onnx import compose_moves as m
from tflmgen.frontend.onnx.compose import F32, I32
from tflmgen.frontend.onnx.laid_out import Graph, Value, constant
from tflmgen.frontend.onnx.located import NodeError
from tflmgen.frontend.onnx.loop_builder import Iteration, Loop
from tflmgen.frontend.onnx.lower_activation import scaled_elu, softplus
from tflmgen.frontend.onnx.lower_codes import dynamic_product
from tflmgen.frontend.onnx.lower_index import flat_places
from tflmgen.frontend.onnx.lower_matrix import fully_connected
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import Node

Function = Callable[[Graph, Value], Value]
Product = Callable[[Graph, Value], Value]
"""Function from rows to their products with weights."""
_DEFAULTS = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


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
        "sigmoid": c.logistic,
        "tanh": c.tanh,
        "relu": c.relu,
        "affine": lambda g, x: c.add(g, c.mul(g, x, _or(a, 1.0)), _or(b, 0.0)),
        "scaledtanh": lambda g, x: c.mul(g, c.tanh(g, c.mul(g, x, _or(b, 1.0))), _or(a, 1.0)),
        "hardsigmoid": lambda g, x: c.clamped_to_1(g, c.add(g, c.mul(g, x, _or(a, 0.2)), _or(b, 0.5))),
        "leakyrelu": lambda g, x: c.elementwise(g, "LEAKY_RELU", x, options={"alpha": _or(a, 0.01)}),
        "thresholdedrelu": lambda g, x: c.where(g, c.greater(g, x, _or(a, 1.0)), x, 0.0),
        "elu": lambda g, x: scaled_elu(g, x, _or(a, 1.0)),
        "softsign": lambda g, x: c.div(g, x, c.add(g, c.absolute(g, x), 1.0)),
        "softplus": softplus,
    }
    if name.lower() not in functions:
        raise NodeError(f"has the activation {name}, which is unsupported")
    return functions[name.lower()]


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


@dataclass(frozen=True, slots=True)
class _Layer:
    """One direction: recurrent weights (gates * hidden, hidden), their bias, peepholes, activations, and options.

    product  of the output of the last step with the weights, where these are codes
    """

    kind: str
    hidden: int
    weights: Value
    bias: Value | None
    peepholes: Value | None
    functions: Sequence[Function]
    clip: float | None
    before_reset: bool
    input_forget: bool
    product: Product | None = None

    def step(self, g: Graph, x: Value, states: Sequence[Value]) -> list[Value]:
        """The next states, the output first, from the input's products (batch, gates * hidden)."""
        if self.kind == "LSTM":
            return self._lstm(g, x, states[0], states[1])
        return [self._gru(g, x, states[0]) if self.kind == "GRU" else self._rnn(g, x, states[0])]

    def _gate(self, g: Graph, value: Value, first: int, count: int = 1) -> Value:
        return m.part(g, value, value.rank - 1, first * self.hidden, count * self.hidden)

    def _clipped(self, g: Graph, value: Value) -> Value:
        return value if self.clip is None else c.minimum(g, c.maximum(g, value, -self.clip), self.clip)

    def _rnn(self, g: Graph, x: Value, h: Value) -> Value:
        total = c.add(g, x, fully_connected(g, h, self.weights, self.bias))
        return self.functions[0](g, self._clipped(g, total))

    def _lstm(self, g: Graph, x: Value, h: Value, cell: Value) -> list[Value]:
        f, gg, hh = self.functions
        product = self.product or (lambda g, rows: fully_connected(g, rows, self.weights, self.bias))
        total = c.add(g, x, product(g, h))
        i, o, forget, new = (self._gate(g, total, k) for k in range(4))
        if self.peepholes is not None:
            i = c.add(g, i, c.mul(g, self._gate(g, self.peepholes, 0), cell))
            forget = c.add(g, forget, c.mul(g, self._gate(g, self.peepholes, 2), cell))
        i = f(g, self._clipped(g, i))
        forget = c.sub(g, constant(1.0, F32), i) if self.input_forget else f(g, self._clipped(g, forget))
        new = gg(g, self._clipped(g, new))
        after = c.add(g, c.mul(g, forget, cell), c.mul(g, i, new))
        if self.peepholes is not None:
            o = c.add(g, o, c.mul(g, self._gate(g, self.peepholes, 1), after))
        return [c.mul(g, f(g, self._clipped(g, o)), hh(g, after)), after]

    def _gru(self, g: Graph, x: Value, h: Value) -> Value:
        f, gg = self.functions
        size = self.hidden
        gates, new = m.part(g, self.weights, 0, 0, 2 * size), m.part(g, self.weights, 0, 2 * size, size)
        biases = [None, None] if self.bias is None else [
            m.part(g, self.bias, 0, 0, 2 * size), m.part(g, self.bias, 0, 2 * size, size)
        ]  # fmt: skip
        both = c.add(g, self._gate(g, x, 0, 2), fully_connected(g, h, gates, biases[0]))
        both = f(g, self._clipped(g, both))
        z, r = self._gate(g, both, 0), self._gate(g, both, 1)
        if self.before_reset:
            inner = c.mul(g, r, fully_connected(g, h, new, biases[1]))
        else:
            inner = fully_connected(g, c.mul(g, r, h), new, biases[1])
        candidate = gg(g, self._clipped(g, c.add(g, self._gate(g, x, 2), inner)))
        return c.add(g, c.mul(g, c.sub(g, constant(1.0, F32), z), candidate), c.mul(g, z, h))


@lowers("LSTM", "GRU", "RNN", "com.microsoft.DynamicQuantizeLSTM")
def recurrent(node: Node) -> list[Value]:
    """LSTM, GRU and RNN, and the LSTM of dynamic quantisation: all outputs over time, then the last states.

    Directions are an axis.
    """
    g, value = node.graph, node[0]
    by_batch = bool(node.attribute("layout", 0))
    if by_batch:
        value = m.transpose(value, [1, 0, 2])
    direction = node.attribute("direction", "forward")
    backwards = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    outputs, states = [], []
    for place, backward in enumerate(backwards):
        y, last = _direction(node, value, place, backward, by_batch)
        outputs.append(m.unsqueeze(g, y, 1))
        states.append([m.unsqueeze(g, state, 0) for state in last])
    y = m.concat(g, outputs, 1)
    finals = [m.concat(g, list(parts), 0) for parts in zip(*states, strict=True)]
    if by_batch:
        y = m.transpose(y, [2, 0, 1, 3])
        finals = [m.transpose(state, [1, 0, 2]) for state in finals]
    return [y, *finals]


def _own(node: Node, index: int, place: int) -> Value | None:
    """The part of an operand that belongs to one direction."""
    operand = node.optional(index)
    return None if operand is None else m.squeeze(node.graph, m.part(node.graph, operand, 0, place, 1), [0])


def _codes_product(node: Node, index: int, place: int, bias: Value | None) -> Product:
    """Products with weights that are codes (depth, gates * hidden), whose scales and zero points come last."""
    weights, scale, zero = (_own(node, k, place) for k in (index, 6 + 2 * index, 7 + 2 * index))
    if weights is None or scale is None:
        raise NodeError("lacks its weights or their scales")
    return lambda g, rows: dynamic_product(g, rows, weights, scale, zero, bias)


def _layer(node: Node, place: int) -> tuple[_Layer, Product]:
    """One direction's layer, and the products of the input with its weights."""
    g, is_quantised = node.graph, node.op == "DynamicQuantizeLSTM"
    kind = "LSTM" if is_quantised else node.op
    weights, recurrent_weights, bias = (_own(node, k, place) for k in (1, 2, 3))
    if weights is None or recurrent_weights is None:
        raise NodeError("lacks its weights")
    count, hidden = _GATES[kind], recurrent_weights.shape[0 if is_quantised else 1]
    names = node.attribute("activations") or _DEFAULTS[kind] * 2
    each = len(_DEFAULTS[kind])
    alphas, betas = node.attribute("activation_alpha") or [], node.attribute("activation_beta") or []
    functions = _activations(names, alphas, betas)[place * each : place * each + each]
    input_bias = None if bias is None else m.part(g, bias, 0, 0, count * hidden)
    hidden_bias = None if bias is None else m.part(g, bias, 0, count * hidden, count * hidden)
    clip = node.attribute("clip")
    layer = _Layer(
        kind,
        hidden,
        recurrent_weights,
        hidden_bias,
        _own(node, 7, place) if kind == "LSTM" else None,
        functions,
        None if clip is None else float(clip),
        bool(node.attribute("linear_before_reset", 0)),
        bool(node.attribute("input_forget", 0)),
        _codes_product(node, 2, place, hidden_bias) if is_quantised else None,
    )
    if is_quantised:
        return layer, _codes_product(node, 1, place, input_bias)
    return layer, lambda g, rows: fully_connected(g, rows, weights, input_bias)


def _direction(node: Node, value: Value, place: int, backward: bool, by_batch: bool) -> tuple[Value, list[Value]]:
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
    for index in (5, 6) if layer.kind == "LSTM" else (5,):
        operand = node.optional(index)
        if operand is None:
            inits.append(constant(np.zeros((batch, layer.hidden), np.float32)))
        else:
            operand = m.transpose(operand, [1, 0, 2]) if by_batch else operand
            inits.append(m.squeeze(g, m.part(g, operand, 0, place, 1), [0]))
    is_turned = backward and lengths is None

    def body(own: Graph, number: Value, _: Value | None, states: Sequence[Value]) -> Iteration:
        at = c.sub(own, constant(time - 1, I32), number) if is_turned else number
        after = layer.step(own, m.gather(own, products, at, 0), states)
        output = after[0]
        if lengths is not None:
            runs = m.reshape(own, c.less(own, at, c.cast(own, lengths, I32)), [batch, 1])
            after = [c.where(own, runs, new, old) for new, old in zip(after, states, strict=True)]
            output = c.where(own, runs, output, 0.0)
        return Iteration(None, after, [output])

    loop = Loop(node.walker, g, g.node or "recurrent", constant(time, I32), None, inits, body, [is_turned])
    finals, stacks = loop.build()
    output = stacks[0]
    return (_turned(g, output, lengths) if lengths is not None and backward else output), finals


def _turned(g: Graph, value: Value, lengths: Value) -> Value:
    """Each sequence of (time, batch, ...) turned around within its length."""
    time, batch = value.shape[:2]
    steps = constant(np.arange(time, dtype=np.int32).reshape(time, 1, 1))
    ends = m.reshape(g, c.cast(g, lengths, I32), [1, batch, 1])
    back = c.sub(g, c.sub(g, ends, 1), steps)
    places = c.where(g, c.less(g, steps, ends), back, steps)
    places = m.broadcast_to(g, places, value.shape)
    flat = flat_places(g, places, value.shape, 0)
    return m.gather(g, m.reshape(g, value, [math.prod(value.shape)]), flat, 0)
