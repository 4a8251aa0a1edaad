"""Models whose tensors have a first dimension that is known at run time only, written for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from support.model_writer import ModelWriter, SubgraphWriter

Shape = Sequence[int]


def open_tensor(g: SubgraphWriter, name: str, dtype: str, rest: Shape, **more: object) -> int:
    """A tensor of stored shape [1, *rest] whose first dimension is open."""
    return g.tensor(name, dtype, [1, *rest], shape_signature=[-1, *rest], **more)  # type: ignore[arg-type]


def one_graph(build: Callable[[SubgraphWriter], None]) -> bytes:
    """A model of one subgraph and one signature, its tensors called as they are."""
    w = ModelWriter()
    g = w.subgraph("main")
    build(g)
    return finish(w, g)


def finish(w: ModelWriter, g: SubgraphWriter) -> bytes:
    names = [{str(g.tensors[i]["name"]): i for i in indices} for indices in (g.inputs, g.outputs)]
    w.signature("serving_default", names[0], names[1])
    return w.finish()


def growing_loop(
    dtype: str, rest: Shape, row: Callable[[SubgraphWriter, int, int], int], start: int = 1, trips: int | None = None
) -> bytes:
    """n -> tensor: `start` rows of zeros that get what `row` makes of the counter and the tensor appended, n times.

    `row` adds operators to the body and returns the index of the rows to append. With `trips` the limit is constant.
    """
    w = ModelWriter()
    g, condition, body = (w.subgraph(name) for name in ("main", "condition", "body"))
    limit = g.tensor("n", "int32", []) if trips is None else g.constant("n", np.int32(trips))
    zero = g.constant("zero", np.int32(0))
    init = g.constant("init", np.zeros([start, *rest], dtype))
    outputs = [g.tensor("count", "int32", []), open_tensor(g, "grown", dtype, rest), g.tensor("n_out", "int32", [])]
    g.operator("WHILE", [zero, init, limit], outputs, {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    g.inputs, g.outputs = [limit] if trips is None else [], [outputs[1]]
    for inner in (condition, body):
        inner.inputs = [
            inner.tensor("i", "int32", []),
            open_tensor(inner, "rows", dtype, rest),
            inner.tensor("limit", "int32", []),
        ]
    condition.outputs = [condition.tensor("go_on", "bool", [])]
    condition.operator("LESS", [condition.inputs[0], condition.inputs[2]], condition.outputs)
    counter, rows, _ = body.inputs
    following = body.tensor("next", "int32", [])
    grown = open_tensor(body, "more", dtype, rest)
    added = row(body, counter, rows)
    body.operator("ADD", [counter, body.constant("one", np.int32(1))], [following])
    body.operator("CONCATENATION", [rows, added], [grown], {"axis": 0})
    body.outputs = [following, grown, body.inputs[2]]
    return finish(w, g)
