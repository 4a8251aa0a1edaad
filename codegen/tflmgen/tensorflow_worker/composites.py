"""Composites: functions that say by `experimental_implements` which operation they implement.

TensorFlow's converter makes an operator of TFLite's of a composite that it knows, and a custom operator of one whose
attribute tfl_fusable_op is true, with the composite's other attributes as its options. It does so if it sees the call.
Freezing inlines calls before that, and moves constant operands into their functions; both are forbidden here for
composites that become operators. Others lose their name, and are inlined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

IMPLEMENTS = "_implements"
FUSABLE = "tfl_fusable_op"
EMBEDDING = "embedding_matmul"
"""The converter's name for a lookup of rows (table, indices), of which it makes EMBEDDING_LOOKUP."""
_LOOKUPS = frozenset({EMBEDDING, "embedding_lookup"})
_ALONE = ("_noinline", "_nospecialize")
"""Attributes that keep TensorFlow's optimiser from inlining a function and from changing its operands."""


def composite_of(function: Any) -> str:
    """Name of the operation that a function of a GraphDef's library implements; empty if it names none."""
    value = function.attr.get(IMPLEMENTS, None)
    return "" if value is None else str(value.func.name or value.s.decode(errors="replace"))


def fused_name(name: str, options: Mapping[str, int]) -> str:
    """The attribute of a function that stands for a custom operator with these options."""
    attributes = "".join(f' attr {{ key: "{key}" value {{ i: {number} }} }}' for key, number in options.items())
    return f'name: "{name}" attr {{ key: "{FUSABLE}" value {{ b: true }} }}{attributes}'


def fused_names(graph_def: Any) -> list[str]:
    """Names of the custom operators that functions of a graph stand for."""
    functions = [function for function in graph_def.library.function if composite_of(function)]
    return [composite_of(f) for f in functions if f.attr[IMPLEMENTS].func.attr[FUSABLE].b]


def keeping_composites(
    custom: Sequence[str] | None, kept: list[str], freezes: bool
) -> Callable[[Any, Sequence[str]], str]:
    """A mend that keeps composites for the converter.

    custom   names that become custom operators; None: no composite is kept
    kept     names that were kept are appended
    freezes  whether the graph is frozen afterwards
    """

    def keep(graph_def: Any, _: Sequence[str]) -> str:
        fused = []
        for function in graph_def.library.function:
            name = composite_of(function)
            if custom is not None and name in custom:
                implements = function.attr[IMPLEMENTS].func
                implements.name = name
                implements.attr[FUSABLE].b = True
            elif custom is not None and name in _LOOKUPS and _is_lookup(function):
                function.attr[IMPLEMENTS].s = EMBEDDING.encode()
            else:
                function.attr.pop(IMPLEMENTS, None)
                continue
            fused.append(name)
            for attribute in _ALONE if freezes else ():
                function.attr[attribute].b = True
        kept.extend(dict.fromkeys(fused))
        return f"composites kept as operators: {', '.join(dict.fromkeys(fused))}" if fused else ""

    return keep


def _is_lookup(function: Any) -> bool:
    """Whether a function takes a table and indices, as EMBEDDING_LOOKUP does in the other order."""
    types = [operand.type for operand in function.signature.input_arg]
    return types[1:] == [tf.int32.as_datatype_enum] and types[0] == tf.float32.as_datatype_enum


def has_composites(graph_def: Any) -> bool:
    """Whether a function of the library implements an operation."""
    return any(composite_of(function) for function in graph_def.library.function)


def release_composites(graph_def: Any) -> None:
    """Lets calls be inlined again: the converter does it itself, once it has made operators of composites."""
    for function in graph_def.library.function:
        for attribute in _ALONE:
            function.attr.pop(attribute, None)
