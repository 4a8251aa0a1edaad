"""Common parts of the importers of IF, WHILE and CALL: regions, and checks of a subgraph against its operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tflmgen.frontend.import_block import OutputBounds, Scope
from tflmgen.frontend.import_context import Argument, Context, VariableHandle, difference
from tflmgen.frontend.shape_bounds import is_open
from tflmgen.frontend.tflite.model import FileOperator, SubGraph
from tflmgen.ir.graph import Block, Origin, Value


@dataclass(frozen=True, slots=True)
class ImportedRegion:
    """An imported region, and its results (values and handles) in the file's order."""

    block: Block
    returned: tuple[Argument, ...]


class RegionImporter(Protocol):
    """Importer of subgraphs as regions, with undo."""

    def region(
        self, target: SubGraph, arguments: Sequence[Argument], origin: Origin, output_bounds: OutputBounds = ()
    ) -> ImportedRegion:
        """The subgraph imported with these operands, and the values that it returns."""

    def assigns(self, target: SubGraph) -> bool:
        """Whether a subgraph, or one that it refers to, assigns a variable."""

    def save(self) -> object:
        """Snapshot of the import's state, for `restore`."""

    def restore(self, saved: object) -> None:
        """Undoes every import since `save`."""


def without_handles(arguments: Sequence[Argument]) -> tuple[Value, ...]:
    """The arguments that are values."""
    return tuple(a for a in arguments if isinstance(a, Value))


def failed_outputs(scope: Scope, op: FileOperator) -> tuple[()]:
    """Defines the outputs of an operator that failed its checks; returns no nodes."""
    scope.stand_in(op)
    return ()


def counts_agree(
    context: Context, origin: Origin, label: str, outer_count: int, noun: str, target: SubGraph, inner_count: int
) -> bool:
    """Whether an operator has as many operands or results as its subgraph; reports a problem if not."""
    if outer_count == inner_count:
        return True
    context.problem(
        origin, f"{label} count: {origin.operator_name} has {outer_count} {noun}s, '{target.name}' has {inner_count}"
    )
    return False


def arguments_agree(
    context: Context, origin: Origin, label: str, operands: Sequence[Argument], target: SubGraph
) -> bool:
    """Whether the operands match a subgraph's inputs in number and type; reports each mismatch."""
    if not counts_agree(context, origin, label, len(operands), "operand", target, len(target.inputs)):
        return False
    agrees = True
    for position, (operand, index) in enumerate(zip(operands, target.inputs, strict=True)):
        tensor = target.tensors[index]
        if isinstance(operand, VariableHandle) or tensor.dtype is None:
            reason = (
                "" if isinstance(operand, VariableHandle) and tensor.dtype is None else "a resource on one side only"
            )
        else:
            any_shape = is_open(tensor) or operand in context.extents
            reason = difference(operand.type, context.declared(target, index), any_shape)
        if reason:
            context.problem(origin, f"{label} {position} ('{tensor.name}'): {reason}")
            agrees = False
    return agrees
