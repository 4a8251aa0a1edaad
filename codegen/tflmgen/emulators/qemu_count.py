"""Counts the instructions of each invoke in QEMU, per step of the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tflmgen.emulators.attribution import attribute
from tflmgen.emulators.flash_description import describe_flash
from tflmgen.emulators.invoke_cost import Executed, join_counts
from tflmgen.emulators.link import Invoked
from tflmgen.emulators.qemu_plugin import Plugin, plugin
from tflmgen.emulators.session import Dims
from tflmgen.emulators.step_runs import StepRuns, step_runs
from tflmgen.project import Board, read_about

Plan = Mapping[str, Any]


class QemuCounter:
    """A session.Meter for a QEMU started with `arguments`."""

    def __init__(self, plan: Plan, counting: Plugin, runs: StepRuns) -> None:
        self.arguments = counting.arguments
        self._plan = plan
        self._counting = counting
        self._runs = runs

    def reset(self) -> None:
        """Repeats a reset in the session that counts."""
        self._runs.reset()

    def measure(self, signature: int, inputs: Sequence[bytes], invoked: Invoked, dims: Dims) -> Executed:  # noqa: ARG002
        """See session.Meter."""
        runs, shares = self._runs.invoke(signature, inputs, dims)
        return join_counts(self._plan, self._counting.read(), runs, shares)


@contextmanager
def qemu_counter(board: Board, elf: Path, project: Path, plan: Plan, timeout: float) -> Iterator[QemuCounter]:
    """Counter for the firmware `elf` of the project in folder `project` with the plan `plan`.

    It also estimates the wait states of `board.flash`, in all memories of kind flash.
    """
    lines = {step["index"]: step["line"] for step in plan["steps"] if step.get("line")}
    steps = attribute(elf, f"{read_about(project)['name']}.c", lines)
    flash = describe_flash(board)
    with plugin(board.core, elf, steps, flash) as counting, step_runs(board, project, plan, timeout) as runs:
        yield QemuCounter(plan, counting, runs)
