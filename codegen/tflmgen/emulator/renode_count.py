"""Counts the instructions of each invoke in Renode.

Two ways. Where the board's .repl has a DWT whose frequency is the core's instructions per second, the firmware's own
cycle counter counts instructions, a few of the measurement's own among them. Elsewhere Renode writes down the core's
ExecutedInstructions whenever it comes to the call of the invoke and to the instruction behind it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tflmgen.board import Board
from tflmgen.emulator.executed import CountError, Executed
from tflmgen.emulator.link import Invoked
from tflmgen.emulator.plugin import count_marks

DWT_NOTE = "instructions: by the DWT's cycle counter, which Renode advances by one per instruction"
HOOK_NOTE = "instructions: by the core's ExecutedInstructions in Renode, at the beginning and end of the invoke"


class RenodeCounter:
    """`hooks`: commands for Renode's monitor. `note` says how it counts."""

    def __init__(self, hooks: Sequence[str], note: str, output: Path | None) -> None:
        self.hooks = tuple(hooks)
        self.note = note
        self._output = output
        self._read = 0

    def reset(self) -> None:
        """Nothing to do: the counter goes on."""

    def measure(self, signature: int, inputs: Sequence[bytes], invoked: Invoked) -> Executed:  # noqa: ARG002
        """See session.Meter."""
        if self._output is None:
            return Executed(invoked.cycles)
        numbers = self._output.read_text(encoding="ascii").split()[self._read : self._read + 2]
        if len(numbers) < 2:
            raise CountError("Renode has recorded no invoke")
        self._read += 2
        return Executed(int(numbers[1]) - int(numbers[0]))


@contextmanager
def renode_counter(board: Board, elf: Path) -> Iterator[RenodeCounter]:
    """The counter for a firmware on `board`."""
    if counts_by_dwt(board):
        yield RenodeCounter((), DWT_NOTE, None)
        return
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        output = Path(folder) / "executed"
        output.touch()
        script = f"f = open('{output.as_posix()}', 'a'); f.write(str(self.ExecutedInstructions) + ' '); f.close()"
        hooks = [f'sysbus.cpu AddHook 0x{address:x} "{script}"' for address in count_marks(elf)]
        yield RenodeCounter(hooks, HOOK_NOTE, output)


def counts_by_dwt(board: Board) -> bool:
    """Whether the board's own .repl has a DWT that advances by one per instruction."""
    if board.renode is None or board.folder is None or board.renode.platform.startswith("@"):
        return False
    text = (board.folder / board.renode.platform).read_text(encoding="utf-8")
    mips = re.search(r"PerformanceInMips: (\d+)", text)
    frequency = re.search(r"Miscellaneous\.DWT @ sysbus 0xE0001000\n\s+frequency: (\d+)", text)
    return bool(mips and frequency and int(frequency[1]) == int(mips[1]) * 1_000_000)
