"""Replaces persistent variables that are never assigned by constants."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.ir import Ids, substitute
from tflmgen.ir.graph import Call, Function, Module, Value, walk


def freeze_variables(module: Module) -> Module:
    """Replaces persistent variables that every entry function returns unchanged by their initial contents.

    Variables of an entry function that is also called stay, since its callers pass them as arguments.
    """
    entries = {s.function for s in module.signatures}
    called = {node.function for f in module.functions for node in walk(f.body) if isinstance(node, Call)}
    assigned = {name for f in module.functions if f.name in entries & called for name in f.state}
    for function in module.functions:
        if function.name in entries:
            last = len(function.body.results) - len(function.state)
            for name, before, after in zip(
                function.state, function.inputs[function.ports :], function.body.results[last:], strict=True
            ):
                if before != after:
                    assigned.add(name)
    frozen = module.state.keys() - assigned
    if not frozen:
        return module
    ids = Ids(module)
    constants = {
        name: replace(variable.home, id=ids.take(), constant=variable.initial)
        for name, variable in module.state.items()
        if name in frozen
    }
    return replace(
        module,
        functions=tuple(_freeze(f, constants) if f.name in entries else f for f in module.functions),
        state={name: variable for name, variable in module.state.items() if name not in frozen},
    )


def _freeze(function: Function, constants: dict[str, Value]) -> Function:
    first_state = len(function.body.results) - len(function.state)
    remaining = [i for i, name in enumerate(function.state) if name not in constants]
    mapping = {
        value: constants[name]
        for name, value in zip(function.state, function.inputs[function.ports :], strict=True)
        if name in constants
    }
    results = (*function.body.results[:first_state], *(function.body.results[first_state + i] for i in remaining))
    return Function(
        function.name,
        (*function.inputs[: function.ports], *(function.inputs[function.ports + i] for i in remaining)),
        substitute(replace(function.body, results=results), mapping),
        tuple(function.state[i] for i in remaining),
    )
