"""Addresses at which execution may come into a region of code from outside of it, by the disassembly.

Who watches these addresses alone knows at each instruction in which region it is. Where a jump goes is known of direct
ones; one through a table or a register may go to whatever follows an instruction that never runs on into the next.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from tflmgen.architectures import Architecture, AssemblySyntax
from tflmgen.toolchain.programs import find_binutil, find_compiler
from tflmgen.toolchain.stack import TARGET, Disassembled, Listing, parse_disassembly

Instruction = tuple[int, str, str]
"""Address, operation, operands."""


def region_entries(elf: Path, architecture: Architecture, regions: Mapping[int, int]) -> set[int]:
    """Addresses among those of `regions`, address -> region of an instruction.

    Instructions of none belong to the region that called them: an instruction behind a call is an entry where the
    called function may come to a region.
    """
    assert architecture.assembly is not None
    objdump = find_binutil(find_compiler(architecture), "objdump")
    words = ("-t", "-d", "--no-show-raw-insn")
    text = subprocess.run([objdump, *words, elf], capture_output=True, text=True, check=True).stdout
    return entries_in(text, architecture.assembly, regions)


def entries_in(text: str, assembly: AssemblySyntax, regions: Mapping[int, int]) -> set[int]:
    """See region_entries(); `text`: output of `objdump -t -d --no-show-raw-insn`."""
    listing = Listing(text, assembly.function_bit)
    code = [entry for entry in listing.instructions if not entry[1].startswith(".")]
    changing = _changing(parse_disassembly(text, assembly), {listing.function_at(address) for address in regions})
    computed = {listing.function_at(entry[0]) for entry in code if _is_computed(entry, assembly)}
    entries = {start for start in listing.names if start in regions}
    for entry in code:
        target = _target(entry, assembly)
        if target is not None and target in regions and regions[target] != regions.get(entry[0]):
            entries.add(target)
    for before, (address, *_) in pairwise(code):
        if address not in regions:
            continue
        if _is_left(before, assembly):
            if listing.function_at(address) in computed:
                entries.add(address)
        elif regions.get(before[0]) != regions[address] or _called(before, listing, assembly) & changing:
            entries.add(address)
    return entries


def _changing(code: Mapping[str, Disassembled], inside: set[str | None]) -> set[str | None]:
    """Functions that may execute instructions of a region; None stands for calls by pointer."""
    changing = {None, *inside}
    while more := {name for name, function in code.items() if function.callees & changing} - changing:
        changing |= more
    return changing


def _text(entry: Instruction) -> str:
    return f"{entry[1]}\t{entry[2]}"


def _is_computed(entry: Instruction, assembly: AssemblySyntax) -> bool:
    text, table = _text(entry), assembly.table_call
    if table and table in text:
        return True
    return bool(assembly.computed.match(text) and not assembly.returns.match(text))


def _is_left(entry: Instruction, assembly: AssemblySyntax) -> bool:
    """Whether the next instruction never follows this one."""
    leaves = assembly.leaves.fullmatch(entry[1]) or assembly.returns.match(_text(entry))
    return _is_computed(entry, assembly) or bool(leaves)


def _target(entry: Instruction, assembly: AssemblySyntax) -> int | None:
    """Address that a direct branch, call or loop goes to."""
    is_jump = assembly.jump.fullmatch(entry[1]) or assembly.loop.fullmatch(entry[1])
    match = TARGET.search(entry[2]) if is_jump else None
    return int(match[1], 16) if match else None


def _called(entry: Instruction, listing: Listing, assembly: AssemblySyntax) -> set[str | None]:
    """The function that an instruction calls, None by pointer; empty for what is no call."""
    if not assembly.call.fullmatch(entry[1]):
        return set()
    target = _target(entry, assembly)
    return {None if target is None else listing.function_at(target)}
