"""How far a model's outputs are from those of the float model that it was made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.errors import UsageError
from tflmgen.frontend import Tensor, read_source
from tflmgen.reference import Array, Interpreter

SETS, SEED = 4, 0
"""Input sets of the comparison, and the seed that their normally distributed elements come from."""


def model_error(reference: Path, candidate: Path) -> float:
    """Largest absolute difference of outputs, as real numbers, on seeded inputs; both are evaluated with numpy.

    The models have the same inputs and outputs in the same order. Raises UsageError where shapes differ.
    """
    models = read_source(reference), read_source(candidate)
    interpreters = [Interpreter(model) for model in models]
    graphs = [model.subgraphs[0] for model in models]
    ports = [[[graph.tensors[i] for i in indices] for indices in (graph.inputs, graph.outputs)] for graph in graphs]
    for mine, theirs in zip(*ports, strict=True):
        if [tensor.shape for tensor in mine] != [tensor.shape for tensor in theirs]:
            raise UsageError("the reference's inputs and outputs have other shapes than the candidate's")
    random, largest = np.random.default_rng(SEED), 0.0
    for _ in range(SETS):
        inputs = [random.standard_normal(tensor.shape).astype(np.float32) for tensor in ports[0][0]]
        results = []
        for interpreter, (entries, exits) in zip(interpreters, ports, strict=True):
            interpreter.reset()
            stored = [_stored(array, tensor) for array, tensor in zip(inputs, entries, strict=True)]
            outputs = interpreter.invoke(None, stored)
            results.append([_real(array, tensor) for array, tensor in zip(outputs, exits, strict=True)])
        for expected, computed in zip(*results, strict=True):
            largest = max(largest, largest_difference(expected, computed))
    return largest


def largest_difference(expected: NDArray[np.float64], computed: NDArray[np.float64]) -> float:
    """Largest absolute difference of elements. NaN equals NaN; from any number its difference is infinite."""
    with np.errstate(invalid="ignore"):
        differences = np.abs(expected - computed)
    is_equal = (expected == computed) | (np.isnan(expected) & np.isnan(computed))
    return float(np.max(np.where(is_equal, 0.0, np.nan_to_num(differences, nan=np.inf, posinf=np.inf)), initial=0.0))


def _stored(array: NDArray[np.float32], tensor: Tensor) -> Array:
    """Real numbers as a tensor stores them: quantised, or of its type."""
    dtype = np.dtype(tensor.dtype.numpy if tensor.dtype else np.float32)
    if tensor.quantization is None or dtype.kind == "f":
        return array.astype(dtype)
    limits: Any = np.iinfo(dtype.str)
    codes = np.round(array / tensor.quantization.scale) + tensor.quantization.zero_point
    stored: Array = np.clip(codes, limits.min, limits.max).astype(dtype)
    return stored


def _real(array: Array, tensor: Tensor) -> NDArray[np.float64]:
    values = array.astype(np.float64)
    quantization = tensor.quantization
    if quantization is None or array.dtype.kind == "f":
        return values
    return np.asarray((values - quantization.zero_point) * quantization.scale, dtype=np.float64)
