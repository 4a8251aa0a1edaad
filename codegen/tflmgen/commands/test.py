"""tflmgen test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tflmgen.compare import (
    VECTORS,
    Case,
    Difference,
    Reference,
    Tolerance,
    difference,
    find_references,
    junit_xml,
    largest_distance,
)
from tflmgen.emulators import (
    Result,
    Vectors,
    VectorSet,
    check_session_options,
    choose_signature,
    freeze_inputs,
    read_vectors,
    run_sets,
    running,
    seeded_sets,
    shapes_of_inputs,
)
from tflmgen.errors import TflmgenError
from tflmgen.ir import Signature
from tflmgen.options import BuildOptions, OutputOptions, SessionOptions
from tflmgen.project import Board, board_for, check_writable, compile_for, require_compiler, write_whole
from tflmgen.terminal import Column, Console, Table


class MismatchError(TflmgenError):
    """An output of the firmware differs from its reference."""


@dataclass(frozen=True, slots=True)
class Check:
    """Comparison of one output of one input set with one reference; `difference` is None if they agree."""

    set: str
    signature: str
    output: str
    type: str
    reference: str
    largest: float
    difference: Difference | None


def test_command(
    model: Path,
    board_name: str,
    vectors_path: Path | None,
    tolerance: Tolerance,
    junit: Path | None,
    options: BuildOptions,
    session: SessionOptions,
    output: OutputOptions,
) -> None:
    """Compares the firmware's outputs with the references. Raises MismatchError (exit code 1) if one differs."""
    console = Console(output)
    board = board_for(board_name, options)
    check_session_options(board, session)
    if junit is not None:
        check_writable(junit)
    flashed = session.port is not None  # its shapes were fixed by --max-shape and --max-dim
    options = (frozen := freeze_inputs(model, vectors_path, options)).options
    input_shapes = None if flashed or vectors_path is None else shapes_of_inputs(model, vectors_path, session.signature)
    with console.progress(f"Planning {model.name}"):
        compilation = compile_for(model, board, options, input_shapes)
    if not flashed:
        require_compiler(board)
    signatures = compilation.module.signatures
    vectors = sets_of(model, vectors_path, signatures, session.signature, frozen.places)
    if vectors_path is None:
        references = find_references(model, board, compilation, vectors.sets, options, session, console)
    else:
        references = [Reference(VECTORS, [vector_set.expected for vector_set in vectors.sets])]
    with running(compilation, board, options, session, console) as run:
        with console.progress("Starting") as progress:
            results = run_sets(run.session, signatures, vectors.sets, vectors.stateful, progress)
        emulator, place, notes = run.session.emulator, run.session.place, (*frozen.notes, *run.session.notes)
    checks = _checks(signatures, vectors.sets, results, references, tolerance)
    _report(console, model, board, emulator, place, notes, checks, references)
    if junit is not None:
        write_whole(junit, _junit(model, board, emulator, checks, references))
    wrong = sum(check.difference is not None for check in checks)
    if wrong:
        raise MismatchError(f"{model}: FAILED: {wrong} of {len(checks)} outputs differ")


def sets_of(
    model: Path, path: Path | None, signatures: Sequence[Signature], key: str | None, frozen: Sequence[int] = ()
) -> Vectors:
    """Input sets of the file `path`; without one, seeded sets for the signature `key`, or for each signature.

    frozen  positions of inputs that became constants
    """
    if path is not None:
        return read_vectors(path, signatures, key, True, frozen)
    numbers = range(len(signatures)) if key is None else [choose_signature(signatures, key, str(model))]
    return Vectors(seeded_sets(signatures, list(numbers)))


def _checks(
    signatures: Sequence[Signature],
    sets: Sequence[VectorSet],
    results: Sequence[Result],
    references: Sequence[Reference],
    tolerance: Tolerance,
) -> list[Check]:
    checks = []
    for number, (vector_set, result) in enumerate(zip(sets, results, strict=True)):
        signature = signatures[vector_set.signature]
        for reference in references:
            if reference.unused:
                continue
            for port, expected, actual in zip(
                signature.outputs, reference.outputs[number], result.outputs, strict=True
            ):
                label = f"{number}: {vector_set.label}" if vector_set.label else str(number)
                largest_error, output_difference = (
                    largest_distance(expected, actual),
                    difference(expected, actual, tolerance),
                )
                checks.append(
                    Check(
                        label,
                        signature.key,
                        port.name,
                        str(port.type),
                        reference.name,
                        largest_error,
                        output_difference,
                    )
                )
    return checks


def _report(
    console: Console,
    model: Path,
    board: Board,
    emulator: str,
    place: str,
    notes: Sequence[str],
    checks: Sequence[Check],
    references: Sequence[Reference],
) -> None:
    wrong = [check for check in checks if check.difference]
    console.json(
        {
            "model": model.name,
            "board": board.id,
            "emulator": emulator,
            "notes": list(notes),
            "references": [{"name": r.name, "used": not r.unused, "why_not": r.unused or None} for r in references],
            "checks": [_check_json(check) for check in checks],
            "passed": not wrong,
        }
    )
    console.table(_table(f"{model.name} on {emulator if board.is_host else f'{board.id} {place}'}", checks))
    for line in (*notes, *_about(references)):
        console.line(line)
    if not wrong:
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


def _junit(model: Path, board: Board, emulator: str, checks: Sequence[Check], references: Sequence[Reference]) -> bytes:
    cases = [
        Case(
            f"set {check.set}, output {check.output} against {check.reference}"
            + (f", signature {check.signature}" if check.signature else ""),
            str(check.difference or ""),
        )
        for check in checks
    ]
    properties = [("board", board.id), ("emulator", emulator), ("references", " ".join(_about(references)))]
    return junit_xml(f"{model.name} on {board.id}", cases, properties)
