"""fuse_activation on the text form."""

from __future__ import annotations

from itertools import pairwise

import pytest
from support.graph_parser import parse_graph, same_graph
from tflmgen.passes.activation import fuse_activation
from tflmgen.passes.dead_code import prune
from tflmgen.passes.pipeline import run_passes

NONE, RELU, N1_TO_1, RELU6 = 0, 1, 2, 3


def chain(kind: str, *operators: str, activation: int = NONE) -> str:
    """An ADD and what follows it."""
    names = ["%x", *(f"%v{i}" for i in range(len(operators) + 1))]
    lines = [f"{names[1]}: {kind} = ADD(%x, %x) {{fused_activation_function={activation}}}"]
    for operator, (before, after) in zip(operators, pairwise(names[1:]), strict=True):
        lines.append(
            f"{after}: {kind} = {operator.replace('_', before, 1) if '(' in operator else f'{operator}({before})'}"
        )
    body = "\n".join(lines)
    return f"""
        constant #zero: float32[1] = 0.0
        constant #six: float32[1] = 6.0
        constant #q0: int8[]@0.5:3 = 3
        constant #q6: int8[]@0.5:3 = 15
        constant #q9: int8[]@0.5:3 = 9
        function main(%x: {kind}) {{
          {body}
          return {names[len(operators) + 1]}
        }}
        signature main: main(x) -> (y)
    """


FLOAT, INT8 = "float32[4]", "int8[4]@0.5:3"
FUSED = {
    "float": (FLOAT, ["RELU"], NONE, RELU),
    "int8": (INT8, ["RELU"], NONE, RELU),
    "up to six": (INT8, ["RELU6"], NONE, RELU6),
    "between ones": (FLOAT, ["RELU_N1_TO_1"], NONE, N1_TO_1),
    "the narrower one": (FLOAT, ["RELU6"], RELU, RELU6),
    "clamped already": (FLOAT, ["RELU"], RELU6, RELU6),
    "maximum of zero": (FLOAT, ["MAXIMUM(_, #zero)"], NONE, RELU),
    "minimum, then maximum": (FLOAT, ["MINIMUM(_, #six)", "MAXIMUM(_, #zero)"], NONE, RELU6),
    "maximum, then minimum": (FLOAT, ["MAXIMUM(_, #zero)", "MINIMUM(_, #six)"], NONE, RELU6),
    "quantised maximum": (INT8, ["MAXIMUM(_, #q0)"], NONE, RELU),
    "quantised minimum": (INT8, ["MINIMUM(_, #q6)"], RELU, RELU6),
}


@pytest.mark.parametrize("name", FUSED)
def test_fused(name: str) -> None:
    kind, operators, before, after = FUSED[name]
    module = run_passes(parse_graph(chain(kind, *operators, activation=before)), (fuse_activation, prune))
    same_graph(module, chain(kind, activation=after))


NOT_FUSED = {
    "another bound": (INT8, ["MINIMUM(_, #q9)"], NONE),
    "nothing in common": (FLOAT, ["MAXIMUM(_, #six)"], N1_TO_1),
    "zero to one": (FLOAT, ["RELU"], N1_TO_1),
    "a maximum of two": (FLOAT, ["MAXIMUM(_, %x)"], NONE),
}


@pytest.mark.parametrize("name", NOT_FUSED)
def test_not_fused(name: str) -> None:
    kind, operators, before = NOT_FUSED[name]
    text = chain(kind, *operators, activation=before)
    same_graph(fuse_activation(parse_graph(text)), text)


def test_another_scale_or_reader_keeps_them_apart() -> None:
    text = """
        function main(%x: int8[4]@0.5:3) {
          %a: int8[4]@0.5:3 = ADD(%x, %x)
          %r: int8[4]@0.25:3 = RELU(%a)
          %b: int8[4]@0.5:3 = SUB(%x, %x)
          %s: int8[4]@0.5:3 = RELU(%b)
          return %r, %s, %b
        }
        signature main: main(x) -> (r, s, b)
    """
    same_graph(fuse_activation(parse_graph(text)), text)


def test_a_clamp_in_a_branch_joins_what_only_it_reads() -> None:
    module = parse_graph("""
        function main(%x: float32[4], %p: bool[]) {
          %a: float32[4] = ADD(%x, %x)
          if %p {
            %r: float32[4] = RELU(%a)
            yield %r
          } else {
            yield %x
          } -> %y: float32[4]
          return %y
        }
        signature main: main(x, p) -> (y)
    """)
    same_graph(
        fuse_activation(module),
        """
        function main(%x: float32[4], %p: bool[]) {
          %r: float32[4] = ADD(%x, %x) {fused_activation_function=1}
          if %p {
            yield %r
          } else {
            yield %x
          } -> %y: float32[4]
          return %y
        }
        signature main: main(x, p) -> (y)
    """,
    )
