"""Equal constants are one value, so that equality of values is equality of what they hold."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.ir import Module, TensorType, Value, substitute, uses_in


def unify_constants(module: Module) -> Module:
    """Replaces every constant by the first one of the same type and bytes."""
    first: dict[tuple[TensorType, bytes], Value] = {}
    mapping: dict[Value, Value] = {}
    for function in module.functions:
        for value in uses_in(function.body):
            if value.constant is not None and value not in mapping:
                one = first.setdefault((value.type, module.constants[value.constant]), value)
                if one != value:
                    mapping[value] = one
    functions = tuple(replace(f, body=substitute(f.body, mapping)) for f in module.functions)
    return replace(module, functions=functions)
