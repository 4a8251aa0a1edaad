"""How often each step of a plan runs, by a second firmware that follows the first: the same, with a mark at each step.

In the firmware itself this cannot be seen, since compilers merge branches and rotate, unroll and empty loops.
"""

from __future__ import annotations

import shutil
import struct
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from tflmgen.board import Board
from tflmgen.elf import read_elf
from tflmgen.emulator.executions import executions
from tflmgen.emulator.plugin import Plugin, plugin
from tflmgen.emulator.qemu import run_qemu
from tflmgen.emulator.session import Session
from tflmgen.folder import read_about
from tflmgen.platformio import build

Plan = Mapping[str, Any]

CONTROL = ("if", "while", "call")
SECTION = ".debug_tflmgen"


class StepRuns:
    """Follows a session: the same resets and invokes in the same order."""

    def __init__(self, plan: Plan, marked: tuple[Session, Plugin] | None = None) -> None:
        self._plan = plan
        self._marked = marked

    def reset(self) -> None:
        if self._marked:
            self._marked[0].reset()

    def invoke(self, signature: int, inputs: Sequence[bytes]) -> dict[int, int]:
        """Step -> how often it runs in this invoke of signature number `signature`."""
        counts: dict[int, int] = {}
        if self._marked:
            session, counting = self._marked
            session.invoke(signature, inputs)
            tallies = counting.read()
            steps = (step["index"] for step in self._plan["steps"] if step.get("line"))
            counts = {step: tallies[step].instructions if step in tallies else 0 for step in steps}
        return executions(self._plan, self._plan["signatures"][signature]["function"], counts)


@contextmanager
def step_runs(board: Board, project: Path, plan: Plan, timeout: float) -> Iterator[StepRuns]:
    """For the project in folder `project`, whose plan is `plan`. Without control flow nothing needs to run."""
    if not any(step["kind"] in CONTROL for step in plan["steps"]):
        yield StepRuns(plan)
        return
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        copy = Path(folder) / project.name
        shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".pio"))
        name = read_about(project)["name"]
        source = copy / "lib" / name / "src" / f"{name}.c"
        source.write_text(mark_steps(source.read_text(encoding="utf-8"), plan), encoding="utf-8")
        elf = build(copy, board.id).elf
        with plugin(board.core, elf, _sites(elf)) as counting, run_qemu(board, elf, counting.arguments) as stream:
            yield StepRuns(plan, (Session(stream, "QEMU", timeout, elf), counting))


def mark_steps(source: str, plan: Plan) -> str:
    """The model's C with TFLMGEN_RAN(step) before the statement of each step."""
    lines = source.splitlines()
    for step in plan["steps"]:
        if step.get("line"):
            lines[step["line"] - 1] = f"TFLMGEN_RAN({step['index']}) {lines[step['line'] - 1]}"
    header = files("tflmgen.firmware").joinpath("count/mark.h").read_text(encoding="utf-8")
    return header + "\n".join(lines) + "\n"


def _sites(elf: Path) -> dict[int, int]:
    """The instruction of each mark counts for its step, the next one for none."""
    data = b"".join(
        elf.read_bytes()[section.offset : section.offset + section.size]
        for section in read_elf(elf).sections
        if section.name == SECTION
    )
    marks = dict(struct.iter_unpack("<II", data))
    return {address + 2: -1 for address in marks} | marks
