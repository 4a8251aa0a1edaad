"""Stable text form of a Module, for `--dump-graph` and for tests of passes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np

from tflmgen.ir.constants import constant_array
from tflmgen.ir.graph.module import Block, Call, Function, If, Module, Node, Op, Value

MAX_ELEMENTS = 8
"""Number of elements of a constant that are printed."""


def module_text(module: Module) -> str:
    """Text with one line per node and indented regions. Values are numbered by appearance: equal graphs print equal."""
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


class ValueNames:
    """Names of values, numbered by first use: %0, %1, and #2 for constants."""

    def __init__(self) -> None:
        self._names: dict[Value, str] = {}

    def name(self, value: Value) -> str:
        """The name of a value, the same at each call; a value seen for the first time gets the next number."""
        return self._names.setdefault(value, f"{'#' if value.is_constant else '%'}{len(self._names)}")

    def items(self) -> Iterable[tuple[Value, str]]:
        """All values named so far with their names, in the order of their first use."""
        return self._names.items()


def leading_elements(value: Value, module: Module) -> list[Any]:
    """The first MAX_ELEMENTS elements of a constant."""
    elements: list[Any] = np.ravel(np.asarray(constant_array(value, module.constants)))[:MAX_ELEMENTS].tolist()
    return elements


class _Printer:
    def __init__(self) -> None:
        self._names = ValueNames()

    def name(self, value: Value | None) -> str:
        return "-" if value is None else self._names.name(value)

    def constants(self, module: Module) -> Iterator[str]:
        """One line per named constant, with its leading elements."""
        for value, name in self._names.items():
            if value.is_constant:
                ellipsis = ", ..." if value.type.elements > MAX_ELEMENTS else ""
                elements = ", ".join(map(str, leading_elements(value, module)))
                yield f"constant {name}: {value.type} = {elements}{ellipsis}"

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
