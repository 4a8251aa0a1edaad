"""What the importers of IF, WHILE and CALL share: regions, and checks that a subgraph fits what it is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tflmgen.frontend.import_block import Scope, Wanted
from tflmgen.frontend.import_context import Argument, Context, Handle, difference
from tflmgen.frontend.shape_bounds import is_open
from tflmgen.frontend.tflite.model import Operator, SubGraph
from tflmgen.ir import Block, Origin, Value


@dataclass(frozen=True, slots=True)
class Region:
    """A region and what it returns, in the file's order."""

    block: Block
    returned: tuple[Argument, ...]


class Regions(Protocol):
    """Imports subgraphs as regions."""

    def region(
        self, target: SubGraph, arguments: Sequence[Argument], origin: Origin, wanted: Wanted = ()
    ) -> Region: ...

    def assigns(self, target: SubGraph) -> bool:
        """Whether a subgraph, or one that it refers to, assigns a variable."""

    def save(self) -> object:
        """What an attempt may change, for `restore`."""

    def restore(self, saved: object) -> None:
        """Undoes what was imported since `save`."""


def values_of(arguments: Sequence[Argument]) -> tuple[Value, ...]:
    """The arguments that are no handles."""
    return tuple(a for a in arguments if isinstance(a, Value))


def failed(scope: Scope, op: Operator) -> tuple[()]:
    """No nodes, and stand-ins for the outputs of an operator that failed its checks."""
    scope.stand_in(op)
    return ()


def same_count(
    context: Context, origin: Origin, what: str, outer: int, noun: str, target: SubGraph, inner: int
) -> bool:
    """Whether an operator has as many operands or results as a subgraph; says so where it hasn't."""
    if outer == inner:
        return True
    context.problem(origin, f"{what} count: {origin.operator_name} has {outer} {noun}s, '{target.name}' has {inner}")
    return False


def arguments_agree(
    context: Context, origin: Origin, what: str, operands: Sequence[Argument], target: SubGraph
) -> bool:
    """Whether a subgraph's inputs match what it is given; says so where they don't."""
    if not same_count(context, origin, what, len(operands), "operand", target, len(target.inputs)):
        return False
    fine = True
    for position, (operand, index) in enumerate(zip(operands, target.inputs, strict=True)):
        tensor = target.tensors[index]
        if isinstance(operand, Handle) or tensor.dtype is None:
            reason = "" if isinstance(operand, Handle) and tensor.dtype is None else "a resource on one side only"
        else:
            any_shape = is_open(tensor) or operand in context.extents
            reason = difference(operand.type, context.declared(target, index), any_shape)
        if reason:
            context.problem(origin, f"{what} {position} ('{tensor.name}'): {reason}")
            fine = False
    return fine
