"""Kernels for the DSP extension and for MVE against the portable ones, on emulated cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from differential import mixed, weighted
from support import conv_cases, dsp_cases
from support.emulated_kernels import M0, M3, M4, M7, M55, Machine, Run, check_on, kernel_for, kernels_for
from support.kernel_harness import Array, Case, broken_rules, claims, constant, host_outputs, make_case, tensor
from support.padded_cases import explicitly_padded
from support.recurrent_sizes import lstm, lstm_any_cells, svdf_in
from support.sampling import sampled

pytestmark = pytest.mark.emulator

Make = Callable[[np.random.Generator], tuple[Case, Sequence[Array | None]]]

CASES_IN_BOTH: dict[str, Make] = {
    "conv2d": dsp_cases.conv2d,
    "conv2d_beyond": lambda rng: dsp_cases.conv2d(rng, beyond=True),
    "conv2d_dot": dsp_cases.conv2d_dot,
    "depthwise3x3": dsp_cases.depthwise3x3,
    "depthwise_window": dsp_cases.depthwise_window,
    "grouped": dsp_cases.grouped,
    "transpose_conv": dsp_cases.transpose_conv,
    "add": dsp_cases.add,
    "mul": dsp_cases.mul,
    "fully_connected": dsp_cases.fully_connected,
    "average_pool2d": dsp_cases.average_pool2d,
    "max_pool2d": dsp_cases.max_pool2d,
}
"""Cases most of which the fast kernels take."""

VECTOR = CASES_IN_BOTH | {
    "batch_matmul": dsp_cases.batch_matmul,
    "depthwise_filters": dsp_cases.depthwise_filters,
}
"""Those of MVE."""

RECURRENT: dict[str, Make] = {
    "svdf int8": svdf_in("int8"),
    "svdf int16": svdf_in("int16"),
    "lstm": lstm,
    "lstm any cells": lstm_any_cells,
}
"""Those with a state, which lies over its old contents."""

ANY: dict[str, Make] = {
    "conv2d": lambda rng: conv_cases.conv2d(rng, "int8"),
    "depthwise_conv2d": lambda rng: conv_cases.depthwise_conv2d(rng, "int8"),
    "fully_connected": lambda rng: conv_cases.fully_connected(rng, "int8"),
}
"""The portable kernels' own cases: whatever the fast kernels take of them."""


EVERYWHERE: dict[str, Make] = {
    **{
        name: CASES_IN_BOTH[name]
        for name in (
            "conv2d",
            "conv2d_beyond",
            "conv2d_dot",
            "grouped",
            "depthwise3x3",
            "depthwise_window",
            "fully_connected",
            "add",
            "mul",
        )
    },
    "depthwise_filters": dsp_cases.depthwise_filters,
    "fully_connected_few": dsp_cases.fully_connected_few,
    "transpose_conv": dsp_cases.transpose_conv,
}
"""Those that there are kernels for which run on every Cortex-M."""

VARIANTS = ("thumb", "dsp", "mve")


def check(machine: Machine, cases: Sequence[tuple[Case, Sequence[Array | None]]], folder: Path, optimize: str) -> int:
    """Runs what has a fast kernel, apart from and over its input; how many cases that was."""
    vectorised = [run for run in cases if kernel_for(run[0], machine).variant in VARIANTS]
    runs = []
    for (case, values), expected in zip(vectorised, host_outputs(vectorised), strict=True):
        for kernel in kernels_for(case, machine):
            more = (replace(o, distance=o.distance + o.multiple) for o in claims(kernel) if o.multiple > 1)
            overlaps = None, *claims(kernel), *more
            runs += [Run(case, values, expected, overlap, kernel) for overlap in overlaps]
    check_on(machine, runs, folder, optimize)
    return len(vectorised)


LAYERS = {"-O2": 12, "-Os": 6, "-O0": 6}
"""How many layers with a fast kernel are tried at least; what -O2 has found need not be found again."""


def in_both_sizes(names: Iterable[str]) -> list[Any]:
    """(name, optimisation): every fourth name for least code always, the rest with -m sweep."""
    kinds = list(names)
    return [*product(kinds, ["-O2"]), *sampled(list(product(kinds, ["-Os"])), every=4)]


def draws_of(name: str, optimize: str) -> int:
    """Layers, so many that LAYERS get a fast kernel: of some kinds, few fit the conditions."""
    return (4 if name in ("fully_connected", "batch_matmul") else 2) * LAYERS[optimize]


@pytest.mark.parametrize(("name", "optimize"), in_both_sizes(CASES_IN_BOTH))
def test_fast_kernels_are_exact(name: str, optimize: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    layers = [CASES_IN_BOTH[name](rng) for _ in range(draws_of(name, optimize))]
    assert check(M4, layers, tmp_path, optimize) >= LAYERS[optimize]


@pytest.mark.parametrize("name", ["conv2d", "grouped"])
def test_small_kernels_are_exact(name: str, tmp_path: Path) -> None:
    """Those of --optimize size."""
    rng = np.random.default_rng(9)
    small = replace(M4, target=replace(M4.target, optimize="size"))
    assert check(small, [CASES_IN_BOTH[name](rng) for _ in range(24)], tmp_path, "-Os") >= 12


@pytest.mark.parametrize(
    ("machine", "optimize"),
    [(M4, "-O2"), (M4, "-Os"), (M55, "-O2"), (M0, "-O2"), (M0, "-Os")],
    ids=["m4", "m4s", "m55", "m0", "m0s"],
)
@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent_kernels_are_exact(name: str, machine: Machine, optimize: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    layers = [RECURRENT[name](rng) for _ in range(2 * LAYERS[optimize])]
    assert check(machine, layers, tmp_path, optimize) >= len(layers) - 4


@pytest.mark.parametrize(
    ("name", "optimize"), [*in_both_sizes(VECTOR), ("add", "-O0"), ("mul", "-O0"), ("conv2d", "-O0")]
)
def test_vector_kernels_are_exact(name: str, optimize: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    layers = [VECTOR[name](rng) for _ in range(draws_of(name, optimize))]
    assert check(M55, layers, tmp_path, optimize) >= LAYERS[optimize]


@pytest.mark.parametrize(("name", "optimize"), in_both_sizes(EVERYWHERE))
def test_thumb_kernels_are_exact(name: str, optimize: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    layers = [EVERYWHERE[name](rng) for _ in range(LAYERS[optimize] * 8 // 3)]
    assert check(M0, layers, tmp_path, optimize) >= len(layers) // 2


def test_thumb_kernels_are_exact_on_an_m3(tmp_path: Path) -> None:
    """It runs the same code as the M0."""
    rng = np.random.default_rng(4)
    layers = [EVERYWHERE["conv2d"](rng) for _ in range(32)]
    assert check(M3, layers, tmp_path, "-O2") >= 16


WITHIN: dict[str, Make] = {
    "fully_connected int16": lambda rng: conv_cases.fully_connected(rng, "int16"),
    "conv2d int16": lambda rng: conv_cases.conv2d(rng, "int16"),
    "batch_matmul int8": lambda rng: weighted.batch_matmul(rng, "int8"),
    "batch_matmul int16": lambda rng: weighted.batch_matmul(rng, "int16"),
    "batch_matmul int16 by int8": lambda rng: mixed.batch_matmul(rng, "int16"),
    "batch_matmul float32 by int8": lambda rng: mixed.batch_matmul(rng, "float32"),
    "fully_connected float32 by int8": lambda rng: conv_cases.fully_connected(rng, "hybrid"),
    "fully_connected float32 by blocks": lambda rng: mixed.by_blocks(rng, "float32"),
    "conv2d float32 by int8": lambda rng: conv_cases.conv2d(rng, "hybrid"),
}
"""Kernels for every core whose innermost loops have other forms for the DSP extension and for MVE (dot.h)."""


@pytest.mark.parametrize("machine", [M4, M55], ids=["m4", "m55"])
@pytest.mark.parametrize("name", WITHIN)
def test_inner_loops_are_exact(name: str, machine: Machine, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    cases = [case for case in (WITHIN[name](rng) for _ in range(60)) if not broken_rules(case[0])]
    runs = [Run(case, values, outputs) for (case, values), outputs in zip(cases, host_outputs(cases), strict=True)]
    check_on(machine, runs, tmp_path, "-O2")


@pytest.mark.parametrize("optimize", ["-O2", "-Os"])
def test_means_without_division_are_exact(optimize: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    cases = [dsp_cases.average_pool2d(rng) for _ in range(40)]
    cases += [explicitly_padded(rng, case, True)[0] for case in cases[:20]]
    cases = [case for case in cases if not broken_rules(case[0])]
    runs = [Run(case, values, outputs) for (case, values), outputs in zip(cases, host_outputs(cases), strict=True)]
    check_on(M0, runs, tmp_path, optimize)


@pytest.mark.parametrize("optimize", ["-O2", "-Os"])
def test_tables_are_exact(optimize: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    cases = [dsp_cases.lookup(rng) for _ in range(40)]
    runs = []
    for (case, values), outputs in zip(cases, host_outputs(cases), strict=True):
        for overlap in (None, *claims(kernel_for(case, M55))):
            runs.append(Run(case, values, outputs, overlap))
    check_on(M55, runs, tmp_path, optimize)


def fully_connected_above_a_half(rng: np.random.Generator) -> tuple[Case, Sequence[Array | None]]:
    """A layer whose scale is above a half, so that its sums are rounded once, and of which half are negative."""
    x, y = tensor("int8", (2, 24), 0.05), tensor("int8", (), 0.0009)
    w = constant("int8", rng.integers(-1, 2, (6, 24)).astype(np.int8), 0.01)
    case = make_case("FULLY_CONNECTED", [x, w, None], [y], {"fused_activation_function": 0, "keep_num_dims": False})
    return case, [rng.integers(-128, 128, (2, 24)).astype(np.int8), None, None]


def test_sums_that_are_rounded_once_are_exact(tmp_path: Path) -> None:
    """Scales above a half have one rounding only; what is fixed for two would lose one below zero."""
    rng = np.random.default_rng(11)
    cases = [fully_connected_above_a_half(rng) for _ in range(10)]
    assert any(kernel_for(case, M4).variant == "dsp" for case, _ in cases)
    runs = [Run(case, values, outputs) for (case, values), outputs in zip(cases, host_outputs(cases), strict=True)]
    check_on(M4, runs, tmp_path, "-O2")


@pytest.mark.parametrize("machine", [M7, M0], ids=["m7", "m0"])
@pytest.mark.parametrize("name", ANY)
def test_odd_cases(name: str, machine: Machine, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    assert check(machine, [ANY[name](rng) for _ in range(80)], tmp_path, "-O2") >= 3


@pytest.mark.parametrize(
    ("name", "machine"),
    [
        *((name, machine) for name in ("conv2d", "depthwise3x3", "depthwise_window") for machine in (M4, M55)),
        *((name, M0) for name in ("conv2d", "depthwise3x3", "depthwise_window")),
        *((name, machine) for name in ("average_pool2d", "max_pool2d") for machine in (M4, M55)),
    ],
    ids=lambda value: value.qemu if isinstance(value, Machine) else value,
)
def test_explicit_padding(name: str, machine: Machine, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    runs = [explicitly_padded(rng, CASES_IN_BOTH[name](rng), "pool" in name)[0] for _ in range(40)]
    assert check(machine, [run for run in runs if not broken_rules(run[0])], tmp_path, "-O2") >= 12


@pytest.mark.sweep
@pytest.mark.parametrize("machine", [M4, M55], ids=["m4", "m55"])
@pytest.mark.parametrize("seed", range(100, 104))
@pytest.mark.parametrize("name", CASES_IN_BOTH)
def test_many_fast_cases(name: str, seed: int, machine: Machine, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    assert check(machine, [CASES_IN_BOTH[name](rng) for _ in range(60)], tmp_path, "-O2") >= 30


@pytest.mark.sweep
@pytest.mark.parametrize("machine", [M4, M55], ids=["m4", "m55"])
@pytest.mark.parametrize("name", ANY)
def test_many_odd_cases(name: str, machine: Machine, tmp_path: Path) -> None:
    rng = np.random.default_rng(200)
    assert check(machine, [ANY[name](rng) for _ in range(250)], tmp_path, "-O2") >= 5


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 104))
@pytest.mark.parametrize("name", EVERYWHERE)
def test_many_thumb_cases(name: str, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    assert check(M0, [EVERYWHERE[name](rng) for _ in range(60)], tmp_path, "-O2") >= 30
