"""fold_into_weights on the text form."""

from __future__ import annotations

import pytest
from support.graph_parser import parse_graph, same_graph
from tflmgen.passes.dead_code import prune
from tflmgen.passes.matrix_products import fold_into_weights


def _program(source: str, turned: str, flat: str, permutation: str, more: str = "") -> str:
    return f"""
        constant #p: int32[4] = {permutation}
        constant #s: int32[2] = {flat}
        constant #w: float32[1,4] = 1.0, 2.0, 3.0, 4.0
        function main(%x: float32[{source}]) {{
          %t: float32[{turned}] = TRANSPOSE(%x, #p)
          %f: float32[{flat.replace(" ", "")}] = RESHAPE(%t, #s)
          %y: float32[{flat[0]},1] = FULLY_CONNECTED(%f, #w)
          return %y{more}
        }}
        signature main: main(x) -> (y{more.replace("%", "")})
    """


def test_an_image_flattened_channels_first() -> None:
    module = parse_graph(_program("1,1,2,2", "1,2,1,2", "1, 4", "0, 3, 1, 2"))
    same_graph(
        prune(fold_into_weights(module)),
        """
        constant #w: float32[1,4] = 1.0, 3.0, 2.0, 4.0
        function main(%x: float32[1,1,2,2]) {
          %f: float32[1,4] = RESHAPE(%x) {new_shape=(1,4)}
          %y: float32[1,1] = FULLY_CONNECTED(%f, #w)
          return %y
        }
        signature main: main(x) -> (y)
    """,
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_program("1,1,2,4", "4,1,1,2", "2, 4", "3, 0, 1, 2"), id="rows move"),
        pytest.param(_program("1,1,2,2", "1,2,1,2", "1, 4", "0, 3, 1, 2", ", %t"), id="read by others"),
    ],
)
def test_others_stay(text: str) -> None:
    same_graph(fold_into_weights(parse_graph(text)), text)
