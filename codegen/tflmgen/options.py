"""The build options that every command shares."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Optimize(str, Enum):
    """What the generated code is to be best at: speed beside little RAM, speed alone, few bytes of code, least RAM."""

    BALANCED = "balanced"
    SPEED = "speed"
    SIZE = "size"
    RAM = "ram"


class Format(str, Enum):
    """What an exported library goes into."""

    PLATFORMIO = "platformio"
    ARDUINO = "arduino"
    CMAKE = "cmake"
    ZEPHYR = "zephyr"
    ESP_IDF = "esp-idf"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """name: prefix of everything that is generated; empty: the file's stem. max_iterations: see loop_limits.

    max_shape, max_dim: the most that dimensions may become which a file leaves open; see bounds. progress_hook: a macro
    after each operator. no_overlap: no output over an input, and the fastest kernels whatever their scratch.
    no_range_analysis: nothing is left out that only the values of elements show to be needless. winograd: 3x3
    convolutions may take fewer products with larger weights. plugin: Python files
    with custom operators. place: see placement; it is no part of `text`, since the C is the same wherever it lies.
    ram_budget: see ram.parse_budget. push_rows: inputs that come row by row.
    """

    name: str = ""
    optimize: Optimize = Optimize.BALANCED
    max_iterations: list[str] | None = None
    max_shape: list[str] | None = None
    max_dim: int | None = None
    progress_hook: bool = False
    no_overlap: bool = False
    no_range_analysis: bool = False
    winograd: bool = False
    plugin: list[Path] | None = None
    ram_budget: str | None = None
    push_rows: list[str] | None = None
    place: list[str] | None = None

    @property
    def text(self) -> str:
        words = [f"--max-iterations {limit}" for limit in self.max_iterations or ()]
        words += [f"--max-shape {shape}" for shape in self.max_shape or ()]
        words += [f"--max-dim {self.max_dim}"] if self.max_dim is not None else []
        words += ["--progress-hook"] if self.progress_hook else []
        words += [f"--push-rows {name}" for name in self.push_rows or ()]
        words += [f"--ram-budget {self.ram_budget}"] if self.ram_budget is not None else []
        words += ["--no-overlap"] if self.no_overlap else []
        words += ["--no-range-analysis"] if self.no_range_analysis else []
        words += ["--winograd"] if self.winograd else []
        words += [f"--plugin {path.name}" for path in self.plugin or ()]
        return " ".join([f"--optimize {self.optimize.value}", *words])


class Emulator(str, Enum):
    """Which emulator runs a board's firmware; auto is Renode, or QEMU where there is no Renode and for MVE."""

    AUTO = "auto"
    RENODE = "renode"
    QEMU = "qemu"


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """How a firmware is run; `timeout` in seconds, for each answer; `renode` is its program, if not the one of PATH.

    port: where a board is attached that runs the firmware already.
    """

    emulator: Emulator = Emulator.AUTO
    signature: str | None = None
    timeout: float = 60.0
    renode: str | None = None
    port: str | None = None


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """What a command prints."""

    json: bool = False
    quiet: bool = False
    wide: bool = False
