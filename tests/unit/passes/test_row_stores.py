"""store_rows: each spelling of one stored row, before and after by the reference, and what is none."""

from __future__ import annotations

import numpy as np
import pytest
from support.graph_parser import parse_graph
from tflmgen.ir.graph import Module, Op, walk
from tflmgen.ir.kernel import Kernel, Target
from tflmgen.kernels import Selector
from tflmgen.passes.dead_code import prune
from tflmgen.passes.row_stores import store_rows
from tflmgen.reference import Array
from tflmgen.reference.module_interpreter import ModuleInterpreter

ONES = "constant #ones: TYPE[1,3] = 1"
SHAPE = "constant #shape: int32[2] = 5, 3"
COUNT = "constant #count: INDEX[5,1] = 0, 1, 2, 3, 4"
SCATTERED = f"""{SHAPE}
constant #ones: int32[1,3] = 1
constant #zero: int32[] = 0
function main(%old: TYPE[5,3], %i: int32[1,1], %k: TYPE[1,3]) {{
  %m: int32[5,3] = SCATTER_ND(%i, #ones, #shape)
  %c: bool[5,3] = COMPARE(%m, #zero)
  %n: TYPE[5,3] = SCATTER_ND(%i, %k, #shape)
  %y: TYPE[5,3] = SELECT_V2(%c, CHOICES)
  return %y
}}
signature main: main(old, i, k) -> (y)
"""
TENSORFLOW = f"""{SHAPE}
{ONES}
constant #one: TYPE[] = 1
function main(%old: TYPE[5,3], %i: int32[1,1], %k: TYPE[1,3]) {{
  %m: TYPE[5,3] = SCATTER_ND(%i, #ones, #shape)
  %r: TYPE[5,3] = SUB(#one, %m)
  %p: TYPE[5,3] = MUL(%r, %old)
  %n: TYPE[5,3] = SCATTER_ND(%i, %k, #shape)
  %y: TYPE[5,3] = ADD(%p, %n)
  return %y
}}
signature main: main(old, i, k) -> (y)
"""
COMPARED = f"""{COUNT}
function main(%old: TYPE[5,3], %i: INDEX[1], %k: TYPE[1,3]) {{
  %c: bool[5,1] = EQUAL(#count, %i)
  %y: TYPE[5,3] = SELECT_V2(%c, %k, %old)
  return %y
}}
signature main: main(old, i, k) -> (y)
"""
BATCHED = """constant #count: INDEX[5] = 0, 1, 2, 3, 4
constant #rows: int32[4] = 1, 1, 5, 1
function main(%old: TYPE[1,1,5,3], %i: INDEX[1], %k: TYPE[1,3]) {
  %v: bool[5] = NOT_EQUAL(%i, #count)
  %c: bool[1,1,5,1] = RESHAPE(%v, #rows)
  %y: TYPE[1,1,5,3] = SELECT_V2(%c, %old, %k)
  return %y
}
signature main: main(old, i, k) -> (y)
"""
ONE_HOT = """constant #depth: int32[] = 5
constant #on: TYPE[] = 1
constant #off: TYPE[] = 0
constant #column: int32[2] = 5, 1
function main(%old: TYPE[5,3], %i: int32[1], %k: TYPE[3]) {
  %h: TYPE[1,5] = ONE_HOT(%i, #depth, #on, #off)
  %m: TYPE[5,1] = RESHAPE(%h, #column)
  %r: TYPE[5,1] = SUB(#on, %m)
  %p: TYPE[5,3] = MUL(%old, %r)
  %n: TYPE[5,3] = MUL(%m, %k)
  %y: TYPE[5,3] = ADD(%n, %p)
  return %y
}
signature main: main(old, i, k) -> (y)
"""
CAST = f"""{COUNT}
constant #one: TYPE[] = 1
function main(%old: TYPE[5,3], %i: INDEX[1], %k: TYPE[3]) {{
  %c: bool[5,1] = EQUAL(%i, #count)
  %m: TYPE[5,1] = CAST(%c)
  %r: TYPE[5,1] = SUB(#one, %m)
  %p: TYPE[5,3] = MUL(%old, %r)
  %n: TYPE[5,3] = MUL(%k, %m)
  %y: TYPE[5,3] = ADD(%p, %n)
  return %y
}}
signature main: main(old, i, k) -> (y)
"""
HEADS = """constant #shape: int32[4] = 5, 1, 2, 3
constant #ones: int32[1,1,2,3] = 1
constant #zero: int32[] = 0
constant #order: int32[4] = 1, 2, 0, 3
function main(%old: TYPE[1,2,5,3], %i: int32[1,1], %k: TYPE[1,1,2,3]) {
  %m: int32[5,1,2,3] = SCATTER_ND(%i, #ones, #shape)
  %c: bool[5,1,2,3] = NOT_EQUAL(%m, #zero)
  %n: TYPE[5,1,2,3] = SCATTER_ND(%i, %k, #shape)
  %d: bool[1,2,5,3] = TRANSPOSE(%c, #order)
  %o: TYPE[1,2,5,3] = TRANSPOSE(%n, #order)
  %y: TYPE[1,2,5,3] = SELECT_V2(%d, %o, %old)
  return %y
}
signature main: main(old, i, k) -> (y)
"""
COLUMNS = """constant #count: INDEX[5] = 0, 1, 2, 3, 4
function main(%old: TYPE[3,5], %i: INDEX[1], %k: TYPE[3,1]) {
  %c: bool[5] = EQUAL(#count, %i)
  %y: TYPE[3,5] = SELECT_V2(%c, %k, %old)
  return %y
}
signature main: main(old, i, k) -> (y)
"""
TURNED = """constant #there: int32[4] = 2, 0, 1, 3
constant #back: int32[4] = 1, 2, 0, 3
function main(%old: TYPE[1,2,5,3], %i: int32[1,1], %k: TYPE[1,1,2,3]) {
  %t: TYPE[5,1,2,3] = TRANSPOSE(%old, #there)
  %s: TYPE[5,1,2,3] = ROW_STORE(%t, %i, %k)
  %y: TYPE[1,2,5,3] = TRANSPOSE(%s, #back)
  return %y
}
signature main: main(old, i, k) -> (y)
"""
TYPES = {"float32": np.float32, "int32": np.int32, "int8": np.int8, "int64": np.int64}


def graph(text: str, dtype: str, index: str = "int32") -> Module:
    return parse_graph(text.replace("TYPE", dtype).replace("INDEX", index))


def operators(module: Module) -> list[str]:
    """All but views, which are no code."""
    names = [node.operator for f in module.functions for node in walk(f.body) if isinstance(node, Op)]
    return [name for name in names if name != "RESHAPE"]


def result(module: Module, inputs: list[Array]) -> Array:
    return ModuleInterpreter(module).call("main", inputs)[0]


def check(module: Module, dtype: str) -> list[str]:
    """Stores at all places, and out of range: the operators afterwards."""
    stored = prune(store_rows(module))
    values, rng = module.function("main").inputs, np.random.default_rng(0)
    old, row = (rng.integers(-9, 9, values[n].type.max_shape).astype(TYPES[dtype]) for n in (0, 2))
    index = values[1].type
    for place in (*range(-1, 7), *([2**32, 2**32 + 1, -(2**40)] if index.dtype.numpy == "<i8" else [])):
        if not 0 <= place < 5 and "SCATTER_ND" in operators(module):
            continue
        inputs = [old, np.full(index.max_shape, place, index.dtype.numpy), row]
        np.testing.assert_array_equal(result(stored, inputs), result(module, inputs), str(place))
    return operators(stored)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int8"])
@pytest.mark.parametrize(("compare", "choices"), [("NOT_EQUAL", "%n, %old"), ("EQUAL", "%old, %n")])
def test_select_of_scattered_tensors(dtype: str, compare: str, choices: str) -> None:
    text = SCATTERED.replace("COMPARE", compare).replace("CHOICES", choices)
    assert check(graph(text, dtype), dtype) == ["ROW_STORE"]


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_scatter_update_as_tensorflow_writes_it(dtype: str) -> None:
    assert check(graph(TENSORFLOW, dtype), dtype) == ["ROW_STORE"]


@pytest.mark.parametrize("text", [COMPARED, BATCHED])
@pytest.mark.parametrize("dtype", ["float32", "int8", "int64"])
def test_select_of_a_compared_index(text: str, dtype: str) -> None:
    assert check(graph(text, dtype), dtype) == ["ROW_STORE"]
    assert check(graph(text, dtype, "int64"), dtype) == ["MAXIMUM", "MINIMUM", "CAST", "ROW_STORE"]


@pytest.mark.parametrize("text", [HEADS, COLUMNS, TURNED])
def test_rows_along_any_axis(text: str) -> None:
    assert check(graph(text, "float32"), "float32") == ["ROW_STORE"]


@pytest.mark.parametrize(("number", "stores"), [("1", True), ("0.5", False)])
def test_a_cast_mask_of_fractions_is_none(number: str, stores: bool) -> None:
    """As integers, the fractions are 0: the whole tensor stays."""
    text = SCATTERED.replace("COMPARE", "NOT_EQUAL").replace("CHOICES", "%n, %old")
    text = text.replace("#ones: int32[1,3] = 1", f"#ones: float32[1,3] = {number}")
    text = text.replace("%m: int32[5,3] = SCATTER_ND(", "%f: float32[5,3] = SCATTER_ND(")
    text = text.replace("  %c:", "  %m: int32[5,3] = CAST(%f)\n  %c:")
    assert ("ROW_STORE" in check(graph(text, "int32"), "int32")) == stores


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_products_with_masks(dtype: str) -> None:
    assert check(graph(ONE_HOT, dtype), dtype) == ["ROW_STORE"]
    assert check(graph(CAST, dtype), dtype) == ["ROW_STORE"]


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (TENSORFLOW, "= 1\nfunction", "= 2\nfunction"),  # 2 - mask keeps twice the other rows
        (TENSORFLOW, "[1,3] = 1", "[1,3] = 1, 1, 0"),  # a mask of a part of the row
        (TENSORFLOW, "%n: TYPE[5,3] = SCATTER_ND(%i", "%n: TYPE[5,3] = SCATTER_ND(%j"),  # another row
        (COMPARED, "0, 1, 2, 3, 4", "1, 2, 3, 4, 5"),  # counted from 1
        (COMPARED, "EQUAL(", "LESS_EQUAL("),  # all rows up to the index
        (COMPARED, "%k, %old", "%old, %k"),  # all rows but one become the new one
        (ONE_HOT, "MUL(%m, %k)", "MUL(%r, %k)"),  # the row is added to the others
    ],
)
def test_what_is_no_stored_row_stays(text: str, old: str, new: str) -> None:
    assert old in text
    text = text.replace(old, new)
    if "%j" in text:
        text = text.replace("%k: TYPE[1,3])", "%k: TYPE[1,3], %j: int32[1,1])").replace("(old, i, k)", "(old, i, k, j)")
    module = graph(text, "float32")
    assert operators(store_rows(module)) == operators(module)


def test_a_quantised_row_of_another_scale_stays() -> None:
    module = graph(
        COMPARED.replace("%old: TYPE[5,3]", "%old: int8[5,3]@0.5:0")
        .replace("%k: TYPE[1,3]", "%k: int8[1,3]@0.25:0")
        .replace("%y: TYPE[5,3]", "%y: int8[5,3]@0.5:0"),
        "int8",
    )
    assert "ROW_STORE" not in operators(store_rows(module))


@pytest.mark.parametrize(
    ("rows", "row", "numbers"),
    [
        ("[5,3]", "[3]", (1, 5, 12)),
        ("[1,5,3]", "[5,3]", (1, 1, 60)),  # a list of one row
        ("[1,5,3]", "[1,5,3]", (1, 1, 60)),
        ("[1,5,3]", "[1,3]", (1, 5, 12)),
        ("[1,5,3]", "[1,1,3]", (1, 5, 12)),
        ("[2,5,3]", "[2,1,3]", (2, 5, 12)),
        ("[2,5,3]", "[2,5,1]", (10, 3, 4)),
        ("[1,1]", "[]", (1, 1, 4)),
    ],
)
def test_rows_by_shapes(rows: str, row: str, numbers: tuple[int, int, int]) -> None:
    module = parse_graph(f"""
        function main(%old: float32{rows}, %i: int32[], %k: float32{row}) {{
          %y: float32{rows} = ROW_STORE(%old, %i, %k)
          return %y
        }}
        signature main: main(old, i, k) -> (y)
    """)
    (store,) = module.function("main").body.nodes
    assert isinstance(store, Op)
    kernel = Selector(Target("host")).select(module).of(store)
    assert isinstance(kernel, Kernel)
    assert kernel.params is not None
    assert tuple(value for _, value in kernel.params.fields) == numbers
    shape = store.outputs[0].type.max_shape
    old, new = np.zeros(shape, np.float32), np.ones(store.inputs[2].type.max_shape, np.float32)  # type: ignore[union-attr]
    stored = result(module, [old, np.array(0, np.int32), new])
    assert int(stored.sum()) == new.size
