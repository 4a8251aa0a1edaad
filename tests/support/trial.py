"""One model, its compiled Program and input sets with the outputs that the reference expects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.errors import InternalError
from tflmgen.frontend.tflite import FileSignature
from tflmgen.ir.program.instructions import Program
from tflmgen.passes.pipeline import PIPELINE, Pass
from tflmgen.proof import check_meaning, check_memory
from tflmgen.reference import Interpreter
from tflmgen.reference.work_budget import Budget, WorkError

from support.native import RESET, Invocation, build_native, run_native
from support.pipeline import SELECTOR, Stages, compile_bytes
from support.random_program import Seeded, random_inputs, random_program
from support.simulate import DerailedError, Machine

Array = NDArray[Any]

WORK = 2e9
"""Estimated nanoseconds that the evaluation of one trial may take."""

LEAST: tuple[Pass, ...] = ()
"""The stages after the passes take any graph."""


@dataclass(frozen=True, slots=True)
class Run:
    """One call: which signature (or RESET), its inputs, the outputs that are right."""

    signature: int
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """`runs` follow each other on one fresh instance; each input set comes twice, with others between."""

    label: str
    stages: Stages
    runs: tuple[Run, ...]

    def holds_for(self, program: Program) -> bool:
        """Whether `program`, simulated, gives what the reference says in every run."""
        machine = Machine(program)
        try:
            return all(equal(_step(machine, run), run.outputs) for run in self.runs)
        except DerailedError:
            return False


def is_memory_proved(stages: Stages, program: Program) -> bool:
    """Whether the proof finds no byte lost or overwritten in `program`, a variation of the stages' own."""
    try:
        check_memory(program, stages.module.constants)
    except InternalError:
        return False
    return True


def is_proved(stages: Stages, program: Program) -> bool:
    """Whether the proof accepts the memory and the meaning of `program`, a variation of the stages' own."""
    module = stages.module
    try:
        check_memory(program, module.constants)
        check_meaning(module, program, SELECTOR.select(module).selected, {})
    except InternalError:
        return False
    return True


def _step(machine: Machine, run: Run) -> tuple[Array, ...]:
    if run.signature == RESET:
        machine.reset()
        return ()
    return machine.run(run.signature, run.inputs)


def make_trial(data: bytes, label: str, pipeline: tuple[Pass, ...] = PIPELINE, sets: int = 3) -> Trial:
    """Compiles a model and evaluates its reference. Raises WorkError where that takes too long."""
    stages = compile_bytes(data, pipeline)
    signatures: Sequence[FileSignature | None] = stages.model.signatures or [None]
    rng = np.random.default_rng(len(data))
    sequence = []
    for number in range(sets):
        index = number % len(signatures)
        ports = stages.program.signatures[index].inputs
        inputs = random_inputs([(p.type.dtype.label, p.type.max_shape) for p in ports], rng)
        sequence.append((index, inputs))
    reference = Interpreter(stages.model, budget=Budget(WORK))
    runs = [Run(index, inputs, reference.invoke(signatures[index], inputs)) for index, inputs in sequence * 2]
    if stages.program.state:
        reference.reset()
        runs.append(Run(RESET, (), ()))
        runs += [Run(index, inputs, reference.invoke(signatures[index], inputs)) for index, inputs in sequence]
    return Trial(label, stages, tuple(runs))


def seeded_trials(seeds: Iterable[int]) -> list[Trial]:
    """The trials of random programs by their seeds, without those that run too long.

    Every other one skips the passes that it can do without, so that what they remove reaches the later stages.
    """
    trials = []
    for seed in seeds:
        pipeline = PIPELINE if seed % 2 == 0 else LEAST
        try:
            trials.append(make_trial(random_program(Seeded(seed)), f"seed {seed}", pipeline))
        except WorkError:
            continue
    return trials


def equal(got: tuple[Array, ...], wanted: tuple[Array, ...]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(got, wanted, strict=True))


def failures_in_c(trials: list[Trial], compiler: str = "gcc") -> list[str]:
    """The labels of trials whose generated C gives other outputs than the reference."""
    sources = {f"m{i}": trial.stages.sources(f"m{i}") for i, trial in enumerate(trials)}
    calls = [(i, run) for i, trial in enumerate(trials) for run in trial.runs]
    outputs = run_native(
        build_native(sources, compiler),
        [Invocation(i, run.signature, run.inputs) for i, run in calls],
        [trial.stages.program.signatures for trial in trials],
    )
    wrong = {i for (i, run), got in zip(calls, outputs, strict=True) if not equal(got, run.outputs)}
    return [trials[i].label for i in sorted(wrong)]
