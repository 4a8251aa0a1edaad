"""Orthogonal decompositions of small matrices, as loops over their columns.

Householder's reflections (Golub and Van Loan, "Matrix Computations", 5.1 and 8.3), with signs as Eigen chooses them,
which TensorFlow uses: a decomposition is unique but for signs. Eigenvalues are found by the implicit QR algorithm with
Wilkinson's shift (8.3.5), whose rotations and tests for zeros are Eigen's, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.written_matrices import mapped_over_matrices, unit_row
from tflmgen.tensorflow_worker.written_shapes import Write, static_shape

MOST_SWEEPS = 30
"""Steps of the QR algorithm for each eigenvalue, after which Eigen gives up."""
_TINY = float(np.finfo(np.float32).tiny)
_PRECISION = float(np.finfo(np.float32).eps)


def _reflection(column: Any, pivot: Any) -> tuple[Any, Any]:
    """Vector v and factor t, so that (1 - t v v') makes a column's elements behind the pivot zeros."""
    places = np.arange(column.shape[0], dtype=np.int32)
    first = tf.gather(column, pivot)
    behind = tf.where(places > pivot, column, tf.zeros_like(column))
    squares = tf.reduce_sum(tf.square(behind))
    norm = tf.sqrt(tf.square(first) + squares)
    end = tf.where(first >= 0.0, -norm, norm)
    is_done = squares <= _TINY
    vector = behind / tf.where(is_done, tf.ones_like(end), first - end) + unit_row(pivot, len(places), column.dtype)
    return vector, tf.where(is_done, tf.zeros_like(end), (end - first) / tf.where(is_done, tf.ones_like(end), end))


def _outer(rows: Any, columns: Any) -> Any:
    return rows[:, None] * columns[None, :]


def _qr(attributes: Mapping[str, Any], matrices: Any) -> Any:
    """[A | 1] reflected to [R | Q']."""
    rows, columns = static_shape(matrices, "the matrix")[-2:]
    steps = min(rows, columns)
    kept = rows if attributes["full_matrices"] else steps

    def decomposed(matrix: Any) -> Any:
        def step(k: Any, both: Any) -> tuple[Any, Any]:
            vector, factor = _reflection(tf.gather(both, k, axis=1), k)
            both = both - factor * _outer(vector, tf.reduce_sum(vector[:, None] * both, 0))
            return k + 1, tf.reshape(both, [rows, columns + rows])

        start = tf.concat([tf.reshape(matrix, [rows, columns]), tf.eye(rows, dtype=matrix.dtype)], 1)
        return tf.while_loop(lambda k, _: k < steps, step, (tf.constant(0), start), maximum_iterations=steps)[1]

    both = mapped_over_matrices(decomposed, matrices)
    triangle = both[..., :kept, :columns] * np.triu(np.ones((kept, columns), np.float32))
    return tf.linalg.matrix_transpose(both[..., :kept, columns:]), triangle


def _eigen(attributes: Mapping[str, Any], matrices: Any) -> Any:
    """Eigenvalues in ascending order, and eigenvectors as columns."""
    size = static_shape(matrices, "the matrix")[-1]
    both = mapped_over_matrices(lambda matrix: _decomposed(matrix, size), matrices)
    return both[..., 0, :], both[..., 1:, :] if attributes["compute_v"] else tf.zeros([0])


def _decomposed(matrix: Any, size: int) -> Any:
    """Row of eigenvalues, then the eigenvectors, of a matrix of which the lower triangle counts."""
    lower = np.tril(np.ones((size, size), np.float32))
    matrix = tf.reshape(matrix, [size, size]) * lower
    matrix = matrix + tf.transpose(matrix) * (1.0 - lower)
    scale = tf.reduce_max(tf.abs(matrix))
    scale = tf.where(scale > 0.0, scale, tf.ones_like(scale))
    matrix, vectors = _tridiagonal(matrix / scale, size)

    def step(steps: Any, matrix: Any, vectors: Any) -> tuple[Any, Any, Any]:
        return steps + 1, *_swept(matrix, vectors, size)

    def is_left(_steps: Any, matrix: Any, _vectors: Any) -> Any:
        return tf.reduce_any(tf.not_equal(_below(matrix), 0.0))

    start = (tf.constant(0), _deflated(matrix), vectors)
    limit = MOST_SWEEPS * size
    _, matrix, vectors = tf.while_loop(is_left, step, start, maximum_iterations=limit)
    values = tf.reduce_sum(matrix * np.eye(size, dtype=np.float32), 1)
    _, order = tf.math.top_k(-values, size)
    return tf.concat([tf.gather(values, order)[None] * scale, tf.gather(vectors, order, axis=1)], 0)


def _tridiagonal(matrix: Any, size: int) -> tuple[Any, Any]:
    """The matrix reflected on both sides, and the product of the reflections."""

    def step(k: Any, matrix: Any, vectors: Any) -> tuple[Any, Any, Any]:
        vector, factor = _reflection(tf.gather(matrix, k, axis=1), k + 1)
        matrix = matrix - factor * _outer(vector, tf.reduce_sum(vector[:, None] * matrix, 0))
        matrix = matrix - factor * _outer(tf.reduce_sum(matrix * vector[None, :], 1), vector)
        vectors = vectors - factor * _outer(tf.reduce_sum(vectors * vector[None, :], 1), vector)
        return k + 1, tf.reshape(matrix, [size, size]), tf.reshape(vectors, [size, size])

    start = (tf.constant(0), matrix, tf.eye(size))
    _, matrix, vectors = tf.while_loop(lambda k, *_: k < size - 1, step, start, maximum_iterations=size)
    return matrix, vectors


def _below(matrix: Any) -> Any:
    """Elements below the diagonal, by their column; 0 for the last column."""
    return tf.reduce_sum(matrix * np.eye(matrix.shape[0], k=-1, dtype=np.float32), 0)


def _deflated(matrix: Any) -> Any:
    """The matrix with zeros for elements beside the diagonal that are small against their neighbours on it."""
    size = matrix.shape[0]
    values = tf.abs(tf.reduce_sum(matrix * np.eye(size, dtype=np.float32), 1))
    neighbours = values + tf.concat([values[1:], tf.zeros([1])], 0)
    below = _below(matrix)
    is_zero = tf.logical_or(tf.abs(below) < _TINY, tf.square(below / _PRECISION) <= neighbours)
    is_kept = 1.0 - tf.cast(is_zero, tf.float32)
    mask = is_kept[None, :] * np.eye(size, k=-1, dtype=np.float32)
    return matrix * (np.eye(size, dtype=np.float32) + mask + tf.transpose(mask))


def _swept(matrix: Any, vectors: Any, size: int) -> tuple[Any, Any]:
    """One step of the QR algorithm on the last block that does not fall apart."""
    places = np.arange(size, dtype=np.int32)
    is_zero = tf.equal(_below(matrix), 0.0)
    end = tf.reduce_max(tf.where(is_zero, tf.zeros_like(places), places + 1))
    start = tf.reduce_max(tf.where(tf.logical_and(is_zero, places < end - 1), places + 1, tf.zeros_like(places)))
    last, beside = _element(matrix, end, end), _element(matrix, end, end - 1)
    half = 0.5 * (_element(matrix, end - 1, end - 1) - last)
    root = tf.sqrt(tf.square(half) + tf.square(beside))
    shift = last - beside / ((half + tf.where(half > 0.0, root, -root)) / beside)
    first = (_element(matrix, start, start) - shift, _element(matrix, start + 1, start))

    def is_left(k: Any, _x: Any, z: Any, *_: Any) -> Any:
        return tf.logical_and(k < end, tf.not_equal(z, 0.0))

    def step(k: Any, x: Any, z: Any, matrix: Any, vectors: Any) -> tuple[Any, ...]:
        turn = _rotation(k, x, z, size)
        matrix = tf.matmul(turn, tf.matmul(matrix, turn), transpose_a=True)
        vectors = tf.matmul(vectors, turn)
        following = _element(matrix, k + 1, k), _element(matrix, tf.minimum(k + 2, size - 1), k)
        return k + 1, *following, tf.reshape(matrix, [size, size]), tf.reshape(vectors, [size, size])

    loop = (start, *first, matrix, vectors)
    _, _, _, matrix, vectors = tf.while_loop(is_left, step, loop, maximum_iterations=size)
    return _deflated(matrix), vectors


def _element(matrix: Any, row: Any, column: Any) -> Any:
    return tf.gather(tf.gather(matrix, row), column)


def _rotation(k: Any, x: Any, z: Any, size: int) -> Any:
    """Givens' rotation in the plane of k and k + 1 that makes (x, z) to (r, 0), for z that is not 0."""
    is_first = tf.abs(x) > tf.abs(z)
    ratio = tf.where(is_first, z, x) / tf.where(is_first, x, z)
    root = tf.sqrt(1.0 + tf.square(ratio))
    root = tf.where(tf.where(is_first, x, z) < 0.0, -root, root)
    cosine = tf.where(is_first, 1.0 / root, ratio / root)
    sine = tf.where(is_first, -ratio / root, -1.0 / root)
    first, second = unit_row(k, size, tf.float32), unit_row(k + 1, size, tf.float32)
    turned = (cosine - 1.0) * (_outer(first, first) + _outer(second, second)) + sine * (
        _outer(first, second) - _outer(second, first)
    )
    return np.eye(size, dtype=np.float32) + turned


DECOMPOSITIONS: Mapping[str, Write] = {"Qr": _qr, "SelfAdjointEigV2": _eigen}
