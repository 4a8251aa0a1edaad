"""Caches of sliding windows that are given up for RAM: what they held is computed anew, and outputs stay the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.native import Invocation, build_native, run_native
from support.pipeline import HOST, SELECTOR
from support.window_cases import series
from support.window_models import dilated_tcn, ds_cnn, tc_resnet
from tflmgen.compiler import Compilation, compile_module
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.options import BuildOptions
from tflmgen.passes.pipeline import run_passes
from tflmgen.passes.sliding.slid_module import slide_trade_offs
from tflmgen.passes.sliding.window_request import parse_slides
from tflmgen.reference.module_interpreter import ModuleInterpreter

MORE = 5
"""TFLMGEN_MORE."""


@pytest.mark.parametrize("build", [ds_cnn, tc_resnet, dilated_tcn])
def test_fewer_caches_take_more_work_and_give_the_same(build: Callable[[], bytes]) -> None:
    """Layer by layer, rows are computed anew instead of kept; graphs in the reference interpreter."""
    module = run_passes(import_model(parse_model(build(), "m.tflite")))
    variants = slide_trade_offs(module, parse_slides(["t0=1,4"]), SELECTOR.operators)
    works = [variant.hops[0] for variant in variants]
    assert len(works) > 1
    assert [work.cache_bytes for work in works] == sorted({work.cache_bytes for work in works}, reverse=True)
    assert works[0].computed_macs == min(work.computed_macs for work in works) < works[-1].computed_macs
    assert {work.cone_macs for work in works} == {works[0].cone_macs}
    pushed, windows = series(variants[0].signatures[0].inputs, 3)
    whole = ModuleInterpreter(module)
    expected = [whole.invoke(module.signatures[0], arrays)[0] for arrays in windows]
    for variant in variants:
        interpreter = ModuleInterpreter(variant)
        outputs = [interpreter.invoke(variant.signatures[0], arrays)[0] for arrays in pushed]
        np.testing.assert_array_equal(outputs[-3:], expected)


def test_a_budget_of_ram_trades_caches_for_work() -> None:
    """In C: less RAM than the fastest plan takes, more work per hop, the same outputs."""
    module = import_model(parse_model(dilated_tcn(), "m.tflite"))
    slide = ["t0=1,4"]
    fastest = compile_module(module, "fastest", HOST, BuildOptions("fastest", slide=slide))
    budget = ram_of(fastest) * 9 // 10
    small = compile_module(module, "small", HOST, BuildOptions("small", slide=slide, ram_budget=str(budget)))
    assert ram_of(small) <= budget
    assert small.module.hops[0].cache_bytes < fastest.module.hops[0].cache_bytes
    pushed, _ = series(small.module.signatures[0].inputs, 5)
    missing = small.module.signatures[0].pushes - 1
    calls = [Invocation(m, 0, a, MORE if k < missing else 0) for m in (0, 1) for k, a in enumerate(pushed)]
    program = build_native({"fastest": fastest.sources, "small": small.sources})
    results = run_native(program, calls, [fastest.module.signatures, small.module.signatures])
    for wanted, outputs in zip(results[missing : len(pushed)], results[-5:], strict=True):
        np.testing.assert_array_equal(outputs[0], wanted[0])


def ram_of(compilation: Compilation) -> int:
    plan = compilation.plan
    return int(plan["arena"]["bytes"] + sum(variable["bytes"] for variable in plan["state"]))
