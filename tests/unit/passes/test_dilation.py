"""fuse_dilation on the text form."""

from __future__ import annotations

import pytest
from support.graph_parser import parse_graph, same_graph
from tflmgen.passes.dead_code import prune
from tflmgen.passes.dilation import fuse_dilation

STEPS = "stride_h=1, stride_w=1"
CONV = f"padding={{padding}}, {STEPS}, dilation_h_factor=1, dilation_w_factor=1"


def test_an_image_stays_in_one_piece() -> None:
    module = parse_graph(f"""
        constant #block: int32[2] = 2, 3
        constant #pads: int32[2,2] = 2, 2, 3, 3
        constant #crops: int32[2,2] = 0, 0, 0, 0
        constant #w: float32[4,3,3,5] = 1.0, 2.0
        function main(%x: float32[1,6,6,5]) {{
          %b: float32[6,5,4,5] = SPACE_TO_BATCH_ND(%x, #block, #pads)
          %c: float32[6,3,2,4] = CONV_2D(%b, #w) {{{CONV.format(padding=1)}}}
          %y: float32[1,6,6,4] = BATCH_TO_SPACE_ND(%c, #block, #crops)
          return %y
        }}
        signature main: main(x) -> (y)
    """)
    wide = f"padding=1, {STEPS}, dilation_h_factor=2, dilation_w_factor=3, explicit_padding=(2,3,2,3)"
    same_graph(
        prune(fuse_dilation(module)),
        f"""
        constant #w: float32[4,3,3,5] = 1.0, 2.0
        function main(%x: float32[1,6,6,5]) {{
          %y: float32[1,6,6,4] = CONV_2D(%x, #w) {{{wide}}}
          return %y
        }}
        signature main: main(x) -> (y)
    """,
    )


def test_a_sequence_viewed_as_an_image() -> None:
    module = parse_graph(f"""
        constant #block: int32[1] = 2
        constant #pads: int32[1,2] = 4, 0
        constant #crops: int32[1,2] = 0, 0
        constant #w: float32[3,1,3,5] = 1.0, 2.0
        function main(%x: float32[1,8,5]) {{
          %b: float32[2,6,5] = SPACE_TO_BATCH_ND(%x, #block, #pads)
          %i: float32[2,1,6,5] = RESHAPE(%b) {{new_shape=(2,1,6,5)}}
          %c: float32[2,1,4,3] = CONV_2D(%i, #w) {{{CONV.format(padding=1)}}}
          %v: float32[2,4,3] = RESHAPE(%c) {{new_shape=(2,4,3)}}
          %y: float32[1,8,3] = BATCH_TO_SPACE_ND(%v, #block, #crops)
          return %y
        }}
        signature main: main(x) -> (y)
    """)
    wide = f"padding=1, {STEPS}, dilation_h_factor=1, dilation_w_factor=2, explicit_padding=(0,4,0,0)"
    same_graph(
        prune(fuse_dilation(module)),
        f"""
        constant #w: float32[3,1,3,5] = 1.0, 2.0
        function main(%x: float32[1,8,5]) {{
          %i: float32[1,1,8,5] = RESHAPE(%x) {{new_shape=(1,1,8,5)}}
          %c: float32[1,1,8,3] = CONV_2D(%i, #w) {{{wide}}}
          %y: float32[1,8,3] = RESHAPE(%c) {{new_shape=(1,8,3)}}
          return %y
        }}
        signature main: main(x) -> (y)
    """,
    )


OTHERS = {
    "another block": ("constant #join: int32[2] = 3, 2", "", 1, "0, 0, 0, 0", "float32[1,9,4,4]"),
    "something else reads the batches": ("", ", %b", 1, "0, 0, 0, 0", "float32[1,6,6,4]"),
    "more cropped than padded": ("", "", 1, "3, 0, 0, 0", "float32[1,3,6,4]"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_stay(name: str) -> None:
    join, more, padding, crops, result = OTHERS[name]
    text = f"""
        constant #block: int32[2] = 2, 3
        constant #pads: int32[2,2] = 2, 2, 3, 3
        constant #crops: int32[2,2] = {crops}
        constant #w: float32[4,3,3,5] = 1.0, 2.0
        {join}
        function main(%x: float32[1,6,6,5]) {{
          %b: float32[6,5,4,5] = SPACE_TO_BATCH_ND(%x, #block, #pads)
          %c: float32[6,3,2,4] = CONV_2D(%b, #w) {{{CONV.format(padding=padding)}}}
          %y: {result} = BATCH_TO_SPACE_ND(%c, {"#join" if join else "#block"}, #crops)
          return %y{more}
        }}
        signature main: main(x) -> (y{more.replace("%", "")})
    """
    same_graph(fuse_dilation(parse_graph(text)), text)
