"""Functions of a module: inlined, specialised for constant operands, and their constant results known to callers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tflmgen.ir import Ids, Rewriter, clone, substitute
from tflmgen.ir.graph import Call, Function, Module, Node, Op, Value, walk
from tflmgen.kernels.costs import TUNING


def inline(module: Module) -> Module:
    """Replaces Calls by the function's body, for functions with one call site and no signature, and for tiny ones."""
    sites = Counter(node.function for f in module.functions for node in walk(f.body) if isinstance(node, Call))
    entries = {s.function for s in module.signatures}
    moved = {name for name, count in sites.items() if count == 1 and name not in entries}
    inlinable = {f.name for f in module.functions if f.name in moved or _is_tiny(f)}
    if not inlinable & sites.keys():
        return module
    inlined = _Inline(Ids(module), inlinable, moved).run(module)
    # A moved body must not be defined twice.
    return replace(inlined, functions=tuple(f for f in inlined.functions if f.name not in moved))


def _is_tiny(function: Function) -> bool:
    """Whether copies take little code. One that calls others is not tiny: inlining chains would grow exponentially."""
    nodes = function.body.nodes
    return len(nodes) <= TUNING.copied_operators and all(isinstance(node, Op) for node in nodes)


class _Inline(Rewriter):
    def __init__(self, ids: Ids, inlinable: set[str], moved: set[str]) -> None:
        super().__init__()
        self._ids = ids
        self._inlinable = inlinable
        self._moved = moved
        self._functions: dict[str, Function] = {}

    def function(self, function: Function) -> Function:
        function = super().function(function)
        self._functions[function.name] = function
        return function

    def node(self, node: Node) -> Sequence[Node]:
        if not isinstance(node, Call) or node.function not in self._inlinable:
            return (self.regions(node),)
        callee = self._functions[node.function]
        arguments = dict(zip(callee.inputs, node.inputs, strict=True))
        body = substitute(callee.body, arguments)
        if node.function not in self._moved:
            body = clone(body, {}, self._ids)
        self.mapping.update(zip(node.outputs, body.results, strict=True))
        return body.nodes


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


def resolve_calls(module: Module) -> Module:
    """Replaces parameters inside a function, and results at its call sites.

    A parameter that is the same constant at every call site becomes that constant. Parameters that are equal at every
    call site become one. At a call site, a result that is a constant, a parameter or another result is replaced by it.
    """
    sites: dict[str, list[tuple[Value, ...]]] = {}
    for function in module.functions:
        for node in walk(function.body):
            if isinstance(node, Call):
                sites.setdefault(node.function, []).append(node.inputs)
    entries = {s.function for s in module.signatures}
    return _Calls({name: inputs for name, inputs in sites.items() if name not in entries}).run(module)


class _Calls(Rewriter):
    def __init__(self, sites: Mapping[str, list[tuple[Value, ...]]]) -> None:
        super().__init__()
        self._sites = sites
        self._functions: dict[str, Function] = {}

    def function(self, function: Function) -> Function:
        first_parameter: dict[tuple[Value, ...], Value] = {}
        for position, parameter in enumerate(function.inputs):
            arguments = tuple(inputs[position] for inputs in self._sites.get(function.name, ()))
            if not arguments:
                continue
            replacement = (
                arguments[0]
                if arguments[0].is_constant and len(set(arguments)) == 1
                else first_parameter.setdefault(arguments, parameter)
            )
            if replacement != parameter and replacement.type == parameter.type:
                self.mapping[parameter] = replacement
        function = super().function(function)
        self._functions[function.name] = function
        return function

    def node(self, node: Node) -> Sequence[Node]:
        if isinstance(node, Call):
            callee = self._functions[node.function]
            arguments = dict(zip(callee.inputs, node.inputs, strict=True))
            first_output: dict[Value, Value] = {}
            for output, result in zip(node.outputs, callee.body.results, strict=True):
                replacement = (
                    result if result.is_constant else arguments.get(result) or first_output.setdefault(result, output)
                )
                if replacement != output and replacement.type == output.type:
                    self.mapping[output] = replacement
        return (self.regions(node),)
