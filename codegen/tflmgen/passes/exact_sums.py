"""Functions as sums of products of atoms: the normal form by which spelled-out operators are recognised.

An atom is a variable, or a function of a sum that has no simpler form. Each term has a coefficient: an exact fraction,
a float, or an array of floats, one for each element of a row. Equal sums are equal functions of real numbers.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tflmgen.passes.single_precision import cancels

Atom = Any
"""A name, or a name and the key of the sum that the named function is of."""
Product = frozenset[tuple[Atom, int]]
"""Atoms and their exponents; none has the exponent 0."""
Coefficient = Any
"""A Fraction, a float, or an array of floats."""

ONE: Product = frozenset()

MAX_TERMS = 16
"""Terms of a sum at most; the longest pattern has four."""
MAX_EXPONENT = 4
"""Greatest exponent of an atom; GELU has a cube."""
GREATEST = 2**128
"""Magnitudes of coefficients are less: greater ones are infinite in float32."""
LEAST = Fraction(1, 2**149)
"""Magnitudes of coefficients are this at least: lesser ones are zero in float32."""
HALF_STEP = Fraction(1, 2**24)
"""Largest relative error of a number that was rounded to float32."""


class NoFormError(Exception):
    """A function without this normal form, or one that is longer than any that is looked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """A sum of products, by product."""

    terms: Mapping[Product, Coefficient]

    def __add__(self, other: Sum) -> Sum:
        terms = dict(self.terms)
        if ONE in terms and ONE in other.terms and cancels(np.float64(terms[ONE]), np.float64(other.terms[ONE])):
            raise NoFormError
        for product, coefficient in other.terms.items():
            terms[product] = terms[product] + coefficient if product in terms else coefficient
        return _without_zeros(terms)

    def __sub__(self, other: Sum) -> Sum:
        return self + other.scaled(-1)

    def __mul__(self, other: Sum) -> Sum:
        total = Sum({})
        for first, left in self.terms.items():
            total += Sum({_multiplied(first, second): left * right for second, right in other.terms.items()})
        return total

    def scaled(self, factor: Coefficient) -> Sum:
        """The sum times a number."""
        return _without_zeros({product: coefficient * factor for product, coefficient in self.terms.items()})

    @property
    def key(self) -> Hashable:
        """The sum as a part of an atom; its coefficients must be numbers."""
        if any(isinstance(coefficient, np.ndarray) for coefficient in self.terms.values()):
            raise NoFormError
        return frozenset(self.terms.items())

    @property
    def number(self) -> Coefficient | None:
        """The coefficient of a constant; None of other sums."""
        if not self.terms:
            return 0
        return self.terms[ONE] if self.terms.keys() == {ONE} else None


def constant(value: Coefficient) -> Sum:
    """A constant as a sum."""
    return _without_zeros({ONE: value})


def atom(name: Atom, exponent: int = 1) -> Sum:
    """A power of an atom as a sum."""
    return Sum({frozenset({(name, exponent)}): 1})


def is_rounded(number: Fraction, exact: Fraction) -> bool:
    """Whether a product of constants is an exact number, as far as constants of float32 can say it.

    A number that float32 has must be met. From any other, the product of two rounded factors differs by a step at most.
    """
    single = float(np.float32(float(exact)))
    if single == exact:
        with np.errstate(over="ignore"):
            return float(np.float32(float(number))) == single
    return abs(number - exact) <= 2 * HALF_STEP * abs(exact)


def matches(computed: Sum, pattern: Sum) -> bool:
    """Whether a sum of fractions is the pattern, but for the rounding of constants to float32."""
    return _terms_match(list(computed.terms.items()), list(pattern.terms.items()))


def _terms_match(computed: list[tuple[Product, Coefficient]], pattern: list[tuple[Product, Coefficient]]) -> bool:
    if len(computed) != len(pattern):
        return False
    rest = list(computed)
    for product, exact in pattern:
        same = next((t for t in rest if is_rounded(t[1], exact) and _products_match(t[0], product)), None)
        if same is None:
            return False
        rest.remove(same)
    return True


def _products_match(computed: Product, pattern: Product) -> bool:
    return len(computed) == len(pattern) and all(
        any(exponent == power and _atoms_match(own, other) for own, exponent in computed) for other, power in pattern
    )


def _atoms_match(computed: Atom, pattern: Atom) -> bool:
    if isinstance(computed, tuple) and isinstance(pattern, tuple) and computed[0] == pattern[0]:
        return _terms_match(list(computed[1]), list(pattern[1]))
    return bool(computed == pattern)


def _multiplied(first: Product, second: Product) -> Product:
    powers = dict(first)
    for name, exponent in second:
        powers[name] = powers.get(name, 0) + exponent
    if any(abs(exponent) > MAX_EXPONENT for exponent in powers.values()):
        raise NoFormError
    return frozenset((name, exponent) for name, exponent in powers.items() if exponent)


def _without_zeros(terms: Mapping[Product, Coefficient]) -> Sum:
    kept = {product: coefficient for product, coefficient in terms.items() if np.any(coefficient)}
    if len(kept) > MAX_TERMS or not all(map(_is_moderate, kept.values())):
        raise NoFormError
    return Sum(kept)


def _is_moderate(coefficient: Coefficient) -> bool:
    if isinstance(coefficient, Fraction | int):
        return LEAST <= abs(Fraction(coefficient)) < GREATEST
    return bool(np.isfinite(coefficient).all())


def exactly(number: float) -> Fraction:
    """A constant as a fraction; an infinity has none."""
    if not math.isfinite(number):
        raise NoFormError
    return Fraction(number)
