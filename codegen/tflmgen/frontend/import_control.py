"""IF, WHILE and CALL of the file as nodes with regions, or as calls of functions that are imported once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tflmgen.frontend.import_block import Scope, Wanted, import_block
from tflmgen.frontend.import_build import Builder, new_extents
from tflmgen.frontend.import_context import Argument, Context, Handle, difference
from tflmgen.frontend.import_if import import_if
from tflmgen.frontend.import_regions import Region, arguments_agree, failed, same_count, values_of
from tflmgen.frontend.import_while import import_while
from tflmgen.frontend.shape_bounds import is_open
from tflmgen.frontend.subgraphs import CALLS, CONTROL_FLOW, assigning_subgraphs, references, stateful_subgraphs
from tflmgen.frontend.tflite.model import Operator, SubGraph
from tflmgen.ir import Block, Bound, Call, DType, Function, Node, Origin, TensorType, Value


@dataclass(frozen=True, slots=True)
class _Saved:
    """The state of an import before an attempt."""

    problems: int
    notes: int
    names: Counter[str]
    known: dict[object, Function]
    functions: int


class ControlFlowImporter:
    """Imports subgraphs: as regions where one operator refers to them, else as functions.

    A function has an int32 for each dimension of its inputs and results that is known at run time only: after its own
    inputs and results, before the persistent variables.
    """

    def __init__(self, context: Context, shared: set[int]) -> None:
        self._context = context
        self._shared = shared
        self._stateful = stateful_subgraphs(context.model, context.operators)
        self._assigning = assigning_subgraphs(context.model, context.operators)
        self._names: Counter[str] = Counter()
        self._known: dict[object, Function] = {}
        self._dynamic: dict[str, tuple[tuple[int, int], ...]] = {}
        # Of each function: the results, and which of their axes, that its further results tell the extents of.
        self.functions: list[Function] = []

    def assigns(self, target: SubGraph) -> bool:
        return target.index in self._assigning

    def save(self) -> _Saved:
        context = self._context
        known, names = dict(self._known), Counter(self._names)
        return _Saved(len(context.problems), len(context.notes), names, known, len(self.functions))

    def restore(self, saved: object) -> None:
        assert isinstance(saved, _Saved)
        del self._context.problems[saved.problems :], self._context.notes[saved.notes :]
        del self.functions[saved.functions :]
        self._names, self._known = Counter(saved.names), dict(saved.known)

    def function(self, subgraph: SubGraph, arguments: Sequence[Argument | TensorType], wanted: Wanted = ()) -> Function:
        """The function for a subgraph, for these argument types (and variables, where handles are passed).

        Bounds as dimensions of a type make that input dynamic.
        """
        types = tuple(self._context.bound_type(a) if isinstance(a, Value) else a for a in arguments)
        key = (subgraph.index, types, tuple(tuple(sorted(sizes.items())) for sizes in wanted))
        if key not in self._known:
            self._known[key] = self._import_function(subgraph, types, wanted)
            self.functions.append(self._known[key])
        return self._known[key]

    def _import_function(
        self, subgraph: SubGraph, arguments: Sequence[Handle | TensorType], wanted: Wanted
    ) -> Function:
        context = self._context
        start = Builder(context, Origin(subgraph.index, subgraph.name, 0, "INPUT"))
        inputs: list[Argument] = []
        inside: list[Argument] = []
        extents: list[Value] = []
        for index, argument in zip(subgraph.inputs, arguments, strict=True):
            if isinstance(argument, Handle):
                inputs.append(argument)
                inside.append(argument)
                continue
            value = context.value(subgraph.tensors[index].name, argument.with_shape(argument.max_shape))
            inputs.append(value)
            inside.append(value)
            if not argument.is_static:
                axes = [axis for axis, dim in enumerate(argument.shape) if isinstance(dim, Bound)]
                context.extents[value] = new_extents(context, value, axes)
                extents += context.extents[value].values()
                if value.type.dtype is DType.BOOL and axes == [0]:
                    # Callers leave any bytes in the rows not in use, and C wants bools to be bools.
                    inside[-1] = start.fill(value, 0)
        outer = context.contents
        context.contents = {}
        state = tuple(context.variables) if subgraph.index in self._stateful else ()
        for name in state:
            variable = context.variables[name]
            context.contents[name] = context.value(name, variable.type)
            if variable.initial is None:
                context.uninitialised.add(context.contents[name])
        entered = tuple(context.contents.values())
        block, _ = import_block(context, subgraph, inside, self.node, wanted)
        dynamic = [(i, axis) for i, v in enumerate(block.results) for axis in sorted(context.extents.get(v, {}))]
        lengths = (context.extents[block.results[i]][axis] for i, axis in dynamic)
        results = (*block.results, *lengths, *context.contents.values())
        block = replace(block, nodes=(*start.nodes, *block.nodes), results=results)
        context.contents = outer
        name = self.unique(subgraph.name or f"subgraph_{subgraph.index}")
        self._dynamic[name] = tuple(dynamic)
        return Function(name, (*values_of(inputs), *extents, *entered), block, state)

    def unique(self, name: str) -> str:
        """A name for a function that no other has."""
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}_{self._names[name]}"

    def node(self, scope: Scope, op: Operator, origin: Origin) -> tuple[Node, ...]:
        """The nodes of one IF, WHILE or CALL; its outputs are defined in `scope`."""
        if len(references(op)) != len(CONTROL_FLOW[op.name]):
            self._context.problem(origin, f"the options of {op.name} are missing: it names no subgraphs")
            return failed(scope, op)
        if -1 in op.inputs:
            self._context.problem(origin, f"operand {op.inputs.index(-1)} of {op.name} is absent")
            return failed(scope, op)
        operands = [scope.argument(i) for i in op.inputs]
        targets = [self._context.model.subgraphs[i] for i in references(op)]
        if op.name in CALLS:
            return self._call(scope, op, origin, operands, targets[0])
        lower = import_if if op.name == "IF" else import_while
        return lower(self, scope, op, origin, operands, targets)

    def region(self, target: SubGraph, arguments: Sequence[Argument], origin: Origin, wanted: Wanted = ()) -> Region:
        if target.index not in self._shared:
            return Region(*import_block(self._context, target, arguments, self.node, wanted))
        nodes, returned = self._invoke(target, arguments, origin, wanted)
        return Region(Block(nodes, values_of(returned), target.name), returned)

    def _invoke(
        self, target: SubGraph, arguments: Sequence[Argument], origin: Origin, wanted: Wanted
    ) -> tuple[tuple[Node, ...], tuple[Argument, ...]]:
        context = self._context
        function = self.function(target, arguments, wanted)
        values = values_of(arguments)
        extents = [extent for v in values for _, extent in sorted(context.extents.get(v, {}).items())]
        inputs = (*values, *extents, *(context.contents[n] for n in function.state))
        outputs = tuple(context.value(v.name, v.type) for v in function.body.results)
        state = len(outputs) - len(function.state)
        context.contents.update(zip(function.state, outputs[state:], strict=True))
        dynamic = self._dynamic[function.name]
        own = state - len(dynamic)
        for at, (i, axis) in enumerate(dynamic):
            context.extents.setdefault(outputs[i], {})[axis] = outputs[own + at]
        call = Call(context.new_id(), function.name, inputs, outputs, origin)
        return (call,), outputs[:own]

    def _call(
        self, scope: Scope, op: Operator, origin: Origin, operands: list[Argument], target: SubGraph
    ) -> tuple[Node, ...]:
        context = self._context
        fine = arguments_agree(context, origin, "input of", operands, target)
        fine &= same_count(context, origin, "output of", len(op.outputs), "result", target, len(target.outputs))
        if not fine:
            return failed(scope, op)
        nodes, returned = self._invoke(target, operands, origin, [scope.most.get(i, {}) for i in op.outputs])
        for position, (index, value) in enumerate(zip(op.outputs, returned, strict=True)):
            assert isinstance(value, Value)
            outer, inner = scope.subgraph.tensors[index], target.tensors[target.outputs[position]]
            any_shape = is_open(outer) or value in context.extents
            reason = difference(context.declared(scope.subgraph, index), value.type, any_shape)
            if reason:
                context.problem(origin, f"output of {position} ('{inner.name}'): {reason}")
            scope.bind(index, value)
        return nodes
