"""A function that is called with different constants becomes one function for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.ir import Call, Function, Ids, Module, Node, Rewriter, Value, clone, walk

WORTH = 16
"""Least bytes of a constant that is worth a copy of the function: weights are, a counter isn't."""
NODES_LIMIT = 200
"""Nodes that all copies of one function may have together."""

Key = tuple[Value | None, ...]


def specialize(module: Module) -> Module:
    """Copies functions so that each copy gets the same large constants from all its call sites.

    Without that, weights that the sites pass as arguments would be copied from flash to RAM at each call.
    """
    entries = {s.function for s in module.signatures}
    keys: dict[str, list[Key]] = {}
    for function in module.functions:
        for node in walk(function.body):
            if isinstance(node, Call) and _key(node) not in keys.setdefault(node.function, []):
                keys[node.function].append(_key(node))
    names: dict[tuple[str, Key], str] = {}
    taken = {f.name for f in module.functions}
    for function in module.functions:
        groups = keys.get(function.name, [])
        size = len(groups) * sum(1 for _ in walk(function.body))
        if function.name not in entries and len(groups) > 1 and size <= NODES_LIMIT:
            for number, key in enumerate(groups):
                name = _free_name(function.name, number, taken)
                names[function.name, key] = name
                taken.add(name)
    if not names:
        return module
    specializer = _Specializer(names)
    functions = [specializer.function(f) for f in module.functions]
    ids = Ids(module)
    copies = [copy for f in functions for copy in _copies(f, keys.get(f.name, []), names, ids)]
    return replace(module, functions=tuple(copies))


def _key(call: Call) -> Key:
    return tuple(v if v.is_constant and v.type.bytes >= WORTH else None for v in call.inputs)


def _free_name(name: str, number: int, taken: set[str]) -> str:
    if number == 0:
        return name
    while f"{name}_{number}" in taken:
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
