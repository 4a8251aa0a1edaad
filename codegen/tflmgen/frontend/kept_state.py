"""State that operators keep between invokes outside the file's variables, such as that of a framer or a delay.

Each piece of state becomes a variable. The operator gets its contents as an extra input and returns the new contents
as an extra output, so that later stages see data flow only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tflmgen.frontend.model_graph.subgraphs import references
from tflmgen.frontend.operator_check import options_of
from tflmgen.frontend.tflite.model import FileOperator, FileTensor, Model, SubGraph
from tflmgen.ir import TensorType, elements_of
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.specification import Operators, OperatorSpec, State


def keeps_state(op: FileOperator, operators: Operators) -> bool:
    """Whether operators of this name keep state of their own."""
    entry = operators.get(op.name)
    return entry is not None and entry.state is not None


def state_of(op: FileOperator, instance: OperatorInstance, operators: Operators) -> tuple[State, ...]:
    """Pieces of state of an operator whose support rules hold."""
    state = operators[op.name].state
    return state(instance) if state else ()


def state_name(subgraph: SubGraph, op: FileOperator, index: int) -> str:
    """Name of the variable for piece `index` of the operator's state."""
    return f"{op.name} ({subgraph.index}.{op.index}.{index})"


def all_states(model: Model, operators: Operators) -> Iterator[tuple[str, State]]:
    """(variable name, state) of every operator whose declaration in the file satisfies its support rules."""
    for subgraph in model.subgraphs:
        for op in subgraph.operators:
            instance = _declared(subgraph, op, operators[op.name]) if keeps_state(op, operators) else None
            if instance is not None and all(rule.holds(instance) for rule in operators[op.name].rules):
                for index, state in enumerate(state_of(op, instance, operators)):
                    yield state_name(subgraph, op, index), state


def updated_tensors(op: FileOperator, subgraph: SubGraph, operators: Operators) -> list[FileTensor]:
    """Tensors that an operator updates: variables, or constants with which every run starts."""
    return [subgraph.tensors[op.inputs[position]] for position in operators[op.name].updates]


def state_problems(op: FileOperator, subgraph: SubGraph, operators: Operators) -> tuple[str, ...]:
    """Problems with the tensors that an otherwise valid operator updates."""
    tensors = updated_tensors(op, subgraph, operators)
    if not all(tensor.is_variable or tensor.data is not None for tensor in tensors):
        return (f"{op.name} requires variables as the tensors that it updates",)
    variables = [tensor.index for tensor in tensors if tensor.is_variable]
    is_repeated = len(set(variables)) < len(variables)
    return (f"{op.name} requires different variables as its states",) if is_repeated else ()


def stateful_subgraphs(model: Model, operators: Operators) -> frozenset[int]:
    """Subgraphs that access variables, directly or through others."""
    accesses = frozenset({"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"})
    also = {s.index for s in model.subgraphs if any(t.is_variable for t in s.tensors)} | _keeping(model, operators)
    return _reaching(model, accesses, also)


def assigning_subgraphs(model: Model, operators: Operators) -> frozenset[int]:
    """Subgraphs that assign variables or keep state, directly or through others."""
    return _reaching(model, frozenset({"ASSIGN_VARIABLE"}), _keeping(model, operators))


def _keeping(model: Model, operators: Operators) -> set[int]:
    """Subgraphs with operators that keep state of their own."""
    return {s.index for s in model.subgraphs if any(keeps_state(op, operators) for op in s.operators)}


def _reaching(model: Model, names: frozenset[str], also: Collection[int]) -> frozenset[int]:
    """Subgraphs that are in `also` or contain an operator of `names`, and all that refer to them, transitively."""
    reached = set(also) | {s.index for s in model.subgraphs if any(op.name in names for op in s.operators)}
    while True:
        added = {s.index for s in model.subgraphs if any(i in reached for op in s.operators for i in references(op))}
        if added <= reached:
            return frozenset(reached)
        reached |= added


def _declared(subgraph: SubGraph, op: FileOperator, entry: OperatorSpec) -> OperatorInstance | None:
    """The operator as declared in the file; None if it is malformed."""
    min_inputs, max_inputs = entry.inputs
    types: list[TensorType] = []
    arrays = []
    if entry.outputs not in (-1, len(op.outputs)) or not min_inputs <= len(op.inputs) <= max_inputs or -1 in op.inputs:
        return None
    for index in (*op.inputs, *op.outputs):
        tensor = subgraph.tensors[index]
        if tensor.dtype is None:
            return None
        types.append(TensorType(tensor.dtype, tensor.shape, tensor.quantization))
        arrays.append(None if tensor.data is None else elements_of(types[-1], tensor.data))
    try:
        attributes = entry.attributes(options_of(op))
    except ValueError:
        return None
    inputs = len(op.inputs)
    return OperatorInstance(tuple(types[:inputs]), tuple(types[inputs:]), tuple(arrays[:inputs]), attributes)
