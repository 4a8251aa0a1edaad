"""Computes all contents of the report's template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tflmgen.backend import render
from tflmgen.hardware import Board
from tflmgen.report.advice import advice, binding
from tflmgen.report.arena_map import HEIGHT, arena_map
from tflmgen.report.box_picture import Detections, box_pictures
from tflmgen.report.flow_chart import flow_charts
from tflmgen.report.layer_texts import STREAM_COLUMNS, dead_rows, other_removals, set_rows, stream_tables
from tflmgen.report.memory import memory_bars
from tflmgen.report.occupancy import Occupancy
from tflmgen.report.palette import Palette
from tflmgen.report.score_plot import ScoreSeries, score_plots
from tflmgen.report.steps import Plan, PlanSteps, shape
from tflmgen.report.tables import layer_parts, operator_columns, operator_rows, stage_table, work_parts
from tflmgen.report.time_text import time_words
from tflmgen.report.timeline import LANE_HEIGHT, NAMES_HEIGHT, Timeline
from tflmgen.report.training import backward_pass
from tflmgen.terminal import count, readable, share


def report_html(
    plan: Plan,
    board: Board,
    firmware: Mapping[str, Any] | None = None,
    bench: Mapping[str, Any] | None = None,
    scores: Sequence[ScoreSeries] = (),
    detections: Sequence[Detections] = (),
) -> str:
    """HTML text of the report on a plan (schema/plan.json) for a board.

    firmware    sizes of the compiled firmware, as in plan.json; without it, the report covers the model only
    bench       output of `tflmgen bench --json` (schema/bench.json)
    scores      an application's scores on files of samples
    detections  a detector's boxes in pictures
    """
    steps, occupancy = PlanSteps(plan), Occupancy(plan)
    palette, timeline = Palette(steps), Timeline(steps, occupancy.bytes)
    return render(
        "report/report.html.j2",
        plan=plan,
        board=board,
        tiles=_tiles(plan, board, steps, firmware, bench),
        legend=palette.legend,
        timeline=timeline,
        **_arena(plan, steps, occupancy, palette, timeline),
        advice=advice(steps, occupancy),
        bars=memory_bars(plan, board, firmware),
        charts=flow_charts(steps, palette),
        **_operator_table(steps, palette, occupancy, bench),
        dead=list(dead_rows(steps)),
        others=other_removals(plan),
        streams=list(stream_tables(steps, palette)),
        stream_columns=STREAM_COLUMNS,
        **backward_pass(plan, steps),
        **_work(steps, palette, occupancy, bench),
        **score_plots(scores),
        **box_pictures(detections),
    )


def _arena(
    plan: Plan, steps: PlanSteps, occupancy: Occupancy, palette: Palette, timeline: Timeline
) -> dict[str, object]:
    peak, has_arena = plan["arena"]["peak_step"], plan["arena"]["bytes"] > 0
    return {
        "map": arena_map(steps, occupancy, timeline, palette) if has_arena else None,
        "map_height": HEIGHT,
        "lane_height": LANE_HEIGHT,
        "names_height": NAMES_HEIGHT,
        "columns": [_column(column) for column in timeline.columns],
        "peak_title": steps.title(peak),
        "binding": [_bound(buffer, steps) for buffer in binding(occupancy, peak)] if has_arena else [],
        "occupied": occupancy.peak,
    }


def _work(
    steps: PlanSteps, palette: Palette, occupancy: Occupancy, bench: Mapping[str, Any] | None
) -> dict[str, object]:
    return {
        "sets": set_rows(bench),
        **stage_table(steps, occupancy, bench),
        "layers": layer_parts(steps, palette),
        "work": work_parts(steps, palette, bench),
        "bench": bench,
    }


def _operator_table(
    steps: PlanSteps, palette: Palette, occupancy: Occupancy, bench: Mapping[str, Any] | None
) -> dict[str, object]:
    rows = list(operator_rows(steps, palette, occupancy.bytes, bench))
    return {"operator_columns": operator_columns(bench), "operator_rows": rows}


def _column(column: Any) -> dict[str, Any]:
    title = f"step {column.step['index']}: {column.title}"
    return {"x": round(column.x, 3), "w": round(column.width, 3), "t": title, "b": column.bytes}


def _bound(buffer: Mapping[str, Any], steps: PlanSteps) -> dict[str, Any]:
    types = {shape(t["type"]) for t in buffer["tensors"] if t["bytes"] + 3 >= buffer["bytes"]}
    label = sorted(types)[0] if types else "scratch" if not buffer["tensors"] else ""
    return {"name": steps.short(buffer["name"], 60), "full": buffer["name"], "bytes": buffer["bytes"], "what": label}


def _tiles(
    plan: Plan, board: Board, steps: PlanSteps, firmware: Mapping[str, Any] | None, bench: Mapping[str, Any] | None
) -> list[tuple[str, str, str, str]]:
    """(id, title, figure, note)"""
    arena, weights = plan["arena"], plan["weights"]["bytes"]
    ram, flash = (0, 0) if board.is_host else (board.ram_bytes, board.flash_bytes)
    operators = [s for s in plan["steps"] if s["kind"] == "operator"]
    optimal = arena["bytes"] == arena["lower_bound"]
    bound = "optimal for this order" if optimal else f"lower bound {readable(arena['lower_bound'])}"
    moved = sum(steps.moved.values())
    tiles = [
        ("arena", "Arena", readable(arena["bytes"]), _share_text(arena["bytes"], ram, "RAM", bound)),
        ("weights", "Weights", readable(weights), _weights_note(weights, flash)),
        ("macs", "MACs", _with_prefix(plan["macs"]["computed"]), _macs_note(plan, steps)),
        ("operators", "Operators", count(len(operators)), _control(steps)),
        ("copies", "Copies", readable(moved), "moved at boundaries"),
    ]
    if firmware is not None:
        image = firmware["text"] + firmware["data"]
        tiles.insert(
            2, ("image", "Firmware", readable(image), _share_text(image, flash, "flash", "code, weights, start-up"))
        )
    if time := time_words(plan):
        figure, _, at = time.partition(" at ")
        tiles.append(("time", "Time", figure, f"estimated, at {at}"))
    if bench is not None:
        total = bench["total"]["instructions"]
        tiles.append(("instructions", "Instructions", _with_prefix(total), _counted_note(total, bench["emulator"])))
    return tiles


def _share_text(size: int, limit: int, label: str, note: str) -> str:
    return f"{share(size, limit)} % of {label} · {note}" if limit else note


def _weights_note(weights: int, flash: int) -> str:
    return _share_text(weights, flash, "flash", f"{count(weights)} bytes") if weights else "the model has none"


def _counted_note(total: int, emulator: str) -> str:
    """The exact number, where the figure above is rounded, and who counted."""
    return f"in {emulator}" if _with_prefix(total) == str(total) else f"{count(total)} in {emulator}"


def _with_prefix(value: int) -> str:
    """A large number with about three digits and a unit prefix."""
    for unit, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return str(value)


def _macs_note(plan: Plan, steps: PlanSteps) -> str:
    computed, file = plan["macs"]["computed"], plan["macs"]["file"]
    if not file:
        return "no operator has any"
    if computed < file:
        return f"{share(computed, file)} % of the file's {_with_prefix(file)}: dead channels are left out"
    kinds = {(step["kind"], step.get("trips") is None) for step in steps.by_index.values()}
    words = ["every branch once"] if ("if", True) in kinds else []
    words += ["an iteration of each loop"] if ("while", True) in kinds else []
    return ", ".join(words) or "in each call"


def _control(steps: PlanSteps) -> str:
    kinds = [step["kind"] for step in steps.by_index.values()]
    words = [f"{kinds.count(kind)} {kind}" for kind in ("if", "while", "call") if kind in kinds]
    return ", ".join(words) or "no control flow"
