"""IF of the file: two regions, and a result for each pair of what they return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tflmgen.frontend.import_block import Scope
from tflmgen.frontend.import_build import Builder, new_extents
from tflmgen.frontend.import_context import Argument, Handle, difference
from tflmgen.frontend.import_regions import Region, Regions, arguments_agree, failed, same_count
from tflmgen.frontend.shape_bounds import is_open
from tflmgen.frontend.tflite.model import Operator, SubGraph
from tflmgen.ir import Block, DType, If, Node, Origin, Value

SIDES = ("then", "else")


@dataclass(frozen=True, slots=True)
class _Branch:
    """One side: its region, the variables' contents at its end, and what its results become."""

    region: Region
    contents: Mapping[str, Value]
    builder: Builder
    results: list[Value]

    def block(self) -> Block:
        block = self.region.block
        return replace(block, nodes=(*block.nodes, *self.builder.nodes), results=tuple(self.results))


def import_if(
    regions: Regions,
    scope: Scope,
    op: Operator,
    origin: Origin,
    operands: Sequence[Argument],
    targets: Sequence[SubGraph],
) -> tuple[Node, ...]:
    """The node of an IF. A result whose sides differ in a dimension has room for the larger, and an extent."""
    context = scope.context
    condition = operands[0] if operands else None
    fine = isinstance(condition, Value) and condition.type.dtype is DType.BOOL and condition.type.elements == 1
    if not fine:
        found = condition.type if isinstance(condition, Value) else "nothing"
        context.problem(origin, f"the condition of IF must be one bool, not {found}")
    for side, target in zip(SIDES, targets, strict=True):
        fine &= arguments_agree(context, origin, f"{side} branch's input", operands[1:], target)
        counts = len(op.outputs), "result", target, len(target.outputs)
        fine &= same_count(context, origin, f"{side} branch's output", *counts)
    if not fine or not isinstance(condition, Value):
        return failed(scope, op)
    wanted = [scope.most.get(index, {}) for index in op.outputs]
    branches = []
    for target in targets:
        with context.branch():
            region = regions.region(target, operands[1:], origin, wanted)
            branches.append(_Branch(region, dict(context.contents), Builder(context, origin), []))
    outputs: list[Value] = []
    dynamic: list[int] = []
    for position, target_index in enumerate(op.outputs):
        outputs.append(_output(scope, origin, position, target_index, branches, targets))
        if outputs[-1] in context.extents:
            dynamic.append(position)
    for position in dynamic:
        for axis, extent in sorted(context.extents[outputs[position]].items()):
            outputs.append(extent)
            for branch in branches:
                branch.results.append(branch.builder.extent(branch.results[position], axis))
    for name in context.contents:
        if any(b.contents[name] != context.contents[name] for b in branches):
            outputs.append(context.value(name, context.variables[name].type))
            for branch in branches:
                branch.results.append(branch.contents[name])
            context.contents[name] = outputs[-1]
    then, orelse = (b.block() for b in branches)
    return (If(context.new_id(), condition, then, orelse, tuple(outputs), origin),)


def _output(
    scope: Scope,
    origin: Origin,
    position: int,
    index: int,
    branches: Sequence[_Branch],
    targets: Sequence[SubGraph],
) -> Value:
    """Output `position`; each branch's results gain what it gives for it."""
    context = scope.context
    declared, open_shape = context.declared(scope.subgraph, index), is_open(scope.subgraph.tensors[index])
    returned: list[Value] = []
    fine = True
    for side, branch, target in zip(SIDES, branches, targets, strict=True):
        one = branch.region.returned[position]
        if isinstance(one, Handle):
            context.problem(origin, f"the {side} branch returns a resource handle")
            one = context.value("", declared)
        tensor = target.tensors[target.outputs[position]]
        any_shape = open_shape or is_open(tensor) or one in context.extents
        reason = difference(declared, one.type, any_shape)
        if reason:
            context.problem(origin, f"{side} branch's output {position} ('{tensor.name}'): {reason}")
            fine = False
        returned.append(one)
    then, orelse = (v.type.max_shape for v in returned)
    if fine and len(then) != len(orelse):
        text = f"the branches return output {position} in different shapes, {list(then)} and {list(orelse)}"
        context.problem(origin, text, "Both must have equally many dimensions")
    elif fine and (then != orelse or any(v in context.extents for v in returned)):
        axes = {axis for axis, (one, other) in enumerate(zip(then, orelse, strict=True)) if one != other}
        axes = axes.union(*(context.extents.get(v, {}) for v in returned))
        shape = list(map(max, then, orelse))
        for axis in axes:
            shape[axis] = min(shape[axis], scope.most.get(index, {}).get(axis, shape[axis]))
        for branch, value in zip(branches, returned, strict=True):
            branch.results.append(branch.builder.fit_all(value, shape))
        output = scope.define(index, returned[0].type.with_shape(tuple(shape)))
        context.extents[output] = new_extents(context, output, axes)
        return output
    for branch, value in zip(branches, returned, strict=True):
        branch.results.append(value)
    return scope.define(index, returned[0].type)
