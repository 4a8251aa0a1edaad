"""Attributes each instruction of a firmware to a step of the plan, by the firmware's debug information.

The generated C has one line per step, and the compiler inlines kernels into it. DWARF (version 5, sections 2.17, 3.3
and 6.2) gives each instruction's line, and each inlined function's call line. An instruction belongs to the step at
the innermost of these lines in the generated C. Shared code has no such line; it is counted for the calling step.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tflmgen.errors import TflmgenError

NO_STEP = -1
"""Step of instructions that belong to no step of the plan."""


class AttributionError(TflmgenError):
    """A firmware whose debug information cannot be used."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of the line table: instructions in [start, end) come from `line` of `file`."""

    start: int
    end: int
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class _Scope:
    """A function with its address ranges; an inlined one has the file and line of its call."""

    ranges: tuple[tuple[int, int], ...]
    call_file: str
    call_line: int
    inner: tuple[_Scope, ...]


def attribute(elf: Path, source: str, lines: Mapping[int, int]) -> dict[int, int]:
    """Address of each instruction from the file named `source` -> its step; NO_STEP outside all steps.

    lines  step -> first line of its code in `source`
    """
    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with elf.open("rb") as file:
            image = ELFFile(file)
            if not image.has_dwarf_info():
                raise AttributionError(f"{elf}: no debug information (compiled without -g?)")
            return _Reader(image.get_dwarf_info(), source, lines).steps()
    except (ELFError, DWARFError, KeyError, ValueError) as error:
        raise AttributionError(f"{elf}: debug information that cannot be read: {error}") from error


class _Reader:
    def __init__(self, dwarf: Any, source: str, lines: Mapping[int, int]) -> None:
        self._dwarf = dwarf
        self._source = source
        self._starts = {line: step for step, line in lines.items()}

    def steps(self) -> dict[int, int]:
        steps: dict[int, int] = {}
        for unit in self._dwarf.iter_CUs():
            top = unit.get_top_DIE()
            if Path(_name(top)).name == self._source:
                steps |= self._unit(unit, top)
        return steps

    def _unit(self, unit: Any, top: Any) -> dict[int, int]:
        steps: dict[int, int] = {}
        program = self._dwarf.line_program_for_CU(unit)
        version = program.header.version
        names = [entry.name.decode() for entry in program["file_entry"]]

        def file(number: int) -> str:
            index = number if version >= 5 else number - 1
            return Path(names[index]).name if 0 <= index < len(names) else ""

        for die in top.iter_children():
            if die.tag == "DW_TAG_subprogram" and file(_number(die, "DW_AT_decl_file")) == self._source:
                self._starts.setdefault(_number(die, "DW_AT_decl_line"), NO_STEP)
        ordered = sorted(self._starts)
        scopes = list(self._scopes(top, file))
        for row in _rows(program, file):
            for scope in scopes:
                for start, end in scope.ranges:
                    for address in range(max(start, row.start), min(end, row.end), 2):
                        line = self._line(scope, row, address)
                        if line is not None:
                            position = bisect_right(ordered, line) - 1
                            steps[address] = self._starts[ordered[position]] if position >= 0 else NO_STEP
        return steps

    def _line(self, scope: _Scope, row: _Row, address: int) -> int | None:
        """Innermost line in the source file at an address of `scope`; None if there is none."""
        for inner in scope.inner:
            if any(start <= address < end for start, end in inner.ranges):
                line = self._line(inner, row, address)
                if line is not None:
                    return line
                return inner.call_line if inner.call_file == self._source else None
        return row.line if row.file == self._source else None

    def _scopes(self, die: Any, file: Any) -> Iterator[_Scope]:
        """Functions in `die`, including those in lexical blocks."""
        for child in die.iter_children():
            if child.tag in ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine"):
                ranges = tuple(self._ranges(child))
                if ranges:
                    called = file(_number(child, "DW_AT_call_file")), _number(child, "DW_AT_call_line")
                    yield _Scope(ranges, *called, tuple(self._scopes(child, file)))
            elif child.tag == "DW_TAG_lexical_block":
                yield from self._scopes(child, file)

    def _ranges(self, die: Any) -> Iterator[tuple[int, int]]:
        low, high = die.attributes.get("DW_AT_low_pc"), die.attributes.get("DW_AT_high_pc")
        if low is not None and high is not None:
            end = high.value if high.form == "DW_FORM_addr" else low.value + high.value
            yield low.value, end
            return
        if "DW_AT_ranges" not in die.attributes:
            return
        base = _number(die.cu.get_top_DIE(), "DW_AT_low_pc")
        lists = self._dwarf.range_lists()
        for entry in lists.get_range_list_at_offset(die.attributes["DW_AT_ranges"].value, cu=die.cu):
            if hasattr(entry, "base_address"):
                base = entry.base_address
            else:
                offset = 0 if getattr(entry, "is_absolute", False) else base
                yield entry.begin_offset + offset, entry.end_offset + offset


def _rows(program: Any, file: Any) -> Iterator[_Row]:
    """Rows of the line table; of several rows at one address only the last is not empty."""
    before = None
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if before is not None:
            name = file(before.file)
            yield _Row(before.address, state.address, name, before.line)
        before = None if state.end_sequence else state


def _name(die: Any) -> str:
    attribute = die.attributes.get("DW_AT_name")
    return attribute.value.decode() if attribute is not None else ""


def _number(die: Any, name: str) -> int:
    attribute = die.attributes.get(name)
    return int(attribute.value) if attribute is not None else 0
