"""Rewrites STABLEHLO_CASE as a chain of IFs, before any other step of the import.

case(i, x...) with branches b0, b1 ... bn is: if i == 0 then b0(x...) else if i == 1 then b1(x...) ... else bn(x...). An
index out of range selects the last branch, by StableHLO's specification.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.tflite.model import FileOperator, FileTensor, Model, SubGraph
from tflmgen.ir import DType
from tflmgen.kernels import Comparison

CASE = "STABLEHLO_CASE"


def without_cases(model: Model) -> Model:
    """The model with an IF in place of each STABLEHLO_CASE, and new subgraphs for its further branches.

    Raises ModelError for a STABLEHLO_CASE without branches, or whose index is not one int32.
    """
    if not any(op.name == CASE for s in model.subgraphs for op in s.operators):
        return model
    rewriter = _Rewriter(model)
    first = [rewriter.subgraph(s) for s in model.subgraphs]
    return replace(model, subgraphs=(*first, *rewriter.added))


class _Rewriter:
    def __init__(self, model: Model) -> None:
        self._model = model
        self.added: list[SubGraph] = []

    def subgraph(self, subgraph: SubGraph) -> SubGraph:
        for op in subgraph.operators:
            if op.name == CASE:
                subgraph = self._replace(subgraph, op, self._branches(subgraph, op))
        return subgraph

    def _branches(self, subgraph: SubGraph, op: FileOperator) -> tuple[int, ...]:
        branches = tuple((op.options or {}).get("branch_subgraph_indices", ()))
        index = subgraph.tensors[op.inputs[0]] if op.inputs and op.inputs[0] >= 0 else None
        location = Location(self._model.name, subgraph.index, subgraph.name, op.index, op.name)
        if not branches or not all(0 <= b < len(self._model.subgraphs) for b in branches):
            raise ModelError([Problem(location, f"{CASE} must name branches that the file has")])
        if index is None or index.dtype is not DType.INT32 or int(np.prod(index.shape)) != 1:
            raise ModelError([Problem(location, f"the index of {CASE} must be one int32")])
        return branches

    def _replace(self, subgraph: SubGraph, op: FileOperator, branches: Sequence[int]) -> SubGraph:
        """Replaces `op` by an IF between the first branch and a new subgraph that selects among the others."""
        tensors, replacement = self._select_branch(subgraph, op, 0, branches)
        operators = tuple(
            operator for existing in subgraph.operators for operator in (replacement if existing is op else (existing,))
        )
        return replace(subgraph, tensors=tensors, operators=operators)

    def _select_branch(
        self, subgraph: SubGraph, op: FileOperator, number: int, branches: Sequence[int]
    ) -> tuple[tuple[FileTensor, ...], tuple[FileOperator, ...]]:
        if number == len(branches) - 1:
            call = replace(op, name="CALL", inputs=op.inputs[1:], options={"subgraph": branches[number]})
            return subgraph.tensors, (call,)
        index = subgraph.tensors[op.inputs[0]]
        next_tensor = len(subgraph.tensors)
        number_tensor = replace(
            index,
            index=next_tensor,
            name=f"{op.name} {op.index} branch {number}",
            data=np.full(index.shape, number, np.int32).tobytes(),
            is_variable=False,
            shape_signature=None,
        )
        is_equal = replace(number_tensor, index=next_tensor + 1, dtype=DType.BOOL, type_name="bool", data=None)
        compare = replace(
            op,
            name=Comparison.EQUAL.operator,
            inputs=(op.inputs[0], next_tensor),
            outputs=(next_tensor + 1,),
            options=None,
        )
        otherwise = self._remaining_cases(subgraph, op, number + 1, branches)
        branch_options = {
            "then_subgraph_index": self._without_index(subgraph, op, branches[number]),
            "else_subgraph_index": otherwise,
        }
        branch_op = replace(op, name="IF", inputs=(next_tensor + 1, *op.inputs), options=branch_options)
        return (*subgraph.tensors, number_tensor, is_equal), (compare, branch_op)

    def _remaining_cases(self, outer: SubGraph, op: FileOperator, number: int, branches: Sequence[int]) -> int:
        """Index of a new subgraph (index, operands) -> results that selects among the branches from `number` on."""
        frame = self._empty_subgraph(outer, op, f"{outer.name} case {op.index} from {number}")
        place = len(self.added)
        self.added.append(frame)
        local = replace(op, index=0, inputs=frame.inputs, outputs=frame.outputs)
        tensors, operators = self._select_branch(frame, local, number, branches)
        self.added[place] = replace(frame, tensors=tensors, operators=operators)
        return frame.index

    def _without_index(self, outer: SubGraph, op: FileOperator, branch: int) -> int:
        """Index of a new subgraph (index, operands) -> results that ignores the index and calls `branch`."""
        frame = self._empty_subgraph(outer, op, f"{outer.name} case {op.index} branch {branch}")
        call = replace(
            op, index=0, name="CALL", inputs=frame.inputs[1:], outputs=frame.outputs, options={"subgraph": branch}
        )
        self.added.append(replace(frame, operators=(call,)))
        return frame.index

    def _empty_subgraph(self, outer: SubGraph, op: FileOperator, name: str) -> SubGraph:
        """A subgraph without operators whose inputs and outputs have the types of an operator's."""
        operand_tensors = (*op.inputs, *op.outputs)
        tensors = tuple(
            replace(outer.tensors[t], index=i, data=None, is_variable=False) for i, t in enumerate(operand_tensors)
        )
        inputs, outputs = tuple(range(len(op.inputs))), tuple(range(len(op.inputs), len(operand_tensors)))
        index = len(self._model.subgraphs) + len(self.added)
        return SubGraph(index=index, name=name, tensors=tensors, inputs=inputs, outputs=outputs, operators=())
