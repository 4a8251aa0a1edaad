"""unify_constants and fold_constants on the text form."""

from __future__ import annotations

import numpy as np
from support.graph_parser import parse_graph, same_graph
from tflmgen.ir import contents
from tflmgen.ir.types import DType
from tflmgen.kernels.table import OPERATORS
from tflmgen.passes.common_subexpressions import unify_constants
from tflmgen.passes.fold import fold_pass

fold_constants = fold_pass(OPERATORS)


def test_equal_constants_are_one_value() -> None:
    module = parse_graph("""
        constant #a: int32[2] = 1, 2
        constant #b: int32[2] = 1, 2
        constant #c: int32[1,2] = 1, 2
        function main(%x: int32[2]) {
          %y: int32[2] = ADD(%x, #a)
          %z: int32[2] = ADD(%y, #b)
          return %z, #b, #c
        }
        signature main: main(x) -> (z, b, c)
    """)
    same_graph(
        unify_constants(module),
        """
        constant #a: int32[2] = 1, 2
        constant #c: int32[1,2] = 1, 2
        function main(%x: int32[2]) {
          %y: int32[2] = ADD(%x, #a)
          %z: int32[2] = ADD(%y, #a)
          return %z, #a, #c
        }
        signature main: main(x) -> (z, b, c)
    """,
    )


def test_operators_on_constants_are_evaluated_inside_regions_too() -> None:
    module = parse_graph("""
        constant #w: float32[4] = 1.0, -0.6, 0.26, 100.0
        constant #one: int32[] = 1
        constant #shape: int32[2] = 2, 2
        function main(%x: int32[], %p: bool[]) {
          if %p {
            %q: int8[4]@0.5:1 = QUANTIZE(#w)
            %r: int8[2,2]@0.5:1 = RESHAPE(%q, #shape)
            yield %r
          } else {
            %q2: int8[4]@0.5:1 = QUANTIZE(#w)
            %f: float32[4] = DEQUANTIZE(%q2)
            %s: float32[2,2] = RESHAPE(%f, #shape)
            %t: int8[2,2]@0.5:1 = QUANTIZE(%s)
            yield %t
          } -> %y: int8[2,2]@0.5:1
          %two: int32[] = ADD(#one, #one)
          %z: int32[] = ADD(%x, %two)
          return %y, %z
        }
        signature main: main(x, p) -> (y, z)
    """)
    same_graph(
        fold_constants(module),
        """
        constant #q: int8[2,2] = 3, 0, 2, 127
        constant #two: int32[] = 2
        function main(%x: int32[], %p: bool[]) {
          if %p {
            yield #q
          } else {
            yield #q
          } -> %y: int8[2,2]@0.5:1
          %z: int32[] = ADD(%x, #two)
          return %y, %z
        }
        signature main: main(x, p) -> (y, z)
    """,
    )


def test_views_of_constants_are_constants() -> None:
    """Whatever operator it is that changes nothing, and whatever else it reads."""
    module = parse_graph("""
        constant #k: float32[1,1,2,2] = 1.0, 2.0, 3.0, 4.0
        constant #none: int32[4,2] = 0, 0, 0, 0, 0, 0, 0, 0
        constant #size: int32[2] = 1, 2
        constant #axis: int32[] = 3
        function main(%x: float32[1,1,2,2], %shape: int32[4]) {
          %padded: float32[1,1,2,2] = PAD(#k, #none)
          %mirrored: float32[1,1,2,2] = MIRROR_PAD(#k, #none) {mode=0}
          %resized: float32[1,1,2,2] = RESIZE_NEAREST_NEIGHBOR(#k, #size)
          %deep: float32[1,1,2,2] = SPACE_TO_DEPTH(#k) {block_size=1}
          %summed: float32[1,1,2,2] = ADD_N(#k)
          %split: float32[1,1,2,2] = SPLIT(#axis, #k) {num_splits=1}
          %shaped: float32[1,1,2,2] = RESHAPE(#k, %shape)
          return %padded, %mirrored, %resized, %deep, %summed, %split, %shaped
        }
        signature main: main(x, shape) -> (a, b, c, d, e, f, g)
    """)
    same_graph(
        unify_constants(fold_constants(module)),
        """
        constant #k: float32[1,1,2,2] = 1.0, 2.0, 3.0, 4.0
        function main(%x: float32[1,1,2,2], %shape: int32[4]) {
          return #k, #k, #k, #k, #k, #k, #k
        }
        signature main: main(x, shape) -> (a, b, c, d, e, f, g)
    """,
    )


def test_what_would_fill_the_flash_stays_an_operator() -> None:
    text = """
        constant #shape: int32[1] = 8000
        constant #zero: float32[] = 0.0
        function main(%x: float32[]) {
          %y: float32[8000] = FILL(#shape, #zero)
          return %y
        }
        signature main: main(x) -> (y)
    """
    same_graph(fold_constants(parse_graph(text)), text)


def test_shapes_of_unknown_tensors_are_known() -> None:
    module = parse_graph("""
        function main(%x: float32[3,5]) {
          %s: int32[2] = SHAPE(%x)
          %r: int32[] = RANK(%x)
          return %s, %r
        }
        signature main: main(x) -> (s, r)
    """)
    same_graph(
        fold_constants(module),
        """
        constant #s: int32[2] = 3, 5
        constant #r: int32[] = 2
        function main(%x: float32[3,5]) {
          return #s, #r
        }
        signature main: main(x) -> (s, r)
    """,
    )


def test_int4_constants_are_packed_two_to_a_byte() -> None:
    assert contents(np.array([1, -2, 7]), DType.INT4) == bytes([0xE1, 0x07])
