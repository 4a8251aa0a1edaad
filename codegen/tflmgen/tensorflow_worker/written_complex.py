"""Operations on complex numbers as pairs of real ones, [..., 2]; Fourier transforms by RFFT2D of single rows.

With Z = X + iY, the transform of Z is that of X plus i times that of Y, and transforms of real numbers are those of
their first half and its conjugate. Lengths that TFLite does not transform are products with a matrix of cosines and
sines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.complex_pairs import is_transformed
from tflmgen.tensorflow_worker.node_constants import applied
from tflmgen.tensorflow_worker.written_shapes import Write, check_size, constant, static_shape

Parts = tuple[Any, Any]
"""Real and imaginary parts, of one shape."""


def _parts(pairs: Any) -> Parts:
    return pairs[..., 0], pairs[..., 1]


def _joined(parts: Parts) -> Any:
    return tf.stack(parts, -1)


def _on_parts(function: Callable[..., Parts]) -> Write:
    return lambda _, *operands: _joined(function(*map(_parts, operands)))


def _on_each_part(name: str) -> Write:
    """The operation on real parts and on imaginary ones. Which operands are complex their attribute's type says."""

    def write(attributes: Mapping[str, Any], *operands: Any) -> Any:
        results = []
        for part in range(2):
            chosen = [
                _part(operand, part) if is_pair else operand
                for operand, is_pair in zip(operands, attributes["is_pair"], strict=True)
            ]
            results.append(tf.nest.flatten(applied(name, attributes, chosen)))
        return [tf.stack(parts, -1) for parts in zip(*results, strict=True)]

    return write


def _part(operand: Any, part: int) -> Any:
    return [v[..., part] for v in operand] if isinstance(operand, list) else operand[..., part]


def _product(x: Parts, y: Parts) -> Parts:
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]


def _quotient(x: Parts, y: Parts) -> Parts:
    size = tf.square(y[0]) + tf.square(y[1])
    above = _product(x, (y[0], -y[1]))
    return above[0] / size, above[1] / size


def _exponential(x: Parts) -> Parts:
    size = tf.exp(x[0])
    return size * tf.cos(x[1]), size * tf.sin(x[1])


def _magnitude(x: Parts) -> Any:
    return tf.sqrt(tf.square(x[0]) + tf.square(x[1]))


def _root(x: Parts) -> Parts:
    """The root with a real part from 0 on."""
    size = _magnitude(x)
    imaginary = tf.sqrt(tf.maximum(0.5 * (size - x[0]), 0.0))
    return tf.sqrt(tf.maximum(0.5 * (size + x[0]), 0.0)), tf.where(x[1] < 0.0, -imaginary, imaginary)


def _matrix_product(attributes: Mapping[str, Any], x: Any, y: Any) -> Any:
    """Matrices, transposed or adjoint as the operation's attributes say."""

    def turned(matrix: Any, transposed: str, adjoint: str) -> Parts:
        real, imaginary = _parts(matrix)
        if attributes.get(transposed) or attributes.get(adjoint):
            real, imaginary = tf.linalg.matrix_transpose(real), tf.linalg.matrix_transpose(imaginary)
        return (real, -imaginary) if attributes.get(adjoint) else (real, imaginary)

    a, b = turned(x, "transpose_a", "adj_x"), turned(y, "transpose_b", "adj_y")
    real = tf.matmul(a[0], b[0]) - tf.matmul(a[1], b[1])
    return _joined((real, tf.matmul(a[0], b[1]) + tf.matmul(a[1], b[0])))


def _cast(attributes: Mapping[str, Any], x: Any) -> Any:
    if attributes["SrcT"] == tf.complex64:
        return x if attributes["DstT"] == tf.complex64 else tf.cast(x[..., 0], attributes["DstT"])
    real = tf.cast(x, tf.float32)
    return _joined((real, tf.zeros_like(real)))


def _conjugate_transposed(_: Mapping[str, Any], x: Any, order: Any) -> Any:
    return _joined((tf.transpose(x[..., 0], order), -tf.transpose(x[..., 1], order)))


def _angles(length: int) -> np.ndarray[Any, Any]:
    check_size(length * length, "the matrix of a transform")
    numbers = np.arange(length, dtype=np.int64)
    return 2 * math.pi / length * (numbers[:, None] * numbers[None, :] % length)


def _real_transform(x: Any, length: int) -> Parts:
    """Parts [..., length / 2 + 1] of the transform of real numbers [..., length]."""
    shape = static_shape(x, "the input")
    if is_transformed(length):
        rows = tf.reshape(x, [math.prod(shape[:-1]), 1, length])
        spectrum = tf.raw_ops.RFFT2D(input=rows, fft_length=[1, length])
        real, imaginary = tf.math.real(spectrum), tf.math.imag(spectrum)
    else:
        rows, angles = tf.reshape(x, [-1, length]), _angles(length)[:, : length // 2 + 1]
        real = tf.matmul(rows, np.cos(angles).astype(np.float32))
        imaginary = tf.matmul(rows, -np.sin(angles).astype(np.float32))
    size = [*shape[:-1], length // 2 + 1]
    return tf.reshape(real, size), tf.reshape(imaginary, size)


def _mirrored(length: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Places of a transform's numbers in its first half, and signs of their imaginary parts."""
    numbers = np.arange(length, dtype=np.int32)
    is_first = numbers <= length // 2
    return np.where(is_first, numbers, length - numbers), np.where(is_first, 1, -1).astype(np.float32)


def _transform(x: Parts) -> Parts:
    """Along the last dimension."""
    length = static_shape(x[0], "the input")[-1]
    places, signs = _mirrored(length)
    spectra = [_real_transform(part, length) for part in x]
    (a, b), (c, d) = ((tf.gather(r, places, axis=-1), tf.gather(i, places, axis=-1) * signs) for r, i in spectra)
    return a - d, b + c


def _inverse(x: Parts) -> Parts:
    length = static_shape(x[0], "the input")[-1]
    real, imaginary = _transform((x[0], -x[1]))
    return real / length, -imaginary / length


def _real_inverse(x: Parts, length: int) -> Any:
    """Real numbers [..., length] of the first half of their transform."""
    places, signs = _mirrored(length)
    odd = np.where((2 * np.arange(length)) % length == 0, 0.0, signs).astype(np.float32)
    cosines = _real_transform(tf.gather(x[0], places, axis=-1), length)[0]
    sines = _real_transform(tf.gather(x[1], places, axis=-1) * odd, length)[1]
    return (tf.gather(cosines, places, axis=-1) + tf.gather(sines, places, axis=-1) * signs) / length


def _along(function: Callable[[Parts], Parts], x: Parts, axis: int) -> Parts:
    """A transform along one of the last dimensions."""
    rank = len(x[0].shape)
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    real, imaginary = function((tf.transpose(x[0], order), tf.transpose(x[1], order)))
    return tf.transpose(real, order), tf.transpose(imaginary, order)


def _complex_transform(function: Callable[[Parts], Parts], dimensions: int) -> Write:
    def write(_: Mapping[str, Any], x: Any) -> Any:
        parts = function(_parts(x))
        for axis in range(-2, -dimensions - 1, -1):
            parts = _along(function, parts, axis)
        return _joined(parts)

    return write


def _fitted(x: Any, lengths: list[int]) -> Any:
    """The last dimensions cut, or filled up with zeros."""
    for i, length in enumerate(lengths):
        axis = len(x.shape) - len(lengths) + i
        extent = static_shape(x, "the input")[axis]
        if extent > length:
            x = tf.gather(x, np.arange(length, dtype=np.int32), axis=axis)
        elif extent < length:
            x = tf.pad(x, [[0, length - extent if a == axis else 0] for a in range(len(x.shape))])
    return x


def _forward(attributes: Mapping[str, Any], x: Any, lengths: Any) -> Any:
    del attributes
    extents = [int(n) for n in constant(lengths, "the length")]
    parts = _real_transform(_fitted(x, extents), extents[-1])
    for axis in range(-2, -len(extents) - 1, -1):
        parts = _along(_transform, parts, axis)
    return _joined(parts)


def _backward(attributes: Mapping[str, Any], x: Any, lengths: Any) -> Any:
    del attributes
    extents = [int(n) for n in constant(lengths, "the length")]
    halves = [*extents[:-1], extents[-1] // 2 + 1]
    parts = _fitted(x[..., 0], halves), _fitted(x[..., 1], halves)
    for axis in range(-2, -len(extents) - 1, -1):
        parts = _along(_inverse, parts, axis)
    return _real_inverse(parts, extents[-1])


def row_transform(_: Mapping[str, Any], x: Any, lengths: Any) -> Any:
    """RFFT in a graph whose complex tensors stay: RFFT2D of single rows."""
    (length,) = (int(n) for n in constant(lengths, "the length"))
    shape = static_shape(x, "the input")
    rows = tf.reshape(_fitted(x, [length]), [math.prod(shape[:-1]), 1, length])
    spectrum = tf.raw_ops.RFFT2D(input=rows, fft_length=[1, length])
    return tf.reshape(spectrum, [*shape[:-1], length // 2 + 1])


_PART_BY_PART = (
    "Add", "AddN", "AddV2", "BroadcastTo", "ConcatV2", "Cumsum", "ExpandDims", "Fill", "GatherNd", "GatherV2",
    "Identity", "MatrixDiag", "MatrixDiagV3", "MatrixSetDiagV3", "Mean", "Neg", "Pack", "Pad", "Reshape", "ReverseV2",
    "Select", "SelectV2", "Slice", "Snapshot", "Split", "SplitV", "Squeeze", "StopGradient", "StridedSlice", "Sub",
    "Sum", "Tile", "Transpose", "Unpack", "ZerosLike",
)  # fmt: skip
COMPLEX_WRITTEN: Mapping[str, Write] = {
    **{name: _on_each_part(name) for name in _PART_BY_PART},
    "Angle": lambda _, x: tf.atan2(x[..., 1], x[..., 0]),
    **dict.fromkeys(("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "MatMul"), _matrix_product),
    "Cast": _cast,
    "Complex": lambda _, real, imaginary: _joined((real, imaginary)),
    "ComplexAbs": lambda _, x: _magnitude(_parts(x)),
    "Conj": _on_parts(lambda x: (x[0], -x[1])),
    "ConjugateTranspose": _conjugate_transposed,
    **dict.fromkeys(("Div", "RealDiv"), _on_parts(_quotient)),
    "Exp": _on_parts(_exponential),
    "Imag": lambda _, x: x[..., 1],
    **dict.fromkeys(
        ("Inv", "Reciprocal"), _on_parts(lambda x: _quotient((tf.ones_like(x[0]), tf.zeros_like(x[0])), x))
    ),
    "Log": _on_parts(lambda x: (tf.math.log(_magnitude(x)), tf.atan2(x[1], x[0]))),
    "Mul": _on_parts(_product),
    "OnesLike": _on_parts(lambda x: (tf.ones_like(x[0]), tf.zeros_like(x[0]))),
    "Real": lambda _, x: x[..., 0],
    "Sqrt": _on_parts(_root),
    "Square": _on_parts(lambda x: _product(x, x)),
    **{f"FFT{end}": _complex_transform(_transform, i) for i, end in enumerate(("", "2D", "3D"), 1)},
    **{f"IFFT{end}": _complex_transform(_inverse, i) for i, end in enumerate(("", "2D", "3D"), 1)},
    **dict.fromkeys(("RFFT", "RFFT2D", "RFFT3D"), _forward),
    **dict.fromkeys(("IRFFT", "IRFFT2D", "IRFFT3D"), _backward),
}
