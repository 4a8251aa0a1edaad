"""Orders the operators of a subgraph so that each tensor is written before it is read."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from tflmgen.frontend.tflite.model import Operator


def execution_order(operators: Sequence[Operator]) -> tuple[tuple[Operator, ...], tuple[Operator, ...]]:
    """Operators in execution order, and the operators of one cycle (empty if there is none).

    Kahn's algorithm with a heap: among the operators whose inputs exist, the first in `operators` comes next, so that
    a legal order does not change. Each tensor must have at most one writer.
    """
    writers = {tensor: place for place, op in enumerate(operators) for tensor in op.outputs}
    needs = [{writers[tensor] for tensor in op.inputs if tensor in writers} for op in operators]
    readers: list[list[int]] = [[] for _ in operators]
    for place, tensor_needs in enumerate(needs):
        for writer in tensor_needs:
            readers[writer].append(place)
    missing = [len(tensor_needs) for tensor_needs in needs]
    ready = [place for place, count in enumerate(missing) if not count]
    heapify(ready)
    order = []
    while ready:
        place = heappop(ready)
        order.append(place)
        for reader in readers[place]:
            missing[reader] -= 1
            if not missing[reader]:
                heappush(ready, reader)
    cycle = _cycle(needs, set(range(len(operators))) - set(order))
    return tuple(operators[place] for place in order), tuple(operators[place] for place in cycle)


def _cycle(needs: Sequence[set[int]], stuck: set[int]) -> list[int]:
    """Sorted indices of one cycle among the `stuck` operators, each of which needs another stuck one."""
    if not stuck:
        return []
    path: dict[int, None] = {}
    place = min(stuck)
    while place not in path:
        path[place] = None
        place = min(needs[place] & stuck)
    walked = list(path)
    return sorted(walked[walked.index(place) :])
