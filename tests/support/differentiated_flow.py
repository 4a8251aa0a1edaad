"""Models run operator by operator by a framework that differentiates: PyTorch, or TensorFlow under a GradientTape.

Branches and loops are Python's, on the numbers that the framework computes: what it differentiates is the path that
was taken. Only operators of random_trainable.py are known.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from tflmgen.frontend.tflite import Model
from tflmgen.gradients.flow_graph import FlowGraph, FlowNode, graphs_of
from tflmgen.gradients.weight_choice import find_weights
from tflmgen.options import Loss

from support.random_trainable import SHAPE, RandomTrainable
from support.trained_model import gradients, trained_reference

Operators = Mapping[str, Callable[..., Any]]
Key = tuple[bytes, tuple[int, ...]]
"""Contents and shape of a constant: equal ones are one weight."""


class Flow:
    """A model as a function of a framework's tensors.

    tensor  array -> the framework's tensor, of float64 if it is one of floats
    """

    def __init__(self, model: Model, operators: Operators, tensor: Callable[[Any], Any]) -> None:
        self._graph, self._operators, self._tensor = graphs_of(model)[0], operators, tensor
        self.leaves: dict[Key, Any] = {}

    def __call__(self, *inputs: Any) -> Any:
        """The first output."""
        return self._run(self._graph, inputs)[0]

    def add_leaves(self, leaf: Callable[[Any], Any], keys: Sequence[Key]) -> None:
        """Has constants of floats be what `leaf` makes of their arrays."""
        for data, shape in keys:
            self.leaves[data, shape] = leaf(np.frombuffer(data, np.float32).astype(np.float64).reshape(shape))

    def _run(self, graph: FlowGraph, inputs: Sequence[Any]) -> list[Any]:
        values = dict(zip(graph.inputs, inputs, strict=True))
        for index, tensor in enumerate(graph.tensors):
            if tensor.data is not None:
                array = graph.values(index)
                wide = array.astype(np.float64) if array is not None and array.dtype.kind == "f" else array
                values[index] = self.leaves.get((tensor.data, tensor.shape), self._tensor(wide))
        for node in graph.nodes:
            operands = [None if index < 0 else values[index] for index in node.inputs]
            values |= dict(zip(node.outputs, self._node(graph, node, operands), strict=True))
        return [values[index] for index in graph.outputs]

    def _node(self, graph: FlowGraph, node: FlowNode, operands: Sequence[Any]) -> Sequence[Any]:
        if node.name == "IF":
            return self._run(node.graphs[0 if bool(operands[0]) else 1], operands[1:])
        if node.name == "WHILE":
            while bool(self._run(node.graphs[0], operands)[0]):
                operands = self._run(node.graphs[1], operands)
            return operands
        result = self._operators[node.name](*operands, **self._options(graph, node))
        return [self._operators[("", "RELU", "RELU_N1_TO_1", "RELU6")[node.activation]](result)]

    def _options(self, graph: FlowGraph, node: FlowNode) -> dict[str, Any]:
        """What an operator's constants say."""
        if node.name in ("SLICE", "SUM", "REVERSE_V2", "REDUCE_MAX"):
            return {"numbers": [np.ravel(np.asarray(graph.values(index))).tolist() for index in node.inputs[1:]]}
        return {}


def pytorch_gradients(model: Model, x: Any, y: Any, keys: Sequence[Key]) -> tuple[float, dict[Key, Any]]:
    """The mean squared error, and its gradient by each constant, by PyTorch's autograd in float64."""
    torch: Any = importlib.import_module("torch")
    functional = torch.nn.functional
    flow = Flow(model, _pytorch(torch, functional), torch.tensor)
    flow.add_leaves(lambda array: torch.tensor(array, requires_grad=True), keys)
    loss = ((flow(torch.tensor(x)) - torch.tensor(y)) ** 2).mean()
    if not loss.requires_grad:
        return loss.item(), {key: np.zeros(key[1]) for key in keys}
    loss.backward()
    zeros = {key: np.zeros(key[1]) for key in keys}
    return loss.item(), zeros | {key: leaf.grad.numpy() for key, leaf in flow.leaves.items() if leaf.grad is not None}


def _pytorch(torch: Any, functional: Any) -> Operators:
    def dense(x: Any, w: Any, b: Any) -> Any:
        return functional.linear(x, w, b)

    return {
        "": lambda x: x,
        "RELU": torch.relu,
        "RELU_N1_TO_1": lambda x: x.clamp(-1, 1),
        "RELU6": functional.relu6,
        "TANH": torch.tanh,
        "LOGISTIC": torch.sigmoid,
        "ABS": torch.abs,
        "SQUARE": torch.square,
        "SIN": torch.sin,
        "SOFTMAX": lambda x: torch.softmax(x, -1),
        "LOG_SOFTMAX": lambda x: torch.log_softmax(x, -1),
        "ELU": functional.elu,
        "HARD_SWISH": functional.hardswish,
        "NEG": torch.neg,
        "FULLY_CONNECTED": dense,
        "ADD": torch.add,
        "SUB": torch.sub,
        "MUL": torch.mul,
        "DIV": torch.div,
        "LESS": torch.lt,
        "GREATER": torch.gt,
        "LOGICAL_AND": torch.logical_and,
        "SLICE": lambda x, *_, numbers: x[:, numbers[0][1] : numbers[0][1] + numbers[1][1]],
        "REVERSE_V2": lambda x, *_, numbers: torch.flip(x, numbers[0]),
        "REDUCE_MAX": lambda x, *_, numbers: x.amax(numbers[0], keepdim=True),
        "SUM": lambda x, *_, numbers: x.sum(numbers[0]),
        "CONCATENATION": lambda *parts: torch.cat(parts, 1),
    }


def tensorflow_gradients(model: Model, x: Any, y: Any, keys: Sequence[Key]) -> tuple[float, dict[Key, Any]]:
    """The same by TensorFlow's GradientTape."""
    tf: Any = importlib.import_module("tensorflow")
    flow = Flow(model, _tensorflow(tf), tf.constant)
    flow.add_leaves(tf.Variable, keys)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(flow(tf.constant(x)) - y))
    parts = tape.gradient(loss, list(flow.leaves.values()), unconnected_gradients="zero")
    return float(loss), {key: part.numpy() for key, part in zip(flow.leaves, parts, strict=True)}


def _tensorflow(tf: Any) -> Operators:
    def dense(x: Any, w: Any, b: Any) -> Any:
        product = tf.matmul(x, w, transpose_b=True)
        return product if b is None else product + b

    return {
        "": lambda x: x,
        "RELU": tf.nn.relu,
        "RELU_N1_TO_1": lambda x: tf.clip_by_value(x, -1, 1),
        "RELU6": tf.nn.relu6,
        "TANH": tf.tanh,
        "LOGISTIC": tf.sigmoid,
        "ABS": tf.abs,
        "SQUARE": tf.square,
        "SIN": tf.sin,
        "SOFTMAX": tf.nn.softmax,
        "LOG_SOFTMAX": tf.nn.log_softmax,
        "ELU": tf.nn.elu,
        "HARD_SWISH": lambda x: x * tf.nn.relu6(x + 3) / 6,
        "NEG": tf.negative,
        "FULLY_CONNECTED": dense,
        "ADD": tf.add,
        "SUB": tf.subtract,
        "MUL": tf.multiply,
        "DIV": tf.divide,
        "LESS": tf.less,
        "GREATER": tf.greater,
        "LOGICAL_AND": tf.logical_and,
        "SLICE": lambda x, *_, numbers: x[:, numbers[0][1] : numbers[0][1] + numbers[1][1]],
        "REVERSE_V2": lambda x, *_, numbers: tf.reverse(x, numbers[0]),
        "REDUCE_MAX": lambda x, *_, numbers: tf.reduce_max(x, numbers[0], keepdims=True),
        "SUM": lambda x, *_, numbers: tf.reduce_sum(x, numbers[0]),
        "CONCATENATION": lambda *parts: tf.concat(parts, 1),
    }


Differentiate = Callable[[Model, Any, Any, Sequence[Key]], tuple[float, dict[Key, Any]]]


def check(seed: int, differentiate: Differentiate) -> None:
    """Each gradient of a random model is within 1e-5 of the framework's, relative to the largest of all."""
    model, rng = RandomTrainable(seed).model(), np.random.default_rng(seed)
    candidates = find_weights(graphs_of(model)[0]).weights
    if not candidates:
        return
    keys: dict[str, Key] = {w.name: (w.tensor.data or b"", w.tensor.shape) for w in candidates}
    x, y = (rng.standard_normal(SHAPE) for _ in range(2))
    loss, expected = differentiate(model, x, y, list(keys.values()))
    reference = trained_reference(model, Loss.MSE)
    np.testing.assert_allclose(reference.run("evaluate", [x, y]), loss, rtol=1e-6)
    largest = max(np.abs(expected[key]).max() for key in keys.values())
    for name, array in gradients(reference, [x, y]).items():
        np.testing.assert_allclose(array, expected[keys[name]], rtol=0, atol=1e-5 * largest + 1e-12, err_msg=name)


def main(first: int, last: int) -> None:
    """Compares the seeds from `first` on with TensorFlow, in its own Python. Raises AssertionError with the seed."""
    for seed in range(first, last):
        try:
            check(seed, tensorflow_gradients)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
