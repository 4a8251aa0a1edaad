"""Input sets for validation: seeded and adversarial, and fillings that make comparisons come out either way."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from tflmgen.frontend.tflite import Model
from tflmgen.ir import DType, TensorType, elements_of
from tflmgen.ir.graph import Port
from tflmgen.reference.branch_search import BranchSearch
from tflmgen.reference.definitions.evaluations import COMPARISONS
from tflmgen.reference.definitions.type_conversions import dequantized, requantized_reals
from tflmgen.reference.file_interpreter import type_of
from tflmgen.reference.operation import Array

LARGE = 100.0
"""Magnitude of the extremes of float inputs: large for activations, far from overflow."""
TRIES, GUIDED_TRIES = 48, 240
"""Candidates of the search for untaken branches, at most: random ones, and with a BranchSearch."""
GUIDED = 0.7
"""Share of the candidates that start from what comparisons of earlier runs have shown; the others are random."""
MORE_SETS = 48
"""Further sets of a model that is evaluated quickly."""


@dataclass(frozen=True, slots=True)
class RandomInputs:
    """label: what is in it; arrays: one for each input of the signature; planned: counts among the sets to be run."""

    label: str
    arrays: tuple[Array, ...]
    planned: bool


def make_input_sets(
    model: Model, ports: Sequence[Port], rng: np.random.Generator, count: int, search: BranchSearch | None = None
) -> Iterator[RandomInputs]:
    """`count` planned sets, then candidates for branches that none of them takes, by what runs have shown."""
    types = [port.type for port in ports]
    more = [("random", float(10.0 ** rng.uniform(-2, 2))) for _ in range(len(_PLANNED), count)]
    for label, scale in (*_PLANNED[:count], *more):
        yield RandomInputs(label, tuple(_filled(t, label, scale, rng) for t in _sized(types, label, rng)), True)
    thresholds = comparison_constants(model)
    tries = TRIES if search is None else GUIDED_TRIES
    for _ in range(tries if ports else 0):
        arrays = search.candidate(types, rng) if search and rng.random() < GUIDED else None
        if arrays is None:
            arrays = tuple(_candidate(t, thresholds, rng) for t in _sized(types, "random", rng))
        yield RandomInputs("search", arrays, False)


def make_more_sets(ports: Sequence[Port], rng: np.random.Generator) -> Iterator[RandomInputs]:
    """Sets in patterns that reach what even noise does not: sums that stay far from saturation, and far into it."""
    types = [port.type for port in ports]
    for number in range(MORE_SETS if ports else 0):
        label = PATTERNS[number % len(PATTERNS)]
        arrays = tuple(_patterned(t, label, rng) for t in _sized(types, "random", rng))
        yield RandomInputs(label, arrays, True)


def sets_of_all_shapes(ports: Sequence[Port], rng: np.random.Generator) -> list[RandomInputs]:
    """Random sets in every shape that inputs may have; none if these are too many, or other values may decide, too."""
    types = [port.type for port in ports]
    if any(not (t.dtype.is_float or t.quantization) for t in types):
        return []
    bounds = [t.max_shape[axis] for t in types for axis in t.dynamic_axes]
    if math.prod(bounds) > MAX_SHAPES:
        return []
    sets = []
    for sizes in product(*(range(1, bound + 1) for bound in bounds)):
        left, arrays = iter(sizes), []
        for type_ in types:
            shape = [next(left) if axis in type_.dynamic_axes else dim for axis, dim in enumerate(type_.max_shape)]
            arrays.append(_filled(type_.with_shape(tuple(shape)), "random", 1.0, rng))
        sets.append(RandomInputs("all shapes", tuple(arrays), True))
    return sets


def with_small_integers(input_set: RandomInputs, ports: Sequence[Port], rng: np.random.Generator) -> RandomInputs:
    """The set with integers that serve as indices near zero: large ones may be outside of what they index."""
    limit = int(rng.choice((1, 2, 4)))
    arrays = tuple(
        array if p.type.dtype.is_float or p.type.quantization or array.dtype == bool else np.abs(array) % limit
        for array, p in zip(input_set.arrays, ports, strict=True)
    )
    return RandomInputs(
        f"{input_set.label}, small indices",
        tuple(a.astype(o.dtype) for a, o in zip(arrays, input_set.arrays, strict=True)),
        input_set.planned,
    )


_PLANNED = (
    ("random", 1.0),
    ("zeros", 0.0),
    ("least", 1.0),
    ("greatest", 1.0),
    ("random", 10.0),
    ("alternating extremes", 1.0),
    ("small", 0.1),
    ("ones", 1.0),
    ("ramp", 1.0),
    ("random", 0.01),
    ("random", 100.0),
    ("random", 3.0),
)


MAX_SHAPES = 256
"""Combinations of inputs' dimensions up to which all are tried where no other set runs."""

PATTERNS = ("noise", "faint noise", "random extremes", "equal pixels", "sparse", "smooth", "weak noise")
"""Fillings of further sets."""


def comparison_constants(model: Model) -> tuple[float, ...]:
    """Real values of small constants that comparisons of the file read."""
    constants: dict[float, None] = {}
    for subgraph in model.subgraphs:
        for op in subgraph.operators:
            for index in op.inputs if op.name in COMPARISONS else ():
                tensor = subgraph.tensors[index]
                if tensor.data is None or tensor.dtype is None or np.prod(tensor.shape) > 16:
                    continue
                values = elements_of(type_of(tensor), tensor.data)
                reals = dequantized(values, type_of(tensor)) if tensor.quantization else values
                constants |= dict.fromkeys(float(v) for v in reals.reshape(-1))
    return tuple(value for value in constants if np.isfinite(value))


def _sized(types: Sequence[TensorType], label: str, rng: np.random.Generator) -> list[TensorType]:
    """The types in shapes of one run: dynamic dimensions are as large as they can be, in random sets smaller.

    Dimensions with one bound along one axis are equal, since operators are likely to bring them together.
    """
    shares: dict[tuple[int, int], int] = {}
    sized = []
    for type_ in types:
        shape = list(type_.max_shape)
        for axis in type_.dynamic_axes if label == "random" else ():
            bound = shape[axis]
            shape[axis] = shares.setdefault((axis, bound), int(rng.integers(1, max(bound, 1) + 1)))
        sized.append(type_.with_shape(tuple(shape)))
    return sized


def _filled(type_: TensorType, label: str, scale: float, rng: np.random.Generator) -> Array:
    shape = type_.max_shape
    if type_.dtype is DType.BOOL:
        if label in ("random", "small", "ramp", "alternating extremes"):
            return rng.integers(0, 2, shape).astype(bool)
        return np.full(shape, label in ("greatest", "ones"))
    low, high = (-LARGE, LARGE) if type_.dtype.is_float else type_.dtype.limits
    is_count = not type_.dtype.is_float and type_.quantization is None
    if is_count and type_.dtype.bits > 16 and label not in ("least", "greatest"):
        # Counters, indices and lengths are of these types: small ones mean something.
        low, high = (0 if low == 0 else -4), 16
    if label == "least":
        values = np.full(shape, low, np.float64 if type_.dtype.is_float else type_.dtype.numpy)
    elif label == "greatest":
        values = np.full(shape, high, np.float64 if type_.dtype.is_float else type_.dtype.numpy)
    elif label == "alternating extremes":
        values = np.resize(np.array([low, high]), shape)
    elif label == "ramp":
        values = np.linspace(low / 100 if type_.dtype.is_float else low, high, int(np.prod(shape))).reshape(shape)
    elif label == "zeros":
        return _of_real(type_, np.zeros(shape))
    elif label == "ones":
        return _of_real(type_, np.ones(shape))
    elif type_.dtype.is_float:
        values = rng.uniform(-scale, scale, shape)
    elif label == "small":
        middle = type_.quantization.zero_point if type_.quantization else 0
        values = np.clip(middle + rng.integers(-3, 4, shape), *type_.dtype.limits)
    else:
        kind: Any = type_.dtype.numpy
        return np.asarray(rng.integers(int(low), int(high), shape, kind, endpoint=True))
    return np.asarray(values).astype(type_.dtype.numpy)


def _patterned(type_: TensorType, label: str, rng: np.random.Generator) -> Array:
    """Noise of a magnitude around the zero point, shaped along the axes: the last one is that of channels."""
    shape = type_.max_shape
    is_count = not type_.dtype.is_float and type_.quantization is None
    if type_.dtype is DType.BOOL or is_count or not shape:
        return _filled(type_, "random", float(10.0 ** rng.uniform(-2, 2)), rng)
    if type_.dtype.is_float:
        low, high, middle = -1.0, 1.0, 0.0
        amplitude = float(10.0 ** rng.uniform(-2, 2))
    else:
        least, greatest = type_.dtype.limits
        low, high, amplitude = float(least), float(greatest), 1.0
        middle = float(type_.quantization.zero_point) if type_.quantization else 0.0
    values = rng.uniform(low, high, shape)
    if label == "random extremes":
        values = np.where(rng.random(shape) < 0.5, low, high)
    elif label == "equal pixels":
        values = np.broadcast_to(rng.uniform(low, high, shape[-1:]), shape)
    elif label == "sparse":
        values = np.where(rng.random(shape) < 0.15, values, middle)
    elif label == "smooth":
        steps = rng.uniform(low, high, shape) / 6
        values = middle + np.cumsum(steps, axis=max(len(shape) - 2, 0))
    elif label.endswith("noise"):
        values = middle + values * {"noise": 1.0, "weak noise": 0.25, "faint noise": 0.06}[label]
    if type_.dtype.is_float:
        return np.asarray(values * amplitude).astype(type_.dtype.numpy)
    return np.asarray(np.clip(np.rint(values), *type_.dtype.limits)).astype(type_.dtype.numpy)


def _candidate(type_: TensorType, thresholds: Sequence[float], rng: np.random.Generator) -> Array:
    """Around a constant that something is compared with, over many magnitudes, or nothing but one number."""
    shape = type_.max_shape
    if type_.dtype is DType.BOOL:
        return np.full(shape, bool(rng.integers(2)))
    centre = float(rng.choice(thresholds)) if thresholds and rng.random() < 0.6 else 0.0
    width = float(10.0 ** rng.uniform(-3, 3)) if rng.random() < 0.8 else 0.0
    spread = rng.uniform(-width, width, shape) if rng.random() < 0.5 else np.full(shape, rng.uniform(-width, width))
    if not type_.dtype.is_float and type_.quantization is None:
        spread = np.round(spread)
    return _of_real(type_, centre + spread)


def _of_real(type_: TensorType, reals: Array) -> Array:
    """Real numbers in the tensor's type: quantised, or rounded and clamped."""
    if type_.dtype.is_float:
        return reals.astype(type_.dtype.numpy)
    if type_.quantization is not None:
        return requantized_reals(reals, type_, False)
    low, high = type_.dtype.limits
    inside = np.clip(np.nan_to_num(reals), max(low, -(2**31)), min(high, 2**31 - 1))
    return np.asarray(inside.astype(type_.dtype.numpy))
