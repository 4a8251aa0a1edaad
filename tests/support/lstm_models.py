"""Loops that compute an LSTM layer, as converters and users write them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tflmgen.frontend.tflite import Model, ModelBuilder, SubGraphBuilder
from tflmgen.ir import DType

Array = NDArray[np.float32]

STEPS, FEATURES, CELLS = 7, 5, 6
"""Odd enough that no two sizes are equal."""

F32, I32 = DType.FLOAT32, DType.INT32


@dataclass(frozen=True)
class LstmStyle:
    """Form in which an LSTM is written as a loop.

    gates     order of input, forget, cell and output gate in the weights
    split     one product for each gate, else one of all, which SPLIT parts
    joined    one product of the row and the state, joined by CONCATENATION
    pick      operator that takes the row: GATHER or SLICE
    result    what is read after the loop: "h", "c" beside it, or "all" h as a list of rows
    batch     sequences side by side
    start     every element of the first state
    steps     trip count; 0: that of the rows
    seed      of weights and biases
    cell      "lstm"; "no tanh": h' = s(o) c'; "tanh gate": h' = tanh(o) tanh(c'); "old h": c' = s(f) h + s(i) tanh(g)
    stateful  the state is that of the last invoke; `start` is the first one
    length    rows of the sequence; of so many `features`; `cells` of the layer
    """

    gates: str = "ifgo"
    split: bool = False
    joined: bool = False
    pick: str = "GATHER"
    result: str = "h"
    start: float = 0.0
    cell: str = "lstm"
    steps: int = 0
    seed: int = 8
    batch: int = 1
    stateful: bool = False
    length: int = STEPS
    features: int = FEATURES
    cells: int = CELLS


def lstm_loop(style: LstmStyle) -> Model:
    """x[length, batch, features] -> the last h of an LSTM, or all; subgraphs: 0 main, 1 condition, 2 body."""
    builder = ModelBuilder("lstm", name="lstm.tflite")
    main, condition, body = (builder.subgraph(name) for name in ("main", "cond", "body"))
    x = main.tensor("x", F32, (style.length, style.batch, style.features))
    start = main.constant("start", np.full((style.batch, style.cells), style.start, np.float32))
    if style.stateful:
        main.operator("CALL_ONCE", [], [], {"init_subgraph_index": 3})
    h, c = (_read(main, name, style) for name in "hc") if style.stateful else (start, start)
    operands = [main.constant("t0", np.array(0, np.int32)), h, c, x]
    kinds = [
        ("t", I32, ()),
        *[(name, F32, (style.batch, style.cells)) for name in "hc"],
        ("x", F32, main.tensors[x].shape),
    ]
    if style.result == "all":
        kinds.append(("rows", F32, (style.length, style.batch, style.cells)))
        operands.append(main.constant("no rows", np.zeros(kinds[-1][2], np.float32)))
    results = [main.tensor(f"{name}1", dtype, shape) for name, dtype, shape in kinds]
    main.operator("WHILE", operands, results, {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    main.inputs, main.outputs = [x], results[4:] or results[1 : 3 if style.result == "c" else 2]
    for graph in (condition, body):
        graph.inputs = [graph.tensor(*kind) for kind in kinds]
    condition.outputs = [condition.tensor("again", DType.BOOL, ())]
    limit = condition.constant("steps", np.array(style.steps or style.length, np.int32))
    condition.operator("LESS", [condition.inputs[0], limit], condition.outputs)
    _body(body, style)
    if style.stateful:
        first = builder.subgraph("first")
        value = first.constant("start", np.full((style.batch, style.cells), style.start, np.float32))
        for name, last in zip("hc", results[1:3], strict=True):
            first.operator("ASSIGN_VARIABLE", [_handle(first, name), value], [])
            main.operator("ASSIGN_VARIABLE", [_handle(main, name), last], [])
    return builder.model()


def _handle(graph: SubGraphBuilder, name: str) -> int:
    handle = graph.tensor(f"{name} handle", None, ())
    graph.operator("VAR_HANDLE", [], [handle], {"shared_name": name})
    return handle


def _read(graph: SubGraphBuilder, name: str, style: LstmStyle) -> int:
    read = graph.tensor(f"{name}0", F32, (style.batch, style.cells))
    graph.operator("READ_VARIABLE", [_handle(graph, name)], [read])
    return read


def _body(body: SubGraphBuilder, style: LstmStyle) -> None:
    t, h, c, x, *rows = body.inputs
    later = body.tensor("later", I32, ())
    body.operator("ADD", [t, body.constant("1", np.array(1, np.int32))], [later])
    sums = _sums(body, style, _row(body, style, t, x), h)

    def computed(name: str, *operands: int) -> int:
        result = body.tensor(f"{name}_{len(body.tensors)}", F32, (style.batch, style.cells))
        body.operator(name, list(operands), [result])
        return result

    kept = computed("MUL", h if style.cell == "old h" else c, computed("LOGISTIC", sums["f"]))
    new = computed("MUL", computed("TANH", sums["g"]), computed("LOGISTIC", sums["i"]))
    cell = computed("ADD", new, kept)
    squashed = cell if style.cell == "no tanh" else computed("TANH", cell)
    gate = computed("TANH" if style.cell == "tanh gate" else "LOGISTIC", sums["o"])
    hidden = computed("MUL", squashed, gate)
    body.outputs = [later, hidden, cell, x, *(_stored(body, style, (t, later), hidden, part) for part in rows)]


def _stored(body: SubGraphBuilder, style: LstmStyle, numbers: tuple[int, int], row: int, rows: int) -> int:
    """TensorListSetItem as the converter lowers it: what is before row t, the row, and what follows it."""
    parts, open_shape = [], (-1, style.batch, style.cells)
    starts = [body.constant("begin", np.zeros(3, np.int32)), body.tensor("after", I32, (3,))]
    sizes = [body.tensor("before", I32, (3,)), body.constant("rest", np.full(3, -1, np.int32))]
    for number, vector, others in ((numbers[0], sizes[0], -1), (numbers[1], starts[1], 0)):
        other = body.constant(f"other {others}", np.array(others, np.int32))
        body.operator("PACK", [number, other, other], [vector], {"axis": 0, "values_count": 3})
    for begin, size in zip(starts, sizes, strict=True):
        parts.append(body.tensor(f"rows {begin}", F32, (1, style.batch, style.cells), shape_signature=open_shape))
        body.operator("SLICE", [rows, begin, size], [parts[-1]])
    shape = np.array([1, style.batch, style.cells], np.int32)
    own, stored = (
        body.tensor("own", F32, shape.tolist()),
        body.tensor("stored", F32, (style.length, style.batch, style.cells)),
    )
    body.operator("RESHAPE", [row, body.constant("row shape", shape)], [own])
    body.operator("CONCATENATION", [parts[0], own, parts[1]], [stored], {"axis": 0})
    return stored


def _row(body: SubGraphBuilder, style: LstmStyle, t: int, x: int) -> int:
    if style.pick == "GATHER":
        row = body.tensor("row", F32, (style.batch, style.features))
        body.operator("GATHER", [x, t], [row], {"axis": 0})
        return row
    begin, zero = body.tensor("begin", I32, (3,)), body.constant("zero", np.array(0, np.int32))
    body.operator("PACK", [t, zero, zero], [begin], {"axis": 0, "values_count": 3})
    slab, row = (
        body.tensor("slab", F32, (1, style.batch, style.features)),
        body.tensor("row", F32, (style.batch, style.features)),
    )
    body.operator(
        "SLICE", [x, begin, body.constant("size", np.array([1, style.batch, style.features], np.int32))], [slab]
    )
    body.operator("RESHAPE", [slab, body.constant("shape", np.array([style.batch, style.features], np.int32))], [row])
    return row


def _sums(body: SubGraphBuilder, style: LstmStyle, row: int, h: int) -> dict[str, int]:
    """The sum of each gate."""
    if style.joined:
        both = body.tensor("both", F32, (style.batch, style.features + style.cells))
        body.operator("CONCATENATION", [h, row], [both], {"axis": 1})
    names = list(style.gates) if style.split else [style.gates]
    parts = {}
    for name in names:
        units = style.cells * len(name)
        total = body.tensor(f"sum_{name}", F32, (style.batch, units))
        bias = body.constant(f"bias_{name}", np.random.default_rng(style.seed).normal(size=units).astype(np.float32))
        if style.joined:
            body.operator(
                "FULLY_CONNECTED", [both, _weights(body, style, units, style.cells + style.features), bias], [total]
            )
        else:
            products = [body.tensor(f"{side}_{name}", F32, (style.batch, units)) for side in ("own", "recurrent")]
            body.operator("FULLY_CONNECTED", [row, _weights(body, style, units, style.features), bias], [products[0]])
            body.operator("FULLY_CONNECTED", [h, _weights(body, style, units, style.cells), -1], [products[1]])
            body.operator("ADD", products, [total])
        parts[name] = total
    if style.split:
        return parts
    gates = [body.tensor(gate, F32, (style.batch, style.cells)) for gate in style.gates]
    axis = body.constant("axis", np.array(1, np.int32))
    body.operator("SPLIT", [axis, parts[style.gates]], gates, {"num_splits": 4})
    return dict(zip(style.gates, gates, strict=True))


def _weights(body: SubGraphBuilder, style: LstmStyle, units: int, terms: int) -> int:
    values = np.random.default_rng((style.seed, len(body.tensors))).normal(0, 0.4, (units, terms)).astype(np.float32)
    return body.constant(f"weights_{len(body.tensors)}", values)
