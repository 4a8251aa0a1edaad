"""Merges equal constants, so that constants are equal if and only if their contents are."""

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
                representative = first.setdefault((value.type, module.constants[value.constant]), value)
                if representative != value:
                    mapping[value] = representative
    functions = tuple(replace(f, body=substitute(f.body, mapping)) for f in module.functions)
    return replace(module, functions=functions)
