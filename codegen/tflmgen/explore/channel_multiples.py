"""The passes as they suit a processor: how many channels the tensors keep of which range analysis could drop some."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.ir import Kernel, Module, Target
from tflmgen.kernels import select
from tflmgen.passes import WITHOUT_RANGES, macs_by_operator, run_passes, with_ranges

MULTIPLES = {"mve": (4, 8, 16), "dsp": (2, 4)}
"""Multiples of channels that kernels for an instruction set may be faster with than with fewer channels."""

GAIN = 1.01
"""By how much dropping channels must be better than keeping them all, in cycles, which are estimates."""


def prepare(imported: Module, target: Target, analyze_ranges: bool = True, fastest: bool = True) -> Module:
    """Runs the passes. `fastest`: what takes fewest estimated cycles, else what has fewest channels."""
    module, narrowest = _with_and_without_dead_channels(imported, analyze_ranges)
    return _counted(module, _fastest(module, narrowest, target) if fastest else narrowest)


def prepare_trade_offs(imported: Module, target: Target, analyze_ranges: bool = True) -> tuple[Module, ...]:
    """Runs the passes. What takes fewest estimated cycles, then what has fewest channels, where that is another."""
    module, narrowest = _with_and_without_dead_channels(imported, analyze_ranges)
    fastest = _fastest(module, narrowest, target)
    same = fastest.functions == narrowest.functions
    return tuple(_counted(module, one) for one in ((fastest,) if same else (fastest, narrowest)))


def _with_and_without_dead_channels(imported: Module, analyze_ranges: bool) -> tuple[Module, Module]:
    module = run_passes(imported, WITHOUT_RANGES)
    return module, run_passes(module, with_ranges(1)) if analyze_ranges else module


def _counted(before: Module, after: Module) -> Module:
    """`after` with the multiply-accumulates that it has less than `before`."""
    return replace(after, removed_macs=macs_by_operator(before) - macs_by_operator(after))


def _fastest(module: Module, narrowest: Module, target: Target) -> Module:
    """What takes fewest estimated cycles, of `module` with various numbers of dead channels."""
    sets = [multiples for feature, multiples in MULTIPLES.items() if feature in target.features]
    if not sets or not narrowest.narrowed:
        return narrowest
    choices = [narrowest, *(run_passes(module, with_ranges(multiple)) for multiple in sets[0])]
    whole = run_passes(module, with_ranges(0))
    most, *cycles = (_cycles(choice, target) for choice in (whole, *choices))
    return choices[cycles.index(min(cycles))] if GAIN * min(cycles) <= most else whole


def _cycles(module: Module, target: Target) -> int:
    kernels = select(module, target).kernels.values()
    return sum(kernel.cycles or kernel.instructions for kernel in kernels if isinstance(kernel, Kernel))
