"""Imports a subgraph of the file as a Block: checks operators, folds constants, delegates control flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tflmgen.errors import Problem
from tflmgen.frontend.empty_products import with_depth
from tflmgen.frontend.import_context import Argument, Context, VariableHandle
from tflmgen.frontend.import_row_call import DynamicCall, RowError, inferred
from tflmgen.frontend.import_row_shapes import is_sized_at_run_time, track_sizes
from tflmgen.frontend.import_rows import import_rows
from tflmgen.frontend.kept_state import keeps_state, state_name, state_of, state_problems, updated_tensors
from tflmgen.frontend.model_graph.subgraphs import CONTROL_FLOW
from tflmgen.frontend.operator_check import check_operator
from tflmgen.frontend.shape_bounds import is_open
from tflmgen.frontend.tensor_lists import RowStore, row_stores
from tflmgen.frontend.tflite.model import FileOperator, SubGraph
from tflmgen.frontend.tflite.unused_tensors import unread_after
from tflmgen.frontend.variables import variable_name, variable_tensor_name
from tflmgen.ir import TensorType
from tflmgen.ir.graph import Block, Node, Op, Origin, Value
from tflmgen.kernels import fold, instance_of, traits_of
from tflmgen.kernels.specification import INTERMEDIATES, State

OutputBounds = Sequence[Mapping[int, int]]
"""Per output of a subgraph: axis -> upper bound of that dimension, where known."""

ControlFlow = Callable[["Scope", FileOperator, Origin], tuple[Node, ...]]


class Scope:
    """Values of one subgraph during its import, by tensor index."""

    def __init__(
        self, context: Context, subgraph: SubGraph, arguments: Sequence[Argument], output_bounds: OutputBounds = ()
    ) -> None:
        self.context = context
        self.subgraph = subgraph
        self.max_dims = _max_dims(context, subgraph, output_bounds)
        """Tensor index -> axis -> upper bound of that dimension, where known."""
        self._values: dict[int, Argument] = dict(zip(subgraph.inputs, arguments, strict=True))
        context.note_shapes(subgraph.index, self._values)

    def argument(self, index: int) -> Argument:
        """Value of a tensor; for a resource tensor, the handle of its variable."""
        tensor = self.subgraph.tensors[index]
        if tensor.is_variable:
            return self.context.contents[variable_tensor_name(self.subgraph, tensor)]
        if index not in self._values:
            if tensor.data is None:
                # An earlier operator failed its checks: define its outputs so that later operators are checked too.
                return self.define(index)
            type_ = self.context.declared(self.subgraph, index)
            key = f"{self.subgraph.index}.{index}"
            self._values[index] = self.context.constant(tensor.name, type_, tensor.data, key)
        return self._values[index]

    def read(self, index: int) -> Value:
        """Value of a tensor. A static tensor without elements is always a constant. Reports resource handles."""
        argument = self.argument(index)
        if isinstance(argument, Value) and not (
            argument.type.elements or argument.is_constant or self._is_open(argument)
        ):
            return self.context.folded(argument.name, argument.type, b"")
        if isinstance(argument, VariableHandle):
            tensor = self.subgraph.tensors[index]
            self.context.tensor_problem(self.subgraph, tensor, "a resource handle is used as a tensor")
            return self.define(index)
        return argument

    def _is_open(self, value: Value) -> bool:
        """Whether the shape is known at run time only."""
        return value in self.context.open or value in self.context.extents

    def define(self, index: int, type_: TensorType | None = None) -> Value:
        """A new value for a tensor of the file, of its declared type or of `type_`, which later reads find."""
        name = self.subgraph.tensors[index].name
        value = self.context.value(name, type_ or self.context.declared(self.subgraph, index))
        self.bind(index, value)
        return value

    def stand_in(self, op: FileOperator) -> None:
        """Defines the outputs of an operator that failed its checks, so that their readers are checked too."""
        for index in op.outputs:
            if self.subgraph.tensors[index].dtype is not None:
                self.define(index)

    def bind(self, index: int, argument: Argument) -> None:
        """Makes a tensor stand for a value or a variable that exists already."""
        self._values[index] = argument
        self.context.note_tensor((self.subgraph.index, index), argument)


def import_block(
    context: Context,
    subgraph: SubGraph,
    arguments: Sequence[Argument],
    control_flow: ControlFlow,
    output_bounds: OutputBounds,
) -> tuple[Block, tuple[Argument, ...]]:
    """Block of a subgraph, and its results (values and handles) in the file's order.

    The block's own results are these values without the handles. `control_flow` imports IF, WHILE and CALL.
    """
    scope = Scope(context, subgraph, arguments, output_bounds)
    stores = row_stores(subgraph)
    skipped = unread_after(subgraph, {index: store.reads for index, store in stores.items()})
    nodes: list[Node] = []
    for op in subgraph.operators:
        if op.index in skipped:
            continue
        origin = Origin(subgraph.index, subgraph.name, op.index, op.name)
        if op.name in CONTROL_FLOW:
            nodes += control_flow(scope, op, origin)
        elif op.name in _VARIABLES:
            lower, *counts = _VARIABLES[op.name]
            if counts == [len(op.inputs), len(op.outputs)] and -1 not in op.inputs:
                nodes += lower(scope, op, origin)
            else:
                context.problem(origin, f"{op.name} requires {counts[0]} inputs and {counts[1]} outputs")
                scope.stand_in(op)
        elif op.index in stores:
            nodes += _row_store(scope, op, origin, stores[op.index])
        else:
            nodes += _operator(scope, op, origin)
    returned = tuple(scope.argument(i) for i in subgraph.outputs)
    return Block(tuple(nodes), tuple(r for r in returned if isinstance(r, Value)), subgraph.name), returned


def _operator(scope: Scope, op: FileOperator, origin: Origin) -> tuple[Node, ...]:
    context, subgraph = scope.context, scope.subgraph
    inputs = tuple(scope.read(i) if i >= 0 else None for i in op.inputs)
    open_problems = [context.open[v] for v in inputs if v in context.open]
    declared = tuple(context.declared(subgraph, i) for i in op.outputs)
    if open_problems:
        context.open |= dict.fromkeys(map(scope.define, op.outputs, declared), open_problems[0])
        return ()
    if op.name != "RANK" and any(v in context.extents for v in inputs if v is not None):
        return _dynamic_operator(scope, op, origin, inputs, declared)
    inputs = with_depth(context, op, inputs, declared)
    open_shapes = tuple(is_open(subgraph.tensors[i]) for i in op.outputs)
    if any(open_shapes):
        inferred_types = inferred(context, op, inputs, declared)
        declared = tuple(k if o else d for k, d, o in zip(inferred_types, declared, open_shapes, strict=True))
    described = _with_intermediates(op, subgraph)
    checked = check_operator(described, inputs, declared, open_shapes, context.constants, context.operators)
    problems = checked.problems or state_problems(op, subgraph, context.operators)
    state_names: tuple[str, ...] = ()
    if not problems and not checked.open and keeps_state(op, context.operators):
        instance = instance_of(inputs, checked.outputs, checked.attributes, context.constants)
        state_names, problems = _state_variables(context, subgraph, op, state_of(op, instance, context.operators))
    if (checked.open or (checked.problems and any(open_shapes))) and is_sized_at_run_time(op.name, inputs):
        return _dynamic_operator(scope, op, origin, inputs, declared)
    for sentence in problems:
        context.problem(origin, sentence)
    outputs = tuple(scope.define(i, t) for i, t in zip(op.outputs, checked.outputs, strict=True))
    if checked.open:
        context.open |= dict.fromkeys(outputs, Problem(context.location(origin), checked.open, _BOUND_ADVICE))
    elif problems and any(open_shapes):  # the inferred shape may be impossible: what reads it has no problem of its own
        context.open |= dict.fromkeys(outputs, context.problems[-1])
    if checked.open or problems:
        return ()
    if not any(v.type.elements for v in outputs) and not (state_names or context.operators[op.name].updates):
        return _bind_empty(scope, op, outputs)
    if _fold(scope, op, inputs, outputs, checked.attributes):
        return ()
    _check_data(scope, op, inputs, origin)
    track_sizes(context, op.name, inputs, outputs, checked.attributes)
    old_state = (context.contents[name] for name in state_names)
    inputs, updated = (*inputs, *old_state), _update_variables(scope, op, state_names)
    return (Op(context.new_id(), op.name, inputs, (*outputs, *updated), checked.attributes, origin),)


def _lacks_data(scope: Scope, op: FileOperator, inputs: Sequence[Value | None]) -> bool:
    """Whether a non-constant operand has no elements. An empty constant is valid data: an empty list of axes."""
    tensors = [scope.subgraph.tensors[i] for i, v in zip(op.inputs, inputs, strict=True) if v and not v.type.elements]
    return any(0 in tensor.shape and tensor.data is None and not is_open(tensor) for tensor in tensors)


def _check_data(scope: Scope, op: FileOperator, inputs: Sequence[Value | None], origin: Origin) -> None:
    """Reports an operand without data that the operator computes elements from."""
    if _lacks_data(scope, op, inputs) and not traits_of(op.name, scope.context.operators).takes_nothing:
        scope.context.problem(origin, f"{op.name} computes elements from an operand without any")


def _bind_empty(scope: Scope, op: FileOperator, outputs: Sequence[Value]) -> tuple[Node, ...]:
    """Binds the outputs of an operator that computes no elements to empty constants; returns no nodes."""
    for index, value in zip(op.outputs, outputs, strict=True):
        scope.bind(index, scope.context.folded(value.name, value.type, b""))
    return ()


def _state_variables(
    context: Context, subgraph: SubGraph, op: FileOperator, states: Sequence[State]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the variables that hold the operator's state, and problems with them; one of both is empty."""
    names = tuple(state_name(subgraph, op, index) for index in range(len(states)))
    types = [context.variables[name].type if name in context.variables else None for name in names]
    if types == [state.type for state in states]:
        return names, ()
    return (), (f"{op.name} requires a state of static shape",)


def _with_intermediates(op: FileOperator, subgraph: SubGraph) -> FileOperator:
    """The operator with the quantisation of its intermediate tensors as the option INTERMEDIATES."""
    if not op.intermediates or op.options is None:
        return op
    quantizations = tuple(subgraph.tensors[i].quantization if i >= 0 else None for i in op.intermediates)
    return replace(op, options={**op.options, INTERMEDIATES: quantizations})


def _update_variables(scope: Scope, op: FileOperator, state_names: Sequence[str]) -> list[Value]:
    """New values of the variable tensors that an operator updates, then of its own state."""
    updated = []
    for tensor in updated_tensors(op, scope.subgraph, scope.context.operators):
        if tensor.is_variable:
            updated.append(_update_variable(scope, variable_tensor_name(scope.subgraph, tensor)))
        else:
            type_ = scope.context.declared(scope.subgraph, tensor.index)
            updated.append(scope.context.value(f"{tensor.name}_after", type_))
    return [*updated, *(_update_variable(scope, name) for name in state_names)]


def _update_variable(scope: Scope, name: str) -> Value:
    value = scope.context.value(name, scope.context.variables[name].type)
    scope.context.contents[name] = value
    return value


def _dynamic_operator(
    scope: Scope, op: FileOperator, origin: Origin, inputs: tuple[Value | None, ...], declared: tuple[TensorType, ...]
) -> tuple[Node, ...]:
    tensors = tuple(scope.subgraph.tensors[i] for i in op.outputs)
    max_dims = scope.max_dims.get(op.outputs[0], {}) if op.outputs else {}
    described = _with_intermediates(op, scope.subgraph)
    try:
        imported = import_rows(scope.context, DynamicCall(described, origin, inputs, tensors, declared, max_dims))
    except RowError as error:
        problem = Problem(scope.context.location(origin), str(error), _BOUND_ADVICE)
        for index, type_ in zip(op.outputs, declared, strict=True):
            scope.context.open[scope.define(index, type_)] = problem
        return ()
    outputs, updated = imported.outputs[: len(op.outputs)], imported.outputs[len(op.outputs) :]
    for index, value in zip(op.outputs, outputs, strict=True):
        scope.bind(index, value)
    for sentence in state_problems(op, scope.subgraph, scope.context.operators) if updated else ():
        scope.context.problem(origin, sentence)
        return ()
    if updated:
        states = zip(updated_tensors(op, scope.subgraph, scope.context.operators), updated, strict=True)
        names = {variable_tensor_name(scope.subgraph, t): value for t, value in states if t.is_variable}
        scope.context.contents.update(names)
    return tuple(imported.nodes)


def _max_dims(context: Context, subgraph: SubGraph, output_bounds: OutputBounds) -> dict[int, dict[int, int]]:
    """Tensor index -> axis -> upper bound: from the user's options, or derived from the bounds of the outputs."""
    max_dims = {
        tensor: dict(enumerate(sizes))
        for (graph, tensor), sizes in context.bounds.tensors.items()
        if graph == subgraph.index
    }
    for index, bounds in zip(subgraph.outputs, output_bounds, strict=False):
        tensor_dims = max_dims.setdefault(index, {})
        tensor_dims.update((axis, min(size, tensor_dims.get(axis, size))) for axis, size in bounds.items())
    for op in reversed(subgraph.operators):
        traits = traits_of(op.name, context.operators)
        if traits.is_row_wise_by_shape and op.outputs and max_dims.get(op.outputs[0]):
            rank = len(subgraph.tensors[op.outputs[0]].shape)
            for index in op.inputs:
                if index >= 0 and not traits.concatenates and is_open(subgraph.tensors[index]):
                    has_equal_axes = traits.elementwise and len(subgraph.tensors[index].shape) == rank
                    output_dims = max_dims[op.outputs[0]]
                    input_dims = max_dims.setdefault(index, {})
                    for axis, size in output_dims.items():
                        if has_equal_axes or axis == 0:
                            input_dims.setdefault(axis, size)
    return {tensor: sizes for tensor, sizes in max_dims.items() if sizes}


_BOUND_ADVICE = (
    "Without --max-shape and --max-dim, inputs have the shapes that the file stores; or convert the model with static "
    "shapes"
)

_SHAPE_ELEMENTS = 64
"""Elements of an output up to which the importer folds any operator: shapes and permutations are no larger."""

_WEIGHT_DECODERS = ("DEQUANTIZE", "CUSTOM:TFLM_DECODE")


def _fold(
    scope: Scope, op: FileOperator, inputs: Sequence[Value | None], outputs: Sequence[Value], attributes: object
) -> bool:
    """Evaluates an operator on constants if its outputs are small, since later shapes may depend on them.

    Dequantised and decoded weights of any size are folded too: operators may require constant weights. Dequantised
    lookup tables are not, since only a few rows are read. The passes fold everything else.
    """
    is_small = all(v.type.is_static and v.type.elements <= _SHAPE_ELEMENTS for v in outputs)
    if not (is_small or _lacks_data(scope, op, inputs)) and (
        op.name not in _WEIGHT_DECODERS or (op.name == "DEQUANTIZE" and _is_lookup_table(scope.subgraph, op.outputs[0]))
    ):
        return False
    context = scope.context
    arrays = fold(
        op.name, instance_of(inputs, [v.type for v in outputs], attributes, context.constants), context.operators
    )
    if arrays is None:
        return False
    for index, value, array in zip(op.outputs, outputs, arrays, strict=True):
        data = np.ascontiguousarray(array, value.type.dtype.numpy).tobytes()
        scope.bind(index, context.folded(value.name, value.type, data))
    return True


def _is_lookup_table(subgraph: SubGraph, tensor: int) -> bool:
    """Whether the tensor has readers in this subgraph and all of them gather rows from it."""
    readers = [op for op in subgraph.operators if tensor in op.inputs]
    only_gathered = all(op.inputs.index(tensor) == traits_of(op.name).roles.table for op in readers)
    return bool(readers) and only_gathered and tensor not in subgraph.outputs


def _row_store(scope: Scope, op: FileOperator, origin: Origin, store: RowStore) -> tuple[Node, ...]:
    """ROW_STORE node: `list` with its row `index` replaced by `row` (a lowered TensorListSetItem)."""
    source, index, row = (scope.read(i) for i in (store.list, store.index, store.row))
    output = scope.context.value(scope.subgraph.tensors[op.outputs[0]].name, source.type)
    if source in scope.context.extents:
        scope.context.extents[output] = scope.context.extents[source]
    scope.bind(op.outputs[0], output)
    return (Op(scope.context.new_id(), "ROW_STORE", (source, index, row), (output,), None, origin),)


def _handle(scope: Scope, op: FileOperator, origin: Origin) -> tuple[Node, ...]:
    del origin
    scope.bind(op.outputs[0], VariableHandle(variable_name(op)))
    return ()


def _read_variable(scope: Scope, op: FileOperator, origin: Origin) -> tuple[Node, ...]:
    name = _variable_of(scope, op, origin)
    if name is None:
        scope.define(op.outputs[0])
        return ()
    context = scope.context
    contents = context.contents[name]
    if contents in context.uninitialised:
        context.problem(origin, f"reads variable '{name}' before anything initialises or assigns it", _FREEZE)
    tensor = scope.subgraph.tensors[op.outputs[0]]
    if contents.type.dtype is not tensor.dtype or (contents.type.shape != tensor.shape and not is_open(tensor)):
        context.problem(origin, f"variable '{name}' holds {contents.type}, but is read as {tensor.type_name}")
    scope.bind(op.outputs[0], contents)
    return ()


_FREEZE = "Convert the model with its variables initialised, or frozen"


def _assign_variable(scope: Scope, op: FileOperator, origin: Origin) -> tuple[Node, ...]:
    name = _variable_of(scope, op, origin)
    if name is None:
        return ()
    context, value = scope.context, scope.read(op.inputs[1])
    declared = context.variables[name].type
    assigned = context.bound_type(value)
    if assigned.dtype is not declared.dtype or assigned.shape != declared.shape:
        context.problem(origin, f"variable '{name}' holds {declared}, but is assigned {assigned}")
        return ()
    context.contents[name] = value
    return ()


def _call_once(scope: Scope, op: FileOperator, origin: Origin) -> tuple[Node, ...]:
    """No nodes: variables start with the contents that the initialisation assigns."""
    del scope, op, origin
    return ()


def _variable_of(scope: Scope, op: FileOperator, origin: Origin) -> str | None:
    handle = scope.argument(op.inputs[0]) if op.inputs else None
    if not isinstance(handle, VariableHandle):
        scope.context.problem(origin, f"the first input of {op.name} must be the handle of a variable")
        return None
    if handle.variable not in scope.context.contents:
        scope.context.problem(origin, f"uses variable '{handle.variable}', which nothing initialises", _FREEZE)
        return None
    return handle.variable


_VARIABLES = {
    "VAR_HANDLE": (_handle, 0, 1),
    "READ_VARIABLE": (_read_variable, 1, 1),
    "ASSIGN_VARIABLE": (_assign_variable, 2, 0),
    "CALL_ONCE": (_call_once, 0, 0),
}
"""Operators on variables: importing function, number of inputs, number of outputs."""
