"""Function specialisation: a copy of a function per set of constant arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.ir import Call, Function, Ids, Module, Node, Rewriter, Value, clone, walk
from tflmgen.kernels import TUNING

Key = tuple[Value | None, ...]


def specialize(module: Module) -> Module:
    """Copies functions so that all call sites of a copy pass the same large constants.

    Otherwise weights passed as arguments would be copied from flash to RAM at each call.
    """
    entries = {s.function for s in module.signatures}
    keys: dict[str, list[Key]] = {}
    for function in module.functions:
        for node in walk(function.body):
            if isinstance(node, Call) and _key(node) not in keys.setdefault(node.function, []):
                keys[node.function].append(_key(node))
    names: dict[tuple[str, Key], str] = {}
    used_names = {f.name for f in module.functions}
    for function in module.functions:
        groups = keys.get(function.name, [])
        size = len(groups) * sum(1 for _ in walk(function.body))
        if function.name not in entries and len(groups) > 1 and size <= TUNING.specialized_nodes:
            for number, key in enumerate(groups):
                name = _free_name(function.name, number, used_names)
                names[function.name, key] = name
                used_names.add(name)
    if not names:
        return module
    specializer = _Specializer(names)
    functions = [specializer.function(f) for f in module.functions]
    ids = Ids(module)
    copies = [copy for f in functions for copy in _copies(f, keys.get(f.name, []), names, ids)]
    return replace(module, functions=tuple(copies))


def _key(call: Call) -> Key:
    return tuple(v if v.is_constant and v.type.bytes >= TUNING.specialized_bytes else None for v in call.inputs)


def _free_name(name: str, number: int, used_names: set[str]) -> str:
    if number == 0:
        return name
    while f"{name}_{number}" in used_names:
        number += 1
    return f"{name}_{number}"


def _copies(function: Function, keys: Sequence[Key], names: dict[tuple[str, Key], str], ids: Ids) -> list[Function]:
    copies = [function]
    for key in keys[1:]:
        if (function.name, key) in names:
            mapping = {v: replace(v, id=ids.take()) for v in function.inputs}
            inputs = tuple(mapping.values())
            body = clone(function.body, mapping, ids)
            copies.append(replace(function, name=names[function.name, key], inputs=inputs, body=body))
    return copies


class _Specializer(Rewriter):
    def __init__(self, names: dict[tuple[str, Key], str]) -> None:
        super().__init__()
        self._names = names

    def node(self, node: Node) -> Sequence[Node]:
        if isinstance(node, Call):
            return (replace(node, function=self._names.get((node.function, _key(node)), node.function)),)
        return (self.regions(node),)
