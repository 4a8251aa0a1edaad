"""Comparison of what a file and its Module compute: equal or not, and which tensor differs first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tflmgen.frontend.tflite import Model
from tflmgen.ir.graph import Value
from tflmgen.reference.operation import Array

TOLERANCE = 1e-4
"""Greatest difference of floats, relative to the greatest magnitude in the tensor. Passes may reorder float operations
and fold constants in float32; the corpus's largest difference is 1e-5."""


FLOOR = 1e-6
"""Accepted difference relative to the greatest magnitude of the float inputs: what cancels out leaves rounding."""


FILLING = 1e30
"""Least magnitude of elements that are no results, such as the least float as padding: of others they say nothing."""


def are_equal(actual: Array, expected: Array, magnitude: float = 1.0) -> bool:
    """Integers bit for bit, floats within TOLERANCE and FLOOR; NaN equals NaN. magnitude: of the inputs."""
    if actual.shape != expected.shape:
        return False
    if expected.dtype.kind != "f":
        return np.array_equal(actual, expected)
    magnitudes = np.abs(expected[np.isfinite(expected)].astype(np.float64))
    scale = float(magnitudes[magnitudes < FILLING].max(initial=0.0))
    with np.errstate(all="ignore"):
        return np.allclose(
            actual, expected, rtol=TOLERANCE, atol=max(TOLERANCE * scale, FLOOR * magnitude), equal_nan=True
        )


def describe(label: str, place: str, actual: Array, expected: Array) -> str:
    """One sentence: which elements differ, with the first of them."""
    if actual.shape != expected.shape:
        return f"{label}: {place} has shape {list(actual.shape)} instead of {list(expected.shape)}"
    with np.errstate(all="ignore"):
        wrong = ~np.isclose(actual, expected, rtol=TOLERANCE, atol=0, equal_nan=expected.dtype.kind == "f")
    if expected.dtype.kind != "f":
        wrong = actual != expected
    index = int(np.argmax(wrong.reshape(-1)))
    first = f"element {index} is {actual.reshape(-1)[index]} instead of {expected.reshape(-1)[index]}"
    return f"{label}: {place}: {int(wrong.sum()):,} of {expected.size:,} elements differ; {first}"


class Trace:
    """The last contents of each tensor of the file, and of each value of the Module in the order of their making."""

    def __init__(self, model: Model) -> None:
        self._model = model
        names = Counter(t.name for g in model.subgraphs for t in g.tensors)
        self._ambiguous = {name for name, count in names.items() if count > 1}
        self.tensors: dict[str, tuple[tuple[int, int], Array]] = {}
        self.values: dict[int, tuple[Value, Array]] = {}

    def see_tensor(self, subgraph: int, tensor: int, array: Array) -> None:
        """Records the contents of a tensor of the file, which replace those of an earlier run of its operator."""
        self.tensors[self._model.subgraphs[subgraph].tensors[tensor].name] = ((subgraph, tensor), array)

    def see_value(self, value: Value, array: Array) -> None:
        """Records the contents of a value of the Module, which replace those of an earlier run of its node."""
        self.values[value.id] = (value, array)

    def first_difference(self) -> tuple[str, Array, Array] | None:
        """(tensor, the Module's elements, the file's) of the first value that differs from its tensor, by name."""
        for value, array in self.values.values():
            known = self.tensors.get(value.name)
            if known is None or value.name in self._ambiguous:
                continue
            (subgraph, tensor), expected = known
            if expected.shape != array.shape or expected.dtype.kind != array.dtype.kind:
                continue
            if not are_equal(array, expected):
                return f"subgraph {subgraph}, tensor {tensor} '{value.name}'", array, expected
        return None


def magnitude_of(inputs: Sequence[Array]) -> float:
    """Greatest magnitude of float inputs, at least 1."""
    return max((float(np.abs(a).max(initial=1.0)) for a in inputs if a.dtype.kind == "f"), default=1.0)


def differing(actual: Sequence[Array], expected: Sequence[Array], magnitude: float) -> int | None:
    """Index of the first output that differs; None: all are equal."""
    pairs = enumerate(zip(actual, expected, strict=True))
    return next((index for index, (value, other) in pairs if not are_equal(value, other, magnitude)), None)


def is_scatter(actual: Array, expected: Array, scattered: Sequence[Array]) -> bool:
    """Whether an output differs by no more than four times what it does from itself when operators round otherwise.

    scattered: the output of each run with other rounding. Elements that overflow in one run and not in another may be
    anything; the others are still compared.
    """
    if actual.shape != expected.shape or any(other.shape != expected.shape for other in scattered):
        return any(other.shape != expected.shape for other in scattered)
    if expected.dtype.kind == "f":
        settled = np.logical_and.reduce([np.isfinite(other) == np.isfinite(expected) for other in scattered])
        actual, expected, scattered = actual[settled], expected[settled], [other[settled] for other in scattered]
    return distance(actual, expected) <= 4 * max(distance(other, expected) for other in scattered)


def distance(value: Array, other: Array) -> float:
    """Greatest difference of two tensors that are not equal; infinite for other shapes, and where one has NaN."""
    if value.shape != other.shape:
        return float("inf")
    with np.errstate(all="ignore"):
        if value.dtype.kind == "f" and not np.array_equal(np.isfinite(value), np.isfinite(other)):
            return float("inf")
        difference = np.abs(value.astype(np.float64) - other.astype(np.float64))
    return 0.0 if are_equal(value, other) else float(np.nan_to_num(difference).max(initial=0.0))
