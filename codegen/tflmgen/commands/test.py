"""tflmgen test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tflmgen.actions import Check, MismatchError, OutputComparison, compare_outputs
from tflmgen.commands.prepared_model import PreparedModel
from tflmgen.compare import Case, Reference, Tolerance, junit_xml
from tflmgen.hardware import Board
from tflmgen.terminal import Column, Console, Table
from tflmgen.user_files import write_whole


def test_command(prepared: PreparedModel, vectors_path: Path | None, tolerance: Tolerance, junit: Path | None) -> None:
    """Compares the firmware's outputs with the references. Raises MismatchError (exit code 1) if one differs."""
    console, board, model = prepared.console, prepared.board, prepared.path
    planned = prepared.planned_to_run(vectors_path)
    compared = compare_outputs(planned, vectors_path, tolerance, prepared.session, console)
    _report(console, model, board, compared)
    if junit is not None:
        write_whole(junit, _junit(model, board, compared))
    if compared.wrong:
        raise MismatchError(f"{model}: FAILED: {len(compared.wrong)} of {len(compared.checks)} outputs differ")


def _report(console: Console, model: Path, board: Board, compared: OutputComparison) -> None:
    checks, references, ran = compared.checks, compared.references, compared.invokes
    console.json(
        {
            "model": model.name,
            "board": board.id,
            "emulator": ran.emulator,
            "notes": list(ran.notes),
            "references": [{"name": r.name, "used": not r.unused, "why_not": r.unused or None} for r in references],
            "checks": [_check_json(check) for check in checks],
            "passed": not compared.wrong,
        }
    )
    console.table(_table(f"{model.name} on {ran.emulator if board.is_host else f'{board.id} {ran.place}'}", checks))
    for line in (*ran.notes, *_about(references)):
        console.line(line)
    if not compared.wrong:
        console.line(f"passed: all {len(checks)} outputs agree" if checks else "passed: the model has no outputs")


def _table(title: str, checks: Sequence[Check]) -> Table:
    has_several_signatures = len({check.signature for check in checks}) > 1
    rows = [
        (
            check.set + (f" ({check.signature})" if has_several_signatures else ""),
            check.output,
            check.type,
            check.reference,
            f"{check.largest:g}",
            f"WRONG: {check.difference}" if check.difference else "ok",
        )
        for check in checks
    ]
    columns = (
        Column("set", min_width=16),
        Column("output", min_width=8),
        Column("type", priority=2),
        Column("compared with", min_width=10, wraps=True),
        Column("largest difference", numeric=True),
        Column("result", min_width=16, wraps=True),
    )
    return Table(title, columns, rows)


def _about(references: Sequence[Reference]) -> list[str]:
    used = ", ".join(r.name for r in references if not r.unused)
    unused = "; ".join(f"{r.name} not: {r.unused}" for r in references if r.unused)
    return [f"Compared with: {used}" + (f" ({unused})" if unused else "")]


def _check_json(check: Check) -> dict[str, Any]:
    wrong = check.difference
    return {
        "set": check.set,
        "signature": check.signature,
        "output": check.output,
        "reference": check.reference,
        "equal": wrong is None,
        "largest_difference": check.largest if check.largest != float("inf") else None,
        "wrong": wrong.count if wrong else 0,
        "worst": {"index": list(wrong.index), "expected": wrong.expected, "actual": wrong.actual} if wrong else None,
    }


def _junit(model: Path, board: Board, compared: OutputComparison) -> bytes:
    cases = [
        Case(
            f"set {check.set}, output {check.output} against {check.reference}"
            + (f", signature {check.signature}" if check.signature else ""),
            str(check.difference or ""),
        )
        for check in compared.checks
    ]
    emulator, references = compared.invokes.emulator, " ".join(_about(compared.references))
    properties = [("board", board.id), ("emulator", emulator), ("references", references)]
    return junit_xml(f"{model.name} on {board.id}", cases, properties)
