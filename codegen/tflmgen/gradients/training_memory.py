"""RAM of a training step against work that it does again: plans of one model, from all values kept to the fewest."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from tflmgen.compiler import estimate_model
from tflmgen.errors import BudgetError
from tflmgen.frontend.tflite import Model, write_model
from tflmgen.gradients.tape import KEEP_ALL
from tflmgen.gradients.training_model import TrainingModel, TrainingOptions, derive_training_model
from tflmgen.hardware import Board
from tflmgen.options import BuildOptions
from tflmgen.project import state_bytes

LOOP_LIMITS = 4
"""Limits of loops that are tried, which are those of the largest ones: each is tried with every limit of values."""

_PARTS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1, 0.06, 0.03)
"""Limits of what is kept that are tried, as parts of what a step without a limit keeps."""


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """A training model, its file, and the bytes of its arena and state on a board."""

    trained: TrainingModel
    data: bytes
    ram_bytes: int


def training_plans(model: Model, options: TrainingOptions, board: Board) -> Iterator[TrainingPlan]:
    """Plans of different models that train, from the one that keeps all values to the one that keeps fewest."""
    first = _planned(derive_training_model(model, options), board)
    yield first
    kept, files = first.trained.kept, {first.data}
    limits = sorted({KEEP_ALL, *(int(part * kept.bytes) for part in _PARTS)}, reverse=True)
    loop_limits = sorted({KEEP_ALL, *(size - 1 for size in kept.loops)}, reverse=True)
    for limit, loop_limit in product(limits, loop_limits[:LOOP_LIMITS]):
        trained = derive_training_model(model, replace(options, kept_limit=limit, loop_limit=loop_limit))
        data = write_model(trained.model)
        if data not in files:
            files.add(data)
            yield _planned(trained, board, data)


def _planned(trained: TrainingModel, board: Board, data: bytes | None = None) -> TrainingPlan:
    data = write_model(trained.model) if data is None else data
    with tempfile.TemporaryDirectory(prefix="tflmgen-train-") as name:
        file = Path(name) / "train.tflite"
        file.write_bytes(data)
        plan = estimate_model(file, board.target, BuildOptions())
    return TrainingPlan(trained, data, int(plan["arena"]["bytes"]) + state_bytes(plan))


def training_curve(model: Model, options: TrainingOptions, board: Board) -> list[TrainingPlan]:
    """The Pareto front of RAM and work that is done again, from the plan that does none to the smallest."""
    front: list[TrainingPlan] = []
    for plan in sorted(training_plans(model, options, board), key=lambda p: (p.trained.kept.again, p.ram_bytes)):
        if not front or plan.ram_bytes < front[-1].ram_bytes:
            front.append(plan)
    return front


def plan_within(model: Model, options: TrainingOptions, board: Board, budget: int) -> TrainingPlan:
    """The plan that does least work again of those within a budget. Raises BudgetError if there is none."""
    plans = training_curve(model, options, board)
    fitting = [plan for plan in plans if plan.ram_bytes <= budget]
    if not fitting:
        needs = f"training needs {plans[-1].ram_bytes:,} bytes of arena and state; --ram-budget allows {budget:,}"
        raise BudgetError(f"{model.name}: {needs}. Train fewer weights: --last N, --biases, --adapter")
    return fitting[0]
