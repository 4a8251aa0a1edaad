"""The passes as they suit a processor: how many channels the tensors keep of which range analysis could drop some."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.ir import Module
from tflmgen.kernels import TUNING, Selector
from tflmgen.passes import macs_by_operator, run_passes, with_ranges, without_ranges

MULTIPLES = {"mve": (4, 8, 16), "dsp": (2, 4)}
"""Multiples of channels that kernels for an instruction set may be faster with than with fewer channels."""


def prepare(imported: Module, selector: Selector, analyze_ranges: bool = True, fastest: bool = True) -> Module:
    """Runs the passes. `fastest`: what takes fewest estimated cycles, else what has fewest channels."""
    module, narrowest = _with_and_without_dead_channels(imported, selector, analyze_ranges)
    return _counted(module, _fastest(module, narrowest, selector) if fastest else narrowest)


def prepare_trade_offs(imported: Module, selector: Selector, analyze_ranges: bool = True) -> tuple[Module, ...]:
    """Runs the passes. What takes fewest estimated cycles, then what has fewest channels, where that is another."""
    module, narrowest = _with_and_without_dead_channels(imported, selector, analyze_ranges)
    fastest = _fastest(module, narrowest, selector)
    same = fastest.functions == narrowest.functions
    return tuple(_counted(module, one) for one in ((fastest,) if same else (fastest, narrowest)))


def _with_and_without_dead_channels(
    imported: Module, selector: Selector, analyze_ranges: bool
) -> tuple[Module, Module]:
    module = run_passes(imported, without_ranges(selector.operators))
    return module, run_passes(module, with_ranges(1, selector.operators)) if analyze_ranges else module


def _counted(before: Module, after: Module) -> Module:
    """`after` with the multiply-accumulates that it has less than `before`."""
    return replace(after, removed_macs=macs_by_operator(before) - macs_by_operator(after))


def _fastest(module: Module, narrowest: Module, selector: Selector) -> Module:
    """What takes fewest estimated cycles, of `module` with various numbers of dead channels."""
    sets = [multiples for feature, multiples in MULTIPLES.items() if feature in selector.target.features]
    if not sets or not narrowest.narrowed:
        return narrowest
    passes = [with_ranges(multiple, selector.operators) for multiple in (0, *sets[0])]
    whole, *others = (run_passes(module, pipeline) for pipeline in passes)
    choices = [narrowest, *others]
    most, *cycles = (_cycles(choice, selector) for choice in (whole, *choices))
    return choices[cycles.index(min(cycles))] if TUNING.dead_channel_gain * min(cycles) <= most else whole


def _cycles(module: Module, selector: Selector) -> int:
    return selector.select(module).cycles
