"""An input that arrives row by row: it never exists whole, each invoke takes one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.errors import Location, ModelError, Problem, UsageError
from tflmgen.ir import Function, Ids, Module, Op, Origin, Signature, Value

PUSH = "PUSH"
"""The operator whose output is the whole input and whose input is one row of it; no file has it."""


def push_rows(module: Module, names: Sequence[str]) -> Module:
    """The module with each input called one of `names` taken by rows, [1, 1, width, channels] at a time.

    Raises UsageError where no input has a name, ModelError where an input cannot be taken so.
    """
    for name in names:
        found = [(s, i) for s in module.signatures for i, port in enumerate(s.inputs) if port.name == name]
        if not found:
            known = ", ".join(f"'{port.name}'" for s in module.signatures for port in s.inputs)
            raise UsageError(f"--push-rows {name}: the model's inputs are {known}")
        for signature, index in found:
            module = _pushed(module, signature, index)
    return module


def _pushed(module: Module, signature: Signature, index: int) -> Module:
    port = signature.inputs[index]
    function = module.function(signature.function)
    shape = port.type.max_shape
    why = ""
    if len(shape) != 4 or shape[0] != 1 or shape[1] < 2 or not port.type.is_static:
        why = f"is {port.type}, and only images [1, height, width, channels] of two rows and more come by rows"
    elif any(p.pushed for p in signature.inputs) or sum(s.function == function.name for s in module.signatures) > 1:
        why = "shares its function with another signature, or with another input that comes by rows"
    if why:
        raise ModelError([Problem(Location(module.path), f"--push-rows: input '{port.name}' {why}")])
    ids, whole = Ids(module), function.inputs[index]
    row = Value(ids.take(), whole.name, whole.type.with_shape((1, 1, *shape[2:])))
    taken = Op(ids.take(), PUSH, (row,), (whole,), None, _origin(function))
    inputs = (*function.inputs[:index], row, *function.inputs[index + 1 :])
    body = replace(function.body, nodes=(taken, *function.body.nodes))
    changed = replace(function, inputs=inputs, body=body)
    ports = (*signature.inputs[:index], replace(port, pushed=True), *signature.inputs[index + 1 :])
    return replace(
        module,
        functions=tuple(changed if f is function else f for f in module.functions),
        signatures=tuple(replace(s, inputs=ports) if s is signature else s for s in module.signatures),
    )


def _origin(function: Function) -> Origin:
    """The row's taking counts for the first operator's place in the file."""
    first = next((node.origin for node in function.body.nodes), Origin(0, function.name, 0, PUSH))
    return replace(first, operator_name=PUSH)
