"""A task of a sweep - a candidate, a board, options - and its row of figures."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tflmgen.options import Measured
from tflmgen.sweep.candidate_space import Candidate
from tflmgen.version import VERSION

Row = dict[str, Any]
"""The figures of a task, by the names of COLUMNS."""

Json = Mapping[str, Any]


class Status(str, Enum):
    """End of a task: with figures, refused by tflmgen or the user's code, or with its process."""

    OK = "ok"
    FAILED = "failed"
    CRASHED = "crashed"
    TIME = "time"
    MEMORY = "memory"


COLUMNS: Mapping[str, type] = {
    "task": str,
    "model": str,
    "source_sha256": str,
    "model_sha256": str,
    "parameters": str,
    "board": str,
    "options": str,
    "measure": str,
    "status": str,
    "problem": str,
    "fits": bool,
    "arena_bytes": int,
    "ram_bytes": int,
    "weights_bytes": int,
    "flash_bytes": int,
    "cycles_estimated": int,
    "milliseconds_estimated": float,
    "operators_without_estimate": int,
    "instructions": int,
    "milliseconds_counted": float,
    "error": float,
    "score": float,
    "cached": bool,
    "cpu_seconds": float,
    "seconds": float,
    "worker": str,
}
"""Column of the results -> its type. All but the first nine may be absent (null)."""


@dataclass(frozen=True, slots=True)
class Task:
    """One row to compute. `options` are keyword arguments of tflmgen.compile."""

    candidate: Candidate
    board: str
    options: Json
    measure: Measured = Measured.ESTIMATE

    @property
    def choices(self) -> Json:
        """Settings that figures depend on, beside the model: version, board, options, measurement."""
        return {
            "version": VERSION,
            "board": self.board,
            "options": dict(self.options),
            "measure": self.measure.value,
        }

    @property
    def id(self) -> str:
        """SHA-256 of candidate, board, options and measurements, which is equal in every run of a sweep."""
        return key_of(self.candidate.digest, self.choices)

    @property
    def start_of_row(self) -> Row:
        """The row's names, with no figure yet."""
        return dict.fromkeys(COLUMNS) | {
            "task": self.id,
            "model": self.candidate.label,
            "source_sha256": self.candidate.digest,
            "parameters": json.dumps(self.candidate.parameters, sort_keys=True),
            "board": self.board,
            "options": json.dumps(dict(self.options), sort_keys=True),
            "measure": self.measure.value,
            "cached": False,
        }


def key_of(digest: str, choices: Json) -> str:
    """SHA-256 of a model's digest and the choices, as 32 hexadecimal digits."""
    text = json.dumps([digest, choices], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def tasks_of(
    candidates: Iterable[Candidate], boards: Sequence[str], options: Sequence[Json], measure: Measured
) -> Iterator[Task]:
    """The tasks: each candidate on each board with each set of options, and each task once."""
    seen: set[str] = set()
    for candidate in candidates:
        for board in boards:
            for choice in options:
                task = Task(candidate, board, choice, measure)
                if task.id not in seen:
                    seen.add(task.id)
                    yield task


def row_for_json(row: Row) -> Row:
    """The row with null for infinite and undefined numbers, which JSON does not have."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}


def pareto_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows of which no other has at most as much RAM and time and at least the score, by RAM.

    Rows without figures are left out; so are those that do not fit their board. Rows of different boards compete.
    """
    ranked = sorted((row for row in rows if row["status"] == Status.OK and row["fits"]), key=_costs)
    front: list[Row] = []
    for row in ranked:
        if not any(all(a <= b for a, b in zip(_costs(other), _costs(row), strict=True)) for other in front):
            front.append(row)
    return front


def _costs(row: Row) -> tuple[float, float, float]:
    time = row["milliseconds_estimated"]
    return row["ram_bytes"], float("inf") if time is None else time, -(row["score"] or 0.0)
