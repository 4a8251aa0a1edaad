"""Every kernel for an instruction set has a cost model on each core that may run it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from support import conv_cases, dsp_cases
from support.emulated_kernels import M0, M3, M4, M7, M55, Machine, kernels_for
from support.kernel_harness import Array, Case, broken_rules
from support.padded_cases import explicitly_padded
from support.recurrent_sizes import lstm, svdf_in
from support.repository import ROOT
from tflmgen.ir.kernel import Kernel
from tflmgen.kernels import choice
from tflmgen.kernels.costs.estimate import estimate

Make = Callable[[np.random.Generator], tuple[Case, Sequence[Array | None]]]

CASES: dict[str, Make] = {
    **{
        make.__name__: make
        for make in (
            dsp_cases.conv2d,
            dsp_cases.conv2d_dot,
            dsp_cases.winograd,
            dsp_cases.depthwise3x3,
            dsp_cases.depthwise_window,
            dsp_cases.depthwise_filters,
            dsp_cases.grouped,
            dsp_cases.transpose_conv,
            dsp_cases.batch_matmul,
            dsp_cases.fully_connected,
            dsp_cases.fully_connected_few,
            dsp_cases.add,
            dsp_cases.mul,
            dsp_cases.average_pool2d,
            dsp_cases.max_pool2d,
            dsp_cases.lookup,
        )
    },
    "conv2d beyond": lambda rng: dsp_cases.conv2d(rng, beyond=True),
    "conv2d int16": lambda rng: conv_cases.conv2d(rng, "int16"),
    "depthwise_conv2d int16": lambda rng: conv_cases.depthwise_conv2d(rng, "int16"),
    "fully_connected int16": lambda rng: conv_cases.fully_connected(rng, "int16"),
    "svdf int8": svdf_in("int8"),
    "svdf int16": svdf_in("int16"),
    "lstm": lstm,
}

WINOGRAD = replace(M4, target=replace(M4.target, winograd=1 << 30))
MACHINES = (M0, M3, M4, M7, M55, WINOGRAD)

INCLUDE = re.compile(r'#include "(\w+\.h)"')
NAMES = re.compile(r"\w+_(dsp|mve|thumb)\.h")
KERNELS = ROOT / "firmware" / "kernels"


@pytest.fixture(scope="module")
def considered() -> dict[tuple[str, str], Kernel]:
    """By function and core, the kernels for instruction sets that are considered for any case."""
    found: dict[tuple[str, str], Kernel] = {}

    def note(kernel: Kernel, core: str) -> None:
        if kernel.variant != "portable":
            found[kernel.function, core] = kernel

    def looked_up(kernel: Kernel, core: str) -> object:
        note(kernel, core)
        return estimate(kernel, core)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "estimate", looked_up)
        for machine in MACHINES:
            for case in _cases(machine):
                for kernel in kernels_for(case, machine):
                    note(kernel, machine.target.core)
    return found


def _cases(machine: Machine) -> list[Case]:
    made = []
    for name, make in CASES.items():
        rng = np.random.default_rng(7)
        # It takes long to prove the kernels for Armv6-M.
        cases = [make(rng) for _ in range(24 if machine.target.features else 6)]
        if "pool" in name:
            cases += [explicitly_padded(rng, case, True)[0] for case in cases]
        made += [case for case, _ in cases if not broken_rules(case)]
    return made


def test_every_fast_kernel_has_a_cost_model(considered: dict[tuple[str, str], Kernel]) -> None:
    assert {at for at, kernel in considered.items() if estimate(kernel, at[1]) is None} == set()


def test_no_file_of_fast_kernels_is_left_out(considered: dict[tuple[str, str], Kernel]) -> None:
    """A header for an instruction set that no case comes to would be a kernel that was forgotten here."""
    reached = {kernel.header for kernel in considered.values()}
    waiting = list(reached)
    while waiting:
        new = set(INCLUDE.findall((KERNELS / waiting.pop()).read_text())) - reached
        reached |= new
        waiting += new
    assert {path.name for path in KERNELS.iterdir() if NAMES.fullmatch(path.name)} <= reached
