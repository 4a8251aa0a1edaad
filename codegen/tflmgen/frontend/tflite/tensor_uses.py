"""Checks the writers and readers of a subgraph's tensors: at most one writer, none missing, no cycles."""

from __future__ import annotations

from collections import Counter

from tflmgen.frontend.tflite.model import Operator, SubGraph
from tflmgen.frontend.tflite.problems import ProblemList
from tflmgen.frontend.tflite.topological_order import execution_order


def order_operators(subgraph: SubGraph, buffers: int, problems: ProblemList) -> tuple[Operator, ...]:
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
    writers: dict[int, Operator] = {}
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
