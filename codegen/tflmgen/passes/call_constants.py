"""What a function is always given, or gives back without computing it, is known on the other side of its Calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tflmgen.ir import Call, Function, Module, Node, Rewriter, Value, walk


def resolve_calls(module: Module) -> Module:
    """Replaces parameters inside a function, and results at its call sites.

    A parameter that is one constant at every call site becomes that constant; parameters that are equal at every call
    site become one. A result that is a constant, a parameter or another result is what the caller has for it.
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
        first: dict[tuple[Value, ...], Value] = {}
        for position, parameter in enumerate(function.inputs):
            given = tuple(inputs[position] for inputs in self._sites.get(function.name, ()))
            if not given:
                continue
            one = given[0] if given[0].is_constant and len(set(given)) == 1 else first.setdefault(given, parameter)
            if one != parameter and one.type == parameter.type:
                self.mapping[parameter] = one
        function = super().function(function)
        self._functions[function.name] = function
        return function

    def node(self, node: Node) -> Sequence[Node]:
        if isinstance(node, Call):
            callee = self._functions[node.function]
            given = dict(zip(callee.inputs, node.inputs, strict=True))
            first: dict[Value, Value] = {}
            for output, result in zip(node.outputs, callee.body.results, strict=True):
                known = result if result.is_constant else given.get(result) or first.setdefault(result, output)
                if known != output and known.type == output.type:
                    self.mapping[output] = known
        return (self.regions(node),)
