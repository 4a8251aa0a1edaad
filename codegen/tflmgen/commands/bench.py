"""tflmgen bench."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tflmgen.actions import (
    GENERATED,
    Invokes,
    PlannedModel,
    Supply,
    bench_attached,
    bench_inputs,
    bench_sets,
    check_countable,
    energy_json,
)
from tflmgen.commands.application_run import counted_series
from tflmgen.commands.bench_port import print_application, print_attached, print_flash
from tflmgen.commands.detections import detections_of
from tflmgen.commands.hop_table import print_hops
from tflmgen.commands.prepared_model import PreparedModel
from tflmgen.emulators import CycleModel, Cycles
from tflmgen.errors import UsageError
from tflmgen.hardware import Board, with_flash_of
from tflmgen.input_sets import Vectors, set_caption
from tflmgen.report import report_html
from tflmgen.terminal import Column, Console, Table, count
from tflmgen.user_files import write_whole

INVOKE = (
    Column("invoke"),
    Column("input set", min_width=16),
    Column("instructions", numeric=True),
    Column("cycles", numeric=True),
    Column("ms", numeric=True),
    Column("stack", numeric=True, priority=2),
)
OPERATORS = (
    Column("#", min_width=8),
    Column("operator", min_width=17),
    Column("outputs", priority=6, min_width=16),
    Column("variant", priority=4, min_width=8),
    Column("runs", numeric=True),
    Column("instructions", numeric=True),
    Column("%", numeric=True),
    Column("cycles", numeric=True),
    Column("computed MACs", numeric=True, priority=3),
    Column("per MAC", numeric=True, priority=2),
    Column("next best (cycles)", priority=5),
)

NOT_RUN = {
    "executions": 0,
    "instructions": None,
    "cycles_estimated": None,
    "macs": None,
    "instructions_per_mac": None,
}
"""Figures of an operator that an invoke did not execute."""


def bench_command(
    prepared: PreparedModel,
    inputs: Path | None,
    report_path: Path | None,
    supply: Supply | None,
    flash_of: str | None,
) -> None:
    """Counts one invoke per input set of `inputs`, or one with generated inputs.

    report_path  HTML page with the figures and the plan; supply: for an estimate of an application's energy
    flash_of     board whose flash the second estimate of cycles is for; None: the model's
    """
    prepared = replace(prepared, board=with_flash_of(prepared.board, flash_of))
    console, board, session = prepared.console, prepared.board, prepared.session
    check_countable(board)
    if report_path is not None and session.port is not None:
        raise UsageError("--report shows instructions, which an emulator counts: leave --port out")
    planned = prepared.planned_to_run(inputs)
    vectors = bench_inputs(planned, inputs, session)
    if session.port is not None:
        attached, place = bench_attached(planned, vectors, inputs is None, session, console)
        console.json(attached)
        print_attached(console, board, attached, place)
        return
    label = GENERATED if inputs is None else inputs.name
    figures, cycle_model, invokes = bench_sets(planned, vectors, label, session, console)
    if supply is not None:
        _add_energy(figures, supply)
    console.json(figures)
    _print(console, board, figures, cycle_model)
    if report_path is not None:
        write_whole(report_path, _page(planned, label, vectors, invokes, figures).encode())
        console.line(f"Wrote {report_path}.")


def _page(planned: PlannedModel, label: str, vectors: Vectors, invokes: Invokes, figures: Mapping[str, Any]) -> str:
    """The report with what was counted, and what the outputs show: an application's scores, a detector's boxes."""
    scores = counted_series(planned, label, vectors, invokes)
    detections = detections_of(planned.compilation.module.signatures, vectors.sets, invokes.results)
    return report_html(planned.plan, planned.board, bench=figures, scores=scores, detections=detections)


def _add_energy(figures: dict[str, Any], supply: Supply) -> None:
    """Raises UsageError where nothing is known of the time between calls, or of cycles."""
    application = figures["application"]
    if application is None or not application["duty"]:
        raise UsageError("--current needs an application with a period, and a core whose cycles are estimated")
    application["energy"] = energy_json(application, supply)


def _print(console: Console, board: Board, report: dict[str, Any], cycle_model: CycleModel) -> None:
    sets, worst = report["sets"], report["sets"][report["per_invoke"]["worst"]["set"]]
    of_worst = " of the worst invoke" if len(sets) > 1 else ""
    each = "hop" if report["slide"] else "invoke"
    title = f"{report['model']['path']} on {board.id} in {report['emulator']}, per {each}"
    console.table(Table(title, INVOKE, [(words, *_invoke(sets, k)) for words, k in _invokes(report)]))
    if len(sets) > 1:
        console.table(Table("Input sets", INVOKE[1:], [_invoke(sets, k) for k in range(len(sets))]))
    _print_operators(console, report, worst, of_worst)
    if report["total"]["cycles_estimated"] is not None:
        clock = f"{board.clock / 1_000_000:g} MHz"
        console.line(f"Cycles, and milliseconds at {clock}: estimated, no wait states.")
        if words := cycle_model.explain(Cycles(*worst["cycles_range"])):
            console.line(f"Cycles{of_worst}: {words}.")
    if worst["macs"]:
        console.line(f"Instructions per MAC{of_worst}: {_per_mac(worst)}.")
    if worst["control"]["instructions"]:
        console.line(
            f"{count(worst['control']['instructions'])} instructions are outside operators: control flow and copies."
        )
    if report["worst_path"] is not None:
        console.line(_worst_case_line(report["worst_path"]))
    memory = report["memory"]
    console.line(
        f"Stack {count(report['stack_bytes'])} bytes; arena {count(memory['arena_bytes'])}, static RAM "
        f"{count(memory['ram_bytes'])}; weights {count(memory['weights_bytes'])}, code {count(memory['code_bytes'])}, "
        f"flash {count(memory['flash_bytes'])}."
    )
    print_flash(console, report, _invokes(report))
    print_application(console, report)
    print_hops(console, report)
    for note in report["notes"]:
        console.line(f"note: {note}")


def _print_operators(console: Console, report: dict[str, Any], worst: dict[str, Any], of_worst: str) -> None:
    by_step = {operator["step"]: operator for operator in worst["operators"]}
    rows = [
        row
        for operator in report["operators"]
        for row in _rows(operator, by_step.get(operator["step"]), worst["instructions"])
    ]
    console.table(Table(f"Operators{of_worst}", OPERATORS, rows))
    if report["total"]["cycles_estimated"] is None:
        console.line("Cycles are not estimated: QEMU's plugin does it, on boards that QEMU emulates.")


def _invokes(report: dict[str, Any]) -> list[tuple[str, int]]:
    """Rows of the first table: caption and index of an input set."""
    if len(report["sets"]) == 1:
        return [("each", 0)]
    per_invoke = report["per_invoke"]
    return [("typical (median)", per_invoke["typical"]["set"]), ("worst", per_invoke["worst"]["set"])]


def _invoke(sets: list[dict[str, Any]], number: int) -> tuple[str, ...]:
    invoke = sets[number]
    return (
        set_caption(number, invoke["label"]) if len(sets) > 1 else invoke["label"],
        _count(invoke["instructions"]),
        _count(invoke["cycles_estimated"]),
        _milliseconds(invoke["milliseconds_estimated"]),
        count(invoke["stack_bytes"]),
    )


def _rows(operator: dict[str, Any], in_worst: dict[str, Any] | None, total: int) -> list[tuple[str, ...]]:
    """Row of an operator, followed by an indented row per stage of row streaming; a stage's runs are row calls."""
    stages = in_worst["stages"] if in_worst else [None] * len(operator["stages"])
    parts = [("", operator, in_worst), *(("  ", *pair) for pair in zip(operator["stages"], stages, strict=True))]
    return [_row(indent, described, figures or NOT_RUN, total) for indent, described, figures in parts]


def _row(indent: str, described: dict[str, Any], figures: dict[str, Any], total: int) -> tuple[str, ...]:
    return (
        f"{indent}{described['subgraph']}.{described['operator']}",
        indent + described["name"],
        " ".join(described["outputs"]),
        described["variant"],
        count(figures["executions"]),
        _count(figures["instructions"]),
        _share(figures["instructions"], total),
        _count(figures["cycles_estimated"]),
        count(figures["macs"]) if figures["macs"] else "",
        _decimal(figures["instructions_per_mac"]),
        _next_best(described.get("considered", [])),
    )


def _per_mac(invoke: dict[str, Any]) -> str:
    """Instructions per computed multiply-accumulate and, where channels were removed, per one of the file."""
    computed, of_file = invoke["macs"], invoke["macs_of_file"]
    words = f"{_decimal(invoke['instructions_per_mac'])} of the {count(computed)} computed"
    if of_file in (None, computed):
        return words
    return f"{words}, {_decimal(invoke['instructions_per_mac_of_file'])} of the {count(of_file)} in the file"


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:,.3f}"


def _count(value: int | None) -> str:
    return "" if value is None else count(value)


def _decimal(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _worst_case_line(path: dict[str, Any]) -> str:
    figures = [f"{count(path['instructions'])} instructions"] if path["instructions"] is not None else []
    if path["cycles_estimated"] is not None:
        figures += [f"{count(path['cycles_estimated'])} cycles", f"{_milliseconds(path['milliseconds_estimated'])} ms"]
    title = "Worst-case path through If and While:"
    if figures:
        return f"{title} {', '.join(figures)}; operators only, without control flow and copies."
    if path["unbounded_loops"]:
        return f"{title} unknown; set --max-iterations for {', '.join(path['unbounded_loops'])}."
    return f"{title} unknown; no input set (--inputs) reaches {', '.join(path['unknown_operators'])}."


def _next_best(considered: list[dict[str, Any]]) -> str:
    return f"{considered[0]['variant']} {count(considered[0]['cycles'])}" if considered else ""


def _share(part: int | None, total: int) -> str:
    return f"{100 * part / total:.1f}" if part is not None and total else ""
