"""The graph: SSA values, operators, and structured control flow as regions.

Regions read the values of enclosing scopes directly, so that If branches and loop-invariant operands of a While have no
parameters. The `variables` of a While, shared by its condition and body, carry values from one iteration to the next.
A subgraph that is called from several places is a Function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tflmgen.errors import Location
from tflmgen.ir.hop_work import HopWork
from tflmgen.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class Origin:
    """Location of a node in the file: subgraph index and name, operator index and TFLite name."""

    subgraph: int
    subgraph_name: str
    operator: int
    operator_name: str

    def location(self, model: str) -> Location:
        """The operator's Location, for messages about the file called `model`."""
        return Location(model, self.subgraph, self.subgraph_name, self.operator, self.operator_name)


@dataclass(frozen=True, slots=True)
class Value:
    """One SSA value. Two Values are the same if their `id` is. `constant` is a key of Module.constants."""

    id: int
    name: str = field(compare=False)
    type: TensorType = field(compare=False)
    constant: str | None = field(default=None, compare=False)

    @property
    def is_constant(self) -> bool:
        """Whether the contents are known at compile time."""
        return self.constant is not None


@dataclass(frozen=True, slots=True)
class Block:
    """Nodes in a topological order of their data flow, and the values that the block returns."""

    nodes: tuple[Node, ...]
    results: tuple[Value, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Op:
    """One TFLite operator other than control flow.

    attributes  its options as a dataclass of the operator table; None if it has none
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

    trips  number of iterations, if known; the condition is then empty, without a result
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
    """outputs = function(inputs), with the function's name."""

    id: int
    function: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    origin: Origin


Node = Op | If | While | Call


@dataclass(frozen=True, slots=True)
class Function:
    """A subgraph that is entered from outside: by a signature or by Calls.

    Its last inputs and results are the contents of the persistent variables `state` (names) on entry and on exit.
    """

    name: str
    inputs: tuple[Value, ...]
    body: Block
    state: tuple[str, ...] = ()

    @property
    def ports(self) -> int:
        """Number of inputs without the state: tensors of the subgraph, and extents of dynamic ones."""
        return len(self.inputs) - len(self.state)


@dataclass(frozen=True, slots=True)
class Slide:
    """A window that slides: an invoke takes the `hop` newest rows along `axis`; all earlier dimensions are 1."""

    axis: int
    hop: int


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a signature, with the file's name.

    pushed  an invoke takes one row of the tensor, and all rows make one tensor
    slide   an invoke takes the newest rows of a window; `type` is the whole window's
    """

    name: str
    type: TensorType
    pushed: bool = False
    slide: Slide | None = None

    @property
    def invoke_type(self) -> TensorType:
        """Type of the data that one invoke takes: the whole tensor, a row, or the rows of a hop."""
        if self.slide is not None:
            return self.type.with_dim(self.slide.axis, self.slide.hop)
        return self.type.with_shape((1, 1, *self.type.shape[2:])) if self.pushed else self.type

    @property
    def pushes(self) -> int:
        """Number of hops until each row of a sliding window has come; 1 for any other port."""
        return 1 if self.slide is None else -(-self.type.max_shape[self.slide.axis] // self.slide.hop)


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """An entry point: inputs and outputs in the order of the function's inputs and results.

    The function's further inputs and results are extents: one int32 per dynamic dimension of a port, in the same order.
    counter  the variable that counts pushes up to `pushes`, of a signature with sliding windows
    """

    key: str
    function: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    counter: str = ""

    @property
    def pushes(self) -> int:
        """Number of invokes until all windows are complete; 1 without sliding windows."""
        return max((port.pushes for port in self.inputs), default=1)

    @property
    def values(self) -> tuple[int, int]:
        """Number of inputs and of results of the function, extents included, state excluded."""
        return _values(self.inputs), _values(self.outputs)


def _values(ports: tuple[Port, ...]) -> int:
    return len(ports) + sum(len(port.type.dynamic_axes) for port in ports)


@dataclass(frozen=True, slots=True)
class Variable:
    """A persistent variable: the value that stands for its memory, and the key of its initial contents in constants."""

    home: Value
    initial: str


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A value with fewer channels than the file's tensor: `kept` are the indices left of its `channels` channels."""

    kept: tuple[int, ...]
    channels: int


@dataclass(frozen=True, slots=True)
class Removed:
    """One removal by value-range analysis.

    kind      "channels", "clamp", "constant", "branch" or "loop"
    name      of the tensor with dead channels or constant contents, or of the branch's or loop's subgraph
    channels  number of dead channels
    of        number of channels of the file's tensor
    known     dead channels of constant value, which the readers' biases take in
    macs      multiply-accumulates removed from the operator that computes the tensor
    """

    kind: str
    name: str
    origin: Origin
    channels: int = 0
    of: int = 0
    known: int = 0
    macs: int = 0


@dataclass(frozen=True, slots=True)
class StageWindow:
    """A window in the state, on which a branch computes: a stage of an application that reuses rows of its last run.

    stage     its name; `place` is its setting in the application's file, for messages
    subgraph  of the file, which is the branch
    window    variable that holds the whole window on exit; each run finds it `hop` rows further along `axis`
    newest    variable that holds the newest `hop` rows on exit, where the branch runs for every hop; else empty
    left      where it may miss hops: variable that is 0 on entry if the window moved by one hop since the last run
    invokes   so many complete the window and move it on from there
    """

    stage: str
    place: str
    subgraph: int
    window: str
    axis: int
    hop: int
    newest: str
    left: str
    invokes: int


@dataclass(frozen=True, slots=True)
class StagePart:
    """Place of an application's stage in the file: a range of subgraphs, and of the main subgraph's operators."""

    name: str
    subgraphs: range
    main: int
    operators: range

    def holds(self, subgraph: int, operator: int) -> bool:
        """Whether an operator of the file, by the index of its subgraph and its index there, belongs to the stage."""
        return subgraph in self.subgraphs or (subgraph == self.main and operator in self.operators)


@dataclass(frozen=True, slots=True)
class Module:
    """A whole model.

    functions     callees before their callers
    constants     key -> raw little-endian bytes
    narrowed      id of a value -> its remaining channels
    removed_macs  (subgraph, operator) of the file -> multiply-accumulates that value-range analysis removed
    hops          the work of a hop of each signature with sliding windows
    windows       of an application's stages, which are to slide
    stages        of an application
    """

    path: str
    sha256: str
    functions: tuple[Function, ...]
    signatures: tuple[EntryPoint, ...]
    constants: Mapping[str, bytes]
    state: Mapping[str, Variable] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    narrowed: Mapping[int, Narrowed] = field(default_factory=dict)
    removed: tuple[Removed, ...] = ()
    removed_macs: Mapping[tuple[int, int], int] = field(default_factory=dict)
    hops: tuple[HopWork, ...] = ()
    windows: tuple[StageWindow, ...] = ()
    stages: tuple[StagePart, ...] = ()

    def function(self, name: str) -> Function:
        """The function with this name. Raises StopIteration if there is none."""
        return next(f for f in self.functions if f.name == name)


def blocks_of(node: Node) -> tuple[Block, ...]:
    """Regions directly inside a node."""
    if isinstance(node, If):
        return (node.then, node.orelse)
    if isinstance(node, While):
        return (node.condition, node.body)
    return ()


def operands_of(node: Node) -> tuple[Value, ...]:
    """Values that a node reads, except those that only its regions read."""
    if isinstance(node, Op):
        return tuple(v for v in node.inputs if v is not None)
    if isinstance(node, If):
        return (node.condition,)
    if isinstance(node, While):
        return node.inits
    return node.inputs


def walk(block: Block) -> Iterator[Node]:
    """Every node of a block and of its regions, outer nodes first."""
    for node in block.nodes:
        yield node
        for inner in blocks_of(node):
            yield from walk(inner)


def uses_in(block: Block) -> Iterator[Value]:
    """Every value that a block or its regions read, once per use."""
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
