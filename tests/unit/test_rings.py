"""Rings of sliding windows: which caches become rings, what is read of them, and dilated windows without their gaps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.pipeline import HOST, SELECTOR
from support.window_cases import series
from support.window_models import accelerometer, averaging, causal_tcn, dilated_tcn, ds_cnn, valid_cnn
from tflmgen.compiler import compile_module
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.graph.module import Module, Op
from tflmgen.options import BuildOptions, Optimize
from tflmgen.passes.pipeline import run_passes
from tflmgen.passes.sliding import rings
from tflmgen.passes.sliding.slid_module import slide_inputs, slide_trade_offs
from tflmgen.passes.sliding.window_request import parse_slides
from tflmgen.reference.module_interpreter import ModuleInterpreter


def whole_module(data: bytes) -> Module:
    return run_passes(import_model(parse_model(data, "m.tflite")))


def slid_module(data: bytes, hop: int) -> Module:
    return slide_inputs(whole_module(data), parse_slides([f"t0=1,{hop}"]), SELECTOR.operators, phases=True)


def ring_shapes(module: Module) -> list[tuple[int, ...]]:
    names = [name.removesuffix(": oldest") for name in module.state if name.endswith(": oldest")]
    return sorted(module.state[name].home.type.max_shape for name in names)


@pytest.mark.parametrize(
    ("data", "hop", "shapes"),
    [
        (valid_cnn(), 1, [(87, 24)]),
        (valid_cnn(), 3, [(29, 72)]),
        (valid_cnn("float32"), 1, []),
        (causal_tcn(), 1, [(4, 16), (8, 16), (16, 16)]),
        (causal_tcn(), 2, [(4, 32), (8, 32)]),
        (causal_tcn(), 3, [(5, 48)]),
        (causal_tcn(), 16, []),
        (ds_cnn(rows=24), 8, []),
        (averaging(), 1, []),
        (accelerometer(), 8, []),
    ],
    ids=[
        "sums read the oldest row",
        "a ring with more rows than are kept",
        "sums of floats read all rows",
        "taps read two rows of each",
        "chunks of two rows",
        "a hop that the dilation is no multiple of",
        "a hop longer than all dilations",
        "all rows are read",
        "phases",
        "taps read rows beside each other",
    ],
)
def test_caches_of_which_few_rows_are_read_are_rings(data: bytes, hop: int, shapes: list[tuple[int, ...]]) -> None:
    assert ring_shapes(slid_module(data, hop)) == shapes


def test_rows_in_a_ring_stay_where_they_are() -> None:
    """In a hop, one chunk changes, and the position moves on by one; at the end it begins anew."""
    module = slid_module(causal_tcn(), 1)
    ring = next(name for name, v in module.state.items() if v.home.type.max_shape == (8, 16))
    interpreter = ModuleInterpreter(module)
    pushed, _ = series(module.signatures[0].inputs, 20)
    positions, changed = [], []
    before = interpreter.state[ring].copy()
    for arrays in pushed:
        interpreter.invoke(module.signatures[0], arrays)
        after = interpreter.state[ring].copy()
        changed.append([int(row) for row in np.flatnonzero((after != before).any(axis=1))])
        positions.append(int(interpreter.state[f"{ring}: oldest"][0]))
        before = after
    assert positions == [(k + 1) % 8 for k in range(len(pushed))]
    assert all(rows in ([], [k % 8]) for k, rows in enumerate(changed))
    assert sum(map(len, changed)) > len(pushed) // 2


@pytest.mark.parametrize("build", [causal_tcn, dilated_tcn, ds_cnn, valid_cnn])
@pytest.mark.parametrize("hop", [1, 2, 3])
def test_rings_give_what_moved_rows_give(build: Callable[[], bytes], hop: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a ring saves one byte, past several turns of it."""
    data = build()
    module, outputs = whole_module(data), []
    for least in (1, 1 << 30):
        monkeypatch.setattr(rings, "LEAST_BYTES_SAVED", least)
        slid = slid_module(data, hop)
        assert bool(ring_shapes(slid)) == (least == 1)
        pushed, windows = series(slid.signatures[0].inputs, 12)
        interpreter = ModuleInterpreter(slid)
        outputs.append([interpreter.invoke(slid.signatures[0], arrays)[0] for arrays in pushed][-12:])
    whole = ModuleInterpreter(module)
    expected = [whole.invoke(module.signatures[0], arrays)[0] for arrays in windows]
    np.testing.assert_array_equal(outputs, [expected, expected])


def dilations(module: Module) -> list[int]:
    operators = [node for f in module.functions for node in f.body.nodes if isinstance(node, Op)]
    return [op.attributes.steps.dilation_height for op in operators if op.operator == "CONV_2D"]


@pytest.mark.parametrize(("hop", "kept"), [(1, [1, 1, 1, 1]), (2, [1, 1, 1, 1]), (3, [1, 2, 1, 1]), (9, [1, 2, 4, 1])])
def test_windows_over_fewer_rows_than_a_dilation_are_dense(hop: int, kept: list[int]) -> None:
    """Dilations of 1, 2, 4 and 8 rows; of the last layer, one row is read."""
    assert dilations(slid_module(causal_tcn(), hop)) == kept


def test_windows_across_several_columns_are_dense_over_one_row() -> None:
    """Rows of an image of several columns are no lines of another image, unless each has one row."""
    assert dilations(slid_module(causal_tcn(columns=3), 1)) == [1, 1, 1, 1]
    assert dilations(slid_module(causal_tcn(columns=3), 2)) == [1, 2, 4, 1]


def test_where_ram_is_to_be_saved_rows_move() -> None:
    """Rows out of rings are copied to the arena."""
    fastest, *others = slide_trade_offs(whole_module(causal_tcn()), parse_slides(["t0=1,1"]), SELECTOR.operators)
    assert ring_shapes(fastest)
    assert not ring_shapes(others[0])
    assert others[0].hops[0].computed_macs == fastest.hops[0].computed_macs
    module = import_model(parse_model(causal_tcn(), "m.tflite"))
    goals = Optimize.BALANCED, Optimize.RAM
    plans = [compile_module(module, "m", HOST, BuildOptions("m", slide=["t0=1,1"], optimize=goal)) for goal in goals]
    assert [bool(ring_shapes(plan.module)) for plan in plans] == [True, False]
