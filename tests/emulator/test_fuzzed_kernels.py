"""Kernels for instruction sets against the reference, on random layers of every declaration, on their cores.

The cores' code is compiled as firmware is, and once more with GCC's undefined behaviour sanitizer, whose findings end
the program. Guard bytes stand around all buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.emulated_kernels import faults_on
from support.kernel_fuzz import Findings, Fuzzed, fuzz_of, images
from support.tools import requires_compiler
from support.variant_cases import DECLARATIONS, MACHINES
from tflmgen.kernels.declaration import KernelDeclaration

pytestmark = [pytest.mark.emulator, requires_compiler]

LAYERS = 100
"""Of each declaration and seed in the sweep."""

LEAST = 24
"""Layers of an instruction set, 2 of each declaration or more: where there are few, their claims are as well tried."""

SANITIZED = (
    *("-O2", "-DTFLMGEN_OPTIMIZE_SIZE", "-Wno-error"),
    *("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", "-fno-sanitize=alignment"),
)
"""Kernels shared by all calls, as with --optimize size. These cores load words from any address."""


def run(variant: str, calls: Sequence[Fuzzed], folder: Path, findings: Findings, *flags: str) -> None:
    for image in images(calls):
        lines = faults_on(MACHINES[variant], [call.run for call in image], folder, *flags)
        findings.note(image, (int(line.split()[1]) for line in lines))


@pytest.mark.parametrize("variant", MACHINES)
def test_random_layers_of_every_declaration(variant: str, tmp_path: Path) -> None:
    findings = Findings()
    declared = [declaration for declaration in DECLARATIONS if declaration.instructions == variant]
    count = max(2, LEAST // len(declared))
    layers = [layer for declaration in declared for layer in fuzz_of(declaration, 0, count)]
    run(variant, [call for layer in layers for call in layer], tmp_path, findings)
    assert findings.wrong == []
    assert findings.spoiled.total() > 5


@pytest.mark.sweep
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("declaration", DECLARATIONS, ids=lambda declaration: declaration.header)
def test_many_random_layers(declaration: KernelDeclaration, seed: int, tmp_path: Path) -> None:
    """One element less than a claimed distance spoils some layer's output; prints whose claims no layer has shown."""
    findings = Findings()
    calls = [call for layer in fuzz_of(declaration, seed, LAYERS) for call in layer]
    run(declaration.instructions, calls, tmp_path, findings, *(SANITIZED if seed % 2 else ()))
    print(f"{declaration.header}: {findings.calls} calls, never spoiled by one less: {findings.loose}")
    assert findings.wrong == []
    assert findings.too_cautious == {}
