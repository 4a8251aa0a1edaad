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

from tflmgen.project.toolchain import find_arm_compiler

SYMBOL = re.compile(r"^([0-9a-f]+) .{6}F \S+\s+[0-9a-f]+ +(?:\.hidden )?(\S+)$")
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(\S+)(?:\t([^@;]*))?")
OBJECT = re.compile(r"^([0-9a-f]+) .{6}O \S+\s+([0-9a-f]+) ")
CONTENTS = re.compile(r"^ ([0-9a-f]+) ((?:[0-9a-f]{8} ){1,4})")
TARGET = re.compile(r"([0-9a-f]+) <")
CALL = re.compile(r"blx?(\.[nw])?")
JUMP = re.compile(r"(blx?|b(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)?|cbn?z)(\.[nw])?")


@dataclass(slots=True)
class Disassembled:
    """What a function does to the stack: `frame` bytes (None: an unknown number), whom it calls (None: by a pointer).

    pointers: the functions whose addresses are among its constants, or in a table whose address is one.
    """

    frame: int | None = 0
    callees: set[str | None] = field(default_factory=set)
    pointers: set[str] = field(default_factory=set)


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
    commands = ["-t", "-d", "--no-show-raw-insn"], ["-s", "-j", ".text"]
    done = (subprocess.run([objdump, *c, elf], capture_output=True, text=True, check=True) for c in commands)
    return parse_disassembly("".join(one.stdout for one in done))


def parse_disassembly(text: str) -> Mapping[str, Disassembled]:
    """The functions in what `objdump -t -d` and `-s` print; of several names for one place, the last one's is all."""
    names = {}
    instructions = []
    objects: dict[int, int] = {}
    words: dict[int, int] = {}
    for line in text.splitlines():
        if match := SYMBOL.match(line):
            names[int(match[1], 16) & ~1] = match[2]
        elif match := INSTRUCTION.match(line):
            instructions.append((int(match[1], 16), match[2], (match[3] or "").strip()))
        elif match := OBJECT.match(line):
            objects[int(match[1], 16)] = int(match[2], 16)
        elif match := CONTENTS.match(line):
            for index, word in enumerate(match[2].split()):
                words[int(match[1], 16) + 4 * index] = int.from_bytes(bytes.fromhex(word), "little")
    starts, halves = sorted(names), _Halves()
    functions = {name: Disassembled() for name in names.values()}

    def at(address: int) -> str | None:
        index = bisect(starts, address)
        return names[starts[index - 1]] if index else None

    for address, operation, operands in instructions:
        name = at(address)
        if name is None:
            continue
        function = functions[name]
        constant = halves.constant(operation, operands)
        if constant:  # 0 is no table, although vectors lie there
            table = (words.get(constant + offset, 0) for offset in range(0, objects.get(constant, 0), 4))
            function.pointers |= {names[word - 1] for word in (constant, *table) if word & 1 and word - 1 in names}
        pushed = _pushed(operation, operands)
        function.frame = None if pushed is None or function.frame is None else function.frame + pushed
        if JUMP.fullmatch(operation):
            target = TARGET.search(operands)
            place = int(target[1], 16) if target else None
            callee = at(place) if place is not None else None
            # Inside a function, Armv6-M has BL for jumps that are too far for B.
            if callee != name or (CALL.fullmatch(operation) and place in names):
                function.callees.add(callee)
        elif operation == "bx" and operands != "lr":
            function.callees.add(None)
    return functions


class _Halves:
    """The constants of a listing: words between the functions, and what MOVW and MOVT put together."""

    def __init__(self) -> None:
        self._low: dict[str, int] = {}

    def constant(self, operation: str, operands: str) -> int | None:
        """The constant that an instruction completes."""
        if operation == ".word":
            return int(operands, 16)
        register, _, value = operands.partition(", #")
        if operation == "movw":
            self._low[register] = int(value)
        if operation == "movt" and register in self._low:
            return (int(value) << 16) + self._low.pop(register)
        return None


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
    """A function that gives the most bytes that a function uses with all that it calls; None for recursion too.

    A call by a pointer may reach whatever function's address is a constant of the function that is asked for, or of one
    that it may call.
    """
    return lambda name: _Depths(code, frames, name).depth(name)


class _Depths:
    def __init__(self, code: Mapping[str, Disassembled], frames: Mapping[str, int | None], root: str) -> None:
        self._code = code
        self._frames = frames
        self._known: dict[str, int | None] = {}
        reached: set[str] = set()
        self._pointed: set[str] = set()
        pending = [root]
        while pending:
            name = pending.pop()
            function = code.get(name)
            if function is not None and name not in reached:
                reached.add(name)
                self._pointed |= function.pointers
                pending += [*(callee for callee in function.callees if callee), *function.pointers]

    def depth(self, name: str) -> int | None:
        if name not in self._known:
            self._known[name] = None
            self._known[name] = self._with_callees(name)
        return self._known[name]

    def _with_callees(self, name: str) -> int | None:
        function = self._code.get(name)
        frame = self._frame(name, function) if function is not None else None
        if function is None or frame is None or (None in function.callees and not self._pointed):
            return None
        callees = {callee for callee in function.callees if callee is not None}
        if None in function.callees:
            callees |= self._pointed
        below = [self.depth(callee) for callee in callees]
        sizes = [size for size in below if size is not None]
        return None if len(sizes) < len(below) else frame + max(sizes, default=0)

    def _frame(self, name: str, function: Disassembled) -> int | None:
        """GCC doesn't report what assembly inside a function pushes, the listing not what only GCC knows."""
        reported = self._frames.get(re.sub(r"\.\d+$", "", name), function.frame)
        return reported if reported is None or function.frame is None else max(reported, function.frame)
