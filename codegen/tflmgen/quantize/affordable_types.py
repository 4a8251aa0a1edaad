"""Wider types that cost little: what int8 alone gets by default where its outputs are worse than they need be.

Webs become int16 in the order of what they gain for their cost, as long as the model takes little longer. Of those, as
few as reach the aim; all of them where none do and the outputs gain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tflmgen.frontend import TensorKey
from tflmgen.ir import DType
from tflmgen.quantize.type_search import TypeTrials, Wanted

_MOST_WEBS = 24
"""Webs that are tried: each takes a quantisation and an estimate, 50 ms of a small model."""

_WORTH_DB = 0.5
"""Gain of the worst element, in decibels, for which conversions are worth their cycles."""


def affordable_types(
    trials: TypeTrials, order: Sequence[TensorKey], costs_little: Callable[[Wanted], bool]
) -> dict[TensorKey, DType]:
    """Webs in int16.

    trials        of types, with limits to aim at
    order         webs, those first that gain most for their cost
    costs_little  whether a model with these types takes little longer than one in int8 alone
    """
    widened: dict[TensorKey, DType] = {}
    for root in order[:_MOST_WEBS]:
        wider = {**widened, root: DType.INT16}
        widened = wider if costs_little(wider) else widened
    if not widened or not _is_worth(trials, widened):
        return {}
    low, high = 0, len(widened)
    candidates = [dict(list(widened.items())[:number]) for number in range(high + 1)]
    while trials.is_good(widened) and high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if trials.is_good(candidates[middle]) else (middle, high)
    return candidates[high]


def _is_worth(trials: TypeTrials, wanted: Wanted) -> bool:
    before, after = trials.evaluation({}), trials.evaluation(wanted)
    gains = (
        after.branch_agreement - before.branch_agreement,
        after.class_agreement - before.class_agreement,
    )
    is_no_worse, is_more_alike = min(gains) >= 0, max(gains) > 0
    return is_no_worse and (is_more_alike or after.worst_db >= before.worst_db + _WORTH_DB)
