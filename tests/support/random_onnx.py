"""Random ONNX programs: If, Loop and Scan in one another, on rows, images, counters and predicates.

Regions read values of all outer scopes, give some of them back unchanged, and give back constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SHAPES: Mapping[str, tuple[int, ...]] = {"rows": (2, 4), "image": (1, 3, 5, 6), "count": (), "flag": ()}
"""Kind of value -> its shape."""

TYPES = {"rows": TensorProto.FLOAT, "image": TensorProto.FLOAT, "count": TensorProto.INT64, "flag": TensorProto.BOOL}

UNARY = {"rows": ("Tanh", "Sigmoid", "Neg", "Abs", "Relu"), "image": ("Tanh", "Relu", "Sigmoid", "Conv", "MaxPool")}
BINARY = ("Add", "Sub", "Mul", "Max")

Scope = dict[str, list[str]]
"""Kind of value -> names that can be read."""


@dataclass
class Program:
    """Nodes of one graph, whose names are unique in the whole model."""

    rng: np.random.Generator
    scope: Scope
    counter: list[int] = field(default_factory=lambda: [0])
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)

    def name(self) -> str:
        self.counter[0] += 1
        return f"v{self.counter[0]}"

    def node(self, operator: str, operands: Sequence[str], kind: str = "", **attributes: Any) -> str:
        output = self.name()
        self.nodes.append(helper.make_node(operator, list(operands), [output], f"n{output}", **attributes))
        if kind:
            self.scope[kind].append(output)
        return output

    def constant(self, array: np.ndarray[Any, Any]) -> str:
        """Name of a constant, added at random as an initializer of this graph or as a Constant node."""
        if self.rng.integers(2):
            return self.node("Constant", [], value=numpy_helper.from_array(array))
        self.initializers.append(numpy_helper.from_array(array, self.name()))
        return self.initializers[-1].name

    def floats(self, *shape: int) -> str:
        return self.constant((self.rng.standard_normal(shape) * 0.5).astype(np.float32))

    def any(self, kind: str) -> str:
        """A value of a kind, mostly a late one."""
        names = self.scope[kind]
        if not names:
            value = np.int64(self.rng.integers(4)) if kind == "count" else np.bool_(self.rng.integers(2))
            return self.constant(np.array(value))
        return names[-1 - int(self.rng.integers(min(len(names), 4)))]

    def flag(self) -> str:
        """A predicate on the data."""
        choice = self.rng.integers(4)
        if choice == 0 and self.scope["flag"]:
            return self.node("Not", [self.any("flag")], "flag")
        if choice == 1 and self.scope["count"]:
            return self.node("Less", [self.any("count"), self.constant(np.array(2, np.int64))], "flag")
        total = self.node("ReduceMean", [self.any(str(self.rng.choice(["rows", "image"])))], keepdims=0)
        return self.node("Greater", [total, self.floats()], "flag")

    def step(self, depth: int) -> None:
        """Appends one operator, or a region with operators."""
        operators: tuple[Callable[[], Any], ...] = (self.unary, self.binary, self.matrix, self.count, self.flag)
        regions: tuple[Callable[[int], Any], ...] = (self.branch, self.loop, self.scan)
        if depth and self.rng.random() < 0.45:
            regions[int(self.rng.integers(len(regions)))](depth - 1)
        else:
            operators[int(self.rng.choice(5, p=[0.35, 0.3, 0.15, 0.1, 0.1]))]()

    def unary(self) -> None:
        kind = str(self.rng.choice(["rows", "image"]))
        operator, x = str(self.rng.choice(UNARY[kind])), self.any(kind)
        if operator == "Conv":
            self.node("Conv", [x, self.floats(3, 3, 3, 3)], kind, pads=[1] * 4)
        elif operator == "MaxPool":
            self.node("MaxPool", [x], kind, kernel_shape=[3, 3], pads=[1] * 4)
        else:
            self.node(operator, [x], kind)

    def binary(self) -> None:
        kind = str(self.rng.choice(["rows", "image"]))
        both = self.node(str(self.rng.choice(BINARY)), [self.any(kind), self.any(kind)])
        self.node("Tanh", [both], kind)

    def matrix(self) -> None:
        product = self.node("MatMul", [self.any("rows"), self.floats(4, 4)])
        self.node("Tanh", [product], "rows")

    def count(self) -> None:
        kept = self.node("Add", [self.any("count"), self.constant(np.array(1, np.int64))])
        self.node("Min", [kept, self.constant(np.array(3, np.int64))], "count")

    def inner(self) -> Program:
        return Program(self.rng, {kind: list(names) for kind, names in self.scope.items()}, self.counter)

    def graph(self, inputs: Sequence[tuple[str, str]], results: Sequence[tuple[str, str]]) -> onnx.GraphProto:
        """Results (name, kind) that no node of this graph gives come through an Identity, as ONNX wants."""
        own = {name for node in self.nodes for name in node.output}
        names = [name if name in own else self.node("Identity", [name]) for name, _ in results]
        names = [name if names.index(name) == at else self.node("Identity", [name]) for at, name in enumerate(names)]
        return helper.make_graph(
            self.nodes,
            f"g{self.name()}",
            [_port(name, kind) for name, kind in inputs],
            [_port(name, kind) for name, (_, kind) in zip(names, results, strict=True)],
            self.initializers,
        )

    def steps(self, depth: int) -> None:
        for _ in range(int(self.rng.integers(0, 4))):
            self.step(depth)

    def result(self, kind: str) -> str:
        """Any value of the kind: of this graph, of an outer one, or a constant."""
        if self.rng.random() < 0.15:
            shape = SHAPES[kind]
            return self.floats(*shape) if shape else self.any(kind)
        return self.any(kind)

    def branch(self, depth: int) -> None:
        kinds = [str(k) for k in self.rng.choice(["rows", "image", "count"], int(self.rng.integers(1, 4)))]
        condition, bodies = self.flag(), []
        for _ in range(2):
            body = self.inner()
            body.steps(depth)
            bodies.append(body.graph([], [(body.result(kind), kind) for kind in kinds]))
        self._call("If", [condition], kinds, then_branch=bodies[0], else_branch=bodies[1])

    def loop(self, depth: int) -> None:
        """Counted, ended by a condition, or both; rows are stacked where the number of iterations is known."""
        kinds = [str(k) for k in self.rng.choice(["rows", "image", "count"], int(self.rng.integers(1, 4)))]
        inits = [self.any(kind) for kind in kinds]
        ends, trips = bool(self.rng.integers(2)), int(self.rng.integers(0, 4))
        body = self.inner()
        inputs = [(body.name(), "count"), (body.name(), "flag"), *((body.name(), kind) for kind in kinds)]
        for name, kind in inputs:
            body.scope[kind].append(name)
        body.steps(depth)
        follows = body.flag() if ends else inputs[1][0]
        stacks = not ends and trips > 0 and bool(self.rng.integers(2))
        results = [(follows, "flag"), *((body.result(kind), kind) for kind in kinds)]
        results += [(body.any("rows"), "rows")] * stacks
        graph = body.graph(inputs, results)
        known = not ends or self.rng.random() < 0.5
        limit = self.constant(np.array(trips, np.int64)) if known else self.any("count")
        first = self.flag() if ends and self.rng.integers(2) else self.constant(np.array(True))
        self._call("Loop", [limit, first, *inits], kinds, stacks, body=graph)

    def scan(self, depth: int) -> None:
        """Adds a Scan over the rows of a value; its state, of the rows' shape, is Tanh of the last sum with a row."""
        body = self.inner()
        state, row = body.name(), body.name()
        body.scope["rows"].append(state)
        body.steps(depth)
        total = body.node("Add", [body.any("rows"), row])
        after = body.node("Tanh", [total])
        graph = body.graph([(state, "rows"), (row, "row")], [(after, "rows"), (body.result("rows"), "rows")])
        self._call("Scan", [self.any("rows"), self.any("rows")], ["rows"], True, body=graph, num_scan_inputs=1)

    def _call(self, operator: str, operands: list[str], kinds: list[str], stacks: bool = False, **graphs: Any) -> None:
        outputs = [self.name() for _ in kinds] + [self.name()] * stacks
        self.nodes.append(helper.make_node(operator, operands, outputs, f"n{self.name()}", **graphs))
        for name, kind in zip(outputs, kinds, strict=False):
            self.scope[kind].append(name)
        if stacks:
            self.node("ReduceMean", [outputs[-1]], "rows", axes=[0], keepdims=0)


def _port(name: str, kind: str) -> onnx.ValueInfoProto:
    if kind == "row":
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPES["rows"][1:])
    return helper.make_tensor_value_info(name, TYPES[kind], SHAPES[kind])


def random_program(seed: int) -> onnx.ModelProto:
    """A program of inputs "rows" and "image", and up to four outputs, of the operator set 17."""
    rng = np.random.default_rng([seed, 18])
    program = Program(rng, {"rows": ["rows"], "image": ["image"], "count": [], "flag": []})
    while len(program.nodes) < 4:
        program.step(2)
    program.branch(2) if seed % 2 else program.loop(2)
    kinds = ["rows", "image", *(kind for kind in ("count", "flag") if program.scope[kind])]
    results = [(program.scope[kind][-1], kind) for kind in kinds]
    graph = program.graph([("rows", "rows"), ("image", "image")], results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def random_inputs(seed: int) -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng([seed, 7])
    return {kind: rng.standard_normal(SHAPES[kind]).astype(np.float32) for kind in ("rows", "image")}
