"""Cost models of kernel families: C functions whose cycles have the same terms, and what they compute at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tflmgen.kernels.costs import rows
from tflmgen.kernels.costs.term import Blocking, Numbers, Term
from tflmgen.kernels.costs.window_terms import WINDOW_TERMS
from tflmgen.kernels.costs.windows import Windows, channel_parts, convolution_parts, transposed_parts
from tflmgen.kernels.numeric.header_constants import header_constant

FEW = header_constant("common.h", "TFLMGEN_FEW_ELEMENTS")
"""Elements up to which element-wise kernels are inlined and specialised."""

CALL = "call"
"""The term that kernels have once; where a family has eight others, the call takes nothing beside them."""

Parts = Callable[[Numbers, Blocking], list[tuple[int, Windows]]]


@dataclass(frozen=True, slots=True)
class CostModel:
    """Cost model of a kernel family: the terms that the cycles of its C functions are a sum of.

    count: of terms by name, given the numbers of a call and the blocking. vocabulary: every term that such kernels may
    have. terms: those that this family has, beside the call itself. layers: which random
    layers the figures are fitted to, by their name in tests/support/cost_layers.py.
    """

    count: Callable[[Numbers, Blocking], Callable[[str], float]]
    vocabulary: frozenset[str]
    blocking: Blocking
    terms: tuple[str, ...]
    layers: str
    has_call: bool = True

    def counts(self, numbers: Numbers) -> dict[str, float]:
        """Number of times that each part of the kernel runs in a call with these numbers."""
        count = self.count(numbers, self.blocking)
        return {name: count(name) for name in ((CALL,) if self.has_call else ()) + self.terms}


def _windows(parts: Parts) -> Callable[..., CostModel]:
    def count(numbers: Numbers, blocking: Blocking) -> Callable[[str], float]:
        windows = parts(numbers, blocking)
        return lambda name: (
            1 if name == CALL else sum(times * WINDOW_TERMS[name].count(part) for times, part in windows)
        )

    return partial(_family, count, WINDOW_TERMS)


def _rows(call: Callable[[Numbers, Blocking], Any], vocabulary: dict[str, Term[Any]]) -> Callable[..., CostModel]:
    def count(numbers: Numbers, blocking: Blocking) -> Callable[[str], float]:
        counted = call(numbers, blocking)
        return lambda name: not counted.is_inlined if name == CALL else vocabulary[name].count(counted)

    return partial(_family, count, vocabulary)


def _family(
    count: Callable[[Numbers, Blocking], Callable[[str], float]],
    vocabulary: dict[str, Term[Any]],
    layers: str,
    terms: str,
    pixels: int = 1,
    channels: int = 1,
    values: int = 1,
    has_call: bool = True,
    inlined: int = 0,
) -> CostModel:
    blocking, names = Blocking(pixels, channels, values, inlined), tuple(terms.split())
    return CostModel(count, frozenset(vocabulary), blocking, names, layers, has_call)


convolution_cost = _windows(convolution_parts)
depthwise_cost = _windows(channel_parts)
transposed_cost = _windows(transposed_parts)
matrix_cost = _rows(rows.Matrix, rows.MATRIX_TERMS)
product_cost = _rows(rows.Product, rows.PRODUCT_TERMS)
elements_cost = _rows(rows.Elements, rows.ELEMENT_TERMS)
svdf_cost = _rows(rows.Filters, rows.SVDF_TERMS)
lstm_cost = _rows(rows.LstmSequence, rows.LSTM_TERMS)
