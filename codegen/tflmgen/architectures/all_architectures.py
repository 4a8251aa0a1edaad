"""All architectures, and the one that a core belongs to."""

from __future__ import annotations

import re
from functools import cache

from tflmgen.architectures.architecture import Architecture, Core
from tflmgen.architectures.arm import ARM
from tflmgen.architectures.riscv import RISCV

ARCHITECTURES = (ARM, RISCV)

_THIS_COMPUTER = Architecture("host", "this computer", "host", lambda core, fpu: ())  # noqa: ARG005


@cache
def architecture_of(core: str) -> Architecture:
    """The architecture of a core, by its name; for "host", and for names of no architecture, that of this computer."""
    return next((a for a in ARCHITECTURES if re.fullmatch(a.core_pattern, core)), _THIS_COMPUTER)


def core_named(name: str) -> Core:
    """Facts about a core; an empty Core for a name that no architecture lists."""
    return architecture_of(name).cores.get(name, Core())
