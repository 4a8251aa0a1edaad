"""Random float models with weights: layers, If, While, nested and with shared weights, as Models of the file format."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tflmgen.frontend.tflite import Model, ModelBuilder, SubGraphBuilder
from tflmgen.ir import DType

Rng = np.random.Generator
WIDTH = 3
"""Elements of every value."""
SHAPE = (1, WIDTH)


FUNCTIONS = ("TANH", "LOGISTIC", "ABS", "SQUARE", "SOFTMAX", "RELU", "ELU", "HARD_SWISH", "LOG_SOFTMAX", "SIN", "NEG")
"""Functions of one operand."""


class RandomTrainable:
    """One model: x -> y, float32[1, 3]."""

    def __init__(self, seed: int, depth: int = 2) -> None:
        self.rng, self.builder, self.depth = np.random.default_rng(seed), ModelBuilder(), depth
        self.shared = [self._weights((WIDTH, WIDTH)) for _ in range(2)]

    def model(self) -> Model:
        """The model, whose weights are named by their order."""
        main = self.builder.subgraph("main")
        x = main.tensor("x", DType.FLOAT32, SHAPE)
        main.inputs, main.outputs = [x], [self._chain(main, x, self.depth, 4)]
        self.builder.signature("serving_default", main, [("x", x)], [("y", main.outputs[0])])
        return self.builder.model()

    def _weights(self, shape: Sequence[int]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return (0.7 * self.rng.standard_normal(shape)).astype(np.float32)

    def _name(self, graph: SubGraphBuilder, label: str) -> str:
        return f"{label}_{graph.index}_{len(graph.tensors)}"

    def _value(self, graph: SubGraphBuilder, shape: Sequence[int] = SHAPE, dtype: DType = DType.FLOAT32) -> int:
        return graph.tensor(self._name(graph, "t"), dtype, shape)

    def _chain(self, graph: SubGraphBuilder, value: int, depth: int, steps: int) -> int:
        kinds = [self._dense, self._function, self._residual, self._scaled, self._turned, self._reused]
        if depth:
            kinds += [self._branch, self._loop]
        for _ in range(int(self.rng.integers(1, steps + 1))):
            value = kinds[int(self.rng.integers(len(kinds)))](graph, value, depth)
        return value

    def _dense(self, graph: SubGraphBuilder, value: int, depth: int) -> int:
        del depth
        matrix = self.shared[0] if self.rng.random() < 0.3 else self._weights((WIDTH, WIDTH))
        weights = graph.constant(self._name(graph, "w"), matrix)
        bias = graph.constant(self._name(graph, "b"), self._weights((WIDTH,))) if self.rng.random() < 0.7 else -1
        result = self._value(graph)
        activation = int(self.rng.choice([0, 0, 1, 3]))
        graph.operator("FULLY_CONNECTED", [value, weights, bias], [result], {"fused_activation_function": activation})
        return result

    def _function(self, graph: SubGraphBuilder, value: int, depth: int) -> int:
        del depth
        result = self._value(graph)
        name = str(self.rng.choice(FUNCTIONS))
        graph.operator(name, [value], [result], {"beta": 1.0} if name == "SOFTMAX" else None)
        return result

    def _turned(self, graph: SubGraphBuilder, value: int, depth: int) -> int:
        """The last two elements in the other order, and the first below the greatest."""
        del depth
        kinds = (((1, 2), (0, 1), (1, 2)), ((1, 1), (0, 0), (1, 1)))
        parts = []
        for shape, *cut in kinds:
            numbers = [graph.constant(self._name(graph, "cut"), np.array(n, np.int32)) for n in cut]
            parts.append(self._value(graph, shape))
            graph.operator("SLICE", [value, *numbers], [parts[-1]])
        axis = graph.constant(self._name(graph, "axis"), np.array([1], np.int32))
        turned, greatest, below, result = (self._value(graph, shape) for shape in ((1, 2), (1, 1), (1, 1), SHAPE))
        graph.operator("REVERSE_V2", [parts[0], axis], [turned])
        graph.operator("REDUCE_MAX", [value, axis], [greatest], {"keep_dims": True})
        graph.operator("SUB", [greatest, parts[1]], [below])
        graph.operator("CONCATENATION", [turned, below], [result], {"axis": 1})
        return result

    def _reused(self, graph: SubGraphBuilder, value: int, depth: int) -> int:
        """x / (1 + d x), of a layer d x that is read twice."""
        layer = self._dense(graph, value, depth)
        squares, below, ratio, result = (self._value(graph) for _ in range(4))
        graph.operator("MUL", [layer, layer], [squares])
        graph.operator("ADD", [squares, graph.constant(self._name(graph, "one"), np.float32(1))], [below])
        graph.operator("DIV", [value, below], [ratio])
        graph.operator("SUB", [ratio, layer], [result])
        return result

    def _residual(self, graph: SubGraphBuilder, value: int, depth: int) -> int:
        result = self._value(graph)
        graph.operator("ADD", [value, self._dense(graph, value, depth)], [result])
        return result

    def _scaled(self, graph: SubGraphBuilder, value: int, depth: int) -> int:
        del depth
        result = self._value(graph)
        scale = graph.constant(self._name(graph, "s"), self._weights((WIDTH,)))
        graph.operator(str(self.rng.choice(["MUL", "SUB"])), [value, scale], [result])
        return result

    def _sum_exceeds(self, graph: SubGraphBuilder, value: int, name: str, limit: float) -> int:
        axes = graph.constant(self._name(graph, "axes"), np.array([0, 1], np.int32))
        total, result = self._value(graph, ()), self._value(graph, (), DType.BOOL)
        graph.operator("SUM", [value, axes], [total])
        graph.operator(name, [total, graph.constant(self._name(graph, "limit"), np.float32(limit))], [result])
        return result

    def _branch(self, graph: SubGraphBuilder, value: int, depth: int) -> int:
        sides = []
        for name in ("then", "else"):
            side = self.builder.subgraph(name)
            operand = side.tensor(name, DType.FLOAT32, SHAPE)
            side.inputs, side.outputs = [operand], [self._chain(side, operand, depth - 1, 2)]
            sides.append(side.index)
        predicate, result = self._sum_exceeds(graph, value, "GREATER", self.rng.normal()), self._value(graph)
        numbers = {"then_subgraph_index": sides[0], "else_subgraph_index": sides[1]}
        graph.operator("IF", [predicate, value], [result], numbers)
        return result

    def _loop(self, graph: SubGraphBuilder, value: int, depth: int) -> int:
        """At most a few iterations, and none where the sum is too great at once."""
        test, body = self.builder.subgraph("test"), self.builder.subgraph("body")
        for side in (test, body):
            side.inputs = [side.tensor("i", DType.INT32, ()), side.tensor("v", DType.FLOAT32, SHAPE)]
        goes_on, small = self._value(test, (), DType.BOOL), self._sum_exceeds(test, test.inputs[1], "LESS", 3.0)
        trips = test.constant("trips", np.int32(self.rng.integers(0, 4)))
        test.operator("LESS", [test.inputs[0], trips], [goes_on])
        test.outputs = [goes_on]
        if self.rng.random() < 0.5:
            both = self._value(test, (), DType.BOOL)
            test.operator("LOGICAL_AND", [goes_on, small], [both])
            test.outputs = [both]
        following = self._value(body, (), DType.INT32)
        body.operator("ADD", [body.inputs[0], body.constant("one", np.int32(1))], [following])
        body.outputs = [following, self._chain(body, body.inputs[1], depth - 1, 2)]
        count, result = self._value(graph, (), DType.INT32), self._value(graph)
        start = graph.constant(self._name(graph, "start"), np.int32(0))
        numbers = {"cond_subgraph_index": test.index, "body_subgraph_index": body.index}
        graph.operator("WHILE", [start, value], [count, result], numbers)
        return result
