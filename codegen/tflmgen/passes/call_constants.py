"""Propagates constants and equal values across Calls: arguments into functions, trivial results to call sites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tflmgen.ir import Call, Function, Module, Node, Rewriter, Value, walk


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
