"""Arm Cortex-M: Armv6-M to Armv8.1-M, with GCC for arm-none-eabi and newlib."""

from __future__ import annotations

import re
from collections.abc import Callable

from tflmgen.architectures.architecture import Architecture, AssemblySyntax, Core, Toolchain

_DSP, _MVE = ("dsp", "fpu"), ("dsp", "fpu", "mve")
_CORES = {
    "cortex-m0": Core(costs="cortex-m0", cycles="cortex-m0"),
    "cortex-m0plus": Core(costs="cortex-m0", cycles="cortex-m0plus"),
    "cortex-m1": Core(costs="cortex-m0", cycles="cortex-m0"),
    "cortex-m3": Core(costs="cortex-m3", cycles="cortex-m3"),
    "cortex-m4": Core("fpv4-sp-d16", _DSP, "cortex-m4", "cortex-m4"),
    "cortex-m7": Core("fpv5-d16", _DSP, "cortex-m7", "cortex-m7"),
    "cortex-m23": Core(costs="cortex-m0", cycles="cortex-m0plus"),
    "cortex-m33": Core("fpv5-sp-d16", _DSP, "cortex-m4", "cortex-m4"),
    "cortex-m35p": Core("fpv5-sp-d16", _DSP, "cortex-m4", "cortex-m4"),
    "cortex-m52": Core("auto", _MVE, "cortex-m55", "cortex-m55"),
    "cortex-m55": Core("auto", _MVE, "cortex-m55", "cortex-m55"),
    "cortex-m85": Core("auto", _MVE, "cortex-m55", "cortex-m55"),
}
_RENODE_NAMES = {"cortex-m0plus": "cortex-m0+", "cortex-m1": "cortex-m0"}
_WITHOUT_DWT = frozenset({"cortex-m0", "cortex-m0plus", "cortex-m1", "cortex-m23"})
"""Cores without the cycle counter that firmware reads."""
_EXCEPTIONS = {2: "NMI", 3: "HardFault", 4: "MemManage fault", 5: "BusFault", 6: "UsageFault", 7: "SecureFault"}
_CFSR = {
    0: "instruction fetch from a protected address",
    1: "access to a protected address",
    8: "instruction fetch from an address without memory",
    9: "access to an address without memory",
    10: "access to an address without memory, some instructions earlier",
    12: "stack overflow on exception entry",
    16: "undefined instruction",
    17: "jump to ARM code or a bad address",
    19: "coprocessor or FPU switched off",
    20: "stack overflow",
    24: "unaligned access",
    25: "division by zero",
}


def _flags(core: str, fpu: str | None) -> tuple[str, ...]:
    flags = (f"-mcpu={core}", "-mthumb")
    if fpu is None:
        return (*flags, "-mfloat-abi=soft")
    return (*flags, "-mfloat-abi=hard", *(() if fpu == "auto" else (f"-mfpu={fpu}",)))


def _renode(core: str, clock: int) -> tuple[str, ...]:
    parts = (
        f"nvic: IRQControllers.NVIC @ sysbus 0xE000E000\n    priorityMask: 0xE0\n    systickFrequency: {clock}\n"
        "    IRQ -> cpu@0",
        f'cpu: CPU.CortexM @ sysbus\n    cpuType: "{_RENODE_NAMES.get(core, core)}"\n    nvic: nvic\n'
        f"    PerformanceInMips: {max(1, clock // 1_000_000)}",
    )
    if core in _WITHOUT_DWT:
        return parts
    return (*parts, f"dwt: Miscellaneous.DWT @ sysbus 0xE0001000\n    frequency: {clock}")


def _constants() -> Callable[[str, str], int | None]:
    """Collector of literal words, and of pairs of MOVW and MOVT."""
    low: dict[str, int] = {}

    def constant(operation: str, operands: str) -> int | None:
        if operation == ".word":
            return int(operands, 16)
        register, _, value = operands.partition(", #")
        if operation == "movw":
            low[register] = int(value)
        if operation == "movt" and register in low:
            return (int(value) << 16) + low.pop(register)
        return None

    return constant


def _pushed(operation: str, operands: str) -> int | None:
    base = operation.partition(".")[0]
    if base in ("push", "vpush") or (base in ("stmdb", "vstmdb") and operands.startswith("sp!")):
        return sum(_register_bytes(part) for part in operands.partition("{")[2].rstrip("}").split(","))
    if (match := re.search(r"\[sp, #-(\d+)\]!", operands)) and base.startswith(("str", "vstr")):
        return int(match[1])
    if base in ("sub", "subw", "subs") and re.match(r"sp\b", operands):
        immediate = re.search(r"#(\d+)$", operands)
        return int(immediate[1]) if immediate else None
    return 0


def _register_bytes(part: str) -> int:
    """Bytes of a register list entry: `r4`, `d8` or `s16-s19`."""
    first, _, last = part.strip().partition("-")
    count = int(last[1:]) - int(first[1:]) + 1 if last else 1
    return count * (8 if first.startswith("d") else 4)


ASSEMBLY = AssemblySyntax(
    jump=re.compile(r"(blx?|b(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)?|cbn?z)(\.[nw])?"),
    call=re.compile(r"blx?(\.[nw])?"),
    loop=re.compile(r"(wls|le|wlstp|letp)(\.\w+)?"),
    leaves=re.compile(r"b(\.[nw])?"),
    returns=re.compile(r"bx\tlr|(pop|ldm\w*)(\.w)?\t.*\bpc\}"),
    computed=re.compile(r"(tbb|tbh|bx)\t|(ldr|mov|add)(\.w)?\tpc,"),
    tail_by_pointer=re.compile(r"bx\t(?!lr$)"),
    table_call="__gnu_thumb1_case_",
    function_bit=1,
    constants=_constants,
    pushed=_pushed,
)

ARM = Architecture(
    name="arm",
    title="Arm Cortex-M",
    core_pattern=r"cortex-m[0-9a-z.+]+",
    flags=_flags,
    cores=_CORES,
    instructions=frozenset({"thumb"}),
    soft_float=True,
    toolchain=Toolchain(
        "arm-none-eabi-",
        "gcc-arm-none-eabi libnewlib-arm-none-eabi",
        "binutils-arm-none-eabi",
        "newlib",
        "nano.specs",
    ),
    qemu="qemu-system-arm",
    qemu_package="qemu-system-arm",
    exceptions=_EXCEPTIONS,
    causes=_CFSR,
    renode=_renode,
    assembly=ASSEMBLY,
)
