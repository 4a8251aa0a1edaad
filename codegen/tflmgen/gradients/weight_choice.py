"""Choice of weights: which constants of a model train, and the graphs with these as inputs instead.

A .tflite file does not say which constants were trained. Those that do are operands in a role of weights, and
float constants of more than one element that are combined with what depends on the model's inputs. Of an ONNX source
these are only constants that were made of its initialisers; a PyTorch source tells its parameters, which all train.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.model_graph import constant_values
from tflmgen.frontend.tflite import FileTensor
from tflmgen.gradients.flow_graph import FlowGraph, FlowNode, reachable
from tflmgen.gradients.gradient_rules import RULES
from tflmgen.kernels import Sliding, traits_of

Key = tuple[object, ...]
"""Identity of a weight: what tells one from another: the same buffer of the file, in the same shape."""


Site = tuple[FlowGraph, int, int]
"""An operand: the graph, the first result of the node that reads it, and its place there."""


@dataclass(eq=False)
class Weight:
    """A constant of the source that may train.

    tensor     with its first contents
    role       "weights", "bias", "table", "slopes" or "operand"
    layers     names of the results that are computed with it
    trains     whether it does
    is_filler  whether it is taken for zeros that a converter gave a convolution without bias: it trains only if named

    A source that names its parameters names the weight.
    """

    name: str
    tensor: FileTensor
    role: str
    layer: int
    layers: list[str] = field(default_factory=list)
    trains: bool = True
    is_filler: bool = False

    @property
    def elements(self) -> int:
        """Number of its elements."""
        return math.prod(self.tensor.shape)


@dataclass(frozen=True, slots=True)
class WeightChoice:
    """The user's choice of weights; all that are sites where nothing is given.

    trainable, freeze  patterns of names of tensors or of results (fnmatch)
    last               layers, from the end
    biases             biases only
    """

    trainable: tuple[str, ...] = ()
    freeze: tuple[str, ...] = ()
    last: int | None = None
    biases: bool = False


@dataclass(frozen=True, slots=True)
class WeightSites:
    """Weights of a model in the file's order, which one each operand is, and whether the source told them."""

    weights: tuple[Weight, ...]
    sites: Mapping[Site, Weight]
    is_told: bool


@dataclass(frozen=True, slots=True)
class _ConstantUses:
    """Constants of a graph as its nodes read them.

    producers  tensor -> the node that computes it
    readers    tensor -> the nodes that read it
    is_told    whether the source tells its parameters from other constants
    """

    graph: FlowGraph
    producers: Mapping[int, FlowNode]
    readers: Mapping[int, Sequence[FlowNode]]
    is_told: bool

    @staticmethod
    def of(graph: FlowGraph, is_told: bool) -> _ConstantUses:
        """Uses in a graph as it is now."""
        readers: dict[int, list[FlowNode]] = {}
        for node in graph.nodes:
            for tensor in dict.fromkeys(node.inputs):
                readers.setdefault(tensor, []).append(node)
        producers = {tensor: node for node in graph.nodes for tensor in node.outputs}
        return _ConstantUses(graph, producers, readers, is_told)

    def places(self, node: FlowNode) -> list[tuple[int, str]]:
        """(place, role) of a node's operands that may train."""
        traits = traits_of(node.name)
        known = traits.roles
        roles = {known.weights: "weights", known.bias: "bias", known.table: "table", known.slopes: "slopes"}
        if self.is_told:
            roles = {**dict.fromkeys(range(len(node.inputs)), "operand"), **roles}
        elif known.weights is None and (traits.adds or traits.multiplies or traits.products):
            roles |= dict.fromkeys(range(len(node.inputs)), "operand")
        if node.name not in RULES and not (self.is_told and node.graphs):
            return []
        return [
            (place, role)
            for place, role in roles.items()
            if place is not None and place < len(node.inputs) and self._may_train(node, place, role)
        ]

    def source(self, node: FlowNode, place: int) -> tuple[FlowNode, int]:
        """The node, and the place of its operand, that reads the constant of which an operand has the elements, perhaps
        in another order or shape; else the node itself."""
        reader, at = node, place
        while (tensor := reader.inputs[at]) >= 0 and self.graph.tensors[tensor].data is None:
            producer = self.producers.get(tensor)
            traits = None if producer is None else traits_of(producer.name)
            if producer is None or traits is None or not (traits.permutes or traits.view):
                return node, place
            reader, at = producer, 0
        return reader, at

    def constant(self, node: FlowNode, place: int) -> int:
        """The constant of which an operand has the elements; else the operand."""
        reader, at = self.source(node, place)
        return reader.inputs[at]

    def key(self, node: FlowNode, index: int, role: str) -> Key:
        """One buffer is one weight. But converters store equal constants once, and biases begin as zeros: those that
        are one number everywhere are one weight only where their layers' weights are one."""
        tensor, weights = self.graph.tensors[index], traits_of(node.name).roles.weights
        key: Key = ("buffer", tensor.buffer or tensor.data, tensor.shape, tensor.parameters)
        if tensor.parameters:
            return key
        values = self.graph.values(index)
        if values is None or np.ptp(values) != 0:
            return key
        layer = None if role != "bias" or weights is None else self.graph.tensors[self.constant(node, weights)]
        if layer is not None and layer.data is not None:
            return (*key, layer.buffer or layer.data)
        return (*key, id(self.graph), node.outputs[0])

    def _is_constant(self, node: FlowNode, place: int) -> bool:
        index = self.constant(node, place)
        return index >= 0 and self.graph.tensors[index].data is not None

    def _may_train(self, node: FlowNode, place: int, role: str) -> bool:
        index = self.constant(node, place)
        if not self.graph.is_float(index) or not self._is_constant(node, place):
            return False
        parameters = self.graph.tensors[index].parameters
        if self.is_told or parameters == ():
            return bool(parameters)
        if role == "bias" and self._is_placeholder(node, index):
            return False
        varies = any(not self._is_constant(node, other) for other, t in enumerate(node.inputs) if t >= 0)
        return varies and (role != "operand" or math.prod(self.graph.shape(index)) > 1)

    def _is_placeholder(self, node: FlowNode, bias: int) -> bool:
        """Whether a bias of zeros is the converter's, since the layer's own is added behind it."""
        values, result = self.graph.values(bias), node.outputs[0]
        readers = self.readers.get(result, ())
        if values is None or values.any() or len(readers) != 1 or not traits_of(readers[0].name).adds:
            return False
        others = [place for place, tensor in enumerate(readers[0].inputs) if tensor != result]
        return any(
            self._is_constant(readers[0], place)
            and self.graph.shape(self.constant(readers[0], place))[-1:] == self.graph.shape(bias)[-1:]
            for place in others
        )


def find_weights(entry: FlowGraph, is_told: bool = False) -> WeightSites:
    """All constants that may train, in a graph and those that it runs. is_told: the source tells its parameters."""
    weights: dict[Key, Weight] = {}
    sites: dict[Site, Weight] = {}
    names: set[str] = set()
    for layer, (uses, node) in enumerate(_in_order(entry, is_told)):
        for place, role in uses.places(node):
            reader, at = uses.source(node, place)
            index = reader.inputs[at]
            tensor = uses.graph.tensors[index]
            key = uses.key(node, index, role)
            if key not in weights:
                name = "+".join(tensor.parameters or ()) or tensor.name or "weight"
                weights[key] = Weight(_unused(name, names), tensor, role, layer)
                weights[key].is_filler = _is_filler(node, tensor, role)
            weights[key].layers.append(uses.graph.tensors[node.outputs[0]].name)
            sites.setdefault((uses.graph, reader.outputs[0], at), weights[key])
    if _is_untrained([weight for weight in weights.values() if weight.role == "bias"]):
        for weight in weights.values():
            weight.is_filler = False
    return WeightSites(tuple(weights.values()), sites, is_told)


def _is_filler(node: FlowNode, tensor: FileTensor, role: str) -> bool:
    """Whether a constant may be zeros that a converter gave a convolution without bias."""
    is_bias = role == "bias" and traits_of(node.name).window is Sliding.FILTER
    return is_bias and not tensor.parameters and not constant_values(tensor).any()


def _is_untrained(biases: Sequence[Weight]) -> bool:
    """Whether all biases are zeros, but for the ones of an LSTM's forget gate: nothing tells fillings apart then."""
    return all(np.isin(constant_values(bias.tensor), (0, 1)).all() for bias in biases)


def _in_order(graph: FlowGraph, is_told: bool) -> list[tuple[_ConstantUses, FlowNode]]:
    """All nodes in the order in which they run first, with the uses of their graph."""
    order, seen = [], {graph}

    def visit(inside: FlowGraph) -> None:
        uses = _ConstantUses.of(inside, is_told)
        for node in inside.nodes:
            order.append((uses, node))
            for inner in node.graphs:
                if inner not in seen:
                    seen.add(inner)
                    visit(inner)

    visit(graph)
    return order


def _unused(name: str, names: set[str]) -> str:
    unused, number = name, 1
    while unused in names:
        number += 1
        unused = f"{name}_{number}"
    names.add(unused)
    return unused


def choose(weights: Sequence[Weight], choice: WeightChoice, model: str) -> None:
    """Sets which weights train. Raises ModelError for a pattern without a weight, or if none is left."""
    for option, patterns in (("trainable", choice.trainable), ("freeze", choice.freeze)):
        for pattern in patterns:
            if not any(_matches(weight, pattern) for weight in weights):
                names = ", ".join(weight.name for weight in weights)
                rule = f"--{option} {pattern} names no weight"
                raise ModelError([Problem(Location(model), rule, f"Weights: {names}" if names else "")])
    layers = sorted({weight.layer for weight in weights if weight.role != "operand"})
    first = layers[-min(choice.last, len(layers))] if choice.last and layers else 0
    for weight in weights:
        named = any(_matches(weight, pattern) for pattern in choice.trainable)
        wanted = named or not (choice.trainable or weight.is_filler)
        frozen = any(_matches(weight, pattern) for pattern in choice.freeze)
        weight.trains = wanted and not frozen and weight.layer >= first and (weight.role == "bias" or not choice.biases)
    if not any(weight.trains for weight in weights):
        rule = "training requires a float constant in the role of weights or of a bias"
        raise ModelError([Problem(Location(model), rule, "Give a float model, or choose other weights")])


def _matches(weight: Weight, pattern: str) -> bool:
    names = (weight.name, *weight.layers, *(weight.tensor.parameters or ()))
    return any(fnmatch.fnmatchcase(name, pattern) for name in names)


def lift_weights(entry: FlowGraph, sites: WeightSites) -> list[Weight]:
    """Makes weights that train inputs of the entry, behind its own, and of every graph that needs them.

    Returns the weights in the order of these inputs.
    """
    graphs = reachable([entry])
    needed = _needed(graphs, sites)
    inputs = {graph: _as_inputs(graph, needed[graph], sites) for graph in graphs}
    for graph in graphs:
        for node in graph.nodes:
            if node.graphs:
                _pass_on(graph, node, needed[node.graphs[-1]], inputs)
    return needed[entry]


def _needed(graphs: Sequence[FlowGraph], sites: WeightSites) -> dict[FlowGraph, list[Weight]]:
    """By graph the weights that it, or one that it runs, is computed with; graphs of one node get the same."""
    needed: dict[FlowGraph, dict[Weight, None]] = {graph: {} for graph in graphs}
    for (graph, _, _), weight in sites.sites.items():
        if weight.trains:
            needed[graph][weight] = None
    changed = True
    while changed:
        changed = False
        for graph in graphs:
            for node in graph.nodes:
                together = {weight: None for inner in node.graphs for weight in needed[inner]}
                for taker in (graph, *node.graphs) if node.graphs else ():
                    if together.keys() - needed[taker].keys():
                        needed[taker] |= together
                        changed = True
    order = {weight: place for place, weight in enumerate(sites.weights)}
    return {graph: sorted(weights, key=order.__getitem__) for graph, weights in needed.items()}


def _as_inputs(graph: FlowGraph, weights: Sequence[Weight], sites: WeightSites) -> dict[Weight, int]:
    """Adds weights as inputs of a graph, read in the place of the constants."""
    inputs = {}
    for weight in weights:
        inputs[weight] = graph.input(weight.name, weight.tensor.shape)
    uses = _ConstantUses.of(graph, sites.is_told)
    for reader, place in [uses.source(node, place) for node in graph.nodes for place, _ in uses.places(node)]:
        chosen = sites.sites.get((graph, reader.outputs[0], place))
        if chosen is not None and chosen.trains:
            reader.inputs[place] = inputs[chosen]
    return inputs


def _pass_on(
    graph: FlowGraph, node: FlowNode, weights: Sequence[Weight], inputs: Mapping[FlowGraph, Mapping[Weight, int]]
) -> None:
    """Gives a node's graphs their weights; a loop gives them from one iteration to the next as they are."""
    node.inputs += [inputs[graph][weight] for weight in weights]
    if node.is_loop:
        body = node.graphs[1]
        body.outputs += [inputs[body][weight] for weight in weights]
        node.outputs += [graph.value(f"{weight.name}_after", weight.tensor.shape) for weight in weights]
