"""Several models in one library: each computes what it computes alone, in one arena, with a state of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflmgen
from numpy.typing import NDArray
from support.native import Invocation, build_native, run_native
from support.pipeline import Stages, compile_bytes, compile_parsed
from support.random_program import Seeded, random_inputs, random_program
from support.repository import ROOT
from tflmgen.api.model_session import ModelSession
from tflmgen.applications.link_models import link
from tflmgen.applications.program_source import model_keys
from tflmgen.frontend.tflite import parse_model

EXAMPLES = ROOT / "examples"
PATHS = tuple(EXAMPLES / path for path in ("gate.tflite", "whistle/whistle.tflite", "tracker/tracker.tflite"))
ROUNDS = 4
PROGRAMS, PER_PROGRAM = 24, 3
"""Random programs, and how many of them are linked to one library."""


def run_by_turns(
    sessions: Sequence[ModelSession], models: Sequence[tflmgen.CompiledModel], keys: Sequence[str | None]
) -> list[dict[str, NDArray[Any]]]:
    """Outputs of all models by turns, each invoked several times on the same seeded inputs."""
    rng = np.random.default_rng(3)
    outputs = []
    for _ in range(ROUNDS):
        for session, model, key in zip(sessions, models, keys, strict=True):
            ports = model.plan.signatures[0].inputs
            drawn = [
                rng.integers(-100, 100, port.shape).astype(port.dtype)
                if port.dtype.startswith("int")
                else rng.uniform(1, 9, port.shape).astype(port.dtype)
                for port in ports
            ]
            outputs.append(session.run(dict(zip([p.name for p in ports], drawn, strict=True)), key))
    return outputs


@pytest.mark.parametrize("board", ["host", pytest.param("mps2_an386", marks=pytest.mark.emulator)])
def test_models_compute_by_turns_what_they_compute_alone(board: str) -> None:
    alone = [tflmgen.compile(path, board) for path in PATHS]
    linked = tflmgen.compile(PATHS[0], board, also=PATHS[1:])
    with alone[0].session() as a, alone[1].session() as b, alone[2].session() as c:
        expected = run_by_turns((a, b, c), alone, (None, None, None))
    with linked.session() as session:
        actual = run_by_turns([session] * 3, alone, [path.stem for path in PATHS])
    for alone_outputs, outputs in zip(expected, actual, strict=True):
        assert alone_outputs.keys() == outputs.keys()
        assert all(np.array_equal(array, outputs[name]) for name, array in alone_outputs.items())
    assert linked.arena_bytes == max(model.arena_bytes for model in alone)
    assert linked.state_bytes == sum(model.state_bytes for model in alone)
    assert linked.weights_bytes <= sum(model.weights_bytes for model in alone)


def test_a_model_twice_has_its_constants_once_and_two_states() -> None:
    once = tflmgen.compile(PATHS[1], "host")
    twice = tflmgen.compile(PATHS[1], "host", also=[PATHS[1]], name="pair")
    assert (twice.weights_bytes, twice.arena_bytes) == (once.weights_bytes, once.arena_bytes)
    assert twice.state_bytes == 2 * once.state_bytes
    assert [s.key for s in twice.plan.signatures] == ["whistle", "whistle_2"]
    (header,) = (text for path, text in twice.sources.items() if path.endswith("pair.h"))
    assert "    PAIR_ENTRY_WHISTLE = 0,\n    PAIR_ENTRY_WHISTLE_2 = 1\n} pair_entry;" in header
    frame = np.full((1, 1, 8), 60, np.int8)
    with once.session() as session:
        first, second = (session.run({"frame": frame})["evidence"] for _ in range(2))
    with twice.session() as session:
        results = [session.run({"frame": frame}, key)["evidence"] for key in ("whistle", "whistle_2", "whistle_2")]
    assert np.array_equal(results, [first, first, second])


@pytest.mark.parametrize("batch", range(PROGRAMS // PER_PROGRAM))
def test_random_programs_linked_equal_themselves(batch: int) -> None:
    """Random control flow, functions, variables and signatures, interleaved, under sanitizers."""
    files = [random_program(Seeded(9000 + batch * PER_PROGRAM + i)) for i in range(PER_PROGRAM)]
    stages = [compile_bytes(data) for data in files]
    models = {f"p{i}": parse_model(data, f"p{i}.tflite") for i, data in enumerate(files)}
    whole = compile_parsed(link(models, "all.tflite", ""))
    libraries = {f"m{i}": stage.sources(f"m{i}") for i, stage in enumerate([*stages, whole])}
    places = [(m, s) for m, stage in enumerate(stages) for s in range(len(stage.module.signatures))]
    rng = np.random.default_rng(batch)
    calls = [(*places[k % len(places)], _drawn(stages, *places[k % len(places)], rng)) for k in range(4 * len(places))]
    invocations = [Invocation(m, s, arrays) for m, s, arrays in calls]
    invocations += [Invocation(PER_PROGRAM, places.index((m, s)), arrays) for m, s, arrays in calls]
    signatures = [stage.module.signatures for stage in [*stages, whole]]
    results = run_native(build_native(libraries), invocations, signatures)
    for expected, actual in zip(results[: len(calls)], results[len(calls) :], strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(expected, actual, strict=True))
    assert whole.program.arena_bytes <= max(stage.program.arena_bytes for stage in stages)
    assert whole.program.state_bytes <= sum(stage.program.state_bytes + 15 for stage in stages)


def _drawn(stages: Sequence[Stages], model: int, signature: int, rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
    ports = stages[model].module.signatures[signature].inputs
    return random_inputs([(port.type.dtype.label, port.type.max_shape) for port in ports], rng)


def test_keys_of_models_differ() -> None:
    assert model_keys([Path("a/x.tflite"), Path("b/x.tflite"), Path("b-c.onnx")]) == ("x", "x_2", "b_c")
