"""Rewrites of a float Model before calibration, so that more of its operators have integer forms.

Tensors keep their indices; operands that are constants lose theirs, and new constants come last.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from tflmgen.frontend import (
    Binding,
    LstmLoop,
    Model,
    Operator,
    SubGraph,
    Tensor,
    TensorKey,
    bindings,
    constant_values,
    contents,
    find_lstm_loops,
    is_loop,
    operator_version,
    options_with_defaults,
)
from tflmgen.ir import DType
from tflmgen.quantize.bias_moves import with_moved_biases
from tflmgen.quantize.constant_moves import with_moved_constants
from tflmgen.quantize.factor_moves import with_moved_factors
from tflmgen.quantize.fake_quantization import without_fake_quant
from tflmgen.quantize.hoisted_products import with_hoisted_products
from tflmgen.quantize.integer_forms import bias_operand
from tflmgen.quantize.sum_chains import with_sum_chains
from tflmgen.quantize.web_constraints import UnionFind


def simplify(model: Model, fuses_lstm: bool, keeps_state: bool) -> Model:
    """The Model with fewer operators and constants for loop variables, and with products hoisted out of loops.

    fuses_lstm, keeps_state  loops that are such LSTM layers stay as they are, as do those of stateful layers
    """
    model = _with_constants(model)
    layers = {b: layer for b, layer in find_lstm_loops(model, keeps_state).items() if isinstance(layer, LstmLoop)}
    fused = {body for body, layer in layers.items() if fuses_lstm or layer.is_stateful}
    return with_own_buffers(with_moved_layers(with_hoisted_products(model, fused), fused))


def with_moved_layers(model: Model, kept: Collection[int]) -> Model:
    """The Model with factors and addends of layers' results in the layers, in whatever order they follow."""
    while (simpler := with_moved_factors(with_moved_biases(model, kept), kept)) != model:
        model = simpler
    return model


def lstm_loops_of(model: Model, keeps_state: bool) -> dict[int, LstmLoop | str]:
    """Loops of a float model with an LSTM cell, as `find_lstm_loops` has them."""
    return find_lstm_loops(_with_constants(model), keeps_state)


def _with_constants(model: Model) -> Model:
    """The Model with DEQUANTIZE of constants evaluated, captured constants inside, and operators with int8 kernels."""
    model = without_fake_quant(replace(model, subgraphs=tuple(map(_without_dequantize, model.subgraphs))))
    while (simpler := _without_captured(model)) is not model:
        model = simpler
    model = with_moved_constants(model)
    graphs = (_with_flat_biases(_with_kernels(with_sum_chains(graph))) for graph in model.subgraphs)
    return replace(model, subgraphs=tuple(graphs))


def with_own_buffers(model: Model) -> Model:
    """The Model with buffers numbered anew: one for each content, 0 for tensors without."""
    numbers: dict[bytes, int] = {b"": 0}
    subgraphs = []
    for graph in model.subgraphs:
        buffers = [numbers.setdefault(tensor.data or b"", len(numbers)) for tensor in graph.tensors]
        tensors = tuple(replace(t, buffer=buffer) for t, buffer in zip(graph.tensors, buffers, strict=True))
        subgraphs.append(replace(graph, tensors=tensors))
    return replace(model, subgraphs=tuple(subgraphs))


def _constant(tensor: Tensor, source: Tensor) -> Tensor:
    """The tensor with the real values of a constant."""
    data = contents(constant_values(source), DType.FLOAT32)
    return replace(tensor, data=data, quantization=None, dtype=DType.FLOAT32, type_name="float32", blocks=None)


def _without_dequantize(graph: SubGraph) -> SubGraph:
    tensors, operators = list(graph.tensors), []
    for op in graph.operators:
        source = tensors[op.inputs[0]] if op.name == "DEQUANTIZE" else None
        if source is None or source.data is None or source.blocks is not None:
            operators.append(op)
        else:
            tensors[op.outputs[0]] = _constant(tensors[op.outputs[0]], source)
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators))


def _with_kernels(graph: SubGraph) -> SubGraph:
    """NEG, SQUARE, SELECT and DIV by constants, which have no int8 kernel, as SUB, MUL, SELECT_V2 and MUL.

    BATCH_MATMUL with one constant matrix as FULLY_CONNECTED, which has a scale for each of its columns.
    """
    tensors = list(graph.tensors)
    operators = []
    for op in graph.operators:
        name, inputs = op.name, list(op.inputs)
        if not op.outputs or tensors[op.outputs[0]].dtype is not DType.FLOAT32:
            pass
        elif op.name == "NEG":
            data = contents(np.zeros((), np.float32), DType.FLOAT32)
            zero = Tensor.added(len(tensors), "zero", DType.FLOAT32, (), data)
            tensors.append(zero)
            name, inputs = "SUB", [zero.index, *inputs]
        elif op.name == "SQUARE":
            name, inputs = "MUL", [inputs[0], inputs[0]]
        elif op.name == "DIV" and (factor := _reciprocal(tensors[op.inputs[1]])) is not None:
            name, inputs = "MUL", [inputs[0], len(tensors)]
            tensors.append(replace(factor, index=len(tensors)))
        elif op.name == "SELECT" and tensors[inputs[0]].shape in ((), tensors[op.outputs[0]].shape):
            name = "SELECT_V2"
        elif op.name == "BATCH_MATMUL" and (matrix := _matrix(op, tensors)) is not None:
            name, inputs = "FULLY_CONNECTED", [inputs[0], len(tensors), -1]
            tensors.append(replace(matrix, index=len(tensors)))
        operators.append(op if name == op.name else _renamed(op, name, inputs, tensors))
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators))


def _with_flat_biases(graph: SubGraph) -> SubGraph:
    """The subgraph with constant biases of rank 1, which have a scale per channel; converters write [1, N], too."""
    tensors, operators = list(graph.tensors), []
    for op in graph.operators:
        place = bias_operand(op)
        bias = None if place is None else tensors[op.inputs[place]]
        if place is not None and bias is not None and bias.data is not None and len(bias.shape) != 1:
            flat = replace(bias, index=len(tensors), shape=(math.prod(bias.shape),), shape_signature=None)
            tensors.append(flat)
            op = replace(op, inputs=(*op.inputs[:place], flat.index, *op.inputs[place + 1 :]))
        operators.append(op)
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators))


def _matrix(op: Operator, tensors: Sequence[Tensor]) -> Tensor | None:
    """The constant right operand of a product as FULLY_CONNECTED has its weights, a row for each result; else None."""
    options, right = op.options or {}, tensors[op.inputs[1]]
    is_plain = right.data is not None and right.dtype is DType.FLOAT32 and not options.get("adj_x", False)
    if not is_plain or len(right.shape) < 2 or math.prod(right.shape[:-2]) != 1:
        return None
    values = constant_values(right).reshape(right.shape[-2:])
    weights = values if options.get("adj_y", False) else values.T
    data = contents(np.ascontiguousarray(weights), DType.FLOAT32)
    return replace(right, shape=weights.shape, shape_signature=None, data=data)


def _reciprocal(divisor: Tensor) -> Tensor | None:
    """The reciprocals of a divisor, for a multiplication instead; None if it is not constant or has no reciprocals."""
    if divisor.data is None or divisor.dtype is not DType.FLOAT32:
        return None
    with np.errstate(divide="ignore", over="ignore"):
        factors = np.float32(1) / constant_values(divisor)
    is_normal = np.isfinite(factors) & (np.abs(factors) >= np.finfo(np.float32).tiny)
    return replace(divisor, data=contents(factors, DType.FLOAT32)) if is_normal.all() else None


def _renamed(op: Operator, name: str, inputs: list[int], tensors: list[Tensor]) -> Operator:
    activation = {key: value for key, value in (op.options or {}).items() if key == "fused_activation_function"}
    options = options_with_defaults(name, {"keep_num_dims": True} if name == "FULLY_CONNECTED" else activation)
    operands = [None if i < 0 else tensors[i] for i in inputs]
    version = operator_version(name, operands, [tensors[i] for i in op.outputs], options)
    return replace(op, name=name, inputs=tuple(inputs), options=options, version=version)


def _without_captured(model: Model) -> Model:
    """The Model without one set of operands that is the same constant wherever it is passed; itself if there is none.

    Converters pass constants that a branch or body captures as operands of the If or While.
    """
    slots = UnionFind()
    sources: dict[TensorKey, set[tuple[bytes | None, tuple[int, ...]]]] = {}
    sites = list(_sites(model))
    for _, _, site_bindings in sites:
        for place in range(len(site_bindings[0].operands)):
            for binding in site_bindings:
                slots.join((site_bindings[0].subgraph, place), (binding.subgraph, place))
    for entry in {0, *(signature.subgraph for signature in model.signatures)}:
        for place in range(len(model.subgraphs[entry].inputs)):
            sources.setdefault(slots.root((entry, place)), set()).add((None, ()))
    for graph, op, site_bindings in sites:
        for place, tensor in enumerate(site_bindings[0].operands):
            root = slots.root((site_bindings[0].subgraph, place))
            operand = graph.tensors[tensor] if tensor >= 0 else None
            is_float = operand is not None and operand.dtype is DType.FLOAT32
            kept = not is_loop(op) or _passes_through(model.subgraphs[site_bindings[1].subgraph], place)
            data = operand.data if operand is not None and is_float and kept else None
            sources.setdefault(root, set()).add((data, operand.shape if operand is not None else ()))
    for root, constants in sorted(sources.items(), key=lambda item: item[0]):
        if len(constants) == 1 and next(iter(constants))[0] is not None:
            return _with_constant(model, slots, root, next(iter(constants))[0] or b"")
    return model


def _sites(model: Model) -> Iterator[tuple[SubGraph, Operator, tuple[Binding, ...]]]:
    for graph in model.subgraphs:
        for op in graph.operators:
            if op.name != "STABLEHLO_COMPOSITE" and (site_bindings := bindings(op)):
                yield graph, op, site_bindings


def _passes_through(body: SubGraph, place: int) -> bool:
    return body.outputs[place] == body.inputs[place]


def _with_constant(model: Model, slots: UnionFind, root: TensorKey, data: bytes) -> Model:
    """The Model in which the inputs of subgraphs in the set `root` are constants inside."""
    graphs = {graph.index: graph for graph in model.subgraphs}
    places = {
        (graph.index, place)
        for graph in model.subgraphs
        for place in range(len(graph.inputs))
        if slots.root((graph.index, place)) == root
    }
    bodies = set()
    for graph, op, site_bindings in _sites(model):
        removed = {place for index, place in places if index == site_bindings[0].subgraph}
        if removed:
            graphs[graph.index] = _without_operands(graphs[graph.index], op, removed, data)
            bodies |= {site_bindings[1].subgraph} if is_loop(op) else set()
    for index in {index for index, _ in places}:
        graph, removed = graphs[index], {place for other, place in places if other == index}
        for place in removed:
            graph = replace(graph, tensors=_filled(graph, graph.inputs[place], data))
        outputs = _others(graph.outputs, removed) if index in bodies else graph.outputs
        graphs[index] = replace(graph, inputs=_others(graph.inputs, removed), outputs=outputs)
    return replace(model, subgraphs=tuple(graphs[graph.index] for graph in model.subgraphs))


def _others(tensors: Sequence[int], removed: Collection[int]) -> tuple[int, ...]:
    return tuple(tensor for place, tensor in enumerate(tensors) if place not in removed)


def _filled(graph: SubGraph, tensor: int, data: bytes) -> tuple[Tensor, ...]:
    return tuple(replace(t, data=data) if t.index == tensor else t for t in graph.tensors)


def _without_operands(graph: SubGraph, op: Operator, removed: set[int], data: bytes) -> SubGraph:
    """The subgraph with an operator that lost these operands; results of a loop that were these become constants."""
    offset = len(op.inputs) - len(bindings(op)[0].operands)
    inputs = tuple(t for place, t in enumerate(op.inputs) if place - offset not in removed)
    outputs = op.outputs
    if is_loop(op):
        for place in removed:
            graph = replace(graph, tensors=_filled(graph, op.outputs[place], data))
        outputs = _others(outputs, removed)
    operators = tuple(replace(o, inputs=inputs, outputs=outputs) if o.index == op.index else o for o in graph.operators)
    return replace(graph, operators=operators)
