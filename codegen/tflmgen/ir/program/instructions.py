"""The lowered Program: calls and copies at fixed places, annotated with SSA values.

The emitter prints it and the checker proves it, without any earlier stage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tflmgen.ir.graph.module import EntryPoint, Origin, Value
from tflmgen.ir.kernel.call import ConstantArray, Memory, Overlap, Params, Part
from tflmgen.ir.streams.row_stream import LineBuffer, LineMove, MovingPointer


@dataclass(frozen=True, slots=True)
class Fixed:
    """A place at byte `offset` of a memory."""

    offset: int
    memory: Memory = "arena"


@dataclass(frozen=True, slots=True)
class Slot:
    """A place `offset` bytes after pointer `index` of the running function."""

    index: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Flash:
    """A place at byte `offset` of the constant `name` of Program.constants."""

    name: str
    offset: int = 0


Place = Fixed | Slot | Flash


@dataclass(frozen=True, slots=True)
class Access:
    """A kernel reads or writes all bytes of `value` at `place`."""

    place: Place
    value: Value

    @property
    def bytes(self) -> int:
        """Size of the operand in bytes, at the upper bounds of dynamic dimensions."""
        return self.value.type.bytes


@dataclass(frozen=True, slots=True)
class Work:
    """A pointer argument without a value: scratch in the arena, an array in flash, or NULL where `place` is None.

    copy_of: the array in flash that a Prefetch has brought to `place`.
    """

    place: Place | None
    bytes: int = 0
    c_type: str = "void"
    copy_of: Flash | None = None

    @property
    def contents(self) -> Place | None:
        """The place in flash of the array that it reads; of other arguments `place`."""
        return self.copy_of or self.place


@dataclass(frozen=True, slots=True)
class InputArgument:
    """A pointer to the operator's input `index`."""

    index: int
    access: Access


@dataclass(frozen=True, slots=True)
class OutputArgument:
    """A pointer to the operator's output `index`."""

    index: int
    access: Access


Argument = InputArgument | OutputArgument | Work


RowArgument = LineBuffer | MovingPointer | Work
"""A pointer inside a stream: into its scratch, into its input or output, or to flash."""


@dataclass(frozen=True, slots=True)
class RowCallAt:
    """A RowCall with its arguments in the kernel's order. scratch: where, and how many bytes. overlaps: what the write
    may overwrite of the reads, which it counts as inputs.
    """

    stage: int
    function: str
    header: str
    params: Params | None
    moves: tuple[LineMove, ...]
    arguments: tuple[RowArgument, ...]
    reads: tuple[LineBuffer | MovingPointer, ...]
    write: LineBuffer | MovingPointer
    scratch: tuple[tuple[LineBuffer, int], ...]
    overlaps: tuple[Overlap, ...]


@dataclass(frozen=True, slots=True)
class RowStageAt:
    """A RowStage: where in the file its operator stands, and the values that this makes."""

    origin: Origin
    outputs: tuple[Value, ...]
    sources: tuple[int, ...]
    needs: tuple[tuple[int, int], ...]
    rows: tuple[int, ...]
    row_bytes: int


@dataclass(frozen=True, slots=True)
class RowProgram:
    """Calls inside a row stream: calls[i] for each i of `order`."""

    stages: tuple[RowStageAt, ...]
    calls: tuple[RowCallAt, ...]
    order: tuple[int, ...]
    input_row_bytes: int


@dataclass(frozen=True, slots=True)
class KernelCall:
    """function(arguments..., &params). Inputs and outputs may overlap only as `overlaps` allows.

    Where there is an `error`, the function returns false to say that the program must end with this status. rows: what
    the function does where it is generated. counts: fields of params that are the last arguments, as in Kernel.
    """

    step: int
    origin: Origin
    function: str
    header: str
    variant: str
    arguments: tuple[Argument, ...]
    params: Params | None
    overlaps: tuple[Overlap, ...]
    macs: int
    error: str = ""
    rows: RowProgram | None = None
    counts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rename:
    """`value` is another name of `source`, at the same place; no code. `origin` is that of the operator, if any."""

    step: int
    value: Access
    source: Access
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class ByteCopy:
    """Copies `bytes` from `source` to `destination`, which may overlap (memmove)."""

    destination: Fixed | Slot
    source: Place
    bytes: int

    @property
    def may_overlap(self) -> bool:
        """Whether source and destination have bytes in common."""
        destination, source = self.destination, self.source
        if isinstance(source, Flash) or replace(destination, offset=0) != replace(source, offset=0):
            return False
        return abs(destination.offset - source.offset) < self.bytes


@dataclass(frozen=True, slots=True)
class Transfer:
    """A boundary of control flow: copies, then a rotation of pointers, after which each value equals its source.

    copies    in order of execution
    rotation  (slot, slot whose former pointer it takes)
    """

    step: int
    kind: str
    copies: tuple[ByteCopy, ...]
    rotation: tuple[tuple[int, int], ...]
    values: tuple[Access, ...]
    sources: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Begins to copy `bytes` of an array in flash to the arena, in front of the code of step `step`."""

    step: int
    destination: Fixed
    source: Flash
    bytes: int


@dataclass(frozen=True, slots=True)
class PrefetchWait:
    """Waits until all that was prefetched has arrived."""

    step: int


@dataclass(frozen=True, slots=True)
class Assembly:
    """Outputs that consist of pieces of the inputs; `copies` moves the pieces that are not in place already."""

    step: int
    origin: Origin
    copies: tuple[ByteCopy, ...]
    inputs: tuple[Access | None, ...]
    outputs: tuple[Access, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """if (condition) then else orelse."""

    step: int
    origin: Origin
    condition: Access
    then: tuple[Instruction, ...]
    orelse: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """for (;;) { condition; if (!test) break; body }; without a test, `trips` iterations of the body.

    limit  largest number of iterations; the function returns an error instead of running the body once more
    """

    step: int
    origin: Origin
    condition: tuple[Instruction, ...]
    test: Access | None
    body: tuple[Instruction, ...]
    trips: int | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Invoke:
    """Runs another function of the program: its inputs are in place before, its results at its own places after."""

    step: int
    origin: Origin
    function: str


Instruction = KernelCall | Rename | Prefetch | PrefetchWait | Assembly | Transfer | Branch | Loop | Invoke


@dataclass(frozen=True, slots=True)
class SlotTarget:
    """Initial target of a slot: `bytes` at a fixed place."""

    place: Fixed
    bytes: int


@dataclass(frozen=True, slots=True)
class ProgramFunction:
    """One C function, with the places of its inputs on entry and of its results on exit.

    is_entry  called from outside: every persistent variable is at its own place on entry and on exit
    slots     initial targets of its pointers, disjoint
    groups    slots that may exchange their targets
    """

    name: str
    is_entry: bool
    slots: tuple[SlotTarget, ...]
    groups: tuple[tuple[int, ...], ...]
    inputs: tuple[Access, ...]
    results: tuple[Access, ...]
    body: tuple[Instruction, ...]

    @property
    def accesses(self) -> Iterator[Access]:
        """Every access: inputs, results, reads and writes."""
        yield from (*self.inputs, *self.results)
        for instruction in walk_instructions(self.body):
            yield from accesses_of(instruction)


@dataclass(frozen=True, slots=True)
class StateVariable:
    """A persistent variable: its place, and the name of the constant with its initial contents."""

    name: str
    access: Access
    initial: str


@dataclass(frozen=True, slots=True)
class Program:
    """A whole compiled model. Functions have callees before callers.

    images        initial contents of variables; no instruction reads them
    arena_starts  offsets at which the arrays begin that the arena consists of, in several memories; no place crosses
                  one
    """

    functions: tuple[ProgramFunction, ...]
    signatures: tuple[EntryPoint, ...]
    arena_bytes: int
    constants: Mapping[str, ConstantArray]
    state_bytes: int = 0
    state: tuple[StateVariable, ...] = ()
    images: Mapping[str, ConstantArray] = field(default_factory=dict)
    arena_starts: tuple[int, ...] = (0,)

    @property
    def arena_sizes(self) -> tuple[int, ...]:
        """Bytes of each array of the arena."""
        return tuple(end - start for start, end in pairwise((*self.arena_starts, self.arena_bytes)))

    def function(self, name: str) -> ProgramFunction:
        """The function with this name. Raises StopIteration if there is none."""
        return next(f for f in self.functions if f.name == name)


def walk_instructions(body: Iterable[Instruction]) -> Iterator[Instruction]:
    """Every instruction of a body and of its branches and loops, outer ones first."""
    for instruction in body:
        yield instruction
        if isinstance(instruction, Branch):
            yield from walk_instructions((*instruction.then, *instruction.orelse))
        elif isinstance(instruction, Loop):
            yield from walk_instructions((*instruction.condition, *instruction.body))


def accesses_of(instruction: Instruction) -> Iterator[Access]:
    """Values that an instruction reads or writes, except by the instructions inside it."""
    if isinstance(instruction, KernelCall):
        yield from (a.access for a in instruction.arguments if not isinstance(a, Work))
    elif isinstance(instruction, Rename):
        yield from (instruction.value, instruction.source)
    elif isinstance(instruction, Assembly):
        yield from (*instruction.outputs, *(a for a in instruction.inputs if a is not None))
    elif isinstance(instruction, Transfer):
        yield from instruction.values
    elif isinstance(instruction, Branch):
        yield instruction.condition
    elif isinstance(instruction, Loop) and instruction.test is not None:
        yield instruction.test
