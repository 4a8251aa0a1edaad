"""Comments of the generated C on fused operators and dead channels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from types import MappingProxyType

from tflmgen.backend.c_text import comment
from tflmgen.ir.graph import Module, Op, Origin, Removed, Value, walk
from tflmgen.ir.program import (
    Assembly,
    Branch,
    Invoke,
    KernelCall,
    Loop,
    OutputArgument,
    Program,
    Rename,
    walk_instructions,
)

Remarks = Mapping[Origin, Sequence[str]]
"""Sentences for the comment of an operator."""

NO_REMARKS: Remarks = MappingProxyType({})

_NO_BREAK = "\N{NO-BREAK SPACE}"
_WIDTH = 104
"""Most characters of a comment line, without indentation and delimiters."""


def remarks_of(imported: Module, removed: Iterable[Removed], program: Program) -> Remarks:
    """Sentences for each operator of the program: the operators that passes fused into it, and its dead channels."""
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
    """The sentences as C comments, wrapped; a no-break space is never a line break."""
    lines = (line for remark in remarks for line in wrap(remark, _WIDTH))
    return [f"/* {comment(line.replace(_NO_BREAK, ' '))} */" for line in lines]


def _number(origin: Origin, beside: Origin) -> str:
    return str(origin.operator) if origin.subgraph == beside.subgraph else f"{origin.subgraph}.{origin.operator}"


def _joined(imported: Module, program: Program) -> dict[Origin, list[Origin]]:
    """Operator of the program -> operators of the file that were fused into it and have no code of their own."""
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
    """Operators with a call, comment or statement in the program, each with the values that it writes."""
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
    """The nearest operators with code that read the results of `op`, directly or through operators without code."""
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
