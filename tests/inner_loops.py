"""The inner loops of kernels as they are compiled: how often each instruction occurs in one pass."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from support.repository import ROOT

KERNELS = ROOT / "firmware" / "kernels"
_LINE = re.compile(r"^\s*([0-9a-f]+):\s+((?:[0-9a-f]{4} ?)+)\s+([a-z][a-z0-9.]*)\s*(.*)$")


@dataclass(frozen=True, slots=True)
class Instruction:
    address: int
    mnemonic: str
    target: int | None
    """Where a branch goes."""


def instructions(header: str, call: str, function: str, flags: tuple[str, ...]) -> list[Instruction]:
    """The code of `function`, which the function `call` of a kernel's header needs."""
    with tempfile.TemporaryDirectory() as folder:
        source, object_file = Path(folder) / "kernel.c", Path(folder) / "kernel.o"
        source.write_text(f'#include "{header}"\nconst void *const used = (const void *)(uintptr_t){call};\n')
        compiler = [
            "arm-none-eabi-gcc",
            *flags,
            "-O2",
            "-std=gnu99",
            f"-I{KERNELS}",
            "-c",
            str(source),
            "-o",
            str(object_file),
        ]
        subprocess.run(compiler, check=True)
        dump = ["arm-none-eabi-objdump", "-d", "-m", "armv8.1-m.main", f"--disassemble={function}", str(object_file)]
        text = subprocess.run(dump, check=True, capture_output=True, text=True).stdout
    instructions = []
    for line in text.splitlines():
        if match := _LINE.match(line):
            mnemonic = re.sub(r"\.[nw]$", "", match[3])
            branch = re.search(r"\b([0-9a-f]+) <", match[4]) if mnemonic.startswith(("b", "le", "cb")) else None
            instructions.append(Instruction(int(match[1], 16), mnemonic, int(branch[1], 16) if branch else None))
    return instructions


def inner_loop(code: list[Instruction], number: int = 0) -> Counter[str]:
    """Of the loops that have none inside, the longest one first, that of this number."""
    loops = [(i.target, i.address) for i in code if i.target is not None and i.target < i.address]
    inner = [(a, b) for a, b in loops if not any(a <= c and d <= b and (a, b) != (c, d) for c, d in loops)]
    first, last = sorted(inner, key=lambda loop: loop[0] - loop[1])[number]
    return Counter(_plain(i.mnemonic) for i in code if first <= i.address <= last)


_DOT_PRODUCTS = {"VMLAV": "VMLADAV", "VMLAVA": "VMLADAVA"}
"""Instructions of which binutils shows another name."""


def _plain(mnemonic: str) -> str:
    """Without flags and types, so that ADD and ADDS are one."""
    name = re.sub(r"^(add|sub|asr|lsr|lsl|and|orr|eor|mul|mov|mvn)s$", r"\1", mnemonic.split(".")[0]).upper()
    return _DOT_PRODUCTS.get(name, name)


def counts_text(histogram: Counter[str]) -> str:
    """Instructions with their counts, the commonest first."""
    ranked = sorted(histogram.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {name}" for name, count in ranked)
