"""Matrix products: MatMul, Gemm, Einsum, and those of integers."""

from __future__ import annotations

import math

import numpy as np

from tflmgen.frontend.onnx import compose as c
from tflmgen.frontend.onnx import compose_moves as m
from tflmgen.frontend.onnx.compose import F32
from tflmgen.frontend.onnx.laid_out import Graph, Value, constant, stored_shape
from tflmgen.frontend.onnx.located import NodeError
from tflmgen.frontend.onnx.lower_reduce import reduce
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import Node


@lowers("MatMul")
def matmul_node(node: Node) -> Value:
    """MatMul of operands with any number of leading dimensions, which are broadcast."""
    return matmul(node.graph, node[0], node[1])


def matmul(g: Graph, a: Value, b: Value) -> Value:
    """numpy's matmul; of integers in int32 (int64)."""
    if a.rank == 1:
        product = matmul(g, m.unsqueeze(g, a, 0), b)
        return m.squeeze(g, product, [product.rank - 2 if b.rank > 1 else 0])
    if b.rank == 1:
        product = matmul(g, a, m.unsqueeze(g, b, 1))
        return m.squeeze(g, product, [product.rank - 1])
    if a.shape[-1] != b.shape[-2]:
        raise NodeError(f"multiplies rows of {a.shape[-1]} with columns of {b.shape[-2]}")
    if a.dtype is not F32:
        return _integer_product(g, a, b)
    if 0 in a.shape or 0 in b.shape:
        shape = (*c.broadcast_shape([a.shape[:-2], b.shape[:-2]]), a.shape[-2], b.shape[-1])
        return constant(np.zeros(shape, np.float32))
    if b.constant is not None and b.rank == 2:
        return fully_connected(g, a, m.transpose(b, [1, 0]), None)
    return _batch_matmul(g, a, b)


def _integer_product(g: Graph, a: Value, b: Value) -> Value:
    products = c.mul(g, m.unsqueeze(g, a, a.rank), m.unsqueeze(g, b, b.rank - 2))
    return m.squeeze(g, reduce(g, "SUM", products, [products.rank - 2]), [products.rank - 2])


def fully_connected(g: Graph, value: Value, weights: Value, bias: Value | None) -> Value:
    """Rows of `value` times constant or other weights of shape (outputs, depth), plus a bias of floats."""
    order = (*(k for k in value.order if k != value.rank - 1), value.rank - 1)
    tensor = g.laid(value, order)
    shape = (*value.shape[:-1], weights.shape[0])
    tensors = [tensor, g.laid(weights)]
    if bias is not None:
        tensors.append(g.laid(m.reshape(g, bias, [bias.size])))
    options = {"keep_num_dims": True}
    product = g.operator("FULLY_CONNECTED", tensors, [(F32, stored_shape(shape, order), None)], options)[0]
    return g.value(product, shape, order)


def _batch_matmul(g: Graph, a: Value, b: Value) -> Value:
    batch = c.broadcast_shape([a.shape[:-2], b.shape[:-2]])
    shape = (*batch, a.shape[-2], b.shape[-1])
    if len(shape) > 5:
        a = m.reshape(g, m.broadcast_to(g, a, (*batch, *a.shape[-2:])), [math.prod(batch), *a.shape[-2:]])
        b = m.reshape(g, m.broadcast_to(g, b, (*batch, *b.shape[-2:])), [math.prod(batch), *b.shape[-2:]])
        return m.reshape(g, _batch_matmul(g, a, b), shape)
    left, adj_x = _matrices(g, a)
    right, adj_y = _matrices(g, b)
    options = {"adj_x": adj_x, "adj_y": adj_y}
    return g.value(g.operator("BATCH_MATMUL", [left, right], [(F32, shape, None)], options)[0])


def _matrices(g: Graph, value: Value) -> tuple[int, bool]:
    """The tensor of matrices, and whether they lie transposed."""
    turned = (*range(value.rank - 2), value.rank - 1, value.rank - 2)
    if value.constant is None and value.order == turned and not value.is_plain:
        return g.laid(value, turned), True
    return g.laid(value), False


@lowers("Gemm")
def gemm(node: Node) -> Value:
    """Gemm: alpha * A B + beta * C, with A and B transposed as the attributes say; constants take the factors at build
    time."""
    g, a, b, bias = node.graph, node[0], node[1], node.optional(2)
    alpha, beta = float(node.attribute("alpha", 1.0)), float(node.attribute("beta", 1.0))
    a = m.transpose(a, [1, 0]) if node.attribute("transA", 0) else a
    b = m.transpose(b, [1, 0]) if node.attribute("transB", 0) else b
    if a.dtype is not F32:
        product = matmul(g, a, b)
        product = product if alpha == 1 else c.mul(g, product, int(alpha))
        return product if bias is None else c.add(g, product, bias if beta == 1 else c.mul(g, bias, int(beta)))
    b = b if alpha == 1.0 else scaled(g, b, alpha)
    bias = bias if bias is None or beta == 1.0 else scaled(g, bias, beta)
    if bias is not None and bias.shape in ((b.shape[1],), (1, b.shape[1])):
        return fully_connected(g, a, m.transpose(b, [1, 0]), bias)
    product = fully_connected(g, a, m.transpose(b, [1, 0]), None)
    return product if bias is None else c.add(g, product, bias)


def scaled(g: Graph, value: Value, factor: float) -> Value:
    """The value times a constant factor, which a constant takes at build time."""
    if value.constant is not None:
        return constant((value.constant * np.float32(factor)).astype(np.float32))
    return c.mul(g, value, factor)


@lowers("Einsum")
def einsum(node: Node) -> Value:
    """Operand after operand: each product sums what no later operand and no result names."""
    g, equation = node.graph, str(node.attribute("equation")).replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    values = [node[index] for index in range(len(node.inputs))]
    spare = [chr(k) for k in range(0x3B1, 0x3C9)]
    ellipsis_rank = max((v.rank - len(t) + 3 for t, v in zip(terms, values, strict=True) if "..." in t), default=0)
    terms = [
        t.replace("...", "".join(spare[ellipsis_rank - (v.rank - len(t) + 3) : ellipsis_rank]) if "..." in t else "")
        for t, v in zip(terms, values, strict=True)
    ]
    if not arrow:
        letters = "".join(terms)
        right = ("..." if ellipsis_rank else "") + "".join(
            sorted(x for x in set(letters) - set(spare) if letters.count(x) == 1)
        )
    right = right.replace("...", "".join(spare[:ellipsis_rank]))
    term, value = _diagonal(g, terms[0], values[0])
    for place in range(1, len(terms)):
        later = right + "".join(terms[place + 1 :])
        term, value = _product(g, (term, value), _diagonal(g, terms[place], values[place]), later)
    summed_axes = [axis for axis, letter in enumerate(term) if letter not in right]
    value = m.squeeze(g, reduce(g, "SUM", value, summed_axes), summed_axes) if summed_axes else value
    term = "".join(letter for letter in term if letter in right)
    return m.transpose(value, [term.index(letter) for letter in right])


def _diagonal(g: Graph, term: str, value: Value) -> tuple[str, Value]:
    """An operand whose letters are all different: of two equal ones the diagonal is taken."""
    for letter in term:
        while term.count(letter) > 1:
            first = term.index(letter)
            second = term.index(letter, first + 1)
            others = [k for k in range(value.rank) if k not in (first, second)]
            n, rest = value.shape[first], [value.shape[k] for k in others]
            moved = m.reshape(g, m.transpose(value, [first, second, *others]), [n * n, *rest])
            value = m.gather(g, moved, constant((np.arange(n) * (n + 1)).astype(np.int32)), 0)
            term = letter + "".join(term[k] for k in others)
    return term, value


def _product(g: Graph, a: tuple[str, Value], b: tuple[str, Value], later: str) -> tuple[str, Value]:
    """Batched matrix product of two operands; axes of size 1 broadcast."""
    (first, x), (second, y) = a, b
    shared = [k for k in first if k in second]
    batch = [k for k in shared if k in later]
    summed = [k for k in shared if k not in later]
    own_x, own_y = [k for k in first if k not in second], [k for k in second if k not in first]

    def laid(term: str, value: Value, *groups: list[str]) -> Value:
        moved = m.transpose(value, [term.index(k) for group in groups for k in group])
        sizes = [[value.shape[term.index(k)] for k in group] for group in groups]
        return m.reshape(g, moved, [*sizes[0], math.prod(sizes[1]), math.prod(sizes[2])])

    for letter in summed:
        if x.shape[first.index(letter)] != y.shape[second.index(letter)]:
            raise NodeError("sums over dimensions that differ")
    product = matmul(g, laid(first, x, batch, own_x, summed), laid(second, y, batch, summed, own_y))
    sizes = [*product.shape[:-2]]
    sizes += [x.shape[first.index(k)] for k in own_x] + [y.shape[second.index(k)] for k in own_y]
    return "".join(batch + own_x + own_y), m.reshape(g, product, sizes)


@lowers("Det")
def determinant(node: Node) -> Value:
    """Det: determinants of matrices of up to three rows, by cofactor expansion. Raises NodeError for larger ones."""
    g, value = node.graph, node[0]
    if value.shape[-1] > 3:
        raise NodeError(f"takes the determinant of {value.shape[-1]} rows, which is possible of 3")
    outer = value.shape[:-2]

    def minor(rows: list[int], columns: list[int]) -> Value:
        if not rows:
            return constant(np.ones(outer, np.float32))
        result: Value | None = None
        for place, column in enumerate(columns):
            cell = m.part(g, m.part(g, value, value.rank - 2, rows[0], 1), value.rank - 1, column, 1)
            rest = minor(rows[1:], [k for k in columns if k != column])
            term = c.mul(g, m.reshape(g, cell, outer), rest)
            signed = c.neg(g, term) if place % 2 else term
            result = signed if result is None else c.add(g, result, signed)
        assert result is not None
        return result

    every = list(range(value.shape[-1]))
    return minor(every, every)
