"""Build options as typed values: parsed once, and refused if they contradict each other."""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.errors import UsageError
from tflmgen.explore import parse_budget
from tflmgen.frontend import ShapeLimit, parse_shape_limit
from tflmgen.options import BuildOptions, Optimize
from tflmgen.passes import LoopLimits, parse_limits

FOR_SPEED = (Optimize.BALANCED, Optimize.SPEED)
"""Goals for which dead channels are kept where that takes fewer estimated cycles; the others drop them all."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Build options with their texts parsed.

    options     unparsed; generated files and plan.json quote them
    loops       --max-iterations
    shapes      --max-shape
    ram_budget  bytes of arena and state; None: unlimited
    """

    options: BuildOptions
    loops: LoopLimits
    shapes: tuple[ShapeLimit, ...]
    ram_budget: int | None

    @property
    def is_fast(self) -> bool:
        return self.options.optimize in FOR_SPEED


def parse_options(options: BuildOptions) -> Settings:
    """Parses the options. Raises UsageError for malformed text and for options that exclude each other."""
    settings = Settings(
        options,
        parse_limits(options.max_iterations or ()),
        tuple(map(parse_shape_limit, options.max_shape or ())),
        parse_budget(options.ram_budget),
    )
    has_budget = settings.ram_budget is not None
    if options.winograd and (has_budget or not settings.is_fast):
        raise UsageError(
            "--winograd trades flash and RAM for speed: it needs --optimize balanced or speed, and no --ram-budget"
        )
    if options.no_overlap and (has_budget or options.optimize is Optimize.RAM):
        raise UsageError("--no-overlap excludes --ram-budget and --optimize ram")
    return settings
