"""What operators keep from one invocation to the next beside the file's own variables: the state of a framer, a delay.

Each piece becomes a variable. The operator reads its contents as a further input and returns the new ones as a further
output, so that every stage after the importer sees data flow only.
"""

from __future__ import annotations

from collections.abc import Iterator

from tflmgen.frontend.operator_check import options_of
from tflmgen.frontend.tflite.model import Model, Operator, SubGraph
from tflmgen.ir import OperatorInstance, TensorType, contents
from tflmgen.kernels import Operator as Row
from tflmgen.kernels import Operators, State


def keeps_state(op: Operator, operators: Operators) -> bool:
    """Whether it is of a kind that keeps something of its own."""
    entry = operators.get(op.name)
    return entry is not None and entry.state is not None


def state_of(op: Operator, instance: OperatorInstance, operators: Operators) -> tuple[State, ...]:
    """What the operator keeps; its support rules hold."""
    state = operators[op.name].state
    return state(instance) if state else ()


def state_name(subgraph: SubGraph, op: Operator, index: int) -> str:
    """The name of the variable that is piece `index` of the operator's state."""
    return f"{op.name} ({subgraph.index}.{op.index}.{index})"


def all_states(model: Model, operators: Operators) -> Iterator[tuple[str, State]]:
    """The state of every operator that satisfies its support rules as the file declares it, by the variable's name."""
    for subgraph in model.subgraphs:
        for op in subgraph.operators:
            instance = _declared(subgraph, op, operators[op.name]) if keeps_state(op, operators) else None
            if instance is not None and all(rule.holds(instance) for rule in operators[op.name].rules):
                for index, state in enumerate(state_of(op, instance, operators)):
                    yield state_name(subgraph, op, index), state


def _declared(subgraph: SubGraph, op: Operator, entry: Row) -> OperatorInstance | None:
    """The operator as the file declares it; None where it isn't well-formed."""
    least, most = entry.inputs
    types: list[TensorType] = []
    arrays = []
    if entry.outputs not in (-1, len(op.outputs)) or not least <= len(op.inputs) <= most or -1 in op.inputs:
        return None
    for index in (*op.inputs, *op.outputs):
        tensor = subgraph.tensors[index]
        if tensor.dtype is None:
            return None
        types.append(TensorType(tensor.dtype, tensor.shape, tensor.quantization))
        arrays.append(None if tensor.data is None else contents(types[-1], tensor.data))
    try:
        attributes = entry.attributes(options_of(op))
    except ValueError:
        return None
    inputs = len(op.inputs)
    return OperatorInstance(tuple(types[:inputs]), tuple(types[inputs:]), tuple(arrays[:inputs]), attributes)
