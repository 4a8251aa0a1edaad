"""Random models on tensors int32[-1, 2] that grow, shrink and branch, in loops and functions, and their reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.tflite.model import Model, Operator, SubGraph

from support.dynamic_models import finish, open_tensor
from support.model_writer import ModelWriter, SubgraphWriter
from support.reference import Reference

Array = NDArray[Any]

MOST = 64


class TooManyRowsError(Exception):
    """A tensor has more rows than there is room for."""


def random_model(random: Random) -> bytes:
    """A model of two open inputs and a bool, and up to three open outputs."""
    w = ModelWriter()
    g = w.subgraph("main")
    _Subgraph(random, g, depth=2).build(inputs=2, outputs=random.randint(1, 3))
    return finish(w, g)


class _Subgraph:
    """One subgraph in the making; `pool` are the tensors that later operators may read."""

    def __init__(self, random: Random, graph: SubgraphWriter, depth: int) -> None:
        self._random = random
        self._graph = graph
        self._depth = depth
        self._count = 0
        self._pool: list[int] = []

    def build(self, inputs: int, outputs: int, extra: Sequence[str] = ()) -> None:
        graph, random = self._graph, self._random
        self._pool = [self._open() for _ in range(inputs)]
        self._flag = graph.tensor(f"flag{graph.index}", "bool", [])
        graph.inputs = [*self._pool, self._flag, *(graph.tensor(name, "int32", []) for name in extra)]
        makers = [self._join, self._join, self._scale, self._cut, self._total]
        if self._depth:
            makers += [self._if, self._while, self._call]
        for _ in range(random.randint(1, 4)):
            self._pool.append(random.choice(makers)())
        graph.outputs = [self._pick() for _ in range(outputs)]

    def _open(self) -> int:
        self._count += 1
        return open_tensor(self._graph, f"t{self._graph.index}_{self._count}", "int32", [2])

    def _constant(self, values: Any) -> int:
        self._count += 1
        return self._graph.constant(f"c{self._graph.index}_{self._count}", np.array(values, np.int32))

    def _pick(self) -> int:
        return self._random.choice(self._pool[-4:])

    def _join(self) -> int:
        random = self._random
        pieces = [self._pick() for _ in range(random.randint(1, 3))]
        if random.random() < 0.5:
            pieces.insert(random.randint(0, len(pieces)), self._constant([[random.randint(-9, 9), 1]]))
        out = self._open()
        self._graph.operator("CONCATENATION", pieces, [out], {"axis": 0})
        return out

    def _scale(self) -> int:
        out = self._open()
        name = self._random.choice(["ADD", "SUB", "MUL"])
        self._graph.operator(name, [self._pick(), self._constant([self._random.randint(-3, 3), 2])], [out])
        return out

    def _cut(self) -> int:
        random = self._random
        out = self._open()
        bounds = [self._constant([random.randint(-3, 3)]), self._constant([random.randint(-3, 4)]), self._constant([1])]
        masks = random.choice([{"end_mask": 1}, {"begin_mask": 1}, {}])
        self._graph.operator("STRIDED_SLICE", [self._pick(), *bounds], [out], masks)
        return out

    def _total(self) -> int:
        total = self._graph.tensor(f"sum{len(self._graph.tensors)}", "int32", [2])
        some, out = self._open(), self._open()
        # No file may reduce a tensor that never has rows.
        self._graph.operator("CONCATENATION", [self._pick(), self._constant([[1, 2]])], [some], {"axis": 0})
        self._graph.operator("SUM", [some, self._constant([0])], [total], {"keep_dims": False})
        self._graph.operator("RESHAPE", [total, self._constant([1, 2])], [out])
        return out

    def _inner(self, inputs: int, outputs: int, extra: Sequence[str] = ()) -> SubgraphWriter:
        graph = self._graph.model.subgraph(f"inner{len(self._graph.model.subgraphs)}")
        _Subgraph(self._random, graph, self._depth - 1).build(inputs, outputs, extra)
        return graph

    def _if(self) -> int:
        count = self._random.randint(1, 2)
        then, orelse = self._inner(count, 1), self._inner(count, 1)
        out = self._open()
        operands = [self._flag, *(self._pick() for _ in range(count)), self._flag]
        branches = {"then_subgraph_index": then.index, "else_subgraph_index": orelse.index}
        self._graph.operator("IF", operands, [out], branches)
        return out

    def _call(self) -> int:
        callee = self._inner(1, 1)
        first, out = self._open(), self._open()
        self._graph.operator("CALL", [self._pick(), self._flag], [first], {"subgraph": callee.index})
        self._graph.operator("CALL", [first, self._flag], [out], {"subgraph": callee.index})
        return out

    def _while(self) -> int:
        graph, random = self._graph, self._random
        count = random.randint(1, 2)
        condition = graph.model.subgraph(f"condition{len(graph.model.subgraphs)}")
        inside = [open_tensor(condition, f"v{i}", "int32", [2]) for i in range(count)]
        counter, go_on = condition.tensor("i", "int32", []), condition.tensor("go_on", "bool", [])
        condition.inputs = [*inside, condition.tensor("flag", "bool", []), counter]
        limit = condition.constant("limit", np.int32(random.randint(0, 3)))
        condition.operator("LESS", [counter, limit], [go_on])
        condition.outputs = [go_on]
        body = self._inner(count, count, ["i"])
        following = body.tensor("next", "int32", [])
        body.operator("ADD", [body.inputs[-1], body.constant("one", np.int32(1))], [following])
        body.outputs = [*body.outputs, body.inputs[-2], following]
        outputs = [self._open() for _ in range(count)]
        rest = [graph.tensor(f"w{len(graph.tensors)}{kind}", kind, []) for kind in ("bool", "int32")]
        zero = graph.constant("zero", np.int32(0))
        operands = [*(self._pick() for _ in range(count)), self._flag, zero]
        loop = {"cond_subgraph_index": condition.index, "body_subgraph_index": body.index}
        graph.operator("WHILE", operands, [*outputs, *rest], loop)
        self._pool += outputs[1:]
        return outputs[0]


def run_rows(model: Model, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The model's outputs. Raises TooManyRowsError where a tensor has more than MOST rows."""
    return _Rows(model).run(0, inputs)


class _Rows(Reference):
    def operator(
        self, graph: SubGraph, op: Operator, inputs: list[Array], handles: Mapping[int, str]
    ) -> tuple[Array, ...]:
        results = self._rows(op, inputs) or super().operator(graph, op, inputs, handles)
        if any(array.ndim and len(array) > MOST for array in results):
            raise TooManyRowsError
        return results

    @staticmethod
    def _rows(op: Operator, inputs: list[Array]) -> tuple[Array, ...]:
        options = op.options or {}
        if op.name == "CONCATENATION":
            return (np.concatenate(inputs),)
        if op.name == "SUM":
            return (inputs[0].sum(0, dtype=np.int32),)
        if op.name == "RESHAPE":
            return (inputs[0].reshape(inputs[1]),)
        if op.name == "STRIDED_SLICE":
            begin = None if options["begin_mask"] else inputs[1].item()
            end = None if options["end_mask"] else inputs[2].item()
            return (inputs[0][begin:end],)
        return ()
