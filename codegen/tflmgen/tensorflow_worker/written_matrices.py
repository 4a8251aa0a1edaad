"""Linear algebra of small matrices, as loops over their columns.

Gauss and Jordan's elimination with row exchanges (Golub and Van Loan, "Matrix Computations", 3.4), and Cholesky's
decomposition by outer products (4.2). Batches of matrices are mapped over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.written_shapes import Write, static_shape


def unit_row(k: Any, size: int, dtype: Any) -> Any:
    """Row [size] with a one at place k."""
    return tf.cast(tf.equal(np.arange(size, dtype=np.int32), k), dtype)


def _eliminated(matrix: Any, size: int, width: int) -> tuple[Any, Any]:
    """[A | B] as [1 | A^-1 B], and the determinant of A."""
    places = np.arange(size, dtype=np.int32)

    def step(k: Any, rows: Any, determinant: Any) -> tuple[Any, Any, Any]:
        column = tf.gather(rows, k, axis=1)
        largest = tf.argmax(tf.where(places >= k, tf.abs(column), -tf.ones_like(column)), output_type=tf.int32)
        order = tf.where(tf.equal(places, k), largest, tf.where(tf.equal(places, largest), k, places))
        rows = tf.gather(rows, order)
        pivot_row = tf.gather(rows, k)
        pivot = tf.gather(pivot_row, k)
        scaled = pivot_row / pivot
        unit = unit_row(k, size, rows.dtype)
        factors = tf.gather(rows, k, axis=1) - unit
        rows = rows - factors[:, None] * scaled[None, :]
        # The pivot's own row: r - (p - 1) r / p = r / p.
        sign = tf.where(tf.equal(largest, k), tf.ones_like(pivot), -tf.ones_like(pivot))
        return k + 1, tf.reshape(rows, [size, width]), determinant * pivot * sign

    start = (tf.constant(0), tf.reshape(matrix, [size, width]), tf.ones([], matrix.dtype))
    _, rows, determinant = tf.while_loop(lambda k, *_: k < size, step, start, maximum_iterations=size)
    return rows, determinant


def mapped_over_matrices(function: Callable[..., Any], *operands: Any) -> Any:
    """A function of matrices over operands [..., rows, columns], whose leading dimensions are equal."""
    shapes = [static_shape(operand, "a matrix") for operand in operands]
    lead = shapes[0][:-2]
    count = int(np.prod(lead))
    flat = [tf.reshape(tf.convert_to_tensor(o), [count, *s[-2:]]) for o, s in zip(operands, shapes, strict=True)]
    if count == 1:
        results = function(*(operand[0] for operand in flat))[None]
    else:
        results = tf.map_fn(lambda parts: function(*parts), tuple(flat), fn_output_signature=flat[0].dtype)
    return tf.reshape(results, [*lead, *results.shape[1:]])


def _solved(matrix: Any, right: Any) -> Any:
    size, width = static_shape(right, "the right side")
    return _eliminated(tf.concat([matrix, right], 1), size, size + width)[0][:, size:]


def _inverse(attributes: Mapping[str, Any], matrices: Any) -> Any:
    size = static_shape(matrices, "the matrix")[-1]
    inverses = mapped_over_matrices(lambda m: _solved(m, tf.eye(size, dtype=m.dtype)), matrices)
    return tf.linalg.matrix_transpose(inverses) if attributes["adjoint"] else inverses


def _solution(attributes: Mapping[str, Any], matrices: Any, right: Any) -> Any:
    matrices = tf.linalg.matrix_transpose(matrices) if attributes["adjoint"] else matrices
    return mapped_over_matrices(_solved, matrices, right)


def _triangular(attributes: Mapping[str, Any], matrices: Any, right: Any) -> Any:
    """Only one triangle counts, whatever the other holds."""
    shape = static_shape(matrices, "the matrix")
    rows, columns = np.indices(shape[-2:])
    triangle = (rows >= columns) if attributes["lower"] else (rows <= columns)
    matrices = tf.where(np.broadcast_to(triangle, shape), matrices, tf.zeros_like(matrices))
    matrices = tf.linalg.matrix_transpose(matrices) if attributes["adjoint"] else matrices
    return mapped_over_matrices(_solved, matrices, right)


def _determinant(_: Mapping[str, Any], matrices: Any) -> Any:
    size = static_shape(matrices, "the matrix")[-1]
    determinants = mapped_over_matrices(lambda m: tf.reshape(_eliminated(m, size, size)[1], [1, 1]), matrices)
    return tf.squeeze(determinants, [-2, -1])


def _log_determinant(_: Mapping[str, Any], matrices: Any) -> Any:
    value = _determinant(_, matrices)
    return tf.sign(value), tf.math.log(tf.abs(value))


def _least_squares(_: Mapping[str, Any], matrices: Any, right: Any, weight: Any) -> Any:
    """By the normal equations, of least length where there are more unknowns than equations."""
    rows, columns = static_shape(matrices, "the matrix")[-2:]
    turned = tf.linalg.matrix_transpose(matrices)
    small = min(rows, columns)
    penalty = tf.eye(small) * tf.cast(weight, tf.float32)
    if rows >= columns:
        return mapped_over_matrices(_solved, tf.matmul(turned, matrices) + penalty, tf.matmul(turned, right))
    return tf.matmul(turned, mapped_over_matrices(_solved, tf.matmul(matrices, turned) + penalty, right))


def _tridiagonal(diagonals: Any) -> Any:
    """Matrices [..., n, n] of their upper, main and lower diagonals [..., 3, n], each by rows."""
    size = static_shape(diagonals, "the tensor of diagonals")[-1]
    parts = [diagonals[..., i, :, None] * np.eye(size, k=1 - i, dtype=np.float32) for i in range(3)]
    return tf.add_n(parts)


def _tridiagonal_solution(_: Mapping[str, Any], diagonals: Any, right: Any) -> Any:
    return mapped_over_matrices(_solved, _tridiagonal(diagonals), right)


def _tridiagonal_product(_: Mapping[str, Any], upper: Any, main: Any, lower: Any, right: Any) -> Any:
    return tf.matmul(_tridiagonal(tf.concat([upper, main, lower], -2)), right)


def _cholesky(_: Mapping[str, Any], matrices: Any) -> Any:
    size = static_shape(matrices, "the matrix")[-1]
    places = np.arange(size, dtype=np.int32)

    def decomposed(matrix: Any) -> Any:
        def step(k: Any, rest: Any, factor: Any) -> tuple[Any, Any, Any]:
            column = tf.gather(rest, k, axis=1)
            column = tf.where(places >= k, column, tf.zeros_like(column)) / tf.sqrt(tf.gather(column, k))
            rest = rest - column[:, None] * column[None, :]
            factor = factor + column[:, None] * unit_row(k, size, column.dtype)[None, :]
            return k + 1, tf.reshape(rest, [size, size]), tf.reshape(factor, [size, size])

        start = (tf.constant(0), tf.reshape(matrix, [size, size]), tf.zeros([size, size], matrix.dtype))
        return tf.while_loop(lambda k, *_: k < size, step, start, maximum_iterations=size)[2]

    return mapped_over_matrices(decomposed, matrices)


MATRICES: Mapping[str, Write] = {
    "MatrixInverse": _inverse,
    "MatrixSolve": _solution,
    "MatrixTriangularSolve": _triangular,
    "MatrixDeterminant": _determinant,
    "Cholesky": _cholesky,
    "LogMatrixDeterminant": _log_determinant,
    "MatrixSolveLs": _least_squares,
    "TridiagonalMatMul": _tridiagonal_product,
    "TridiagonalSolve": _tridiagonal_solution,
}
