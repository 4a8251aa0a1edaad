"""Imports IF: two regions, and one output per pair of their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tflmgen.frontend.import_block import Scope
from tflmgen.frontend.import_build import Builder, new_extents
from tflmgen.frontend.import_context import Argument, Context, VariableHandle, difference
from tflmgen.frontend.import_regions import (
    ImportedRegion,
    RegionImporter,
    arguments_agree,
    counts_agree,
    failed_outputs,
)
from tflmgen.frontend.shape_bounds import is_open
from tflmgen.frontend.tflite.model import FileOperator, SubGraph
from tflmgen.ir import DType
from tflmgen.ir.graph import Block, If, Node, Origin, Value

SIDES = ("then", "else")


@dataclass(frozen=True, slots=True)
class _Branch:
    """One branch: region, contents of variables at its end, and the results after adaptation by `builder`."""

    region: ImportedRegion
    contents: Mapping[str, Value]
    builder: Builder
    results: list[Value]

    def block(self) -> Block:
        block = self.region.block
        return replace(block, nodes=(*block.nodes, *self.builder.nodes), results=tuple(self.results))


def import_if(
    regions: RegionImporter,
    scope: Scope,
    op: FileOperator,
    origin: Origin,
    operands: Sequence[Argument],
    targets: Sequence[SubGraph],
) -> tuple[Node, ...]:
    """The If node. An output whose branches differ in a dimension has the larger one, and an extent."""
    context = scope.context
    condition = _condition(context, op, origin, operands, targets)
    if condition is None:
        return failed_outputs(scope, op)
    output_bounds = [scope.max_dims.get(index, {}) for index in op.outputs]
    branches = []
    for target in targets:
        with context.branch():
            region = regions.region(target, operands[1:], origin, output_bounds)
            branches.append(_Branch(region, dict(context.contents), Builder(context, origin), []))
    outputs = [_output(scope, origin, i, index, branches, targets) for i, index in enumerate(op.outputs)]
    for position, output in enumerate(tuple(outputs)):
        for axis, extent in sorted(context.extents.get(output, {}).items()):
            outputs.append(extent)
            for branch in branches:
                branch.results.append(branch.builder.extent(branch.results[position], axis))
    for name in context.contents:
        if any(b.contents[name] != context.contents[name] for b in branches):
            outputs.append(context.value(name, context.variables[name].type))
            for branch in branches:
                branch.results.append(branch.contents[name])
            context.contents[name] = outputs[-1]
    then_block, else_block = (b.block() for b in branches)
    return (If(context.new_id(), condition, then_block, else_block, tuple(outputs), origin),)


def _condition(
    context: Context, op: FileOperator, origin: Origin, operands: Sequence[Argument], targets: Sequence[SubGraph]
) -> Value | None:
    """The condition; None, with problems reported, where it or the branches are not those of an IF."""
    condition = operands[0] if operands else None
    is_valid = isinstance(condition, Value) and condition.type.dtype is DType.BOOL and condition.type.elements == 1
    if not is_valid:
        actual = condition.type if isinstance(condition, Value) else "nothing"
        context.problem(origin, f"the condition of IF must be one bool, not {actual}")
    for side, target in zip(SIDES, targets, strict=True):
        is_valid &= arguments_agree(context, origin, f"{side} branch's input", operands[1:], target)
        counts = len(op.outputs), "result", target, len(target.outputs)
        is_valid &= counts_agree(context, origin, f"{side} branch's output", *counts)
    return condition if is_valid and isinstance(condition, Value) else None


def _output(
    scope: Scope,
    origin: Origin,
    position: int,
    index: int,
    branches: Sequence[_Branch],
    targets: Sequence[SubGraph],
) -> Value:
    """Output `position` of the If; appends its value in each branch to the branch's results."""
    context = scope.context
    declared, open_shape = context.declared(scope.subgraph, index), is_open(scope.subgraph.tensors[index])
    returned: list[Value] = []
    is_valid = True
    for side, branch, target in zip(SIDES, branches, targets, strict=True):
        result = branch.region.returned[position]
        if isinstance(result, VariableHandle):
            context.problem(origin, f"the {side} branch returns a resource handle")
            result = context.value("", declared)
        tensor = target.tensors[target.outputs[position]]
        any_shape = open_shape or is_open(tensor) or result in context.extents
        reason = difference(declared, result.type, any_shape)
        if reason:
            context.problem(origin, f"{side} branch's output {position} ('{tensor.name}'): {reason}")
            is_valid = False
        returned.append(result)
    then_shape, else_shape = (v.type.max_shape for v in returned)
    if is_valid and len(then_shape) != len(else_shape):
        text = f"the branches return output {position} in different shapes, {list(then_shape)} and {list(else_shape)}"
        context.problem(origin, text, "Both must have equally many dimensions")
    elif is_valid and (then_shape != else_shape or any(v in context.extents for v in returned)):
        return _widened(scope, index, branches, returned)
    for branch, value in zip(branches, returned, strict=True):
        branch.results.append(value)
    return scope.define(index, returned[0].type)


def _widened(scope: Scope, index: int, branches: Sequence[_Branch], returned: Sequence[Value]) -> Value:
    """Output `index`, with the larger of the two branches' shapes, and an extent along each axis that may differ."""
    context = scope.context
    then_shape, else_shape = (value.type.max_shape for value in returned)
    axes = {axis for axis, (a, b) in enumerate(zip(then_shape, else_shape, strict=True)) if a != b}
    axes = axes.union(*(context.extents.get(value, {}) for value in returned))
    shape = list(map(max, then_shape, else_shape))
    for axis in axes:
        shape[axis] = min(shape[axis], scope.max_dims.get(index, {}).get(axis, shape[axis]))
    for branch, value in zip(branches, returned, strict=True):
        branch.results.append(branch.builder.fit_all(value, shape))
    output = scope.define(index, returned[0].type.with_shape(tuple(shape)))
    context.extents[output] = new_extents(context, output, axes)
    return output
