"""The C text of Programs is what the checker of text finds in it, and corrupted text is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.mutate_text import DESCRIPTOR, HEADER, PLAN, WEIGHTS, Mutator
from support.mutation_campaign import NAME, is_read, libraries
from support.random_program import Seeded
from tflmgen.backend import Sources

SEEDS = [range(16), pytest.param(range(16, 600), marks=pytest.mark.sweep)]
ROUNDS = 2


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
    for label, program, sources in libraries(seeds, "**/*.tflite"):
        assert is_read(program, sources), label
        for mutator, corrupted in mutants(sources, label):
            assert not is_read(program, corrupted), (label, mutator.__name__)
            refused[mutator.__name__] += 1
    assert set(refused) >= {mutator.__name__ for mutator in (*PLAN, *WEIGHTS, *HEADER, *DESCRIPTOR)} - {"change_limit"}
