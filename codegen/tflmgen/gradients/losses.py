"""Losses as operators behind a model's output: means over the batch, by Keras 3's definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tflmgen.gradients.flow_graph import FlowGraph, FlowNode
from tflmgen.gradients.graph_arithmetic import Arithmetic
from tflmgen.ir import DType
from tflmgen.options import Loss

_EPSILON = 1e-12
"""Least square of a length by which a row is divided (Keras' normalize)."""

OUTPUT_COUNTS: Mapping[Loss, tuple[int, ...]] = {Loss.CONTRASTIVE: (2,), Loss.COSINE: (1, 2)}
"""Numbers of outputs that a loss can be of; of others: 1."""


@dataclass(frozen=True, slots=True)
class LossTensors:
    """Tensors of a loss: what it is computed from, and what it gives, in a graph.

    target   an input: int32[batch] for sparse labels, float32[batch] for pairs, else of the output's shape; None where
             two outputs are compared with each other
    correct  how many of the batch are classified right, int32[]; None where it classifies nothing
    valid    whether all labels exist, bool[]; None where every target is one
    """

    target: int | None
    loss: int
    correct: int | None
    valid: int | None


def add_loss(graph: FlowGraph, outputs: Sequence[int], loss: Loss, name: str) -> LossTensors:
    """Adds the operators of a loss of an output, or of two, and the target as an input of this name.

    outputs  as many as OUTPUT_COUNTS has
    """
    a, output = Arithmetic(graph), outputs[0]
    if loss is Loss.CONTRASTIVE:
        target = graph.input(name, a.shape(_rows(a, output))[:1])
        return LossTensors(target, _contrastive(a, output, outputs[1], target), None, None)
    if len(outputs) > 1:
        return LossTensors(None, _cosine(a, output, outputs[1]), None, None)
    if loss is Loss.SPARSE_CATEGORICAL_CROSSENTROPY:
        shape = graph.shape(output)[:-1] or (1,)
        target = graph.input(name, (int(np.prod(shape)),), DType.INT32)
        return _sparse(a, output, target)
    target = graph.input(name, graph.shape(output))
    correct = {
        Loss.CATEGORICAL_CROSSENTROPY: _same_class,
        Loss.BINARY_CROSSENTROPY: _same_side,
    }.get(loss)
    return LossTensors(target, _LOSSES[loss](a, output, target), correct(a, output, target) if correct else None, None)


def _mean(a: Arithmetic, tensor: int) -> int:
    return a.scale(a.total(tensor), 1 / max(1, int(np.prod(a.shape(tensor)))))


def _behind(a: Arithmetic, output: int, names: tuple[str, ...]) -> FlowNode | None:
    """The operator of one of these names that computes an output, which may have been reshaped."""
    for node in reversed(a.graph.nodes):
        if output in node.outputs:
            if node.name in names:
                return node
            if node.name != "RESHAPE":
                return None
            output = node.inputs[0]
    return None


def _rows(a: Arithmetic, tensor: int) -> int:
    shape = a.shape(tensor)
    return a.reshape(tensor, (max(1, int(np.prod(shape[:-1]))), shape[-1]))


def _log_probabilities(a: Arithmetic, output: int) -> int:
    """[batch, classes]: of logits, or of those that a softmax makes the output of."""
    node = _behind(a, output, ("SOFTMAX",))
    logits = _rows(a, output)
    if node is not None and a.shape(node.inputs[0])[-1] == a.shape(output)[-1]:
        logits = a.scale(_rows(a, node.inputs[0]), float(node.options.get("beta", 1.0)))
    return a.graph.compute("LOG_SOFTMAX", [logits], a.shape(logits))


def _sparse(a: Arithmetic, output: int, target: int) -> LossTensors:
    """The mean of -log p of the label."""
    log = _log_probabilities(a, output)
    batch, classes = a.shape(log)
    numbers = a.integers(list(range(classes)))
    is_label = a.graph.compute("EQUAL", [a.reshape(target, (batch, 1)), numbers], (batch, classes), DType.BOOL)
    wanted = a.cast(is_label, DType.FLOAT32)
    loss = a.scale(a.total(a.multiply(log, wanted)), -1 / batch)
    chosen = a.graph.compute("ARG_MAX", [log, a.integers(1)], (batch,), DType.INT32, {"output_type": 2})
    valid = a.compare("EQUAL", a.total(wanted), a.number(batch))
    return LossTensors(target, loss, _count(a, a.compare("EQUAL", chosen, target)), valid)


def _count(a: Arithmetic, conditions: int) -> int:
    """Number of conditions that hold, int32[]."""
    ones = a.total(a.cast(conditions, DType.FLOAT32))
    return a.cast(ones, DType.INT32)


def _categorical(a: Arithmetic, output: int, target: int) -> int:
    log = _log_probabilities(a, output)
    return a.scale(a.total(a.multiply(log, _rows(a, target))), -1 / a.shape(log)[0])


def _same_class(a: Arithmetic, output: int, target: int) -> int:
    rows, wanted = _rows(a, output), _rows(a, target)
    places = [
        a.graph.compute("ARG_MAX", [t, a.integers(1)], (a.shape(t)[0],), DType.INT32, {"output_type": 2})
        for t in (rows, wanted)
    ]
    return _count(a, a.compare("EQUAL", *places))


def _binary(a: Arithmetic, output: int, target: int) -> int:
    """Mean, of logits z, max(z, 0) - z y + log(1 + e^-|z|), or of those that LOGISTIC makes the output of."""
    node = _behind(a, output, ("LOGISTIC",))
    logits = output if node is None else a.reshape(node.inputs[0], a.shape(output))
    far = a.logarithm(a.add(a.exponential(a.negative(a.absolute(logits))), a.number(1)))
    near = a.subtract(a.apply("RELU", logits), a.multiply(logits, target))
    return _mean(a, a.add(near, far))


def _same_side(a: Arithmetic, output: int, target: int) -> int:
    """Number of elements on the right side: both above one half, or none; the middle of logits is 0."""
    middle = 0.0 if _behind(a, output, ("LOGISTIC",)) is None else 0.5
    is_high = a.cast(a.greater(output, a.number(middle)), DType.FLOAT32)
    wanted = a.cast(a.greater(target, a.number(0.5)), DType.FLOAT32)
    return _count(a, a.compare("EQUAL", is_high, wanted))


def _squares(a: Arithmetic, output: int, target: int) -> int:
    return _mean(a, a.square(a.subtract(output, target)))


def _magnitudes(a: Arithmetic, output: int, target: int) -> int:
    return _mean(a, a.absolute(a.subtract(output, target)))


def _huber(a: Arithmetic, output: int, target: int) -> int:
    """Half the square up to 1, from there on |d| - 1/2: with c = min(|d|, 1), c (|d| - c / 2)."""
    size = a.absolute(a.subtract(output, target))
    inner = a.minimum(size, a.number(1))
    return _mean(a, a.multiply(inner, a.subtract(size, a.scale(inner, 0.5))))


def _cosine(a: Arithmetic, output: int, target: int) -> int:
    """The mean of minus the cosine between rows; a row of zeros has the cosine 0."""

    def unit(tensor: int) -> int:
        squares = a.sum(a.square(tensor), [-1], keep=True)
        return a.divide(tensor, a.square_root(a.maximum(squares, a.number(_EPSILON))))

    rows, wanted = unit(_rows(a, output)), unit(_rows(a, target))
    return a.scale(a.total(a.multiply(rows, wanted)), -1 / a.shape(rows)[0])


def _contrastive(a: Arithmetic, left: int, right: int, target: int) -> int:
    """The mean of y d^2 + (1 - y) max(1 - d, 0)^2, d the distance of rows of both outputs (Hadsell et al. 2006)."""
    squares = a.sum(a.square(a.subtract(_rows(a, left), _rows(a, right))), [-1])
    distance = a.square_root(a.maximum(squares, a.number(_EPSILON)))
    near = a.square(a.apply("RELU", a.subtract(a.number(1), distance)))
    return _mean(a, a.add(near, a.multiply(target, a.subtract(squares, near))))


_LOSSES: Mapping[Loss, Callable[[Arithmetic, int, int], int]] = {
    Loss.CATEGORICAL_CROSSENTROPY: _categorical,
    Loss.BINARY_CROSSENTROPY: _binary,
    Loss.MSE: _squares,
    Loss.MAE: _magnitudes,
    Loss.HUBER: _huber,
    Loss.COSINE: _cosine,
}
