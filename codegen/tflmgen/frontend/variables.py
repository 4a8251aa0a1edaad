"""Variables of a file, and state kept by its operators: names, types, initial contents.

A variable is identified by its container and shared name. The subgraphs run by CALL_ONCE may only assign constants, as
they do in converters' files, so that the initial contents are known at compile time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.kept_state import all_states
from tflmgen.frontend.tflite.model import FileOperator, FileTensor, Model, SubGraph
from tflmgen.ir import DType, TensorType
from tflmgen.kernels.specification import Operators


@dataclass(frozen=True, slots=True)
class FileVariable:
    """A variable of the file; `initial` is None if it has no initial contents."""

    name: str
    type: TensorType
    initial: bytes | None


def variable_name(op: FileOperator) -> str:
    """Name of the variable of a VAR_HANDLE."""
    options = op.options or {}
    container, shared = str(options.get("container", "")), str(options.get("shared_name", ""))
    return f"{container}/{shared}" if container else shared


def variable_tensor_name(subgraph: SubGraph, tensor: FileTensor) -> str:
    """Name of the variable for a variable tensor, such as the state of an LSTM or SVDF."""
    return f"{tensor.name or 'tensor'} ({subgraph.index}.{tensor.index})"


def find_variables(model: Model, operators: Operators) -> Mapping[str, FileVariable]:
    """Variables by name, in the file's order. Raises ModelError for an initialisation that is not constant."""
    types: dict[str, TensorType] = {}
    for subgraph in model.subgraphs:
        for name, tensor in _accesses(subgraph):
            better = name in types and tensor.quantization and not types[name].quantization
            if tensor.dtype is not None and (name not in types or better):
                types[name] = TensorType(tensor.dtype, tensor.shape, tensor.quantization)
    initial = dict(_initial(model, types))
    for subgraph in model.subgraphs:
        for tensor in subgraph.tensors:
            if tensor.is_variable and tensor.dtype is not None:
                name = variable_tensor_name(subgraph, tensor)
                types[name] = TensorType(tensor.dtype, tensor.shape, tensor.quantization)
                initial[name] = _zeros(types[name])
    for name, state in all_states(model, operators):
        types[name] = state.type
        initial[name] = state.initial or bytes(state.type.bytes)
    return {name: FileVariable(name, type_, initial.get(name)) for name, type_ in types.items()}


def _zeros(type_: TensorType) -> bytes:
    """Initial contents of a variable tensor in TFLite Micro: 0, or the zero point for int8."""
    zero = type_.quantization.zero_point if type_.quantization and type_.dtype is DType.INT8 else 0
    return np.full(type_.elements, zero, type_.dtype.numpy).tobytes()


def _handles(subgraph: SubGraph) -> dict[int, str]:
    return {op.outputs[0]: variable_name(op) for op in subgraph.operators if op.name == "VAR_HANDLE" and op.outputs}


def _accesses(subgraph: SubGraph) -> Iterator[tuple[str, FileTensor]]:
    """(variable name, tensor) of each read and assignment through a handle of the same subgraph."""
    handles = _handles(subgraph)
    for op in subgraph.operators:
        if not op.inputs or op.inputs[0] not in handles:
            continue
        if op.name == "READ_VARIABLE" and op.outputs:
            yield handles[op.inputs[0]], subgraph.tensors[op.outputs[0]]
        elif op.name == "ASSIGN_VARIABLE" and len(op.inputs) > 1 and op.inputs[1] >= 0:
            yield handles[op.inputs[0]], subgraph.tensors[op.inputs[1]]


def _initial(model: Model, types: Mapping[str, TensorType]) -> Iterator[tuple[str, bytes]]:
    visited = set()
    for subgraph in model.subgraphs:
        for op in subgraph.operators:
            index = int((op.options or {}).get("init_subgraph_index", -1)) if op.name == "CALL_ONCE" else -1
            if index >= 0 and index not in visited:
                visited.add(index)
                yield from _assignments(model, model.subgraphs[index], types)


def _assignments(model: Model, subgraph: SubGraph, types: Mapping[str, TensorType]) -> Iterator[tuple[str, bytes]]:
    handles = _handles(subgraph)
    for op in subgraph.operators:
        if op.name in ("VAR_HANDLE", "NO_OP"):
            continue
        location = Location(model.name, subgraph.index, subgraph.name, op.index, op.name)
        assigns = op.name == "ASSIGN_VARIABLE" and len(op.inputs) > 1 and op.inputs[1] >= 0
        tensor = subgraph.tensors[op.inputs[1]] if assigns else None
        if tensor is None or tensor.data is None or tensor.dtype is None or op.inputs[0] not in handles:
            rule = "an initialisation (CALL_ONCE) may only assign constants to variables"
            raise ModelError([Problem(location, rule, "Initialise the variable with a constant value")])
        name = handles[op.inputs[0]]
        assigned = TensorType(tensor.dtype, tensor.shape)
        if assigned.dtype is not types[name].dtype or assigned.elements != types[name].elements:
            raise ModelError(
                [Problem(location, f"variable '{name}' holds {types[name]}, but is initialised with {assigned}")]
            )
        yield name, tensor.data
