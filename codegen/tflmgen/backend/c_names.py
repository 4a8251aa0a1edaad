"""C identifiers from the names that models use."""

from __future__ import annotations

import re
from collections.abc import Iterable

_KEYWORDS = frozenset(
    [
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "bool",
        "true",
        "false",
        "alignas",
        "alignof",
        "asm",
        "atomic",
        "catch",
        "class",
        "constexpr",
        "delete",
        "dynamic_cast",
        "explicit",
        "export",
        "friend",
        "mutable",
        "namespace",
        "new",
        "noexcept",
        "nullptr",
        "operator",
        "private",
        "protected",
        "public",
        "reinterpret_cast",
        "static_assert",
        "static_cast",
        "template",
        "this",
        "thread_local",
        "throw",
        "try",
        "typeid",
        "typename",
        "using",
        "virtual",
    ]
)


_HEADERS = (
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg stdbool stddef "
    "stdint stdio stdlib string tgmath time wchar wctype"
)
_TYPES = (
    "int8 int16 int32 int64 uint8 uint16 uint32 uint64 intptr uintptr intmax uintmax ptrdiff size ssize wint div ldiv "
    "lldiv clock fpos max_align va_list"
)
"""C's types whose names end in _t, as a model's instance does."""
_BUILD = "all clean help install package test edit_cache rebuild_cache list_install_components"
"""Targets that CMake and make have in every project."""
_TAKEN = frozenset([*_HEADERS.split(), *_TYPES.split(), *_BUILD.split()])
_OWN = frozenset(["at", "run", "signature", "tflmgen"])
"""First words of names reserved for generated code and the runtime."""


def library_name(text: str) -> str:
    """`text` as the prefix of a library that takes no name of C, of build systems and of the runtime.

    Headers of C libraries beyond the standard are too many to list: the library's header passes them on.
    """
    name = identifier(text)
    return f"m_{name}" if name in _TAKEN or name.split("_")[0] in _OWN else name


def identifier(text: str) -> str:
    """`text` as a C and C++ identifier in lower case: other characters become one '_', keywords get a trailing one."""
    name = re.sub(r"[^0-9a-z]+", "_", text.lower()).strip("_")
    if not name or name[0].isdigit():
        name = f"m_{name}".rstrip("_")
    return f"{name}_" if name in _KEYWORDS else name


def unique_identifiers(texts: Iterable[str], reserved: Iterable[str] = ()) -> tuple[str, ...]:
    """Identifiers for several texts; those that would collide, with one another or a reserved one, get numbers."""
    taken = set(reserved)
    names = []
    for text in texts:
        base = name = identifier(text)
        number = 2
        while name in taken:
            name = f"{base}_{number}"
            number += 1
        taken.add(name)
        names.append(name)
    return tuple(names)
