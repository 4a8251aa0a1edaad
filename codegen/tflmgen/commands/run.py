"""tflmgen run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tflmgen.actions import invoke_sets
from tflmgen.applications import is_timeline
from tflmgen.commands.prepared_model import PreparedModel
from tflmgen.commands.run_application import run_application_command
from tflmgen.emulators import Result
from tflmgen.errors import UsageError
from tflmgen.input_sets import VectorSet, read_input_sets, write_outputs
from tflmgen.ir.graph import EntryPoint
from tflmgen.terminal import count


def run_command(prepared: PreparedModel, inputs: Path, outputs: Path | None, report: Path | None) -> None:
    """Runs each input set of the file `inputs` and writes the outputs to `outputs` (.npz); of applications a timeline.

    report: an application's HTML page. Raises UsageError where a model has no `outputs`, or a `report`.
    """
    console, board, model, session = prepared.console, prepared.board, prepared.path, prepared.session
    if is_timeline(model) and not prepared.options.also:
        run_application_command(prepared, inputs, outputs, report)
        return
    if report is not None:
        raise UsageError("run --report is for an application (.toml): inspect and bench have --report for models")
    if outputs is None:
        raise UsageError("run needs --outputs OUT.npz; only an application (.toml) prints what it decides")
    planned = prepared.planned_to_run(inputs)
    signatures = planned.compilation.module.signatures
    vectors = read_input_sets(inputs, signatures, session.signature, False, planned.frozen.places, session.real)
    ran = invoke_sets(planned, vectors, session, console)
    write_outputs(outputs, vectors, signatures, [result.outputs for result in ran.results])
    sets = [_set_json(*pair, signatures) for pair in zip(vectors.sets, ran.results, strict=True)]
    about = {"model": model.name, "board": board.id, "emulator": ran.emulator, "notes": list(ran.notes)}
    console.json({**about, "outputs": str(outputs), "sets": sets})
    for note in ran.notes:
        console.line(f"note: {note}")
    stack = count(max(result.invocation.stack_bytes for result in ran.results))
    device = ran.emulator if board.is_host else f"{board.id} {ran.place}; {stack} bytes of stack"
    console.line(f"Ran {len(sets)} set{'s' * (len(sets) != 1)} on {device}. Wrote {outputs}")


def _set_json(vector_set: VectorSet, result: Result, signatures: Sequence[EntryPoint]) -> dict[str, Any]:
    return {
        "label": vector_set.label,
        "signature": signatures[vector_set.signature].key,
        "stack_bytes": result.invocation.stack_bytes,
    }
