"""Wider types that cost little: what int8 alone gets by default where its outputs are worse than they need be.

Webs become int16 in the order of what they gain for their cost, as long as the model takes little longer. Of those, as
few as reach the aim; all of them where none do and the outputs gain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tflmgen.frontend import TensorKey
from tflmgen.ir import DType
from tflmgen.quantize.type_search import TypeTrials, Wanted

_WORTH_DB = 0.5
"""Gain of the worst element, in decibels, for which conversions are worth their cycles."""


def affordable_types(
    trials: TypeTrials,
    order: Sequence[TensorKey],
    costs: Mapping[TensorKey, int],
    budget: float,
    added_cycles: Callable[[Wanted], int],
) -> dict[TensorKey, DType]:
    """Webs in int16.

    trials        of types, with limits to aim at
    order         webs, those first that gain most for their cost
    costs         what each alone costs, about
    budget        cycles that all may cost together
    added_cycles  what several cost together, conversions included
    """
    chosen: list[TensorKey] = []
    total = 0
    for root in order:
        if total + costs.get(root, 0) <= budget:
            chosen, total = [*chosen, root], total + costs.get(root, 0)
    whole = _wide(order)
    if added_cycles(whole) <= budget:
        chosen = list(order)
    while chosen and added_cycles(_wide(chosen)) > budget:
        chosen = chosen[: len(chosen) * 3 // 4]
    if not chosen or not _is_worth(trials, _wide(chosen)):
        return {}
    low, high = 0, len(chosen)
    while trials.is_good(_wide(chosen)) and high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if trials.is_good(_wide(chosen[:middle])) else (middle, high)
    # Conversions around single webs may take longer than int16 throughout.
    is_less = high < len(chosen) == len(order) and added_cycles(whole) <= added_cycles(_wide(chosen[:high]))
    return whole if is_less else _wide(chosen[:high])


def _wide(roots: Sequence[TensorKey]) -> dict[TensorKey, DType]:
    return dict.fromkeys(roots, DType.INT16)


def _is_worth(trials: TypeTrials, wanted: Wanted) -> bool:
    before, after = trials.evaluation({}), trials.evaluation(wanted)
    gains = (
        after.branch_agreement - before.branch_agreement,
        after.class_agreement - before.class_agreement,
    )
    is_no_worse, is_more_alike = min(gains) >= 0, max(gains) > 0
    return is_no_worse and (is_more_alike or after.worst_db >= before.worst_db + _WORTH_DB)
