"""Sliding windows in validation: a series of windows for the file, and the rows of each that the Module takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tflmgen.ir.graph import EntryPoint, Port
from tflmgen.reference.module_interpreter import ModuleInterpreter, ObserveValue
from tflmgen.reference.operation import Array


def series(arrays: Sequence[Array], ports: Sequence[Port], count: int) -> list[tuple[Array, ...]]:
    """Inputs of `count` invokes of the file: windows that slide by a hop each, other inputs that change.

    The rows after the first window are its own, with their elements moved, so that no window comes again.
    """
    return [tuple(_window(a, port, k) for a, port in zip(arrays, ports, strict=True)) for k in range(count)]


def _window(array: Array, port: Port, number: int) -> Array:
    if port.slide is None:
        return np.roll(array, number)
    axis, rows, first = port.slide.axis, array.shape[port.slide.axis], number * port.slide.hop
    turns = range(first // rows + 2)
    rows_in_order = np.concatenate([np.roll(array, 7 * turn) for turn in turns], axis)
    return np.take(rows_in_order, range(first, first + rows), axis)


def invoke_window(
    interpreter: ModuleInterpreter,
    signature: EntryPoint,
    arrays: Sequence[Array],
    is_first: bool,
    observe: ObserveValue | None = None,
) -> tuple[Array, ...]:
    """Outputs of a Module for whole windows, of which the last invoke had all but a hop unless `is_first`."""
    for hop in _hops(arrays, signature, signature.pushes if is_first else 1):
        outputs = interpreter.invoke(signature, hop, observe)
    return outputs


def _hops(arrays: Sequence[Array], signature: EntryPoint, count: int) -> Iterator[tuple[Array, ...]]:
    """The last `count` hops of windows; rows before the first are zeros."""
    for left in range(count, 0, -1):
        yield tuple(_hop(a, port, left) for a, port in zip(arrays, signature.inputs, strict=True))


def _hop(array: Array, port: Port, left: int) -> Array:
    if port.slide is None:
        return array
    axis, hop = port.slide.axis, port.slide.hop
    missing = max(0, left * hop - array.shape[axis])
    padding = [(missing if i == axis else 0, 0) for i in range(array.ndim)]
    padded = np.pad(array, padding)
    first = padded.shape[axis] - left * hop
    return np.take(padded, range(first, first + hop), axis)
