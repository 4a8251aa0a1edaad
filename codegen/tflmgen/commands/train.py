"""tflmgen train."""

from __future__ import annotations

from pathlib import Path

from tflmgen.commands.prepared_model import converted_first
from tflmgen.frontend.onnx import file_of_source, stem_of_source
from tflmgen.frontend.tflite import Model, write_model
from tflmgen.gradients import (
    TrainingModel,
    derive_training_model,
    parse_training_options,
    plan_within,
    training_curve,
)
from tflmgen.hardware import load_board
from tflmgen.options import OutputOptions, SourceOptions, TrainOptions
from tflmgen.settings import parse_budget
from tflmgen.sources import read_source
from tflmgen.terminal import Column, Console, Table, count
from tflmgen.user_files import check_writable, write_whole

WEIGHTS = (
    Column("weight", min_width=16),
    Column("shape"),
    Column("elements", numeric=True),
    Column("role"),
    Column("trains"),
)


CURVE = tuple(Column(title, numeric=True) for title in ("RAM", "done again"))


def train_command(
    model: Path, target: Path | None, board: str, choices: TrainOptions, source: SourceOptions, output: OutputOptions
) -> None:
    """Writes a model that trains to `target`, by default MODEL-train.tflite, and prints which weights do."""
    console, wanted = Console(output), parse_training_options(choices)
    budget = parse_budget(choices.ram_budget)
    path = target or Path(f"{stem_of_source(model)}-train.tflite")
    check_writable(path, file_of_source(model))
    read = _source(model, source, output, choices.batch or 1)
    if budget is None:
        trained = derive_training_model(read, wanted)
    else:
        with console.progress(f"Planning {model.name}"):
            trained = plan_within(read, wanted, load_board(board), budget).trained
    data = write_model(trained.model)
    write_whole(path, data)
    console.json(_as_json(model, path, len(data), trained))
    console.table(Table(f"Weights of {model.name}", WEIGHTS, _rows(trained)))
    console.line(
        f"{count(trained.trained_elements)} of {count(trained.elements)} weights train; the optimizer keeps "
        f"{count(trained.optimizer_bytes)} bytes of state beside them."
    )
    console.line(f"Wrote {path}: signatures {', '.join(s.key for s in trained.model.signatures)}.")


def training_curve_command(
    model: Path, board: str, choices: TrainOptions, source: SourceOptions, output: OutputOptions
) -> None:
    """Prints the RAM of a model that trains against the work that it does again; writes no file."""
    console, wanted = Console(output), parse_training_options(choices)
    read = _source(model, source, output, choices.batch or 1)
    with console.progress(f"Planning {model.name}"):
        plans = training_curve(read, wanted, load_board(board))
    points = [{"ram_bytes": plan.ram_bytes, "done_again": round(plan.trained.kept.part_again, 4)} for plan in plans]
    rows = [(count(plan.ram_bytes), f"{plan.trained.kept.part_again:.0%}") for plan in plans]
    console.table(Table(f"RAM of {model.name} that trains, and the part of the forward pass done again", CURVE, rows))
    console.line("Write one with --ram-budget and its RAM.")
    console.json({"model": model.name, "board": board, "points": points})


def _source(model: Path, source: SourceOptions, output: OutputOptions, batch: int) -> Model:
    """The model, converted if it is one of TensorFlow."""
    file = converted_first(model, source, output, batch=batch)
    return read_source(file, source if file == model else SourceOptions(), for_training=True, batch=batch)


def _rows(trained: TrainingModel) -> list[tuple[str, ...]]:
    return [
        (w.name, "x".join(map(str, w.tensor.shape)), count(w.elements), w.role, "yes" if w.trains else "no")
        for w in trained.weights
    ]


def _as_json(model: Path, path: Path, size: int, trained: TrainingModel) -> dict[str, object]:
    weights = [
        {"name": w.name, "shape": list(w.tensor.shape), "role": w.role, "trains": w.trains} for w in trained.weights
    ]
    return {
        "model": model.name,
        "output": str(path),
        "bytes": size,
        "weights": weights,
        "optimizer_bytes": trained.optimizer_bytes,
    }
