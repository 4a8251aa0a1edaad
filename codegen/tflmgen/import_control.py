"""IF, WHILE and CALL of the file as nodes with regions, or as calls of functions that are imported once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tflmgen.graph import Block, Call, Function, If, Node, Origin, Value, While
from tflmgen.import_block import Scope, import_block
from tflmgen.import_context import Argument, Context, Handle, difference, is_open
from tflmgen.subgraphs import CONTROL_FLOW, assigning_subgraphs, references, stateful_subgraphs
from tflmgen.tflite.model import Operator, SubGraph
from tflmgen.types import DType, TensorType


@dataclass(frozen=True, slots=True)
class _Region:
    """A region and what it returns, in the file's order."""

    block: Block
    returned: tuple[Argument, ...]


class ControlFlowImporter:
    """Imports subgraphs: as regions where one operator refers to them, else as functions."""

    def __init__(self, context: Context, shared: set[int]) -> None:
        self._context = context
        self._shared = shared
        self._stateful = stateful_subgraphs(context.model)
        self._assigning = assigning_subgraphs(context.model)
        self._names: Counter[str] = Counter()
        self._known: dict[object, Function] = {}
        self.functions: list[Function] = []

    def function(self, subgraph: SubGraph, arguments: Sequence[Argument | TensorType]) -> Function:
        """The function for a subgraph, for these argument types (and variables, where handles are passed)."""
        key = (subgraph.index, tuple(a.type if isinstance(a, Value) else a for a in arguments))
        if key not in self._known:
            self._known[key] = self._import_function(subgraph, arguments)
            self.functions.append(self._known[key])
        return self._known[key]

    def _import_function(self, subgraph: SubGraph, arguments: Sequence[Argument | TensorType]) -> Function:
        context = self._context
        inputs: list[Argument] = []
        for index, argument in zip(subgraph.inputs, arguments, strict=True):
            if isinstance(argument, Handle):
                inputs.append(argument)
            else:
                type_ = argument.type if isinstance(argument, Value) else argument
                inputs.append(context.value(subgraph.tensors[index].name, type_))
        outer = context.contents
        context.contents = {}
        state = tuple(context.variables) if subgraph.index in self._stateful else ()
        for name in state:
            variable = context.variables[name]
            context.contents[name] = context.value(name, variable.type)
            if variable.initial is None:
                context.uninitialised.add(context.contents[name])
        entered = tuple(context.contents.values())
        block, _ = import_block(context, subgraph, inputs, self.node)
        block = replace(block, results=(*block.results, *context.contents.values()))
        context.contents = outer
        name = self.unique(subgraph.name or f"subgraph_{subgraph.index}")
        values = tuple(v for v in inputs if isinstance(v, Value))
        return Function(name, (*values, *entered), block, state)

    def unique(self, name: str) -> str:
        """A name for a function that no other has."""
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}_{self._names[name]}"

    def node(self, scope: Scope, op: Operator, origin: Origin) -> tuple[Node, ...]:
        """The nodes of one IF, WHILE or CALL; its outputs are defined in `scope`."""
        if len(references(op)) != len(CONTROL_FLOW[op.name]):
            self._context.problem(origin, f"the options of {op.name} are missing: it names no subgraphs")
            return self._failed(scope, op)
        if -1 in op.inputs:
            self._context.problem(origin, f"operand {op.inputs.index(-1)} of {op.name} is absent")
            return self._failed(scope, op)
        operands = [scope.argument(i) for i in op.inputs]
        targets = [self._context.model.subgraphs[i] for i in references(op)]
        lower = {"IF": self._if, "WHILE": self._while, "CALL": self._call}[op.name]
        return lower(scope, op, origin, operands, targets)

    def _region(self, target: SubGraph, arguments: Sequence[Argument], origin: Origin) -> _Region:
        if target.index not in self._shared:
            block, returned = import_block(self._context, target, arguments, self.node)
            return _Region(block, returned)
        nodes, returned = self._invoke(target, arguments, origin)
        return _Region(Block(nodes, tuple(r for r in returned if isinstance(r, Value)), target.name), returned)

    def _invoke(
        self, target: SubGraph, arguments: Sequence[Argument], origin: Origin
    ) -> tuple[tuple[Node, ...], tuple[Argument, ...]]:
        context = self._context
        function = self.function(target, arguments)
        inputs = [a for a in arguments if isinstance(a, Value)] + [context.contents[n] for n in function.state]
        outputs = tuple(context.value(v.name, v.type) for v in function.body.results)
        context.contents.update(zip(function.state, outputs[len(outputs) - len(function.state) :], strict=True))
        call = Call(context.new_id(), function.name, tuple(inputs), outputs, origin)
        return (call,), outputs[: len(outputs) - len(function.state)]

    # -- IF

    def _if(
        self, scope: Scope, op: Operator, origin: Origin, operands: list[Argument], targets: list[SubGraph]
    ) -> tuple[Node, ...]:
        context = self._context
        condition = operands[0] if operands else None
        fine = isinstance(condition, Value) and condition.type.dtype is DType.BOOL and condition.type.elements == 1
        if not fine:
            found = condition.type if isinstance(condition, Value) else "nothing"
            context.problem(origin, f"the condition of IF must be one bool, not {found}")
        for side, target in zip(("then branch", "else branch"), targets, strict=True):
            fine &= self._arguments_agree(origin, f"{side}'s input", operands[1:], target)
            fine &= self._count(origin, f"{side}'s output", len(op.outputs), "result", target, len(target.outputs))
        if not fine or not isinstance(condition, Value):
            return self._failed(scope, op)
        branches, contents = [], []
        for target in targets:
            with context.branch():
                branches.append(self._region(target, operands[1:], origin))
                contents.append(dict(context.contents))
        outputs = [self._if_output(scope, op, origin, i, branches, targets) for i in range(len(op.outputs))]
        changed = [name for name in context.contents if any(c[name] != context.contents[name] for c in contents)]
        for name in changed:
            outputs.append(context.value(name, context.variables[name].type))
            context.contents[name] = outputs[-1]
        then, orelse = (
            replace(b.block, results=(*b.block.results, *(c[name] for name in changed)))
            for b, c in zip(branches, contents, strict=True)
        )
        return (If(context.new_id(), condition, then, orelse, tuple(outputs), origin),)

    def _if_output(
        self,
        scope: Scope,
        op: Operator,
        origin: Origin,
        position: int,
        branches: list[_Region],
        targets: list[SubGraph],
    ) -> Value:
        index = op.outputs[position]
        declared, open_shape = self._context.declared(scope.subgraph, index), is_open(scope.subgraph.tensors[index])
        types, fine = [], True
        for side, branch, target in zip(("then", "else"), branches, targets, strict=True):
            returned = branch.returned[position]
            if isinstance(returned, Handle):
                self._context.problem(origin, f"the {side} branch returns a resource handle")
                return scope.define(index, declared)
            tensor = target.tensors[target.outputs[position]]
            reason = difference(declared, returned.type, open_shape or is_open(tensor))
            if reason:
                self._context.problem(origin, f"{side} branch's output {position} ('{tensor.name}'): {reason}")
                fine = False
            types.append(returned.type)
        if fine and types[0].shape != types[1].shape:
            shapes = " and ".join(str(list(t.max_shape)) for t in types)
            self._context.problem(origin, f"the branches return output {position} in different shapes, {shapes}")
        return scope.define(index, types[0])

    # -- WHILE

    def _while(
        self, scope: Scope, op: Operator, origin: Origin, operands: list[Argument], targets: list[SubGraph]
    ) -> tuple[Node, ...]:
        context = self._context
        condition, body = targets
        fine = self._arguments_agree(origin, "condition's input", operands, condition)
        fine &= self._arguments_agree(origin, "body's input", operands, body)
        fine &= self._count(origin, "body's output", len(operands), "operand", body, len(body.outputs))
        if len(op.outputs) != len(operands):
            counts = f"{len(operands)} operands and {len(op.outputs)} results"
            context.problem(origin, f"WHILE has {counts}; each variable needs both")
            fine = False
        if not fine:
            return self._failed(scope, op)
        carried = [
            i for i, operand in enumerate(operands) if isinstance(operand, Value) and body.outputs[i] != body.inputs[i]
        ]
        arguments = list(operands)
        for i in carried:
            operand = operands[i]
            assert isinstance(operand, Value)
            arguments[i] = context.value(body.tensors[body.inputs[i]].name, operand.type)
        before = dict(context.contents)
        inner = {name: context.value(name, value.type) for name, value in before.items()}
        context.uninitialised |= {inner[name] for name, value in before.items() if value in context.uninitialised}
        context.contents = dict(inner)
        test = self._test(condition, arguments, origin)
        if condition.index in self._assigning:
            context.problem(origin, f"the condition '{condition.name}' assigns a variable; move that into the body")
        # Control flow in the condition gave the variables other names, for the same contents.
        context.contents = dict(inner)
        following = self._region(body, arguments, origin)
        if test is None or not self._next_agree(origin, arguments, following, body, carried):
            context.contents = before
            return self._failed(scope, op)
        variables = [arguments[i] for i in carried] + list(inner.values())
        results = [following.returned[i] for i in carried] + list(context.contents.values())
        inits = [operands[i] for i in carried] + list(before.values())
        outputs = []
        for i, index in enumerate(op.outputs):
            operand = arguments[i]
            if i in carried and isinstance(operand, Value):
                outputs.append(scope.define(index, operand.type))
            else:
                scope.bind(index, operand)
        context.contents = {name: context.value(name, value.type) for name, value in before.items()}
        outputs += context.contents.values()
        block = replace(following.block, results=_values(results))
        return (While(context.new_id(), _values(variables), _values(inits), test.block, block, tuple(outputs), origin),)

    def _test(self, condition: SubGraph, arguments: Sequence[Argument], origin: Origin) -> _Region | None:
        region = self._region(condition, arguments, origin)
        values = _values(region.returned)
        if len(values) == 1 and values[0].type.dtype is DType.BOOL and values[0].type.elements == 1:
            return region
        found = ", ".join(str(v.type) for v in values) or "nothing"
        self._context.problem(
            origin, f"the condition of WHILE must return one bool; '{condition.name}' returns {found}"
        )
        return None

    def _next_agree(
        self, origin: Origin, arguments: list[Argument], body: _Region, target: SubGraph, carried: list[int]
    ) -> bool:
        """Whether the body returns for each variable what it may hold."""
        fine = True
        for i in carried:
            variable, following = arguments[i], body.returned[i]
            assert isinstance(variable, Value)
            tensor = target.tensors[target.outputs[i]]
            reason = "a resource handle" if isinstance(following, Handle) else ""
            if isinstance(following, Value) and following not in self._context.open:
                reason = difference(variable.type, following.type, open_shape=False)
            if reason:
                self._context.problem(origin, f"body's output {i} ('{tensor.name}'): {reason}")
                fine = False
        return fine

    # -- CALL

    def _call(
        self, scope: Scope, op: Operator, origin: Origin, operands: list[Argument], targets: list[SubGraph]
    ) -> tuple[Node, ...]:
        target = targets[0]
        fine = self._arguments_agree(origin, "input of", operands, target)
        fine &= self._count(origin, "output of", len(op.outputs), "result", target, len(target.outputs))
        if not fine:
            return self._failed(scope, op)
        nodes, returned = self._invoke(target, operands, origin)
        for position, (index, value) in enumerate(zip(op.outputs, returned, strict=True)):
            assert isinstance(value, Value)
            outer, inner = scope.subgraph.tensors[index], target.tensors[target.outputs[position]]
            reason = difference(self._context.declared(scope.subgraph, index), value.type, is_open(outer))
            if reason:
                self._context.problem(origin, f"output of {position} ('{inner.name}'): {reason}")
            scope.bind(index, value)
        return nodes

    # -- checks

    def _failed(self, scope: Scope, op: Operator) -> tuple[Node, ...]:
        scope.stand_in(op)
        return ()

    def _count(self, origin: Origin, what: str, outer: int, noun: str, target: SubGraph, inner: int) -> bool:
        if outer == inner:
            return True
        self._context.problem(
            origin, f"{what} count: {origin.operator_name} has {outer} {noun}s, '{target.name}' has {inner}"
        )
        return False

    def _arguments_agree(self, origin: Origin, what: str, operands: Sequence[Argument], target: SubGraph) -> bool:
        """Whether a subgraph's inputs match what it is given; says so where they don't."""
        if not self._count(origin, what, len(operands), "operand", target, len(target.inputs)):
            return False
        fine = True
        for position, (operand, index) in enumerate(zip(operands, target.inputs, strict=True)):
            tensor = target.tensors[index]
            if isinstance(operand, Handle) or tensor.dtype is None:
                reason = "" if isinstance(operand, Handle) and tensor.dtype is None else "a resource on one side only"
            else:
                reason = difference(operand.type, self._context.declared(target, index), is_open(tensor))
            if reason:
                self._context.problem(origin, f"{what} {position} ('{tensor.name}'): {reason}")
                fine = False
        return fine


def _values(arguments: Sequence[Argument]) -> tuple[Value, ...]:
    return tuple(a for a in arguments if isinstance(a, Value))
