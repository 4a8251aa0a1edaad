"""The models of the corpus whose kernels are counted, for cost models and for the choice of kernels."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tflmgen.errors import TflmgenError
from tflmgen.hardware import load_board
from tflmgen.input_sets import generator_inputs
from tflmgen.options import BuildOptions, Optimize
from tflmgen.project import plan_for

from support.corpus import corpus_models
from support.counted_calls import kernel_calls

LARGEST, SMALLEST, MOST = 400_000, 20_000, 20_000_000
"""Bytes of the largest file; estimated cycles of the smallest model, where nothing is to choose by, and of the largest,
which take minutes in QEMU."""


def counted_models(board: str) -> Iterator[Path]:
    """Models of SMALLEST to MOST cycles, those of equal calls once; without those that need a plug-in, bounds of
    dimensions, or inputs with a meaning."""
    known = set()
    for path in corpus_models():
        if path.stat().st_size > LARGEST:
            continue
        with contextlib.suppress(TflmgenError):
            compilation = plan_for(path, load_board(board), BuildOptions(optimize=Optimize.SPEED))
            generator_inputs(compilation.module.signatures[0])
            expected = sum(step["expected"]["cycles"] for step in compilation.plan["steps"] if step.get("expected"))
            calls = tuple(sorted(repr((call.function, call.params)) for call in kernel_calls(compilation).values()))
            if SMALLEST <= expected <= MOST and calls not in known:
                known.add(calls)
                yield path
