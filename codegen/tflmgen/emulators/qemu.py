"""QEMU: the board's machine with its UART on standard input and output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tflmgen.emulators.process import PipeStream, open_pipe
from tflmgen.hardware import Board
from tflmgen.toolchain import find_program


@contextmanager
def run_qemu(board: Board, firmware: Path, extra: Sequence[str]) -> Iterator[PipeStream]:
    """Runs `firmware` on `board` in QEMU while the context lasts; `extra`: further arguments of QEMU."""
    program, *arguments = board.qemu_command
    with open_pipe([str(find_program(program)), *arguments, *extra, "-kernel", str(firmware)]) as stream:
        yield stream
