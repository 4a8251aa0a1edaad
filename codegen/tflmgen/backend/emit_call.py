"""One kernel call as C lines, and the comments that name operators and their outputs.

Params with values known at run time only are copied to a local struct first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tflmgen.backend.c_text import comment
from tflmgen.ir.graph import Origin
from tflmgen.ir.program import Access, KernelCall

_INDENT = "    "

Marked = tuple[str, bool]
"""A line of C, and whether it is the line of the call itself."""


def call_lines(call: KernelCall, arguments: Sequence[str], struct: str) -> Iterator[Marked]:
    """The call with C for its arguments and the name of its const struct, if it has one."""
    if not call.counts or call.params is None:
        yield from _bare(call, [*arguments, *([f"&{struct}"] if struct else [])])
        return
    passed = len(arguments) - len(call.counts)
    yield "{", False
    yield f"{_INDENT}struct {call.params.struct} in_use = {struct};", False
    for field, pointer in zip(call.counts, arguments[passed:], strict=True):
        yield f"{_INDENT}in_use.{field} = *(const tflmgen_s32 *){pointer};", False
    for text, is_call in _bare(call, [*arguments[:passed], "&in_use"]):
        yield f"{_INDENT}{text}", is_call
    yield "}", False


def _bare(call: KernelCall, arguments: Sequence[str]) -> Iterator[Marked]:
    called = f"{call.function}({', '.join(arguments)})"
    if not call.error:
        yield f"{called};", True
        return
    yield f"if (!{called}) {{", True
    yield f"{_INDENT}return {call.error};", False
    yield "}", False


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
