"""Fifty pushes in a row give, bit for bit, what fifty whole windows give: in C, under sanitizers, as users build it."""

from __future__ import annotations

import numpy as np
import pytest
from support.native import RESET, Invocation, build_native, run_native
from support.pipeline import HOST
from support.window_cases import WindowCase, built_cases, corpus_cases, series
from tflmgen.compiler import compile_module
from tflmgen.options import BuildOptions, Optimize

STEPS = 50
"""Complete windows that are compared, each a hop after the one before."""
MORE = 5
"""TFLMGEN_MORE."""
LARGEST_RATIO = 1.15
"""Multiply-accumulates of a hop, by those of its exact cone."""
IN_CI = {"attention-float32", "averaging-int8", "looping"}
GOALS = (Optimize.BALANCED, Optimize.RAM, Optimize.SPEED)
"""Of the plans of the first, the second and the third hop."""


def cases() -> list[object]:
    return [
        pytest.param(case, id=case.name, marks=() if case.name in IN_CI else pytest.mark.sweep)
        for case in (*built_cases(), *corpus_cases())
    ]


@pytest.mark.parametrize("case", cases())
def test_pushes_give_what_whole_windows_give(case: WindowCase) -> None:
    module = case.load()
    whole = compile_module(module, "whole", HOST, BuildOptions("whole"))
    for hop, goal in zip(case.hops, GOALS, strict=True):
        options = BuildOptions("slid", optimize=goal, slide=case.slides(module, hop), slide_phases=True)
        slid = compile_module(module, "slid", HOST, options)
        assert all(work.computed_macs <= LARGEST_RATIO * work.cone_macs for work in slid.module.hops)
        (signature, *_) = slid.module.signatures
        pushed, windows = series(signature.inputs, STEPS)
        missing = signature.pushes - 1
        calls = [Invocation(0, 0, arrays) for arrays in windows]
        calls += [
            Invocation(1, 0, arrays, MORE if k < missing else 0) for k, arrays in enumerate(pushed[: missing + 1])
        ]
        calls += [Invocation(1, RESET, ())]
        calls += [Invocation(1, 0, arrays, MORE if k < missing else 0) for k, arrays in enumerate(pushed)]
        program = build_native({"whole": whole.sources, "slid": slid.sources})
        results = run_native(program, calls, [whole.module.signatures, slid.module.signatures])
        for step, (expected, outputs) in enumerate(zip(results[:STEPS], results[-STEPS:], strict=True)):
            for array, pushed_array in zip(expected, outputs, strict=True):
                np.testing.assert_array_equal(pushed_array, array, f"hop {hop}, step {step}")
