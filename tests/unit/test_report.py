"""The report's computations, on random programs: what it draws fits the plan, and nothing from a model escapes."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.commands import tflmgen, write_adder, write_two_signatures
from support.model_writer import ModelWriter
from support.random_chain import random_chain
from support.random_program import Seeded, random_program
from support.repository import ROOT
from tflmgen.hardware.board import HOST, load_board
from tflmgen.options import BuildOptions, Optimize
from tflmgen.project.firmware_build import plan_for
from tflmgen.report import report_html
from tflmgen.report.advice import advice
from tflmgen.report.arena_map import arena_map
from tflmgen.report.flow_chart import Card, ChartFrame, _tracks, flow_charts
from tflmgen.report.layer_texts import STREAM_COLUMNS, quantization_text, set_rows, stream_tables, window_text
from tflmgen.report.memory import memory_bars
from tflmgen.report.occupancy import Occupancy
from tflmgen.report.page import _tiles
from tflmgen.report.palette import Palette
from tflmgen.report.steps import TIMES, PlanSteps, fitting, shape, shapes, telling_ends
from tflmgen.report.tables import layer_parts, work_parts
from tflmgen.report.timeline import Timeline
from tflmgen.terminal.units import readable, share

GATE = ROOT / "examples" / "gate.tflite"
SEEDS = range(25)
FIRMWARE: dict[str, Any] = {"text": 9000, "data": 76, "bss": 1124, "code_bytes": 3000, "stack_worst_case": 276}


def plan_of(model: Path) -> dict[str, Any]:
    return plan_for(model, HOST, BuildOptions()).plan


def random_plan(folder: Path, seed: int) -> dict[str, Any]:
    model = folder / f"m{seed}.tflite"
    model.write_bytes(random_program(Seeded(seed)))
    return plan_of(model)


def bytes_in_use(plan: dict[str, Any], step: int, without: int | None = None) -> int:
    """By brute force, one byte at a time."""
    taken: set[int] = set()
    for number, b in enumerate(x for x in plan["buffers"] if x["memory"] == "arena"):
        if number != without and any(first <= step <= last for first, last in b["ranges"]):
            taken |= set(range(b["offset"], b["offset"] + b["bytes"]))
    return len(taken)


@pytest.mark.parametrize("seed", SEEDS)
def test_occupancy_counts_bytes(tmp_path: Path, seed: int) -> None:
    plan = random_plan(tmp_path, seed)
    occupancy = Occupancy(plan)
    assert occupancy.bytes == [bytes_in_use(plan, step) for step in range(len(plan["steps"]))]
    assert occupancy.peak <= plan["arena"]["bytes"]
    for number in occupancy.live[plan["arena"]["peak_step"]]:
        expected = [size - (size - bytes_in_use(plan, step, number)) // 2 for step, size in enumerate(occupancy.bytes)]
        assert occupancy.peak_with_half(number) == max(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_map_shows_every_tensor_within_its_bounds(tmp_path: Path, seed: int) -> None:
    plan = random_plan(tmp_path, seed)
    steps, occupancy = PlanSteps(plan), Occupancy(plan)
    timeline, palette = Timeline(steps, occupancy.bytes), Palette(steps)
    columns = timeline.columns
    assert columns[0].x == 0
    assert columns[-1].end == pytest.approx(100)
    assert all(column.end == pytest.approx(other.x) for column, other in pairwise(columns))
    drawn = arena_map(steps, occupancy, timeline, palette)
    slack = 1e-6
    assert all(b.x >= 0 and b.x + b.width <= 100 + slack and b.y >= -slack for b in drawn.blocks)
    assert all(b.y + b.height <= 100 + slack for b in drawn.blocks)
    homes = [b for b in drawn.blocks if b.style == "home"]
    tensors = [b for b in drawn.blocks if b.style != "home" and "scratch" not in b.style]
    arena = [b for b in plan["buffers"] if b["memory"] == "arena"]
    assert len(homes) == sum(len(b["ranges"]) for b in arena if b["tensors"])
    assert len(tensors) == sum(len(t["ranges"]) for b in arena for t in b["tensors"])


def test_figures_of_one_operator_say_what_is_not_there(tmp_path: Path) -> None:
    """No share of nothing, and no number twice: a sum has neither weights nor products."""
    plan = plan_of(write_adder(tmp_path / "adder.tflite"))
    bench = {"total": {"instructions": 632}, "emulator": "QEMU"}
    tiles = {name: (figure, note) for name, _, figure, note in _tiles(plan, HOST, PlanSteps(plan), None, bench)}
    assert tiles["weights"] == ("0 B", "the model has none")
    assert tiles["macs"] == ("0", "no operator has any")
    assert tiles["instructions"] == ("632", "in QEMU")
    many = _tiles(plan, HOST, PlanSteps(plan), None, {"total": {"instructions": 63254}, "emulator": "QEMU"})
    assert many[-1][2:] == ("63.3 k", "63,254 in QEMU")


def test_labels_stand_where_their_blocks_are_free(tmp_path: Path) -> None:
    """One input is written over by the sum in the last step of its life; the other is whole until its end."""
    plan = plan_of(write_adder(tmp_path / "adder.tflite"))
    steps, occupancy = PlanSteps(plan), Occupancy(plan)
    drawn = arena_map(steps, occupancy, Timeline(steps, occupancy.bytes), Palette(steps))
    blocks = {block.label: block for block in drawn.blocks if block.label}
    assert set(blocks) == {"left", "right", "ADD"}
    for block in blocks.values():
        others = [b for b in drawn.blocks if b is not block and b.style != "home" and b.y == block.y and b.x > block.x]
        free = min([block.x + block.width, *(b.x for b in others)]) - block.x
        assert block.label_width == pytest.approx(free)


@pytest.mark.parametrize("seed", SEEDS)
def test_lanes_cover_what_they_stand_for(tmp_path: Path, seed: int) -> None:
    plan = random_plan(tmp_path, seed)
    steps = PlanSteps(plan)
    timeline = Timeline(steps, Occupancy(plan).bytes)
    kinds = [step["kind"] for step in plan["steps"]]
    lanes = timeline.lanes
    assert [lane.kind for lane in lanes].count("then") == kinds.count("if")
    assert [lane.kind for lane in lanes].count("body") == kinds.count("while")
    assert [lane.kind for lane in lanes].count("function") == kinds.count("entry")
    for depth in range(timeline.depth):
        level = sorted((lane.x, lane.x + lane.width) for lane in lanes if lane.depth == depth)
        assert all(lane[1] <= other[0] + 1e-6 for lane, other in pairwise(level))


def corners(box: Card | ChartFrame) -> tuple[float, float, float, float]:
    return box.x, box.y, box.x + box.width, box.y + box.height


@pytest.mark.parametrize("seed", SEEDS)
def test_boxes_of_the_chart_do_not_overlap(tmp_path: Path, seed: int) -> None:
    steps = PlanSteps(random_plan(tmp_path, seed))
    operators = [i for i, step in steps.by_index.items() if step["kind"] == "operator"]
    charts = flow_charts(steps, Palette(steps))
    assert sorted(c.step for chart in charts for c in chart.drawing.cards if c.step in operators) == operators
    for chart in charts:
        boxes = [corners(card) for card in chart.drawing.cards]
        for left, top, right, bottom in boxes:
            assert left >= 0
            assert top >= 0
            assert right <= chart.drawing.width
            assert bottom <= chart.drawing.height
        for i, (left, top, right, bottom) in enumerate(boxes):
            for a, b, c, d in boxes[:i]:
                assert right <= a or c <= left or bottom <= b or d <= top
        for frame in map(corners, chart.drawing.frames):
            for box in boxes:
                disjoint = box[2] <= frame[0] or frame[2] <= box[0] or box[3] <= frame[1] or frame[3] <= box[1]
                inside = box[0] >= frame[0] and box[1] >= frame[1] and box[2] <= frame[2] and box[3] <= frame[3]
                assert disjoint or inside


def test_arcs_that_overlap_have_different_tracks() -> None:
    arcs = [(0, 2), (1, 4), (0, 9), (3, 5), (5, 8), (6, 8)]
    tracks = _tracks(arcs)
    for arc in arcs:
        for other in arcs:
            if arc != other and arc[0] < other[1] and other[0] < arc[1]:
                assert tracks[arc] != tracks[other]
    assert tracks[0, 2] == tracks[3, 5] == tracks[6, 8] == 0


def test_names_can_be_told_apart() -> None:
    relus = ["model/act_1/Relu;model/conv/BiasAdd", "model/act_2/Relu;model/conv_1/BiasAdd"]
    ends = telling_ends([*relus, "model/dense/MatMul;x:0", "a/b/Relu;c", "a/b/Relu;d", "softmax:0", ""])
    assert [ends[name] for name in relus] == ["act_1/Relu", "act_2/Relu"]
    assert ends["model/dense/MatMul;x:0"] == "MatMul"
    assert ends["a/b/Relu;c"] == "a/b/Relu;c"
    assert ends["softmax:0"] == "softmax"
    assert len(set(ends.values())) == len(ends)


def test_windows_and_quantisation_in_words() -> None:
    window = {"size": [3, 5], "stride": [2, 2], "dilation": [1, 2], "padding": "SAME"}
    assert window_text({"window": window}) == f"3{TIMES}5, stride 2, dilation 1{TIMES}2, SAME"
    tensor = {"dtype": "int8", "scale": 0.5, "zero_point": -3, "scales": 1}
    each = {"dtype": "int8", "scale": None, "zero_point": 0, "scales": 16}
    quantization = {"input": tensor, "weights": each, "output": {**tensor, "zero_point": 0}}
    assert quantization_text({"quantization": quantization}) == "in 0.5 (-3), weights 16 scales, out 0.5"
    assert window_text({}) == quantization_text({}) == ""


def test_streams_are_opened_up(tmp_path: Path) -> None:
    model = tmp_path / "chain.tflite"
    model.write_bytes(random_chain(5))
    plan = plan_for(model, HOST, BuildOptions(optimize=Optimize.RAM)).plan
    stages = [step["stages"] for step in plan["steps"] if "stages" in step]
    tables = list(stream_tables(PlanSteps(plan), Palette(PlanSteps(plan))))
    assert len(tables) == len(stages) > 0
    for table, inside in zip(tables, stages, strict=True):
        assert [row[1] for row in table.rows] == [stage["name"] for stage in inside]
        assert all(len(row) == len(STREAM_COLUMNS) for row in table.rows)
        assert [stage["line_bytes"] > 0 for stage in inside] == [True] * (len(inside) - 1) + [False]
        assert sum(stage["weights_bytes"] for stage in inside) > 0
    scratch = [b["bytes"] for b in plan["buffers"] if not b["tensors"]]
    assert max(stage["line_bytes"] for inside in stages for stage in inside) <= max(scratch)


def test_a_bar_of_megabytes_shows_its_beginning() -> None:
    board = load_board("mps2_an386")
    plan = plan_for(GATE, board, BuildOptions()).plan
    for bar in memory_bars(plan, board, None):
        assert bar.is_cut
        assert 25 < sum(part.percent for part in bar.parts) <= 100
        assert bar.scale.startswith("the bar shows the first ")
    whole, *_ = memory_bars(plan, load_board("microbit"), FIRMWARE)
    assert not whole.is_cut
    assert whole.scale == ""


def test_sets_have_a_row_each() -> None:
    sets = [{"label": "a", "instructions": 1234, "cycles_estimated": None, "stack_bytes": 80}]
    assert set_rows({"sets": sets}) == [("0", "a", "1,234", "", "80")]
    assert set_rows(None) == []


def test_what_would_shrink_the_example() -> None:
    plan = plan_for(GATE, load_board("mps2_an386"), BuildOptions()).plan
    sentences = " ".join(advice(PlanSteps(plan), Occupancy(plan)))
    largest = max((b for b in plan["buffers"] if b["tensors"]), key=lambda b: b["bytes"])
    assert f"'{largest['name']}' ({largest['bytes']:,} bytes)" in sentences
    assert f"instead of {plan['arena']['bytes']:,}" in sentences
    assert "--optimize size" in sentences
    small = plan_for(GATE, HOST, BuildOptions(optimize=Optimize.SIZE)).plan
    assert "--optimize size" not in " ".join(advice(PlanSteps(small), Occupancy(small)))


def test_a_large_input_may_come_row_by_row(tmp_path: Path) -> None:
    writer = ModelWriter()
    graph = writer.subgraph("main")
    image = graph.tensor("image", "float32", [1, 32, 32, 3])
    small = graph.tensor("small", "float32", [1, 1, 1, 3])
    window = {"padding": 1, "stride_w": 32, "stride_h": 32, "filter_width": 32, "filter_height": 32}
    graph.operator("AVERAGE_POOL_2D", [image], [small], options=window)
    graph.inputs, graph.outputs = [image], [small]
    (tmp_path / "pool.tflite").write_bytes(writer.finish())
    plan = plan_of(tmp_path / "pool.tflite")
    assert "--push-rows image" in " ".join(advice(PlanSteps(plan), Occupancy(plan)))
    plan = plan_of(write_adder(tmp_path / "adder.tflite"))
    assert "--push-rows" not in " ".join(advice(PlanSteps(plan), Occupancy(plan)))


def test_weights_and_memory_add_up() -> None:
    board = load_board("microbit")
    plan = plan_for(GATE, board, BuildOptions()).plan
    steps = PlanSteps(plan)
    assert sum(part.amount for part in layer_parts(steps, Palette(steps))) == plan["weights"]["bytes"]
    macs = sum(step["macs"] for step in plan["steps"] if step["kind"] == "operator")
    assert sum(part.amount for part in work_parts(steps, Palette(steps), None)) == macs
    ram, flash = memory_bars(plan, board, FIRMWARE)
    assert (ram.used, ram.total) == (76 + 1124 + 276, board.ram_bytes)
    assert (flash.used, flash.total) == (9076, board.flash_bytes)
    assert ram.title == "RAM"
    assert ram.parts[0].percent == pytest.approx(100 * plan["arena"]["bytes"] / board.ram_bytes)


def test_each_memory_has_its_bar() -> None:
    board = load_board("disco_f407vg")
    moved = replace(board, placement=tuple({**dict(board.placement), "arena": "CCM"}.items()))
    plan = plan_for(GATE, board, BuildOptions()).plan
    bars = {bar.title: bar for bar in memory_bars(plan, moved, FIRMWARE | {"stack_worst_case": None})}
    assert bars["RAM CCM"].used == plan["arena"]["bytes"]
    assert bars["RAM SRAM"].used == 1200 - plan["arena"]["bytes"]
    assert bars["Flash"].used == 9076
    assert [bar.total for bar in memory_bars(plan, HOST, None)] == [0, 0]


def test_nothing_from_a_model_becomes_markup(tmp_path: Path) -> None:
    model = write_adder(tmp_path / "adder.tflite")
    data = model.read_bytes()
    model.write_bytes(data.replace(b"left", b"<b>&").replace(b"sum", b"</s"))
    page = report_html(plan_of(model), HOST)
    assert "<b>&" not in page
    assert "&lt;b&gt;&amp;" in page
    assert page.count("</script>") == page.count("<script")


def test_the_page_needs_no_network(tmp_path: Path) -> None:
    for model in (GATE, write_two_signatures(tmp_path / "two.tflite")):
        page = report_html(plan_of(model), HOST)
        assert not re.search(r"""(?:src|href)\s*=|https?:|@import|url\((?!#)""", page)


def test_inspect_writes_a_report_where_asked(tmp_path: Path) -> None:
    page = tmp_path / "gate.html"
    done = tflmgen("inspect", GATE, "--report", page)
    assert done.code == 0
    assert f"Wrote {page}." in done.out
    assert "<h1>gate.tflite</h1>" in page.read_text(encoding="utf-8")
    done = tflmgen("inspect", GATE, "--report", tmp_path / "missing" / "gate.html")
    assert done.code == 1
    assert "cannot be written: there is no folder" in done.err


def test_the_project_has_a_report(tmp_path: Path) -> None:
    done = tflmgen("build", GATE, "--board", "microbit", "--no-compile", "-o", tmp_path / "fw")
    assert done.code == 0
    page = (tmp_path / "fw" / "report.html").read_text(encoding="utf-8")
    assert "of 16 kB" in page


def test_a_model_of_constants_has_a_report() -> None:
    plan = {**plan_of(GATE), "buffers": [], "copies": []}
    plan["arena"] = {"bytes": 0, "packing_bound": 0, "lower_bound": 0, "peak_step": 0}
    assert "every result is a constant" in report_html(plan, HOST)


def test_words() -> None:
    times = "\N{MULTIPLICATION SIGN}"
    assert shape("int8[1,25]") == f"int8 1{times}25"
    assert shape("int32[]") == "int32"
    assert shapes(["int8[2]", "int8[2]", "bool[]"]) == "2 of int8 2, bool"
    assert fitting("abcdef", 4) == "abc…"
    assert [readable(n) for n in (0, 999, 1000, 2048, 9744, 4 << 20)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "2 kB",
        "9.5 kB",
        "4,096 kB",
    ]
    assert [share(1, 0), share(1, 5000), share(0, 5), share(1, 8)] == ["-", "<0.1", "0.0", "12.5"]
