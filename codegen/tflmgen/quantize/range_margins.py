"""Margins that the user gives: factors of the ranges of outputs and named tensors."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.errors import UsageError
from tflmgen.frontend import TensorKey
from tflmgen.frontend.tflite import Model

_MOST = 1000.0
"""Greatest factor: with it, int8 has a quarter of a step for what samples reach, and int16 32."""


def range_margins(model: Model, margins: Sequence[str]) -> dict[TensorKey, float]:
    """Factors by tensor, from FACTOR for all outputs and NAME=FACTOR for a tensor, an output or an input by its name.

    Raises UsageError for text of another form, and for names that the model does not have.
    """
    factors: dict[TensorKey, float] = {}
    entries = [signature.subgraph for signature in model.signatures] or [0]
    for text in margins:
        name, _, number = text.rpartition("=")
        outputs = [(index, tensor) for index in entries for tensor in model.subgraphs[index].outputs]
        keys = _named(model, name) if name else outputs
        if not keys:
            raise UsageError(f"--margin {text}: the model has no tensor '{name}'")
        factors |= dict.fromkeys(keys, _factor(text, number))
    return factors


def _factor(text: str, number: str) -> float:
    try:
        factor = float(number)
    except ValueError:
        factor = 0.0
    if not 1 <= factor <= _MOST:
        raise UsageError(f"--margin {text}: requires a factor from 1 to {_MOST:g}, or NAME=FACTOR")
    return factor


def _named(model: Model, name: str) -> list[TensorKey]:
    """Tensors of this name, and inputs and outputs that a signature calls so."""
    keys = [(g.index, tensor.index) for g in model.subgraphs for tensor in g.tensors if tensor.name == name]
    ports = [(s.subgraph, t) for s in model.signatures for own, t in (*s.inputs, *s.outputs) if own == name]
    return [*keys, *ports]
