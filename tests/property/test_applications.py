"""Random applications in C, under sanitizers, against a simulation in Python that runs the stages one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tflmgen
from support.application_simulation import SimulatedApplication, expected_outputs, output_names
from support.native import Invocation, build_native, run_native
from support.pipeline import compile_parsed
from support.random_applications import random_application, random_inputs
from tflmgen.applications import read_program
from tflmgen.options import BuildOptions

STEPS, BATCH = 40, 8


def check_batch(seeds: range, tmp_path: Path) -> tuple[int, int]:
    """Compares the applications of these seeds; (stages skipped, stages run) in all steps."""
    libraries, calls, wanted, signatures = {}, [], [], []
    ran = [0, 0]
    for place, seed in enumerate(seeds):
        folder = tmp_path / str(seed)
        folder.mkdir()
        path, tables = random_application(seed, folder)
        stages = compile_parsed(read_program(path, BuildOptions()))
        libraries[f"m{place}"] = stages.sources(f"m{place}")
        signatures.append(stages.module.signatures)
        simulated, rng = SimulatedApplication(folder, tables), np.random.default_rng(seed)
        for _ in range(STEPS):
            inputs = random_inputs(rng)
            simulated.step(inputs)
            calls.append(Invocation(place, 0, tuple(inputs.values())))
            wanted.append((seed, output_names(tables), expected_outputs(simulated, output_names(tables))))
            for stage in simulated.stages.values():
                ran[stage.ran] += 1
    for (seed, names, arrays), actual in zip(
        wanted, run_native(build_native(libraries), calls, signatures), strict=True
    ):
        for name, expected, output in zip(names, arrays, actual, strict=True):
            same = (
                np.allclose(output, expected, 1e-5, 1e-5)
                if output.dtype == np.float32
                else np.array_equal(output, expected)
            )
            assert same, f"seed {seed}: {name} is {output}, not {expected}"
    return ran[0], ran[1]


@pytest.mark.parametrize("batch", range(2))
def test_random_applications_equal_their_simulation(batch: int, tmp_path: Path) -> None:
    skipped, run = check_batch(range(batch * BATCH, (batch + 1) * BATCH), tmp_path)
    assert min(skipped, run) > BATCH * STEPS / 4


@pytest.mark.emulator
def test_an_application_on_a_board_equals_its_simulation(tmp_path: Path) -> None:
    path, tables = random_application(7, tmp_path)
    simulated, rng, names = SimulatedApplication(tmp_path, tables), np.random.default_rng(7), output_names(tables)
    with tflmgen.compile(path, "mps2_an386").session() as session:
        for _ in range(STEPS):
            inputs = random_inputs(rng)
            simulated.step(inputs)
            outputs = session.run(inputs)
            for name, expected in zip(names, expected_outputs(simulated, names), strict=True):
                assert np.allclose(outputs[name], expected, 1e-5, 1e-5), name


@pytest.mark.sweep
@pytest.mark.parametrize("batch", range(100, 200))
def test_many_random_applications_equal_their_simulation(batch: int, tmp_path: Path) -> None:
    check_batch(range(batch * BATCH, (batch + 1) * BATCH), tmp_path)
