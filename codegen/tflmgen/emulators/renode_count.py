"""Counts the instructions of each invoke in Renode.

Renode writes the core's ExecutedInstructions to a file before the call of the invoke and after its return. The
difference equals the count of QEMU's plugin. The DWT cycle counter, which Renode advances by one per instruction,
would include about fifteen instructions of the measurement.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tflmgen.emulators.invoke_cost import CountError, Executed
from tflmgen.emulators.link import Invoked
from tflmgen.emulators.qemu_plugin import count_marks
from tflmgen.emulators.session import Dims

COUNT_NOTE = "instructions: by the core's ExecutedInstructions in Renode, at the beginning and end of the invoke"


class RenodeCounter:
    """A session.Meter; `hooks` are monitor commands that make Renode write the counts to `output`."""

    def __init__(self, hooks: Sequence[str], output: Path) -> None:
        self.hooks = tuple(hooks)
        self._output = output
        self._read = 0

    def reset(self) -> None:
        """Does nothing: the counter is cumulative."""

    def measure(self, signature: int, inputs: Sequence[bytes], invoked: Invoked, dims: Dims) -> Executed:  # noqa: ARG002
        """See session.Meter."""
        numbers = [int(word) for word in self._output.read_text(encoding="ascii").split()][self._read :]
        if len(numbers) < 2:
            raise CountError("Renode has recorded no invoke")
        self._read += len(numbers)
        return Executed(sum(numbers[1::2]) - sum(numbers[::2]))


@contextmanager
def renode_counter(elf: Path) -> Iterator[RenodeCounter]:
    """Counter for a firmware."""
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        output = Path(folder) / "executed"
        output.touch()
        script = f"f = open('{output.as_posix()}', 'a'); f.write(str(self.ExecutedInstructions) + ' '); f.close()"
        hooks = [f'sysbus.cpu AddHook 0x{address:x} "{script}"' for address in count_marks(elf)]
        yield RenodeCounter(hooks, output)
