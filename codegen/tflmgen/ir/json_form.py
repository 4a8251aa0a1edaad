"""A Module as JSON, for `inspect --dump-graph --json`; schema/graph.json describes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from tflmgen.ir.graph.module import Block, Call, Function, If, Module, Node, Op, Port, Value
from tflmgen.ir.text import ValueNames, leading_elements
from tflmgen.ir.types import Bound, TensorType


def module_json(module: Module) -> dict[str, Any]:
    """JSON of a module. Values are named as in module_text(), so that both forms can be compared."""
    graph = _GraphJson()
    functions = [graph.function(function) for function in module.functions]
    return {
        "functions": functions,
        "values": graph.values(module),
        "signatures": [
            {
                "key": signature.key,
                "function": signature.function,
                "inputs": [_port(port) for port in signature.inputs],
                "outputs": [_port(port) for port in signature.outputs],
            }
            for signature in module.signatures
        ],
    }


class _GraphJson:
    def __init__(self) -> None:
        self._names = ValueNames()

    def names(self, values: Sequence[Value | None]) -> list[str | None]:
        return [None if value is None else self._names.name(value) for value in values]

    def function(self, function: Function) -> dict[str, Any]:
        return {
            "name": function.name,
            "inputs": self.names(function.inputs),
            "state": list(function.state),
            "body": self.block(function.body),
        }

    def block(self, block: Block) -> dict[str, Any]:
        return {"nodes": [self.node(node) for node in block.nodes], "results": self.names(block.results)}

    def node(self, node: Node) -> dict[str, Any]:
        """JSON of one node. Names its values in the same order as the text form."""
        origin = {"origin": asdict(node.origin)}
        if isinstance(node, Op):
            return {
                "kind": "op",
                "operator": node.operator,
                "inputs": self.names(node.inputs),
                "outputs": self.names(node.outputs),
                "attributes": _json_value(node.attributes) if is_dataclass(node.attributes) else {},
                **origin,
            }
        if isinstance(node, Call):
            inputs, outputs = self.names(node.inputs), self.names(node.outputs)
            return {"kind": "call", "function": node.function, "inputs": inputs, "outputs": outputs, **origin}
        if isinstance(node, If):
            return {
                "kind": "if",
                "condition": self._names.name(node.condition),
                "then": self.block(node.then),
                "else": self.block(node.orelse),
                "outputs": self.names(node.outputs),
                **origin,
            }
        return {
            "kind": "while",
            "trips": node.trips,
            "inits": self.names(node.inits),
            "variables": self.names(node.variables),
            "condition": None if node.trips is not None else self.block(node.condition),
            "body": self.block(node.body),
            "outputs": self.names(node.outputs),
            **origin,
        }

    def values(self, module: Module) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "tensor": value.name,
                **_type(value.type),
                "constant": value.is_constant,
                **({"elements": _json_value(leading_elements(value, module))} if value.is_constant else {}),
            }
            for value, name in self._names.items()
        ]


def _port(port: Port) -> dict[str, Any]:
    return {"name": port.name, **_type(port.type)}


def _type(type_: TensorType) -> dict[str, Any]:
    quantization = type_.quantization
    return {
        "dtype": type_.dtype.label,
        "shape": [{"name": d.name, "max": d.max} if isinstance(d, Bound) else d for d in type_.shape],
        "quantization": None if quantization is None else _json_value(quantization),
        **({} if type_.blocks is None else {"blocks": _json_value(type_.blocks)}),
    }


def _json_value(value: Any) -> Any:
    """A Python value as JSON: dataclasses become objects, NaN and infinities become text."""
    if is_dataclass(value) and not isinstance(value, type):
        return {key: _json_value(item) for key, item in asdict(value).items()}
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, dict):
        return {str(_json_value(key)): _json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_json_value(item) for item in value]
    if isinstance(value, np.ndarray):
        return _json_value(value.tolist())
    if isinstance(value, np.generic):
        return _json_value(value.item())
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
