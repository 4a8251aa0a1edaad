"""Checks operators that move elements: kernels by running them, views and pieces by what they say of the bytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tflmgen.ir.kernel.call import Kernel, Pieces, View
from tflmgen.ir.kernel.kernel_choice import KernelChoice
from tflmgen.kernels.table import OPERATORS

from support.kernel_harness import HOST, Array, Case, broken_rules, check_against


def selected(case: Case) -> Kernel | View | Pieces:
    """The kernel, view or pieces that an operator becomes; the case must satisfy every support rule."""
    assert not (broken := broken_rules(case)), broken
    kernel = OPERATORS[case.operator].kernel(case.instance, HOST)
    return kernel.kernel if isinstance(kernel, KernelChoice) else kernel


def is_view(case: Case) -> bool:
    return isinstance(selected(case), View)


def check_movement(
    runs: Sequence[tuple[Case, Sequence[Array | None]]],
    expected: Sequence[Sequence[Array]],
    rtol: float = 0.0,
    atol: float = 0.0,
) -> dict[type, int]:
    """Every element arrives where it should. Returns how many cases were kernels, views and pieces."""
    counts = {Kernel: 0, View: 0, Pieces: 0}
    kernels = []
    for (case, values), want in zip(runs, expected, strict=True):
        choice = selected(case)
        counts[type(choice)] += 1
        if isinstance(choice, Kernel):
            kernels.append((case, values, want))
        elif isinstance(choice, View):
            assert _bytes(case, values, choice.input) == np.ascontiguousarray(want[0]).tobytes(), case
        else:
            for index, array in enumerate(want):
                assert _assembled(case, values, choice, index) == np.ascontiguousarray(array).tobytes(), case
    if kernels:
        check_against([(case, values) for case, values, _ in kernels], [want for _, _, want in kernels], rtol, atol)
    return counts


def _bytes(case: Case, values: Sequence[Array | None], index: int) -> bytes:
    item = case.inputs[index]
    assert item is not None
    array = item.data if item.data is not None else values[index]
    assert array is not None
    return np.ascontiguousarray(array).tobytes()


def _assembled(case: Case, values: Sequence[Array | None], pieces: Pieces, output: int) -> bytes:
    """An output put together from its parts, which must cover it without a gap."""
    result = bytearray()
    parts = sorted((p for p in pieces.parts if p.output == output), key=lambda p: p.output_offset)
    for part in parts:
        assert part.output_offset == len(result)
        source = _bytes(case, values, part.input)
        assert part.input_offset + part.bytes <= len(source)
        result += source[part.input_offset : part.input_offset + part.bytes]
    assert len(result) == case.outputs[output].bytes
    return bytes(result)
