"""The graph: SSA values, operators, and structured control flow as regions.

Regions see the values of the scopes around them, so operands of If branches and loop-invariant operands of While need
no names of their own: they are the outer values. What a While carries from one iteration to the next are its
`variables`, which its condition and body share. A subgraph that is called from several places is a Function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tflmgen.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class Origin:
    """Where in the file a node stands: subgraph index and name, operator index and TFLite name."""

    subgraph: int
    subgraph_name: str
    operator: int
    operator_name: str


@dataclass(frozen=True, slots=True)
class Value:
    """One SSA value. Two Values are the same if their `id` is. `constant` is a key of Module.constants."""

    id: int
    name: str = field(compare=False)
    type: TensorType = field(compare=False)
    constant: str | None = field(default=None, compare=False)

    @property
    def is_constant(self) -> bool:
        return self.constant is not None


@dataclass(frozen=True, slots=True)
class Block:
    """Nodes in an order that respects their data flow, and the values that the block returns."""

    nodes: tuple[Node, ...]
    results: tuple[Value, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Op:
    """One TFLite operator that computes (no control flow).

    `attributes` is the dataclass that the operator table made of its options.
    """

    id: int
    operator: str
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    attributes: Any
    origin: Origin


@dataclass(frozen=True, slots=True)
class If:
    """Runs `then` where `condition` (bool, one element) is true, else `orelse`; their results become `outputs`."""

    id: int
    condition: Value
    then: Block
    orelse: Block
    outputs: tuple[Value, ...]
    origin: Origin


@dataclass(frozen=True, slots=True)
class While:
    """variables = inits; while condition(variables): variables = body(variables); outputs = variables.

    `trips`: how often the body runs, where that is known; the condition is then empty, without a result.
    """

    id: int
    variables: tuple[Value, ...]
    inits: tuple[Value, ...]
    condition: Block
    body: Block
    outputs: tuple[Value, ...]
    origin: Origin
    trips: int | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """outputs = function(inputs), the function by its name."""

    id: int
    function: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    origin: Origin


Node = Op | If | While | Call


@dataclass(frozen=True, slots=True)
class Function:
    """A subgraph that is entered from outside: by a signature or by Calls.

    The last inputs and results are the persistent variables `state`, by name: their contents on entry and on exit.
    """

    name: str
    inputs: tuple[Value, ...]
    body: Block
    state: tuple[str, ...] = ()

    @property
    def ports(self) -> int:
        """How many inputs are the subgraph's own, the extents of dynamic ones included."""
        return len(self.inputs) - len(self.state)


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a signature, by the name that the user knows. pushed: each invoke takes one row of it."""

    name: str
    type: TensorType
    pushed: bool = False

    @property
    def taken(self) -> TensorType:
        """The type of what one invoke takes: all of it, or a row."""
        return self.type.with_shape((1, 1, *self.type.shape[2:])) if self.pushed else self.type


@dataclass(frozen=True, slots=True)
class Signature:
    """An entry point: inputs and outputs in the order of the function's inputs and results.

    After them the function has one int32 for each dimension of a port that is a Bound, in the same order: its extent.
    """

    key: str
    function: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    @property
    def values(self) -> tuple[int, int]:
        """How many inputs and results the function has for it."""
        return _values(self.inputs), _values(self.outputs)


def _values(ports: tuple[Port, ...]) -> int:
    return len(ports) + sum(len(port.type.dynamic_axes) for port in ports)


@dataclass(frozen=True, slots=True)
class Variable:
    """A persistent variable: its home as a value, and the key of its initial contents in Module.constants."""

    home: Value
    initial: str


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A value that has fewer channels than the file's tensor: `kept` are those of its `channels` that it has."""

    kept: tuple[int, ...]
    channels: int


@dataclass(frozen=True, slots=True)
class Removed:
    """What range analysis has found to be needless.

    what     channels, clamp, constant, branch or loop
    name     of the tensor that lacks channels or is known, of the branch's or loop's subgraph
    channels dead ones, which are not computed
    of       channels of the file's tensor, where some are dead
    known    dead channels with one value for every input: biases of the layers that read them stand for it
    macs     multiply-accumulates removed from the operator that makes the tensor
    """

    what: str
    name: str
    origin: Origin
    channels: int = 0
    of: int = 0
    known: int = 0
    macs: int = 0


@dataclass(frozen=True, slots=True)
class Module:
    """A whole model. `functions` has callees before their callers; `constants` maps keys to raw little-endian bytes.

    `narrowed` is by the id of the value. `removed_macs`: multiply-accumulates that value-range analysis removed from
    operators of the file, by subgraph and operator.
    """

    path: str
    sha256: str
    functions: tuple[Function, ...]
    signatures: tuple[Signature, ...]
    constants: Mapping[str, bytes]
    state: Mapping[str, Variable] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    narrowed: Mapping[int, Narrowed] = field(default_factory=dict)
    removed: tuple[Removed, ...] = ()
    removed_macs: Mapping[tuple[int, int], int] = field(default_factory=dict)

    def function(self, name: str) -> Function:
        return next(f for f in self.functions if f.name == name)


def blocks_of(node: Node) -> tuple[Block, ...]:
    """The regions directly inside a node."""
    if isinstance(node, If):
        return (node.then, node.orelse)
    if isinstance(node, While):
        return (node.condition, node.body)
    return ()


def operands_of(node: Node) -> tuple[Value, ...]:
    """The values that a node itself reads, not counting what its regions read."""
    if isinstance(node, Op):
        return tuple(v for v in node.inputs if v is not None)
    if isinstance(node, If):
        return (node.condition,)
    if isinstance(node, While):
        return node.inits
    return node.inputs


def walk(block: Block) -> Iterator[Node]:
    """Every node of a block and of the regions inside, outer nodes first."""
    for node in block.nodes:
        yield node
        for inner in blocks_of(node):
            yield from walk(inner)


def uses_in(block: Block) -> Iterator[Value]:
    """Every value that a block or its regions read, as often as they read it."""
    for node in block.nodes:
        yield from operands_of(node)
        for inner in blocks_of(node):
            yield from uses_in(inner)
    yield from block.results


def definitions_in(block: Block) -> Iterator[Value]:
    """Every value that a block or its regions define, loop variables included."""
    for node in walk(block):
        yield from node.outputs
        if isinstance(node, While):
            yield from node.variables
