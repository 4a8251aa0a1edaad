"""What a board needs for a model before and after quantisation: flash, RAM, and instructions of a typical invoke."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tflmgen.emulators import Vectors, check_session_options, run_sets, running
from tflmgen.options import BuildOptions, SessionOptions, SourceOptions
from tflmgen.project import Board, compile_for, load_board, require_compiler
from tflmgen.quantize import with_types
from tflmgen.terminal import Console

Costs = dict[str, Any]

_COUNTED_SETS = 8
"""Input sets whose instructions are averaged: branches and trip counts depend on the input."""


def board_of(name: str | None) -> Board | None:
    """The board to measure on; its compiler must be installed."""
    if name is None:
        return None
    board = load_board(name)
    check_session_options(board, SessionOptions())
    require_compiler(board)
    return board


def measured_costs(
    before: Path, after: Path, board: Board, held_out: Vectors, source: SourceOptions, console: Console
) -> Costs:
    """Costs of both files on the board, instructions on average over the first sets; `source` is for `before`."""
    read = BuildOptions(shape=source.shape, constant=source.constant, nhwc_inputs=source.nhwc_inputs)
    own, emulator = _costs(before, read, board, held_out, console)
    quantized, _ = _costs(after, BuildOptions(), board, held_out, console)
    return {"id": board.id, "emulator": emulator, "before": own, "after": quantized}


def _costs(model: Path, options: BuildOptions, board: Board, held_out: Vectors, console: Console) -> tuple[Costs, str]:
    compilation = compile_for(model, board, options)
    plan, signatures = compilation.plan, compilation.module.signatures
    sets = [with_types(s, signatures[s.signature]) for s in held_out.sets[:_COUNTED_SETS]]
    with running(compilation, board, options, SessionOptions(), console, count=not board.is_host) as run:
        results = run_sets(run.session, signatures, sets, held_out.stateful)
        firmware, emulator = run.firmware, run.session.emulator
    flash = firmware.text + firmware.data if firmware else plan["weights"]["bytes"]
    ram = plan["arena"]["bytes"] + compilation.program.state_bytes
    counts = [result.invocation.instructions for result in results]
    known = [count for count in counts if count is not None]
    return {"flash": flash, "ram": ram, "instructions": round(sum(known) / len(known)) if known else None}, emulator
