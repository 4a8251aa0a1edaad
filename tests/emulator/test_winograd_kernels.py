"""The kernels of Winograd's minimal filtering against the portable ones, on emulated cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import dsp_cases, tight_cases
from support.cost_samples import only
from support.emulated_kernels import M4, M7, Machine, Run, check_on, kernel_for
from support.kernel_harness import Array, Case, broken_rules, claims, host_outputs
from support.padded_cases import explicitly_padded
from support.tight_claims import check_claims_are_tight
from tflmgen.kernels.operators import conv

pytestmark = pytest.mark.emulator


def allowed(machine: Machine) -> Machine:
    """The machine with flash for larger weights."""
    return replace(machine, target=replace(machine.target, winograd=1 << 20))


def check(machine: Machine, cases: Sequence[tuple[Case, Sequence[Array | None]]], folder: Path, optimize: str) -> int:
    """Runs what the kernels are exact for, apart from and over its input; how many cases that was."""
    with only({conv: ("conv2d_winograd_dsp",)}):
        chosen = [(case, values, kernel_for(case, allowed(machine))) for case, values in cases]
    winograd = [case for case in chosen if case[2].variant == "winograd"]
    expected = host_outputs([(case, values) for case, values, _ in winograd])
    runs = [
        Run(case, values, wanted, overlap, kernel)
        for (case, values, kernel), wanted in zip(winograd, expected, strict=True)
        for overlap in (None, *claims(kernel))
    ]
    check_on(machine, runs, folder, optimize)
    return len(winograd)


@pytest.mark.parametrize(("machine", "optimize"), [(M4, "-O2"), (M4, "-Os"), (M7, "-O2")], ids=["m4", "m4s", "m7"])
def test_winograd_is_exact(machine: Machine, optimize: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    assert check(machine, [dsp_cases.winograd(rng) for _ in range(48)], tmp_path, optimize) >= 36


def test_explicit_padding(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    runs = [explicitly_padded(rng, dsp_cases.winograd(rng))[0] for _ in range(40)]
    assert check(M4, [run for run in runs if not broken_rules(run[0])], tmp_path, "-O2") >= 24


def test_extreme_weights_and_inputs(tmp_path: Path) -> None:
    """All sums of the transforms as far from zero as they get."""
    rng = np.random.default_rng(3)
    cases: list[tuple[Case, Sequence[Array | None]]] = []
    while len(cases) < 12:
        case, _ = dsp_cases.winograd(rng)
        x, w, *bias = case.inputs
        assert x is not None
        assert w is not None
        assert w.data is not None
        signs = np.where(np.indices((3, 3)).sum(axis=0) % 2, 127, -128) if len(cases) % 2 else np.full((3, 3), -128)
        extreme = replace(w, data=np.broadcast_to(signs[None, :, :, None], w.data.shape).astype(np.int8))
        pixels = np.indices(x.type.max_shape)
        checked = np.where((pixels[1] // 2 + pixels[2] // 2) % 2, 127, -128).astype(np.int8)
        cases.append((replace(case, inputs=(x, extreme, *bias)), [checked, None, *[None for _ in bias]]))
    assert check(M4, cases, tmp_path, "-O2") >= 8


def test_one_byte_less_is_too_little(tmp_path: Path) -> None:
    cases = [tight_cases.conv2d(window, "int8") for window in tight_cases.TILES]
    with only({conv: ("conv2d_winograd_dsp",)}):
        check_claims_are_tight(allowed(M4), cases, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 104))
def test_many_cases(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    assert check(M4, [dsp_cases.winograd(rng) for _ in range(90)], tmp_path, "-O2") >= 60
