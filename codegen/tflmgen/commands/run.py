"""tflmgen run."""

from __future__ import annotations

from pathlib import Path

from tflmgen.emulators import check_session_options, given_shapes, read_vectors, run_sets, running, write_outputs
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
    """Run the sets of `inputs` and write their outputs to `outputs`."""
    console = Console(output)
    board = board_for(board_name, options)
    check_session_options(board, session_options)
    check_writable(outputs)
    flashed = session_options.port is not None  # with what rows, its --max-shape or --max-dim said
    given = None if flashed else given_shapes(model, inputs, session_options.signature)
    with console.progress(f"Planning {model.name}"):
        compilation = compile_for(model, board, options, given)
    if not flashed:
        require_compiler(board)
    signatures = compilation.module.signatures
    vectors = read_vectors(inputs, signatures, session_options.signature, expected=False)
    with running(compilation, board, options, session_options, console) as run:
        with console.progress("Starting") as progress:
            results = run_sets(run.session, signatures, vectors.sets, vectors.stateful, progress)
        emulator, place, notes = run.session.emulator, run.session.place, run.session.notes
    write_outputs(outputs, vectors, signatures, [result.outputs for result in results])
    stack = max(result.invocation.stack_bytes for result in results)
    console.json(
        {
            "model": model.name,
            "board": board.id,
            "emulator": emulator,
            "notes": list(notes),
            "outputs": str(outputs),
            "sets": [
                {
                    "label": one.label,
                    "signature": signatures[one.signature].key,
                    "stack_bytes": r.invocation.stack_bytes,
                }
                for one, r in zip(vectors.sets, results, strict=True)
            ],
        }
    )
    for note in notes:
        console.line(f"note: {note}")
    where = emulator if board.is_host else f"{board.id} {place}; {count(stack)} bytes of stack"
    console.line(f"Ran {len(results)} set{'s' * (len(results) != 1)} on {where}. Wrote {outputs}")
