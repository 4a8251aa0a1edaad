"""fuse_attention on the text form."""

from __future__ import annotations

import pytest
from support.graph_parser import parse_graph, same_graph
from tflmgen.passes.attention import fuse_attention
from tflmgen.passes.dead_code import prune


def test_heads_stay_where_they_are() -> None:
    module = parse_graph("""
        constant #heads: int32[4] = 0, 2, 1, 3
        constant #scores: int32[4] = 0, 1, 3, 2
        constant #scale: float32[] = 0.5
        function main(%q: float32[1,5,2,3], %k: float32[1,5,2,3], %v: float32[1,5,2,3]) {
          %a: float32[1,2,5,3] = TRANSPOSE(%q, #heads)
          %b: float32[1,2,5,3] = TRANSPOSE(%k, #heads)
          %c: float32[1,2,5,3] = TRANSPOSE(%v, #heads)
          %d: float32[1,2,5,5] = BATCH_MATMUL(%b, %a) {adj_y=True}
          %e: float32[1,2,5,5] = TRANSPOSE(%d, #scores)
          %f: float32[1,2,5,5] = MUL(%e, #scale)
          %g: float32[1,2,5,5] = SOFTMAX(%f) {beta=1.0}
          %h: float32[1,2,5,3] = BATCH_MATMUL(%g, %c)
          %y: float32[1,5,2,3] = TRANSPOSE(%h, #heads)
          return %y
        }
        signature main: main(q, k, v) -> (y)
    """)
    both = "left_axes=(0,2,1,3), right_axes=(0,2,1,3), output_axes=(0,1,3,2)"
    same_graph(
        prune(fuse_attention(module)),
        f"""
        function main(%q: float32[1,5,2,3], %k: float32[1,5,2,3], %v: float32[1,5,2,3]) {{
          %e: float32[1,2,5,5] = BATCH_MATMUL(%k, %q) {{adj_y=True, {both}}}
          %g: float32[1,2,5,5] = SOFTMAX(%e) {{beta=0.5}}
          %y: float32[1,5,2,3] = BATCH_MATMUL(%g, %v) {{right_axes=(0,2,1,3), output_axes=(0,2,1,3)}}
          return %y
        }}
        signature main: main(q, k, v) -> (y)
    """,
    )


def test_a_transposed_matrix_is_walked_through_by_columns() -> None:
    module = parse_graph("""
        constant #swap: int32[2] = 1, 0
        function main(%x: int8[3,4]@0.5:0, %z: int8[4,2]@0.5:0) {
          %a: int8[4,3]@0.5:0 = TRANSPOSE(%x, #swap)
          %y: int8[2,3]@0.5:0 = BATCH_MATMUL(%z, %a) {adj_x=True}
          return %y
        }
        signature main: main(x, z) -> (y)
    """)
    (product,) = prune(fuse_attention(module)).functions[0].body.nodes
    axes = product.attributes  # type: ignore[union-attr]
    assert (axes.left_axes, axes.right_axes, axes.output_axes) == ((), (1, 0), ())


SOFTMAX = """
    constant #scale: float32[] = {scale}
    function main(%x: float32[2,3]) {{
      %a: float32[2,3] = MUL(%x, #scale) {{fused_activation_function={activation}}}
      %y: float32[2,3] = SOFTMAX(%a) {{beta=1.0}}
      return {results}
    }}
    signature main: main(x) -> (y)
"""


@pytest.mark.parametrize(("scale", "activation"), [("-1.0", 0), ("0.0", 0), ("2.0", 1)])
def test_what_is_no_beta_stays(scale: str, activation: int) -> None:
    text = SOFTMAX.format(scale=scale, activation=activation, results="%y")
    same_graph(fuse_attention(parse_graph(text)), text)


def test_a_transpose_that_others_read_stays() -> None:
    text = """
        constant #swap: int32[2] = 1, 0
        function main(%x: float32[3,4], %z: float32[3,2]) {
          %a: float32[4,3] = TRANSPOSE(%x, #swap)
          %b: float32[4,3] = EXP(%a)
          %y: float32[4,2] = BATCH_MATMUL(%a, %z)
          return %y, %b
        }
        signature main: main(x, z) -> (y, b)
    """
    same_graph(fuse_attention(parse_graph(text)), text)
