"""Selects kernels with larger weights and fewer cycles within a budget of flash."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from tflmgen.ir.graph import Module, Op, walk
from tflmgen.ir.kernel import ConstantArray, CostedKernel, Input, KernelChoice, Pieces, Selected, View
from tflmgen.ir.streams import Called, RowStream

WINOGRAD = "winograd"
"""Name of the variant of kernels with larger weights."""

Kernels = Mapping[int, Selected]


def within_flash(
    module: Module, kernels: Kernels, max_bytes: int, without: Callable[[Op], KernelChoice | View | Pieces]
) -> tuple[Kernels, tuple[str, ...]]:
    """`kernels` with weights of at most `max_bytes` bytes in all, as far as the larger ones decide; notes for the user.

    Those become `without` first that save fewest cycles for each byte that they take more. Those that stay have no
    alternatives: they are not given up for less RAM.
    """
    operators = [node for f in module.functions for node in walk(f.body) if isinstance(node, Op)]
    chosen = dict(kernels)
    larger: dict[int, KernelChoice] = {}
    for op in operators:
        choice = chosen[op.id]
        if isinstance(choice, KernelChoice) and choice.kernel.variant == WINOGRAD:
            chosen[op.id] = larger[op.id] = replace(choice, alternatives=())
    if not larger:
        return chosen, ("--winograd makes no operator faster here",)
    if _flash(module, operators, chosen) <= max_bytes:
        return chosen, ()
    plain = {op.id: other for op in operators if op.id in larger and isinstance(other := without(op), KernelChoice)}
    refused = []
    for number in sorted(
        plain, key=lambda number: (_cycles_saved_per_byte(larger[number].chosen, plain[number].chosen), number)
    ):
        if _flash(module, operators, chosen) <= max_bytes:
            break
        chosen[number] = replace(plain[number], considered=(larger[number].chosen, *plain[number].considered))
        refused.append(number)
    names = ", ".join(f"{op.origin.subgraph}.{op.origin.operator}" for op in operators if op.id in refused)
    return chosen, (f"--winograd: the flash does not hold the larger weights of {names}; computed without",)


def _cycles_saved_per_byte(larger: CostedKernel, other: CostedKernel) -> float:
    """Cycles saved per additional byte of flash."""
    more = sum(map(len, _packed(larger.kernel))) - sum(map(len, _packed(other.kernel)))
    return (other.cycles - larger.cycles) / max(1, more)


def _flash(module: Module, operators: list[Op], kernels: Kernels) -> int:
    """Bytes of all constants; equal ones count once."""
    called = {op: call for op in operators if (call := _called(kernels[op.id])) is not None}
    packed = {data for call in called.values() for data in _packed(call)}
    plain = {name for op, call in called.items() for name in _plain(op, call)}
    return sum(map(len, packed)) + sum(len(module.constants[name]) for name in plain)


def _called(selected: Selected) -> Called | None:
    call = selected.kernel if isinstance(selected, KernelChoice) else selected
    return call if isinstance(call, Called) else None


def _packed(call: Called) -> Iterator[bytes]:
    kernels = [row.kernel for row in call.calls] if isinstance(call, RowStream) else [call]
    return (operand.data for kernel in kernels for operand in kernel.operands if isinstance(operand, ConstantArray))


def _plain(op: Op, call: Called) -> Iterator[str]:
    """The model's own constants that a kernel reads."""
    for operand in call.operands:
        value = op.inputs[operand.index] if isinstance(operand, Input) and operand.index < len(op.inputs) else None
        if value is not None and value.constant is not None:
            yield value.constant
