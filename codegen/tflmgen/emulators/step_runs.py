"""Execution counts of a plan's steps from a second firmware with a mark at each step, run in parallel to the first.

The firmware itself cannot provide them, since compilers merge branches, and rotate, unroll and remove loops. They also
merge equal kernel calls of row-streaming stages; the marks separate those too.
"""

from __future__ import annotations

import shutil
import struct
import tempfile
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from tflmgen.emulators.invoke_cost import Counting, Counts, Cycles, Shares, Tally
from tflmgen.emulators.link import Stream
from tflmgen.emulators.session import Dims, Session
from tflmgen.emulators.step_counts import executions
from tflmgen.hardware import Board
from tflmgen.project import build, read_about
from tflmgen.toolchain import read_elf

Plan = Mapping[str, Any]
Start = Callable[[Path, Mapping[int, int]], AbstractContextManager[tuple[Stream, Counting]]]
"""Runs a firmware and counts for the step of each of these addresses what is executed until the next of them."""

CONTROL = ("if", "while", "call")
SECTION = ".debug_tflmgen"


class StepRuns:
    """A session with the marked firmware, which repeats the resets and invokes of the main session."""

    def __init__(self, plan: Plan, marked: tuple[Session, Counting] | None = None) -> None:
        self._plan = plan
        self._marked = marked

    def reset(self) -> None:
        """Repeats a reset of the main session."""
        if self._marked:
            self._marked[0].reset()

    def invoke(self, signature: int, inputs: Sequence[bytes], dims: Dims = None) -> tuple[dict[int, int], Shares]:
        """Step -> executions in this invoke of signature `signature` (index), and costs of row-streaming stages."""
        counts: dict[int, int] = {}
        tallies: Counts = {}
        if self._marked:
            session, counting = self._marked
            session.invoke(signature, inputs, dims)
            tallies = counting.read()
            steps = (step["index"] for step in self._plan["steps"] if step.get("line"))
            counts = {step: tallies[step].instructions if step in tallies else 0 for step in steps}
        runs = executions(self._plan, self._plan["signatures"][signature]["function"], counts)
        return runs, _shares(self._plan, tallies, runs)


def _shares(plan: Plan, tallies: Counts, runs: Mapping[int, int]) -> dict[int, list[Tally]]:
    """Costs of row-streaming stages, without the marks' one instruction and one cycle per call."""
    shares: dict[int, list[Tally]] = {}
    for number, (step, stage) in stage_marks(plan).items():
        tally, marks = tallies.get(number, Tally()), runs.get(step["index"], 0) * stage["calls"]
        cycles = Cycles(max(0, tally.cycles.low - marks), max(0, tally.cycles.high - marks))
        shares.setdefault(step["index"], []).append(Tally(max(0, tally.instructions - marks), cycles))
    return shares


def stage_marks(plan: Plan) -> dict[int, tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Mark number, after those of the steps -> (step with row streaming, stage)."""
    above = 1 + max((step["index"] for step in plan["steps"]), default=0)
    stages = [(step, stage) for step in plan["steps"] for stage in step.get("stages", ())]
    return dict(enumerate(stages, above))


@contextmanager
def step_runs(board: Board, project: Path, plan: Plan, timeout: float, start: Start) -> Iterator[StepRuns]:
    """Builds and runs the marked firmware of a project, if its plan has control flow or row streaming."""
    if not any(step["kind"] in CONTROL or step.get("stages") for step in plan["steps"]):
        yield StepRuns(plan)
        return
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        copy = Path(folder) / project.name
        shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".pio"))
        name = read_about(project)["name"]
        source = copy / "lib" / name / "src" / f"{name}.c"
        source.write_text(mark_steps(source.read_text(encoding="utf-8"), plan), encoding="utf-8")
        elf = build(copy, board).elf
        with start(elf, _sites(elf, stage_marks(plan))) as (stream, counting):
            yield StepRuns(plan, (Session(stream, "the emulator", timeout, elf, board.architecture), counting))


def mark_steps(source: str, plan: Plan) -> str:
    """The model's C code with TFLMGEN_RAN(number) before the statement of each step and of each row call."""
    lines = source.splitlines()
    marks = [(step["line"], step["index"]) for step in plan["steps"] if step.get("line")]
    marks += [(line, number) for number, (_, stage) in stage_marks(plan).items() for line in stage["lines"]]
    for line, number in marks:
        lines[line - 1] = f"TFLMGEN_RAN({number}) {lines[line - 1]}"
    header = files("tflmgen.firmware").joinpath("count/mark.h").read_text(encoding="utf-8")
    return header + "\n".join(lines) + "\n"


def _sites(elf: Path, stages: Container[int]) -> dict[int, int]:
    """Address -> mark: the mark's own instruction for a step; for a stage, all instructions up to the next mark."""
    data = b"".join(
        elf.read_bytes()[section.offset : section.offset + section.size]
        for section in read_elf(elf).sections
        if section.name == SECTION
    )
    marks = list(struct.iter_unpack("<III", data))
    return {behind: -1 for _, behind, number in marks if number not in stages} | {at: number for at, _, number in marks}
