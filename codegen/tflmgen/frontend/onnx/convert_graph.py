"""An ONNX model as a TFLite one: its inputs and outputs, and the order of their dimensions.

State is written as TensorFlow's converter does: variables, of which CALL_ONCE assigns the first values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import onnx

from tflmgen.frontend.onnx.integer_operators import with_integer_operators
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import Array, OnnxValue, constant
from tflmgen.frontend.onnx.merged_layers import with_merged_layers
from tflmgen.frontend.onnx.model_notes import output_names, parameter_names, state_pairs
from tflmgen.frontend.onnx.node import dtype_of
from tflmgen.frontend.onnx.node_error import NodeError
from tflmgen.frontend.onnx.walk import Scope, Walker
from tflmgen.frontend.tflite.model import Model
from tflmgen.frontend.tflite.unused_tensors import without_unused


@dataclass(frozen=True, slots=True)
class OnnxOptions:
    """Choices of the user about an ONNX model.

    shapes       input -> its shape, for dynamic dimensions
    constants    input -> its value, for inputs that determine shapes
    nhwc_inputs  inputs of four dimensions come as NHWC instead of NCHW
    for_training  nothing is computed now of parameters that the source tells
    batch         size of an input's first dimension where that alone is open
    """

    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    constants: Mapping[str, Array] = field(default_factory=dict)
    nhwc_inputs: bool = False
    for_training: bool = False
    batch: int = 1


def to_tflite(model: onnx.ModelProto, path: str, options: OnnxOptions, sha256: str = "") -> Model:
    """Lowers a model that ONNX's checker accepted. Raises ModelError, which names the node."""
    versions = {opset.domain: opset.version for opset in model.opset_import}
    parameters = parameter_names(model)
    walker = Walker(path, versions, parameters, options.for_training and parameters is not None)
    graph = walker.new_graph(model.graph.name or "main")
    scope: Scope = {}
    initial = {tensor.name for tensor in model.graph.initializer}
    names: list[tuple[str, int]] = []
    for entry in model.graph.input:
        if entry.name in options.constants:
            scope[entry.name] = constant(np.asarray(options.constants[entry.name]))
        elif entry.name not in initial:
            value = _input(walker, graph, entry, options)
            scope[entry.name] = value
            names.append((entry.name, value.tensor))
    graph.builder.inputs = [tensor for _, tensor in names]
    state = state_pairs(model)
    if state:
        read_state(walker, graph, model, state, scope)
    results = zip((output.name for output in model.graph.output), walker.lower(model.graph, graph, scope), strict=True)
    next_state = {after: before for before, after in state.items()}
    after_invoke: dict[str, OnnxValue] = {}
    outputs: list[tuple[str, int]] = []
    shown = output_names(model)
    for name, value in results:
        if name in next_state:
            after_invoke[next_state[name]] = value
        else:
            outputs.append((shown[name], _output(graph, value, [tensor for _, tensor in (*names, *outputs)])))
    write_state(graph, after_invoke)
    graph.builder.outputs = [tensor for _, tensor in outputs]
    walker.builder.signature("serving_default", 0, names, outputs)
    digest = sha256 or hashlib.sha256(model.SerializeToString()).hexdigest()
    codes, buffer = [g.codes for g in walker.graphs], walker.builder.buffer
    integer_model = with_integer_operators(walker.builder.model(), codes, buffer)
    whole = without_unused(with_merged_layers(integer_model, codes, buffer))
    notes = tuple(walker.notes)
    return replace(whole, sha256=digest, notes=notes, tells_parameters=parameters is not None)


def _input(walker: Walker, graph: Graph, entry: onnx.ValueInfoProto, options: OnnxOptions) -> OnnxValue:
    kind = entry.type.WhichOneof("value")
    try:
        if kind != "tensor_type":
            raise NodeError(f"is a {(kind or 'value').removesuffix('_type')}, which is unsupported")
        dtype = dtype_of(entry.type.tensor_type.elem_type)
        shape = _shape(entry, options)
    except NodeError as error:
        raise walker.error(f"input '{entry.name}'", error) from error
    if _has_open_batch(entry, options):
        walker.notes[f"input '{entry.name}' has an open first dimension: its batch is {options.batch}"] = None
    order = (0, 2, 3, 1) if options.nhwc_inputs and len(shape) == 4 else tuple(range(len(shape)))
    tensor = graph.new_tensor(dtype, tuple(shape[axis] for axis in order), entry.name)
    graph.sources[tensor] = frozenset({entry.name})
    return OnnxValue(dtype, shape, order, None, graph, tensor)


def _shape(entry: onnx.ValueInfoProto, options: OnnxOptions) -> tuple[int, ...]:
    proto, shape = entry.type.tensor_type, options.shapes.get(entry.name)
    if shape is not None:
        dims = [d.dim_value if d.HasField("dim_value") else -1 for d in proto.shape.dim]
        fits = len(dims) == len(shape) and all(d in (-1, n) for d, n in zip(dims, shape, strict=True))
        if proto.HasField("shape") and not fits:
            raise NodeError(f"cannot have the shape {'x'.join(map(str, shape))} that is given for it")
        return tuple(int(n) for n in shape)
    if _open_dimensions(proto) == [0]:
        return (options.batch, *(d.dim_value for d in proto.shape.dim[1:]))
    dynamic = [d.dim_param or "?" for d in proto.shape.dim if not d.HasField("dim_value")]
    if not proto.HasField("shape") or dynamic:
        lack = f"dynamic dimensions ({', '.join(dynamic)})" if proto.HasField("shape") else "no shape"
        raise NodeError(f"has {lack}", f"Give its shape, as --shape {entry.name}={_example_shape(proto)}")
    return tuple(d.dim_value for d in proto.shape.dim)


def _open_dimensions(proto: onnx.TypeProto.Tensor) -> list[int]:
    return [axis for axis, size in enumerate(proto.shape.dim) if not size.HasField("dim_value")]


def _has_open_batch(entry: onnx.ValueInfoProto, options: OnnxOptions) -> bool:
    """Whether only the first dimension is open, and nobody says how large it is."""
    return entry.name not in options.shapes and _open_dimensions(entry.type.tensor_type) == [0]


def _example_shape(proto: onnx.TypeProto.Tensor) -> str:
    """A shape as --shape takes it: an open first dimension, as a rule the batch, is 1; others keep their names."""
    sizes = [str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?" for d in proto.shape.dim]
    if sizes and not proto.shape.dim[0].HasField("dim_value"):
        sizes[0] = "1"
    return ",".join(sizes) or "..."


def _output(graph: Graph, value: OnnxValue, taken: Sequence[int]) -> int:
    """The tensor of an output, which is no constant, no input, and no other output."""
    tensor = graph.laid(value)
    if graph.tensors[tensor].data is not None or tensor in taken:
        tensor = graph.copied(tensor)
    return tensor


def read_state(walker: Walker, graph: Graph, model: onnx.ModelProto, names: Iterable[str], scope: Scope) -> None:
    """Enters the state's values into the scope, read from variables that are made here."""
    first = walker.new_graph("initial_state")
    graph.builder.operator("CALL_ONCE", [], [], {"init_subgraph_index": first.index})
    values = {tensor.name: tensor for tensor in model.graph.initializer}
    for name in names:
        initial = walker.constant(values[name], first)
        first.builder.operator("ASSIGN_VARIABLE", [_handle(first, name), first.laid(initial)], [])
        read = graph.new_tensor(initial.dtype, initial.shape, name)
        graph.builder.operator("READ_VARIABLE", [_handle(graph, name)], [read])
        scope[name] = graph.value(read)


def write_state(graph: Graph, after: Mapping[str, OnnxValue]) -> None:
    """Assigns the next values, by the state's names. All are computed before the first is assigned."""
    tensors = {name: graph.laid(value) for name, value in after.items()}
    for name, tensor in tensors.items():
        graph.builder.operator("ASSIGN_VARIABLE", [_handle(graph, name), tensor], [])


def _handle(graph: Graph, name: str) -> int:
    handle = graph.builder.tensor(f"{name}:handle", None, ())
    graph.builder.operator("VAR_HANDLE", [], [handle], {"shared_name": name})
    return handle
