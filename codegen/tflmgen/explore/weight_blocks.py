"""Layers whose weights exceed the idle bytes of the arena: in blocks of channels, each fetched before its use.

Blocks are operators of their own (passes/channel_groups.py), so that schedule, prefetches and proof treat them as any
other layers: a block is copied, or arrives by DMA, while the one before is computed, where bytes for two are idle.
"""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.explore.prefetch_plan import constant_cycles, copy_cycles, plan_prefetches, unmet_wishes
from tflmgen.explore.ram_trade_offs import TradeOff, best_plan
from tflmgen.ir.graph import Module
from tflmgen.kernels import Selector
from tflmgen.passes import split_channels
from tflmgen.settings import Settings

LAYERS = 4
"""Most layers of a model that are tried, those that would save the most cycles first: each takes several plans."""

BLOCKS = (2, 3, 4, 6, 8)
"""Numbers of blocks that are tried."""

JOIN_CYCLES = 3
"""Cycles per byte of a layer's output that is joined of its blocks' outputs."""

DOUBLE_BUFFER = 0.25
"""Cycles that smaller blocks may take more than the fewest ones, as a part of the copies that a DMA then makes while
other blocks are used, since two are in the arena at once. Copies by the core gain nothing from it."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A plan, the cycles that it takes as far as blocks change them, and those of copies for which a DMA has time."""

    choice: TradeOff
    cycles: float
    overlapped: float = 0


def with_weight_blocks(choice: TradeOff, selector: Selector, settings: Settings) -> TradeOff:
    """`choice`, with layers in blocks where that saves cycles and takes no more memory."""
    if not selector.target.constant_waits or not settings.is_fast or settings.trades_cycles:
        return choice
    best = _Candidate(choice, _cycles(choice, selector))
    for operator in unmet_wishes(choice.best, selector.target)[:LAYERS]:
        best = _in_blocks(best, operator, selector, settings)
    return best.choice


def _in_blocks(best: _Candidate, operator: int, selector: Selector, settings: Settings) -> _Candidate:
    """The fewest blocks of an operator that save cycles, or more that overlap their copies; `best` if none do."""
    chosen = best
    for blocks in BLOCKS:
        trial = _candidate(best.choice.module, operator, blocks, selector, settings)
        if trial is None:
            break
        if trial.choice.bytes > best.choice.bytes or trial.cycles >= best.cycles:
            continue
        if chosen is best or trial.cycles - chosen.cycles < DOUBLE_BUFFER * (trial.overlapped - chosen.overlapped):
            chosen = trial
    return chosen


def _candidate(before: Module, operator: int, blocks: int, selector: Selector, settings: Settings) -> _Candidate | None:
    """The plan with an operator in so many blocks; None if it cannot be split."""
    module = split_channels(before, {operator: blocks})
    if module.functions == before.functions:
        return None
    choice = best_plan((module,), selector, settings)
    cycles = _cycles(choice, selector) + JOIN_CYCLES * _joined_bytes(module, operator)
    ahead = [f for f in plan_prefetches(choice.best, selector.target).values() if f.begin < f.step]
    return _Candidate(choice, cycles, sum(copy_cycles(fetch.bytes, selector.target) for fetch in ahead))


def _cycles(choice: TradeOff, selector: Selector) -> float:
    return choice.best.selection.cycles + constant_cycles(choice.best, selector.target)


def _joined_bytes(module: Module, operator: int) -> int:
    nodes = (node for function in module.functions for node in function.body.nodes)
    return sum(value.type.bytes for node in nodes if node.id == operator for value in node.outputs)
