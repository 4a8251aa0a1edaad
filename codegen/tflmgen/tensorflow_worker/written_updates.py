"""Updates of variables that TensorFlow's optimizers make in one operation each: reads, arithmetic and assignments.

Arguments have the order of the operations' operands; formulas are those of tensorflow/core/ops/training_ops.cc and of
the optimizers' papers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from tflmgen.tensorflow_worker.written_shapes import Attributes, UnwritableError, Write
from tflmgen.tensorflow_worker.written_slices import updated_slice


def _read(handle: Any, like: Any) -> Any:
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=like.dtype)


def _assign(handle: Any, value: Any) -> Any:
    tf.raw_ops.AssignVariableOp(resource=handle, value=value)
    return value


def _descend(handle: Any, step: Any) -> list[Any]:
    """Subtracts from the weights; an update has no results."""
    tf.raw_ops.AssignSubVariableOp(resource=handle, value=step)
    return []


def _gradient_descent(_: Attributes, weights: Any, rate: Any, g: Any) -> Any:
    return _descend(weights, rate * g)


def _momentum(attributes: Attributes, weights: Any, velocity: Any, rate: Any, g: Any, momentum: Any) -> Any:
    new = _assign(velocity, _read(velocity, g) * momentum + g)
    return _descend(weights, rate * (g + momentum * new if attributes["use_nesterov"] else new))


def _keras_momentum(attributes: Attributes, weights: Any, velocity: Any, rate: Any, g: Any, momentum: Any) -> Any:
    new = _assign(velocity, _read(velocity, g) * momentum - rate * g)
    return _descend(weights, rate * g - momentum * new if attributes["use_nesterov"] else -new)


def _moved(handle: Any, target: Any, decay: Any) -> Any:
    """A moving average: the variable moves to the target by 1 - decay."""
    old = _read(handle, target)
    return _assign(handle, old + (target - old) * (1.0 - decay))


def _adam_rate(rate: Any, power_1: Any, power_2: Any) -> Any:
    return rate * tf.sqrt(1.0 - power_2) / (1.0 - power_1)


def _adam(
    attributes: Attributes, weights: Any, m: Any, v: Any, power_1: Any, power_2: Any, rate: Any, *rest: Any
) -> Any:
    """Kingma and Ba, 2015."""
    beta_1, beta_2, epsilon, g = rest
    first, second = _moved(m, g, beta_1), _moved(v, g * g, beta_2)
    direction = beta_1 * first + (1.0 - beta_1) * g if attributes["use_nesterov"] else first
    return _descend(weights, _adam_rate(rate, power_1, power_2) * direction / (tf.sqrt(second) + epsilon))


def _amsgrad(
    _: Attributes, weights: Any, m: Any, v: Any, peak: Any, power_1: Any, power_2: Any, rate: Any, *rest: Any
) -> Any:
    """Reddi, Kale and Kumar, 2018."""
    beta_1, beta_2, epsilon, g = rest
    first, second = _moved(m, g, beta_1), _moved(v, g * g, beta_2)
    greatest = _assign(peak, tf.maximum(_read(peak, g), second))
    return _descend(weights, _adam_rate(rate, power_1, power_2) * first / (tf.sqrt(greatest) + epsilon))


def _adamax(_: Attributes, weights: Any, m: Any, v: Any, power_1: Any, rate: Any, *rest: Any) -> Any:
    beta_1, beta_2, epsilon, g = rest
    first = _moved(m, g, beta_1)
    norm = _assign(v, tf.maximum(beta_2 * _read(v, g), tf.abs(g)))
    return _descend(weights, rate / (1.0 - power_1) * first / (norm + epsilon))


def _rms_prop(_: Attributes, weights: Any, squares: Any, velocity: Any, rate: Any, *rest: Any) -> Any:
    decay, momentum, epsilon, g = rest
    mean = _moved(squares, g * g, decay)
    step = _read(velocity, g) * momentum + rate * g * tf.math.rsqrt(mean + epsilon)
    return _descend(weights, _assign(velocity, step))


def _centered_rms_prop(
    _: Attributes, weights: Any, means: Any, squares: Any, velocity: Any, rate: Any, *rest: Any
) -> Any:
    decay, momentum, epsilon, g = rest
    square, mean = _moved(squares, g * g, decay), _moved(means, g, decay)
    step = _read(velocity, g) * momentum + rate * g * tf.math.rsqrt(square - mean * mean + epsilon)
    return _descend(weights, _assign(velocity, step))


def _accumulated(attributes: Attributes, handle: Any, g: Any) -> Any:
    old = _read(handle, g)
    return _assign(handle, old + g * g) if attributes.get("update_slots", True) else old


def _adagrad(attributes: Attributes, weights: Any, squares: Any, rate: Any, g: Any) -> Any:
    """Duchi, Hazan and Singer, 2011."""
    return _descend(weights, rate * g * tf.math.rsqrt(_accumulated(attributes, squares, g)))


def _adagrad_v2(attributes: Attributes, weights: Any, squares: Any, rate: Any, epsilon: Any, g: Any) -> Any:
    return _descend(weights, rate * g / (tf.sqrt(_accumulated(attributes, squares, g)) + epsilon))


def _adadelta(_: Attributes, weights: Any, squares: Any, steps: Any, rate: Any, *rest: Any) -> Any:
    """Zeiler, 2012."""
    decay, epsilon, g = rest
    square = _moved(squares, g * g, decay)
    step = tf.sqrt(_read(steps, g) + epsilon) * tf.math.rsqrt(square + epsilon) * g
    _moved(steps, step * step, decay)
    return _descend(weights, rate * step)


def _ftrl(attributes: Attributes, weights: Any, squares: Any, linear: Any, g: Any, rate: Any, *rest: Any) -> Any:
    """McMahan and others, "Ad click prediction: a view from the trenches", 2013."""
    shrunk = g
    if len(rest) == 4:
        l1, l2, shrinkage, power = rest
        shrunk = g + 2.0 * shrinkage * _read(weights, g)
    else:
        l1, l2, power = rest
    if attributes.get("multiply_linear_by_lr", False):
        raise UnwritableError("multiply_linear_by_lr is set")
    old, old_weights = _read(squares, g), _read(weights, g)
    new = _assign(squares, old + g * g)
    new_power, old_power = tf.pow(new, -power), tf.pow(old, -power)
    sum_ = _assign(linear, _read(linear, g) + shrunk - (new_power - old_power) / rate * old_weights)
    quadratic = new_power / rate + 2.0 * l2
    result = (tf.clip_by_value(sum_, -l1, l1) - sum_) / quadratic
    _assign(weights, tf.where(tf.abs(sum_) > l1, result, tf.zeros_like(result)))
    return []


def _rows_added(sign: float) -> Write:
    """Adds rows to those with these numbers, repeated ones several times."""

    def write(attributes: Attributes, handle: Any, places: Any, rows: Any) -> Any:
        del attributes
        old = _read(handle, rows)
        added = tf.math.unsorted_segment_sum(sign * rows, tf.reshape(places, [-1]), old.shape[0])
        _assign(handle, old + added)
        return []

    return write


def _written(scatter: Callable[[Any, Any, Any], Any], numbers_rows: bool = False) -> Write:
    """Parts of a variable at given places anew. numbers_rows: the places are numbers of rows, not vectors."""

    def write(attributes: Attributes, handle: Any, places: Any, parts: Any) -> Any:
        del attributes
        _assign(handle, scatter(_read(handle, parts), places[..., tf.newaxis] if numbers_rows else places, parts))
        return []

    return write


def _slice_written(attributes: Attributes, handle: Any, begin: Any, end: Any, strides: Any, value: Any) -> Any:
    """A slice of a variable anew."""
    _assign(handle, updated_slice(attributes, _read(handle, value), begin, end, strides, value))
    return []


UPDATES: Mapping[str, Write] = {
    "ResourceApplyAdaMax": _adamax,
    "ResourceApplyAdadelta": _adadelta,
    "ResourceApplyAdagrad": _adagrad,
    "ResourceApplyAdagradV2": _adagrad_v2,
    "ResourceApplyAdam": _adam,
    "ResourceApplyAdamWithAmsgrad": _amsgrad,
    "ResourceApplyCenteredRMSProp": _centered_rms_prop,
    "ResourceApplyFtrl": _ftrl,
    "ResourceApplyFtrlV2": _ftrl,
    "ResourceApplyGradientDescent": _gradient_descent,
    "ResourceApplyKerasMomentum": _keras_momentum,
    "ResourceApplyMomentum": _momentum,
    "ResourceApplyRMSProp": _rms_prop,
    "ResourceScatterAdd": _rows_added(1.0),
    "ResourceScatterNdAdd": _written(tf.tensor_scatter_nd_add),
    "ResourceScatterNdSub": _written(tf.tensor_scatter_nd_sub),
    "ResourceScatterNdUpdate": _written(tf.tensor_scatter_nd_update),
    "ResourceScatterSub": _rows_added(-1.0),
    "ResourceScatterUpdate": _written(tf.tensor_scatter_nd_update, numbers_rows=True),
    "ResourceStridedSliceAssign": _slice_written,
}
