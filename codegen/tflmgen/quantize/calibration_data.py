"""Calibration data: input sets of a file, checked, and split into sets for ranges and sets held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tflmgen.input_sets import Vectors, VectorsError, VectorSet, choose_signature, has_inputs_only, read_input_sets
from tflmgen.ir.graph import EntryPoint

FEW_SAMPLES = 32
"""Sets below which a warning says that ranges rest on few samples; TensorFlow's guide asks for some hundreds."""

_HELD_OUT_EVERY = 4
"""Every how many sets one is held out: range methods are compared on data that they were not chosen on."""

_FEWEST_HELD_OUT = 4
"""Held-out sets below which the error on them says nothing: all sets are then measured."""


@dataclass(frozen=True, slots=True)
class CalibrationData:
    """Input sets for ranges (`fit`) and for comparing ranges (`held_out`), both together, and warnings for the user."""

    fit: Vectors
    held_out: Vectors
    everything: Vectors
    warnings: tuple[str, ...] = ()

    @property
    def samples(self) -> int:
        """Number of input sets, held-out ones included."""
        return len(self.everything.sets)


def read_calibration(
    path: Path, signatures: Sequence[EntryPoint], key: str | None = None, has_state: bool = False
) -> CalibrationData:
    """Calibration data of a file in the forms that `tflmgen run` reads.

    key        signature of sets that name none
    has_state  the model keeps state from one invoke to the next

    Raises VectorsError for arrays that are missing, do not fit the model, or are not finite.
    """
    if key is not None:
        choose_signature(signatures, key, str(path))
    vectors = read_input_sets(path, signatures, key, expected=False)
    for number, vector_set in enumerate(vectors.sets):
        _check_finite(path, vectors, number, vector_set, signatures)
    fit, held_out = split(vectors)
    warnings = _warnings(path, vectors, signatures)
    if has_state and not vectors.says_states and len(vectors.sets) > 1:
        remedy = "Add an array stateful=True if they do, else stateful=False"
        if has_inputs_only(path):
            remedy = "If they do, put them into an .npz file, with an array stateful=True"
        warnings.append(
            f"the model keeps state, and {path} does not say whether its samples follow one another: each starts from "
            f"the initial state. {remedy}"
        )
    return CalibrationData(fit, held_out, vectors, tuple(warnings))


def split(vectors: Vectors) -> tuple[Vectors, Vectors]:
    """Sets for ranges and held-out sets: every fourth, of each signature.

    A sequence on one instance stays whole, and fewer than 16 sets are too few: both parts are all sets then.
    """
    held_out: list[VectorSet] = []
    fit: list[VectorSet] = []
    seen: dict[int, int] = {}
    for vector_set in vectors.sets:
        seen[vector_set.signature] = number = seen.get(vector_set.signature, 0) + 1
        (fit if number % _HELD_OUT_EVERY else held_out).append(vector_set)
    if vectors.stateful or len(held_out) < _FEWEST_HELD_OUT:
        return vectors, vectors
    return replace(vectors, sets=tuple(fit)), replace(vectors, sets=tuple(held_out))


def _check_finite(
    path: Path, vectors: Vectors, number: int, vector_set: VectorSet, signatures: Sequence[EntryPoint]
) -> None:
    for port, array in zip(signatures[vector_set.signature].inputs, vector_set.inputs, strict=True):
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            place = f"input '{port.name}'" if vectors.simple else f"set {number}: input '{port.name}'"
            at = f"[{','.join(map(str, index))}]"
            raise VectorsError(f"{path}: {place} is {array[index]} at {at}; calibration needs finite values")


def _warnings(path: Path, vectors: Vectors, signatures: Sequence[EntryPoint]) -> list[str]:
    count = len(vectors.sets)
    warnings = []
    if count < FEW_SAMPLES:
        samples = f"{count} sample{'s' * (count != 1)}"
        warnings.append(f"{path} has {samples}: ranges rest on few values; use {FEW_SAMPLES} samples or more")
    used = {vector_set.signature for vector_set in vectors.sets}
    for number, signature in enumerate(signatures):
        if number not in used:
            warnings.append(f"{path} has no samples of signature '{signature.key}'")
        sets = [vector_set.inputs for vector_set in vectors.sets if vector_set.signature == number]
        for port, arrays in zip(signature.inputs, zip(*sets, strict=True), strict=False):
            if port.type.dtype.is_float and not any(array.any() for array in arrays):
                warnings.append(f"{path}: input '{port.name}' is 0 in every sample: other values would be lost")
    return warnings
