"""The comments of generated C that name an operator and its outputs."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.backend.c_text import comment
from tflmgen.ir import Access, Origin

TRANSFERS = {
    "load": "variables, as the last invocation left them",
    "store": "variables, for the next invocation",
    "then": "results of this branch",
    "else": "results of this branch",
    "init": "loop variables, before the first iteration",
    "next": "loop variables, for the next iteration",
    "arguments": "arguments of the call",
    "results": "results of the call",
}
"""Kind of boundary -> what it copies, for the comment."""

_LONG = 64
"""Most characters of a tensor's name that is shown whole."""


def short_name(name: str) -> str:
    """A tensor's name; of a long name that a converter joined with semicolons, the first part."""
    first = name.partition(";")[0]
    return name if len(name) <= _LONG or first == name else f"{first};..."


def step_title(origin: Origin, outputs: Sequence[Access], remark: str) -> str:
    """C comment of an operator with its subgraph, number, name and outputs; `remark` ends it."""
    results = ", ".join(f"{a.value.type} '{short_name(a.value.name)}'" for a in outputs)
    subgraph = f"{origin.subgraph} '{origin.subgraph_name}'" if origin.subgraph_name else str(origin.subgraph)
    text = f"subgraph {subgraph}, operator {origin.operator}: {origin.operator_name}"
    return f"/* {comment(text + (' -> ' + results if results else '') + (', ' + remark if remark else ''))} */"
