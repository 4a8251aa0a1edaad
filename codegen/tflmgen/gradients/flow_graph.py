"""Graphs in the making: subgraphs of a Model that refer to each other as values, and the Model made of them again.

A node that runs subgraphs has the graphs themselves, so that a derived one is put in its place without numbers, and
what nothing refers to any more is not written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tflmgen.errors import Location
from tflmgen.frontend.model_graph import CONTROL_FLOW
from tflmgen.frontend.tflite import CUSTOM, FileOperator, FileTensor, Model, ModelBuilder, SubGraphBuilder
from tflmgen.ir import DType, contents
from tflmgen.kernels import traits_of

ABSENT = -1
"""Index of an optional input that is not there."""

INITIALISER = "init_subgraph_index"
"""Option of the operator that runs a subgraph once, before all others."""

Shape = tuple[int, ...]


@dataclass(eq=False, slots=True)
class FlowNode:
    """An operator. graphs: those that it runs, in the order of `graph_options`, the options that number them."""

    name: str
    inputs: list[int]
    outputs: list[int]
    options: dict[str, Any]
    graphs: list[FlowGraph] = field(default_factory=list)
    graph_options: tuple[str, ...] = ()
    source: FileOperator | None = None

    @property
    def activation(self) -> int:
        """The schema's number of the fused activation; 0: none."""
        return int(self.options.get("fused_activation_function", 0))

    @property
    def is_loop(self) -> bool:
        """Whether it is a WHILE: its graphs are a condition and a body."""
        return "cond_subgraph_index" in self.graph_options


@dataclass(eq=False)
class FlowGraph:
    """A subgraph: tensors by index, nodes in order of execution, and which tensors are its inputs and outputs."""

    name: str
    tensors: list[FileTensor] = field(default_factory=list)
    nodes: list[FlowNode] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    index: int = 0
    _constants: dict[tuple[bytes, DType, Shape], int] = field(default_factory=dict)

    def shape(self, tensor: int) -> Shape:
        """Dimensions of a tensor."""
        return self.tensors[tensor].shape

    def dtype(self, tensor: int) -> DType:
        """Element type of a tensor that has elements."""
        dtype = self.tensors[tensor].dtype
        assert dtype is not None
        return dtype

    def is_float(self, tensor: int) -> bool:
        """Whether a tensor has elements of float32."""
        return tensor != ABSENT and self.tensors[tensor].dtype is DType.FLOAT32

    def values(self, tensor: int) -> NDArray[Any] | None:
        """Elements of a constant that is not packed; None for other tensors."""
        constant = self.tensors[tensor]
        if constant.data is None or constant.dtype in (None, DType.INT4):
            return None
        return np.frombuffer(constant.data, self.dtype(tensor).numpy).reshape(constant.shape)

    def copy(self) -> FlowGraph:
        """A graph of the same nodes, to which others may be added."""
        return FlowGraph(self.name, list(self.tensors), list(self.nodes), list(self.inputs), list(self.outputs))

    def copy_tensor(self, tensor: FileTensor) -> int:
        """Adds a tensor like one of another graph; its index."""
        self.tensors.append(replace(tensor, index=len(self.tensors)))
        return len(self.tensors) - 1

    def value(self, name: str, shape: Sequence[int], dtype: DType = DType.FLOAT32) -> int:
        """Adds a tensor without contents; its index."""
        return self.copy_tensor(FileTensor.added(0, name, dtype, tuple(shape)))

    def input(self, name: str, shape: Sequence[int], dtype: DType = DType.FLOAT32) -> int:
        """Adds an input; its index."""
        self.inputs.append(self.value(name, shape, dtype))
        return self.inputs[-1]

    def constant(self, values: ArrayLike, dtype: DType = DType.FLOAT32) -> int:
        """A constant of these elements; equal ones are one tensor."""
        array = np.asarray(values)
        key = contents(array, dtype), dtype, array.shape
        if key not in self._constants:
            name = f"{dtype.label}_{len(self.tensors)}"
            self._constants[key] = self.copy_tensor(FileTensor.added(0, name, dtype, array.shape, key[0]))
        return self._constants[key]

    def forget_constants(self) -> None:
        """Has later constants be tensors of their own, after tensors were numbered anew."""
        self._constants.clear()

    def add_node(
        self, name: str, inputs: Sequence[int], outputs: Sequence[int], options: Mapping[str, Any] | None = None
    ) -> FlowNode:
        """Adds an operator behind those so far."""
        self.nodes.append(FlowNode(name, list(inputs), list(outputs), dict(options or {})))
        return self.nodes[-1]

    def compute(
        self,
        name: str,
        inputs: Sequence[int],
        shape: Sequence[int],
        dtype: DType = DType.FLOAT32,
        options: Mapping[str, Any] | None = None,
    ) -> int:
        """Adds an operator with one result of this shape; the result's index."""
        result = self.value(f"{name.lower().removeprefix('custom:')}_{len(self.tensors)}", shape, dtype)
        self.add_node(name, inputs, [result], options)
        return result

    def run(self, name: str, inputs: Sequence[int], results: Sequence[FileTensor], **graphs: FlowGraph) -> FlowNode:
        """Adds an operator that runs graphs, by the names of the options that number them."""
        outputs = [self.copy_tensor(tensor) for tensor in results]
        node = self.add_node(name, inputs, outputs)
        node.graphs, node.graph_options = list(graphs.values()), tuple(graphs)
        return node


def graphs_of(model: Model) -> list[FlowGraph]:
    """All subgraphs of a Model, in its order."""
    graphs = [
        FlowGraph(graph.name, [replace(t, shape_signature=None) for t in graph.tensors], index=graph.index)
        for graph in model.subgraphs
    ]
    for graph, source in zip(graphs, model.subgraphs, strict=True):
        graph.inputs, graph.outputs = list(source.inputs), list(source.outputs)
        graph.nodes = [_node(op, graphs) for op in source.operators]
    return graphs


def _node(op: FileOperator, graphs: Sequence[FlowGraph]) -> FlowNode:
    options = dict(op.options or {})
    names = tuple(name for name in (*CONTROL_FLOW.get(op.name, ()), INITIALISER) if name in options)
    run = [graphs[int(options.pop(name))] for name in names]
    return FlowNode(op.name, list(op.inputs), list(op.outputs), options, run, names, op)


def reachable(entries: Sequence[FlowGraph]) -> list[FlowGraph]:
    """The entries and every graph that they run, each once, in the order of the first reference."""
    reached: dict[FlowGraph, None] = dict.fromkeys(entries)
    pending = list(entries)
    while pending:
        for node in pending.pop().nodes:
            fresh = [graph for graph in dict.fromkeys(node.graphs) if graph not in reached]
            reached |= dict.fromkeys(fresh)
            pending += fresh
    return list(reached)


def give_own_graphs(entry: FlowGraph) -> None:
    """Gives an entry copies of all graphs that it runs, but of the initialiser, which runs once for all entries.

    A graph that two entries run would be a function, in whose memory the callers' values are live at a time.
    """
    copies: dict[FlowGraph, FlowGraph] = {}

    def own(node: FlowNode) -> FlowNode:
        if not node.graphs or INITIALISER in node.graph_options:
            return node
        return replace(node, graphs=[copied(graph) for graph in node.graphs])

    def copied(graph: FlowGraph) -> FlowGraph:
        if graph not in copies:
            copies[graph] = graph.copy()
            copies[graph].nodes = [own(node) for node in graph.nodes]
        return copies[graph]

    entry.nodes = [own(node) for node in entry.nodes]


def model_of(
    entries: Mapping[str, tuple[FlowGraph, Sequence[str], Sequence[str]]], name: str, description: str
) -> Model:
    """A Model of signatures: key -> its graph, and the names of the graph's inputs and outputs."""
    builder = ModelBuilder(description, name)
    graphs = reachable([graph for graph, _, _ in entries.values()])
    numbers = {graph: index for index, graph in enumerate(graphs)}
    for graph in graphs:
        _write(builder.subgraph(graph.name), graph, numbers, builder)
    for key, (graph, inputs, outputs) in entries.items():
        ports = list(zip(inputs, graph.inputs, strict=True))
        results = list(zip(outputs, graph.outputs, strict=True))
        builder.signature(key, numbers[graph], ports, results)
    return builder.model()


def _write(target: SubGraphBuilder, graph: FlowGraph, numbers: Mapping[FlowGraph, int], builder: ModelBuilder) -> None:
    target.tensors = [replace(tensor, buffer=builder.buffer(tensor.data or b"")) for tensor in graph.tensors]
    target.inputs, target.outputs = graph.inputs, graph.outputs
    for node in graph.nodes:
        options = {**node.options, **dict(zip(node.graph_options, (numbers[g] for g in node.graphs), strict=True))}
        source = node.source
        if source is not None and node.name.startswith(CUSTOM):
            target.operator(node.name, node.inputs, node.outputs, None, source.version, source.custom_options)
        else:
            intermediates = source.intermediates if source else ()
            target.operator(node.name, node.inputs, node.outputs, options, intermediates=intermediates)


def without_dead_nodes(graph: FlowGraph, keeps: frozenset[str]) -> None:
    """Removes operators whose results nothing reads, but those of these names, and tensors that nothing uses."""
    read, kept = set(graph.outputs), list[FlowNode]()
    for node in reversed(graph.nodes):
        if node.name in keeps or node.graphs or not read.isdisjoint(node.outputs):
            kept.append(node)
            read.update(node.inputs)
    graph.nodes = kept[::-1]
    used = {*graph.inputs, *graph.outputs, *(t for n in graph.nodes for t in (*n.inputs, *n.outputs))} - {ABSENT}
    numbers = {old: new for new, old in enumerate(sorted(used))} | {ABSENT: ABSENT}
    graph.tensors = [replace(graph.tensors[old], index=numbers[old]) for old in sorted(used)]
    for node in graph.nodes:
        node.inputs, node.outputs = [numbers[t] for t in node.inputs], [numbers[t] for t in node.outputs]
    graph.inputs, graph.outputs = [numbers[t] for t in graph.inputs], [numbers[t] for t in graph.outputs]
    graph.forget_constants()


def run_early(graph: FlowGraph, first: int, lasting: frozenset[int]) -> None:
    """Moves nodes from place `first` on, which update variables, behind the last node before it that they wait for.

    Gradients then need not be kept until the end. A new value waits for the last reader of the old one.

    lasting  values of variables
    """
    early, late = graph.nodes[:first], graph.nodes[first:]
    places = {t: place for place, node in enumerate(early) for t in node.outputs}
    views = {t: t for t in lasting}
    for node in early:
        if traits_of(node.name).view and node.inputs[0] in views:
            views[node.outputs[0]] = views[node.inputs[0]]
    readers = {views[t]: place for place, node in enumerate(early) for t in node.inputs if t in views}
    waits: list[int] = []
    for node in late:
        waits.append(max((max(places.get(t, 0), readers.get(t, 0)) for t in node.inputs), default=0))
        places |= dict.fromkeys(node.outputs, waits[-1])
    following: dict[int, list[FlowNode]] = {}
    for node, place in zip(late, waits, strict=True):
        following.setdefault(place, []).append(node)
    graph.nodes = [n for place, node in enumerate(early) for n in (node, *following.get(place, ()))]


def location_of(model: str, graph: FlowGraph, node: FlowNode) -> Location:
    """Location of a node of the source stands in its file."""
    op = node.source
    return Location(model, graph.index, graph.name, op.index if op else None, node.name)
