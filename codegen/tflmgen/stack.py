"""The most stack that a function of a firmware can use: the frames that GCC reports, along the deepest chain of calls.

Frames come from -fstack-usage; those of library functions, which have no such report, from their disassembly, as do
all calls. Interrupt handlers use the stack too, and are not counted.
"""

from __future__ import annotations

import re
import subprocess
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tflmgen.toolchain import find_arm_compiler

SYMBOL = re.compile(r"^([0-9a-f]+) .{6}F \S+\s+[0-9a-f]+ +(?:\.hidden )?(\S+)$")
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(\S+)(?:\t([^@;]*))?")
TARGET = re.compile(r"([0-9a-f]+) <")
JUMP = re.compile(r"(blx?|b(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)?|cbn?z)(\.[nw])?")


@dataclass(slots=True)
class Disassembled:
    """What a function does to the stack: `frame` bytes (None: an unknown number), whom it calls (None: anybody)."""

    frame: int | None = 0
    callees: set[str | None] = field(default_factory=set)


def stack_worst_case(elf: Path, objects: Path, functions: Iterable[str]) -> int | None:
    """The most bytes that one of `functions` uses, with all that it calls; None where that is not known.

    elf      a firmware for Arm
    objects  the folder with the .su files of its objects, in it or in folders below
    """
    code = disassemble(elf)
    frames = dict(reported_frames(path.read_text(encoding="utf-8") for path in objects.rglob("*.su")))
    depth = deepest(code, frames)
    depths = [depth(name) for name in functions]
    known = [depth for depth in depths if depth is not None]
    return max(known, default=0) if len(known) == len(depths) else None


def reported_frames(reports: Iterable[str]) -> Iterator[tuple[str, int | None]]:
    """Function -> bytes of its frame, from the texts of .su files; None where it has no fixed size."""
    found: dict[str, int | None] = {}
    for line in (line for report in reports for line in report.splitlines()):
        place, frame, kind = line.split("\t")
        name = place.rpartition(":")[2]
        bytes_ = int(frame) if kind == "static" or "bounded" in kind else None
        before = found.get(name, 0)
        found[name] = None if bytes_ is None or before is None else max(bytes_, before)
    yield from found.items()


def disassemble(elf: Path) -> Mapping[str, Disassembled]:
    """The functions of an Arm ELF file by name."""
    compiler = find_arm_compiler()
    objdump = compiler.with_name(compiler.name.replace("gcc", "objdump"))
    command = [str(objdump), "-t", "-d", "--no-show-raw-insn", str(elf)]
    return parse_disassembly(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def parse_disassembly(text: str) -> Mapping[str, Disassembled]:
    """The functions in what `objdump -t -d` prints; of several names for one place, the last one's is all."""
    names = {}
    instructions = []
    for line in text.splitlines():
        if match := SYMBOL.match(line):
            names[int(match[1], 16) & ~1] = match[2]
        elif match := INSTRUCTION.match(line):
            instructions.append((int(match[1], 16), match[2], (match[3] or "").strip()))
    starts = sorted(names)
    functions = {name: Disassembled() for name in names.values()}

    def at(address: int) -> str | None:
        index = bisect(starts, address)
        return names[starts[index - 1]] if index else None

    for address, operation, operands in instructions:
        name = at(address)
        if name is None:
            continue
        function = functions[name]
        pushed = _pushed(operation, operands)
        function.frame = None if pushed is None or function.frame is None else function.frame + pushed
        if JUMP.fullmatch(operation):
            target = TARGET.search(operands)
            callee = at(int(target[1], 16)) if target else None
            if callee != name or operation.startswith(("bl.", "blx")) or operation == "bl":
                function.callees.add(callee)
        elif operation == "bx" and operands != "lr":
            function.callees.add(None)
    return functions


def _pushed(operation: str, operands: str) -> int | None:
    """Bytes by which an instruction moves the stack pointer down."""
    base = operation.partition(".")[0]
    if base in ("push", "vpush") or (base in ("stmdb", "vstmdb") and operands.startswith("sp!")):
        return sum(_registers(part) for part in operands.partition("{")[2].rstrip("}").split(","))
    if (match := re.search(r"\[sp, #-(\d+)\]!", operands)) and base.startswith(("str", "vstr")):
        return int(match[1])
    if base in ("sub", "subw", "subs") and re.match(r"sp\b", operands):
        immediate = re.search(r"#(\d+)$", operands)
        return int(immediate[1]) if immediate else None
    return 0


def _registers(part: str) -> int:
    """Bytes of r4, d8 or s16-s19."""
    first, _, last = part.strip().partition("-")
    count = int(last[1:]) - int(first[1:]) + 1 if last else 1
    return count * (8 if first.startswith("d") else 4)


def deepest(code: Mapping[str, Disassembled], frames: Mapping[str, int | None]) -> Callable[[str], int | None]:
    """A function that gives the most bytes that a function uses with all that it calls; None for recursion too."""
    known: dict[str, int | None] = {}

    def depth(name: str) -> int | None:
        if name not in known:
            known[name] = None
            known[name] = _with_callees(name)
        return known[name]

    def _with_callees(name: str) -> int | None:
        function = code.get(name)
        if function is None:
            return None
        frame = frames.get(re.sub(r"\.\d+$", "", name), function.frame)
        below = [None if callee is None else depth(callee) for callee in function.callees]
        sizes = [size for size in below if size is not None]
        return None if frame is None or len(sizes) < len(below) else frame + max(sizes, default=0)

    return depth
