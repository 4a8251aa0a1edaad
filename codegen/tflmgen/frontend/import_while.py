"""Imports WHILE: two regions over loop variables, which may grow from one iteration to the next.

A dimension that differs between the loop's operand and the body's result is dynamic. The body is then imported again
with the returned number of rows along this dimension. If it returns no more than that, the number is the bound.
Otherwise the variable grows. Its bound is then, in this order: --max-shape; its initial rows plus the growth per
iteration times a known number of iterations; --max-dim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tflmgen.frontend.import_block import Scope
from tflmgen.frontend.import_build import Builder, new_extents
from tflmgen.frontend.import_context import Argument, Context, VariableHandle, difference
from tflmgen.frontend.import_regions import (
    ImportedRegion,
    RegionImporter,
    arguments_agree,
    counts_agree,
    failed_outputs,
    without_handles,
)
from tflmgen.frontend.tflite.model import FileOperator, SubGraph
from tflmgen.frontend.trips import trip_count
from tflmgen.ir import DType
from tflmgen.ir.graph import Node, Origin, Value, While

Axis = tuple[int, int]
"""(position of a loop variable, one of its axes)."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The loop imported under the current assumptions on the rows of its variables.

    carried    positions of the operands that are loop variables
    arguments  value of each operand inside the loop
    inner      persistent variable -> value at the start of an iteration
    after      persistent variable -> value at the end of the body
    """

    carried: Sequence[int]
    arguments: Sequence[Argument]
    test: ImportedRegion
    body: ImportedRegion
    inner: dict[str, Value]
    after: dict[str, Value]


@dataclass(slots=True)
class _Rows:
    """Assumption on one dynamic dimension of a loop variable.

    capacity     rows of the variable's buffer along it
    growth       rows that the last import of the body returned beyond the capacity
    is_proposed  the capacity is the extrapolation of a constant growth over all iterations
    is_final     the capacity does not change any more
    """

    capacity: int
    growth: int = 0
    is_proposed: bool = False
    is_final: bool = False


@dataclass(slots=True)
class _WhileImporter:
    regions: RegionImporter
    scope: Scope
    op: FileOperator
    origin: Origin
    operands: Sequence[Argument]
    targets: Sequence[SubGraph]
    rows: dict[Axis, _Rows] = field(default_factory=dict)
    unbounded: list[Axis] = field(default_factory=list)

    @property
    def context(self) -> Context:
        return self.scope.context

    def run(self) -> tuple[Node, ...]:
        if not self._fits():
            return failed_outputs(self.scope, self.op)
        carried = self._carried()
        for i in carried:
            for axis in self.context.extents.get(self._value(i), {}):
                self.rows[i, axis] = self._first_assumption((i, axis))
        before = dict(self.context.contents)
        # Each round but the last makes a variable dynamic, measures its growth, proposes a bound, or fixes one.
        dimensions = sum(len(self._value(i).type.shape) for i in carried)
        for _ in range(5 * dimensions + 2):
            saved = self.regions.save()
            attempt = self._attempt(carried, before)
            if attempt is not None and self._changed(attempt):
                self.regions.restore(saved)
                self.context.contents = dict(before)
                if self.unbounded:
                    self._refuse()
                    break
                continue
            if attempt is None or not self._next_agree(attempt):
                break
            return self._finish(attempt, before)
        self.context.contents = before
        return failed_outputs(self.scope, self.op)

    def _fits(self) -> bool:
        condition, body = self.targets
        context, origin, operands = self.context, self.origin, self.operands
        is_valid = arguments_agree(context, origin, "condition's input", operands, condition)
        is_valid &= arguments_agree(context, origin, "body's input", operands, body)
        count = len(operands)
        is_valid &= counts_agree(context, origin, "body's output", count, "operand", body, len(body.outputs))
        if len(self.op.outputs) != count:
            counts = f"{count} operands and {len(self.op.outputs)} results"
            context.problem(origin, f"WHILE has {counts}; each variable needs both")
            is_valid = False
        return is_valid

    def _carried(self) -> list[int]:
        body = self.targets[1]
        return [
            i
            for i, operand in enumerate(self.operands)
            if isinstance(operand, Value) and body.outputs[i] != body.inputs[i]
        ]

    def _axes(self, position: int) -> list[int]:
        """Dynamic axes of a loop variable."""
        return sorted(axis for i, axis in self.rows if i == position)

    def _value(self, position: int) -> Value:
        operand = self.operands[position]
        assert isinstance(operand, Value)
        return operand

    def _attempt(self, carried: Sequence[int], before: dict[str, Value]) -> _Attempt | None:
        context = self.context
        condition, body = self.targets
        arguments = list(self.operands)
        for i in carried:
            type_ = self._value(i).type
            axes = self._axes(i)
            for axis in axes:
                type_ = type_.with_dim(axis, self.rows[i, axis].capacity)
            variable = context.value(body.tensors[body.inputs[i]].name, type_)
            arguments[i] = variable
            if axes:
                context.extents[variable] = new_extents(context, variable, axes)
        inner = {name: context.value(name, value.type) for name, value in before.items()}
        context.uninitialised |= {inner[name] for name, value in before.items() if value in context.uninitialised}
        context.contents = dict(inner)
        test = self._test(condition, arguments)
        if self.regions.assigns(condition):
            rule = f"the condition '{condition.name}' assigns a variable; move that into the body"
            context.problem(self.origin, rule)
        # Control flow in the condition has renamed the variables without changing their contents.
        context.contents = dict(inner)
        output_bounds: list[dict[int, int]] = [{} for _ in body.outputs]
        for (i, axis), rows in self.rows.items():
            if rows.is_final:
                output_bounds[i][axis] = rows.capacity
        body_region = self.regions.region(body, arguments, self.origin, output_bounds)
        if test is None:
            return None
        return _Attempt(carried, arguments, test, body_region, inner, dict(context.contents))

    def _test(self, condition: SubGraph, arguments: Sequence[Argument]) -> ImportedRegion | None:
        region = self.regions.region(condition, arguments, self.origin)
        values = without_handles(region.returned)
        if len(values) == 1 and values[0].type.dtype is DType.BOOL and values[0].type.elements == 1:
            return region
        actual = ", ".join(str(v.type) for v in values) or "nothing"
        rule = f"the condition of WHILE must return one bool; '{condition.name}' returns {actual}"
        self.context.problem(self.origin, rule)
        return None

    # -- dynamic variables

    def _changed(self, attempt: _Attempt) -> bool:
        """Updates the assumptions on rows from the body's results; whether any has changed."""
        changed = False
        for i in attempt.carried:
            variable, result = attempt.arguments[i], attempt.body.returned[i]
            if not isinstance(result, Value) or result in self.context.open or not variable.type.shape:  # type: ignore[union-attr]
                continue
            assert isinstance(variable, Value)
            old_shape, new_shape = variable.type.max_shape, result.type.max_shape
            if len(old_shape) != len(new_shape):
                continue
            for axis in range(len(old_shape)):
                changed |= self._axis_changed(attempt, (i, axis), old_shape[axis], new_shape[axis])
        return changed

    def _axis_changed(self, attempt: _Attempt, axis: Axis, old_dim: int, new_dim: int) -> bool:
        result = attempt.body.returned[axis[0]]
        assert isinstance(result, Value)
        if axis not in self.rows:
            if new_dim != old_dim or axis[1] in self.context.extents.get(result, {}):
                self.rows[axis] = self._first_assumption(axis, new_dim)
                return True
        elif new_dim > old_dim and not self.rows[axis].is_final:
            self._grows(axis, attempt, new_dim)
            return True
        return False

    def _initial(self, axis: Axis) -> int:
        return self._value(axis[0]).type.max_shape[axis[1]]

    def _first_assumption(self, axis: Axis, returned: int = 0) -> _Rows:
        """First assumption on a dimension that has turned out to be dynamic."""
        bound = self._bound(axis)
        initial = self._initial(axis)
        if bound is not None:
            return _Rows(bound, is_final=True)
        return _Rows(max(initial, returned), growth=max(0, returned - initial))

    def _bound(self, axis: Axis) -> int | None:
        """Smallest user bound under any of the variable's names; else the bound of the loop's output; else None."""
        condition, body = self.targets
        position, dimension = axis
        names = (
            (self.scope.subgraph.index, self.op.outputs[position]),
            (condition.index, condition.inputs[position]),
            (body.index, body.inputs[position]),
            (body.index, body.outputs[position]),
        )
        user_bounds = [
            self.context.bounds.tensors[name][dimension] for name in names if name in self.context.bounds.tensors
        ]
        outer_bound = self.scope.max_dims.get(self.op.outputs[position], {}).get(dimension)
        return min(user_bounds, default=outer_bound)

    def _grows(self, axis: Axis, attempt: _Attempt, returned: int) -> None:
        rows = self.rows[axis]
        growth = returned - rows.capacity
        trips = self._trips(attempt)
        initial_rows = self._initial(axis)
        if trips is not None and not rows.growth:
            self.rows[axis] = _Rows(returned, growth)
            return
        if trips is not None and growth == rows.growth:
            # Equal growth at two sizes: extrapolate linearly, and verify at the extrapolated size.
            capacity = rows.capacity if rows.is_proposed else max(initial_rows + trips * growth, 1)
            self.rows[axis] = _Rows(capacity, growth, is_proposed=True, is_final=rows.is_proposed)
            return
        largest = self.context.bounds.largest
        if largest is None:
            self.unbounded.append(axis)
        self.rows[axis] = _Rows(max(largest or 0, initial_rows), growth, is_final=True)

    def _refuse(self) -> None:
        """Reports the variables that grow without a bound, with the option that sets one."""
        graph, body = self.scope.subgraph, self.targets[1]
        for position in dict.fromkeys(i for i, _ in self.unbounded):
            output, inner = graph.tensors[self.op.outputs[position]], body.tensors[body.inputs[position]]
            shape = self._value(position).type.max_shape
            dims = ",".join("N" if axis in self._axes(position) else str(dim) for axis, dim in enumerate(shape))
            name = f"{body.name or body.index}:{inner.name}"
            self.context.tensor_problem(
                graph,
                output,
                f"has no upper bound: each iteration of WHILE (operator {self.op.index}) enlarges it",
                f"Bound it with --max-shape '{name}={dims}', or --max-dim N",
            )

    def _trips(self, attempt: _Attempt) -> int | None:
        """Upper bound of the number of iterations, or None."""
        variables = without_handles([attempt.arguments[i] for i in attempt.carried])
        results = without_handles([attempt.body.returned[i] for i in attempt.carried])
        inits = tuple(self._value(i) for i in attempt.carried)
        if len(results) != len(variables):
            return None
        body = replace(attempt.body.block, results=results)
        loop = While(0, variables, inits, attempt.test.block, body, (), self.origin)
        return trip_count(loop, self.context.constants, upper_bound=True)

    def _next_agree(self, attempt: _Attempt) -> bool:
        """Whether the body's results have the types of the variables; reports each mismatch."""
        agrees = True
        body = self.targets[1]
        for i in attempt.carried:
            variable, result = attempt.arguments[i], attempt.body.returned[i]
            assert isinstance(variable, Value)
            tensor = body.tensors[body.outputs[i]]
            reason = "a resource handle" if isinstance(result, VariableHandle) else ""
            if isinstance(result, Value) and result not in self.context.open:
                variable_type, result_type = variable.type, result.type
                if len(variable_type.shape) == len(result_type.shape):
                    for axis in self._axes(i):
                        result_type = result_type.with_dim(axis, variable_type.max_shape[axis])
                reason = difference(variable_type, result_type, open_shape=False)
            if reason:
                self.context.problem(self.origin, f"body's output {i} ('{tensor.name}'): {reason}")
                agrees = False
        return agrees

    # -- the While node

    def _finish(self, attempt: _Attempt, before: dict[str, Value]) -> tuple[Node, ...]:
        context, carried = self.context, attempt.carried
        prologue, epilogue = Builder(context, self.origin), Builder(context, self.origin)
        variables, inits, results, outputs = [], [], [], []
        for i, index in enumerate(self.op.outputs):
            argument, init, result = attempt.arguments[i], self.operands[i], attempt.body.returned[i]
            if i not in carried:
                self.scope.bind(index, argument)
                continue
            assert isinstance(argument, Value)
            assert isinstance(init, Value)
            assert isinstance(result, Value)
            for axis in self._axes(i):
                capacity = self.rows[i, axis].capacity
                init, result = prologue.fit(init, capacity, axis), epilogue.fit(result, capacity, axis)
            variables.append(argument)
            inits.append(init)
            results.append(result)
            outputs.append(self.scope.define(index, argument.type))
        for position, i in enumerate(carried):
            axes = self._axes(i)
            if axes:
                context.extents[outputs[position]] = new_extents(context, outputs[position], axes)
            for axis in axes:
                variables.append(context.extents[variables[position]][axis])
                inits.append(prologue.extent(inits[position], axis))
                results.append(epilogue.extent(results[position], axis))
                outputs.append(context.extents[outputs[position]][axis])
        variables += attempt.inner.values()
        inits += before.values()
        results += attempt.after.values()
        context.contents = {name: context.value(name, value.type) for name, value in before.items()}
        outputs += context.contents.values()
        block = attempt.body.block
        body = replace(block, nodes=(*block.nodes, *epilogue.nodes), results=tuple(results))
        loop_values = tuple(variables), tuple(inits)
        loop = While(context.new_id(), *loop_values, attempt.test.block, body, tuple(outputs), self.origin)
        return (*prologue.nodes, loop)


def import_while(
    regions: RegionImporter,
    scope: Scope,
    op: FileOperator,
    origin: Origin,
    operands: Sequence[Argument],
    targets: Sequence[SubGraph],
) -> tuple[Node, ...]:
    """Nodes of a WHILE. Operands that the body returns unchanged are not loop variables."""
    return _WhileImporter(regions, scope, op, origin, operands, targets).run()
