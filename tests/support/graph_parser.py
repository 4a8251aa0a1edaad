"""Reads Modules from the text form of graph_text, for tests of passes.

As printed, but for: names of values are free (%x, #one), attributes are the operator's options ({axis=1}), and a type
may end in a quantisation (int8[4]@0.5:-3).
"""

from __future__ import annotations

import re
import textwrap
from ast import literal_eval
from collections.abc import Iterator

import numpy as np
from tflmgen.ir import contents
from tflmgen.ir.graph.module import Block, Call, EntryPoint, Function, If, Module, Node, Op, Origin, Port, Value, While
from tflmgen.ir.text import module_text
from tflmgen.ir.types import DType, Quantization, TensorType
from tflmgen.ir.well_formed import verify
from tflmgen.kernels.table import OPERATORS

TYPED = re.compile(r"([%#]\w+): (\w+)\[([\d,]*)\](?:@([-.\de]+):(-?\d+))?")
OP = re.compile(r"(.*) = (\w+)\((.*)\)(?: \{(.*)\})?")


def parse_graph(text: str) -> Module:
    """The Module of a text. Its functions are entries where a signature names them."""
    return _Parser(text).module()


def same_graph(actual: Module, expected: str) -> None:
    """Asserts that a Module is the one that `expected` describes, whatever its values are called."""
    assert module_text(actual) == module_text(parse_graph(expected))


def _ports(names: str) -> tuple[Port, ...]:
    return tuple(Port(name, PORT) for name in names.split(", ") if name)


class _Parser:
    def __init__(self, text: str) -> None:
        lines = [line.strip() for line in textwrap.dedent(text).splitlines() if line.strip()]
        self._values: dict[str, Value] = {}
        self._constants: dict[str, bytes] = {}
        self._last = 0
        for line in lines:
            if line.startswith("constant "):
                self._constant(line)
        self._lines = [line for line in lines if not line.startswith("constant ")]
        self._at = 0

    def module(self) -> Module:
        functions, signatures = [], []
        while self._at < len(self._lines):
            line = self._next()
            if match := re.fullmatch(r"signature (\w*): (\w+)\((.*)\) -> \((.*)\)", line):
                signatures.append(match)
                continue
            match = re.fullmatch(r"function (\w+)\((.*)\) \{", line)
            assert match, line
            inputs = self._define(match[2])
            functions.append(Function(match[1], inputs, self._block("return")))
            assert self._next() == "}"
        entries = tuple(EntryPoint(m[1], m[2], _ports(m[3]), _ports(m[4])) for m in signatures)
        module = Module("m.tflite", "", tuple(functions), entries, self._constants)
        return verify(module, "parsing")

    def _next(self) -> str:
        self._at += 1
        return self._lines[self._at - 1]

    def _id(self) -> int:
        self._last += 1
        return self._last

    def _constant(self, line: str) -> None:
        typed, _, elements = line.removeprefix("constant ").partition(" = ")
        (value,) = self._define(typed)
        key = f"c{value.id}"
        array = np.resize(np.array(literal_eval(f"[{elements}]")), value.type.elements)
        self._constants[key] = contents(array, value.type.dtype)
        self._values[typed.partition(":")[0]] = Value(value.id, value.name, value.type, key)

    def _define(self, typed: str) -> tuple[Value, ...]:
        values = []
        for name, label, dims, scale, zero_point in TYPED.findall(typed):
            shape = tuple(int(d) for d in dims.split(",") if d)
            quantization = Quantization((float(scale),), (int(zero_point),)) if scale else None
            dtype = next(d for d in DType if d.label == label)
            self._values[name] = Value(self._id(), name, TensorType(dtype, shape, quantization))
            values.append(self._values[name])
        return tuple(values)

    def _use(self, names: str) -> tuple[Value, ...]:
        return tuple(self._values[name] for name in names.split(", ") if name)

    def _block(self, end: str) -> Block:
        nodes: list[Node] = []
        while self._lines[self._at].split()[0] != end:
            nodes.append(self._node(self._next()))
        return Block(tuple(nodes), self._use(self._next().removeprefix(end).strip()))

    def _node(self, line: str) -> Node:
        if match := re.fullmatch(r"if (\S+) \{", line):
            (condition,) = self._use(match[1])
            then = self._block("yield")
            assert self._next() == "} else {"
            orelse = self._block("yield")
            return If(self._id(), condition, then, orelse, self._end(), _origin("IF"))
        if match := re.fullmatch(r"(?:while|(\d+) times) \((.*)\) = \((.*)\) \{", line):
            variables, inits = self._define(match[2]), self._use(match[3])
            trips = int(match[1]) if match[1] else None
            test = Block((), ()) if match[1] else self._block("test")
            assert match[1] or self._next() == "} do {"
            body = self._block("next")
            return While(self._id(), variables, inits, test, body, self._end(), _origin("WHILE"), trips)
        if match := re.fullmatch(r"(.*) = call (\w+)\((.*)\)", line):
            return Call(self._id(), match[2], self._use(match[3]), self._define(match[1]), _origin("CALL"))
        match = OP.fullmatch(line)
        assert match, line
        inputs = tuple(None if name == "-" else self._values[name] for name in match[3].split(", ") if name)
        options = dict(self._options(match[4] or ""))
        attributes = OPERATORS[match[2]].attributes(options)
        return Op(self._id(), match[2], inputs, self._define(match[1]), attributes, _origin(match[2]))

    def _options(self, text: str) -> Iterator[tuple[str, object]]:
        for part in text.split(", "):
            if part:
                key, _, value = part.partition("=")
                yield key, literal_eval(value)

    def _end(self) -> tuple[Value, ...]:
        line = self._next()
        assert line.startswith("} ->"), line
        return self._define(line)


PORT = TensorType(DType.FLOAT32, ())
"""What ports look like; passes don't."""


def _origin(name: str) -> Origin:
    return Origin(0, "main", 0, name)
