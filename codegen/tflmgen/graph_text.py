"""The stable text form of a Module, for `--dump-graph`, for tests of passes and for reading."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np

from tflmgen.graph import Block, Call, Function, If, Module, Node, Op, Value
from tflmgen.support import constant_array

SHOWN = 8
"""Elements of a constant that are printed."""


def module_text(module: Module) -> str:
    """One line per node, regions indented, values numbered as they appear, so that equal graphs print equal."""
    printer = _Printer()
    lines: list[str] = []
    for function in module.functions:
        lines += printer.function(function)
    lines += printer.constants(module)
    for signature in module.signatures:
        inputs = ", ".join(port.name for port in signature.inputs)
        outputs = ", ".join(port.name for port in signature.outputs)
        lines.append(f"signature {signature.key}: {signature.function}({inputs}) -> ({outputs})")
    return "\n".join(lines) + "\n"


class _Printer:
    def __init__(self) -> None:
        self._names: dict[Value, str] = {}

    def name(self, value: Value | None) -> str:
        if value is None:
            return "-"
        if value not in self._names:
            self._names[value] = f"{'#' if value.is_constant else '%'}{len(self._names)}"
        return self._names[value]

    def constants(self, module: Module) -> Iterator[str]:
        """The constants that were named, with their elements where they are few."""
        for value, name in self._names.items():
            if value.is_constant:
                array = np.ravel(np.asarray(constant_array(value, module.constants)))
                shown = ", ".join(str(v) for v in array[:SHOWN].tolist()) + (", ..." if array.size > SHOWN else "")
                yield f"constant {name}: {value.type} = {shown}"

    def names(self, values: tuple[Value | None, ...]) -> str:
        return ", ".join(self.name(v) for v in values)

    def typed(self, values: tuple[Value, ...]) -> str:
        return ", ".join(f"{self.name(v)}: {v.type}" for v in values)

    def function(self, function: Function) -> Iterator[str]:
        yield f"function {function.name}({self.typed(function.inputs)}) {{"
        yield from self.block(function.body, "  ", "return")
        yield "}"

    def block(self, block: Block, indent: str, end: str) -> Iterator[str]:
        for node in block.nodes:
            for line in self.node(node):
                yield indent + line
        yield f"{indent}{end} {self.names(block.results)}".rstrip()

    def node(self, node: Node) -> Iterator[str]:
        if isinstance(node, Op):
            inputs = self.names(node.inputs)
            outputs = self.typed(node.outputs)
            yield f"{outputs} = {node.operator}({inputs}){_attributes(node.attributes)}"
        elif isinstance(node, Call):
            inputs = self.names(node.inputs)
            yield f"{self.typed(node.outputs)} = call {node.function}({inputs})"
        elif isinstance(node, If):
            yield f"if {self.name(node.condition)} {{"
            yield from self.block(node.then, "  ", "yield")
            yield "} else {"
            yield from self.block(node.orelse, "  ", "yield")
            yield f"}} -> {self.typed(node.outputs)}".rstrip()
        else:
            inits = self.names(node.inits)
            head = "while" if node.trips is None else f"{node.trips} times"
            yield f"{head} ({self.typed(node.variables)}) = ({inits}) {{"
            if node.trips is None:
                yield from self.block(node.condition, "  ", "test")
                yield "} do {"
            yield from self.block(node.body, "  ", "next")
            yield f"}} -> {self.typed(node.outputs)}".rstrip()


def _attributes(attributes: Any) -> str:
    if not is_dataclass(attributes) or isinstance(attributes, type):
        return ""
    text = ", ".join(f"{key}={value}" for key, value in asdict(attributes).items())
    return f" {{{text}}}" if text else ""
