"""Arguments that a board may give QEMU beside its machine."""

from __future__ import annotations

import re
from collections.abc import Sequence

ALLOWED = {
    "-cpu": ("NAME", r"\w[\w-]*(,[\w-]+=(on|off|true|false|\d{1,10}|0x[0-9A-Fa-f]{1,8}))*"),
    "-m": ("SIZE", r"\d{1,4}[KMkm]?"),
    "-machine": ("remap=NAME or revb=true", r"remap=\w+|revb=(true|false)"),
    "-icount": ("shift=NUMBER", r"shift=(\d{1,2}|auto)(,(align|sleep)=(on|off))*"),
    "-global": ("DRIVER.PROPERTY=NUMBER", r"\w[\w-]*\.[\w-]+=(on|off|true|false|\d{1,10}|0x[0-9A-Fa-f]{1,8})"),
    "-rtc": ("clock=vm", r"clock=vm"),
}
"""Option -> its value's form for people, and as a pattern. Every option takes a value."""


def argument_problems(arguments: Sequence[str]) -> list[str]:
    """Violations of ALLOWED in `qemu.arguments`, each with its place."""
    if len(arguments) % 2 and arguments[-1] in ALLOWED:
        return [f"$.qemu.arguments[{len(arguments) - 1}]: '{arguments[-1]}' has no value"]
    for index in range(0, len(arguments), 2):
        option, value = arguments[index], "".join(arguments[index + 1 : index + 2])
        if option not in ALLOWED:
            return [f"$.qemu.arguments[{index}]: '{option}' is not among the arguments that a board may give: {LISTED}"]
        form, pattern = ALLOWED[option]
        if not re.fullmatch(pattern, value, re.ASCII):
            return [f"$.qemu.arguments[{index + 1}]: '{value}' is not of the form {option} {form}"]
    return []


LISTED = ", ".join(f"{option} {form}" for option, (form, _) in ALLOWED.items())
"""All options, for people."""
