"""Runs input sets in a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.emulators.session import EmulatorError, Invocation, RestartError, Session
from tflmgen.errors import TflmgenError
from tflmgen.input_sets import VectorSet
from tflmgen.ir.graph import EntryPoint, Port
from tflmgen.terminal import Progress, no_progress

STATUS = {
    1: "TFLMGEN_ERROR_BOUND: a dimension became larger than its bound",
    2: "TFLMGEN_ERROR_ITERATIONS: a loop ran longer than allowed",
    3: "TFLMGEN_ERROR_ARGUMENT: an argument is out of range",
    6: "TFLMGEN_ERROR_MEMORY: bytes beside the arena or the state were overwritten",
    7: "TFLMGEN_ERROR_WEIGHTS: the constants in flash have changed",
}


MAX_RESTARTS = 3
"""Consecutive restarts of the board without a completed set after which the run fails."""


class StatusError(TflmgenError):
    """The generated C returned an error code."""


@dataclass(frozen=True, slots=True)
class Result:
    """Outputs of one set, and the cost of its invoke."""

    outputs: tuple[NDArray[Any], ...]
    invocation: Invocation


def run_sets(
    session: Session,
    signatures: Sequence[EntryPoint],
    sets: Sequence[VectorSet],
    stateful: bool = False,
    progress: Progress = no_progress,
) -> list[Result]:
    """Invokes the sets in order: in sequence if `stateful`, else each from the model's initial state.

    If the board restarts, the set is repeated, after the preceding ones if `stateful`. Raises EmulatorError after
    MAX_RESTARTS restarts in one set, and StatusError if the C code returns an error code.
    """
    results: list[Result] = []
    completed = restarts = 0
    while (number := len(results)) < len(sets):
        progress(f"Running set {number + 1} of {len(sets)} {session.place}", number, len(sets))
        try:
            if number == 0 or not stateful:
                session.reset()
            results.append(run_set(session, signatures, sets[number], f"set {number}"))
        except RestartError as error:
            restarts += 1
            if restarts > MAX_RESTARTS:
                raise EmulatorError(f"{error}, {restarts} times in set {number}. A watchdog, or its supply?") from error
            session.reopen()
            results = [] if stateful else results
        if len(results) > completed:
            completed, restarts = len(results), 0
    return results


def run_set(session: Session, signatures: Sequence[EntryPoint], vector_set: VectorSet, label: str) -> Result:
    """Invokes one set from the model's current state. Raises StatusError if the C code returns an error code."""
    signature = signatures[vector_set.signature]
    inputs = signature.inputs
    dims = [port.type.dynamic_dims(array.shape) for port, array in zip(inputs, vector_set.inputs, strict=True)]
    data = _sent(vector_set.inputs, signature)
    invocation = session.invoke(vector_set.signature, data, dims)
    if invocation.status != 0:
        code = STATUS.get(invocation.status, str(invocation.status))
        key = signatures[vector_set.signature].key
        raise StatusError(f"{session.model}: {label}{f', signature {key!r}' if key else ''}: the model returned {code}")
    ports = signatures[vector_set.signature].outputs
    return Result(tuple(map(_array, invocation.outputs, invocation.dims, ports)), invocation)


def _sent(arrays: Sequence[NDArray[Any]], signature: EntryPoint) -> list[bytes]:
    """The bytes of all inputs: a part for each push where a window comes whole.

    Before the first row of a window come zeros, up to a whole number of hops. Inputs that are no windows come again
    with each push, which may overwrite them. A window's array of a hop's shape is one push.
    """
    pairs = list(zip(arrays, signature.inputs, strict=True))
    is_one_push = all(array.shape == port.invoke_type.max_shape for array, port in pairs if port.slide is not None)
    if is_one_push:
        return [array.tobytes() for array in arrays]
    return [_parts(array.tobytes(), port, signature.pushes) for array, port in pairs]


def _parts(data: bytes, port: Port, pushes: int) -> bytes:
    if port.slide is not None:
        return bytes(pushes * port.invoke_type.bytes - len(data)) + data
    return data * pushes


def _array(data: bytes, dims: Sequence[int], port: Port) -> NDArray[Any]:
    """Output as an array of its run-time shape."""
    return np.frombuffer(data, dtype=port.type.dtype.numpy).reshape(port.type.actual_shape(dims))
