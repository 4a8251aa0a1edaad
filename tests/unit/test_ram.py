"""Budgets of RAM, and which streams keep to them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.model_writer import ModelWriter
from tflmgen.errors import ModelError, UsageError
from tflmgen.explore.ram_trade_offs import TradeOff, choose_plan, pareto_front
from tflmgen.explore.search import best_candidate, plans_by_speed
from tflmgen.explore.streams.chain import STREAM
from tflmgen.explore.streams.row_kernels import RowKernels
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.graph.module import Module, Op
from tflmgen.ir.kernel.call import Target
from tflmgen.kernels.costs import TUNING
from tflmgen.kernels.selection import Selector
from tflmgen.memory import packing_bound
from tflmgen.options import Optimize
from tflmgen.passes.pipeline import run_passes
from tflmgen.settings import parse_budget, parse_slowdown

HOST = Selector(Target("host"))
M4 = Selector(Target("cortex-m4", frozenset({"dsp"})))


def network() -> Module:
    """Three convolutions of images whose input and output are small, and the mean."""
    rng = np.random.default_rng(1)
    w = ModelWriter()
    g = w.subgraph("main")
    source, channels = g.tensor("x", "int8", [1, 24, 24, 2], scale=[0.1], zero_point=[0]), 2
    g.inputs = [source]
    for outputs in (16, 16, 4):
        scales = np.full(outputs, 0.01, np.float32)
        values = rng.integers(-127, 128, (outputs, 3, 3, channels))
        weights = g.constant(f"w{source}", values, "int8", scale=scales, zero_point=[0] * outputs, axis=0)
        bias = g.constant(f"b{source}", rng.integers(-99, 99, outputs), "int32", scale=scales * np.float32(0.1))
        result = g.tensor(f"y{source}", "int8", [1, 24, 24, outputs], scale=[0.1], zero_point=[0])
        g.operator("CONV_2D", [source, weights, bias], [result], {"stride_h": 1, "stride_w": 1})
        source, channels = result, outputs
    mean = g.tensor("mean", "int8", [1, 1, 1, 4], scale=[0.1], zero_point=[0])
    window = {"padding": 1, "stride_h": 1, "stride_w": 1, "filter_height": 24, "filter_width": 24}
    g.operator("AVERAGE_POOL_2D", [source], [mean], window)
    g.outputs = [mean]
    return run_passes(import_model(parse_model(w.finish(), "m.tflite")))


def filters(dense_layers: int = 0) -> Module:
    """A depthwise convolution of one output pixel, which cannot be streamed; then FULLY_CONNECTED layers."""
    w = ModelWriter()
    g = w.subgraph("main")
    source = g.tensor("x", "int8", [1, 11, 1, 32], scale=[0.1], zero_point=[0])
    g.inputs = [source]
    scales = np.full(32, 0.01, np.float32)
    values = np.random.default_rng(1).integers(-127, 128, (1, 11, 1, 32))
    weights = g.constant("w", values, "int8", scale=scales, zero_point=[0] * 32, axis=3)
    bias = g.constant("b", np.zeros(32), "int32", scale=scales * np.float32(0.1))
    result = g.tensor("y", "int8", [1, 1, 1, 32], scale=[0.1], zero_point=[0])
    window = {"padding": 1, "stride_h": 1, "stride_w": 1, "depth_multiplier": 1}
    g.operator("DEPTHWISE_CONV_2D", [source, weights, bias], [result], window)
    depth = 32
    for number in range(dense_layers):
        values = np.random.default_rng(number).integers(-127, 128, (128, depth))
        weights = g.constant(f"w{number}", values, "int8", scale=[0.01], zero_point=[0])
        dense = g.tensor(f"y{number}", "int8", [1, 128], scale=[0.1], zero_point=[0])
        g.operator("FULLY_CONNECTED", [result, weights, -1], [dense], {})
        result, depth = dense, 128
    g.outputs = [result]
    return run_passes(import_model(parse_model(w.finish(), "m.tflite")))


def streams(choice: TradeOff) -> int:
    nodes = choice.module.functions[0].body.nodes
    return sum(isinstance(node, Op) and node.operator == STREAM for node in nodes)


@pytest.mark.parametrize(
    ("text", "value"),
    [("20000", 20000), ("32K", 32768), ("32 kB", 32768), ("4KiB", 4096), ("1m", 1 << 20), (None, None)],
)
def test_budgets(text: str | None, value: int | None) -> None:
    assert parse_budget(text) == value


@pytest.mark.parametrize("text", ["", "0", "K", "-1", "32  K", "1.5K", "32KBs", "9" * 10])
def test_bad_budgets(text: str) -> None:
    with pytest.raises(UsageError, match="--ram-budget"):
        parse_budget(text)


@pytest.mark.parametrize(("text", "value"), [("10%", 0.1), ("2.5%", 0.025), ("0%", 0), (None, None)])
def test_slowdowns(text: str | None, value: float | None) -> None:
    assert parse_slowdown(text) == value


@pytest.mark.parametrize("text", ["", "10", "%", "-1%", "1e3%", "10 %", "99999%"])
def test_bad_slowdowns(text: str) -> None:
    with pytest.raises(UsageError, match=r"--max-slowdown .*: requires a percentage such as 10%"):
        parse_slowdown(text)


def test_the_packing_bound_counts_tensors_and_scratch_each_in_its_place() -> None:
    """The second convolution reads and writes images of 16 channels; a portable kernel has no scratch there."""
    assert packing_bound(network(), HOST.select(network())) == 2 * 24 * 24 * 16
    fastest, *_, smallest = pareto_front([filters()], M4)
    assert packing_bound(filters(), smallest.best.selection) < packing_bound(filters(), fastest.best.selection)
    assert fastest.bytes <= packing_bound(filters(), fastest.best.selection)


@pytest.mark.parametrize("network_of", [network, filters])
def test_a_slowdown_gives_the_smallest_plan_within_it(network_of: Callable[[], Module]) -> None:
    front = pareto_front([network_of()], M4)
    total = front[0].best.selection.cycles
    for slowdown in (0, 0.02, 0.2, 2):
        chosen = choose_plan([network_of()], M4, Optimize.BALANCED, slowdown=slowdown)
        assert chosen.cost <= total * slowdown
        within = [point for point in front if point.cost <= total * slowdown]
        assert chosen.bytes == within[-1].bytes


def test_balanced_trades_cycles_for_as_great_a_part_of_the_memory() -> None:
    selection = M4.select(filters())
    fastest = next(plans_by_speed(filters(), selection))
    balanced = best_candidate(filters(), selection)
    assert balanced.extra_cycles <= selection.cycles * TUNING.balanced_slowdown
    assert balanced.extra_cycles * fastest.bytes <= (fastest.bytes - balanced.bytes) * selection.cycles


def test_least_ram_has_streams() -> None:
    fastest, small = (choose_plan([network()], HOST, optimize, None) for optimize in (Optimize.SPEED, Optimize.RAM))
    assert streams(fastest) == 0 < streams(small)
    assert small.bytes < fastest.bytes


def test_a_budget_takes_no_more_streams_than_it_needs() -> None:
    fastest, small = (choose_plan([network()], HOST, optimize, None) for optimize in (Optimize.SPEED, Optimize.RAM))
    assert choose_plan([network()], HOST, Optimize.SPEED, fastest.bytes).cost == 0
    kept = choose_plan([network()], HOST, Optimize.SPEED, fastest.bytes - 1)
    assert kept.bytes < fastest.bytes
    assert 0 < kept.cost <= small.cost
    assert choose_plan([network()], HOST, Optimize.SPEED, small.bytes).bytes == small.bytes


def test_kernels_that_need_less_scratch_keep_to_a_budget() -> None:
    fastest, *slower = pareto_front([filters()], M4)
    assert slower
    assert streams(slower[-1]) == 0
    kept = choose_plan([filters()], M4, Optimize.SPEED, slower[-1].bytes)
    assert kept.bytes <= slower[-1].bytes < fastest.bytes
    assert kept.cost > fastest.cost == 0


@pytest.mark.parametrize("build", [network, filters])
def test_speed_is_the_fastest_plan_and_balanced_not_larger(build: Callable[[], Module]) -> None:
    front = pareto_front([build()], M4)
    speed, balanced = (choose_plan([build()], M4, optimize, None) for optimize in (Optimize.SPEED, Optimize.BALANCED))
    assert speed.cost == 0 == front[0].cost
    assert speed.bytes == front[0].bytes
    assert balanced.bytes <= speed.bytes
    assert balanced.cost >= speed.cost


def test_speed_and_balanced_differ_where_slower_kernels_save_enough() -> None:
    """Eight times the cycles of the layer save 80 of 432 bytes: worth it where the layer is little of the whole."""
    alone, among = filters(), filters(dense_layers=24)
    assert choose_plan([alone], M4, Optimize.BALANCED).cost == 0
    speed, balanced = (choose_plan([among], M4, optimize) for optimize in (Optimize.SPEED, Optimize.BALANCED))
    assert balanced.bytes < speed.bytes
    assert balanced.cost > speed.cost == 0


@pytest.mark.parametrize("build", [network, filters])
def test_each_point_of_the_curve_is_what_its_budget_gives(build: Callable[[], Module]) -> None:
    for point in pareto_front([build()], M4):
        chosen = choose_plan([build()], M4, Optimize.BALANCED, point.bytes)
        assert (chosen.bytes, chosen.cost) == (point.bytes, point.cost)


def test_a_budget_that_nothing_keeps_to() -> None:
    small = choose_plan([network()], HOST, Optimize.RAM, None)
    with pytest.raises(ModelError, match=rf"operator \d+ .*needs at least {small.bytes} bytes .* budget is 8"):
        choose_plan([network()], HOST, Optimize.SPEED, 8)


def test_the_curve_falls() -> None:
    front = pareto_front([network()], HOST)
    assert len(front) > 1
    assert [c.cost for c in front] == sorted(c.cost for c in front)
    assert [c.bytes for c in front] == sorted({c.bytes for c in front}, reverse=True)


def test_rows_that_begin_between_words_get_portable_kernels() -> None:
    """Word loads fault there on an Armv6-M."""
    module = network()
    ops = [node for node in module.functions[0].body.nodes if isinstance(node, Op)]
    kernels = RowKernels(module.constants, Target("cortex-m0"))
    operators = [operator for op in ops if (operator := kernels.operator(op)) is not None]
    assert operators
    for operator in operators:
        (choice,) = kernels.kernels(operator, 1, aligned=False, rank=0)
        assert choice is not None
        assert choice.kernel.variant == "portable"
