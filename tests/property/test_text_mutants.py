"""The C text of Programs is what the checker of text finds in it, and corrupted text is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.mutate_text import DESCRIPTOR, HEADER, PLAN, WEIGHTS, Mutator
from support.pipeline import compile_bytes
from support.random_program import Seeded
from support.repository import ROOT
from support.trial import seeded_trials
from tflmgen.backend import Sources
from tflmgen.compiler import check_sources
from tflmgen.errors import InternalError
from tflmgen.ir import Program

NAME = "m"
SEEDS = [range(40), pytest.param(range(40, 600), marks=pytest.mark.sweep)]
ROUNDS = 2


def libraries(seeds: range) -> Iterator[tuple[str, Program, Sources]]:
    """Random programs, and the examples, which have kernels with structs and weights."""
    for trial in seeded_trials(seeds):
        yield trial.label, trial.stages.program, trial.stages.sources(NAME)
    for path in sorted((ROOT / "examples").rglob("*.tflite")):
        if path.stem != "erfinv":
            stages = compile_bytes(path.read_bytes())
            yield path.stem, stages.program, stages.sources(NAME)


def accepts(program: Program, sources: Sources) -> bool:
    try:
        check_sources(program, NAME, sources)
    except InternalError:
        return False
    return True


def mutants(sources: Sources, label: str) -> Iterator[tuple[Mutator, Sources]]:
    choose = Seeded(len(label))
    parts = (
        (f"src/{NAME}.c", PLAN),
        (f"src/{NAME}_weights.h", WEIGHTS),
        (f"include/{NAME}.h", HEADER),
        (f"src/{NAME}_model.c", DESCRIPTOR),
    )
    for path, mutators in parts:
        text = sources.files[path]
        for mutator in mutators * ROUNDS:
            changed = mutator(text, choose)
            if changed != text:
                yield mutator, replace(sources, files={**sources.files, path: changed})


@pytest.mark.parametrize("seeds", SEEDS)
def test_corrupted_text_is_refused(seeds: range) -> None:
    refused: Counter[str] = Counter()
    for label, program, sources in libraries(seeds):
        assert accepts(program, sources), label
        for mutator, corrupted in mutants(sources, label):
            assert not accepts(program, corrupted), (label, mutator.__name__)
            refused[mutator.__name__] += 1
    assert set(refused) >= {mutator.__name__ for mutator in (*PLAN, *WEIGHTS, *HEADER, *DESCRIPTOR)} - {"change_limit"}
