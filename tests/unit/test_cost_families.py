"""Every kernel for an instruction set has a cost model on each core that may run it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.cost_layers import GENERATORS
from support.emulated_kernels import M0, M3, M4, M7, M55, Machine, kernels_for
from support.kernel_harness import Case, broken_rules
from support.variant_cases import DECLARATIONS, generator
from tflmgen.ir.kernel.call import Kernel
from tflmgen.kernels import choice
from tflmgen.kernels.costs.estimate import estimate
from tflmgen.kernels.declaration import cost_models, declarations

WINOGRAD = replace(M4, target=replace(M4.target, winograd=1 << 30))
MACHINES = (M0, M3, M4, M7, M55, WINOGRAD)


@pytest.fixture(scope="module")
def considered() -> dict[tuple[str, str], Kernel]:
    """By function and core, the kernels for instruction sets that are considered for any case."""
    kernels: dict[tuple[str, str], Kernel] = {}

    def note(kernel: Kernel, core: str) -> None:
        if kernel.variant != "portable":
            kernels[kernel.function, core] = kernel

    def looked_up(kernel: Kernel, core: str, alone: bool = False) -> object:
        note(kernel, core)
        return estimate(kernel, core, alone)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "estimate", looked_up)
        for machine in MACHINES:
            for case in _cases(machine):
                for kernel in kernels_for(case, machine):
                    note(kernel, machine.target.core)
    return kernels


def _cases(machine: Machine) -> list[Case]:
    legal_cases = []
    for name in sorted(
        {name for declared in DECLARATIONS for cases in declared.cases for name in cases.layers.split()}
    ):
        make, rng = generator(name), np.random.default_rng(7)
        # It takes long to prove the kernels for Armv6-M.
        cases = [make(rng) for _ in range(24 if machine.target.features else 6)]
        legal_cases += [case for case, _ in cases if not broken_rules(case)]
    return legal_cases


def test_every_fast_kernel_has_a_cost_model(considered: dict[tuple[str, str], Kernel]) -> None:
    assert {at for at, kernel in considered.items() if estimate(kernel, at[1]) is None} == set()


def test_kernels_have_a_family_of_their_own_declaration(considered: dict[tuple[str, str], Kernel]) -> None:
    families = {header: declared.costs for declared in declarations() for header in declared.headers}
    strangers = {k.function for k in considered.values() if k.cost.family not in families[k.header]}
    assert strangers == set()


def test_declared_layers_are_generated() -> None:
    """The layers that a family's figures are fitted to have a generator, and each generator is somebody's."""
    assert {model.layers for model in cost_models().values()} == set(GENERATORS)
