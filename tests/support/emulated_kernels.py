"""Runs kernels on an emulated Cortex-M: many cases in one firmware image, each compared on the device.

The image holds every case's inputs and expected outputs. Around each output and scratch buffer lie guard bytes; the
report names the first wrong byte of each case that fails.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tflmgen.architectures.architecture import Architecture, Toolchain
from tflmgen.architectures.arm import ARM
from tflmgen.architectures.riscv import RISCV
from tflmgen.ir import contents as packed_contents
from tflmgen.ir.kernel.call import ConstantArray, Input, Kernel, Output, Overlap, Scratch, Target

from support.build_cache import cached, digest, version
from support.emulated_start import SCRIPT, START
from support.kernel_harness import POISON, Array, Case, facing, offsets
from support.kernel_program import KERNELS, WARNINGS, c_argument, c_value

GUARD = 32


@dataclass(frozen=True)
class Machine:
    """A QEMU machine, how to compile for it, and where its vectors (on RISC-V the reset code), code and data go."""

    qemu: str
    flags: tuple[str, ...]
    target: Target
    code: int = 0x400
    data: int = 0x20000000
    vectors: int = 0
    architecture: Architecture = ARM


M0 = Machine("mps2-an385", ("-mcpu=cortex-m0", "-mthumb"), Target("cortex-m0"))
M3 = Machine("mps2-an385", ("-mcpu=cortex-m3", "-mthumb"), Target("cortex-m3"))
M4 = Machine("mps2-an386", ("-mcpu=cortex-m4", "-mthumb"), Target("cortex-m4", frozenset({"dsp"})))
M7 = Machine("mps2-an500", ("-mcpu=cortex-m7", "-mthumb"), Target("cortex-m7", frozenset({"dsp"})))
M4F = Machine(
    "mps2-an386",
    ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
    Target("cortex-m4", frozenset({"dsp", "fpu"})),
)
M7F = Machine(
    "mps2-an500",
    ("-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=softfp"),
    Target("cortex-m7", frozenset({"dsp", "fpu"})),
)
M55 = Machine(
    "mps3-an547",
    ("-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"),
    Target("cortex-m55", frozenset({"dsp", "fpu", "mve"})),
    code=0x01000000,
    data=0x21000000,
)

RV32 = Machine(
    "virt",
    RISCV.flags("rv32imc", None),
    Target("rv32imc", frozenset({"rv32m"})),
    code=0x80001000,
    data=0x81000000,
    vectors=0x80000000,
    architecture=RISCV,
)

DATA_FILE = "data.bin"

_DATA = f"""
__asm__(".pushsection .rodata.data, \\"a\\", %progbits\\n"
        ".balign 16\\n"
        ".global data\\n"
        "data: .incbin \\"{DATA_FILE}\\"\\n"
        ".popsection");
extern const uint8_t data[];
"""
"""Constants, inputs and expected outputs: as text they would take longer to compile than all the rest."""

_CHECK = """
static void check(uint32_t number, uint32_t at, const uint8_t *expected, uint32_t size)
{
    for (uint32_t i = 0; i < size; ++i) {
        if (ram[at + i] != expected[i]) {
            say("case ", number);
            say(" byte ", i);
            say(" is ", ram[at + i]);
            say(" not ", expected[i]);
            call_host(4, "\\n");
            return;
        }
    }
}
static void check_guard(uint32_t number, uint32_t at, uint32_t size)
{
    for (uint32_t i = 0; i < size; ++i) {
        if (ram[at + i] != POISON) {
            say("case ", number);
            say(" writes outside, at ", at + i);
            call_host(4, "\\n");
            return;
        }
    }
}
"""


@dataclass(frozen=True)
class Run:
    """One call: its case, the values of its run-time inputs, what it must give, and how output lies over input.

    kernel: another one than the machine's first choice.
    """

    case: Case
    values: Sequence[Array | None]
    expected: Sequence[Array]
    overlap: Overlap | None = None
    kernel: Kernel | None = None


def kernel_for(case: Case, machine: Machine) -> Kernel:
    return case.choice_for(machine.target).kernel


def kernels_for(case: Case, machine: Machine) -> list[Kernel]:
    """The kernel and its alternatives."""
    choice = case.choice_for(machine.target)
    return [costed.kernel for costed in (choice.chosen, *choice.alternatives)]


def check_on(machine: Machine, runs: Sequence[Run], folder: Path, optimize: str = "-O2") -> None:
    """Every run gives exactly what is expected, on the machine, and writes nowhere else."""
    lines = faults_on(machine, runs, folder, optimize)
    assert not lines, f"{lines[:5]}: {[runs[int(line.split()[1])] for line in lines[:1]]}"


def faults_on(machine: Machine, runs: Sequence[Run], folder: Path, *flags: str) -> list[str]:
    """A line for each run that does not: `case`, its number, and what is wrong. flags: for the compiler, else -O2."""
    source, data = _source(machine, runs)
    faults: list[str] = []

    def make(done: Path) -> None:
        (folder / DATA_FILE).write_bytes(data)
        lines = lines_of(machine, source, folder, *flags)
        assert lines[-1:] == [f"done {len(runs)}"], lines[-3:]
        faults.extend(lines[:-1])
        if faults:
            raise _FaultsError
        (done / "no faults").touch()

    _require_programs(machine)
    place = machine.qemu, machine.flags, machine.code, machine.data
    contents = hashlib.sha256(data).hexdigest()
    depends_on = (place, flags, WARNINGS, source, contents, digest([KERNELS], ".h"), *map(version, _programs(machine)))
    with contextlib.suppress(_FaultsError):
        cached(depends_on, make)
    return faults


class _FaultsError(Exception):
    """The emulated kernels are wrong somewhere: nothing is kept."""


def _programs(machine: Machine) -> tuple[str, str]:
    return chain_of(machine).compiler, machine.architecture.qemu


def _require_programs(machine: Machine) -> None:
    for program in _programs(machine):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def chain_of(machine: Machine) -> Toolchain:
    """The compiler for a machine."""
    assert machine.architecture.toolchain is not None
    return machine.architecture.toolchain


def lines_of(machine: Machine, source: str, folder: Path, *flags: str) -> list[str]:
    """Lines that a program prints on the emulated machine. source: START and a main that prints by say() and stops."""
    _require_programs(machine)
    chain = chain_of(machine)
    (folder / "script.ld").write_text(SCRIPT)
    (folder / "main.c").write_text(source)
    build = [chain.compiler, *machine.flags, *WARNINGS, *(flags or ("-O2",)), f"-I{KERNELS}", "-nostartfiles"]
    build += [f"--specs={chain.specs}", "-T", "script.ld"]
    build += [
        f"-Wl,--defsym=VECTORS={machine.vectors}",
        f"-Wl,--defsym=CODE={machine.code}",
        f"-Wl,--defsym=DATA={machine.data}",
        "-Wl,--no-warn-rwx-segments",
        "main.c",
        "-o",
        "image.elf",
        "-lm",
    ]
    done = subprocess.run(build, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    qemu = [
        machine.architecture.qemu,
        "-M",
        machine.qemu,
        *machine.architecture.qemu_arguments,
        "-nographic",
        "-monitor",
        "none",
        "-serial",
        "none",
    ]
    qemu += ["-semihosting-config", "enable=on,target=native", "-kernel", "image.elf"]
    ran = subprocess.run(qemu, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    return (ran.stdout + ran.stderr).splitlines()


class _Data:
    """The contents of DATA_FILE."""

    def __init__(self) -> None:
        self.contents = bytearray()

    def put(self, data: bytes, c_type: str = "uint8_t") -> str:
        """The address of `data` as C."""
        self.contents += bytes(-len(self.contents) % 16)
        begin = len(self.contents)
        self.contents += data
        return f"(const {c_type} *)(data + {begin})"


def _source(machine: Machine, runs: Sequence[Run]) -> tuple[str, bytes]:
    """C, and the data that it reads."""
    data = _Data()
    kernels = [facing(run.kernel or kernel_for(run.case, machine), run.overlap) for run in runs]
    headers = sorted({kernel.header for kernel in kernels})
    parts = [*(f'#include "{header}"' for header in headers), f"#define POISON {POISON}", START, _DATA, _CHECK]
    calls = []
    for number, (run, kernel) in enumerate(zip(runs, kernels, strict=True)):
        parts.append(_case(number, run, kernel, data))
        calls.append(f"    current = {number};\n    case_{number}();")
    main = "\n".join(["int main(void)\n{", *calls, f'    say("done ", {len(runs)});', '    call_host(4, "\\n");'])
    return "\n".join([*parts, main, "    return 0;\n}\n"]), bytes(data.contents)


def _case(number: int, run: Run, kernel: Kernel, data: _Data) -> str:
    """A function that lays out the case's operands in `ram`, calls the kernel, and checks."""
    lines: list[str] = []
    arguments: list[str] = []
    homes, end = _layout(run, kernel)
    lines.append(f"    memset(ram, POISON, {end});")
    checks = []
    free = set(range(end))
    for index, at in homes["in"].items():
        value = _bytes(run, index)
        lines.append(f"    memcpy(ram + {at}, {data.put(value)}, {len(value)});")
        free -= set(range(at, at + len(value)))
    for n, operand in enumerate(kernel.operands):
        if isinstance(operand, ConstantArray):
            arguments.append(data.put(operand.data, operand.dtype.c_type))
            continue
        if isinstance(operand, Input) and operand.index not in homes["in"]:
            item = run.case.inputs[operand.index]
            assert item is not None
            assert item.data is not None
            arguments.append(data.put(packed_contents(item.data, item.type.dtype), item.type.dtype.c_type))
            continue
        at, size = -1, 0
        if isinstance(operand, Input):
            at = homes["in"][operand.index]
        elif isinstance(operand, Output):
            at = homes["out"][operand.index]
            size = run.case.outputs[operand.index].bytes
            expected = np.ascontiguousarray(run.expected[operand.index]).tobytes()
            checks.append(f"    check({number}, {at}, {data.put(expected)}, {size});")
        elif isinstance(operand, Scratch):
            at, size = homes["scratch"][n], operand.bytes
        free -= set(range(at, at + size))
        arguments.append(c_argument(operand, n, run.case).replace(f"s[{n}]", f"(void *)(ram + {at})"))
    for first, last in _runs(sorted(free)):
        checks.append(f"    check_guard({number}, {first}, {last - first + 1});")
    if kernel.params:
        fields = ", ".join(f".{name} = {c_value(value)}" for name, value in kernel.params.fields)
        lines.append(f"    static const struct {kernel.params.struct} params = {{{fields}}};")
        arguments.append("&params")
    lines.append(f"    {kernel.function}({', '.join(arguments)});")
    text = "\n".join(lines + checks)
    return f"static __attribute__((noinline)) void case_{number}(void)\n{{\n{text}\n}}"


def _layout(run: Run, kernel: Kernel) -> tuple[dict[str, dict[int, int]], int]:
    """Where inputs, outputs and scratch lie in `ram`, and how much of it is in use."""
    homes: dict[str, dict[int, int]] = {"in": {}, "out": {}, "scratch": {}}
    at = GUARD
    if run.overlap is not None:
        source, output = offsets(run.overlap)
        homes["out"][run.overlap.output] = at + output
        homes["in"][run.overlap.input] = at + source
        ends = output + run.case.outputs[run.overlap.output].bytes, source + len(_bytes(run, run.overlap.input))
        at += max(ends) + GUARD
    for index, item in enumerate(run.case.inputs):
        if item is not None and item.data is None and index not in homes["in"]:
            homes["in"][index] = at = -(-at // 4) * 4
            at += len(_bytes(run, index)) + GUARD
    for index, kind in enumerate(run.case.outputs):
        if index not in homes["out"]:
            homes["out"][index] = at = -(-at // 4) * 4
            at += kind.bytes + GUARD
    for n, operand in enumerate(kernel.operands):
        if isinstance(operand, Scratch):
            homes["scratch"][n] = at = -(-at // operand.alignment) * operand.alignment
            at += operand.bytes + GUARD
    return homes, at


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def _bytes(run: Run, index: int) -> bytes:
    value = run.values[index]
    assert value is not None
    item = run.case.inputs[index]
    assert item is not None
    return np.ascontiguousarray(value, dtype=item.type.dtype.numpy).tobytes()
