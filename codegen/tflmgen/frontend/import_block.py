"""One subgraph of the file becomes one Block: its operators checked, constants folded, control flow handed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tflmgen.errors import Problem
from tflmgen.frontend.import_context import Argument, Context, Handle
from tflmgen.frontend.import_row_call import RowCall, RowError, inferred
from tflmgen.frontend.import_row_shapes import is_sized_at_run_time, track_largest
from tflmgen.frontend.import_rows import import_rows
from tflmgen.frontend.kept_state import keeps_state, state_name, state_of
from tflmgen.frontend.operator_check import check_operator
from tflmgen.frontend.shape_bounds import is_open
from tflmgen.frontend.subgraphs import CONTROL_FLOW
from tflmgen.frontend.tensor_lists import RowStore, absorbed, row_stores
from tflmgen.frontend.tflite.model import Operator, SubGraph
from tflmgen.frontend.variables import variable_name, variable_tensor_name
from tflmgen.ir import Block, Node, Op, Origin, TensorType, Value
from tflmgen.kernels import INTERMEDIATES, TABLE, State, fold, instance_of, traits_of

Wanted = Sequence[Mapping[int, int]]
"""By axis, how much each output of a subgraph has room for, where that is known."""

ControlFlow = Callable[["Scope", Operator, Origin], tuple[Node, ...]]


class Scope:
    """The values of one subgraph while it is imported, by tensor index."""

    def __init__(
        self, context: Context, subgraph: SubGraph, arguments: Sequence[Argument], wanted: Wanted = ()
    ) -> None:
        self.context = context
        self.subgraph = subgraph
        self.most = _most_rows(context, subgraph, wanted)
        """Tensor index -> by axis, the most that it may have, where something says so."""
        self._values: dict[int, Argument] = dict(zip(subgraph.inputs, arguments, strict=True))

    def argument(self, index: int) -> Argument:
        """The value of a tensor, or the variable that it stands for."""
        tensor = self.subgraph.tensors[index]
        if tensor.is_variable:
            return self.context.contents[variable_tensor_name(self.subgraph, tensor)]
        if index not in self._values:
            if tensor.data is None:
                # An operator before failed its checks; its outputs stand in so that the rest is checked too.
                return self.define(index)
            type_ = self.context.declared(self.subgraph, index)
            key = f"{self.subgraph.index}.{index}"
            self._values[index] = self.context.constant(tensor.name, type_, tensor.data, key)
        return self._values[index]

    def read(self, index: int) -> Value:
        """The value of a tensor; one without elements is a constant, wherever it comes from."""
        found = self.argument(index)
        if isinstance(found, Value) and not (found.type.elements or found.is_constant or self._is_open(found)):
            return self.context.folded(found.name, found.type, b"")
        if isinstance(found, Handle):
            tensor = self.subgraph.tensors[index]
            self.context.tensor_problem(self.subgraph, tensor, "a resource handle is used as a tensor")
            return self.define(index)
        return found

    def _is_open(self, value: Value) -> bool:
        """Whether the shape is known at run time only."""
        return value in self.context.open or value in self.context.extents

    def define(self, index: int, type_: TensorType | None = None) -> Value:
        name = self.subgraph.tensors[index].name
        value = self.context.value(name, type_ or self.context.declared(self.subgraph, index))
        self._values[index] = value
        return value

    def stand_in(self, op: Operator) -> None:
        """Defines the outputs of an operator that failed its checks, so that what reads them is checked too."""
        for index in op.outputs:
            if self.subgraph.tensors[index].dtype is not None:
                self.define(index)

    def bind(self, index: int, argument: Argument) -> None:
        self._values[index] = argument


def import_block(
    context: Context,
    subgraph: SubGraph,
    arguments: Sequence[Argument],
    control_flow: ControlFlow,
    wanted: Wanted = (),
) -> tuple[Block, tuple[Argument, ...]]:
    """The block of a subgraph, and what it returns in the file's order.

    The block's own results are the returned values without the handles. `control_flow` imports IF, WHILE and CALL;
    `wanted` says by axis how much each output has room for, where that is known.
    """
    scope = Scope(context, subgraph, arguments, wanted)
    stores = row_stores(subgraph)
    skipped = absorbed(subgraph, stores)
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
                context.problem(origin, f"{op.name} has {counts[0]} inputs and {counts[1]} outputs")
                scope.stand_in(op)
        elif op.index in stores:
            nodes += _row_store(scope, op, origin, stores[op.index])
        else:
            nodes += _operator(scope, op, origin)
    returned = tuple(scope.argument(i) for i in subgraph.outputs)
    return Block(tuple(nodes), tuple(r for r in returned if isinstance(r, Value)), subgraph.name), returned


def _operator(scope: Scope, op: Operator, origin: Origin) -> tuple[Node, ...]:
    context, subgraph = scope.context, scope.subgraph
    inputs = tuple(scope.read(i) if i >= 0 else None for i in op.inputs)
    unknown = [context.open[v] for v in inputs if v in context.open]
    declared = tuple(context.declared(subgraph, i) for i in op.outputs)
    if unknown:
        for i, type_ in zip(op.outputs, declared, strict=True):
            context.open[scope.define(i, type_)] = unknown[0]
        return ()
    if op.name != "RANK" and any(v in context.extents for v in inputs if v is not None):
        return _rows(scope, op, origin, inputs, declared)
    open_shapes = tuple(is_open(subgraph.tensors[i]) for i in op.outputs)
    if any(open_shapes):
        known = inferred(context, op, inputs, declared)
        declared = tuple(k if o else d for k, d, o in zip(known, declared, open_shapes, strict=True))
    checked = check_operator(
        _with_intermediates(op, subgraph), inputs, declared, open_shapes, context.constants, context.operators
    )
    problems = checked.problems or _state_problems(context, op, subgraph)
    kept: tuple[str, ...] = ()
    if not problems and not checked.open and keeps_state(op, context.operators):
        instance = instance_of(inputs, checked.outputs, checked.attributes, context.constants)
        kept, problems = _kept(context, subgraph, op, state_of(op, instance, context.operators))
    if (checked.open or (checked.problems and any(open_shapes))) and is_sized_at_run_time(op.name, inputs):
        return _rows(scope, op, origin, inputs, declared)
    for sentence in problems:
        context.problem(origin, sentence)
    outputs = tuple(scope.define(i, t) for i, t in zip(op.outputs, checked.outputs, strict=True))
    if checked.open:
        for value in outputs:
            context.open[value] = Problem(context.where(origin), checked.open, _BOUND_ADVICE)
        return ()
    if problems:
        return ()
    if not any(v.type.elements for v in outputs) and not (kept or context.operators[op.name].updates):
        return _nothing(scope, op, outputs)
    if _fold(scope, op, inputs, outputs, checked.attributes):
        return ()
    if _lacks_data(scope, op) and not traits_of(op.name, context.operators).takes_nothing:
        context.problem(origin, f"{op.name} computes elements from an operand without any")
    track_largest(context, op.name, inputs, outputs, checked.attributes)
    before = (context.contents[name] for name in kept)
    inputs, updated = (*inputs, *before), _update_variables(scope, op, kept)
    return (Op(context.new_id(), op.name, inputs, (*outputs, *updated), checked.attributes, origin),)


def _lacks_data(scope: Scope, op: Operator) -> bool:
    """Whether an operand has no elements, not counting the file's constants: no axes are a list of axes, too."""
    tensors = [scope.subgraph.tensors[i] for i in op.inputs if i >= 0]
    return any(0 in tensor.shape and tensor.data is None and not is_open(tensor) for tensor in tensors)


def _nothing(scope: Scope, op: Operator, outputs: Sequence[Value]) -> tuple[Node, ...]:
    """An operator that computes no elements is none."""
    for index, value in zip(op.outputs, outputs, strict=True):
        scope.bind(index, scope.context.folded(value.name, value.type, b""))
    return ()


def _kept(
    context: Context, subgraph: SubGraph, op: Operator, states: Sequence[State]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The variables that the operator's state is, or what is wrong with it."""
    names = tuple(state_name(subgraph, op, index) for index in range(len(states)))
    known = [context.variables[name].type if name in context.variables else None for name in names]
    if known == [state.type for state in states]:
        return names, ()
    return (), (f"the state of {op.name} has a shape that only the run time knows",)


def _with_intermediates(op: Operator, subgraph: SubGraph) -> Operator:
    """The operator with the quantisation of its intermediate tensors among its options."""
    if not op.intermediates or op.options is None:
        return op
    known = tuple(subgraph.tensors[i].quantization if i >= 0 else None for i in op.intermediates)
    return replace(op, options={**op.options, INTERMEDIATES: known})


def _state_problems(context: Context, op: Operator, subgraph: SubGraph) -> tuple[str, ...]:
    """What is wrong with the inputs that a well-formed operator updates."""
    states = [op.inputs[position] for position in context.operators[op.name].updates]
    if not all(subgraph.tensors[index].is_variable for index in states):
        return (f"{op.name} updates a tensor that is not a variable",)
    return (f"{op.name} updates one variable twice",) if len(set(states)) < len(states) else ()


def _update_variables(scope: Scope, op: Operator, kept: Sequence[str]) -> list[Value]:
    """New contents for the variable tensors that an operator updates, and for its own state."""
    updated = []
    tensors = [scope.subgraph.tensors[op.inputs[position]] for position in scope.context.operators[op.name].updates]
    for name in (*(variable_tensor_name(scope.subgraph, tensor) for tensor in tensors), *kept):
        updated.append(scope.context.value(name, scope.context.variables[name].type))
        scope.context.contents[name] = updated[-1]
    return updated


def _rows(
    scope: Scope, op: Operator, origin: Origin, inputs: tuple[Value | None, ...], declared: tuple[TensorType, ...]
) -> tuple[Node, ...]:
    tensors = tuple(scope.subgraph.tensors[i] for i in op.outputs)
    most = scope.most.get(op.outputs[0], {}) if op.outputs else {}
    try:
        imported = import_rows(scope.context, RowCall(op, origin, inputs, tensors, declared, most))
    except RowError as error:
        problem = Problem(scope.context.where(origin), str(error), _BOUND_ADVICE)
        for index, type_ in zip(op.outputs, declared, strict=True):
            scope.context.open[scope.define(index, type_)] = problem
        return ()
    for index, value in zip(op.outputs, imported.outputs, strict=True):
        scope.bind(index, value)
    return tuple(imported.nodes)


def _most_rows(context: Context, subgraph: SubGraph, wanted: Wanted) -> dict[int, dict[int, int]]:
    """The bounds of the subgraph's tensors that the user gives, or that follow from those of its outputs."""
    most = {
        tensor: dict(enumerate(sizes))
        for (graph, tensor), sizes in context.bounds.tensors.items()
        if graph == subgraph.index
    }
    for index, sizes_wanted in zip(subgraph.outputs, wanted, strict=False):
        own = most.setdefault(index, {})
        own.update((axis, min(size, own.get(axis, size))) for axis, size in sizes_wanted.items())
    for op in reversed(subgraph.operators):
        traits = traits_of(op.name, context.operators)
        if traits.is_row_wise_by_shape and op.outputs and most.get(op.outputs[0]):
            rank = len(subgraph.tensors[op.outputs[0]].shape)
            for index in op.inputs:
                if index >= 0 and op.name != "CONCATENATION" and is_open(subgraph.tensors[index]):
                    same = traits.elementwise and len(subgraph.tensors[index].shape) == rank
                    sizes_here = most[op.outputs[0]]
                    sizes_there = most.setdefault(index, {})
                    for axis, size in sizes_here.items():
                        if same or axis == 0:
                            sizes_there.setdefault(axis, size)
    return {tensor: sizes for tensor, sizes in most.items() if sizes}


_BOUND_ADVICE = "Convert the model with static shapes"


_SHAPE_ELEMENTS = 64
"""Shapes, permutations and the like have no more elements than this."""


_WEIGHTS = ("DEQUANTIZE", "CUSTOM:TFLM_DECODE")


def _fold(
    scope: Scope, op: Operator, inputs: Sequence[Value | None], outputs: Sequence[Value], attributes: object
) -> bool:
    """Evaluates small operators on constants: the shapes of later ones may hang on them. The passes fold the rest.

    What is dequantised or decoded is folded whatever its size: weights, which an operator may demand to be constant.
    Not so dequantised tables of which rows are picked.
    """
    small = all(v.type.is_static and v.type.elements <= _SHAPE_ELEMENTS for v in outputs)
    if not (small or _lacks_data(scope, op)) and (
        op.name not in _WEIGHTS or (op.name == "DEQUANTIZE" and _is_table(scope.subgraph, op.outputs[0]))
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


def _is_table(subgraph: SubGraph, tensor: int) -> bool:
    """Whether operators that pick rows read the tensor, and nothing else does in this subgraph."""
    readers = [op for op in subgraph.operators if tensor in op.inputs]
    picked = all(op.name in TABLE and op.inputs.index(tensor) == TABLE[op.name] for op in readers)
    return bool(readers) and picked and tensor not in subgraph.outputs


def _row_store(scope: Scope, op: Operator, origin: Origin, store: RowStore) -> tuple[Node, ...]:
    """`list` with its row `index` replaced by `row`: what the converter makes of TensorListSetItem."""
    source, index, row = (scope.read(i) for i in (store.list, store.index, store.row))
    output = scope.define(op.outputs[0], source.type)
    if source in scope.context.extents:
        scope.context.extents[output] = scope.context.extents[source]
    return (Op(scope.context.new_id(), "ROW_STORE", (source, index, row), (output,), None, origin),)


def _handle(scope: Scope, op: Operator, origin: Origin) -> tuple[Node, ...]:
    del origin
    scope.bind(op.outputs[0], Handle(variable_name(op)))
    return ()


def _read_variable(scope: Scope, op: Operator, origin: Origin) -> tuple[Node, ...]:
    name = _variable(scope, op, origin)
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


def _assign_variable(scope: Scope, op: Operator, origin: Origin) -> tuple[Node, ...]:
    name = _variable(scope, op, origin)
    if name is None:
        return ()
    context, value = scope.context, scope.read(op.inputs[1])
    declared = context.variables[name].type
    found = context.bound_type(value)
    if found.dtype is not declared.dtype or found.shape != declared.shape:
        context.problem(origin, f"variable '{name}' holds {declared}, but is assigned {found}")
        return ()
    context.contents[name] = value
    return ()


def _call_once(scope: Scope, op: Operator, origin: Origin) -> tuple[Node, ...]:
    """Nothing at run time: the variables begin with what the initialisation assigns."""
    del scope, op, origin
    return ()


def _variable(scope: Scope, op: Operator, origin: Origin) -> str | None:
    found = scope.argument(op.inputs[0]) if op.inputs else None
    if not isinstance(found, Handle) or found.variable not in scope.context.contents:
        scope.context.problem(origin, f"the first input of {op.name} must be the handle of a variable")
        return None
    return found.variable


_VARIABLES = {
    "VAR_HANDLE": (_handle, 0, 1),
    "READ_VARIABLE": (_read_variable, 1, 1),
    "ASSIGN_VARIABLE": (_assign_variable, 2, 0),
    "CALL_ONCE": (_call_once, 0, 0),
}
"""What each makes of the operator, and how many inputs and outputs it has."""
