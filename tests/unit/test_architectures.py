"""Architectures as data: cores, flags, and listings of RISC-V."""

from __future__ import annotations

import pytest
from support.repository import ROOT
from tflmgen.architectures import ARCHITECTURES, architecture_of, core_named
from tflmgen.architectures.arm import ARM
from tflmgen.architectures.riscv import ASSEMBLY, RISCV
from tflmgen.emulators.cycle_models import CYCLE_MODELS
from tflmgen.hardware.board import load_board
from tflmgen.ir.kernel.call import Target
from tflmgen.kernels.costs.estimate import cycles_table
from tflmgen.toolchain.code_flow import entries_in
from tflmgen.toolchain.stack import deepest, parse_disassembly

LISTING = """
80000000 g     F .text	00000020 root
80000020 g     F .text	0000000c leaf
8000002c g     F .text	00000008 pointed
80000034 g     F .text	00000008 by_pointer
80000000 <root>:
80000000:	add	sp,sp,-48
80000002:	sw	ra,44(sp)
80000004:	lui	a0,0x80000
80000008:	add	a0,a0,44 # 8000002c <pointed>
8000000c:	jal	80000034 <by_pointer>
8000000e:	bnez	a0,80000012 <root+0x12>
80000010:	li	a0,0
80000012:	lw	ra,44(sp)
80000014:	add	sp,sp,48
80000016:	j	80000020 <leaf>
80000020 <leaf>:
80000020:	add	sp,sp,-16
80000022:	add	sp,sp,16
80000024:	ret
8000002c <pointed>:
8000002c:	add	sp,sp,-32
8000002e:	add	sp,sp,32
80000030:	ret
80000034 <by_pointer>:
80000034:	mv	a5,a0
80000036:	jr	a5
"""


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda architecture: architecture.name)
def test_cores_name_what_is_there(architecture: object) -> None:
    assert architecture in (ARM, RISCV)
    measured = {core for by_core in cycles_table().values() for core in by_core}
    for name, core in (ARM if architecture is ARM else RISCV).cores.items():
        assert architecture_of(name) is architecture
        assert core.costs in {"", *measured}
        assert core.cycles in CYCLE_MODELS


def test_files_of_an_architecture_are_there() -> None:
    runtime = ROOT / "firmware" / "platform" / "runtime"
    for architecture in ARCHITECTURES:
        assert (runtime / f"startup_{architecture.name}.c").is_file()
        assert (runtime / f"processor_{architecture.name}.c").is_file()


def test_other_names_are_of_no_architecture() -> None:
    assert architecture_of("host").toolchain is None
    assert architecture_of("z80").instructions == frozenset()
    assert core_named("z80").cycles == ""


@pytest.mark.parametrize(
    ("core", "fpu", "flags"),
    [
        ("rv32imc", None, ("-march=rv32imc", "-mabi=ilp32")),
        ("rv32ec", None, ("-march=rv32ec", "-mabi=ilp32e")),
        ("rv32imafc", "single", ("-march=rv32imafc", "-mabi=ilp32f")),
        ("hazard3", None, ("-march=rv32imac", "-mabi=ilp32")),
    ],
)
def test_flags_of_riscv(core: str, fpu: str | None, flags: tuple[str, ...]) -> None:
    assert RISCV.flags(core, fpu)[:2] == flags


def test_kernels_by_features() -> None:
    assert Target("cortex-m0").instructions == {"thumb"}
    assert Target("rv32imc", frozenset({"rv32m"})).instructions == {"rv32m"}
    assert Target("rv32ec").instructions == frozenset()
    assert Target("rv32imc").has_soft_float
    assert not load_board("ch32v307").target.has_soft_float


def test_qemu_of_riscv() -> None:
    command = load_board("qemu_rv32").qemu_command
    assert command[:5] == ("qemu-system-riscv32", "-machine", "virt", "-bios", "none")


def test_stack_of_a_listing_of_riscv() -> None:
    """Calls, a tail call, and a tail call by a pointer that is made of LUI and ADDI."""
    code = parse_disassembly(LISTING, ASSEMBLY)
    assert code["root"].callees == {"by_pointer", "leaf"}
    assert code["root"].pointers == {"pointed"}
    assert code["by_pointer"].callees == {None}
    assert deepest(code, {})("root") == 48 + 32


def test_regions_of_a_listing_of_riscv() -> None:
    regions = {0x80000010: 1, 0x80000012: 2}
    assert entries_in(LISTING, ASSEMBLY, regions) == {0x80000010, 0x80000012}
