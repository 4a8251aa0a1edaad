"""Changes between two builds: sizes, instructions per operator, and outputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tflmgen.errors import TflmgenError, UsageError
from tflmgen.input_sets import ArrayFile
from tflmgen.project import state_bytes
from tflmgen.user_files import ARCHIVE_LIMIT, parse_json, read_text_limited

SIZES = ("arena", "state", "weights", "code", "flash", "ram", "stack")
"""Figures in bytes, in the order of the table."""

WHAT = (*SIZES, "instructions")
"""Figures that may grow: sizes, and the counted instructions of the worst invoke."""


LARGEST_COUNT = 1 << 53
"""Largest size or count: floats, in which shares are computed, hold integers up to it."""


class BuildFileError(TflmgenError):
    """A file that is no build's."""


class _CountError(Exception):
    """A figure of a build that is no count."""


class GrownError(TflmgenError):
    """A build needs more than the one before it, and more than was allowed."""


@dataclass(frozen=True, slots=True)
class BuildFigures:
    """A build's figures.

    figures    of WHAT, those that the file has
    operators  (subgraph, operator, name) -> instructions of an invoke, or estimated cycles of one execution
    unit       of the operators' figures: instructions or cycles
    """

    model: str
    board: str
    figures: Mapping[str, int]
    operators: Mapping[tuple[int, int, str], int]
    unit: str


@dataclass(frozen=True, slots=True)
class Change:
    """A figure before and after; None where a build has none. `allowed`: growth in per cent that is no error."""

    name: str
    old: int | None
    new: int | None
    allowed: float | None = None

    @property
    def difference(self) -> int:
        """New figure less the old one; one that is missing counts as 0."""
        return (self.new or 0) - (self.old or 0)

    @property
    def percent(self) -> float | None:
        """Growth in per cent of the old figure; None where that is 0 or absent."""
        return 100 * self.difference / self.old if self.old and self.new is not None else None

    @property
    def is_over(self) -> bool:
        """Whether the figure has grown by more than is allowed; false where a build lacks it."""
        if self.allowed is None or self.old is None or self.new is None:
            return False
        return self.new > self.old * (1 + self.allowed / 100)


@dataclass(frozen=True, slots=True)
class BuildDiff:
    """All that changed.

    sizes      figures that both builds have
    operators  those whose figure is another, the largest difference first
    errors     output -> largest absolute difference between both builds' outputs
    max_error  largest difference that is no error
    """

    old: BuildFigures
    new: BuildFigures
    sizes: tuple[Change, ...]
    operators: tuple[Change, ...]
    errors: Mapping[str, float]
    max_error: float

    @property
    def problems(self) -> tuple[str, ...]:
        """A sentence per limit that is exceeded."""
        grown = (
            f"{change.name} grew by {change.difference:,}"
            + ("" if change.percent is None else f" ({change.percent:+.1f} %, {change.allowed:g} % allowed)")
            for change in self.sizes
            if change.is_over
        )
        wrong = (
            f"output {name} differs by {error:g} ({self.max_error:g} allowed)"
            for name, error in self.errors.items()
            if not error <= self.max_error
        )
        return (*grown, *wrong)


def read_build(path: Path) -> BuildFigures:
    """The figures of a project's folder, its plan.json, or what `build --json` or `bench --json` has printed.

    Raises BuildFileError for any other file.
    """
    file = path / "plan.json" if path.is_dir() else path
    try:
        data = parse_json(read_text_limited(file, ARCHIVE_LIMIT))
    except OSError as error:
        raise BuildFileError(f"{file}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise BuildFileError(f"{file}: is not the JSON of a build: {error}") from error
    try:
        return _of_bench(data) if "per_invoke" in data else figures_of_plan(data)
    except _CountError as error:
        raise BuildFileError(f"{file}: is not the JSON of a build: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BuildFileError(
            f"{file}: is neither a plan.json nor what `tflmgen build --json` or `tflmgen bench --json` prints"
        ) from error


def _count(value: object, name: str) -> int:
    """A number of bytes, instructions or cycles. Raises _CountError for other numbers, TypeError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is no number")
    if not 0 <= value <= LARGEST_COUNT or value != int(value):
        raise _CountError(f"{name} is {str(value)[:40]}, which is no number of bytes, instructions or cycles")
    return int(value)


def figures_of_plan(plan: Mapping[str, Any]) -> BuildFigures:
    """The figures of a plan.json; of its firmware only where it was compiled."""
    state = state_bytes(plan)
    figures = {
        "arena": _count(plan["arena"]["bytes"], "arena"),
        "state": _count(state, "state"),
        "weights": _count(plan["weights"]["bytes"], "weights"),
    }
    firmware = plan.get("firmware")
    if firmware is not None:
        code, text, data, bss = (_count(firmware[key], key) for key in ("code_bytes", "text", "data", "bss"))
        figures |= {"code": code, "flash": text + data, "ram": data + bss}
        stack = firmware["stack_worst_case"]
        figures |= {"stack": _count(stack, "stack")} if stack is not None else {}
    steps = [step for step in plan["steps"] if step["kind"] == "operator" and step.get("expected")]
    operators = {(s["subgraph"], s["operator"], s["name"]): _count(s["expected"]["cycles"], "cycles") for s in steps}
    return BuildFigures(plan["model"]["path"], plan["board"], figures, operators, "cycles")


def _of_bench(bench: Mapping[str, Any]) -> BuildFigures:
    memory, worst = bench["memory"], bench["per_invoke"]["worst"]
    figures = {name: _count(memory[f"{name}_bytes"], name) for name in ("arena", "weights", "code", "flash", "ram")}
    figures |= {"instructions": _count(worst["instructions"], "instructions")}
    figures |= {"stack": _count(bench["stack_bytes"], "stack")} if bench["stack_bytes"] is not None else {}
    invoke = {cost["step"]: cost["instructions"] for cost in bench["sets"][worst["set"]]["operators"]}
    operators = {
        (operator["subgraph"], operator["operator"], operator["name"]): _count(count, "instructions")
        for operator in bench["operators"]
        if (count := invoke.get(operator["step"])) is not None
    }
    return BuildFigures(bench["model"]["path"], bench["board"], figures, operators, "instructions")


def parse_allowances(texts: Sequence[str]) -> dict[str, float]:
    """Growth in per cent by figure, of texts like `flash=2%`; `all` stands for every other. Raises UsageError."""
    allowances: dict[str, float] = {}
    for text in texts:
        name, equals, percent = text.partition("=")
        try:
            value = float(percent.removesuffix("%"))
        except ValueError:
            value = -1.0
        if not equals or name not in (*WHAT, "all") or not 0 <= value < float("inf"):
            raise UsageError(f"--allow {text}: not of the form WHAT=PERCENT, WHAT being one of all, {', '.join(WHAT)}")
        allowances[name] = value
    return allowances


def compare_builds(
    old: BuildFigures,
    new: BuildFigures,
    allowances: Mapping[str, float],
    outputs: tuple[Path, Path] | None = None,
    max_error: float = 0.0,
) -> BuildDiff:
    """Changes from `old` to `new`, where both have a figure.

    allowances  growth in per cent by figure; `all` for those that are not listed; 0 for others
    outputs     files that `tflmgen run` has written, of both builds
    """
    sizes = [
        Change(name, old.figures[name], new.figures[name], allowances.get(name, allowances.get("all", 0.0)))
        for name in WHAT
        if name in old.figures and name in new.figures
    ]
    errors = {} if outputs is None else dict(_output_errors(*outputs))
    operators = sorted(_operator_changes(old, new), key=lambda change: -abs(change.difference))
    return BuildDiff(old, new, tuple(sizes), tuple(operators), errors, max_error)


def _operator_changes(old: BuildFigures, new: BuildFigures) -> Iterator[Change]:
    if old.unit != new.unit:
        return
    # A plan has estimates of some operators only: one that has none now may well be computed, row by row for example.
    are_counted = new.unit == "instructions"
    keys = {*old.operators, *new.operators} if are_counted else {*old.operators} & {*new.operators}
    for key in sorted(keys):
        change = Change(f"{key[0]}.{key[1]} {key[2]}", old.operators.get(key), new.operators.get(key))
        if change.difference:
            yield change


def _output_errors(old: Path, new: Path) -> Iterator[tuple[str, float]]:
    """Largest absolute difference per array; infinite where only one file has it, or the shapes differ.

    Arrays of texts are no outputs: archives of vectors have labels.
    """
    files = before, after = ArrayFile(old), ArrayFile(new)
    headers = [{k: h.shape for k, h in file.headers.items() if h.dtype.kind in "biuf"} for file in files]
    for name in sorted({*headers[0], *headers[1]}):
        if headers[0].get(name) != headers[1].get(name):
            yield name, float("inf")
        elif math.prod(headers[0][name]):
            first, second = before[name].astype(np.float64), after[name].astype(np.float64)
            with np.errstate(invalid="ignore"):
                equal = (first == second) | (np.isnan(first) & np.isnan(second))
                error = float(np.where(equal, 0.0, np.abs(first - second)).max())
            yield name, float("inf") if np.isnan(error) else error
        else:
            yield name, 0.0
