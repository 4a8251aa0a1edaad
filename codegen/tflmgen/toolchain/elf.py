"""Reader of sections and symbols of 32-bit and 64-bit little-endian ELF files."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from tflmgen.errors import TflmgenError

SHT_SYMTAB, SHT_NOBITS = 2, 8
"""Types of sections in ELF: symbols, and data without bytes in the file."""

SHF_WRITE, SHF_ALLOC = 1, 2
"""Flags of sections in ELF: writable, and present in memory."""

CODE_IN_RAM = ".tflmgen_code"
"""Section of code that start-up code copies from flash to RAM."""


class ElfError(TflmgenError):
    """Not a readable ELF file."""


@dataclass(frozen=True, slots=True)
class Section:
    """One entry of the section table; the numbers are ELF's, in bytes. `link`: index of the section that it refers
    to."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True, slots=True)
class Elf:
    """Sections, and symbols as name -> address (bit 0 set for Thumb functions; any one of equal local names)."""

    sections: tuple[Section, ...]
    symbols: dict[str, int]

    @property
    def text(self) -> int:
        """Bytes of code and constants that stay in flash."""
        return sum(s.size for s in self.sections if s.flags & SHF_ALLOC and not _is_variable(s))

    @property
    def data(self) -> int:
        """Bytes of initialised variables, and of code that runs in RAM: they take up flash and RAM."""
        return sum(s.size for s in self.sections if _is_variable(s) and s.type != SHT_NOBITS)

    @property
    def bss(self) -> int:
        """Bytes of RAM without initial contents, arenas and state among them."""
        return sum(s.size for s in self.sections if _is_variable(s) and s.type == SHT_NOBITS)

    def section_bytes(self, name: str) -> int:
        """Bytes of all sections with this name together; 0 if there is none."""
        return sum(s.size for s in self.sections if s.name == name)


def read_elf(path: Path) -> Elf:
    """Sections and symbols of a file. Raises ElfError if it is no ELF file that can be read."""
    data = path.read_bytes()
    if data[:4] != b"\x7fELF" or data[5:6] != b"\x01":
        raise ElfError(f"{path}: not a little-endian ELF file")
    try:
        return _parse(data, wide=data[4] == 2)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ElfError(f"{path}: a damaged ELF file") from error


def _parse(data: bytes, wide: bool) -> Elf:
    (table,) = struct.unpack_from("<Q" if wide else "<I", data, 40 if wide else 32)
    entry, count, names = struct.unpack_from("<HHH", data, 58 if wide else 46)
    headers = [struct.unpack_from("<IIQQQQI" if wide else "<IIIIIII", data, table + i * entry) for i in range(count)]
    name_offset = headers[names][4]
    sections = tuple(Section(_text(data, name_offset + h[0]), *h[1:]) for h in headers)
    symbols: dict[str, int] = {}
    for section in sections:
        if section.type == SHT_SYMTAB:
            strings = sections[section.link].offset
            for offset in range(section.offset, section.offset + section.size, 24 if wide else 16):
                name, value = struct.unpack_from("<I4xQ" if wide else "<II", data, offset)
                symbols[_text(data, strings + name)] = value
    return Elf(sections, symbols)


def _text(data: bytes, offset: int) -> str:
    return data[offset : data.index(b"\0", offset)].decode()


def _is_variable(section: Section) -> bool:
    return section.name == CODE_IN_RAM or section.flags & (SHF_ALLOC | SHF_WRITE) == SHF_ALLOC | SHF_WRITE
