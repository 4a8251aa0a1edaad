"""Addresses at which execution may come into a region of code from outside of it, by the disassembly.

Who watches these addresses alone knows at each instruction in which region it is. Where a jump goes is known of direct
ones; one through a table or a register may go to whatever follows an instruction that never runs on into the next.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from tflmgen.toolchain.programs import find_arm_compiler, find_binutil
from tflmgen.toolchain.stack import CALL, JUMP, TARGET, Disassembled, Listing, parse_disassembly

Instruction = tuple[int, str, str]
"""Address, operation, operands."""

_LOOP = re.compile(r"(wls|le|wlstp|letp)(\.\w+)?")
"""Loops of Armv8.1-M: they jump to an address as branches do."""
_RETURN = re.compile(r"bx\tlr|(pop|ldm\w*)(\.w)?\t.*\bpc\}")
_REGISTER = re.compile(r"(tbb|tbh|bx)\t|(ldr|mov|add)(\.w)?\tpc,")
"""Jumps whose target is a number that code computes; returns are none."""
_JUMP_TABLE = "__gnu_thumb1_case_"
"""Functions of GCC for Armv6-M that jump by the table behind their call."""


def region_entries(elf: Path, regions: Mapping[int, int]) -> set[int]:
    """Addresses among those of `regions`, address -> region of an instruction.

    Instructions of none belong to the region that called them: an instruction behind a call is an entry where the
    called function may come to a region.
    """
    objdump = find_binutil(find_arm_compiler(), "objdump")
    words = ("-t", "-d", "--no-show-raw-insn")
    return entries_in(
        subprocess.run([objdump, *words, elf], capture_output=True, text=True, check=True).stdout, regions
    )


def entries_in(text: str, regions: Mapping[int, int]) -> set[int]:
    """See region_entries(); `text`: output of `objdump -t -d --no-show-raw-insn`."""
    listing = Listing(text)
    code = [entry for entry in listing.instructions if not entry[1].startswith(".")]
    changing = _changing(parse_disassembly(text), {listing.function_at(address) for address in regions})
    computed = {listing.function_at(entry[0]) for entry in code if _is_computed(entry)}
    entries = {start for start in listing.names if start in regions}
    for entry in code:
        target = _target(entry)
        if target is not None and target in regions and regions[target] != regions.get(entry[0]):
            entries.add(target)
    for before, (address, *_) in pairwise(code):
        if address not in regions:
            continue
        if _is_left(before):
            if listing.function_at(address) in computed:
                entries.add(address)
        elif regions.get(before[0]) != regions[address] or _called(before, listing) & changing:
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


def _is_computed(entry: Instruction) -> bool:
    text = _text(entry)
    return _JUMP_TABLE in text or bool(_REGISTER.match(text) and not _RETURN.match(text))


def _is_left(entry: Instruction) -> bool:
    """Whether the next instruction never follows this one."""
    return _is_computed(entry) or entry[1] in ("b", "b.n", "b.w") or bool(_RETURN.match(_text(entry)))


def _target(entry: Instruction) -> int | None:
    """Address that a direct branch, call or loop goes to."""
    is_jump = JUMP.fullmatch(entry[1]) or _LOOP.fullmatch(entry[1])
    match = TARGET.search(entry[2]) if is_jump else None
    return int(match[1], 16) if match else None


def _called(entry: Instruction, listing: Listing) -> set[str | None]:
    """The function that an instruction calls, None by pointer; empty for what is no call."""
    if not CALL.fullmatch(entry[1]):
        return set()
    target = _target(entry)
    return {None if target is None else listing.function_at(target)}
