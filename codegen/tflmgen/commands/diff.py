"""tflmgen diff."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tflmgen.commands.build_diff import (
    BuildDiff,
    BuildFigures,
    Change,
    GrownError,
    compare_builds,
    figures_of_plan,
    parse_allowances,
    read_build,
)
from tflmgen.commands.prepared_model import prepared_model
from tflmgen.errors import UsageError
from tflmgen.options import BuildOptions, DiffOptions, OutputOptions
from tflmgen.terminal import Column, Console, Table, count
from tflmgen.user_files import write_whole

COLUMNS = (
    Column("", min_width=20),
    Column("old", numeric=True),
    Column("new", numeric=True),
    Column("change", numeric=True),
    Column("%", numeric=True),
    Column("allowed", numeric=True, priority=2),
    Column("result"),
)
MODELS = frozenset(
    {".tflite", ".circle", ".bin", ".safetensors", ".onnx", ".pt2", ".keras", ".h5", ".hdf5", ".pb", ".pbtxt", ".toml"}
)
"""Suffixes of models and applications, which --board plans."""
OPERATORS_SHOWN = 20
"""Operators in the tables: those that changed most. --json has all that changed."""


def diff_command(old_path: Path, new_path: Path, choices: DiffOptions, output: OutputOptions) -> None:
    """Prints what changed between two builds. Raises GrownError (exit code 1) if a figure grew more than is allowed."""
    console = Console(output)
    allowances, markdown = parse_allowances(choices.allow or ()), choices.markdown
    before, after = choices.old_outputs, choices.new_outputs
    if (before is None) != (after is None):
        raise UsageError("--old-outputs and --new-outputs are compared with each other: give both, or none")
    both = None if before is None or after is None else (before, after)
    old, new = (_figures(path, choices.board, console) for path in (old_path, new_path))
    diff = compare_builds(old, new, allowances, both, choices.max_error)
    console.json(_json(diff))
    console.table(Table(_title(diff), COLUMNS, [_row(change) for change in diff.sizes]))
    if diff.operators:
        changed = [_row(change) for change in diff.operators[:OPERATORS_SHOWN]]
        columns = tuple(column for column in COLUMNS if column.title not in ("allowed", "result"))
        console.table(Table(_operators_title(diff), columns, [row[:5] for row in changed]))
    for line in _output_lines(diff):
        console.line(line)
    if markdown is not None:
        write_whole(markdown, _markdown(diff).encode())
        console.line(f"Wrote {markdown}.")
    if diff.problems:
        raise GrownError(f"{new_path}: FAILED: {'; '.join(diff.problems)}")
    console.line("passed: nothing grew more than is allowed")


def _figures(path: Path, board: str | None, console: Console) -> BuildFigures:
    """Figures of a build, or of a model as it is planned for the board. Raises UsageError for a model without one."""
    if board is None and path.suffix.lower() in MODELS:
        raise UsageError(
            f"{path} is a model: give --board, and both are planned for it; or give the JSON of two builds"
        )
    if board is None:
        return read_build(path)
    return figures_of_plan(prepared_model([path], board, BuildOptions(), console.options).planned(must_fit=False).plan)


def _title(diff: BuildDiff) -> str:
    old, new = diff.old, diff.new
    if (old.model, old.board) == (new.model, new.board):
        return f"{new.model} on {new.board}, before and after"
    return f"{old.model} on {old.board}, and {new.model} on {new.board}"


def _operators_title(diff: BuildDiff) -> str:
    unit = "instructions per invoke" if diff.new.unit == "instructions" else "estimated cycles per execution"
    more = len(diff.operators) - OPERATORS_SHOWN
    return f"Operators that changed, {unit}" + (f"; {more} more changed less" if more > 0 else "")


def _row(change: Change) -> tuple[str, ...]:
    return (
        change.name,
        "-" if change.old is None else count(change.old),
        "-" if change.new is None else count(change.new),
        f"{change.difference:+,}" if change.difference else "0",
        "" if change.percent is None else f"{change.percent:+.1f}" if change.difference else "0.0",
        "" if change.allowed is None else f"{change.allowed:g}",
        "GREW" if change.is_over else "ok",
    )


def _output_lines(diff: BuildDiff) -> Iterator[str]:
    for name, error in diff.errors.items():
        yield f"output {name}: largest difference {error:g}, {diff.max_error:g} allowed"


def _markdown(diff: BuildDiff) -> str:
    """The tables as a comment of a merge request shows them."""
    lines = [f"### {_title(diff)}", "", *_markdown_table(("", "old", "new", "change", "%", "result"), diff.sizes, True)]
    if diff.operators:
        shown = diff.operators[:OPERATORS_SHOWN]
        table = _markdown_table(("operator", "old", "new", "change", "%"), shown, False)
        lines += ["", f"<details><summary>{_operators_title(diff)}</summary>", "", *table, "", "</details>"]
    lines += ["", *(f"- {line}" for line in _output_lines(diff))] if diff.errors else []
    problems = [f"- **{problem}**" for problem in diff.problems] or ["Nothing grew more than is allowed."]
    return "\n".join([*lines, "", *problems]) + "\n"


def _markdown_table(titles: Sequence[str], changes: Sequence[Change], has_result: bool) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield "|" + "|".join("---" if title in ("", "operator", "result") else "---:" for title in titles) + "|"
    for change in changes:
        row = _row(change)
        yield f"| {' | '.join([*row[:5], *([row[6]] if has_result else [])])} |"


def _json(diff: BuildDiff) -> dict[str, Any]:
    return {
        "old": {"model": diff.old.model, "board": diff.old.board},
        "new": {"model": diff.new.model, "board": diff.new.board},
        "sizes": [{**_change_json(change), "allowed": change.allowed, "grew": change.is_over} for change in diff.sizes],
        "unit": diff.new.unit,
        "operators": [_change_json(change) for change in diff.operators],
        "outputs": [
            {"name": name, "error": error if math.isfinite(error) else None} for name, error in diff.errors.items()
        ],
        "problems": list(diff.problems),
        "passed": not diff.problems,
    }


def _change_json(change: Change) -> dict[str, Any]:
    percent = change.percent
    return {
        "name": change.name,
        "old": change.old,
        "new": change.new,
        "difference": change.difference,
        "percent": None if percent is None else round(percent, 3),
    }
