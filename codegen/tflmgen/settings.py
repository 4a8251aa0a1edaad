"""What a compilation is asked for: the build options, parsed once, and refused where they contradict each other."""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.errors import UsageError
from tflmgen.explore import parse_budget
from tflmgen.frontend import ShapeLimit, parse_shape_limit
from tflmgen.options import BuildOptions, Optimize
from tflmgen.passes import LoopLimits, parse_limits

FAST = (Optimize.BALANCED, Optimize.SPEED)
"""Those for which as many dead channels stay as make fewest estimated cycles; the others drop them all."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Build options with their texts parsed.

    options: as they were given; generated files and plan.json quote them. loops: --max-iterations. shapes: --max-shape.
    ram_budget: bytes of arena and state, None for any number.
    """

    options: BuildOptions
    loops: LoopLimits
    shapes: tuple[ShapeLimit, ...]
    ram_budget: int | None

    @property
    def is_fast(self) -> bool:
        return self.options.optimize in FAST


def parse_options(options: BuildOptions) -> Settings:
    """Raises UsageError for a text that cannot be read, and for options that do not go together."""
    settings = Settings(
        options,
        parse_limits(options.max_iterations or ()),
        tuple(map(parse_shape_limit, options.max_shape or ())),
        parse_budget(options.ram_budget),
    )
    has_budget = settings.ram_budget is not None
    if options.winograd and (has_budget or not settings.is_fast):
        raise UsageError(
            "--winograd takes flash and RAM for speed: it goes with --optimize balanced or speed, no --ram-budget"
        )
    if options.no_overlap and (has_budget or options.optimize is Optimize.RAM):
        raise UsageError("--no-overlap goes with neither --ram-budget nor --optimize ram")
    return settings
