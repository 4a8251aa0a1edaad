"""Sweeps: many candidate models on many boards, a row of figures each, on a cluster of processes.

In: candidates, boards and options. Out: rows in Parquet files, and objectives for Optuna.
Decided here: what a task is, what becomes of a task that fails, and which rows a sweep still lacks.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tflmgen.sweep.candidate_space import Candidate, Space, read_space
    from tflmgen.sweep.cluster_run import Limits, SweepSummary, run_sweep
    from tflmgen.sweep.optuna_objective import Objective, objective
    from tflmgen.sweep.result_table import read_rows
    from tflmgen.sweep.row_evaluation import evaluate_task
    from tflmgen.sweep.sweep_report import write_reports
    from tflmgen.sweep.sweep_task import Row, Task, pareto_rows, row_for_json, tasks_of

_MODULES = {
    "candidate_space": "Candidate Space read_space",
    "cluster_run": "Limits SweepSummary run_sweep",
    "optuna_objective": "Objective objective",
    "result_table": "read_rows",
    "row_evaluation": "evaluate_task",
    "sweep_report": "write_reports",
    "sweep_task": "Row Task pareto_rows row_for_json tasks_of",
}
"""Module -> its names here, imported when one of them is asked for."""

__all__ = [
    "Candidate",
    "Limits",
    "Objective",
    "Row",
    "Space",
    "SweepSummary",
    "Task",
    "evaluate_task",
    "objective",
    "pareto_rows",
    "read_rows",
    "read_space",
    "row_for_json",
    "run_sweep",
    "tasks_of",
    "write_reports",
]


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
