"""tflmgen run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tflmgen.emulators import (
    Result,
    VectorSet,
    check_session_options,
    freeze_inputs,
    read_vectors,
    run_sets,
    running,
    shapes_of_inputs,
    write_outputs,
)
from tflmgen.ir import Signature
from tflmgen.options import BuildOptions, OutputOptions, SessionOptions
from tflmgen.project import board_for, check_writable, compile_for, require_compiler
from tflmgen.terminal import Console, count


def run_command(
    model: Path,
    board_name: str,
    inputs: Path,
    outputs: Path,
    options: BuildOptions,
    session_options: SessionOptions,
    output: OutputOptions,
) -> None:
    """Runs each input set of `inputs` (.npz) and writes the outputs to `outputs` (.npz)."""
    console = Console(output)
    board = board_for(board_name, options)
    check_session_options(board, session_options)
    check_writable(outputs)
    flashed = session_options.port is not None  # its shapes were fixed by --max-shape and --max-dim
    frozen = freeze_inputs(model, inputs, options)
    options = frozen.options
    input_shapes = None if flashed else shapes_of_inputs(model, inputs, session_options.signature)
    with console.progress(f"Planning {model.name}"):
        compilation = compile_for(model, board, options, input_shapes)
    if not flashed:
        require_compiler(board)
    signatures = compilation.module.signatures
    vectors = read_vectors(inputs, signatures, session_options.signature, False, frozen.places)
    with running(compilation, board, options, session_options, console) as run:
        with console.progress("Starting") as progress:
            results = run_sets(run.session, signatures, vectors.sets, vectors.stateful, progress)
        emulator, place, notes = run.session.emulator, run.session.place, (*frozen.notes, *run.session.notes)
    write_outputs(outputs, vectors, signatures, [result.outputs for result in results])
    ran = {"model": model.name, "board": board.id, "emulator": emulator, "notes": list(notes)}
    sets = [_set_json(*pair, signatures) for pair in zip(vectors.sets, results, strict=True)]
    console.json({**ran, "outputs": str(outputs), "sets": sets})
    for note in notes:
        console.line(f"note: {note}")
    stack = count(max(result.invocation.stack_bytes for result in results))
    device = emulator if board.is_host else f"{board.id} {place}; {stack} bytes of stack"
    console.line(f"Ran {len(results)} set{'s' * (len(results) != 1)} on {device}. Wrote {outputs}")


def _set_json(vector_set: VectorSet, result: Result, signatures: Sequence[Signature]) -> dict[str, Any]:
    return {
        "label": vector_set.label,
        "signature": signatures[vector_set.signature].key,
        "stack_bytes": result.invocation.stack_bytes,
    }
