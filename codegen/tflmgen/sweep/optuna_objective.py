"""Objectives for Optuna: a trial's parameters to a model's figures, with budgets as constraints."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from tflmgen.errors import UsageError
from tflmgen.sweep.candidate_space import Candidate, space_module
from tflmgen.sweep.row_evaluation import evaluate_task
from tflmgen.sweep.sweep_task import COLUMNS, Row, Status, Task

DIRECTIONS = {"score": "maximize"}
"""Value -> its direction; all others are to be small."""


_EXCESSES = "over_budget"
"""Attribute of a trial."""


def objective(
    space: str | Path,
    suggest: Callable[[Any], Mapping[str, Any]],
    board: str,
    *,
    values: tuple[str, ...] = ("ram_bytes", "milliseconds_estimated", "score"),
    budgets: Mapping[str, float] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Objective:
    """Returns an objective for `study.optimize`.

    Args:
        space: Python file with build(**parameters), and score(parameters, row, path) if a value is the score.
        suggest: Gets the trial, returns the parameters of build.
        values: Columns of the row to optimise. The score is to be great, all others small.
        budgets: Column -> the most that it may be: each is a constraint of the trial (Optuna 5); samplers of earlier
            versions take `Objective.constraints`.
        options: Keyword arguments of tflmgen.compile.
    """
    unknown = [name for name in (*values, *(budgets or ())) if name not in COLUMNS]
    if unknown:
        raise UsageError(f"a row has no column '{unknown[0]}'. Columns: {', '.join(COLUMNS)}")
    return Objective(Path(space), suggest, board, values, dict(budgets or {}), dict(options or {}))


class Objective:
    """Callable with a trial; for ask and tell, `task` of a trial goes to a cluster, and `tell` takes its row."""

    def __init__(
        self,
        space: Path,
        suggest: Callable[[Any], Mapping[str, Any]],
        board: str,
        values: tuple[str, ...],
        budgets: Mapping[str, float],
        options: Mapping[str, Any],
    ) -> None:
        self._text, self._suggest, self._board = space.read_text(encoding="utf-8"), suggest, board
        self._values, self._budgets, self._options = values, budgets, options
        self.rows: list[Row] = []
        space_module(self._text, str(space))

    @property
    def directions(self) -> list[str]:
        """Directions of the values, for optuna.create_study."""
        return [DIRECTIONS.get(name, "minimize") for name in self._values]

    def __call__(self, trial: Any) -> tuple[float, ...]:
        return self.values(trial, evaluate_task(self.task(trial)))

    def task(self, trial: Any) -> Task:
        """The task of a trial, from parameters that `suggest` asks of it."""
        parameters = json.loads(json.dumps(dict(self._suggest(trial))))
        label = " ".join(f"{key}={value}" for key, value in parameters.items())
        return Task(Candidate(label, parameters, space=self._text), self._board, self._options)

    def values(self, trial: Any, row: Row) -> tuple[float, ...]:
        """The values of a trial from its row. Raises optuna.TrialPruned where a model has no figures."""
        self.rows.append(row)
        values = [row[name] for name in self._values]
        if row["status"] != Status.OK.value or None in values:
            optuna: Any = import_module("optuna")
            raise optuna.TrialPruned(row["problem"] or f"no {self._values[values.index(None)]}")
        excesses = {name: float(row[name] - limit) for name, limit in self._budgets.items()}
        trial.set_user_attr(_EXCESSES, list(excesses.values()))
        if hasattr(trial, "set_constraint"):  # since Optuna 5; samplers of earlier versions take constraints()
            for name, excess in excesses.items():
                trial.set_constraint(name, excess)
        return tuple(float(value) for value in values)

    def constraints(self, trial: Any) -> list[float]:
        """Excess of a trial over each budget; 0 or less: within it. `constraints_func` of samplers before Optuna 5."""
        excesses: list[float] = trial.user_attrs.get(_EXCESSES, [1.0] * len(self._budgets))
        return excesses
