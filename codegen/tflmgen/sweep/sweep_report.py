"""The page of a sweep, and the reports of builds that it links to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tflmgen.actions import plan_file
from tflmgen.api import CompiledModel, build_options, source_file
from tflmgen.errors import TflmgenError
from tflmgen.hardware import board_for
from tflmgen.options import Validate
from tflmgen.report import sweep_html
from tflmgen.sweep.candidate_space import SILENT
from tflmgen.sweep.row_evaluation import model_source
from tflmgen.sweep.sweep_task import Row, Task, row_for_json
from tflmgen.terminal import Progress, no_progress
from tflmgen.user_files import write_whole

MAX_REPORTS = 40
"""Builds of the front that get a report, at even distances along it: each is compiled to C in about a second."""


def write_reports(
    page: Path,
    rows: Sequence[Row],
    front: Sequence[Row],
    tasks: Mapping[str, Task],
    progress: Progress = no_progress,
) -> None:
    """Writes the page, and beside it a folder with reports of builds on the Pareto front."""
    folder = page.with_name(f"{page.stem}-builds")
    links: dict[str, str] = {}
    reported = front[:: max(1, -(-len(front) // MAX_REPORTS))]
    for number, row in enumerate(reported):
        progress(f"Writing report {number + 1} of {len(reported)}", number, len(reported))
        target = folder / f"{row['task']}.html"
        folder.mkdir(exist_ok=True)
        try:
            if not target.exists():
                _write_report(tasks[row["task"]], target)
        except (TflmgenError, OSError):
            continue  # the row has its figures; a page that cannot be made is not linked
        links[row["task"]] = f"{folder.name}/{target.name}"
    shown = [row_for_json(row) for row in rows]
    write_whole(page, sweep_html(shown, [row["task"] for row in front], links).encode())


def _write_report(task: Task, target: Path) -> None:
    options = build_options({"validate": Validate.OFF, **task.options})  # type: ignore[typeddict-item]
    with source_file(model_source(task.candidate), options, SILENT) as (path, remaining):
        CompiledModel(plan_file(path, board_for(task.board, options), remaining, SILENT, must_fit=False)).report(target)
