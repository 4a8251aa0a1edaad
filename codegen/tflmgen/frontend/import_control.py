"""Imports IF, WHILE and CALL: as nodes with regions, or as calls of functions that are imported once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tflmgen.frontend.import_block import OutputBounds, Scope, import_block
from tflmgen.frontend.import_build import Builder, new_extents
from tflmgen.frontend.import_context import Argument, Context, VariableHandle, difference
from tflmgen.frontend.import_if import import_if
from tflmgen.frontend.import_regions import (
    ImportedRegion,
    arguments_agree,
    counts_agree,
    failed_outputs,
    without_handles,
)
from tflmgen.frontend.import_while import import_while
from tflmgen.frontend.kept_state import assigning_subgraphs, stateful_subgraphs
from tflmgen.frontend.model_graph.subgraphs import CALLS, CONTROL_FLOW, references
from tflmgen.frontend.shape_bounds import is_open
from tflmgen.frontend.tflite.model import FileOperator, SubGraph
from tflmgen.ir import Bound, DType, TensorType
from tflmgen.ir.graph import Block, Call, Function, Node, Origin, Value


@dataclass(frozen=True, slots=True)
class _Saved:
    """State of an import to return to: lengths of its lists, and copies of its tables."""

    problems: int
    notes: int
    names: Counter[str]
    imported: dict[object, Function]
    functions: int


class ControlFlowImporter:
    """Imports subgraphs: as regions if a single operator refers to them, else as functions.

    Inputs and results of a function, in order: tensors of the subgraph; extents (int32 scalars) of their dynamic
    dimensions; persistent variables.
    """

    def __init__(self, context: Context, shared: set[int]) -> None:
        self._context = context
        self._shared = shared
        self._stateful = stateful_subgraphs(context.model, context.operators)
        self._assigning = assigning_subgraphs(context.model, context.operators)
        self._names: Counter[str] = Counter()
        self._imported: dict[object, Function] = {}
        self._dynamic: dict[str, tuple[tuple[int, int], ...]] = {}
        # Function name -> (result, axis) of each extent among the function's results, in order.
        self.functions: list[Function] = []

    def assigns(self, target: SubGraph) -> bool:
        """Whether the subgraph, or one that it calls, assigns to a variable."""
        return target.index in self._assigning

    def save(self) -> _Saved:
        """Records what has been imported so far, for `restore`."""
        context = self._context
        imported, names = dict(self._imported), Counter(self._names)
        return _Saved(len(context.problems), len(context.notes), names, imported, len(self.functions))

    def restore(self, saved: object) -> None:
        """Forgets all functions, problems and notes since `save`."""
        assert isinstance(saved, _Saved)
        del self._context.problems[saved.problems :], self._context.notes[saved.notes :]
        del self.functions[saved.functions :]
        self._names, self._imported = Counter(saved.names), dict(saved.imported)

    def function(
        self, subgraph: SubGraph, arguments: Sequence[Argument | TensorType], output_bounds: OutputBounds = ()
    ) -> Function:
        """Function of a subgraph for these argument types, imported on first use.

        Handles bind variables. A Bound as a dimension of a type makes that input dynamic.
        """
        types = tuple(self._context.bound_type(a) if isinstance(a, Value) else a for a in arguments)
        signature = (subgraph.index, types, tuple(tuple(sorted(sizes.items())) for sizes in output_bounds))
        if signature not in self._imported:
            self._imported[signature] = self._import_function(subgraph, types, output_bounds)
            self.functions.append(self._imported[signature])
        return self._imported[signature]

    def _import_function(
        self, subgraph: SubGraph, arguments: Sequence[VariableHandle | TensorType], output_bounds: OutputBounds
    ) -> Function:
        context = self._context
        prologue = Builder(context, Origin(subgraph.index, subgraph.name, 0, "INPUT"))
        inputs: list[Argument] = []
        arguments_inside: list[Argument] = []
        extents: list[Value] = []
        for index, argument in zip(subgraph.inputs, arguments, strict=True):
            if isinstance(argument, VariableHandle):
                inputs.append(argument)
                arguments_inside.append(argument)
                continue
            value = context.value(subgraph.tensors[index].name, argument.with_shape(argument.max_shape))
            inputs.append(value)
            arguments_inside.append(value)
            if not argument.is_static:
                axes = [axis for axis, dim in enumerate(argument.shape) if isinstance(dim, Bound)]
                context.extents[value] = new_extents(context, value, axes)
                extents += context.extents[value].values()
                if value.type.dtype is DType.BOOL and axes == [0]:
                    # Rows not in use hold arbitrary bytes, but a C bool must be 0 or 1.
                    arguments_inside[-1] = prologue.fill(value, 0)
        outer_contents = context.contents
        state = tuple(context.variables) if subgraph.index in self._stateful else ()
        context.contents = {name: self._state_value(name) for name in state}
        initial_state = tuple(context.contents.values())
        block, _ = import_block(context, subgraph, arguments_inside, self.node, output_bounds)
        dynamic = [(i, axis) for i, v in enumerate(block.results) for axis in sorted(context.extents.get(v, {}))]
        dynamic_extents = (context.extents[block.results[i]][axis] for i, axis in dynamic)
        results = (*block.results, *dynamic_extents, *context.contents.values())
        block = replace(block, nodes=(*prologue.nodes, *block.nodes), results=results)
        context.contents = outer_contents
        name = self.unique(subgraph.name or f"subgraph_{subgraph.index}")
        self._dynamic[name] = tuple(dynamic)
        return Function(name, (*without_handles(inputs), *extents, *initial_state), block, state)

    def _state_value(self, name: str) -> Value:
        """The Value that a variable has on entry of a function."""
        context = self._context
        variable = context.variables[name]
        value = context.value(name, variable.type)
        if variable.initial is None:
            context.uninitialised.add(value)
        return value

    def unique(self, name: str) -> str:
        """A function name that is not in use: `name`, or `name` with a number."""
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}_{self._names[name]}"

    def node(self, scope: Scope, op: FileOperator, origin: Origin) -> tuple[Node, ...]:
        """Nodes of one IF, WHILE or CALL; defines its outputs in `scope`."""
        if len(references(op)) != len(CONTROL_FLOW[op.name]):
            self._context.problem(origin, f"{op.name} requires options that name its subgraphs")
            return failed_outputs(scope, op)
        if -1 in op.inputs:
            self._context.problem(origin, f"{op.name} requires all operands; operand {op.inputs.index(-1)} is absent")
            return failed_outputs(scope, op)
        operands = [scope.argument(i) for i in op.inputs]
        targets = [self._context.model.subgraphs[i] for i in references(op)]
        if op.name in CALLS:
            return self._call(scope, op, origin, operands, targets[0])
        lower = import_if if op.name == "IF" else import_while
        return lower(self, scope, op, origin, operands, targets)

    def region(
        self, target: SubGraph, arguments: Sequence[Argument], origin: Origin, output_bounds: OutputBounds = ()
    ) -> ImportedRegion:
        """The subgraph as a region with these operands: inlined if one operator alone refers to it, else a call."""
        if target.index not in self._shared:
            return ImportedRegion(*import_block(self._context, target, arguments, self.node, output_bounds))
        nodes, returned = self._invoke(target, arguments, origin, output_bounds)
        return ImportedRegion(Block(nodes, without_handles(returned), target.name), returned)

    def _invoke(
        self, target: SubGraph, arguments: Sequence[Argument], origin: Origin, output_bounds: OutputBounds
    ) -> tuple[tuple[Node, ...], tuple[Argument, ...]]:
        context = self._context
        function = self.function(target, arguments, output_bounds)
        values = without_handles(arguments)
        extents = [extent for v in values for _, extent in sorted(context.extents.get(v, {}).items())]
        inputs = (*values, *extents, *(context.contents[n] for n in function.state))
        outputs = tuple(context.value(v.name, v.type) for v in function.body.results)
        state = len(outputs) - len(function.state)
        context.contents.update(zip(function.state, outputs[state:], strict=True))
        dynamic = self._dynamic[function.name]
        result_count = state - len(dynamic)
        for position, (i, axis) in enumerate(dynamic):
            context.extents.setdefault(outputs[i], {})[axis] = outputs[result_count + position]
        call = Call(context.new_id(), function.name, inputs, outputs, origin)
        return (call,), outputs[:result_count]

    def _call(
        self, scope: Scope, op: FileOperator, origin: Origin, operands: list[Argument], target: SubGraph
    ) -> tuple[Node, ...]:
        context = self._context
        agrees = arguments_agree(context, origin, "input of", operands, target)
        agrees &= counts_agree(context, origin, "output of", len(op.outputs), "result", target, len(target.outputs))
        if not agrees:
            return failed_outputs(scope, op)
        nodes, returned = self._invoke(target, operands, origin, [scope.max_dims.get(i, {}) for i in op.outputs])
        for position, (index, value) in enumerate(zip(op.outputs, returned, strict=True)):
            assert isinstance(value, Value)
            outer, inner = scope.subgraph.tensors[index], target.tensors[target.outputs[position]]
            any_shape = is_open(outer) or value in context.extents
            reason = difference(context.declared(scope.subgraph, index), value.type, any_shape)
            if reason:
                context.problem(origin, f"output of {position} ('{inner.name}'): {reason}")
            scope.bind(index, value)
        return nodes
