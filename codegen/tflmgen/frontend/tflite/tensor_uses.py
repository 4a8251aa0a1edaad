"""Checks the writers and readers of a subgraph's tensors: at most one writer, none missing, no cycles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from tflmgen.frontend.tflite.model import FileOperator, SubGraph
from tflmgen.frontend.tflite.problems import ProblemList


def execution_order(operators: Sequence[FileOperator]) -> tuple[tuple[FileOperator, ...], tuple[FileOperator, ...]]:
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


def order_operators(subgraph: SubGraph, buffers: int, problems: ProblemList) -> tuple[FileOperator, ...]:
    """The subgraph's operators in execution order; adds the reasons why there is none to `problems`.

    buffers  number of the file's buffers; tensors with a buffer index beyond it have been reported already
    """
    place = (subgraph.index, subgraph.name)
    for index, count in Counter(subgraph.inputs).items():
        if count > 1:
            problems.located(place)(f"tensor {index} is {count} of its inputs at once")
    for index in subgraph.inputs:
        tensor = subgraph.tensors[index]
        if tensor.data is not None:
            problems.located(place, tensor=(index, tensor.name))("it is both an input and a constant")
    has_single_writers = _check_writers(subgraph, problems)
    _check_readers(subgraph, buffers, problems)
    if not has_single_writers:
        return subgraph.operators
    order, cycle = execution_order(subgraph.operators)
    if cycle:
        names = ", ".join(f"{op.index} ({op.name})" for op in cycle)
        problems.located(place)(f"operators {names} wait for each other's outputs")
    return order


def _check_writers(subgraph: SubGraph, problems: ProblemList) -> bool:
    writers: dict[int, FileOperator] = {}
    inputs = set(subgraph.inputs)
    is_valid = True
    for op in subgraph.operators:
        read = set(op.inputs)
        for index in op.outputs:
            tensor = subgraph.tensors[index]
            others = writers.get(index, op)
            rules = (
                (index in read, "which it reads too"),
                (index in writers, f"which operator {others.index} ({others.name}) writes too"),
                (index in inputs, "an input of the subgraph"),
                (tensor.data is not None, "a constant"),
                (tensor.is_variable, "a variable"),
            )
            for is_broken, label in rules:
                if is_broken:
                    is_valid = False
                    complain = problems.located((subgraph.index, subgraph.name), (op.index, op.name))
                    complain(f"it writes tensor {index} '{tensor.name}', {label}")
            writers[index] = op
    return is_valid


def _check_readers(subgraph: SubGraph, buffers: int, problems: ProblemList) -> None:
    place = (subgraph.index, subgraph.name)
    written = {*subgraph.inputs, *(index for op in subgraph.operators for index in op.outputs)}

    def is_missing(index: int) -> bool:
        tensor = subgraph.tensors[index]
        return index not in written and tensor.data is None and not tensor.is_variable and tensor.buffer < buffers

    for op in subgraph.operators:
        for index in op.inputs:
            if index >= 0 and is_missing(index):
                name = subgraph.tensors[index].name
                problems.located(place, (op.index, op.name))(
                    f"it reads tensor {index} '{name}', which is never written"
                )
    for index in subgraph.outputs:
        if is_missing(index):
            problems.located(place, tensor=(index, subgraph.tensors[index].name))(
                "it is an output, but is never written"
            )
