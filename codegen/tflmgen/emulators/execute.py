"""Runs sets of inputs in a session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.emulators.npz import VectorSet
from tflmgen.emulators.session import EmulatorError, Invocation, RestartError, Session
from tflmgen.errors import TflmgenError
from tflmgen.ir import Port, Signature

STATUS = {
    1: "TFLMGEN_ERROR_BOUND: a dimension became larger than its bound",
    2: "TFLMGEN_ERROR_ITERATIONS: a loop ran longer than allowed",
    3: "TFLMGEN_ERROR_ARGUMENT: an argument is out of range",
}


MOST_RESTARTS = 3
"""In a row, without a set that ran in between."""


class StatusError(TflmgenError):
    """The generated C returned an error code."""


@dataclass(frozen=True, slots=True)
class Result:
    """The outputs of one set, and what the invoke cost."""

    outputs: tuple[NDArray[Any], ...]
    invocation: Invocation


def run_sets(
    session: Session,
    signatures: Sequence[Signature],
    sets: Sequence[VectorSet],
    stateful: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Result]:
    """Invoke the sets in order: on one instance if `stateful`, else each from the model's initial state.

    Where the board restarts, the set is run again, and if `stateful` those before it.
    """
    results: list[Result] = []
    furthest = restarts = 0
    while (number := len(results)) < len(sets):
        progress(f"Running set {number + 1} of {len(sets)} {session.place}")
        try:
            if number == 0 or not stateful:
                session.reset()
            results.append(run_set(session, signatures, sets[number], f"set {number}"))
        except RestartError as error:
            restarts += 1
            if restarts > MOST_RESTARTS:
                raise EmulatorError(f"{error}, {restarts} times in set {number}. A watchdog, or its supply?") from error
            session.reopen()
            results = [] if stateful else results
        if len(results) > furthest:
            furthest, restarts = len(results), 0
    return results


def run_set(session: Session, signatures: Sequence[Signature], one: VectorSet, where: str) -> Result:
    """Invoke one set in the state that the model is in. StatusError if the C returns an error code."""
    inputs = signatures[one.signature].inputs
    dims = [port.type.dynamic_dims(array.shape) for port, array in zip(inputs, one.inputs, strict=True)]
    invocation = session.invoke(one.signature, [array.tobytes() for array in one.inputs], dims)
    if invocation.status != 0:
        code = STATUS.get(invocation.status, str(invocation.status))
        key = signatures[one.signature].key
        raise StatusError(f"{session.model}: {where}{f', signature {key!r}' if key else ''}: the model returned {code}")
    ports = signatures[one.signature].outputs
    return Result(tuple(map(_array, invocation.outputs, invocation.dims, ports)), invocation)


def _array(data: bytes, dims: Sequence[int], port: Port) -> NDArray[Any]:
    """The output in its actual shape."""
    return np.frombuffer(data, dtype=port.type.dtype.numpy).reshape(port.type.actual_shape(dims))
