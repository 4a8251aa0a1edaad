"""The figures of one task, computed in this process."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tflmgen.api import CompiledModel, build_options, fit_of, model_error, plan_file, source_file
from tflmgen.errors import TflmgenError, UsageError
from tflmgen.options import BuildOptions, Measured, Validate
from tflmgen.project import Board, board_for, estimated_plan
from tflmgen.sweep.candidate_space import SILENT, Candidate, function_of
from tflmgen.sweep.result_cache import NO_CACHE, ResultCache
from tflmgen.sweep.sweep_task import Row, Status, Task, key_of

Score = Callable[..., float]


def evaluate_task(task: Task, cache: ResultCache = NO_CACHE) -> Row:
    """The row of a task. What tflmgen or the user's functions raise becomes the row's status and problem."""
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        row = task.start_of_row | _figures(task, cache) | {"status": Status.OK.value}
    except MemoryError:
        row = task.start_of_row | {"status": Status.MEMORY.value, "problem": "out of memory"}
    except TflmgenError as error:
        row = task.start_of_row | {"status": Status.FAILED.value, "problem": str(error)}
    except Exception as error:  # the user's functions may raise anything
        row = task.start_of_row | {"status": Status.FAILED.value, "problem": f"{type(error).__name__}: {error}"}
    used = {"cpu_seconds": time.process_time() - cpu, "seconds": time.perf_counter() - wall}
    return row | {key: round(value, 6) for key, value in used.items()}


def _figures(task: Task, cache: ResultCache) -> Row:
    candidate = task.candidate
    options = build_options({"validate": Validate.OFF, **task.options})  # type: ignore[typeddict-item]
    board = board_for(task.board, options)
    with source_file(model_source(candidate), options, SILENT) as (path, remaining):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        key = key_of(digest, {**task.choices, "board": repr(board)})
        figures = cache.get(key)
        row: Row = {"model_sha256": digest, "cached": figures is not None}
        if figures is None:
            figures = _measured(path, board, remaining, task.measure)
            cache.put(key, figures)
        row |= figures
        reference, score = function_of(candidate, "reference"), function_of(candidate, "score")
        if reference is not None:
            with source_file(reference(**candidate.parameters), BuildOptions(), SILENT) as (float_path, _):
                row["error"] = model_error(float_path, path)
        if score is not None:
            row["score"] = _score(score, candidate.parameters, row, path)
        return row


def model_source(candidate: Candidate) -> object:
    """What tflmgen.compile takes: a file's bytes, or what build() returns."""
    if not candidate.space:
        return candidate.data
    build = function_of(candidate, "build")
    assert build is not None
    return build(**candidate.parameters)


def _measured(path: Path, board: Board, options: BuildOptions, measure: Measured) -> Row:
    if measure is Measured.ESTIMATE:
        return _row_of(board, estimated_plan(path, board, options))
    planned = plan_file(path, board, options, SILENT, must_fit=False)
    row, model = _row_of(board, planned.plan), CompiledModel(planned)
    if row["fits"]:
        row["flash_bytes"] = model.flash_bytes
        if measure is Measured.INSTRUCTIONS:
            bench = model.bench()
            row |= {"instructions": bench.instructions, "milliseconds_counted": bench.milliseconds}
    return row


def _row_of(board: Board, plan: dict[str, Any]) -> Row:
    fit = fit_of(board, plan)
    return {
        "fits": fit.fits,
        "arena_bytes": fit.arena_bytes,
        "ram_bytes": fit.ram_bytes,
        "weights_bytes": fit.weights_bytes,
        "cycles_estimated": fit.cycles,
        "milliseconds_estimated": fit.milliseconds,
        "operators_without_estimate": fit.unknown,
    }


def _score(score: Score, parameters: Mapping[str, Any], row: Row, path: Path) -> float:
    value = score(parameters, dict(row), path)
    if not isinstance(value, (int, float, np.number)):
        raise UsageError(f"score() must return a number, not {type(value).__name__}")
    if np.isnan(value):
        raise UsageError("score() must return a number, not nan")
    return float(value)
