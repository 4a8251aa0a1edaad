"""How many channels stay is a matter of estimated cycles."""

from __future__ import annotations

import numpy as np
import pytest
from support.model_writer import ModelWriter
from tflmgen.explore.optimised_graphs import prepare, prepare_trade_offs
from tflmgen.explore.ram_trade_offs import choose_plan, pareto_front
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.graph.module import Module, Op, walk
from tflmgen.ir.kernel.call import Target
from tflmgen.kernels.selection import Selector
from tflmgen.options import Optimize
from tflmgen.passes.pipeline import run_passes, without_ranges

M4 = Selector(Target("cortex-m4", frozenset({"dsp", "fpu"})))
M0 = Selector(Target("cortex-m0"))


def two_layers(channels: int, dead: int) -> Module:
    """Two pointwise convolutions of 16 x 16 pixels; the last `dead` channels between them are zero."""
    rng, w = np.random.default_rng(0), ModelWriter()
    g = w.subgraph("main")
    x = g.tensor("x", "int8", [1, 16, 16, 8], scale=[0.1], zero_point=[-128])
    m = g.tensor("m", "int8", [1, 16, 16, channels], scale=[0.1], zero_point=[-128])
    y = g.tensor("y", "int8", [1, 16, 16, 8], scale=[0.1], zero_point=[-128])
    first, second = rng.integers(-127, 128, (channels, 1, 1, 8)), rng.integers(-127, 128, (8, 1, 1, channels))
    first[channels - dead :] = 0
    options = {"padding": 0, "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    for name, source, weights, result in (("v", x, first, m), ("w", m, second, y)):
        filter_ = g.constant(name, weights.astype(np.int8), scale=[0.01], zero_point=[0])
        g.operator("CONV_2D", [source, filter_], [result], options | {"fused_activation_function": 1})
    g.inputs, g.outputs = [x], [y]
    return import_model(parse_model(bytes(w.finish()), "m.tflite"))


def channels(module: Module) -> int:
    first = next(node for node in walk(module.functions[0].body) if isinstance(node, Op))
    return first.outputs[0].type.max_shape[3]


def test_dead_channels_go() -> None:
    module = two_layers(32, 16)
    assert channels(prepare(module, M4)) == 16
    assert channels(prepare(module, M0)) == 16


def test_it_can_be_turned_off() -> None:
    module = two_layers(32, 16)
    assert prepare(module, M4, analyze_ranges=False).functions == run_passes(module, without_ranges()).functions


@pytest.mark.parametrize("fastest", [True, False])
def test_odd_channels_stay_where_kernels_like_them(fastest: bool) -> None:
    module = two_layers(32, 1)
    assert channels(prepare(module, M4, fastest=fastest)) == (32 if fastest else 31)


def test_trade_offs_begin_with_the_fastest() -> None:
    """With and without an odd dead channel: the first is faster, the second smaller."""
    module = two_layers(32, 1)
    modules = prepare_trade_offs(module, M4)
    assert [channels(module) for module in modules] == [32, 31]
    assert [channels(module) for module in prepare_trade_offs(two_layers(32, 16), M4)] == [16]
    front = pareto_front(modules, M4)
    assert front[0].cost == 0
    assert channels(front[0].module) == 32
    assert any(channels(point.module) == 31 for point in front)
    for point in front:
        chosen = choose_plan(modules, M4, Optimize.BALANCED, point.bytes)
        assert (chosen.bytes, chosen.cost) == (point.bytes, point.cost)
