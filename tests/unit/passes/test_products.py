"""use_fully_connected and delay_views on the text form."""

from __future__ import annotations

import pytest
from support.graph_parser import parse_graph, same_graph
from tflmgen.passes.matrix_products import use_fully_connected
from tflmgen.passes.move_views import delay_views

DENSE = "{keep_num_dims=True}"


def test_a_constant_matrix_is_weights() -> None:
    module = parse_graph("""
        constant #w: float32[3,2] = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0
        constant #v: float32[1,2,2] = 7.0, 8.0, 9.0, 10.0
        function main(%x: float32[1,4,3]) {
          %a: float32[1,4,2] = BATCH_MATMUL(%x, #w)
          %y: float32[1,4,2] = BATCH_MATMUL(%a, #v) {adj_y=True}
          return %y
        }
        signature main: main(x) -> (y)
    """)
    same_graph(
        use_fully_connected(module),
        f"""
        constant #w: float32[2,3] = 1.0, 3.0, 5.0, 2.0, 4.0, 6.0
        constant #v: float32[2,2] = 7.0, 8.0, 9.0, 10.0
        function main(%x: float32[1,4,3]) {{
          %a: float32[1,4,2] = FULLY_CONNECTED(%x, #w) {DENSE}
          %y: float32[1,4,2] = FULLY_CONNECTED(%a, #v) {DENSE}
          return %y
        }}
        signature main: main(x) -> (y)
    """,
    )


OTHERS = {
    "read the other way round": "%y: float32[3,3] = BATCH_MATMUL(#w, %x)\n%z: float32[3,2] = BATCH_MATMUL(%y, #w)",
    "a matrix per batch": "%z: float32[2,3,2] = BATCH_MATMUL(%t, #m)",
    "columns on the left": "%z: float32[3,2] = BATCH_MATMUL(%s, #w) {adj_x=True}",
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_products_stay(name: str) -> None:
    text = f"""
        constant #w: float32[3,2] = 1.0, 2.0
        constant #m: float32[2,3,2] = 1.0, 2.0
        function main(%x: float32[2,3], %t: float32[2,3,3], %s: float32[3,3]) {{
          {OTHERS[name]}
          return %z
        }}
        signature main: main(x, t, s) -> (z)
    """
    same_graph(use_fully_connected(parse_graph(text)), text)


def test_a_view_comes_after_what_may_join_the_operator_before() -> None:
    module = parse_graph("""
        constant #b: float32[2] = 1.0, 2.0
        function main(%x: float32[4,2]) {
          %a: float32[4,2] = MUL(%x, %x)
          %v: float32[2,2,2] = RESHAPE(%a) {new_shape=(2,2,2)}
          %c: float32[2,2,2] = ADD(%v, #b)
          %y: float32[2,2,2] = RELU(%c)
          return %y
        }
        signature main: main(x) -> (y)
    """)
    once = """
        constant #b: float32[2] = 1.0, 2.0
        function main(%x: float32[4,2]) {
          %a: float32[4,2] = MUL(%x, %x)
          %c: float32[4,2] = ADD(%a, #b)
          %v: float32[2,2,2] = RESHAPE(%c) {new_shape=(2,2,2)}
          %y: float32[2,2,2] = RELU(%v)
          return %y
        }
        signature main: main(x) -> (y)
    """
    twice = """
        constant #b: float32[2] = 1.0, 2.0
        function main(%x: float32[4,2]) {
          %a: float32[4,2] = MUL(%x, %x)
          %c: float32[4,2] = ADD(%a, #b)
          %r: float32[4,2] = RELU(%c)
          %y: float32[2,2,2] = RESHAPE(%r) {new_shape=(2,2,2)}
          return %y
        }
        signature main: main(x) -> (y)
    """
    module = delay_views(module)
    same_graph(module, once)
    same_graph(delay_views(module), twice)


def test_constants_along_other_dimensions_keep_their_shape() -> None:
    text = """
        constant #b: float32[4] = 1.0, 2.0
        function main(%x: float32[4,2]) {
          %a: float32[4,2] = MUL(%x, %x)
          %v: float32[2,4] = RESHAPE(%a) {new_shape=(2,4)}
          %y: float32[2,4] = ADD(%v, #b)
          return %y
        }
        signature main: main(x) -> (y)
    """
    same_graph(delay_views(parse_graph(text)), text)


def test_a_view_that_changes_the_quantisation_stays() -> None:
    """The same bytes mean other numbers behind it."""
    text = """
        constant #b: int8[1]@0.5:0 = 7
        function main(%x: int8[4,2]@0.5:0) {
          %a: int8[4,2]@0.5:0 = MUL(%x, %x)
          %v: int8[8]@0.25:3 = RESHAPE(%a) {new_shape=(8,)}
          %y: int8[8]@0.5:0 = ADD(%v, #b)
          return %y
        }
        signature main: main(x) -> (y)
    """
    same_graph(delay_views(parse_graph(text)), text)
