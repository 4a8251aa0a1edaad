"""The table of docs/use/train.md: bytes of plans that keep less, and instructions of a training step on an M4.

PYTHONPATH=tests python -m training_figures
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from support.commands import tflmgen
from support.training_models import recurrent_network, separable_network
from tflmgen.frontend.tflite import Model, write_model
from tflmgen.terminal import count

BOARD = "mps2_an386"
MODELS = (("DS-CNN of keywords, float", separable_network), ("LSTM of 100 steps", recurrent_network))
POINTS = 5
"""Points of the curve that are counted at most: the ends, and some between."""


def instructions(model: Model, budget: int, folder: Path) -> tuple[int, int]:
    """(bytes of arena, instructions of a step) of the plan within a budget."""
    source, trained, inputs = folder / "net.tflite", folder / "trained.tflite", folder / "inputs.npz"
    source.write_bytes(write_model(model))
    words = ("--loss", "sparse_categorical_crossentropy", "--ram-budget", budget, "-o", trained)
    assert tflmgen("train", source, *words).code == 0
    graph = model.subgraphs[0]
    x = np.random.default_rng(0).standard_normal(graph.tensors[graph.inputs[0]].shape).astype(np.float32)
    np.savez(inputs, s0_in_0=x, s0_in_1=np.array([1], np.int32))
    done = tflmgen("bench", trained, "--board", BOARD, "--signature", "train", "--inputs", inputs, "--json")
    plan = tflmgen("inspect", trained, "--board", BOARD, "--json").json
    return int(plan["arena"]["bytes"]), int(done.json["sets"][0]["instructions"])


def main() -> None:
    """Prints the rows."""
    with tempfile.TemporaryDirectory() as name:
        for title, make in MODELS:
            model, file = make(), Path(name) / "net.tflite"
            file.write_bytes(write_model(model))
            words = ("train", file, "--loss", "sparse_categorical_crossentropy", "--pareto", "--json")
            points = tflmgen(*words).json["points"]
            chosen = sorted({round(k * (len(points) - 1) / (POINTS - 1)) for k in range(POINTS)})
            first: tuple[int, int] | None = None
            for point in (points[k] for k in chosen):
                arena, steps = instructions(model, point["ram_bytes"], Path(name))
                first = first or (arena, steps)
                again = f"{100 * point['done_again']:.0f} %"
                parts = f"{100 * arena / first[0]:.0f} % | {again} | {count(steps)} | {steps / first[1]:.2f}"
                print(f"| {title} | {count(arena)} | {parts} |")


if __name__ == "__main__":
    main()
