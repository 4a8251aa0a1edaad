"""tflmgen quantize."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tflmgen.api import Costs, board_of, measured_costs, quantize_to
from tflmgen.options import BuildOptions, OutputOptions, QuantizedIo, QuantizeOptions, SourceOptions
from tflmgen.project import check_writable, write_whole
from tflmgen.quantize import CORE, QuantizedFile, WebSummary, quantize_file, summarize_webs
from tflmgen.report import quantization_html
from tflmgen.terminal import Column, Console, Table, count

OUTPUTS = (
    Column("output", min_width=16),
    Column("largest error", numeric=True),
    Column("SQNR dB", numeric=True),
    Column("same largest element", numeric=True),
)
COSTS = (Column("", min_width=12), Column("float", numeric=True), Column("quantised", numeric=True))
IN_FLOAT = (Column("#"), Column("operator", min_width=12), Column("why it stays in float", min_width=30, wraps=True))


def quantize_command(
    model: Path,
    calibration: Path,
    target: Path | None,
    choices: QuantizeOptions,
    signature: str | None,
    source: SourceOptions,
    output: OutputOptions,
) -> None:
    """Writes the quantised model to `target`, by default MODEL-int8.tflite, and prints its errors."""
    console = Console(output)
    path = target or Path(f"{model.stem}-{choices.activations.value}.tflite")
    for written in (path, choices.report):
        if written is not None:
            check_writable(written)
    board = board_of(choices.board)
    with console.progress(f"Quantising {model.name}") as progress:
        result = quantize_file(model, calibration, choices, signature, progress, source)
    write_whole(path, result.quantized.data)
    before = model.stat().st_size
    costs = measured_costs(model, path, board, result.data.held_out, source, console) if board else None
    contents = {"model": model.name, "output": str(path), "bytes": [before, path.stat().st_size], **_json(result)}
    contents["board"] = costs
    contents["warnings"] += list(_slower(costs, choices.io))
    if choices.report is not None:
        write_whole(choices.report, quantization_html(contents).encode())
    console.json(contents)
    _print(console, model, result, costs, choices.io)
    console.line(f"Wrote {path}: {count(path.stat().st_size)} bytes, {count(before)} before.")
    if choices.report is not None:
        console.line(f"Wrote {choices.report}.")


def _print(console: Console, model: Path, result: QuantizedFile, costs: Costs | None, io: QuantizedIo) -> None:
    measured, total = len(result.data.held_out.sets), len(result.data.everything.sets)
    title = f"{model.name} on {measured} of {total} calibration sets"
    console.table(Table(title, OUTPUTS, _rows(result)))
    notes = result.quantized.assignment.notes
    if notes:
        rows = [(f"{note.subgraph}.{note.operator}", note.name, note.reason) for note in notes]
        console.table(Table("Operators in float", IN_FLOAT, rows))
    for line in _lines(result):
        console.line(line)
    if costs is not None:
        console.table(Table(f"Before and after on {costs['id']}", COSTS, _cost_rows(costs)))
    for line in _slower(costs, io):
        console.line(f"warning: {line}")


def quantize_first(
    model: Path, options: BuildOptions, output: OutputOptions, compiles: bool = True
) -> tuple[Path, BuildOptions]:
    """Quantises for a command that goes on with the file: its path, and the options without those of its source.

    compiles  the command compiles the file: see quantize_to()
    """
    console = Console(output)
    path, result = quantize_to(Path(), model, options, console, compiles)
    for line in _lines(result):
        console.line(line)
    console.line(f"Wrote {path}.")
    return path, replace(options, quantize=None, shape=None, constant=None, nhwc_inputs=False)


def _cost_rows(costs: Costs) -> list[tuple[str, ...]]:
    titles = {"flash": "flash, bytes", "ram": "RAM, bytes", "instructions": "instructions"}
    measured = [(title, costs["before"][key], costs["after"][key]) for key, title in titles.items()]
    return [(title, count(own), count(other)) for title, own, other in measured if own is not None]


def _slower(costs: Costs | None, io: QuantizedIo) -> Iterator[str]:
    """A model that spends its time on conversions, or on few scalar operators of a core with an FPU, loses by int8."""
    if costs is None:
        return
    own, quantized = costs["before"]["instructions"], costs["after"]["instructions"]
    if own is not None and quantized > own:
        advice = ", or leave out its conversions by --io int8" if io is QuantizedIo.FLOAT else ""
        yield f"the quantised model takes {quantized / own:.1f} times the instructions. Keep it in float32{advice}"


def _rows(result: QuantizedFile) -> list[tuple[str, ...]]:
    return [
        (
            error.output,
            f"{error.max_abs:.4g}",
            "exact" if math.isinf(error.sqnr_db) and error.max_abs == 0 else f"{error.sqnr_db:.1f}",
            "" if error.agreement is None else f"{error.agreement:.1%}",
        )
        for error in result.evaluation.outputs
    ]


def _lines(result: QuantizedFile) -> Iterator[str]:
    forms, fused = result.quantized.assignment.forms, result.quantized.fused
    types = Counter(form.dtype.label for (graph, _), form in forms.items() if graph not in fused)
    if result.quantized.assignment.notes:
        types["float32"] = len(result.quantized.assignment.notes)
    listed = ", ".join(f"{number} in {label}" for label, number in sorted(types.items()))
    yield f"Operators on real numbers: {listed or 'none'}."
    yield f"Ranges by {result.method.value}, of all samples: test with others."
    others = [trial.measure for trial in result.trials if trial.is_used and not trial.is_range_method]
    if others:
        yield f"Less noise on held-out sets by: {', '.join(others)}."
    if result.evaluation.decisions:
        differing = sum(decision.differing for decision in result.evaluation.decisions)
        total = sum(decision.total for decision in result.evaluation.decisions)
        yield f"Branches and trip counts that differ from float: {count(differing)} of {count(total)}."
    for name, number in sorted(result.quantized.conversions.items()):
        kind = "to float" if name.startswith("D") else "to integers"
        yield f"Conversions {kind} in branches, loops and calls: {number} {name}."
    for body, reason in sorted(result.lstm.items()):
        yield f"The loop of subgraph {body} has an LSTM cell{_lstm_line(result, body, reason)}"
    for cost in result.costs:
        cycles = f"{count(cost.cycles)} cycles on {CORE} without those on float32"
        yield f"Estimated, {cost.types}: {cycles}, {count(cost.bytes)} bytes."
    for warning in _warnings(result):
        yield f"warning: {warning}"


def _lstm_line(result: QuantizedFile, body: int, reason: str) -> str:
    if body in result.quantized.stateful:
        return ": it is UNIDIRECTIONAL_SEQUENCE_LSTM now, whose state persists as the layer's does."
    if body in result.quantized.fused:
        if not result.keeps_state:
            return ": it is one operator now, whose state is zero at the start of each invoke."
        return ": it is UNIDIRECTIONAL_SEQUENCE_LSTM now. Its state persists: reset it before each invoke."
    if reason:
        return f" but stays a loop: {reason}."
    return " and stays a loop. --fuse-lstm makes one operator of it, with a state to reset before each invoke."


def _warnings(result: QuantizedFile) -> Iterator[str]:
    yield from result.data.warnings
    if count := len(result.calibration.not_finite):
        yield f"{count} tensors have infinite or undefined values, which ranges leave out"
    for unreached in result.calibration.unreached:
        floats = [n.name for n in result.quantized.assignment.notes if n.subgraph == unreached.subgraph]
        operators = f"but {', '.join(sorted(set(floats)))} in float" if floats else "none in float"
        analysed = any(graph == unreached.subgraph for graph, _ in result.quantized.assignment.forms)
        consequence = (
            f"its ranges follow from those of its inputs ({operators})" if analysed else "its operators stay in float"
        )
        yield f"{unreached}, so that {consequence}. Add samples that reach it"
    if result.types is not None and not result.types.is_within:
        agreement = min(result.evaluation.agreement, result.evaluation.branch_agreement)
        yield f"no types reach the agreement of 99 % that auto aims at; these reach {agreement:.1%}"


def _json(result: QuantizedFile) -> dict[str, Any]:
    assignment = result.quantized.assignment
    return {
        "samples": result.calibration.samples,
        "held_out": len(result.data.held_out.sets),
        "ranges": result.method.value,
        "measures": [
            {"measure": trial.measure, "sqnr_db": _finite(trial.evaluation.sqnr_db), "used": trial.is_used}
            for trial in result.trials
        ],
        "evaluation": _evaluation(result),
        "webs": [_web(web) for web in summarize_webs(result.quantized, result.calibration)],
        "operators": [
            {"subgraph": key[0], "operator": key[1], "type": form.dtype.label}
            for key, form in sorted(assignment.forms.items())
        ],
        "in_float": [
            {"subgraph": note.subgraph, "operator": note.operator, "name": note.name, "reason": note.reason}
            for note in assignment.notes
        ],
        "conversions": [
            {"name": name, "count": number} for name, number in sorted(result.quantized.conversions.items())
        ],
        "lstm_loops": [
            {"body": body, "fused": body in result.quantized.fused, "reason": reason}
            for body, reason in sorted(result.lstm.items())
        ],
        "wider_webs": [
            {"subgraph": key[0], "tensor": key[1], "type": dtype.label}
            for key, dtype in sorted((result.types.wanted if result.types else {}).items())
        ],
        "estimates": [{"types": c.types, "cycles": c.cycles, "bytes": c.bytes} for c in result.costs],
        "warnings": list(_warnings(result)),
    }


def _web(web: WebSummary) -> dict[str, Any]:
    return {
        "subgraph": web.root[0],
        "tensor": web.root[1],
        "name": web.name,
        "tensors": web.tensors,
        "type": web.dtype.label,
        "minimum": web.minimum,
        "maximum": web.maximum,
        "scale": web.scale,
        "zero_point": web.zero_point,
        "low": web.low,
        "high": web.high,
        "sqnr_db": web.sqnr_db,
        "clipped": web.clipped,
        "histogram": list(web.histogram),
    }


def _evaluation(result: QuantizedFile) -> dict[str, Any]:
    evaluation, graphs = result.evaluation, result.quantized.source.subgraphs
    names = {(graph.index, op.index): op.name for graph in graphs for op in graph.operators}
    return {
        "branch_agreement": evaluation.branch_agreement,
        "decisions": [
            {
                "subgraph": decision.operator[0],
                "operator": decision.operator[1],
                "name": names[decision.operator],
                "differing": decision.differing,
                "total": decision.total,
            }
            for decision in evaluation.decisions
        ],
        "outputs": [
            {
                "signature": error.signature,
                "output": error.output,
                "max_error": _finite(error.max_abs),
                "sqnr_db": _finite(error.sqnr_db),
                "agreement": error.agreement,
            }
            for error in evaluation.outputs
        ],
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
