"""What a board needs for a model before and after quantisation: flash, RAM, and instructions of one invoke."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tflmgen.emulators import Vectors, check_session_options, run_set, running
from tflmgen.options import BuildOptions, SessionOptions, SourceOptions
from tflmgen.project import Board, compile_for, load_board, require_compiler
from tflmgen.quantize import with_types
from tflmgen.terminal import Console

Costs = dict[str, Any]


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
    """Costs of both files on the board, with the first held-out set as input; `source` is for `before`."""
    read = BuildOptions(shape=source.shape, constant=source.constant, nhwc_inputs=source.nhwc_inputs)
    own, emulator = _costs(before, read, board, held_out, console)
    quantized, _ = _costs(after, BuildOptions(), board, held_out, console)
    return {"id": board.id, "emulator": emulator, "before": own, "after": quantized}


def _costs(model: Path, options: BuildOptions, board: Board, held_out: Vectors, console: Console) -> tuple[Costs, str]:
    compilation = compile_for(model, board, options)
    plan, signatures = compilation.plan, compilation.module.signatures
    first = with_types(held_out.sets[0], signatures[held_out.sets[0].signature])
    with running(compilation, board, options, SessionOptions(), console, count=not board.is_host) as run:
        run.session.reset()
        invocation = run_set(run.session, signatures, first, "set 0").invocation
        firmware, emulator = run.firmware, run.session.emulator
    flash = firmware.text + firmware.data if firmware else plan["weights"]["bytes"]
    ram = plan["arena"]["bytes"] + compilation.program.state_bytes
    return {"flash": flash, "ram": ram, "instructions": invocation.instructions}, emulator
