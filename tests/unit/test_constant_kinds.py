"""No constant array of a kernel is left unread: the proof compares each with what its operator demands."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from differential import elementwise, mixed, movement, picking, recurrent, reduction, weighted
from support.differential import Family, draw, is_empty
from support.kernel_harness import Case
from support.mutate_packing import packing_of
from support.repository import ROOT
from tflmgen.ir.kernel import ConstantArray, Kernel, KernelChoice, Target
from tflmgen.kernels import OPERATORS
from tflmgen.kernels.declaration import declarations
from tflmgen.proof.layer_arrays import CHECKS

KERNELS = ROOT / "codegen" / "tflmgen" / "kernels"
GROUPS = {
    module.__name__.rpartition(".")[2]: module.FAMILIES
    for module in (elementwise, mixed, movement, picking, recurrent, reduction, weighted)
}
TARGETS = (
    Target("host"),
    Target("cortex-m0"),
    Target("cortex-m4", frozenset({"dsp", "fpu"})),
    Target("cortex-m55", frozenset({"dsp", "fpu", "mve"})),
)
DRAWS = 6


def cases_of(family: Family | recurrent.StepFamily) -> Iterator[Case]:
    rng = np.random.default_rng([13, *family.operator.encode()])
    if isinstance(family, recurrent.StepFamily):
        yield from (family.make(rng)[0] for _ in range(DRAWS))
        return
    for dtype in family.types:
        cases = (draw(family, dtype, rng)[0] for _ in range(DRAWS))
        yield from (case for case in cases if not is_empty(case))


def kernels_of(case: Case) -> Iterator[Kernel]:
    """What the operator may become on each target, chosen or not."""
    for target in TARGETS:
        selected = OPERATORS[case.operator].kernel(case.instance, target)
        if isinstance(selected, KernelChoice):
            yield from (costed.kernel for costed in (selected.chosen, *selected.alternatives, *selected.considered))
        elif isinstance(selected, Kernel):
            yield selected


def unread(case: Case) -> Iterator[str]:
    """Kernels with constant arrays of their own that nothing is compared with."""
    for kernel in kernels_of(case):
        packing = packing_of(case.operator, case.instance, kernel)
        has_arrays = any(isinstance(operand, ConstantArray) and operand.data for operand in kernel.operands)
        if has_arrays and packing.problem(packing.data) is None:
            yield f"{case.operator}: {kernel.function}"


@pytest.mark.parametrize("group", GROUPS)
def test_every_array_is_compared(group: str) -> None:
    assert not {name for family in GROUPS[group] for case in cases_of(family) for name in unread(case)}


def test_every_kernel_that_packs_has_a_reader() -> None:
    """Or a check: packed arrays of instruction sets are those of modules that call ConstantArray.of."""
    packing = {
        path.stem
        for folder in ("thumb", "dsp", "mve")
        for path in (KERNELS / folder).glob("*.py")
        if "ConstantArray.of(" in path.read_text(encoding="utf-8")
    }
    read = {header.removesuffix(".h") for d in declarations() if d.read is not None for header in d.headers}
    read |= {header.removesuffix(".h") for header in CHECKS}
    # These modules pack for several kernels, whose own modules have the readers.
    packers = {f"{name}_requantisation" for name in ("dsp", "mve", "thumb")} | {"sums_mve", "sums_thumb"}
    assert packing - read - packers == set()


def test_headers_of_checks_are_kernels() -> None:
    headers = {path.name for path in (ROOT / "firmware" / "kernels").glob("*.h")}
    assert set(CHECKS) <= headers
