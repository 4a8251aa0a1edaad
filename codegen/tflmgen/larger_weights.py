"""Kernels that take larger weights for fewer instructions: which of them the flash has room for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tflmgen.graph import Module, Op, walk
from tflmgen.kernel import Considered, ConstantArray, Input, Kernel, Pieces, View

WINOGRAD = "winograd"
"""The variant of kernels with larger weights."""

Kernels = Mapping[int, Kernel | View | Pieces]


def within_flash(module: Module, kernels: Kernels, most: int) -> tuple[Kernels, tuple[str, ...]]:
    """`kernels` with weights of at most `most` bytes in all, as far as the larger ones decide; notes for the user.

    Those go first that save fewest cycles for each byte that they take more than their first alternative. Those that
    stay have no alternatives: they are not given up for less RAM.
    """
    operators = [node for f in module.functions for node in walk(f.body) if isinstance(node, Op)]
    chosen = dict(kernels)
    larger = [op for op in operators if _is_larger(chosen[op.id])]
    if not larger:
        return chosen, ("--winograd makes no operator faster here",)
    refused: list[Op] = []
    while len(refused) < len(larger) and _flash(module, operators, chosen) > most:
        least = min((op for op in larger if op not in refused), key=lambda op: (_worth(_kernel(chosen[op.id])), op.id))
        chosen[least.id] = _without(_kernel(chosen[least.id]))
        refused.append(least)
    for op in larger:
        if op not in refused:
            chosen[op.id] = replace(_kernel(chosen[op.id]), alternatives=())
    if not refused:
        return chosen, ()
    names = ", ".join(f"{op.origin.subgraph}.{op.origin.operator}" for op in sorted(refused, key=lambda op: op.id))
    return chosen, (f"--winograd: the flash does not hold the larger weights of {names}; computed without",)


def _is_larger(kernel: Kernel | View | Pieces) -> bool:
    return isinstance(kernel, Kernel) and kernel.variant == WINOGRAD


def _kernel(kernel: Kernel | View | Pieces) -> Kernel:
    assert isinstance(kernel, Kernel)
    return kernel


def _worth(kernel: Kernel) -> float:
    """Cycles saved for a byte."""
    other = kernel.alternatives[0]
    return (other.cycles - kernel.cycles) / max(1, sum(map(len, _packed(kernel))) - sum(map(len, _packed(other))))


def _without(kernel: Kernel) -> Kernel:
    other, *more = kernel.alternatives
    refused = Considered(kernel.function, kernel.variant, kernel.instructions, kernel.cycles)
    same = (one for one in kernel.considered if one.function != other.function)
    return replace(other, alternatives=tuple(more), considered=(refused, *same))


def _flash(module: Module, operators: list[Op], kernels: Kernels) -> int:
    """Bytes of all constants; equal ones are stored once."""
    packed = {data for kernel in kernels.values() if isinstance(kernel, Kernel) for data in _packed(kernel)}
    plain = {name for op in operators for name in _plain(op, kernels[op.id])}
    return sum(map(len, packed)) + sum(len(module.constants[name]) for name in plain)


def _packed(kernel: Kernel) -> Iterator[bytes]:
    calls = (kernel, *(call.kernel for call in kernel.rows.calls)) if kernel.rows else (kernel,)
    return (operand.data for call in calls for operand in call.operands if isinstance(operand, ConstantArray))


def _plain(op: Op, kernel: Kernel | View | Pieces) -> Iterator[str]:
    """The model's own constants that a kernel reads."""
    read = (
        [operand.index for operand in kernel.operands if isinstance(operand, Input)]
        if isinstance(kernel, Kernel)
        else []
    )
    for index in read:
        value = op.inputs[index] if index < len(op.inputs) else None
        if value is not None and value.constant is not None:
            yield value.constant
