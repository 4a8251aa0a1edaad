"""Sliding windows: which rows a hop computes, what is refused and why, and the C API with state."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.c_program import run_c
from support.commands import tflmgen
from support.model_writer import ModelWriter
from support.native import RESET, Invocation, build_native, run_native
from support.pipeline import HOST
from support.repository import ROOT
from support.window_models import (
    accelerometer,
    branching,
    causal_tcn,
    ds_cnn,
    tc_resnet,
    two_windows,
    valid_cnn,
)
from tflmgen.compiler import Compilation, compile_model, compile_module
from tflmgen.errors import ModelError, UsageError
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.hardware.board import load_board
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions, Validate
from window_figures import BOARD, examples

MORE = 5


def compiled(
    data: bytes, *slides: str, name: str = "model", target: Target = HOST, slide_phases: bool = False
) -> Compilation:
    options = BuildOptions(name, slide=[*slides], slide_phases=slide_phases)
    return compile_module(import_model(parse_model(data, "m.tflite")), name, target, options)


def rows_computed(data: bytes, slide: str) -> list[tuple[int, int]]:
    """(computed, all) rows of each convolution."""
    (hop,) = compiled(data, slide).module.hops
    return [(layer.computed, layer.rows) for layer in hop.layers if "CONV" in layer.name]


def test_same_padding_is_computed_anew_at_both_edges() -> None:
    """Each layer of 3 taps has one more row at each edge than the one before; the first has two for its 5 taps."""
    hop = 2
    expected = [2 * 2 + hop] + [2 * edge + hop for edge in (3, 3, 4, 4, 5, 5)]
    assert rows_computed(ds_cnn(), f"t0=1,{hop}") == [(rows, 32) for rows in expected]


def test_without_padding_only_new_rows_are_computed() -> None:
    assert rows_computed(valid_cnn(), "t0=1,1") == [(1, rows) for rows in (96, 94, 92, 90, 88)]


def test_of_causal_layers_the_first_rows_are_not_computed_if_nobody_reads_them() -> None:
    assert rows_computed(causal_tcn(), "t0=1,1") == [(1, 80)] * 4


def test_strides_divide_the_hop() -> None:
    """Of 8 new rows the pools leave 4 and 2; the layers behind them compute these."""
    assert rows_computed(accelerometer(), "t0=1,8") == [(8, 124), (4, 58), (2, 27)]


@pytest.mark.parametrize(("build", "hop", "share"), [(valid_cnn, 1, 0.12), (causal_tcn, 1, 0.12), (ds_cnn, 1, 0.5)])
def test_the_share_of_a_window_that_a_hop_computes(build: Callable[[], bytes], hop: int, share: float) -> None:
    (work,) = compiled(build(), f"t0=1,{hop}").module.hops
    assert work.computed_macs < share * work.macs
    assert work.computed_macs <= 1.15 * work.cone_macs


@pytest.mark.parametrize(
    ("slide", "words"),
    [
        ("t0", "not INPUT=AXIS,HOP"),
        ("t0=1", "not INPUT=AXIS,HOP"),
        ("t0=1,0", "not INPUT=AXIS,HOP"),
        ("t0=1,-1", "not INPUT=AXIS,HOP"),
        ("x=1,1", "the model's inputs are 't0'"),
    ],
)
def test_malformed_windows(slide: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        compiled(ds_cnn(), slide)


def test_a_window_slides_once_and_excludes_push_rows() -> None:
    with pytest.raises(UsageError, match="given twice"):
        compiled(ds_cnn(), "t0=1,1", "t0=1,2")
    options = BuildOptions("m", slide=["t0=1,1"], push_rows=["t0"])
    with pytest.raises(UsageError, match="excludes --push-rows"):
        compile_module(import_model(parse_model(ds_cnn(), "m.tflite")), "m", HOST, options)


@pytest.mark.parametrize(
    ("slide", "words"),
    [
        ("t0=4,1", "has no axis 4"),
        ("t0=1,32", "a hop of 32 leaves none"),
        ("t0=1,99999999", "leaves none"),
        ("t0=3,1", "all dimensions before it must be 1"),
    ],
)
def test_windows_that_cannot_slide(slide: str, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        compiled(ds_cnn(), slide)


@pytest.mark.parametrize(("hop", "rows"), [(1, "1 row"), (2, "1 row"), (3, "3 rows")])
def test_a_hop_that_strides_do_not_divide_names_the_operator(hop: int, rows: str) -> None:
    words = rf"operator \d+ \(CONV_2D\): .*moves 2 rows at a time, and a hop has {rows} of .*Choose twice the HOP"
    with pytest.raises(ModelError, match=words):
        compiled(tc_resnet(), f"t0=1,{hop}")


@pytest.mark.parametrize(("hop", "phases"), [(1, 4), (2, 2), (3, 4), (4, 1), (6, 2)])
def test_phases_are_kept_for_hops_that_strides_do_not_divide(hop: int, phases: int) -> None:
    """Two strides of 2: rows stand at the same places after 4 rows. A hop computes what the next fitting one does."""
    kept, fitting = (
        compiled(tc_resnet(), f"t0=1,{rows}", slide_phases=True).module.hops[0] for rows in (hop, hop * phases)
    )
    assert (kept.phases, fitting.phases) == (phases, 1)
    assert kept.computed_macs <= fitting.computed_macs
    assert kept.computed_macs <= 1.15 * kept.cone_macs
    if phases > 1:
        assert kept.cache_bytes > fitting.cache_bytes


def test_phases_need_a_window_that_slides() -> None:
    with pytest.raises(UsageError, match="--slide-phases needs --slide"):
        compiled(ds_cnn(), slide_phases=True)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_each_phase_gives_what_whole_windows_give(dtype: str) -> None:
    """Hops of one row through two strides of 2, whose places repeat every fourth window; in C, with a reset."""
    rows, count = 96, 9
    scale = 1.0 if dtype == "float32" else 60.0
    series = np.random.default_rng(6).normal(size=(1, rows + count - 1, 1, 40)) * scale
    series = series.astype(dtype)
    whole = compiled(tc_resnet(dtype), name="whole")
    slid = compiled(tc_resnet(dtype), "t0=1,1", name="slid", slide_phases=True)
    assert slid.module.hops[0].phases == 4
    calls = [Invocation(0, 0, (series[:, k : k + rows],)) for k in range(count)]
    calls += [Invocation(1, 0, (series[:, k : k + 1],), MORE) for k in range(3)]
    calls += [Invocation(1, RESET, ())]
    calls += [Invocation(1, 0, (series[:, k : k + 1],), MORE if k < rows - 1 else 0) for k in range(rows + count - 1)]
    program = build_native({"whole": whole.sources, "slid": slid.sources})
    results = run_native(program, calls, [whole.module.signatures, slid.module.signatures])
    for wanted, outputs in zip(results[:count], results[-count:], strict=True):
        np.testing.assert_array_equal(outputs[0], wanted[0])


def one_operator(operator: str, weights: tuple[int, ...], shape: list[int], result: list[int], dtype: str) -> bytes:
    w = ModelWriter()
    g = w.subgraph("main")
    x, y = g.tensor("x", "float32", shape), g.tensor("y", "float32", result)
    quantized: Any = {"scale": [0.1] * weights[0], "zero_point": [0] * weights[0]} if dtype == "int8" else {}
    operands = [g.constant("w", np.ones(weights), dtype, **quantized), g.constant("b", np.ones(weights[0]), "float32")]
    steps = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    g.operator(operator, [x, *operands], [y], steps if operator == "CONV_2D" else {})
    g.inputs, g.outputs = [x], [y]
    return w.finish()


def test_what_saves_nothing_names_the_operator() -> None:
    dense = one_operator("FULLY_CONNECTED", (3, 24), [1, 8, 3], [1, 3], "float32")
    with pytest.raises(ModelError, match=r"operator 0 \(FULLY_CONNECTED\).*combines rows of the whole window"):
        compiled(dense, "x=1,1")
    wide = one_operator("CONV_2D", (3, 15, 1, 2), [1, 8, 1, 2], [1, 8, 1, 3], "float32")
    with pytest.raises(ModelError, match="padding reaches all 8 rows of CONV_2D"):
        compiled(wide, "x=1,1")


def test_weights_of_int8_beside_floats_quantise_the_whole_window() -> None:
    with pytest.raises(ModelError, match=r"CONV_2D has int8 weights for floats.*Keep its weights as floats"):
        compiled(one_operator("CONV_2D", (3, 3, 1, 2), [1, 8, 1, 2], [1, 8, 1, 3], "int8"), "x=1,1")


def direct_control(operator: str) -> bytes:
    """An IF or a WHILE that reads the sliding x."""
    w = ModelWriter()
    g, first, second = (w.subgraph(name) for name in ("main", "first", "second"))
    x, mode = g.tensor("x", "float32", [1, 8]), g.tensor("mode", "bool", [1])
    g.inputs, flag, y = [x, mode], g.tensor("flag", "bool", [1]), g.tensor("y", "float32", [1, 8])
    for branch in (first, second):
        a, b = branch.tensor("a", "float32", [1, 8]), branch.tensor("b", "float32", [1, 8])
        branch.operator("NEG" if branch is first else "ABS", [a], [b])
        branch.inputs, branch.outputs = [a], [b]
        if operator == "WHILE":
            go = branch.tensor("go", "bool", [1])
            branch.inputs = [go, a]
            branch.outputs = [go] if branch is first else [branch.constant("stop", np.zeros(1), "bool"), b]
    if operator == "WHILE":
        g.operator("WHILE", [mode, x], [flag, y], {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    else:
        g.operator("IF", [mode, x], [y], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    g.outputs = [y]
    return w.finish()


def two_operands(other: str) -> bytes:
    """y = x + a second operand with rows: an input, or a constant."""
    w = ModelWriter()
    g = w.subgraph("main")
    x, y = g.tensor("x", "float32", [1, 8, 2]), g.tensor("y", "float32", [1, 8, 2])
    g.inputs, g.outputs = [x], [y]
    if other == "input":
        rows = g.tensor("other", "float32", [1, 8, 2])
        g.inputs = [x, rows]
    else:
        rows = g.constant("places", np.arange(16).reshape(1, 8, 2), "float32")
    g.operator("ADD", [x, rows], [y])
    return w.finish()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (two_operands("input"), r"\(ADD\): .*ADD reads 'other', too, which does not slide.*slide that input"),
        (two_operands("constant"), r"\(ADD\): .*ADD has a constant that differs from row to row"),
        (direct_control("WHILE"), r"\(WHILE\): .*WHILE reads the whole window.*Only rows that are computed before"),
        (direct_control("IF"), r"\(IF\): .*IF reads the whole window"),
    ],
    ids=["input", "constant", "while", "if"],
)
def test_what_stops_rows_is_named_with_its_reason(data: bytes, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        compiled(data, "x=1,1")


def test_a_model_with_state_of_its_own() -> None:
    w = ModelWriter()
    g = w.subgraph("main")
    handle, old, new = g.tensor("h", "resource", []), g.tensor("old", "float32", [8]), g.tensor("new", "float32", [8])
    x, start = g.tensor("x", "float32", [8]), w.subgraph("start")
    first = start.tensor("h", "resource", [])
    start.operator("VAR_HANDLE", [], [first], {"shared_name": "total"})
    start.operator("ASSIGN_VARIABLE", [first, start.constant("begin", np.zeros(8), "float32")], [])
    g.operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    g.operator("VAR_HANDLE", [], [handle], {"shared_name": "total"})
    g.operator("READ_VARIABLE", [handle], [old])
    g.operator("ADD", [old, x], [new])
    g.operator("ASSIGN_VARIABLE", [handle, new], [])
    g.inputs, g.outputs = [x], [new]
    with pytest.raises(ModelError, match="keeps state of its own"):
        compiled(w.finish(), "x=0,1")


@pytest.mark.parametrize("mode", [True, False])
def test_what_a_branch_reads_is_a_whole_window(mode: bool) -> None:
    series = np.random.default_rng(3).normal(size=(1, 24, 1, 2)).astype(np.float32)
    whole, slid = compiled(branching(), name="whole"), compiled(branching(), "x=1,2", name="slid")
    condition = np.array([mode])
    calls = [Invocation(0, 0, (series[:, 2 * k : 2 * k + 16], condition)) for k in range(5)]
    calls += [Invocation(1, 0, (series[:, 2 * k : 2 * k + 2], condition), MORE if k < 7 else 0) for k in range(12)]
    program = build_native({"whole": whole.sources, "slid": slid.sources})
    results = run_native(program, calls, [whole.module.signatures, slid.module.signatures])
    for wanted, outputs in zip(results[:5], results[-5:], strict=True):
        np.testing.assert_array_equal(outputs[0], wanted[0])


def test_two_windows_of_different_hops_and_an_input_that_does_not_slide() -> None:
    rng = np.random.default_rng(4)
    left, right = (rng.normal(size=(1, 40, 1, n)).astype(np.float32) for n in (2, 3))
    factors = rng.normal(size=(16, 1)).astype(np.float32)
    whole = compiled(two_windows(), name="whole")
    slid = compiled(two_windows(), "left=1,1", "right=1,2", name="slid")
    calls = [
        Invocation(0, 0, (left[:, k : k + 12], right[:, 2 * k + 12 : 2 * k + 24], factors[k + 11])) for k in range(5)
    ]
    calls += [
        Invocation(1, 0, (left[:, k : k + 1], right[:, 2 * k : 2 * k + 2], factors[k]), MORE if k < 11 else 0)
        for k in range(16)
    ]
    program = build_native({"whole": whole.sources, "slid": slid.sources})
    results = run_native(program, calls, [whole.module.signatures, slid.module.signatures])
    for wanted, outputs in zip(results[:5], results[-5:], strict=True):
        np.testing.assert_array_equal(outputs[0], wanted[0])


SAVED = """
#include <stdio.h>
#include <string.h>
#include "model.h"

static float rows[MODEL_INPUT_ELEMENTS];
static uint8_t blob[MODEL_STATE_BLOB_BYTES];

static tflmgen_status push(int number)
{
    for (int i = 0; i < MODEL_INPUT_ELEMENTS; ++i) {
        rows[i] = (float)((number * 37 + i * 11) % 23) - 11.0f;
    }
    return model_push(rows);
}

int main(void)
{
    static float first[MODEL_OUTPUT_ELEMENTS];
    int k = 0;
    while (push(k++) == TFLMGEN_MORE) {
    }
    if (k != MODEL_INPUT_PUSHES || MODEL_INPUT_WINDOW_ROWS != 32) {
        return 1;
    }
    model_state_save(blob);
    if (push(k) != TFLMGEN_OK) {
        return 2;
    }
    memcpy(first, model_output(), sizeof first);
    model_reset();
    if (push(0) != TFLMGEN_MORE || model_state_load(blob) != TFLMGEN_OK || push(k) != TFLMGEN_OK) {
        return 3;
    }
    if (memcmp(first, model_output(), sizeof first) != 0) {
        return 4;
    }
    printf("same\\n");
    return 0;
}
"""


def test_pushes_state_and_reset_in_c(tmp_path: Path) -> None:
    """A saved window goes on where it was, also while others were pushed; a reset needs a whole window again."""
    assert run_c(SAVED, compiled(ds_cnn("float32"), "t0=1,2").sources, tmp_path) == "same\n"


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "kws.tflite"
    model.write_bytes(ds_cnn())
    slide = ["--slide", "t0=1,3"]
    passed = tflmgen("test", model, "--board", "host", *slide)
    assert passed.code == 0, passed
    plan = tflmgen("inspect", model, *slide, "--json").json
    assert [layer["computed_rows"] for layer in plan["slide"][0]["layers"]][:2] == [7, 9]
    assert "A hop computes" in tflmgen("inspect", model, *slide).out
    window = np.random.default_rng(1).integers(-128, 128, (1, 32, 1, 8)).astype(np.int8)
    np.savez(tmp_path / "in.npz", t0=window)
    outputs = []
    for number, options in enumerate((slide, [])):
        out = tmp_path / f"out{number}.npz"
        ran = tflmgen("run", model, "--board", "host", "--inputs", "in.npz", "--outputs", out, *options)
        assert ran.code == 0, ran
        with np.load(out) as arrays:
            outputs.append(next(iter(arrays.values())))
    np.testing.assert_array_equal(*outputs)
    assert tflmgen("test", model, "--board", "host", "--layers", *slide).code == 2
    wrong = tflmgen("build", model, "--board", "host", "--slide", "t0=1,40", "-o", tmp_path / "out")
    assert wrong.code == 1
    assert not (tmp_path / "out").exists()


def test_the_page_has_the_share_of_each_network() -> None:
    """Networks but MLPerf's, whose file may be absent."""
    page = (ROOT / "docs" / "use" / "windows.md").read_text(encoding="utf-8").split("<!-- figures -->")[1]
    known = [example for example in examples() if example.data is not None]
    assert len(known) == 8
    for example in known:
        assert example.data is not None
        (work,) = compiled(example.data, f"t0=1,{example.hop}", target=load_board(BOARD).target).module.hops
        share = f"{100 * work.computed_macs / work.macs:.1f} %"
        times = f"{work.computed_macs / work.cone_macs:.2f}"
        assert re.search(rf"\| {re.escape(example.caption)} \| \d+ \| {example.hop} \| {share} \| {times} \|", page)


def test_the_page_reaches_what_sliding_is_for() -> None:
    """Instructions of a hop by those of a window: at most 0.49 of MLPerf's, 0.12 without padding; the cone holds."""
    page = (ROOT / "docs" / "use" / "windows.md").read_text(encoding="utf-8").split("<!-- figures -->")[1]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    table = [cells for cells in rows if len(cells) == 10 and cells[1] != "Rows"]
    assert len(table) == len([example for example in examples() if example.data is not None]) + 2
    assert all(float(cells[4]) <= 1.15 for cells in table)
    kws = {cells[2]: float(cells[7]) for cells in table if "MLPerf" in cells[0]}
    assert kws.keys() == {"2", "4"}
    assert kws["2"] <= 0.46
    assert kws["4"] <= 0.49
    for words, limit in (("VALID", 0.15), ("5 convolutions, VALID", 0.12), ("causal", 0.12)):
        parts = [float(cells[7]) for cells in table if words in cells[0]]
        assert parts, words
        assert max(parts) <= limit, words


def test_each_build_compares_pushes_with_whole_windows(tmp_path: Path) -> None:
    model = tmp_path / "kws.tflite"
    model.write_bytes(ds_cnn())
    options = BuildOptions(slide=["t0=1,3"], validate=Validate.QUICK)
    (proof,) = compile_model(model, HOST, options).plan["proof"]
    assert proof["equal"] == 12
