"""Lowers the nodes of an ONNX graph one after the other: constants are evaluated, functions expanded.

Nodes of constants are evaluated (constant_nodes.py). Operators without a lowering that ONNX defines by other operators
are replaced by their definition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from tflmgen.errors import Location, ModelError, Problem, TflmgenError
from tflmgen.frontend.onnx.all_lowerings import LOWERINGS
from tflmgen.frontend.onnx.constant_nodes import OWN_DOMAINS, SEQUENCES, computes_parameters, evaluated, is_foldable
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import NUMPY_DTYPES, OnnxValue, constant, parameter
from tflmgen.frontend.onnx.moved_sizes import moved_sizes, with_numbers
from tflmgen.frontend.onnx.node import ONNX_DTYPES, OnnxNode
from tflmgen.frontend.onnx.node_error import NodeError, ShapeInputError
from tflmgen.frontend.onnx.torch_export import source_line
from tflmgen.frontend.tflite.builder import ModelBuilder
from tflmgen.ir import DType

RUNTIME_DOMAIN = "com.microsoft"
"""Domain of ONNX Runtime's own operators."""


Scope = dict[str, OnnxValue | None]

_TYPES = {dtype: number for number, dtype in ONNX_DTYPES.items()}


class Walker:
    """Lowers one model. `path` is its name in errors.

    versions  operator-set domain -> version
    builder   the subgraphs, in the order in which they were begun
    graphs    the same, as lowerings see them
    declared  shapes without open dimensions that graphs declare, by the value's name
    notes     sentences for the user, in order
    line      of the PyTorch program that made the node that is being lowered: "net.py:12"
    parameters  initialiser -> the source's name of the parameter that it holds; None: all initialisers are parameters
    keeps       whether nodes are left as they are that compute with parameters alone, since these will change
    """

    def __init__(
        self, path: str, versions: Mapping[str, int], parameters: Mapping[str, str] | None = None, keeps: bool = False
    ) -> None:
        self.path = path
        self.versions = versions
        self.parameters, self.keeps = parameters, keeps
        self.builder = ModelBuilder(name=path)
        self.graphs: list[Graph] = []
        self.declared: dict[str, tuple[int, ...]] = {}
        self.notes: dict[str, None] = {}
        self.line = ""

    def new_graph(self, name: str, parent: Graph | None = None) -> Graph:
        """A new subgraph with this name; `parent` is the graph whose values it may use."""
        self.graphs.append(Graph(self.builder.subgraph(name), parent))
        return self.graphs[-1]

    def drop_graphs(self, count: int) -> None:
        """Forgets all subgraphs but the first `count`."""
        del self.builder.subgraphs[count:]
        del self.graphs[count:]

    def lower(self, proto: onnx.GraphProto, graph: Graph, scope: Scope) -> list[OnnxValue]:
        """Lowers a graph's nodes; `scope` holds its inputs and outer values. Returns its outputs."""
        for tensor in proto.initializer:
            if tensor.name not in scope:
                initial = self.constant(tensor, graph)
                name = self.parameters.get(tensor.name) if self.parameters is not None else tensor.name
                scope[tensor.name] = initial if name is None else parameter(initial, name)
        self.declared |= _declared_shapes(proto)
        for node in proto.node:
            self.node(node, graph, scope, self.versions)
        outputs = []
        for output in proto.output:
            value = scope.get(output.name)
            if value is None:
                raise self.error(f"output '{output.name}'", NodeError("is made by no node"))
            if value.parts is not None:
                raise self.error(f"output '{output.name}'", NodeError("is a sequence, which no output can be"))
            outputs.append(value)
        return outputs

    def constant(self, tensor: onnx.TensorProto, graph: Graph) -> OnnxValue:
        """The value of an initialiser or of a constant's tensor. Raises ModelError for element types that TFLite
        lacks."""
        array = np.asarray(numpy_helper.to_array(tensor))
        if tensor.data_type == onnx.TensorProto.INT4:
            return constant(array.astype(np.int8), DType.INT4)
        if tensor.data_type == onnx.TensorProto.UINT4:
            return constant(array.astype(np.uint8))
        if array.dtype not in NUMPY_DTYPES:
            kind = onnx.TensorProto.DataType.Name(tensor.data_type).lower()
            text = f"has the element type {kind}, which is unsupported"
            raise self.error(f"graph '{graph.name}', initializer '{tensor.name}'", NodeError(text))
        return constant(array)

    def error(self, where: str, error: NodeError) -> ModelError:
        """The error as one of the model, with its place in the file and its cause."""
        problem = Problem(Location(f"{self.path}: {where}"), error.text, error.advice)
        located = ModelError([problem])
        located.__cause__ = error
        return located

    def node(self, proto: onnx.NodeProto, graph: Graph, scope: Scope, versions: Mapping[str, int]) -> None:
        """Lowers one node and enters its results into the scope. Raises ModelError, which names the node."""
        outer, graph.node = graph.node, graph.node or proto.name or (proto.output[0] if proto.output else proto.op_type)
        outer_line, self.line = self.line, source_line(_trace(proto)) or self.line
        try:
            results = self._guarded(proto, graph, scope, versions)
        except NodeError as error:
            label = f"'{proto.name}'" if proto.name else "with output " + ", ".join(f"'{o}'" for o in proto.output if o)
            place = f", {self.line}" if self.line else ""
            raise self.error(f"node {label} ({proto.op_type}{place})", error) from error
        finally:
            graph.node, self.line = outer, outer_line
        for name, value in zip(proto.output, results, strict=False):
            if name:
                scope[name] = value

    def _guarded(
        self, proto: onnx.NodeProto, graph: Graph, scope: Scope, versions: Mapping[str, int]
    ) -> Sequence[OnnxValue | None]:
        try:
            return self._results(proto, graph, scope, versions)
        except MemoryError as error:
            raise NodeError("makes constants that are too large for this computer's memory") from error
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            if not any(value is not None and value.is_open for value in self._operands(proto, scope)):
                raise
            raise NodeError("has an operand whose size the data decide, which its lowering does not take") from error

    def _results(
        self, proto: onnx.NodeProto, graph: Graph, scope: Scope, versions: Mapping[str, int]
    ) -> Sequence[OnnxValue | None]:
        inputs = self._operands(proto, scope)
        domain = "" if proto.domain in OWN_DOMAINS else proto.domain
        version = versions.get(domain, versions.get("ai.onnx", 0) if not domain else 1)
        node = OnnxNode(proto, graph, inputs, version, self, scope)
        if node.op not in SEQUENCES and any(value is not None and value.parts is not None for value in inputs):
            raise NodeError("takes a sequence", f"Sequences are for {', '.join(sorted(SEQUENCES))}")
        if self.keeps and computes_parameters(node):
            node = replace(node, inputs=[None if value is None else graph.kept(value) for value in inputs])
        elif is_foldable(node):
            folded = evaluated(node, domain)
            if folded is not None:
                return folded
        moved = moved_sizes(node, domain)
        if moved and all(value.numbers is None for value in moved):
            return moved
        lowered = self._lowered(node, domain, proto)
        return lowered if moved is None else with_numbers(lowered, moved)

    def _lowered(self, node: OnnxNode, domain: str, proto: onnx.NodeProto) -> Sequence[OnnxValue | None]:
        lowering = LOWERINGS.get(f"{domain}.{proto.op_type}" if domain else proto.op_type)
        if lowering is not None:
            lowered = lowering(node)
            return [lowered] if isinstance(lowered, OnnxValue) else lowered
        return self._expanded(node, domain)

    def _operands(self, proto: onnx.NodeProto, scope: Scope) -> list[OnnxValue | None]:
        return [self._operand(name, scope) for name in proto.input]

    def _operand(self, name: str, scope: Scope) -> OnnxValue | None:
        if not name:
            return None
        if name not in scope:
            raise NodeError(f"reads '{name}', which no earlier node computes")
        return scope[name]

    def _expanded(self, node: OnnxNode, domain: str) -> list[OnnxValue | None]:
        """The results of the operator's definition in ONNX."""
        function = _definition(node, domain)
        if function is None:
            raise _no_lowering(domain)
        inner: Scope = dict.fromkeys(function.input)
        inner.update(zip(function.input, node.inputs, strict=False))
        versions = {opset.domain: opset.version for opset in function.opset_import}
        attributes = {entry.name: entry for entry in node.proto.attribute}
        for default in (*function.attribute_proto, *_defaults(node, domain)):
            attributes.setdefault(default.name, default)
        for proto in function.node:
            try:
                self.node(_with_attributes(proto, attributes), node.graph, inner, versions)
            except ModelError as error:
                raise _of_definition(proto.op_type, error) from error
        return [inner.get(name) for name in function.output]


def _of_definition(op: str, error: ModelError) -> TflmgenError:
    """The error of a definition's operator as one of the node that is defined: names inside are not the model's."""
    cause = error.__cause__
    if not isinstance(cause, NodeError):
        return error
    return (
        cause
        if isinstance(cause, ShapeInputError)
        else NodeError(f"is defined by {op}, which {cause.text}", cause.advice)
    )


def _declared_shapes(proto: onnx.GraphProto) -> dict[str, tuple[int, ...]]:
    shapes = {}
    for entry in (*proto.output, *proto.value_info):
        sizes = entry.type.tensor_type.shape.dim
        if sizes and all(size.HasField("dim_value") for size in sizes):
            shapes[entry.name] = tuple(int(size.dim_value) for size in sizes)
    return shapes


def _trace(proto: onnx.NodeProto) -> str:
    """Python stack of the call that made the node in PyTorch; empty for other nodes."""
    return next((entry.value for entry in proto.metadata_props if entry.key == "pkg.torch.onnx.stack_trace"), "")


def _no_lowering(domain: str) -> NodeError:
    """The error of an operator of ONNX, or of a domain of its own."""
    advice = "See docs/use/onnx-operators.md"
    if domain == RUNTIME_DOMAIN:
        advice = "ONNX Runtime's optimisations write such operators: give the model before them"
    return NodeError(f"is an operator{f' of {domain}' if domain else ''} that tflmgen has no lowering for", advice)


def _definition(node: OnnxNode, domain: str) -> onnx.FunctionProto | None:
    """The function body by which ONNX defines the operator for these operands; None if there is none."""
    try:
        schema: Any = onnx.defs.get_schema(node.op, node.version, domain)
    except onnx.defs.SchemaError:
        raise (_no_lowering(domain) if domain else NodeError("is no operator of ONNX")) from None
    function = onnx.FunctionProto()
    if schema.has_context_dependent_function:
        types = []
        for value in node.inputs:
            proto = onnx.TypeProto()
            if value is not None:
                proto = onnx.helper.make_tensor_type_proto(_TYPES[value.dtype], value.shape)
            types.append(proto.SerializeToString())
        text = schema.get_context_dependent_function(node.proto.SerializeToString(), types)
        function.ParseFromString(text)
        return function if function.node else None
    if not schema.has_function:
        return None
    versions = [v for v in schema.function_opset_versions if v <= node.version]
    text = schema.get_function_with_opset_version(versions[-1]) if versions else None
    if text is None:
        return None
    function.ParseFromString(text)
    return function


def _defaults(node: OnnxNode, domain: str) -> list[onnx.AttributeProto]:
    """Values that the operator's attributes have where the node leaves them out."""
    schema: Any = onnx.defs.get_schema(node.op, node.version, domain)
    return [entry.default_value for entry in schema.attributes.values() if entry.default_value.name]


def _with_attributes(proto: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto]) -> onnx.NodeProto:
    """A node of a function body with the attributes that refer to the function's replaced by their values."""
    if not any(entry.ref_attr_name for entry in proto.attribute) and not any(e.HasField("g") for e in proto.attribute):
        return proto
    copy = onnx.NodeProto()
    copy.CopyFrom(proto)
    del copy.attribute[:]
    for entry in proto.attribute:
        if entry.ref_attr_name:
            if entry.ref_attr_name in attributes:
                attribute = copy.attribute.add()
                attribute.CopyFrom(attributes[entry.ref_attr_name])
                attribute.name = entry.name
            continue
        copied = copy.attribute.add()
        copied.CopyFrom(entry)
        if entry.HasField("g"):
            nodes = [_with_attributes(inner, attributes) for inner in entry.g.node]
            del copied.g.node[:]
            copied.g.node.extend(nodes)
    return copy
