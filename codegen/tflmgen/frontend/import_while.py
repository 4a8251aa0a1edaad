"""WHILE of the file: two regions over variables, some of which may grow from one iteration to the next.

A dimension of a variable that differs between the loop's operand and the body's result is known at run time only. The
body is imported again with room for as many rows (along this dimension) as the body was seen to return. If it then
returns no more, that is the bound. If it returns still more, the variable grows, and its bound is what the user says,
else its initial rows and what each of a known number of iterations adds, else the option for all dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tflmgen.frontend.import_block import Scope
from tflmgen.frontend.import_build import Builder, new_extents, with_dim
from tflmgen.frontend.import_context import Argument, Context, Handle, difference
from tflmgen.frontend.import_regions import Region, Regions, arguments_agree, failed, same_count, values_of
from tflmgen.frontend.tflite.model import Operator, SubGraph
from tflmgen.frontend.trips import trip_count
from tflmgen.ir import DType, Node, Origin, Value, While

Axis = tuple[int, int]
"""A variable's position, and one of its dimensions."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The loop as imported with some assumption on its variables' rows.

    carried: positions of the variables; arguments: what stands for each operand inside; contents: of the persistent
    variables, before, inside and after the body.
    """

    carried: Sequence[int]
    arguments: Sequence[Argument]
    test: Region
    body: Region
    inner: dict[str, Value]
    after: dict[str, Value]


@dataclass(slots=True)
class _Rows:
    """Assumptions on one dimension of a variable: rows that there is room for, how many more the body returned last.

    proposed: the rows after all iterations, if each adds as many; settled: for good.
    """

    most: int
    growth: int = 0
    proposed: bool = False
    settled: bool = False


@dataclass(slots=True)
class _WhileImporter:
    regions: Regions
    scope: Scope
    op: Operator
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
            return failed(self.scope, self.op)
        carried = self._carried()
        for i in carried:
            for axis in self.context.extents.get(self._value(i), {}):
                self.rows[i, axis] = self._first((i, axis))
        before = dict(self.context.contents)
        # Each round but the last makes a variable dynamic, measures its growth, proposes a bound, or settles one.
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
        return failed(self.scope, self.op)

    def _fits(self) -> bool:
        condition, body = self.targets
        context, origin, operands = self.context, self.origin, self.operands
        fine = arguments_agree(context, origin, "condition's input", operands, condition)
        fine &= arguments_agree(context, origin, "body's input", operands, body)
        count = len(operands)
        fine &= same_count(context, origin, "body's output", count, "operand", body, len(body.outputs))
        if len(self.op.outputs) != count:
            counts = f"{count} operands and {len(self.op.outputs)} results"
            context.problem(origin, f"WHILE has {counts}; each variable needs both")
            fine = False
        return fine

    def _carried(self) -> list[int]:
        body = self.targets[1]
        return [
            i
            for i, operand in enumerate(self.operands)
            if isinstance(operand, Value) and body.outputs[i] != body.inputs[i]
        ]

    def _axes(self, position: int) -> list[int]:
        """The dimensions of a variable that are dynamic."""
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
                type_ = with_dim(type_, axis, self.rows[i, axis].most)
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
        # Control flow in the condition gave the variables other names, for the same contents.
        context.contents = dict(inner)
        wanted: list[dict[int, int]] = [{} for _ in body.outputs]
        for (i, axis), rows in self.rows.items():
            if rows.settled:
                wanted[i][axis] = rows.most
        following = self.regions.region(body, arguments, self.origin, wanted)
        if test is None:
            return None
        return _Attempt(carried, arguments, test, following, inner, dict(context.contents))

    def _test(self, condition: SubGraph, arguments: Sequence[Argument]) -> Region | None:
        region = self.regions.region(condition, arguments, self.origin)
        values = values_of(region.returned)
        if len(values) == 1 and values[0].type.dtype is DType.BOOL and values[0].type.elements == 1:
            return region
        found = ", ".join(str(v.type) for v in values) or "nothing"
        rule = f"the condition of WHILE must return one bool; '{condition.name}' returns {found}"
        self.context.problem(self.origin, rule)
        return None

    # -- variables that are dynamic

    def _changed(self, attempt: _Attempt) -> bool:
        """Whether the assumptions on rows must change for the body to return what its variables may hold."""
        changed = False
        for i in attempt.carried:
            variable, following = attempt.arguments[i], attempt.body.returned[i]
            if not isinstance(following, Value) or following in self.context.open or not variable.type.shape:  # type: ignore[union-attr]
                continue
            assert isinstance(variable, Value)
            here, there = variable.type.max_shape, following.type.max_shape
            if len(here) != len(there):
                continue
            for axis in range(len(here)):
                changed |= self._axis_changed(attempt, (i, axis), here[axis], there[axis])
        return changed

    def _axis_changed(self, attempt: _Attempt, axis: Axis, here: int, there: int) -> bool:
        following = attempt.body.returned[axis[0]]
        assert isinstance(following, Value)
        if axis not in self.rows:
            if there != here or axis[1] in self.context.extents.get(following, {}):
                self.rows[axis] = self._first(axis, there)
                return True
        elif there > here and not self.rows[axis].settled:
            self._grows(axis, attempt, there)
            return True
        return False

    def _initial(self, axis: Axis) -> int:
        return self._value(axis[0]).type.max_shape[axis[1]]

    def _first(self, axis: Axis, returned: int = 0) -> _Rows:
        """What is assumed of a variable's dimension once it turns out to be dynamic."""
        most = self._bound(axis)
        here = self._initial(axis)
        if most is not None:
            return _Rows(most, settled=True)
        return _Rows(max(here, returned), growth=max(0, returned - here))

    def _bound(self, axis: Axis) -> int | None:
        """What the user says of a variable, under any of its names; the room that there is for it around the loop."""
        condition, body = self.targets
        position, dimension = axis
        names = (
            (self.scope.subgraph.index, self.op.outputs[position]),
            (condition.index, condition.inputs[position]),
            (body.index, body.inputs[position]),
            (body.index, body.outputs[position]),
        )
        given = [self.context.bounds.tensors[name][dimension] for name in names if name in self.context.bounds.tensors]
        around = self.scope.most.get(self.op.outputs[position], {}).get(dimension)
        return min(given, default=around)

    def _grows(self, axis: Axis, attempt: _Attempt, returned: int) -> None:
        rows = self.rows[axis]
        growth = returned - rows.most
        trips = self._trips(attempt)
        inits = self._initial(axis)
        if trips is not None and not rows.growth:
            self.rows[axis] = _Rows(returned, growth)
            return
        if trips is not None and growth == rows.growth:
            # Seen at two sizes: linear, unless it is more at the size that follows from it.
            most = rows.most if rows.proposed else max(inits + trips * growth, 1)
            self.rows[axis] = _Rows(most, growth, proposed=True, settled=rows.proposed)
            return
        largest = self.context.bounds.largest
        if largest is None:
            self.unbounded.append(axis)
        self.rows[axis] = _Rows(max(largest or 0, inits), growth, settled=True)

    def _refuse(self) -> None:
        """Says which variables grow, and how to bound them."""
        graph, body = self.scope.subgraph, self.targets[1]
        for position in dict.fromkeys(i for i, _ in self.unbounded):
            output, inner = graph.tensors[self.op.outputs[position]], body.tensors[body.inputs[position]]
            shape = self._value(position).type.max_shape
            dims = ",".join("N" if at in self._axes(position) else str(dim) for at, dim in enumerate(shape))
            name = f"{body.name or body.index}:{inner.name}"
            self.context.tensor_problem(
                graph,
                output,
                f"stays open: each iteration of WHILE (operator {self.op.index}) makes it larger",
                f"Bound it with --max-shape '{name}={dims}', or --max-dim N",
            )

    def _trips(self, attempt: _Attempt) -> int | None:
        """How often the loop can run."""
        variables = values_of([attempt.arguments[i] for i in attempt.carried])
        results = values_of([attempt.body.returned[i] for i in attempt.carried])
        inits = tuple(self._value(i) for i in attempt.carried)
        if len(results) != len(variables):
            return None
        body = replace(attempt.body.block, results=results)
        loop = While(0, variables, inits, attempt.test.block, body, (), self.origin)
        return trip_count(loop, self.context.constants, at_most=True)

    def _next_agree(self, attempt: _Attempt) -> bool:
        """Whether the body returns for each variable what it may hold."""
        fine = True
        body = self.targets[1]
        for i in attempt.carried:
            variable, following = attempt.arguments[i], attempt.body.returned[i]
            assert isinstance(variable, Value)
            tensor = body.tensors[body.outputs[i]]
            reason = "a resource handle" if isinstance(following, Handle) else ""
            if isinstance(following, Value) and following not in self.context.open:
                here, there = variable.type, following.type
                if len(here.shape) == len(there.shape):
                    for axis in self._axes(i):
                        there = with_dim(there, axis, here.max_shape[axis])
                reason = difference(here, there, open_shape=False)
            if reason:
                self.context.problem(self.origin, f"body's output {i} ('{tensor.name}'): {reason}")
                fine = False
        return fine

    # -- the node

    def _finish(self, attempt: _Attempt, before: dict[str, Value]) -> tuple[Node, ...]:
        context, carried = self.context, attempt.carried
        start, end = Builder(context, self.origin), Builder(context, self.origin)
        variables, inits, results, outputs = [], [], [], []
        for i, index in enumerate(self.op.outputs):
            argument, init, following = attempt.arguments[i], self.operands[i], attempt.body.returned[i]
            if i not in carried:
                self.scope.bind(index, argument)
                continue
            assert isinstance(argument, Value)
            assert isinstance(init, Value)
            assert isinstance(following, Value)
            for axis in self._axes(i):
                most = self.rows[i, axis].most
                init, following = start.fit(init, most, axis), end.fit(following, most, axis)
            variables.append(argument)
            inits.append(init)
            results.append(following)
            outputs.append(self.scope.define(index, argument.type))
        for at, i in enumerate(carried):
            axes = self._axes(i)
            if axes:
                context.extents[outputs[at]] = new_extents(context, outputs[at], axes)
            for axis in axes:
                variables.append(context.extents[variables[at]][axis])
                inits.append(start.extent(inits[at], axis))
                results.append(end.extent(results[at], axis))
                outputs.append(context.extents[outputs[at]][axis])
        variables += attempt.inner.values()
        inits += before.values()
        results += attempt.after.values()
        context.contents = {name: context.value(name, value.type) for name, value in before.items()}
        outputs += context.contents.values()
        block = attempt.body.block
        body = replace(block, nodes=(*block.nodes, *end.nodes), results=tuple(results))
        ends = tuple(variables), tuple(inits)
        loop = While(context.new_id(), *ends, attempt.test.block, body, tuple(outputs), self.origin)
        return (*start.nodes, loop)


def import_while(
    regions: Regions,
    scope: Scope,
    op: Operator,
    origin: Origin,
    operands: Sequence[Argument],
    targets: Sequence[SubGraph],
) -> tuple[Node, ...]:
    """The nodes of a WHILE; an operand that the body passes on unchanged is no variable."""
    return _WhileImporter(regions, scope, op, origin, operands, targets).run()
