"""One kernel call as C lines; params with values known at run time only are copied to a local struct first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tflmgen.ir import KernelCall

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
