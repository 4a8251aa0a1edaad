"""Corrupts constants of Modules: bytes that are spoiled, values folded to other constants, other first contents."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
from tflmgen.ir import elements_of
from tflmgen.ir.graph import Module, Op, Value
from tflmgen.ir.rewrite import Ids
from tflmgen.reference.module_interpreter import ModuleInterpreter

from support.mutate_module import Mutation, nodes_of, with_replaced
from support.random_program import Chooser, pick


def change_constant(module: Module, choose: Chooser) -> Module:
    """One element of a constant is another one under the same name: bytes that were spoiled."""
    value, data = _other_constant(module, choose) or (None, b"")
    return replace(module, constants={**module.constants, value.constant: data}) if value else module


def fold_wrongly(module: Module, choose: Chooser) -> Module:
    """A constant is replaced by another one that differs in one element: a wrong evaluation of what is constant."""
    old, data = _other_constant(module, choose) or (None, b"")
    if old is None:
        return module
    key = f"folded.{hashlib.sha256(data).hexdigest()[:32]}"
    new = replace(old, id=Ids(module).take(), constant=key)
    return replace(with_replaced(module, old, new), constants={**module.constants, key: data})


def _other_constant(module: Module, choose: Chooser) -> tuple[Any, bytes] | None:
    """A constant that an operator reads, and its bytes with one element changed; None where there is none."""
    used = [v for op in nodes_of(module, Op) for v in op.inputs if v and v.constant and v.type.elements]
    used = [v for v in used if module.constants[v.constant or ""]]
    if not used:
        return None
    value = pick(choose, used)
    array = elements_of(value.type, module.constants[value.constant]).copy().reshape(-1)
    if value.type.dtype.bits < 8:
        return None
    at = choose.integer(0, array.size - 1)
    if array.dtype.kind == "f":
        array[at] = -array[at] if abs(array[at]) > 0.5 else array[at] + 1
    else:
        array[at] = not array[at] if array.dtype == bool else array[at] ^ pick(choose, (1, 2, 4, 8))
    return value, array.tobytes()


def fold_value(module: Module, choose: Chooser) -> Module:
    """A value is taken for a constant: the one that it has for some inputs."""
    seen: dict[Value, np.ndarray[Any, Any]] = {}
    signature = pick(choose, module.signatures)
    rng = np.random.default_rng(choose.integer(0, 1 << 20))
    inputs = []
    for port in signature.inputs:
        low, high = (-3, 3) if port.type.dtype.is_float else port.type.dtype.limits
        inputs.append(rng.integers(max(low, -100), min(high, 100), port.type.max_shape, endpoint=True))
        inputs[-1] = inputs[-1].astype(port.type.dtype.numpy)
    try:
        ModuleInterpreter(module).invoke(signature, inputs, lambda value, array: seen.update({value: array}))
    except Exception:
        return module
    outputs = [v for op in nodes_of(module, Op) for v in op.outputs if v in seen and v.type.dtype.bits >= 8]
    if not outputs:
        return module
    old = pick(choose, outputs)
    new = replace(old, id=Ids(module).take(), constant=f"folded_{old.id}")
    data = np.ascontiguousarray(seen[old], old.type.dtype.numpy).tobytes()
    return replace(with_replaced(module, old, new), constants={**module.constants, f"folded_{old.id}": data})


def change_first_contents(module: Module, choose: Chooser) -> Module:
    """A persistent variable begins with other contents."""
    variables = [v for v in module.state.values() if module.constants[v.initial]]
    if not variables:
        return module
    variable = pick(choose, variables)
    array = np.frombuffer(module.constants[variable.initial], variable.home.type.dtype.numpy).copy()
    at = choose.integer(0, array.size - 1)
    array[at] = not array[at] if array.dtype == bool else array[at] + 1
    return replace(module, constants={**module.constants, variable.initial: array.tobytes()})


MUTATIONS: tuple[Mutation, ...] = (change_constant, fold_wrongly, fold_value, change_first_contents)
