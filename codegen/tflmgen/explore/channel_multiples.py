"""Runs the passes for a processor: chooses how many dead channels are kept for faster kernels."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.ir import Module
from tflmgen.kernels import TUNING, Selector
from tflmgen.passes import SharedAnalysis, macs_by_operator, narrowed_by_ranges, run_passes, without_ranges

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
