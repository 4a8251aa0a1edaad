"""Worst-case stack of a firmware's functions: sum of frames along the deepest chain of calls.

Frames come from GCC's -fstack-usage; those of library functions, and all calls, come from the disassembly. Interrupt
handlers are not included.
"""

from __future__ import annotations

import re
import subprocess
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tflmgen.architectures import Architecture, AssemblySyntax
from tflmgen.toolchain.elf import CODE_IN_RAM, read_elf
from tflmgen.toolchain.programs import find_binutil, find_compiler

SYMBOL = re.compile(r"^([0-9a-f]+) .{6}F \S+\s+[0-9a-f]+ +(?:\.hidden )?(\S+)$")
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(\S+)(?:\t([^@;]*))?")
OBJECT = re.compile(r"^([0-9a-f]+) .{6}O \S+\s+([0-9a-f]+) ")
CONTENTS = re.compile(r"^ ([0-9a-f]+) ((?:[0-9a-f]{8} ){1,4})")
TARGET = re.compile(r"([0-9a-f]+) <")
VENEER = re.compile(r"__(\w+)_veneer")
KERNEL_PREFIX = "tflmgen_"


@dataclass(slots=True)
class Disassembled:
    """Stack behaviour of a function.

    frame     bytes; None: unknown
    callees   names of called functions; None among them: a call by pointer
    pointers  functions whose addresses are among its constants, or in a table whose address is one
    """

    frame: int | None = 0
    callees: set[str | None] = field(default_factory=set)
    pointers: set[str] = field(default_factory=set)


def stack_worst_case(elf: Path, architecture: Architecture, objects: Path, functions: Iterable[str]) -> int | None:
    """Largest number of stack bytes of one of `functions`, callees included; None if unknown.

    elf      a firmware for a core of this architecture
    objects  folder with the .su files of its objects, at any depth
    """
    if architecture.assembly is None:
        return None
    code = disassemble(elf, architecture, architecture.assembly)
    frames = dict(reported_frames(path.read_text(encoding="utf-8") for path in objects.rglob("*.su")))
    depth = deepest(code, frames)
    depths = [depth(name) for name in functions]
    known_depths = [depth for depth in depths if depth is not None]
    return max(known_depths, default=0) if len(known_depths) == len(depths) else None


def reported_frames(reports: Iterable[str]) -> Iterator[tuple[str, int | None]]:
    """(function, frame bytes) from the texts of .su files; None for a frame of variable size."""
    frames: dict[str, int | None] = {}
    for line in (line for report in reports for line in report.splitlines()):
        place, frame_text, kind = line.split("\t")
        name = place.rpartition(":")[2]
        bytes_ = int(frame_text) if kind == "static" or "bounded" in kind else None
        earlier = frames.get(name, 0)
        frames[name] = None if bytes_ is None or earlier is None else max(bytes_, earlier)
    yield from frames.items()


def disassemble(elf: Path, architecture: Architecture, assembly: AssemblySyntax) -> Mapping[str, Disassembled]:
    """Function name -> stack behaviour, for an ELF file."""
    objdump = find_binutil(find_compiler(architecture), "objdump")
    sections = {section.name for section in read_elf(elf).sections} & {".text", CODE_IN_RAM}
    contents = [word for name in sorted(sections) for word in ("-j", name)]
    commands = ["-t", "-d", "--no-show-raw-insn"], ["-s", *contents]
    outputs = (subprocess.run([objdump, *c, elf], capture_output=True, text=True, check=True) for c in commands)
    return parse_disassembly("".join(process.stdout for process in outputs), assembly)


def parse_disassembly(text: str, assembly: AssemblySyntax) -> Mapping[str, Disassembled]:
    """Functions in the output of `objdump -t -d` and `-s`; of several names for one address, the last one counts."""
    listing = Listing(text, assembly.function_bit)
    constant_of = assembly.constants()
    functions = {name: Disassembled() for name in listing.names.values()}
    for address, operation, operands in listing.instructions:
        name = listing.function_at(address)
        if name is None:
            continue
        function = functions[name]
        constant = constant_of(operation, operands)
        if constant:  # 0 is no table, although vectors lie there
            function.pointers |= listing.functions_in(constant)
        pushed = assembly.pushed(operation, operands)
        function.frame = None if pushed is None or function.frame is None else function.frame + pushed
        if assembly.jump.fullmatch(operation):
            target = TARGET.search(operands)
            place = int(target[1], 16) if target else None
            callee = listing.function_at(place) if place is not None else None
            # Inside a function, Armv6-M has BL for jumps that are too far for B.
            if callee != name or (assembly.call.fullmatch(operation) and place in listing.names):
                function.callees.add(callee)
        elif veneer := VENEER.fullmatch(name):
            function.callees.add(veneer[1])
        elif assembly.tail_by_pointer.match(f"{operation}\t{operands}"):
            function.callees.add(None)
    return functions


class Listing:
    """Output of objdump by address: functions' names, instructions in order, objects' sizes, words of .text."""

    def __init__(self, text: str, function_bit: int) -> None:
        self._bit = function_bit
        self.names: dict[int, str] = {}
        self.instructions: list[tuple[int, str, str]] = []
        self._objects: dict[int, int] = {}
        self._words: dict[int, int] = {}
        for line in text.splitlines():
            if match := SYMBOL.match(line):
                self.names[int(match[1], 16) & ~1] = match[2]
            elif match := INSTRUCTION.match(line):
                self.instructions.append((int(match[1], 16), match[2], (match[3] or "").strip()))
            elif match := OBJECT.match(line):
                self._objects[int(match[1], 16)] = int(match[2], 16)
            elif match := CONTENTS.match(line):
                for index, word in enumerate(match[2].split()):
                    self._words[int(match[1], 16) + 4 * index] = int.from_bytes(bytes.fromhex(word), "little")
        self._starts = sorted(self.names)

    def function_at(self, address: int) -> str | None:
        """The function that an address is in."""
        index = bisect(self._starts, address)
        return self.names[self._starts[index - 1]] if index else None

    def functions_in(self, constant: int) -> set[str]:
        """The functions that a constant points to, itself or by the table that it is the address of."""
        size = self._objects.get(constant, 0)
        table = (self._words.get(constant + offset, 0) for offset in range(0, size, 4))
        bit = self._bit
        return {self.names[word - bit] for word in (constant, *table) if word & 1 == bit and word - bit in self.names}


def deepest(code: Mapping[str, Disassembled], frames: Mapping[str, int | None]) -> Callable[[str], int | None]:
    """Returns a function: name -> worst-case stack bytes, callees included; None if unknown or recursive.

    A call by pointer may reach every function whose address is a constant of the root function or of its callees. A
    kernel of tflmgen's own gets pointers from its callers only, and never recurses.
    """
    return lambda name: _Depths(code, frames, name).depth(name)


class _Depths:
    def __init__(self, code: Mapping[str, Disassembled], frames: Mapping[str, int | None], root: str) -> None:
        self._code = code
        self._frames = frames
        self._known: dict[str, int | None] = {}
        self._called: set[str] = set()
        self._pointed: set[str] = set()
        pending = [root]
        while pending:
            name = pending.pop()
            function = code.get(name)
            if function is not None and name not in self._called:
                self._called.add(name)
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
        pointed = self._pointed_of(name) if function is not None and None in function.callees else set()
        if function is None or frame is None or (None in function.callees and not pointed):
            return None
        callees = {callee for callee in function.callees if callee is not None} | pointed
        below = [self.depth(callee) for callee in callees]
        sizes = [size for size in below if size is not None]
        return None if len(sizes) < len(below) else frame + max(sizes, default=0)

    def _pointed_of(self, name: str) -> set[str]:
        """The functions that a call by pointer in this one may reach."""
        if not name.startswith(KERNEL_PREFIX):
            return self._pointed
        callers = (self._code[caller] for caller in self._called if name in self._reached(caller))
        passed = {pointer for caller in callers for pointer in caller.pointers}
        return {pointer for pointer in passed if name not in self._reached(pointer)}

    def _reached(self, name: str) -> set[str]:
        """The functions that a function may call, itself included."""
        reached: set[str] = set()
        pending = [name]
        while pending:
            caller = pending.pop()
            if caller not in reached and caller in self._code:
                reached.add(caller)
                callees = self._code[caller].callees
                pending += [*(callee for callee in callees if callee), *(self._pointed if None in callees else ())]
        return reached

    def _frame(self, name: str, function: Disassembled) -> int | None:
        """Larger of GCC's frame, which lacks pushes of inline assembly, and the listing's, which may be incomplete."""
        reported = self._frames.get(re.sub(r"\.\d+$", "", name), function.frame)
        return reported if reported is None or function.frame is None else max(reported, function.frame)
