"""Inputs that arrive row by row: each invoke takes one row, and the whole tensor is never stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.errors import Location, ModelError, Problem, UsageError
from tflmgen.ir import Ids
from tflmgen.ir.graph import EntryPoint, Function, Module, Op, Origin, Value

PUSH = "PUSH"
"""Name of the operator from one row of an input to the whole input, which no file contains."""


def push_rows(module: Module, names: Sequence[str]) -> Module:
    """The module with the inputs `names` accepted by rows, [1, 1, width, channels] at a time.

    Raises UsageError for a name that no input has, ModelError for an input that cannot be accepted by rows.
    """
    for name in names:
        ports = [(s, i) for s in module.signatures for i, port in enumerate(s.inputs) if port.name == name]
        if not ports:
            names_listed = ", ".join(f"'{port.name}'" for s in module.signatures for port in s.inputs)
            raise UsageError(f"--push-rows {name}: the model's inputs are {names_listed}")
        for signature, index in ports:
            module = _pushed(module, signature, index)
    return module


def _pushed(module: Module, signature: EntryPoint, index: int) -> Module:
    port = signature.inputs[index]
    function = module.function(signature.function)
    shape = port.type.max_shape
    reason = ""
    if len(shape) != 4 or shape[0] != 1 or shape[1] < 2 or not port.type.is_static:
        reason = f"is {port.type}, and only images [1, height, width, channels] of two rows and more come by rows"
    elif any(p.pushed for p in signature.inputs) or sum(s.function == function.name for s in module.signatures) > 1:
        reason = "shares its function with another signature, or with another input that comes by rows"
    if reason:
        raise ModelError([Problem(Location(module.path), f"--push-rows: input '{port.name}' {reason}")])
    ids, tensor = Ids(module), function.inputs[index]
    row = Value(ids.take(), tensor.name, tensor.type.with_shape((1, 1, *shape[2:])))
    push = Op(ids.take(), PUSH, (row,), (tensor,), None, _origin(function))
    inputs = (*function.inputs[:index], row, *function.inputs[index + 1 :])
    body = replace(function.body, nodes=(push, *function.body.nodes))
    changed = replace(function, inputs=inputs, body=body)
    ports = (*signature.inputs[:index], replace(port, pushed=True), *signature.inputs[index + 1 :])
    return replace(
        module,
        functions=tuple(changed if f is function else f for f in module.functions),
        signatures=tuple(replace(s, inputs=ports) if s is signature else s for s in module.signatures),
    )


def _origin(function: Function) -> Origin:
    """Origin of the first operator, which the PUSH is attributed to."""
    first = next((node.origin for node in function.body.nodes), Origin(0, function.name, 0, PUSH))
    return replace(first, operator_name=PUSH)
