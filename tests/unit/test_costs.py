"""Cost models of kernels: the table fits the models, and what is chosen by them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.kernel_harness import constant, make_case, tensor
from tflmgen.ir.kernel import Kernel, Params, Scratch, Target
from tflmgen.kernels import candidates as fast
from tflmgen.kernels.costs.estimate import CORES, FAMILIES, Estimate, estimate, terms_of
from tflmgen.kernels.costs.table import COSTS

SHAPE = {
    "batches": 1,
    "input_channels": 8,
    "output_channels": 16,
    "filter_channels": 8,
    "chunks": 2,
    "steps": 18,
    "part_steps": 12,
    "row_pitch": 24,
    "line": 10,
    "strip": 4,
    "columns": 1,
    "words": 6,
    "direct": 1,
    "pixels": 8,
    "squares": 1,
    "by_twos": 1,
    "pairs": 5,
    "groups": 2,
    "group_inputs": 4,
    "group_outputs": 8,
    "pads": 1,
    "loads": 3,
    "singles": 2,
    **{f"batches{place}": 2 for place in range(3)},
    "rows": 7,
    "right_column_stride": 1,
    "right_zero_point": 3,
    "terms": 72,
    "output_min": -128,
    "output_max": 127,
    **{f"{what}_{along}": 8 for what in ("input", "output") for along in ("height", "width")},
    **{f"{what}_{along}": 1 for what in ("stride", "dilation") for along in ("height", "width")},
    "filter_height": 3,
    "filter_width": 3,
    "padding_top": 1,
    "padding_left": 1,
    "depth": 64,
    "units": 10,
    "count": 100,
    "inputs": 20,
    "cells": 12,
    "cell_clip": 0,
    "memory": 8,
    "backward": 0,
    "elements": 100,
    "zero": 3,
    "least": -128,
    "greatest": 100,
    "rank": 3,
    "extent": (2, 3, 21, 0, 0, 0),
    "stride1": (63, 21, 1, 0, 0, 0),
    "stride2": (0, 1, 0, 0, 0, 0),
    "gathered": 1,
    "outputs": 12,
    "coupled": 0,
}


def kernel(name: str, *operands: Scratch, variant: str = "dsp") -> Kernel:
    return Kernel(
        f"tflmgen_{name}", "some.h", operands, Params("some", tuple(SHAPE.items())), macs=100, variant=variant
    )


@pytest.mark.parametrize("name", [name for name, _ in FAMILIES if any(family == name for family, _ in COSTS)])
def test_table_has_a_factor_for_each_term(name: str) -> None:
    known = terms_of(kernel(name))
    assert known is not None
    for (family, _), (instructions, cycles) in COSTS.items():
        if family == name:
            assert len(known[1]) == len(instructions) == len(cycles)


def test_every_core_that_is_measured_has_models() -> None:
    assert {core for _, core in COSTS} == set(CORES.values())


def test_nothing_is_said_of_other_kernels_and_cores() -> None:
    assert estimate(kernel("softmax_s8"), "cortex-m4") is None
    assert estimate(kernel("conv2d_dsp_clamped_s8"), "host") is None


def test_terms_of_rows() -> None:
    """Six rows of 21 elements by an element each, four at a time, and a pass that clamps all."""
    known = terms_of(kernel("add_rows_dsp_22_s8"))
    assert known is not None
    assert known[1] == (1, 6, 3, *[0] * 4, 6, 30, 6, 6, *[0] * 16, 1, 31, 2)


@pytest.mark.parametrize(
    ("name", "core", "add", "passes"),
    [
        ("conv2d_dsp_clamped_s8", "cortex-m4", "add_dsp", (1, 8 * 8 * 16 // 4, 0)),
        ("conv2d_thumb_clamped_s8", "cortex-m0", "add_thumb", (1, 8 * 8 * 16)),
        ("conv2d_s16_dsp", "cortex-m4", "add_dsp", (0, 0, 0)),
    ],
)
def test_clamping_costs_what_it_does_after_an_addition(name: str, core: str, add: str, passes: tuple[int, ...]) -> None:
    plain, shape = kernel(name), {**SHAPE, "output_max": 100}
    clamping = replace(plain, params=Params("some", tuple(shape.items())))
    first, second = estimate(plain, core), estimate(clamping, core)
    assert first is not None
    assert second is not None
    factors = COSTS[add, core][0][-len(passes) :]
    expected = sum(count * factor for count, factor in zip(passes, factors, strict=True))
    assert second.instructions - first.instructions == pytest.approx(expected, abs=1)


def choose(monkeypatch: pytest.MonkeyPatch, **costs: tuple[int, int]) -> Kernel:
    known = {f"tflmgen_{name}": Estimate(*cost) for name, cost in costs.items()}
    monkeypatch.setattr(fast, "estimate", lambda one, _: known.get(one.function))
    names = ("small", "large", "portable")
    scratch = {"small": Scratch(100), "large": Scratch(400), "portable": Scratch(0)}
    made = [kernel(name, scratch[name], variant="portable" if name == "portable" else "dsp") for name in names]
    return fast.fastest(made, Target("cortex-m4"))


def test_fewest_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = choose(monkeypatch, small=(100, 900), large=(200, 500), portable=(700, 800))
    assert chosen.function == "tflmgen_large"
    assert [one.function for one in chosen.considered] == ["tflmgen_portable", "tflmgen_small"]
    assert [one.function for one in chosen.alternatives] == ["tflmgen_small", "tflmgen_portable"]


def test_fewest_instructions_where_cycles_are_near(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose(monkeypatch, small=(100, 540), large=(200, 500), portable=(90, 551)).function == "tflmgen_small"


def test_a_portable_one_may_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = choose(monkeypatch, small=(100, 900), large=(200, 500))
    assert chosen.function == "tflmgen_large"
    assert [one.function for one in chosen.considered] == ["tflmgen_small"]


def test_the_first_where_one_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose(monkeypatch, large=(200, 500), portable=(90, 100)).function == "tflmgen_small"


def test_floats_have_costs_where_there_is_a_floating_point_unit() -> None:
    case = make_case(
        "FULLY_CONNECTED",
        [tensor("float32", (1, 16)), constant("float32", np.ones((8, 16))), constant("float32", np.ones(8))],
        [tensor("float32", ())],
    )
    found = {
        features: replace(case, target=Target("cortex-m4", frozenset(features))).kernel
        for features in (("dsp", "fpu"), ("dsp",))
    }
    assert [made.variant for made in found.values()] == ["fpu", "portable"]
    assert [made.cycles > 0 for made in found.values()] == [True, False]
