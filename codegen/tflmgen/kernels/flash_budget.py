"""Kernels that take larger weights for fewer cycles: which of them the flash has room for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from tflmgen.ir import (
    Called,
    Computation,
    Considered,
    ConstantArray,
    Input,
    Kernel,
    Module,
    Op,
    Pieces,
    RowStream,
    View,
    walk,
)

WINOGRAD = "winograd"
"""The variant of kernels with larger weights."""

Kernels = Mapping[int, Computation]


def within_flash(
    module: Module, kernels: Kernels, most: int, without: Callable[[Op], Kernel | View | Pieces]
) -> tuple[Kernels, tuple[str, ...]]:
    """`kernels` with weights of at most `most` bytes in all, as far as the larger ones decide; notes for the user.

    Those become `without` first that save fewest cycles for each byte that they take more. Those that stay have no
    alternatives: they are not given up for less RAM.
    """
    operators = [node for f in module.functions for node in walk(f.body) if isinstance(node, Op)]
    chosen = dict(kernels)
    larger: dict[int, Kernel] = {}
    for op in operators:
        kernel = chosen[op.id]
        if isinstance(kernel, Kernel) and kernel.variant == WINOGRAD:
            chosen[op.id] = larger[op.id] = replace(kernel, alternatives=())
    if not larger:
        return chosen, ("--winograd makes no operator faster here",)
    if _flash(module, operators, chosen) <= most:
        return chosen, ()
    plain = {op.id: other for op in operators if op.id in larger and isinstance(other := without(op), Kernel)}
    refused = []
    for number in sorted(plain, key=lambda number: (_worth(larger[number], plain[number]), number)):
        if _flash(module, operators, chosen) <= most:
            break
        chosen[number] = _instead(plain[number], larger[number])
        refused.append(number)
    names = ", ".join(f"{op.origin.subgraph}.{op.origin.operator}" for op in operators if op.id in refused)
    return chosen, (f"--winograd: the flash does not hold the larger weights of {names}; computed without",)


def _worth(kernel: Kernel, other: Kernel) -> float:
    """Cycles saved for a byte."""
    return (other.cycles - kernel.cycles) / max(1, sum(map(len, _packed(kernel))) - sum(map(len, _packed(other))))


def _instead(kernel: Kernel, refused: Kernel) -> Kernel:
    known = Considered(refused.function, refused.variant, refused.cycles)
    return replace(kernel, considered=(known, *kernel.considered))


def _flash(module: Module, operators: list[Op], kernels: Kernels) -> int:
    """Bytes of all constants; equal ones are stored once."""
    packed = {data for kernel in kernels.values() if isinstance(kernel, Called) for data in _packed(kernel)}
    plain = {name for op in operators for name in _plain(op, kernels[op.id])}
    return sum(map(len, packed)) + sum(len(module.constants[name]) for name in plain)


def _packed(called: Called) -> Iterator[bytes]:
    kernels = [call.kernel for call in called.calls] if isinstance(called, RowStream) else [called]
    return (operand.data for kernel in kernels for operand in kernel.operands if isinstance(operand, ConstantArray))


def _plain(op: Op, kernel: Computation) -> Iterator[str]:
    """The model's own constants that a kernel reads."""
    for operand in kernel.operands if isinstance(kernel, Called) else ():
        value = op.inputs[operand.index] if isinstance(operand, Input) and operand.index < len(op.inputs) else None
        if value is not None and value.constant is not None:
            yield value.constant
