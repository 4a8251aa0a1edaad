"""SignalRfft and SignalIrfft: in fixed point as KISS FFT computes them, and of floats.

Source: kiss_fft.c and kiss_fftr.c of KISS FFT (M. Borgerding), which TFLite Micro runs. The lengths are powers of two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tflmgen.ir import DType
from tflmgen.reference.operation import Array, Evaluation, Operation

Complex = tuple[Array, Array]
"""Real and imaginary parts, int64 within the width of the elements."""


@dataclass(frozen=True, slots=True)
class _Arithmetic:
    """Fractions of 15 or 31 bits that wrap."""

    dtype: DType

    def wrapped(self, values: Array) -> Array:
        return values.astype(self.dtype.numpy).astype(np.int64)

    def rounded(self, products: Array) -> Array:
        bits = self.dtype.bits - 1
        return self.wrapped((products + (1 << (bits - 1))) >> bits)

    def times(self, a: Complex, b: Complex) -> Complex:
        return self.rounded(a[0] * b[0] - a[1] * b[1]), self.rounded(a[0] * b[1] + a[1] * b[0])

    def divided(self, a: Complex, divisor: int) -> Complex:
        factor = int(self.dtype.limits[1]) // divisor
        return self.rounded(a[0] * factor), self.rounded(a[1] * factor)

    def plus(self, a: Complex, b: Complex, sign: int = 1) -> Complex:
        return self.wrapped(a[0] + sign * b[0]), self.wrapped(a[1] + sign * b[1])

    def mirrored(self, a: Complex) -> Complex:
        return a[0], self.wrapped(-a[1])

    def turns(self, phases: Array) -> Complex:
        largest = self.dtype.limits[1]
        cosine, sine = (np.floor(0.5 + largest * f(phases)).astype(np.int64) for f in (np.cos, np.sin))
        return cosine, sine

    def transform(self, values: Complex, sign: float) -> Complex:
        """Decimation in time by radix 4, innermost by 2 where the length asks for it; divided by each radix."""
        count = len(values[0])
        if count == 1:
            return values
        radix = 4 if count % 4 == 0 else 2
        parts = [self.transform((values[0][i::radix], values[1][i::radix]), sign) for i in range(radix)]
        parts = [self.divided(part, radix) for part in parts]
        roots = [_roots(self.dtype, count, count // radix, k, sign) for k in range(radix)]
        parts = [parts[0], *(self.times(part, root) for part, root in zip(parts[1:], roots[1:], strict=True))]
        if radix == 2:
            return self._joined([self.plus(parts[0], parts[1]), self.plus(parts[0], parts[1], -1)])
        difference, even = self.plus(parts[0], parts[2], -1), self.plus(parts[0], parts[2])
        odd, other = self.plus(parts[1], parts[3]), self.plus(parts[1], parts[3], -1)
        turned = (other[1], self.wrapped(-other[0]))
        first, last = self.plus(difference, turned), self.plus(difference, turned, -1)
        first, last = (first, last) if sign > 0 else (last, first)
        return self._joined([self.plus(even, odd), first, self.plus(even, odd, -1), last])

    def _joined(self, parts: Sequence[Complex]) -> Complex:
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def halves(self, points: int, sign: float) -> Complex:
        return self.turns(sign * (-np.pi * ((np.arange(points // 2) + 1) / points + 0.5)))


@lru_cache(maxsize=256)
def _roots(dtype: DType, count: int, part: int, step: int, sign: float) -> Complex:
    """The first `part` powers of the step-th power of the count-th root of unity."""
    return _Arithmetic(dtype).turns(sign * (-2 * np.pi * step * np.arange(part) / count))


def _paired(values: Complex, places: Array) -> Complex:
    return values[0][places], values[1][places]


def _spectrum(frame: Array, dtype: DType) -> Array:
    """The spectrum of 2n real numbers, by the transform of n complex ones: n + 1 pairs of real and imaginary part."""
    by = _Arithmetic(dtype)
    points = len(frame) // 2
    spectrum = by.transform((frame[0::2], frame[1::2]), 1.0)
    result = np.zeros((points + 1, 2), np.int64)
    k = np.arange(1, points // 2 + 1)
    direct = by.divided(_paired(spectrum, k), 2)
    mirror = by.divided(by.mirrored(_paired(spectrum, points - k)), 2)
    total = by.plus(direct, mirror)
    turned = by.times(by.plus(direct, mirror, -1), by.halves(points, 1.0))
    result[k] = np.stack([total[0] + turned[0], total[1] + turned[1]], axis=1) >> 1
    result[points - k] = np.stack([total[0] - turned[0], turned[1] - total[1]], axis=1) >> 1
    first = by.divided(_paired(spectrum, np.zeros(1, int)), 2)
    result[0], result[points] = (first[0][0] + first[1][0], 0), (first[0][0] - first[1][0], 0)
    return result.astype(dtype.numpy).reshape(-1)


def _samples(spectrum: Array, dtype: DType) -> Array:
    """The 2n real numbers of n + 1 pairs, divided by n."""
    by = _Arithmetic(dtype)
    pairs: Complex = (spectrum[0::2], spectrum[1::2])
    points = len(pairs[0]) - 1
    real, imaginary = np.zeros(points, np.int64), np.zeros(points, np.int64)
    ends = (
        by.wrapped(np.array([pairs[0][0] + pairs[0][points]])),
        by.wrapped(np.array([pairs[0][0] - pairs[0][points]])),
    )
    (real[0],), (imaginary[0],) = by.divided(ends, 2)
    k = np.arange(1, points // 2 + 1)
    direct = by.divided(_paired(pairs, k), 2)
    mirror = by.divided(by.mirrored(_paired(pairs, points - k)), 2)
    even = by.plus(direct, mirror)
    odd = by.times(by.plus(direct, mirror, -1), by.halves(points, -1.0))
    real[k], imaginary[k] = by.plus(even, odd)
    real[points - k], imaginary[points - k] = by.mirrored(by.plus(even, odd, -1))
    return np.stack(by.transform((real, imaginary), -1.0), axis=1).astype(dtype.numpy).reshape(-1)


def _rfft(op: Operation) -> Sequence[Array]:
    values, length = op.array(0), int(op.options["fft_length"])
    rows = values.reshape(-1, values.shape[-1])[:, :length]
    rows = np.pad(rows, ((0, 0), (0, length - rows.shape[1])))
    if op.gives_floats:
        spectra = np.fft.rfft(rows.astype(np.float64))
        spectrum = np.stack([spectra.real, spectra.imag], axis=-1).reshape(len(rows), -1)
        return [op.rounded(spectrum).reshape(*values.shape[:-1], length + 2)]
    result = np.stack([_spectrum(row.astype(np.int64), op.dtype()) for row in rows])
    return [result.reshape(*values.shape[:-1], length + 2)]


def _irfft(op: Operation) -> Sequence[Array]:
    if op.gives_floats:
        pairs = op.real(0).reshape(*op.array(0).shape[:-1], -1, 2)
        length = 2 * (pairs.shape[-2] - 1)
        return [op.rounded(np.fft.irfft(pairs[..., 0] + 1j * pairs[..., 1], length))]
    values = op.integers(0)
    rows = values.reshape(-1, values.shape[-1])
    result = np.stack([_samples(row, op.dtype()) for row in rows])
    return [result.reshape(*values.shape[:-1], result.shape[-1])]


EVALUATIONS: Mapping[str, Evaluation] = {"CUSTOM:SignalRfft": _rfft, "CUSTOM:SignalIrfft": _irfft}
