"""Build options as typed values: parsed once, and refused if they contradict each other."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tflmgen.errors import UsageError
from tflmgen.frontend import ShapeLimit, parse_row_limit, parse_shape_limit
from tflmgen.options import BuildOptions, Optimize
from tflmgen.passes import LoopLimits, WindowRequest, parse_limits, parse_slides

FOR_SPEED = (Optimize.BALANCED, Optimize.SPEED)
"""Goals for which dead channels are kept where that takes fewer estimated cycles; the others drop them all."""

TRADING = (Optimize.BALANCED, Optimize.RAM)
"""Goals that give up cycles for RAM."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Build options with their texts parsed.

    options     unparsed; generated files and plan.json quote them
    loops       --max-iterations
    shapes      --max-shape, --max-rows
    slides      --slide
    ram_budget  bytes of arena and state; None: unlimited
    slowdown    --max-slowdown, as a part of the fastest plan's cycles; None: as `optimize` has it
    """

    options: BuildOptions
    loops: LoopLimits
    shapes: tuple[ShapeLimit, ...]
    slides: tuple[WindowRequest, ...]
    ram_budget: int | None
    slowdown: float | None

    @property
    def is_fast(self) -> bool:
        """Whether speed counts more than the size of the code."""
        return self.options.optimize in FOR_SPEED

    @property
    def trades_cycles(self) -> bool:
        """Whether slower graphs are worth a look, for the RAM that they save."""
        return self.ram_budget is not None or self.slowdown is not None


def parse_options(options: BuildOptions) -> Settings:
    """Parses the options. Raises UsageError for malformed text and for options that exclude each other."""
    settings = Settings(
        options,
        parse_limits(options.max_iterations or ()),
        (*map(parse_shape_limit, options.max_shape or ()), *map(parse_row_limit, options.max_rows or ())),
        parse_slides(options.slide or ()),
        parse_budget(options.ram_budget),
        parse_slowdown(options.max_slowdown),
    )
    has_budget = settings.ram_budget is not None
    has_slowdown = settings.slowdown is not None
    if options.slide and options.push_rows:
        raise UsageError("--slide excludes --push-rows: a sliding window comes by rows already")
    if options.reentrant and options.check_memory:
        raise UsageError("--reentrant excludes --check-memory: the application places each instance and its arena")
    is_spread = any("+" in wish for wish in options.place or ())
    if is_spread and (options.check_memory or options.reentrant):
        raise UsageError("--place arena=FIRST+SECOND excludes --check-memory and --reentrant: both have one array")
    if options.slide_phases and not options.slide:
        raise UsageError("--slide-phases needs --slide INPUT=AXIS,HOP")
    if options.winograd and (has_budget or has_slowdown or not settings.is_fast):
        raise UsageError(
            "--winograd trades flash and RAM for speed: it needs --optimize balanced or speed, and excludes "
            "--ram-budget and --max-slowdown"
        )
    if options.no_overlap and (has_budget or options.optimize is Optimize.RAM):
        raise UsageError("--no-overlap excludes --ram-budget and --optimize ram")
    if has_slowdown and (has_budget or options.no_overlap or options.optimize not in TRADING):
        raise UsageError("--max-slowdown needs --optimize balanced or ram, and excludes --ram-budget and --no-overlap")
    return settings


def parse_budget(text: str | None) -> int | None:
    """Bytes of a text such as 20000, 32K, 32kB or 1M (K is 1,024). Raises UsageError for anything else."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,9}) ?([KkMm]?)(?:i?[Bb])?", text)
    if match is None or int(match[1]) == 0:
        raise UsageError(f"--ram-budget {text}: requires a number of bytes such as 20000, 32kB or 1M")
    return int(match[1]) << {"": 0, "k": 10, "m": 20}[match[2].lower()]


def parse_slowdown(text: str | None) -> float | None:
    """The part of the cycles that a text such as 10% or 2.5% names. Raises UsageError for anything else."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,4}(\.[0-9]{1,3})?)%", text)
    if match is None:
        raise UsageError(f"--max-slowdown {text}: requires a percentage such as 10%")
    return float(match[1]) / 100
