"""Matrix products: MatMul, Gemm, Einsum, and those of integers."""

from __future__ import annotations

import math

import numpy as np

from tflmgen.frontend.onnx.element_graph import F32
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, constant
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.move_graph import transpose
from tflmgen.frontend.onnx.node import OnnxNode
from tflmgen.frontend.onnx.node_error import NodeError


@lowers("MatMul")
def matmul_node(node: OnnxNode) -> OnnxValue:
    """MatMul of operands with any number of leading dimensions, which are broadcast."""
    return node.graph.matmul(node[0], node[1])


@lowers("Gemm")
def gemm(node: OnnxNode) -> OnnxValue:
    """Gemm: alpha * A B + beta * C, with A and B transposed as the attributes say; constants take the factors at build
    time."""
    g, a, b, bias = node.graph, node[0], node[1], node.optional(2)
    alpha, beta = float(node.attribute("alpha", 1.0)), float(node.attribute("beta", 1.0))
    a = transpose(a, [1, 0]) if node.attribute("transA", 0) else a
    b = transpose(b, [1, 0]) if node.attribute("transB", 0) else b
    if a.dtype is not F32:
        product = g.matmul(a, b)
        product = product if alpha == 1 else g.mul(product, int(alpha))
        return product if bias is None else g.add(product, bias if beta == 1 else g.mul(bias, int(beta)))
    b = b if alpha == 1.0 else scaled(g, b, alpha)
    bias = bias if bias is None or beta == 1.0 else scaled(g, bias, beta)
    if bias is not None and bias.shape in ((b.shape[1],), (1, b.shape[1])):
        return g.fully_connected(a, transpose(b, [1, 0]), bias)
    product = g.fully_connected(a, transpose(b, [1, 0]), None)
    return product if bias is None else g.add(product, bias)


def scaled(g: Graph, value: OnnxValue, factor: float) -> OnnxValue:
    """The value times a constant factor, which a constant takes at build time."""
    if value.constant is not None:
        return constant((value.constant * np.float32(factor)).astype(np.float32))
    return g.mul(value, factor)


@lowers("Einsum")
def einsum(node: OnnxNode) -> OnnxValue:
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
    value = g.squeeze(g.reduce_sum(value, summed_axes), summed_axes) if summed_axes else value
    term = "".join(letter for letter in term if letter in right)
    return transpose(value, [term.index(letter) for letter in right])


def _diagonal(g: Graph, term: str, value: OnnxValue) -> tuple[str, OnnxValue]:
    """An operand whose letters are all different: of two equal ones the diagonal is taken."""
    for letter in term:
        while term.count(letter) > 1:
            first = term.index(letter)
            second = term.index(letter, first + 1)
            others = [k for k in range(value.rank) if k not in (first, second)]
            n, rest = value.shape[first], [value.shape[k] for k in others]
            moved = g.reshape(transpose(value, [first, second, *others]), [n * n, *rest])
            value = g.gather(moved, constant((np.arange(n) * (n + 1)).astype(np.int32)), 0)
            term = letter + "".join(term[k] for k in others)
    return term, value


def _product(g: Graph, a: tuple[str, OnnxValue], b: tuple[str, OnnxValue], later: str) -> tuple[str, OnnxValue]:
    """Batched matrix product of two operands; axes of size 1 broadcast."""
    (first, x), (second, y) = a, b
    shared = [k for k in first if k in second]
    batch = [k for k in shared if k in later]
    summed = [k for k in shared if k not in later]
    own_x, own_y = [k for k in first if k not in second], [k for k in second if k not in first]

    def laid(term: str, value: OnnxValue, *groups: list[str]) -> OnnxValue:
        moved = transpose(value, [term.index(k) for group in groups for k in group])
        sizes = [[value.shape[term.index(k)] for k in group] for group in groups]
        return g.reshape(moved, [*sizes[0], math.prod(sizes[1]), math.prod(sizes[2])])

    for letter in summed:
        if x.shape[first.index(letter)] != y.shape[second.index(letter)]:
            raise NodeError("sums over dimensions that differ")
    product = g.matmul(laid(first, x, batch, own_x, summed), laid(second, y, batch, summed, own_y))
    sizes = [*product.shape[:-2]]
    sizes += [x.shape[first.index(k)] for k in own_x] + [y.shape[second.index(k)] for k in own_y]
    return "".join(batch + own_x + own_y), g.reshape(product, sizes)


@lowers("Det")
def determinant(node: OnnxNode) -> OnnxValue:
    """Det: determinants of matrices of up to three rows, by cofactor expansion. Raises NodeError for larger ones."""
    g, value = node.graph, node[0]
    if value.shape[-1] > 3:
        raise NodeError(f"takes the determinant of {value.shape[-1]} rows, which is possible of 3")
    outer = value.shape[:-2]

    def minor(rows: list[int], columns: list[int]) -> OnnxValue:
        if not rows:
            return constant(np.ones(outer, np.float32))
        result: OnnxValue | None = None
        for place, column in enumerate(columns):
            cell = g.part(g.part(value, value.rank - 2, rows[0], 1), value.rank - 1, column, 1)
            rest = minor(rows[1:], [k for k in columns if k != column])
            term = g.mul(g.reshape(cell, outer), rest)
            signed = g.neg(term) if place % 2 else term
            result = signed if result is None else g.add(result, signed)
        assert result is not None
        return result

    every = list(range(value.shape[-1]))
    return minor(every, every)
