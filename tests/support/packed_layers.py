"""Packed constants of the kernels that declarations give for their random layers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from importlib import import_module

import numpy as np
import pytest
from tflmgen.kernels.declaration import KernelDeclaration
from tflmgen.proof.layer_arrays import CHECKS

from support.emulated_kernels import kernels_for
from support.kernel_harness import broken_rules
from support.mutate_packing import Packing, packing_of
from support.variant_cases import DECLARATIONS, generator, machine_of

UNPACKED = {"lookup_mve.h": "a table of outputs, which evaluation at build time makes, too"}
"""Headers of kernels that have constant operands and nothing that reads them back, and why."""

PACKED = [d for d in DECLARATIONS if (d.read is not None or d.header in CHECKS) and d.header not in UNPACKED]
"""Those whose constants are read back, or compared with an array made from the operator's."""


def packings(declaration: KernelDeclaration, seed: int, draws: int) -> Iterator[Packing]:
    """Packings of every kernel that the declaration gives for the layers it is tested with: `draws` of each kind."""
    rng = np.random.default_rng(seed)
    sources = [(cases, generator(name)) for cases in declaration.cases for name in cases.layers.split()]
    for draw, (cases, make) in enumerate(itertools.islice(itertools.cycle(sources), draws * len(sources))):
        with pytest.MonkeyPatch.context() as patch:
            if cases.in_turn:
                module = import_module(f"tflmgen.kernels.{cases.in_turn}")
                patch.setattr(module, "SHIFTS", (module.SHIFTS[draw // len(sources) % len(module.SHIFTS)],))
            case, _ = make(rng)
            if broken_rules(case):
                continue
            chosen = kernels_for(case, machine_of(declaration, cases))
        for kernel in (other for choice in chosen for other in (choice, *choice.smaller)):
            if kernel.header in declaration.headers:
                yield packing_of(case.operator, case.instance, kernel)
