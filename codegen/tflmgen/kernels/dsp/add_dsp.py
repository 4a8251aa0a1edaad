"""ADD and SUB of int8 for cores with the DSP extension: one affine map, proved over all pairs of inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tflmgen.ir.kernel import Cost, Input, Kernel, Output, Params
from tflmgen.kernels.costs.cost_model import FEW, elements_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.fixed_point import INT32_END, requantized
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.numeric.quantize_math import quantize_multiplier
from tflmgen.kernels.operators.binary import Fields, binary_overlaps, nest_fields
from tflmgen.kernels.requests import Addition
from tflmgen.kernels.specification.rules import input_type, zero_point

SHIFTS = (22, 21, 20, 19)
"""Fraction bits of the sum, the best first; fewer where factors or sums are large."""

EXTRA = 8
"""Fraction bits that factors have more."""

_LEFT_SHIFT = 20
"""Bits by which TFLite scales the operands up before it adds them."""

_FACTOR_STEPS = range(-12, 13)
"""Offsets that are tried around the factors: TFLite's own roundings are no better than these.

They are tried in units of the factors, then of the sum. Where sums meet halves exactly, TFLite rounds these away from
zero; so does a map that is steeper by more than what is lost where products are cut off.
"""


def add_dsp(request: Addition) -> Kernel | None:
    """The kernel; None where no affine map is exact."""
    return affine_kernel(request, "dsp", EXTRA)


def affine_kernel(request: Addition, variant: str, extra: int) -> Kernel | None:
    """The kernel of one instruction set, whose factors have `extra` fraction bits more than their sum."""
    op, factors, sign = request.op, request.factors, request.sign
    first, second, output = input_type(op, 0), input_type(op, 1), op.outputs[0]
    zeros = zero_point(first), zero_point(second), zero_point(output)
    results = reference([quantize_multiplier(f) for f in factors], zeros, sign)
    wanted = np.clip(results, -128, 127)
    tried = ((unit, shift) for unit in dict.fromkeys((1, 1 << extra)) for shift in SHIFTS)
    fits = (_fit(factors, sign, shift, extra, wanted, unit) for unit, shift in tried)
    candidate = next(filter(None, fits), None)
    if candidate is None:
        return None
    low, high = request.limits
    clamped = int(results.min()) < low > -128 or int(results.max()) > high < 127
    equal = first.elements == second.elements == output.elements
    counts: Fields = (("count", output.elements),) if equal else nest_fields(op)
    fields = (
        *counts,
        ("factor1", candidate.factors[0]),
        ("factor2", candidate.factors[1]),
        ("start", candidate.start),
        ("shift", candidate.shift),
        ("least", low if clamped else -128),
        ("greatest", high if clamped else 127),
    )
    name = f"add_{variant}" if equal else f"add_rows_{variant}"
    return Kernel(
        f"tflmgen_{name}_s8",
        f"{name}.h",
        (Input(0), Input(1), Output(0)),
        Params(f"tflmgen_add_affine_{'' if equal else 'rows_'}s8", fields),
        binary_overlaps(op),
        variant=variant,
        cost=Cost(family=name),
    )


@dataclass(frozen=True, slots=True)
class _Affine:
    factors: tuple[int, int]
    start: int
    shift: int


def reference(pairs: Sequence[tuple[int, int]], zeros: tuple[int, int, int], sign: int) -> Integers:
    """TFLite's results before clamping, [input 0 + 128, input 1 + 128]."""
    values = np.arange(-128, 128, dtype=np.int64)
    first = requantized((values - zeros[0]) << _LEFT_SHIFT, *pairs[0])
    second = requantized((values - zeros[1]) << _LEFT_SHIFT, *pairs[1])
    return requantized(np.add.outer(first, sign * second), *pairs[2]) + zeros[2]


def _fit(factors: Sequence[float], sign: int, shift: int, extra: int, results: Integers, unit: int) -> _Affine | None:
    scale = factors[2] * 2.0 ** (_LEFT_SHIFT + shift + extra)
    a, b = round(factors[0] * scale), round(sign * factors[1] * scale)
    if max(abs(a), abs(b)) + _FACTOR_STEPS.stop * unit >= INT32_END:
        return None
    steps = sorted(((da, db) for da in _FACTOR_STEPS for db in _FACTOR_STEPS), key=lambda d: abs(d[0]) + abs(d[1]))
    untried = np.array(steps, dtype=np.int64) * unit + (a, b)
    watched: list[tuple[int, int]] = []
    while len(untried):
        solution = _solved(tuple(untried[0].tolist()), shift, extra, results)
        if isinstance(solution, _Affine):
            return solution
        if not solution:  # the factors around these make sums that differ by 6 at most
            return None
        watched += solution
        untried = _fitting(untried[1:], shift, extra, results, watched)
    return None


def _fitting(factors: Integers, shift: int, extra: int, results: Integers, cells: list[tuple[int, int]]) -> Integers:
    """Factors, of [n, 2], with which one additive constant gives the right results for all pairs in `cells`."""
    first, second = np.array(cells).T
    sums = (factors[:, :1] * (first - 128) >> extra) + (factors[:, 1:] * (second - 128) >> extra)
    low, high = _bounds(results[first, second], sums, shift)
    fitting: Integers = factors[low.max(axis=1) <= high.min(axis=1)]
    return fitting


def _solved(factors: tuple[int, int], shift: int, extra: int, results: Integers) -> _Affine | list[tuple[int, int]]:
    """The map; or the pairs of inputs that no constant serves both; or nothing, where sums could overflow."""
    values = np.arange(-128, 128, dtype=np.int64)
    sums = np.add.outer(*((factor * values) >> extra for factor in factors))
    low, high = _bounds(results, sums, shift)
    if low.max() > high.min():
        cells = (np.unravel_index(int(at), results.shape) for at in (low.argmax(), high.argmin()))
        return [(int(i), int(j)) for i, j in cells]
    start = (int(low.max()) + int(high.min())) // 2
    span = (abs(factors[0]) << 7 >> extra) + 1
    reached = [*(int(end) + start for end in (sums.min(), sums.max())), start - span, start + span]
    if min(reached) < -INT32_END or max(reached) >= INT32_END:
        return []
    return _Affine(factors, start, shift)


def _bounds(results: Integers, sums: Integers, shift: int) -> tuple[Integers, Integers]:
    """Least and greatest constant that brings each sum to its result; results at int8's ends may lie beyond."""
    low = np.where(results > -128, (results << shift) - sums, -4 * INT32_END)
    high = np.where(results < 127, ((results + 1) << shift) - 1 - sums, 4 * INT32_END)
    return low, high


KERNEL = KernelDeclaration(
    "add_dsp.h",
    "dsp",
    (Computes(Addition, add_dsp),),
    {
        "add_dsp": elements_cost("add", "element rest clamp", 1, 1, 4, inlined=FEW),
        "add_rows_dsp": elements_cost("add rows", "row restart full_vector element rest clamp", 1, 1, 4, inlined=FEW),
    },
    (Cases("narrow_add"),),
    beside=("add_rows_dsp.h",),
)
