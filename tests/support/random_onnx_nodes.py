"""Random ONNX graphs around one operator, of every operator, attribute, rank and version of the operator set from 7 on.

Each maker draws what ONNX's specification allows its operator at that version. Operands come transposed at times, since
the front end keeps orders of dimensions of its own, and as constants at times, since it evaluates those itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

Array = NDArray[Any]
NEWEST = 23
"""Version of the operator set that releases of ONNX Runtime in use know."""
MAKERS: dict[str, Callable[[Draw], None]] = {}
"""Operator -> what adds its nodes to a graph."""
VERSIONS: dict[str, list[int]] = {}


@dataclass
class Draw:
    """A graph under construction.

    inputs  input -> its elements
    """

    op: str
    version: int
    rng: np.random.Generator
    inputs: dict[str, Array] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    all_constant: bool = False

    def pick(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def coin(self, share: float = 0.5) -> bool:
        return bool(self.rng.random() < share)

    def shape(self, low: int = 1, high: int = 4, largest: int = 4) -> tuple[int, ...]:
        rank = int(self.rng.integers(low, high + 1))
        return tuple(int(n) for n in self.rng.integers(1, largest + 1, rank))

    def floats(self, shape: Sequence[int], scale: float = 2.0) -> Array:
        return (self.rng.standard_normal(shape) * scale).astype(np.float32)

    def integers(self, shape: Sequence[int], low: int, high: int, dtype: Any = np.int64) -> Array:
        return self.rng.integers(low, high, shape).astype(dtype)

    def values(self, shape: Sequence[int], dtype: Any) -> Array:
        """Elements of any type that are different enough to tell where each went."""
        if dtype == np.bool_:
            return self.rng.integers(0, 2, shape).astype(bool)
        if np.dtype(dtype).kind == "f":
            return self.floats(shape)
        return self.integers(shape, 0 if np.dtype(dtype).kind == "u" else -9, 10, dtype)

    def value(self, array: Array) -> str:
        """The name of an operand with these elements: an input, the transpose of one, or a constant."""
        name, array = f"x{len(self.inputs) + len(self.constants)}", np.asarray(array)
        if self.all_constant:
            self.constants[name] = array
        elif array.ndim > 1 and self.coin(0.3):
            order = [int(k) for k in self.rng.permutation(array.ndim)]
            self.inputs[name] = np.ascontiguousarray(array.transpose(np.argsort(order)))
            self.nodes.append(helper.make_node("Transpose", [name], [name + "t"], perm=order))
            return name + "t"
        else:
            self.inputs[name] = array
        return name

    def constant(self, array: Array | np.generic) -> str:
        name = f"c{len(self.inputs) + len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def node(self, operands: Sequence[str], count: int = 1, op: str = "", **attributes: Any) -> list[str]:
        """Appends the operator; attributes that are None are left out. Its results are the graph's."""
        names = [f"{op or 'y'}{len(self.nodes)}_{k}" for k in range(count)]
        attributes = {key: value for key, value in attributes.items() if value is not None}
        while operands and not operands[-1]:
            operands = operands[:-1]
        self.nodes.append(helper.make_node(op or self.op, list(operands), names, **attributes))
        self.outputs = names
        return names

    def axis(self, rank: int) -> int:
        return int(self.rng.integers(-rank if self.version >= 11 else 0, rank))

    def axes(self, rank: int) -> list[int]:
        count = int(self.rng.integers(1, rank + 1))
        chosen = [int(k) for k in self.rng.permutation(rank)[:count]]
        return sorted(k - rank if self.version >= 13 and self.coin(0.2) else k for k in chosen)


def makes(*names: str) -> Callable[[Callable[[Draw], None]], Callable[[Draw], None]]:
    def enter(make: Callable[[Draw], None]) -> Callable[[Draw], None]:
        MAKERS.update(dict.fromkeys(names, make))
        return make

    return enter


def versions_of(op: str) -> list[int]:
    """Versions of the operator set from 7 on in which the operator is, and is not deprecated."""
    if op not in VERSIONS:
        known = []
        for version in range(7, NEWEST + 1):
            try:
                schema = onnx.defs.get_schema(op, version, "")
            except onnx.defs.SchemaError:
                continue
            if not schema.deprecated:
                known.append(version)
        VERSIONS[op] = known
    return VERSIONS[op]


def random_graph(op: str, seed: int) -> tuple[onnx.ModelProto, Mapping[str, Array]]:
    """A model around the operator, and its inputs."""
    rng = np.random.default_rng([seed, *op.encode()])
    known = versions_of(op)
    starts = sorted({onnx.defs.get_schema(op, version, "").since_version for version in known})
    start = starts[int(rng.integers(len(starts)))]
    version = int(rng.choice([v for v in known if onnx.defs.get_schema(op, v, "").since_version == start]))
    draw = Draw(op, version, rng, all_constant=bool(rng.random() < 0.12))
    MAKERS[op](draw)
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in draw.inputs.items()
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in draw.outputs if name]
    initializers = [numpy_helper.from_array(array, name) for name, array in draw.constants.items()]
    graph = helper.make_graph(draw.nodes, op, inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model), draw.inputs
