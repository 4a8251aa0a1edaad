"""Plans of random networks whose outputs lie over inputs: the checker takes them at just the distances that hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from support.pipeline import compile_bytes
from support.random_chain import random_chain
from support.trial import is_memory_proved
from tflmgen.ir.program.instructions import Fixed, InputArgument, KernelCall, OutputArgument, Program

SEEDS = range(60)

Change = Callable[[KernelCall], KernelCall]


def _ahead(call: KernelCall) -> list[int | None]:
    """For each input that the output lies over, how far ahead of it the output begins; None where they are apart."""
    [output] = [a for a in call.arguments if isinstance(a, OutputArgument)]
    distances: list[int | None] = []
    for source in (a for a in call.arguments if isinstance(a, InputArgument)):
        output_place, source_place = output.access.place, source.access.place
        if (
            isinstance(output_place, Fixed)
            and isinstance(source_place, Fixed)
            and output_place.memory == source_place.memory
        ):
            ahead = source_place.offset - output_place.offset
            distances.append(ahead if -source.access.bytes < ahead < output.access.bytes else None)
    return distances


def changed(program: Program, change: Change) -> Program:
    """The program with those calls of its only function changed whose outputs lie over inputs, and not in place."""
    [function] = program.functions
    body = tuple(change(c) if isinstance(c, KernelCall) and any(_ahead(c)) else c for c in function.body)
    return replace(program, functions=(replace(function, body=body),))


def turned(call: KernelCall) -> KernelCall:
    return replace(call, overlaps=tuple(replace(o, behind=not o.behind) for o in call.overlaps))


def tighter(call: KernelCall) -> KernelCall:
    """Claims a byte less than what the plan makes use of."""
    used = max((abs(ahead) for ahead in _ahead(call) if ahead), default=0)
    return replace(call, overlaps=tuple(replace(o, distance=used + 1) for o in call.overlaps))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_distances_are_proved(dtype: str) -> None:
    plans = [compile_bytes(random_chain(seed, dtype)) for seed in SEEDS]
    assert all(is_memory_proved(stages, stages.program) for stages in plans)
    overlapping = [
        s for s in plans if any(isinstance(c, KernelCall) and any(_ahead(c)) for c in s.program.functions[0].body)
    ]
    assert len(overlapping) > 20
    for change in (lambda call: replace(call, overlaps=()), turned, tighter):
        assert not any(is_memory_proved(stages, changed(stages.program, change)) for stages in overlapping)
