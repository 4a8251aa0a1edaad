"""The build options that every command shares."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tflmgen.c_names import identifier


class Optimize(str, Enum):
    """What the generated code is to be best at."""

    SPEED = "speed"
    SIZE = "size"


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """name: prefix of everything that is generated; empty: the file's stem."""

    name: str = ""
    optimize: Optimize = Optimize.SPEED

    def prefix(self, model: Path) -> str:
        return identifier(self.name or model.stem)

    @property
    def text(self) -> str:
        return f"--optimize {self.optimize.value}"
