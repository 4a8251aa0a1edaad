"""STABLEHLO_CASE becomes a chain of IFs before anything else looks at the file.

case(i, x...) with branches b0, b1 ... bn is: if i == 0 then b0(x...) else if i == 1 then b1(x...) ... else bn(x...). An
index that names no branch runs the last one, as StableHLO's specification has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.tflite.model import Model, Operator, SubGraph, Tensor
from tflmgen.ir import DType

CASE = "STABLEHLO_CASE"


def without_cases(model: Model) -> Model:
    """The model with an IF, and subgraphs for the branches but the first, in the place of every STABLEHLO_CASE.

    Raises ModelError where one has no branches, or no index of one int32.
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

    def _branches(self, subgraph: SubGraph, op: Operator) -> tuple[int, ...]:
        branches = tuple((op.options or {}).get("branch_subgraph_indices", ()))
        index = subgraph.tensors[op.inputs[0]] if op.inputs and op.inputs[0] >= 0 else None
        where = Location(self._model.name, subgraph.index, subgraph.name, op.index, op.name)
        if not branches or not all(0 <= b < len(self._model.subgraphs) for b in branches):
            raise ModelError([Problem(where, f"{CASE} must name branches that the file has")])
        if index is None or index.dtype is not DType.INT32 or int(np.prod(index.shape)) != 1:
            raise ModelError([Problem(where, f"the index of {CASE} must be one int32")])
        return branches

    def _replace(self, subgraph: SubGraph, op: Operator, branches: Sequence[int]) -> SubGraph:
        """`op` chooses among `branches`; those after the first are chosen in subgraphs of their own."""
        tensors, chosen = self._choose(subgraph, op, 0, branches)
        operators = tuple(new for one in subgraph.operators for new in (chosen if one is op else (one,)))
        return replace(subgraph, tensors=tensors, operators=operators)

    def _choose(
        self, subgraph: SubGraph, op: Operator, number: int, branches: Sequence[int]
    ) -> tuple[tuple[Tensor, ...], tuple[Operator, ...]]:
        if number == len(branches) - 1:
            call = replace(op, name="CALL", inputs=op.inputs[1:], options={"subgraph": branches[number]})
            return subgraph.tensors, (call,)
        index = subgraph.tensors[op.inputs[0]]
        count = len(subgraph.tensors)
        wanted = replace(
            index,
            index=count,
            name=f"{op.name} {op.index} branch {number}",
            data=np.full(index.shape, number, np.int32).tobytes(),
            is_variable=False,
            shape_signature=None,
        )
        same = replace(wanted, index=count + 1, dtype=DType.BOOL, type_name="bool", data=None)
        compare = replace(op, name="EQUAL", inputs=(op.inputs[0], count), outputs=(count + 1,), options=None)
        rest = self._rest(subgraph, op, number + 1, branches)
        sides = {
            "then_subgraph_index": self._without_index(subgraph, op, branches[number]),
            "else_subgraph_index": rest,
        }
        choose = replace(op, name="IF", inputs=(count + 1, *op.inputs), options=sides)
        return (*subgraph.tensors, wanted, same), (compare, choose)

    def _rest(self, outer: SubGraph, op: Operator, number: int, branches: Sequence[int]) -> int:
        """A subgraph of the index and the operands that chooses among the branches from `number` on."""
        frame = self._frame(outer, op, f"{outer.name} case {op.index} from {number}")
        place = len(self.added)
        self.added.append(frame)
        local = replace(op, index=0, inputs=frame.inputs, outputs=frame.outputs)
        tensors, operators = self._choose(frame, local, number, branches)
        self.added[place] = replace(frame, tensors=tensors, operators=operators)
        return frame.index

    def _without_index(self, outer: SubGraph, op: Operator, branch: int) -> int:
        """A subgraph of the index and the operands that runs `branch` on the operands."""
        frame = self._frame(outer, op, f"{outer.name} case {op.index} branch {branch}")
        call = replace(
            op, index=0, name="CALL", inputs=frame.inputs[1:], outputs=frame.outputs, options={"subgraph": branch}
        )
        self.added.append(replace(frame, operators=(call,)))
        return frame.index

    def _frame(self, outer: SubGraph, op: Operator, name: str) -> SubGraph:
        """An empty subgraph whose inputs and outputs are like an operator's."""
        like = (*op.inputs, *op.outputs)
        tensors = tuple(replace(outer.tensors[t], index=i, data=None, is_variable=False) for i, t in enumerate(like))
        inputs, outputs = tuple(range(len(op.inputs))), tuple(range(len(op.inputs), len(like)))
        index = len(self._model.subgraphs) + len(self.added)
        return SubGraph(index=index, name=name, tensors=tensors, inputs=inputs, outputs=outputs, operators=())
