"""fuse_transposes and sink_transposes on the text form."""

from __future__ import annotations

import numpy as np
from support.graph_parser import parse_graph, same_graph
from tflmgen.ir.graph.module import Op, walk
from tflmgen.passes.dead_code import prune
from tflmgen.passes.pipeline import run_passes
from tflmgen.passes.transposes import fuse_transposes, sink_transposes
from tflmgen.reference.module_interpreter import ModuleInterpreter

TO_FIRST = "constant #first: int32[4] = 0, 3, 1, 2"
TO_LAST = "constant #last: int32[4] = 0, 2, 3, 1"


def test_two_are_one_or_none() -> None:
    module = parse_graph(f"""
        {TO_FIRST}
        {TO_LAST}
        function main(%x: int8[1,2,3,4]@0.5:0) {{
          %a: int8[1,4,2,3]@0.5:0 = TRANSPOSE(%x, #first)
          %b: int8[1,2,3,4]@0.5:0 = TRANSPOSE(%a, #last)
          %c: int8[1,3,4,2]@0.5:0 = TRANSPOSE(%x, #last)
          %d: int8[1,4,2,3]@0.5:0 = TRANSPOSE(%c, #last)
          return %b, %d
        }}
        signature main: main(x) -> (b, d)
    """)
    same_graph(
        prune(fuse_transposes(module)),
        f"""
        {TO_FIRST}
        function main(%x: int8[1,2,3,4]@0.5:0) {{
          %d: int8[1,4,2,3]@0.5:0 = TRANSPOSE(%x, #first)
          return %x, %d
        }}
        signature main: main(x) -> (b, d)
    """,
    )


def test_dimensions_of_one_move_nothing() -> None:
    module = parse_graph(f"""
        {TO_FIRST}
        function main(%x: float32[1,5,7,1]) {{
          %a: float32[1,1,5,7] = TRANSPOSE(%x, #first)
          return %a
        }}
        signature main: main(x) -> (a)
    """)
    same_graph(
        fuse_transposes(module),
        """
        function main(%x: float32[1,5,7,1]) {
          %a: float32[1,1,5,7] = RESHAPE(%x) {new_shape=(1,1,5,7)}
          return %a
        }
        signature main: main(x) -> (a)
    """,
    )


def test_another_quantisation_is_another_value() -> None:
    text = f"""
        {TO_FIRST}
        {TO_LAST}
        function main(%x: int8[1,2,3,4]@0.5:0) {{
          %a: int8[1,4,2,3]@0.5000001:0 = TRANSPOSE(%x, #first)
          %b: int8[1,2,3,4]@0.5:0 = TRANSPOSE(%a, #last)
          return %b
        }}
        signature main: main(x) -> (b)
    """
    same_graph(fuse_transposes(parse_graph(text)), text)


NORMALISATION = """
    constant #last: int32[4] = 0, 2, 3, 1
    constant #first: int32[4] = 0, 3, 1, 2
    constant #axes: int32[3] = 0, 1, 2
    constant #scale: float32[8] = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0
    function main(%x: float32[1,8,16,1]) {
      %t: float32[1,16,1,8] = TRANSPOSE(%x, #last)
      %m: float32[8] = SUM(%t, #axes)
      %d: float32[1,16,1,8] = SUB(%t, %m)
      %e: float32[1,16,1,8] = MUL(%d, #scale)
      %y: float32[1,8,16,1] = TRANSPOSE(%e, #first)
      return %y
    }
    signature main: main(x) -> (y)
"""


def test_a_normalisation_is_computed_where_the_elements_are() -> None:
    same_graph(
        prune(sink_transposes(parse_graph(NORMALISATION))),
        """
        constant #one: int32[3] = 0, 2, 3
        constant #scale: float32[1,8,1,1] = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0
        function main(%x: float32[1,8,16,1]) {
          %m: float32[8] = SUM(%x, #one)
          %v: float32[1,8,1,1] = RESHAPE(%m) {new_shape=(1,8,1,1)}
          %d: float32[1,8,16,1] = SUB(%x, %v)
          %e: float32[1,8,16,1] = MUL(%d, #scale)
          %y: float32[1,8,16,1] = RESHAPE(%e) {new_shape=(1,8,16,1)}
          return %y
        }
        signature main: main(x) -> (y)
    """,
    )


def test_both_operands_are_taken_before_their_transposes() -> None:
    module = parse_graph(f"""
        {TO_FIRST}
        {TO_LAST}
        function main(%x: int8[1,2,3,4]@0.5:0, %z: int8[1,2,3,4]@0.5:0) {{
          %a: int8[1,4,2,3]@0.5:0 = TRANSPOSE(%x, #first)
          %b: int8[1,4,2,3]@0.5:0 = TRANSPOSE(%z, #first)
          %c: int8[1,4,2,3]@0.5:0 = ADD(%b, %a)
          return %c
        }}
        signature main: main(x, z) -> (c)
    """)
    same_graph(
        prune(sink_transposes(module)),
        f"""
        {TO_FIRST}
        function main(%x: int8[1,2,3,4]@0.5:0, %z: int8[1,2,3,4]@0.5:0) {{
          %c: int8[1,2,3,4]@0.5:0 = ADD(%z, %x)
          %d: int8[1,4,2,3]@0.5:0 = TRANSPOSE(%c, #first)
          return %d
        }}
        signature main: main(x, z) -> (c)
    """,
    )


def test_what_was_a_tensor_of_the_file_and_is_not_has_another_name() -> None:
    body = prune(sink_transposes(parse_graph(NORMALISATION))).functions[0].body
    names = {value.name for node in body.nodes for value in node.outputs if value.type.max_shape == (1, 8, 16, 1)}
    assert names == {"%d/untransposed", "%e/untransposed", "%y"}


def test_they_stay_where_nothing_is_saved() -> None:
    text = f"""
        {TO_FIRST}
        function main(%x: float32[1,2,3,4], %z: float32[1,4,2,3], %p: bool[]) {{
          %a: float32[1,4,2,3] = TRANSPOSE(%x, #first)
          %b: float32[1,4,2,3] = EXP(%a)
          if %p {{
            %c: float32[1,4,2,3] = MUL(%b, %z)
            yield %c
          }} else {{
            yield %a
          }} -> %d: float32[1,4,2,3]
          return %d
        }}
        signature main: main(x, z, p) -> (d)
    """
    same_graph(sink_transposes(parse_graph(text)), text)


def test_values_are_kept() -> None:
    module = parse_graph(NORMALISATION)
    after = run_passes(module)
    assert not [n for n in walk(after.functions[0].body) if isinstance(n, Op) and n.operator == "TRANSPOSE"]
    text = NORMALISATION.replace("float32", "int32").replace(".0", "")
    module = parse_graph(text)
    x = np.arange(128, dtype=np.int32).reshape(1, 8, 16, 1) % 37
    (result,), (other,) = (
        ModuleInterpreter(module).call("main", [x]),
        ModuleInterpreter(run_passes(module)).call("main", [x]),
    )
    np.testing.assert_array_equal(result, other)
