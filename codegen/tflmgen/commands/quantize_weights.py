"""tflmgen quantize --weights: weights alone in 4 or 8 bits with a scale for each block of a row."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from tflmgen.commands.quantization_results import evaluation_json, loss_line
from tflmgen.commands.quantize import COSTS, OUTPUTS, board_of, check_model, cost_rows, error_rows, measured_costs
from tflmgen.errors import UsageError
from tflmgen.frontend.onnx import file_of_source, stem_of_source
from tflmgen.frontend.tflite import write_model
from tflmgen.options import OutputOptions, QuantizeOptions, SourceOptions
from tflmgen.quantize import BlockedFile, quantize_weights, weight_format
from tflmgen.sources import read_source
from tflmgen.terminal import Column, Console, Table, count
from tflmgen.user_files import check_writable, write_whole

_LAYERS = (Column("#"), Column("operator", min_width=16), Column("its weights", min_width=30, wraps=True))


def quantize_weights_command(
    model: Path,
    calibration: Path,
    target: Path | None,
    choices: QuantizeOptions,
    signature: str | None,
    source: SourceOptions,
    output: OutputOptions,
) -> None:
    """Writes the model with such weights to `target`, by default MODEL-int4.tflite, and prints its errors."""
    assert choices.weights is not None
    others = QuantizeOptions(
        weights=choices.weights, next_token=choices.next_token, max_loss=choices.max_loss, board=choices.board
    )
    if choices != others:
        raise UsageError("--weights goes with --next-token, --max-loss and --board: activations stay float32")
    console, wanted = Console(output), weight_format(choices.weights)
    check_model(model)
    path = target or Path(f"{stem_of_source(model)}-{wanted.dtype.label}.tflite")
    check_writable(path, file_of_source(model), calibration)
    board = board_of(choices.board)
    with console.progress(f"Quantising weights of {model.name}"):
        result = quantize_weights(model, calibration, wanted, choices, signature, source)
    write_whole(path, result.data)
    costs = measured_costs(model, path, board, result.calibration.held_out, source, console) if board else None
    before = len(write_model(read_source(model, source)))
    contents: dict[str, Any] = {"model": model.name, "output": str(path), "bytes": [before, len(result.data)]}
    console.json({**contents, **_json(result), "board": costs})
    sets = len(result.calibration.everything.sets)
    console.table(Table(f"{model.name} on {sets} sets", OUTPUTS, error_rows(result.evaluation)))
    rows = [(*name.split(" ", 1), text) for name, text in result.layers]
    console.table(Table("Weights", _LAYERS, rows))
    if result.loss is not None:
        console.line(loss_line(result.loss))
    if costs is not None:
        console.table(Table(f"Before and after on {costs['id']}", COSTS, cost_rows(costs)))
    console.warnings(result.calibration.warnings)
    console.line(f"Wrote {path}: {count(len(result.data))} bytes, {count(before)} before.")


def _json(result: BlockedFile) -> dict[str, Any]:
    """JSON as schema/quantize.json describes it, without what ranges and types of activations have."""
    empty = ("measures", "webs", "operators", "in_float", "conversions", "lstm_loops", "wider_webs", "estimates")
    return {
        **{name: [] for name in empty},
        "samples": result.calibration.samples,
        "held_out": result.calibration.samples,
        "ranges": "none",
        "evaluation": evaluation_json(result.evaluation, result.source),
        "weights": [{"operator": name, "format": text} for name, text in result.layers],
        "loss": None if result.loss is None else asdict(result.loss),
        "warnings": list(result.calibration.warnings),
    }
