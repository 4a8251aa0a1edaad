"""tflmgen test --layers: the first operator whose output differs from its reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tflmgen.actions import MismatchError
from tflmgen.commands.layer_comparison import LayerCheck, LayerComparison, check_static, compare_layers
from tflmgen.commands.prepared_model import PreparedModel
from tflmgen.compare import TFLM, Case, Tolerance, junit_xml
from tflmgen.errors import UsageError
from tflmgen.hardware import Board
from tflmgen.terminal import Column, Console, Table
from tflmgen.user_files import write_whole


def layers_command(
    prepared: PreparedModel, vectors_path: Path | None, tolerance: Tolerance, junit: Path | None
) -> None:
    """Compares each operator's output with a reference. Raises MismatchError (exit code 1) if one differs."""
    console, board, model, session = prepared.console, prepared.board, prepared.path, prepared.session
    if session.port is not None:
        raise UsageError(
            "--layers needs a firmware of its own, which the board at --port doesn't run: leave --port out"
        )
    planned = prepared.planned_to_run()
    check_static(model, planned.compilation)
    compared = compare_layers(planned, vectors_path, tolerance, session, console)
    _report(console, model, board, compared)
    if junit is not None:
        cases = [
            Case(f"set {check.set}, operators against {check.reference}", str(check.difference or ""))
            for check in compared.sets
        ]
        about = [("board", board.id), ("emulator", compared.emulator)]
        write_whole(junit, junit_xml(f"{model.name} on {board.id}", cases, about))
    if compared.wrong:
        raise MismatchError(f"{model}: FAILED: {len(compared.wrong)} of {len(compared.sets)} sets differ")


def _report(console: Console, model: Path, board: Board, compared: LayerComparison) -> None:
    sets, wrong, why_not = compared.sets, compared.wrong, compared.why_not_tflm
    console.json(
        {
            "model": model.name,
            "board": board.id,
            "emulator": compared.emulator,
            "why_not_tflm": why_not or None,
            "sets": [_set_json(check) for check in sets],
            "passed": not wrong,
        }
    )
    device = compared.emulator if board.is_host else f"{board.id} in {compared.emulator}"
    rows = [
        (check.set, check.reference, f"{check.compared} of {check.traced}", "differs" if check.difference else "ok")
        for check in sets
    ]
    columns = (
        Column("set", min_width=16),
        Column("compared with", min_width=10, wraps=True),
        Column("values", numeric=True),
        Column("result"),
    )
    console.table(Table(f"{model.name} on {device}, operator by operator", columns, rows))
    if why_not:
        console.line(f"{TFLM} not: {why_not}")
    if wrong:
        console.line(f"first difference: {wrong[0].difference}")
    else:
        console.line(f"passed: all {sum(check.compared for check in sets)} values that were compared agree")


def _set_json(check: LayerCheck) -> dict[str, Any]:
    difference = check.difference
    return {
        "set": check.set,
        "reference": check.reference,
        "compared": check.compared,
        "shown": check.traced,
        "first": {
            "subgraph": difference.layer.origin.subgraph,
            "subgraph_name": difference.layer.origin.subgraph_name,
            "operator": difference.layer.origin.operator,
            "operator_name": difference.layer.origin.operator_name,
            "tensor": difference.layer.tensor,
            "iterations": list(difference.layer.iterations),
            "index": list(difference.index),
            "expected": difference.expected,
            "actual": difference.actual,
            "wrong": difference.count,
            "elements": difference.total,
        }
        if difference
        else None,
    }
