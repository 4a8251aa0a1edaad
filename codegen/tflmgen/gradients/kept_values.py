"""Account of a derivation: bytes that the backward pass would have kept, and the work that it does again instead."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tflmgen.gradients.flow_graph import ABSENT, FlowGraph, FlowNode
from tflmgen.kernels import traits_of


@dataclass(slots=True)
class KeptValues:
    """Sums over the nodes of a training step outside of loops' bodies.

    bytes    of values that gradients read
    loops    bytes of the rows of each loop, of all its iterations
    forward  multiplications, or elements, of the forward pass
    again    of what is computed again
    """

    bytes: int = 0
    loops: list[int] = field(default_factory=list)
    forward: int = 0
    again: int = 0

    @property
    def part_again(self) -> float:
        """Work that is done again, as a part of the forward pass's."""
        return self.again / max(1, self.forward)


def work_of(graph: FlowGraph, node: FlowNode, iterations: int = 1) -> int:
    """Multiplications of a layer with weights, elements of another operator's results; of all iterations of a loop."""
    if node.graphs:
        return iterations * sum(work_of(inner, inside) for inner in node.graphs for inside in inner.nodes)
    elements = math.prod(graph.shape(node.outputs[0])) if node.outputs else 0
    weights = traits_of(node.name).roles.weights
    if weights is None or weights >= len(node.inputs) or node.inputs[weights] == ABSENT:
        return elements
    return elements * max(1, math.prod(graph.shape(node.inputs[weights])) // max(1, graph.shape(node.outputs[0])[-1]))
