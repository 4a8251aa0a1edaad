"""Sliding windows compute what whole windows do, from the first complete one on: in C, under sanitizers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.native import RESET, Invocation, build_native, run_native
from support.pipeline import HOST, SELECTOR
from support.random_windows import Windowed, random_window
from tflmgen.backend.c_library import Sources, emit
from tflmgen.backend.lowering import lower
from tflmgen.errors import ModelError
from tflmgen.explore.ram_trade_offs import choose_plan
from tflmgen.explore.search import best_candidate
from tflmgen.explore.streams.chain import row_streams
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.graph.module import Module
from tflmgen.ir.program.instructions import Program
from tflmgen.options import Optimize
from tflmgen.passes.pipeline import run_passes
from tflmgen.passes.sliding import rings
from tflmgen.passes.sliding.slid_module import slide_inputs
from tflmgen.passes.sliding.window_request import parse_slides
from tflmgen.proof.symbolic_memory import check_memory
from tflmgen.reference.module_interpreter import ModuleInterpreter

MORE = 5
"""TFLMGEN_MORE."""
HOPS = (1, 2, 3, 4, 6, 8, 12)
WINDOWS = 5
"""Complete windows that are compared, each a hop after the one before."""
LARGEST_RATIO = 1.15
"""Multiply-accumulates of a hop, by those of its exact cone."""

Arrays = list[NDArray[Any]]


@pytest.fixture(autouse=True)
def _rings_of_few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caches of small networks are rings as those of large ones, where that saves a byte."""
    monkeypatch.setattr(rings, "LEAST_BYTES_SAVED", 1)


def ring_count(module: Module) -> int:
    return sum(name.endswith(": oldest") for name in module.state)


def slid_module(module: Module, axis: int, seed: int) -> Module | None:
    """The module with a sliding window: the first hop, from one that the seed chooses, that saves work.

    Every other seed keeps phases of hops that strides do not divide.
    """
    name = module.signatures[0].inputs[0].name
    first = seed % 3
    for hop in (*HOPS[first:], *HOPS[:first]):
        try:
            return slide_inputs(module, parse_slides([f"{name}={axis},{hop}"]), SELECTOR.operators, bool(seed & 2))
        except ModelError:
            continue
    return None


def program_of(module: Module, seed: int) -> Program:
    if seed % 4 == 0:
        plan = choose_plan([module], SELECTOR, Optimize.RAM, None)
        module, best = plan.module, plan.best
    else:
        best = best_candidate(module, SELECTOR.select(module, row_streams(module, HOST)))
    program = lower(module, best)
    check_memory(program, module.constants)
    return program


def rows_of(module: Module, seed: int) -> tuple[Arrays, Arrays]:
    """Hops in order, and the complete windows, the last of which end with the last hops."""
    (port,), pushes = module.signatures[0].inputs, module.signatures[0].pushes
    assert port.slide is not None
    axis, hop, rows = port.slide.axis, port.slide.hop, port.type.max_shape[port.slide.axis]
    shape = [*port.type.max_shape]
    shape[axis] = hop * (pushes + WINDOWS - 1)
    rng = np.random.default_rng(seed)
    scale = 1.0 if port.type.dtype.is_float else 60.0
    series = (rng.normal(size=shape) * scale).astype(port.type.dtype.numpy)
    hops = np.split(series, pushes + WINDOWS - 1, axis)
    ends = [hop * (pushes + k) for k in range(WINDOWS)]
    return hops, [np.take(series, range(end - rows, end), axis) for end in ends]


CHUNKS = [pytest.param(range(first, first + 128), marks=pytest.mark.sweep) for first in range(6, 1030, 128)]


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@pytest.mark.parametrize("seeds", [range(6), *CHUNKS])
def test_windows_that_slide_compute_the_same(seeds: range, dtype: str) -> None:
    slid_count = 0
    for first in range(seeds.start, seeds.stop, 16):
        slid_count += _compared(range(first, min(first + 16, seeds.stop)), dtype)
    assert slid_count > len(seeds) // 3


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize(
    "seeds", [range(2000, 2040), pytest.param(range(2040, 4000), marks=pytest.mark.sweep)], ids=["40", "1960"]
)
def test_graphs_of_a_hop_compute_the_same(seeds: range, dtype: str) -> None:
    """The graphs in the reference interpreter, which costs a fraction of a compiled program."""
    slid_count = with_rings = 0
    for seed in seeds:
        window = random_window(seed, dtype)
        module = run_passes(import_model(parse_model(window.data, "m.tflite")))
        slid = slid_module(module, window.axis, seed) if len(module.signatures[0].inputs) == 1 else None
        if slid is None:
            continue
        slid_count += 1
        with_rings += ring_count(slid) > 0
        hops, windows = rows_of(slid, seed)
        whole, moving = ModuleInterpreter(module), ModuleInterpreter(slid)
        pushed = [moving.invoke(slid.signatures[0], [rows]) for rows in hops][-WINDOWS:]
        for array, outputs in zip(windows, pushed, strict=True):
            for wanted, computed in zip(whole.invoke(module.signatures[0], [array]), outputs, strict=True):
                np.testing.assert_array_equal(computed, wanted, f"seed {seed} of {dtype}")
    assert slid_count > len(seeds) // 3
    assert with_rings > len(seeds) // 8


def _compared(seeds: range, dtype: str) -> int:
    """How many of these networks slide; each gives bit for bit what whole windows give, twice with a reset between."""
    sources: dict[str, Sources] = {}
    signatures, calls = [], []
    for seed in seeds:
        window: Windowed = random_window(seed, dtype)
        module = run_passes(import_model(parse_model(window.data, "m.tflite")))
        slid = slid_module(module, window.axis, seed) if len(module.signatures[0].inputs) == 1 else None
        if slid is None:
            continue
        assert slid.hops[0].computed_macs <= LARGEST_RATIO * slid.hops[0].cone_macs
        hops, windows = rows_of(slid, seed)
        statuses = [MORE] * (slid.signatures[0].pushes - 1) + [0] * WINDOWS
        whole, moving = len(sources), len(sources) + 1
        calls += [Invocation(whole, 0, (array,)) for array in windows]
        pushed = [Invocation(moving, 0, (array,), status) for array, status in zip(hops, statuses, strict=True)]
        calls += [*pushed[: seed % 7], Invocation(moving, RESET, ())] if seed % 2 else []
        calls += pushed
        for name, variant in (("whole", module), ("slid", slid)):
            sources[f"{name}_{seed}"] = emit(program_of(variant, seed), f"{name}_{seed}", "", "")
            signatures.append(variant.signatures)
    results = [
        (call, outputs)
        for call, outputs in zip(calls, run_native(build_native(sources), calls, signatures), strict=True)
        if call.status == 0 and call.signature != RESET
    ]
    by_model: dict[int, list[tuple[NDArray[Any], ...]]] = {}
    for call, outputs in results:
        by_model.setdefault(call.model, []).append(outputs)
    for model in range(0, len(sources), 2):
        label = list(sources)[model]
        for whole_outputs, slid_outputs in zip(by_model[model], by_model[model + 1][-WINDOWS:], strict=True):
            for wanted, computed in zip(whole_outputs, slid_outputs, strict=True):
                np.testing.assert_array_equal(computed, wanted, f"{label} of {dtype}")
    return len(sources) // 2
