"""The build options that every command shares."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tflmgen.c_names import library_name


class Optimize(str, Enum):
    """What the generated code is to be best at."""

    SPEED = "speed"
    SIZE = "size"


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """name: prefix of everything that is generated; empty: the file's stem. max_iterations: see loop_limits."""

    name: str = ""
    optimize: Optimize = Optimize.SPEED
    max_iterations: list[str] | None = None

    def prefix(self, model: Path) -> str:
        return library_name(self.name or model.stem)

    @property
    def text(self) -> str:
        limits = [f"--max-iterations {limit}" for limit in self.max_iterations or ()]
        return " ".join([f"--optimize {self.optimize.value}", *limits])
