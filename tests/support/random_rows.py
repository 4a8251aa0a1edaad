"""Random models on int32 tensors that grow, shrink and branch along an axis, in loops and functions; a reference."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.frontend.tflite.model import Model
from tflmgen.reference import Interpreter

from support.dynamic_models import finish
from support.model_writer import ModelWriter, SubgraphWriter

Array = NDArray[Any]

MAX_ROWS = 64


class TooManyRowsError(Exception):
    """A tensor has more rows than there is room for."""


def random_model(random: Random, shape: Sequence[int] = (-1, 2)) -> bytes:
    """A model of two open inputs and a bool, and up to three open outputs, all of `shape`: -1 is the open axis."""
    w = ModelWriter()
    g = w.subgraph("main")
    _Subgraph(random, g, 2, tuple(shape)).build(inputs=2, outputs=random.randint(1, 3))
    return finish(w, g)


def _open(graph: SubgraphWriter, name: str, shape: Sequence[int]) -> int:
    return graph.tensor(name, "int32", [abs(dim) for dim in shape], shape_signature=shape)


class _Subgraph:
    """One subgraph in the making; `pool` are the tensors that later operators may read."""

    def __init__(self, random: Random, graph: SubgraphWriter, depth: int, shape: tuple[int, ...]) -> None:
        self._random = random
        self._graph = graph
        self._depth = depth
        self._shape = shape
        self._axis = shape.index(-1)
        self._count = 0
        self._pool: list[int] = []

    def build(self, inputs: int, outputs: int, extra: Sequence[str] = ()) -> None:
        graph, random = self._graph, self._random
        self._pool = [self._open() for _ in range(inputs)]
        self._flag = graph.tensor(f"flag{graph.index}", "bool", [])
        graph.inputs = [*self._pool, self._flag, *(graph.tensor(name, "int32", []) for name in extra)]
        steps = [
            self._join,
            self._join,
            self._scale,
            self._cut,
            self._cut_like,
            self._total,
            self._moved,
            self._spread,
        ]
        if self._depth:
            steps += [self._if, self._while, self._call]
        for _ in range(random.randint(1, 4)):
            self._pool.append(random.choice(steps)())
        graph.outputs = [self._pick() for _ in range(outputs)]

    def _open(self) -> int:
        self._count += 1
        return _open(self._graph, f"t{self._graph.index}_{self._count}", self._shape)

    def _row(self, first: int, second: int) -> int:
        """A constant of one row: what lies at one place of the open axis."""
        return self._constant(np.resize([first, second], [abs(dim) for dim in self._shape]))

    def _constant(self, values: Any) -> int:
        self._count += 1
        return self._graph.constant(f"c{self._graph.index}_{self._count}", np.array(values, np.int32))

    def _pick(self) -> int:
        return self._random.choice(self._pool[-4:])

    def _join(self) -> int:
        random = self._random
        pieces = [self._pick() for _ in range(random.randint(1, 3))]
        if random.random() < 0.5:
            pieces.insert(random.randint(0, len(pieces)), self._row(random.randint(-9, 9), 1))
        out = self._open()
        self._graph.operator("CONCATENATION", pieces, [out], {"axis": self._axis})
        return out

    def _scale(self) -> int:
        out = self._open()
        name = self._random.choice(["ADD", "SUB", "MUL"])
        self._graph.operator(name, [self._pick(), self._row(self._random.randint(-3, 3), 2)], [out])
        return out

    def _cut(self) -> int:
        random = self._random
        out = self._open()
        before = [0] * self._axis
        numbers = random.randint(-3, 3), random.randint(-3, 4)
        bounds = [self._constant([*before, number]) for number in numbers]
        masks = random.choice([(0, 1), (1, 0), (0, 0)])
        self._strided(out, bounds, masks)
        return out

    def _strided(self, out: int, bounds: Sequence[int], masks: tuple[int, int], source: int | None = None) -> None:
        """A slice along the open axis of something, the axes before it whole."""
        whole = (1 << self._axis) - 1
        options = {
            name: whole | mask << self._axis for name, mask in zip(("begin_mask", "end_mask"), masks, strict=True)
        }
        steps = self._constant([1] * (self._axis + 1))
        self._graph.operator(
            "STRIDED_SLICE", [self._pick() if source is None else source, *bounds, steps], [out], options
        )

    def _cut_like(self) -> int:
        """No more rows than another tensor has."""
        graph, axis = self._graph, self._axis
        shape = graph.tensor(f"shape{len(graph.tensors)}", "int32", [len(self._shape)])
        rows = graph.tensor(f"rows{len(graph.tensors)}", "int32", [])
        end = graph.tensor(f"end{len(graph.tensors)}", "int32", [axis + 1])
        graph.operator("SHAPE", [self._pick()], [shape], {"out_type": 2})
        bounds = [self._constant([number]) for number in (axis, axis + 1, 1)]
        graph.operator("STRIDED_SLICE", [shape, *bounds], [rows], {"shrink_axis_mask": 1})
        zeros = [self._constant(0) for _ in range(axis)]
        graph.operator("PACK", [*zeros, rows], [end], {"values_count": axis + 1, "axis": 0})
        out = self._open()
        self._strided(out, [self._constant([0] * (axis + 1)), end], (1, 0))
        return out

    def _total(self) -> int:
        rest = [dim for dim in self._shape if dim >= 0]
        total = self._graph.tensor(f"sum{len(self._graph.tensors)}", "int32", rest)
        joined, out = self._open(), self._open()
        # No file may reduce a tensor that never has rows.
        self._graph.operator("CONCATENATION", [self._pick(), self._row(1, 2)], [joined], {"axis": self._axis})
        self._graph.operator("SUM", [joined, self._constant([self._axis])], [total], {"keep_dims": False})
        self._graph.operator("RESHAPE", [total, self._constant([abs(dim) for dim in self._shape])], [out])
        return out

    def _moved(self) -> int:
        """Reversed, or twice the same; the latter seldom, since it doubles what loops double."""
        out = self._open()
        if self._random.random() < 0.7:
            self._graph.operator("REVERSE_V2", [self._pick(), self._constant([self._axis])], [out])
        else:
            multiples = [2 if dim < 0 else 1 for dim in self._shape]
            self._graph.operator("TILE", [self._pick(), self._constant(multiples)], [out])
        return out

    def _spread(self) -> int:
        """One row that only the run time knows to be one, and many."""
        joined, part, out = self._open(), self._open(), self._open()
        self._graph.operator("CONCATENATION", [self._row(3, -2), self._pick()], [joined], {"axis": self._axis})
        bounds = [self._constant([0] * self._axis + [number]) for number in (0, 1)]
        self._strided(part, bounds, (0, 0), joined)
        self._graph.operator("SUB", self._random.choice([[part, self._pick()], [self._pick(), part]]), [out])
        return out

    def _inner(self, inputs: int, outputs: int, extra: Sequence[str] = ()) -> SubgraphWriter:
        graph = self._graph.model.subgraph(f"inner{len(self._graph.model.subgraphs)}")
        _Subgraph(self._random, graph, self._depth - 1, self._shape).build(inputs, outputs, extra)
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
        inside = [_open(condition, f"v{i}", self._shape) for i in range(count)]
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
    """The model's outputs. Raises TooManyRowsError where a tensor has more than MAX_ROWS rows."""

    def observe(subgraph: int, tensor: int, array: Array) -> None:
        del subgraph, tensor
        if array.ndim and max(array.shape) > MAX_ROWS:
            raise TooManyRowsError

    return Interpreter(model).invoke(None, inputs, observe)
