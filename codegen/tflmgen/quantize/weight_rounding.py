"""Weights and biases in integers that keep what a layer computes: rounding with compensation, and bias correction.

Rounding a weight to the nearest integer is best for the weight, not for the layer. GPTQ (Frantar et al., "GPTQ:
Accurate post-training quantization for generative pre-trained transformers", 2023, after Hassibi and Stork's optimal
brain surgeon) rounds one weight after the other, and changes those not yet rounded to make up for the error as far as
their inputs go together. The bias takes what is left of the mean (Nagel et al., "Data-free quantization through weight
equalization and bias correction", 2019, section 4.2), here of the measured inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.model_graph import OperatorKey
from tflmgen.quantize.element_types import weight_quantization
from tflmgen.quantize.layer_inputs import MeasuredLayer

Array = NDArray[Any]

_DAMPING = 0.01
"""Part of the mean variance added to each: inputs that hardly vary, or few samples, must not decide. GPTQ's value."""

_GREATEST = 127
"""Largest magnitude of an int8 weight, whose range is symmetric."""


@dataclass(frozen=True, slots=True, eq=False)
class LayerConstants:
    """Integer constants of a layer: int8 weights in the shape of the file, and what is added to its real bias."""

    weights: Array
    bias_shift: Array | None


def corrected_layers(layers: Iterable[MeasuredLayer], is_compensated: bool) -> Mapping[OperatorKey, LayerConstants]:
    """Constants of the layers that ran, by operator: weights rounded with compensation or to the nearest integer."""
    constants: dict[OperatorKey, LayerConstants] = {}
    for layer in layers:
        if layer.rows:
            constants |= dict.fromkeys(layer.operators, _constants(layer, is_compensated))
    return constants


def _constants(layer: MeasuredLayer, is_compensated: bool) -> LayerConstants:
    scales = np.array(weight_quantization(layer.weights, 0).scales)
    covariance = layer.covariance if is_compensated else None
    if covariance is None:
        rounded = np.clip(np.rint(layer.weights / scales[:, None]), -_GREATEST, _GREATEST)
    elif layer.groups == 1:
        rounded = compensated(layer.weights, scales, covariance[0])
    else:
        per_input = len(layer.weights) // layer.groups
        rows = [
            compensated(layer.weights[k : k + 1], scales[k : k + 1], covariance[k // per_input])
            for k in range(len(layer.weights))
        ]
        rounded = np.concatenate(rows)
    lost = layer.weights - rounded * scales[:, None]
    mean = np.repeat(layer.mean, len(layer.weights) // layer.groups, axis=0)
    shift = (lost * mean).sum(axis=1) if layer.has_bias else None
    return LayerConstants(layer.filter_of(rounded).astype(np.int8), shift)


def compensated(weights: Array, scales: Array, covariance: Array) -> Array:
    """Integers [outputs, products] with scales [outputs] whose products with the inputs are near the weights'."""
    variances = np.diag(covariance)
    if not variances.mean() > 0:
        return np.asarray(np.clip(np.rint(weights / scales[:, None]), -_GREATEST, _GREATEST))
    order = np.argsort(-variances, kind="stable")
    damped = covariance[np.ix_(order, order)] + _DAMPING * variances.mean() * np.eye(len(order))
    factor = np.linalg.cholesky(np.linalg.inv(damped)).T
    rest = (weights / scales[:, None])[:, order]
    rounded = np.empty_like(rest)
    for place in range(len(order)):
        rounded[:, place] = np.clip(np.rint(rest[:, place]), -_GREATEST, _GREATEST)
        error = (rest[:, place] - rounded[:, place]) / factor[place, place]
        rest[:, place + 1 :] -= error[:, None] * factor[place, place + 1 :]
    result = np.empty_like(rounded)
    result[:, order] = rounded
    return result
