"""fuse_padding on the text form."""

from __future__ import annotations

import pytest
from support.graph_parser import parse_graph, same_graph
from tflmgen.passes.dead_code import prune
from tflmgen.passes.padding import fuse_padding

TABLE = "constant #pad: int32[4,2] = 0, 0, 1, 1, 2, 0, 0, 0"
WEIGHTS = "constant #w: float32[2,3,3,1] = 1.0, 2.0"
CONV = "stride_h=1, stride_w=1, dilation_h_factor=1, dilation_w_factor=1"


def fused(text: str, expected: str) -> None:
    same_graph(prune(fuse_padding(parse_graph(text))), expected)


def test_a_convolution_pads_by_itself() -> None:
    fused(
        f"""
        {TABLE}
        {WEIGHTS}
        function main(%x: float32[1,4,5,1]) {{
          %p: float32[1,6,7,1] = PAD(%x, #pad)
          %y: float32[1,4,5,2] = CONV_2D(%p, #w) {{padding=1, {CONV}}}
          return %y
        }}
        signature main: main(x) -> (y)
    """,
        f"""
        {WEIGHTS}
        function main(%x: float32[1,4,5,1]) {{
          %y: float32[1,4,5,2] = CONV_2D(%x, #w) {{padding=1, {CONV}, explicit_padding=(1,2,1,0)}}
          return %y
        }}
        signature main: main(x) -> (y)
    """,
    )


def test_padding_of_its_own_comes_on_top_and_what_no_window_reaches_is_left_out() -> None:
    wide = CONV.replace("stride_w=1", "stride_w=2")
    fused(
        f"""
        constant #pad: int32[4,2] = 0, 0, 0, 0, 0, 1, 0, 0
        {WEIGHTS}
        function main(%x: float32[1,4,5,1]) {{
          %p: float32[1,4,6,1] = PAD(%x, #pad)
          %y: float32[1,4,3,2] = CONV_2D(%p, #w) {{padding=0, {wide}}}
          return %y
        }}
        signature main: main(x) -> (y)
    """,
        f"""
        {WEIGHTS}
        function main(%x: float32[1,4,5,1]) {{
          %y: float32[1,4,3,2] = CONV_2D(%x, #w) {{padding=1, {wide}, explicit_padding=(1,0,1,2)}}
          return %y
        }}
        signature main: main(x) -> (y)
    """,
    )


def test_a_sequence_is_viewed_as_an_image_before_it_is_padded() -> None:
    fused(
        f"""
        constant #pad: int32[3,2] = 0, 0, 2, 0, 0, 0
        constant #shape: int32[4] = 1, 1, 6, 2
        constant #w: float32[1,1,3,2] = 1.0
        function main(%x: float32[1,4,2]) {{
          %p: float32[1,6,2] = PAD(%x, #pad)
          %v: float32[1,1,6,2] = RESHAPE(%p, #shape)
          %y: float32[1,1,4,1] = CONV_2D(%v, #w) {{padding=1, {CONV}}}
          return %y
        }}
        signature main: main(x) -> (y)
    """,
        f"""
        constant #w: float32[1,1,3,2] = 1.0
        function main(%x: float32[1,4,2]) {{
          %v: float32[1,1,4,2] = RESHAPE(%x) {{new_shape=(1,1,4,2)}}
          %y: float32[1,1,4,1] = CONV_2D(%v, #w) {{padding=1, {CONV}, explicit_padding=(0,2,0,0)}}
          return %y
        }}
        signature main: main(x) -> (y)
    """,
    )


def test_a_maximum_takes_zeros_below_what_cannot_be_negative() -> None:
    pool = "padding=1, stride_h=1, stride_w=1, filter_height=2, filter_width=2"
    text = """
        constant #pad: int32[4,2] = 0, 0, 1, 0, 0, 1, 0, 0
        function main(%x: int8[1,4,4,1]@0.5:3) {{
          %r: int8[1,4,4,1]@0.5:3 = ADD(%x, %x) {{fused_activation_function={activation}}}
          %p: int8[1,5,5,1]@0.5:3 = PAD(%r, #pad)
          %y: int8[1,4,4,1]@0.5:3 = MAX_POOL_2D(%p) {{{pool}}}
          return %y
        }}
        signature main: main(x) -> (y)
    """
    fused(
        text.format(activation=1, pool=pool),
        f"""
        function main(%x: int8[1,4,4,1]@0.5:3) {{
          %r: int8[1,4,4,1]@0.5:3 = ADD(%x, %x) {{fused_activation_function=1}}
          %y: int8[1,4,4,1]@0.5:3 = MAX_POOL_2D(%r) {{{pool}, explicit_padding=(1,0,0,1)}}
          return %y
        }}
        signature main: main(x) -> (y)
    """,
    )


@pytest.mark.parametrize("kind", ["MAX", "AVERAGE"])
def test_other_pools_count_zeros_as_pixels(kind: str) -> None:
    pool = "stride_h=1, stride_w=1, filter_height=2, filter_width=2"
    padding = "explicit_padding=(1,0,0,1), padding_is_zeros=1"
    text = """
        constant #pad: int32[4,2] = 0, 0, 1, 0, 0, 1, 0, 0
        function main(%x: int8[1,4,4,1]@0.5:3) {{
          %p: int8[1,5,5,1]@0.5:3 = PAD(%x, #pad)
          %y: int8[1,{size},{size},1]@0.5:3 = {kind}_POOL_2D(%p) {{padding={padding}, {pool}}}
          return %y
        }}
        signature main: main(x) -> (y)
    """
    fused(
        text.format(kind=kind, pool=pool, padding=1, size=4),
        f"""
        function main(%x: int8[1,4,4,1]@0.5:3) {{
          %y: int8[1,4,4,1]@0.5:3 = {kind}_POOL_2D(%x) {{padding=1, {pool}, {padding}}}
          return %y
        }}
        signature main: main(x) -> (y)
    """,
    )
    both = text.format(kind=kind, pool=pool, padding=0, size=5)
    fused(both, both)


OTHERS = {
    "another operator": "EXP(%p)",
    "a pool that pads, too": "AVERAGE_POOL_2D(%p) {padding=0, stride_h=1, stride_w=1, filter_height=2, filter_width=2}",
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_readers_keep_the_pad(name: str) -> None:
    reader, shape = OTHERS[name], "float32[1,6,7,1]"
    text = f"""
        {TABLE}
        {WEIGHTS}
        function main(%x: float32[1,4,5,1]) {{
          %p: float32[1,6,7,1] = PAD(%x, #pad)
          %z: {shape} = {reader}
          %y: float32[1,4,5,2] = CONV_2D(%p, #w) {{padding=1, {CONV}}}
          return %z, %y
        }}
        signature main: main(x) -> (z, y)
    """
    fused(text, text)


@pytest.mark.parametrize("value", ["1.0", "0.0"])
def test_only_zeros_are_padding_of_a_convolution(value: str) -> None:
    text = f"""
        {TABLE}
        {WEIGHTS}
        constant #v: float32[] = {value}
        function main(%x: float32[1,4,5,1]) {{
          %p: float32[1,6,7,1] = PADV2(%x, #pad, #v)
          %y: float32[1,4,5,2] = CONV_2D(%p, #w) {{padding=1, {CONV}}}
          return %y
        }}
        signature main: main(x) -> (y)
    """
    operators = [
        n.operator for n in prune(fuse_padding(parse_graph(text))).functions[0].body.nodes if hasattr(n, "operator")
    ]
    assert operators == (["CONV_2D"] if value == "0.0" else ["PADV2", "CONV_2D"])


def test_a_window_of_padding_alone_is_no_convolution() -> None:
    text = f"""
        constant #pad: int32[4,2] = 0, 0, 3, 0, 0, 0, 0, 0
        {WEIGHTS}
        function main(%x: float32[1,4,5,1]) {{
          %p: float32[1,7,5,1] = PAD(%x, #pad)
          %y: float32[1,5,3,2] = CONV_2D(%p, #w) {{padding=1, {CONV}}}
          return %y
        }}
        signature main: main(x) -> (y)
    """
    fused(text, text)
