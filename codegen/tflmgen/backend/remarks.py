"""What generated C says of operators without a call of their own, and of channels that are not computed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from types import MappingProxyType

from tflmgen.backend.c_text import comment
from tflmgen.ir import (
    Assembly,
    Branch,
    Invoke,
    KernelCall,
    Loop,
    Module,
    Op,
    Origin,
    OutputArgument,
    Program,
    Removed,
    Rename,
    Value,
    walk,
    walk_instructions,
)

Remarks = Mapping[Origin, Sequence[str]]
"""Sentences for the comment of an operator."""

NO_REMARKS: Remarks = MappingProxyType({})

_NO_BREAK = "\N{NO-BREAK SPACE}"
_WIDTH = 104
"""Most characters of a line of such a comment, without its indentation and what makes it a comment."""


def remarks_of(imported: Module, removed: Iterable[Removed], program: Program) -> Remarks:
    """For each operator of the program: the file's operators that passes joined to it, and its dead channels."""
    remarks: dict[Origin, list[str]] = defaultdict(list)
    for origin, joined in _joined(imported, program).items():
        names = ", ".join(
            f"{_number(joined_origin, origin)}{_NO_BREAK}{joined_origin.operator_name}" for joined_origin in joined
        )
        remarks[origin].append(f"joined to it: operator{'s' if len(joined) > 1 else ''} {names}")
    for removal in removed:
        if removal.kind == "channels":
            remarks[removal.origin].append(f"{removal.channels} of its {removal.of} channels are dead and not computed")
    return remarks


def remark_lines(remarks: Sequence[str]) -> list[str]:
    """C comments; no-break spaces hold together what stays on one line."""
    lines = (line for remark in remarks for line in wrap(remark, _WIDTH))
    return [f"/* {comment(line.replace(_NO_BREAK, ' '))} */" for line in lines]


def _number(origin: Origin, beside: Origin) -> str:
    return str(origin.operator) if origin.subgraph == beside.subgraph else f"{origin.subgraph}.{origin.operator}"


def _joined(imported: Module, program: Program) -> dict[Origin, list[Origin]]:
    """Operator of the program -> those of the file without code whose results it makes or whose operands it takes."""
    origins = _origins_of_values(program)
    kept = {origin for origin, _ in _operators(program)}
    ops = [n for f in imported.functions for n in walk(f.body) if isinstance(n, Op)]
    readers: dict[Value, list[Op]] = defaultdict(list)
    for op in ops:
        for value in dict.fromkeys(v for v in op.inputs if v is not None):
            readers[value].append(op)
    joined: dict[Origin, list[Origin]] = defaultdict(list)
    for op in dict.fromkeys(op for op in ops if op.origin not in kept):
        own = {origins[v] for v in op.outputs if v in origins}
        for origin in own or _next_kept(op, readers, kept):
            joined[origin].append(op.origin)
    return joined


def _origins_of_values(program: Program) -> dict[Value, Origin]:
    return {value: origin for origin, values in _operators(program) for value in values}


def _operators(program: Program) -> Iterator[tuple[Origin, tuple[Value, ...]]]:
    """The operators that the program has a call, a comment or a statement for, and what they make."""
    for function in program.functions:
        for instruction in walk_instructions(function.body):
            if isinstance(instruction, KernelCall) and instruction.rows is not None:
                yield from ((stage.origin, stage.outputs) for stage in instruction.rows.stages)
            elif isinstance(instruction, KernelCall):
                yield (
                    instruction.origin,
                    tuple(a.access.value for a in instruction.arguments if isinstance(a, OutputArgument)),
                )
            elif isinstance(instruction, Assembly):
                yield instruction.origin, tuple(access.value for access in instruction.outputs)
            elif isinstance(instruction, Rename) and instruction.origin is not None:
                yield instruction.origin, (instruction.value.value,)
            elif isinstance(instruction, Branch | Loop | Invoke):
                yield instruction.origin, ()


def _next_kept(op: Op, readers: Mapping[Value, Sequence[Op]], kept: set[Origin]) -> Iterable[Origin]:
    """The operators with code that read what `op` makes, by way of others without."""
    kept_readers: dict[Origin, None] = {}
    seen, waiting = {op}, [op]
    while waiting:
        for reader in (r for value in waiting.pop().outputs for r in readers[value]):
            if reader.origin in kept:
                kept_readers[reader.origin] = None
            elif reader not in seen:
                seen.add(reader)
                waiting.append(reader)
    return kept_readers
