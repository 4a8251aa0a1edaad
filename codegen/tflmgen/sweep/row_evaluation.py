"""The figures of one task, computed in this process."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.actions import fit_of, plan_file
from tflmgen.api import CompiledModel, build_options, source_file
from tflmgen.errors import TflmgenError, UsageError
from tflmgen.frontend.tflite import FileTensor
from tflmgen.hardware import Board, board_for
from tflmgen.options import BuildOptions, Measured, Validate
from tflmgen.project import estimated_plan
from tflmgen.reference import Array, Interpreter
from tflmgen.sources import read_source
from tflmgen.sweep.candidate_space import SILENT, Candidate, function_of
from tflmgen.sweep.result_cache import NO_CACHE, ResultCache
from tflmgen.sweep.sweep_task import Row, Status, Task, key_of

SETS, SEED = 4, 0
"""Input sets of the comparison, and the seed that their normally distributed elements come from."""


def model_error(reference: Path, candidate: Path) -> float:
    """Largest absolute difference of outputs, as real numbers, on seeded inputs; both are evaluated with numpy.

    The models have the same inputs and outputs in the same order. Raises UsageError where shapes differ.
    """
    models = read_source(reference), read_source(candidate)
    interpreters = [Interpreter(model) for model in models]
    graphs = [model.subgraphs[0] for model in models]
    ports = [[[graph.tensors[i] for i in indices] for indices in (graph.inputs, graph.outputs)] for graph in graphs]
    for mine, theirs in zip(*ports, strict=True):
        if [tensor.shape for tensor in mine] != [tensor.shape for tensor in theirs]:
            raise UsageError("the reference's inputs and outputs have other shapes than the candidate's")
    random, largest = np.random.default_rng(SEED), 0.0
    for _ in range(SETS):
        inputs = [random.standard_normal(tensor.shape).astype(np.float32) for tensor in ports[0][0]]
        results = []
        for interpreter, (entries, exits) in zip(interpreters, ports, strict=True):
            interpreter.reset()
            stored = [_stored(array, tensor) for array, tensor in zip(inputs, entries, strict=True)]
            outputs = interpreter.invoke(None, stored)
            results.append([_real(array, tensor) for array, tensor in zip(outputs, exits, strict=True)])
        for expected, computed in zip(*results, strict=True):
            largest = max(largest, largest_difference(expected, computed))
    return largest


def largest_difference(expected: NDArray[np.float64], computed: NDArray[np.float64]) -> float:
    """Largest absolute difference of elements. NaN equals NaN; from any number its difference is infinite."""
    with np.errstate(invalid="ignore"):
        differences = np.abs(expected - computed)
    is_equal = (expected == computed) | (np.isnan(expected) & np.isnan(computed))
    return float(np.max(np.where(is_equal, 0.0, np.nan_to_num(differences, nan=np.inf, posinf=np.inf)), initial=0.0))


def _stored(array: NDArray[np.float32], tensor: FileTensor) -> Array:
    """Real numbers as a tensor stores them: quantised, or of its type."""
    dtype = np.dtype(tensor.dtype.numpy if tensor.dtype else np.float32)
    if tensor.quantization is None or dtype.kind == "f":
        return array.astype(dtype)
    limits: Any = np.iinfo(dtype.str)
    codes = np.round(array / tensor.quantization.scale) + tensor.quantization.zero_point
    stored: Array = np.clip(codes, limits.min, limits.max).astype(dtype)
    return stored


def _real(array: Array, tensor: FileTensor) -> NDArray[np.float64]:
    values = array.astype(np.float64)
    quantization = tensor.quantization
    if quantization is None or array.dtype.kind == "f":
        return values
    return np.asarray((values - quantization.zero_point) * quantization.scale, dtype=np.float64)


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
    """Source for tflmgen.compile: a file's bytes, or the result of build()."""
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
