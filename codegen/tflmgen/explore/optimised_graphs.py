"""Graphs after the passes, as the options want them: one, or several of which the plan decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from tflmgen.explore.streams.push_rows import push_rows
from tflmgen.ir.graph import Module
from tflmgen.ir.kernel import Target
from tflmgen.kernels import Selector
from tflmgen.kernels.costs import TUNING
from tflmgen.options import Optimize
from tflmgen.passes import (
    SharedAnalysis,
    macs_by_operator,
    narrowed_by_ranges,
    run_passes,
    slide_inputs,
    slide_stages,
    slide_trade_offs,
    without_ranges,
)
from tflmgen.settings import Settings

MULTIPLES = {"mve": (4, 8, 16), "dsp": (2, 4)}
"""Instruction set -> multiples of channels for which its kernels may be faster than for fewer channels."""


def prepare(imported: Module, selector: Selector, analyze_ranges: bool = True, fastest: bool = True) -> Module:
    """Runs the passes and drops dead channels: for the fewest estimated cycles if `fastest`, else all of them."""
    module, narrowest, shared = _with_and_without_dead_channels(imported, selector, analyze_ranges)
    return _counted(module, _fastest(module, narrowest, selector, shared) if fastest else narrowest)


def prepare_trade_offs(imported: Module, selector: Selector, analyze_ranges: bool = True) -> tuple[Module, ...]:
    """Runs the passes; returns the module of fewest estimated cycles, then that of fewest channels if it differs."""
    module, narrowest, shared = _with_and_without_dead_channels(imported, selector, analyze_ranges)
    fastest = _fastest(module, narrowest, selector, shared)
    same = fastest.functions == narrowest.functions
    return tuple(_counted(module, variant) for variant in ((fastest,) if same else (fastest, narrowest)))


def _with_and_without_dead_channels(
    imported: Module, selector: Selector, analyze_ranges: bool
) -> tuple[Module, Module, SharedAnalysis]:
    module, shared = run_passes(imported, without_ranges(selector.operators)), SharedAnalysis()
    narrowest = narrowed_by_ranges(module, 1, selector.operators, shared) if analyze_ranges else module
    return module, narrowest, shared


def _counted(before: Module, after: Module) -> Module:
    """`after` with the record of the multiply-accumulates removed since `before`."""
    return replace(after, removed_macs=macs_by_operator(before) - macs_by_operator(after))


def _fastest(module: Module, narrowest: Module, selector: Selector, shared: SharedAnalysis) -> Module:
    """Variant of fewest estimated cycles of `module`, over several numbers of dead channels kept."""
    sets = [multiples for feature, multiples in MULTIPLES.items() if feature in selector.target.features]
    if not sets or not narrowest.narrowed:
        return narrowest
    undropped, *narrower = (narrowed_by_ranges(module, m, selector.operators, shared) for m in (0, *sets[0]))
    candidates = [narrowest, *narrower]
    remembering = selector if selector.known is not None else selector.remembering
    undropped_cycles, *cycles = (_cycles(candidate, remembering) for candidate in (undropped, *candidates))
    return (
        candidates[cycles.index(min(cycles))]
        if TUNING.dead_channel_gain * min(cycles) <= undropped_cycles
        else undropped
    )


def _cycles(module: Module, selector: Selector) -> int:
    return selector.select(module).cycles


LOOP_PRODUCTS_FEATURE = "mve"
"""Instruction set with kernels for the products of a float LSTM loop, of which the fused operator has none. Measured:
on an M4 the operator takes 12 % to 35 % fewer instructions than the loop; on an M55 more, from 16 cells on."""


def variants_to_plan(
    imports: Sequence[Module], target: Target, for_speed: bool, for_little_ram: bool
) -> Sequence[Module]:
    """The graphs whose plans are compared, the fastest first.

    imports         the file's graph, then the one with its LSTM loops fused, if it has any
    for_speed       nothing but the fastest counts
    for_little_ram  a slower one is welcome where it takes less
    """
    is_loop_fast = LOOP_PRODUCTS_FEATURE in target.features
    by_speed = imports if is_loop_fast else imports[::-1]
    return by_speed[:1] if for_speed or (is_loop_fast and not for_little_ram) else by_speed


def optimise(
    imports: Sequence[Module], selector: Selector, settings: Settings, for_little_ram: bool = False
) -> tuple[Module, ...]:
    """Graphs after the passes, the fastest first: several for a fast plan in little RAM, else one.

    imports  the file's graph, then the one with its LSTM loops fused, if it has any
    """
    optimize = settings.options.optimize
    # Estimates do not tell how much slower the other graph is, as --max-slowdown would need.
    for_speed = settings.slowdown is not None or (optimize is Optimize.SPEED and not for_little_ram)
    for_ram = for_little_ram or optimize is Optimize.RAM
    variants = variants_to_plan(imports, selector.target, for_speed, for_ram)
    modules = (_optimised(imported, selector, settings, for_little_ram) for imported in variants)
    return tuple(chain.from_iterable(modules))


def _optimised(imported: Module, selector: Selector, settings: Settings, for_little_ram: bool) -> tuple[Module, ...]:
    analyze_ranges = not settings.options.no_range_analysis
    imported = slide_stages(imported, selector.operators)
    if settings.is_fast and for_little_ram:
        modules = prepare_trade_offs(imported, selector, analyze_ranges)
    else:
        modules = (prepare(imported, selector, analyze_ranges, settings.is_fast),)
    if settings.slides and settings.is_fast and for_little_ram:
        slid = (
            slide_trade_offs(m, settings.slides, selector.operators, settings.options.slide_phases) for m in modules
        )
        return tuple(chain.from_iterable(slid))
    if settings.slides:
        options, rings = settings.options, settings.options.optimize is not Optimize.RAM
        return tuple(
            slide_inputs(module, settings.slides, selector.operators, options.slide_phases, rings=rings)
            for module in modules
        )
    return tuple(push_rows(module, settings.options.push_rows or ()) for module in modules)
