"""Updates of weights by their gradients, by the definitions and defaults of Keras 3 (keras/src/optimizers)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tflmgen.gradients.graph_arithmetic import Arithmetic
from tflmgen.options import OptimizerName

MOMENTUM = 0.9
"""Share of the last step that `momentum` and `nesterov` keep."""

RHO = 0.9
"""Share of the last mean square that `rmsprop` keeps."""

BETA_1 = 0.9
"""Share of the last mean that `adam` keeps."""

BETA_2 = 0.999
"""Share of the last mean square that `adam` keeps."""

EPSILON = 1e-7
"""Addend to a root of mean squares before it divides."""

WEIGHT_DECAY = 0.004
"""Share of a weight, times the learning rate, that `adamw` takes off at each step."""


@dataclass(frozen=True, slots=True)
class StepRates:
    """Learning rates of one step: for Adam as it is corrected, and as it is set."""

    rate: int
    given_rate: int


Updated = tuple[int, list[int]]
"""The new weight and the new slots."""

Update = Callable[[Arithmetic, StepRates, int, int, Sequence[int]], Updated]
"""Adds an update: weight, gradient, slots -> the new weight and the new slots."""


@dataclass(frozen=True, slots=True)
class Optimizer:
    """An optimizer.

    slots   names of what is kept for each weight, in its shape, from zeros on
    rate    learning rate by default
    counts  whether steps are counted
    """

    slots: tuple[str, ...]
    update: Update
    rate: float
    counts: bool = False


def corrected_rate(a: Arithmetic, rate: int, count: int) -> int:
    """Adam's rate at step `count`, a float from 1 on: r sqrt(1 - b2^t) / (1 - b1^t)."""

    def rest(beta: float) -> int:
        return a.subtract(a.number(1), a.graph.compute("POW", [a.number(beta), count], ()))

    return a.divide(a.multiply(rate, a.square_root(rest(BETA_2))), rest(BETA_1))


def _sgd(a: Arithmetic, step: StepRates, weight: int, gradient: int, slots: Sequence[int]) -> Updated:
    del slots
    return a.subtract(weight, a.multiply(gradient, step.rate)), []


def _momentum(a: Arithmetic, step: StepRates, weight: int, gradient: int, slots: Sequence[int]) -> Updated:
    velocity = a.subtract(a.scale(slots[0], MOMENTUM), a.multiply(gradient, step.rate))
    return a.add(weight, velocity), [velocity]


def _nesterov(a: Arithmetic, step: StepRates, weight: int, gradient: int, slots: Sequence[int]) -> Updated:
    move = a.multiply(gradient, step.rate)
    velocity = a.subtract(a.scale(slots[0], MOMENTUM), move)
    return a.add(weight, a.subtract(a.scale(velocity, MOMENTUM), move)), [velocity]


def _rmsprop(a: Arithmetic, step: StepRates, weight: int, gradient: int, slots: Sequence[int]) -> Updated:
    squares = a.add(a.scale(slots[0], RHO), a.scale(a.square(gradient), 1 - RHO))
    root = a.square_root(a.add(squares, a.number(EPSILON)))
    return a.subtract(weight, a.divide(a.multiply(gradient, step.rate), root)), [squares]


def _adam(a: Arithmetic, step: StepRates, weight: int, gradient: int, slots: Sequence[int]) -> Updated:
    mean = a.add(slots[0], a.scale(a.subtract(gradient, slots[0]), 1 - BETA_1))
    squares = a.add(slots[1], a.scale(a.subtract(a.square(gradient), slots[1]), 1 - BETA_2))
    root = a.add(a.square_root(squares), a.number(EPSILON))
    return a.subtract(weight, a.divide(a.multiply(mean, step.rate), root)), [mean, squares]


def _adamw(a: Arithmetic, step: StepRates, weight: int, gradient: int, slots: Sequence[int]) -> Updated:
    shrunk = a.subtract(weight, a.multiply(weight, a.scale(step.given_rate, WEIGHT_DECAY)))
    return _adam(a, step, shrunk, gradient, slots)


OPTIMIZERS: Mapping[OptimizerName, Optimizer] = {
    OptimizerName.SGD: Optimizer((), _sgd, 0.01),
    OptimizerName.MOMENTUM: Optimizer(("momentum",), _momentum, 0.01),
    OptimizerName.NESTEROV: Optimizer(("momentum",), _nesterov, 0.01),
    OptimizerName.RMSPROP: Optimizer(("velocity",), _rmsprop, 0.001),
    OptimizerName.ADAM: Optimizer(("momentum", "velocity"), _adam, 0.001, counts=True),
    OptimizerName.ADAMW: Optimizer(("momentum", "velocity"), _adamw, 0.001, counts=True),
}


def clipped(a: Arithmetic, gradients: Sequence[int], norm: float, together: bool) -> list[int]:
    """Gradients scaled down to a norm that they exceed: each by its own, or all by that of all together."""
    squares = [a.total(a.square(gradient)) for gradient in gradients]
    if together:
        total = squares[0]
        for square in squares[1:]:
            total = a.add(total, square)
        squares = [total] * len(gradients)
    limit = a.number(norm)
    factors = [a.divide(limit, a.maximum(a.square_root(square), limit)) for square in dict.fromkeys(squares)]
    each = dict(zip(dict.fromkeys(squares), factors, strict=True))
    return [a.multiply(gradient, each[square]) for gradient, square in zip(gradients, squares, strict=True)]
