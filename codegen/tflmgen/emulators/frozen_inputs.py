"""Inputs of a model that determine shapes, such as axes and sizes: they become constants, as the first set has them.

For models of other formats than .tflite, whose files leave them open. Later sets must have the same values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tflmgen.errors import ModelError
from tflmgen.frontend.onnx import ShapeInputError
from tflmgen.input_sets import Array, VectorsError, arrays_by_name
from tflmgen.options import BuildOptions
from tflmgen.sources import is_lowered, read_source, source_inputs


@dataclass(frozen=True, slots=True)
class Frozen:
    """Build options with the inputs that became constants.

    places  their positions among the model's inputs
    notes   a sentence about each
    """

    options: BuildOptions
    places: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def freeze_inputs(model: Path, inputs: Path | None, options: BuildOptions) -> Frozen:
    """Options for the sets of the file `inputs`: shapes of dynamic inputs, and constants for what determines shapes.

    Raises ModelError for a bad model, VectorsError where sets differ in such an input.
    """
    if inputs is None or not is_lowered(model):
        return Frozen(options)
    ports = source_inputs(model)
    arrays = arrays_by_name(inputs)
    first_arrays = {
        name: array for place, name in enumerate(ports) if (array := _array_of(arrays, name, place)) is not None
    }
    named_in_options = {text.partition("=")[0] for text in (*(options.shape or ()), *(options.constant or ()))}
    sizes = [
        f"{name}={','.join(map(str, first_arrays[name].shape))}"
        for name in first_arrays
        if ports[name] and name not in named_in_options
    ]
    options = replace(options, shape=[*(options.shape or ()), *sizes])
    frozen: list[str] = []
    while (wanted := _missing_inputs(model, options) & set(first_arrays)) - set(frozen):
        new = sorted(wanted - set(frozen))
        frozen += new
        constants = [f"{name}={json.dumps(first_arrays[name].tolist())}" for name in new]
        options = replace(options, constant=[*(options.constant or ()), *constants])
    names = list(ports)
    for name in frozen:
        _check_agreement(inputs, arrays, name, names.index(name), first_arrays[name])
    notes = tuple(
        f"input '{name}' determines a shape: it is the constant {_json_text(first_arrays[name])}, as in the first set"
        for name in frozen
    )
    return Frozen(options, tuple(sorted(names.index(name) for name in frozen)), notes)


def _array_of(arrays: Mapping[str, Array], name: str, place: int) -> Array | None:
    return arrays.get(f"s0_in_{place}", arrays.get(name))


def _missing_inputs(model: Path, options: BuildOptions) -> frozenset[str]:
    """Inputs whose values the model's shapes depend on, beyond those that the options have."""
    try:
        read_source(model, options)
    except ModelError as error:
        if isinstance(error.__cause__, ShapeInputError):
            return error.__cause__.inputs
    return frozenset()


def _check_agreement(path: Path, arrays: Mapping[str, Array], name: str, place: int, value: Array) -> None:
    number = 1
    while (array := arrays.get(f"s{number}_in_{place}")) is not None:
        if not np.array_equal(array, value):
            raise VectorsError(
                f"{path}: set {number} has {_json_text(array)} for the input '{name}', which determines a shape, "
                f"and set 0 has {_json_text(value)}. Run them one after the other"
            )
        number += 1


def _json_text(array: Array) -> str:
    text = json.dumps(array.tolist())
    return text if len(text) <= 60 else f"{text[:57]}..."
