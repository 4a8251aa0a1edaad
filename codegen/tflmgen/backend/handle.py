"""The handle of a re-entrant library: how its functions take it, pass it on, and reach what an instance keeps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

HANDLE = "self"
"""Name of the parameter in every function of a re-entrant library."""

ALIGNMENT = 16
"""Bytes that the address of an instance's arena is a multiple of."""

RESERVED_ENTRIES = ("init", "t")
"""Forbidden names of a re-entrant library's signatures: NAME_init() and NAME_t are the library's own."""

_USES = re.compile(rf"\b(?:(?:STATE_)?AT\(|{HANDLE}\b)")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Handle:
    """type: C type of an instance; empty in a library with one static instance, whose functions take no handle."""

    type: str = ""

    def parameters(self, others: str = "") -> str:
        """Parameter list of a function that takes `others`, separated by commas."""
        listed = [f"{self.type} *{HANDLE}"] * bool(self.type) + [others] * bool(others)
        return ", ".join(listed) or "void"

    def arguments(self, others: str = "") -> str:
        """Argument list of a call of such a function."""
        return ", ".join([HANDLE] * bool(self.type) + [others] * bool(others))

    def member(self, name: str) -> str:
        """C expression of what an instance keeps: a member, or the static variable `name`."""
        return f"{HANDLE}->{name}" if self.type else name

    def arena_room(self, arena_bytes: int) -> int:
        """Bytes of an arena: those of instances are whole units of their alignment, as in an array of arenas."""
        return -(-arena_bytes // ALIGNMENT) * ALIGNMENT if self.type else arena_bytes

    def is_unused(self, lines: Iterable[str]) -> bool:
        """Whether a function takes a handle that its body, these lines of C, does not need."""
        return bool(self.type) and not _USES.search(_COMMENT.sub("", "\n".join(lines)))


NO_HANDLE = Handle()


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an instance's struct, with C for its first value; without one, NAME_reset() sets it.

    initial: one C expression per element.
    """

    declaration: str
    initial: tuple[tuple[str, str], ...] = ()
