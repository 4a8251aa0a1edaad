"""tflmgen quantize."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tflmgen.actions import operators_in_float, quantization_warnings
from tflmgen.api import quantize_to
from tflmgen.applications import is_application
from tflmgen.commands.quantization_results import quantization_json, quantization_lines
from tflmgen.emulators import check_session_options, run_sets, running
from tflmgen.errors import UsageError
from tflmgen.frontend.onnx import file_of_source, stem_of_source
from tflmgen.frontend.tflite import write_model
from tflmgen.hardware import Board, load_board
from tflmgen.input_sets import Vectors
from tflmgen.options import BuildOptions, OutputOptions, QuantizedIo, QuantizeOptions, SessionOptions, SourceOptions
from tflmgen.project import compile_for, require_compiler
from tflmgen.quantize import Evaluation, QuantizedFile, quantize_file, with_types
from tflmgen.report import quantization_html
from tflmgen.sources import is_tflite, read_source
from tflmgen.terminal import Column, Console, Table, count
from tflmgen.user_files import check_writable, write_whole

Costs = dict[str, Any]

_COUNTED_SETS = 8
"""Input sets whose instructions are averaged: branches and trip counts depend on the input."""


def board_of(name: str | None) -> Board | None:
    """The board to measure on; its compiler must be installed."""
    if name is None:
        return None
    board = load_board(name)
    check_session_options(board, SessionOptions())
    require_compiler(board)
    return board


def measured_costs(
    before: Path, after: Path, board: Board, held_out: Vectors, source: SourceOptions, console: Console
) -> Costs:
    """Costs of both files on the board, instructions on average over the first sets; `source` is for `before`."""
    read = BuildOptions(shape=source.shape, constant=source.constant, nhwc_inputs=source.nhwc_inputs)
    own, emulator = _costs(before, read, board, held_out, console)
    quantized, _ = _costs(after, BuildOptions(), board, held_out, console)
    return {"id": board.id, "emulator": emulator, "before": own, "after": quantized}


def _costs(model: Path, options: BuildOptions, board: Board, held_out: Vectors, console: Console) -> tuple[Costs, str]:
    compilation = compile_for(model, board, options)
    plan, signatures = compilation.plan, compilation.module.signatures
    sets = [with_types(s, signatures[s.signature]) for s in held_out.sets[:_COUNTED_SETS]]
    with running(compilation, board, options, SessionOptions(), console, count=not board.is_host) as run:
        results = run_sets(run.session, signatures, sets, held_out.stateful)
        firmware, emulator = run.firmware, run.session.emulator
    flash = firmware.text + firmware.data if firmware else plan["weights"]["bytes"]
    ram = plan["arena"]["bytes"] + compilation.program.state_bytes
    counts = [result.invocation.instructions for result in results]
    known = [count for count in counts if count is not None]
    return {"flash": flash, "ram": ram, "instructions": round(sum(known) / len(known)) if known else None}, emulator


OUTPUTS = (
    Column("output", min_width=16),
    Column("largest error", numeric=True),
    Column("deviation", numeric=True),
    Column("about mean", numeric=True),
    Column("worst", numeric=True),
    Column("SQNR dB", numeric=True),
    Column("same", numeric=True),
)
"""Columns: standard deviation of the float output; decibels about the mean of all elements and of the worst one; the
signal with its mean; share of rows with the same largest element, or of integers that are the same."""

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
    check_model(model)
    path = target or Path(f"{stem_of_source(model)}-{choices.activations.value}.tflite")
    check_writable(path, file_of_source(model), calibration)
    board = board_of(choices.board)
    with console.progress(f"Quantising {model.name}") as progress:
        result = quantize_file(model, calibration, choices, signature, progress, source)
    console.refuse_warnings([*quantization_warnings(result), *operators_in_float(result)])
    write_whole(path, result.quantized.data)
    before = model.stat().st_size if is_tflite(model) else len(write_model(read_source(model, source)))
    costs = measured_costs(model, path, board, result.data.held_out, source, console) if board else None
    contents: dict[str, Any] = {"model": model.name, "output": str(path), "bytes": [before, path.stat().st_size]}
    contents |= {**quantization_json(result), "board": costs}
    contents["warnings"] += list(_warnings(result, costs, choices.io))
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
    console.table(Table(title, OUTPUTS, error_rows(result.evaluation)))
    notes = result.quantized.assignment.notes
    if notes:
        rows = [(f"{note.subgraph}.{note.operator}", note.name, note.reason) for note in notes]
        console.table(Table("Operators in float", IN_FLOAT, rows))
    for line in quantization_lines(result):
        console.line(line)
    if costs is not None:
        console.table(Table(f"Before and after on {costs['id']}", COSTS, cost_rows(costs)))
    if result.proof is not None:
        console.line(f"{result.proof.text}.")
    console.warnings([*quantization_warnings(result), *_warnings(result, costs, io)])


def _warnings(result: QuantizedFile, costs: Costs | None, io: QuantizedIo) -> list[str]:
    own = [result.proof.warning] if result.proof is not None and result.proof.warning else []
    return [*own, *_slower(costs, io)]


def check_model(model: Path) -> None:
    """Raises UsageError for an application."""
    if is_application(model):
        raise UsageError(f"{model}: an application is not quantised as a whole: quantise the models of its stages")


def quantize_first(
    model: Path, options: BuildOptions, output: OutputOptions, compiles: bool = True
) -> tuple[Path, BuildOptions]:
    """Quantises for a command that goes on with the file: its path, and the options without those of its source.

    compiles  the command compiles the file: see quantize_to()
    """
    console = Console(output)
    check_model(model)
    path, result = quantize_to(Path(), model, options, console, compiles)
    for line in quantization_lines(result):
        console.line(line)
    console.warnings(quantization_warnings(result))
    console.line(f"Wrote {path}.")
    return path, replace(options.without_source, quantize=None)


def cost_rows(costs: Costs) -> list[tuple[str, ...]]:
    """Rows of COSTS."""
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


def error_rows(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """Rows of OUTPUTS."""
    return [
        (
            error.output,
            f"{error.max_abs:.4g}",
            f"{error.noise.deviation:.4g}" if error.noise else "",
            _decibels(error.noise.whole_db) if error.noise else "",
            _decibels(error.noise.worst_db) if error.noise else "",
            "" if error.is_integer else _decibels(error.sqnr_db),
            "" if error.agreement is None else f"{error.agreement:.1%}",
        )
        for error in evaluation.outputs
    ]


def _decibels(value: float) -> str:
    return "exact" if value == math.inf else f"{value:.1f}"
