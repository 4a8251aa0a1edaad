"""Small float models with control flow, for tests of calibration and quantisation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tflmgen.frontend import Model, ModelBuilder, SubGraphBuilder
from tflmgen.ir import DType

Array = NDArray[np.float32]

F32, BOOL = DType.FLOAT32, DType.BOOL


def f32(values: ArrayLike) -> Array:
    return np.asarray(values, np.float32)


def _float(graph: SubGraphBuilder, name: str, shape: tuple[int, ...] = (1, 4)) -> int:
    return graph.tensor(name, F32, shape)


def decaying_loop() -> Model:
    """x, limit -> x halved until none of it is over the limit; that is doubled if its sum is positive, else negated.

    Subgraphs: 0 main, 1 condition, 2 body, 3 then, 4 else.
    """
    builder = ModelBuilder("decaying loop", name="decay.tflite")
    main, condition, body, then, orelse = (builder.subgraph(n) for n in ("main", "cond", "body", "then", "else"))
    x, limit = _float(main, "x"), _float(main, "limit", (1,))
    last, kept = _float(main, "last"), _float(main, "kept", (1,))
    main.operator("WHILE", [x, limit], [last, kept], {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    total, positive, y = _float(main, "total", (1,)), main.tensor("positive", BOOL, (1,)), _float(main, "y")
    axis = main.constant("axis", np.array([1], np.int32))
    main.operator("SUM", [last, axis], [total])
    main.operator("GREATER", [total, main.constant("zero", np.zeros(1, np.float32))], [positive])
    main.operator("IF", [positive, last], [y], {"then_subgraph_index": 3, "else_subgraph_index": 4})
    main.inputs, main.outputs = [x, limit], [y]
    v, bound = _float(condition, "v"), _float(condition, "bound", (1,))
    high, again = _float(condition, "high", (1,)), condition.tensor("again", BOOL, (1,))
    condition.operator("REDUCE_MAX", [v, condition.constant("axis", np.array([1], np.int32))], [high])
    condition.operator("GREATER", [high, bound], [again])
    condition.inputs, condition.outputs = [v, bound], [again]
    v, bound, half = _float(body, "v"), _float(body, "bound", (1,)), _float(body, "half")
    body.operator("MUL", [v, body.constant("0.5", f32([0.5]))], [half])
    body.inputs, body.outputs = [v, bound], [half, bound]
    for branch, factor in ((then, 2.0), (orelse, -1.0)):
        v, w = _float(branch, "v"), _float(branch, "w")
        branch.operator("MUL", [v, branch.constant("factor", f32([factor]))], [w])
        branch.inputs, branch.outputs = [v], [w]
    return builder.model()
