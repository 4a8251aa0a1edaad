"""RISC-V with 32 bits: RV32I and RV32E, with GCC for riscv64-unknown-elf and picolibc.

A core is named by its instruction set, as GCC's -march has it, or by a name that stands for one.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tflmgen.architectures.architecture import Architecture, AssemblySyntax, Core, Toolchain

_CORES = {
    "rv32imc": Core(None, ("rv32m",), "rv32", "rv32"),
    "rv32imac": Core(None, ("rv32m",), "rv32", "rv32"),
    "rv32imafc": Core("single", ("rv32m", "fpu"), "rv32", "rv32"),
    "rv32ec": Core(None, (), "", "rv32"),
    "rv32emc": Core(None, ("rv32m",), "rv32", "rv32"),
    "esp32c3": Core(None, ("rv32m",), "rv32", "rv32", ("-march=rv32imc", "-mabi=ilp32")),
    "esp32c6": Core(None, ("rv32m",), "rv32", "rv32", ("-march=rv32imac", "-mabi=ilp32")),
    "hazard3": Core(None, ("rv32m",), "rv32", "hazard3", ("-march=rv32imac", "-mabi=ilp32")),
    "fe310": Core(None, ("rv32m",), "rv32", "fe310", ("-march=rv32imac", "-mabi=ilp32")),
    "gd32vf103": Core(None, ("rv32m",), "rv32", "rv32", ("-march=rv32imac", "-mabi=ilp32")),
    "qingke-v4f": Core("single", ("rv32m", "fpu"), "rv32", "rv32", ("-march=rv32imafc", "-mabi=ilp32f")),
}
"""GCC 12 links the library for no multiplier where extensions have names such as zba: cores are named without them."""

_CAUSES = {
    0: "misaligned instruction address",
    1: "instruction fetch from an address without memory",
    2: "illegal instruction",
    3: "breakpoint",
    4: "unaligned load",
    5: "load from an address without memory",
    6: "unaligned store",
    7: "store to an address without memory",
    11: "environment call",
}
"""mcause -> exception: The RISC-V Instruction Set Manual, volume II, table "Machine cause register values"."""


def _flags(core: str, fpu: str | None) -> tuple[str, ...]:
    """Jump tables are left out, so that a jump by a register is a return or a call, for bounds of the stack."""
    known = _CORES.get(core, Core()).flags
    abi = ("ilp32e" if core.startswith("rv32e") else "ilp32") + {"single": "f", "double": "d"}.get(fpu or "", "")
    return (*(known or (f"-march={core}", f"-mabi={abi}")), "-fno-jump-tables")


def _constants() -> Callable[[str, str], int | None]:
    """Collector of addresses that objdump works out from LUI, AUIPC and what follows them."""

    def constant(operation: str, operands: str) -> int | None:
        match = re.search(r"# ([0-9a-f]+) <", operands) if operation in ("add", "addi", "mv", "lui") else None
        return int(match[1], 16) if match else None

    return constant


def _pushed(operation: str, operands: str) -> int | None:
    if operation not in ("add", "addi", "sub") or not operands.startswith("sp,sp,"):
        return 0
    immediate = re.fullmatch(r"sp,sp,(-?\d+)", operands)
    if immediate is None:
        return None
    return max(0, -int(immediate[1]))


# t0 is the link of functions of the library that their callers call by it.
ASSEMBLY = AssemblySyntax(
    jump=re.compile(r"j|jal|jalr|call|tail|b(eq|ne|lt|ge|gt|le)(u|z)?"),
    call=re.compile(r"jal|jalr|call"),
    loop=re.compile(r"(?!)"),
    leaves=re.compile(r"j|tail"),
    returns=re.compile(r"m?ret\b|jr\t(ra|t0)\b"),
    computed=re.compile(r"jr\t(?!(ra|t0)\b)"),
    tail_by_pointer=re.compile(r"jr\t(?!(ra|t0)\b)"),
    table_call="",
    function_bit=0,
    constants=_constants,
    pushed=_pushed,
)

RISCV = Architecture(
    name="riscv",
    title="RISC-V, 32 bits",
    core_pattern=r"rv32[a-z0-9_]+|esp32c[0-9]+|hazard3|fe310|gd32vf103|qingke-v[0-9][a-z]",
    flags=_flags,
    cores=_CORES,
    soft_float=True,
    toolchain=Toolchain(
        "riscv64-unknown-elf-",
        "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf",
        "binutils-riscv64-unknown-elf",
        "picolibc",
        "picolibc.specs",
        has_own_headers=True,
    ),
    qemu="qemu-system-riscv32",
    qemu_package="qemu-system-misc",
    qemu_arguments=("-bios", "none"),
    exceptions=_CAUSES,
    assembly=ASSEMBLY,
)
