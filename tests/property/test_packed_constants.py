"""Packed constants are read back as they were, and corrupted ones are refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.kernel_harness import broken_rules
from support.mutate_packing import MUTATORS, change_byte, differs, mutants, packing_of
from support.packed_layers import PACKED, UNPACKED, packings
from support.variant_cases import DECLARATIONS, generator
from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Kernel
from tflmgen.kernels.declaration import KernelDeclaration

DRAWS, MUTANTS = 12, 4
"""Layers of each kind, and corruptions of each packing by each mutator."""


def has_constants(kernel: Kernel) -> bool:
    return any(isinstance(operand, ConstantArray) for operand in kernel.operands)


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=lambda d: d.header)
def test_what_is_packed_is_read_back(declaration: KernelDeclaration) -> None:
    """Every kernel with constant operands has a reader or a check, which finds in them what the operator has."""
    compared = False
    for packing in packings(declaration, 2, DRAWS if declaration in PACKED else 1):
        if has_constants(packing.kernel) and declaration.header not in UNPACKED:
            assert packing.problem(packing.data) == "", packing.kernel.function
            compared = True
    assert compared == (declaration in PACKED)


@pytest.mark.parametrize("declaration", PACKED, ids=lambda d: d.header)
def test_corrupted_constants_are_refused(declaration: KernelDeclaration) -> None:
    """Nine in ten at least; the others compute the same."""
    rng, refused, accepted = np.random.default_rng(3), 0, 0
    for packing, mutator in itertools.product(packings(declaration, 2, 2), MUTATORS):
        for data in mutants(packing, mutator, MUTANTS, rng):
            if packing.problem(data):
                refused += 1
            else:
                accepted += 1
                assert not differs(packing, data, rng), f"{packing.kernel.function}: {mutator.__name__}"
    assert refused > 5 * accepted


LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")


def test_arrays_of_portable_kernels_are_read_back_and_corrupted_ones_are_refused() -> None:
    rng = np.random.default_rng(4)
    makes = [generator(name) for d in DECLARATIONS for cases in d.cases for name in cases.layers.split()]
    seen: set[str] = set()
    for make in makes * 2:
        case, _ = make(rng)
        is_float = case.instance.outputs[0].dtype is DType.FLOAT32  # takes the file's weights as they are
        if case.operator not in LAYERS or is_float or broken_rules(case):
            continue
        packing = packing_of(case.operator, case.instance, case.kernel)
        assert packing.problem(packing.data) == "", packing.kernel.function
        seen.add(case.operator)
        for data in mutants(packing, change_byte, MUTANTS, rng) if packing.packed else ():
            assert packing.problem(data), packing.kernel.function
    assert seen == set(LAYERS)
