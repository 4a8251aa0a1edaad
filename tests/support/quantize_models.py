"""Small float models with control flow, for tests of calibration and quantisation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tflmgen.frontend.tflite import Model, ModelBuilder, SubGraphBuilder
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
    high, continues = _float(condition, "high", (1,)), condition.tensor("again", BOOL, (1,))
    condition.operator("REDUCE_MAX", [v, condition.constant("axis", np.array([1], np.int32))], [high])
    condition.operator("GREATER", [high, bound], [continues])
    condition.inputs, condition.outputs = [v, bound], [continues]
    v, bound, half = _float(body, "v"), _float(body, "bound", (1,)), _float(body, "half")
    body.operator("MUL", [v, body.constant("0.5", f32([0.5]))], [half])
    body.inputs, body.outputs = [v, bound], [half, bound]
    for branch, factor in ((then, 2.0), (orelse, -1.0)):
        v, w = _float(branch, "v"), _float(branch, "w")
        branch.operator("MUL", [v, branch.constant("factor", f32([factor]))], [w])
        branch.inputs, branch.outputs = [v], [w]
    return builder.model()


STEPS, FEATURES, UNITS = 5, 6, 4
"""Of `recurrent_loop`."""


def conv_recurrent_loop() -> Model:
    """x[5, 1, 4, 6, 2] -> h = tanh(W * x_t + b + U * h) over all t, with convolutions as in ConvLSTM; h[1, 4, 6, 3].

    Subgraphs: 0 main, 1 condition, 2 body.
    """
    rng = np.random.default_rng(3)
    builder = ModelBuilder("recurrent", name="recurrent.tflite")
    main, condition, body = (builder.subgraph(name) for name in ("main", "cond", "body"))
    shapes = {"x": (STEPS, 1, 4, 6, 2), "h": (1, 4, 6, 3)}
    start = [main.constant("t", np.array(0, np.int32)), main.constant("h0", np.zeros(shapes["h"], np.float32))]
    main.inputs = [_float(main, "x", shapes["x"])]
    results = [main.tensor("t1", DType.INT32, ()), *(_float(main, f"{name}1", shapes[name]) for name in "hx")]
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    main.operator("WHILE", [*start, *main.inputs], results, options)
    main.outputs = [results[1]]
    for graph in (condition, body):
        graph.inputs = [graph.tensor("t", DType.INT32, ()), *(_float(graph, name, shapes[name]) for name in "hx")]
    condition.outputs = [condition.tensor("again", DType.BOOL, ())]
    limit = condition.constant("steps", np.array(STEPS, np.int32))
    condition.operator("LESS", [condition.inputs[0], limit], condition.outputs)
    t, h, rows = body.inputs
    row, later = _float(body, "row", shapes["x"][1:]), body.tensor("later", DType.INT32, ())
    body.operator("GATHER", [rows, t], [row], {"axis": 0})
    sums = [_float(body, name, shapes["h"]) for name in ("inner", "recurrent", "sum", "after")]
    for source, channels, result in ((row, 2, sums[0]), (h, 3, sums[1])):
        weights = body.constant(f"w{channels}", f32(rng.normal(0, 0.3, (3, 3, 3, channels))))
        bias = body.constant(f"b{channels}", f32(rng.normal(size=3)))
        body.operator("CONV_2D", [source, weights, bias], [result], {"stride_w": 1, "stride_h": 1})
    body.operator("ADD", sums[:2], [sums[2]])
    body.operator("TANH", [sums[2]], [sums[3]])
    body.operator("ADD", [t, body.constant("1", np.array(1, np.int32))], [later])
    body.outputs = [later, sums[3], rows]
    return builder.model()


def recurrent_loop(pick: str = "GATHER", bound: str = "constant", product: str = "FULLY_CONNECTED") -> Model:
    """x[5, 6] -> h = tanh(W x_t + b + U h) over all t.

    pick     the operator that takes x_t: GATHER, SLICE, STRIDED_SLICE
    bound    of t: "constant"; "operand", a constant that the loop passes through; "input", known at run time
    product  the operator of W x_t: FULLY_CONNECTED, or BATCH_MATMUL without b
    Subgraphs: 0 main, 1 condition, 2 body.
    """
    rng = np.random.default_rng(3)
    builder = ModelBuilder("recurrent", name="recurrent.tflite")
    main, condition, body = (builder.subgraph(name) for name in ("main", "cond", "body"))
    i32 = DType.INT32
    x, limit = _float(main, "x", (STEPS, FEATURES)), main.tensor("limit", i32, ())
    main.inputs = [x, limit] if bound == "input" else [x]
    if bound != "input":
        limit = main.constant("steps", np.array(STEPS, np.int32))
    start, first = main.constant("start", np.array(0, np.int32)), main.constant("h0", np.zeros((1, UNITS), np.float32))
    results = [main.tensor("t1", i32, ()), _float(main, "h1", (1, UNITS)), _float(main, "x1", (STEPS, FEATURES))]
    results.append(main.tensor("limit1", i32, ()))
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    main.operator("WHILE", [start, first, x, limit], results, options)
    main.outputs = [results[1]]
    for graph in (condition, body):
        graph.inputs = [
            graph.tensor("t", i32, ()),
            _float(graph, "h", (1, UNITS)),
            _float(graph, "x", (STEPS, FEATURES)),
        ]
        graph.inputs = [*graph.inputs, graph.tensor("limit", i32, ())]
    steps = condition.constant("steps", np.array(STEPS, np.int32)) if bound == "constant" else condition.inputs[3]
    condition.outputs = [condition.tensor("again", DType.BOOL, ())]
    condition.operator("LESS", [condition.inputs[0], steps], condition.outputs)
    t, h, rows, limit = body.inputs
    row, step = _float(body, "row", (1, FEATURES)), body.constant("one", np.array([1], np.int32))
    index = body.tensor("index", i32, (1,))
    body.operator("RESHAPE", [t, step], [index])
    if pick == "GATHER":
        body.operator("GATHER", [rows, index], [row], {"axis": 0})
    else:
        begin, zero = body.tensor("begin", i32, (2,)), body.constant("zero", np.array([0], np.int32))
        body.operator("CONCATENATION", [index, zero], [begin], {"axis": 0})
        sizes = np.array([1, FEATURES], np.int32)
        if pick == "SLICE":
            body.operator("SLICE", [rows, begin, body.constant("size", sizes)], [row])
        else:
            end = body.tensor("end", i32, (2,))
            body.operator("ADD", [begin, body.constant("size", sizes)], [end])
            ones = body.constant("ones", np.ones(2, np.int32))
            body.operator("STRIDED_SLICE", [rows, begin, end, ones], [row])
    inner, recurrent = _float(body, "inner", (1, UNITS)), _float(body, "recurrent", (1, UNITS))
    total, after, later = (
        _float(body, "sum", (1, UNITS)),
        _float(body, "after", (1, UNITS)),
        body.tensor("later", i32, ()),
    )
    weights = [body.constant(f"w{n}", f32(rng.normal(size=(UNITS, n)))) for n in (FEATURES, UNITS)]
    bias = body.constant("bias", f32(rng.normal(size=UNITS)))
    if product == "BATCH_MATMUL":
        matrix = body.constant("matrix", f32(rng.normal(size=(FEATURES, UNITS))))
        body.operator("BATCH_MATMUL", [row, matrix], [inner])
    else:
        body.operator("FULLY_CONNECTED", [row, weights[0], bias], [inner])
    body.operator("FULLY_CONNECTED", [h, weights[1], -1], [recurrent])
    body.operator("ADD", [inner, recurrent], [total])
    body.operator("TANH", [total], [after])
    body.operator("ADD", [t, body.constant("1", np.array(1, np.int32))], [later])
    body.outputs = [later, after, rows, limit]
    return builder.model()
