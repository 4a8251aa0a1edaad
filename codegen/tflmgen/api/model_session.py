"""A running model: arrays in, arrays out, with state kept from run to run where the user wants that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.emulators import Session, run_set
from tflmgen.errors import UsageError
from tflmgen.input_sets import VectorSet, choose_signature, vector_set_of
from tflmgen.ir.graph import EntryPoint, Port

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LABEL = "inputs"
"""Name of the user's arrays in error messages."""


class ModelSession:
    """Firmware that runs while the context of `CompiledModel.session()` lasts. Several threads may use it in turns.

    Attributes:
        emulator: What runs it: `QEMU`, `Renode`, `host`, or a serial port.
    """

    def __init__(self, session: Session, signatures: Sequence[EntryPoint]) -> None:
        self._session, self._signatures = session, signatures
        self._lock = Lock()
        self._has_ended = False
        self.emulator = session.emulator

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on this run for the user, a sentence each."""
        return self._session.notes

    def run(self, inputs: Mapping[str, ArrayLike] | ArrayLike, signature: str | None = None) -> dict[str, NDArray[Any]]:
        """Invokes the model from its current state.

        Args:
            inputs: An array per input name, of the shape and type that `CompiledModel.plan.signatures` has. A model
                with one input takes the array alone.
            signature: Key of the signature to run; None: the only one.

        Returns:
            An array per output name.

        Raises:
            VectorsError: The arrays do not fit the model.
            StatusError: The model returned an error, such as too many iterations of a loop.
            EmulatorError: The firmware crashed or does not answer.
            UsageError: The session is over.
        """
        vectors = arrays_for(self._signatures, inputs, signature)
        with self._lock:
            self._require_running()
            result = run_set(self._session, self._signatures, vectors, "this run")
        return named_outputs(self._signatures, vectors, result.outputs)

    def reset(self) -> None:
        """Puts the model into its initial state. Raises UsageError if the session is over."""
        with self._lock:
            self._require_running()
            self._session.reset()

    def end(self) -> None:
        """Waits for a run of another thread; from then on every call raises UsageError."""
        with self._lock:
            self._has_ended = True

    def _require_running(self) -> None:
        if self._has_ended:
            raise UsageError("the session is over: its runs belong into `with model.session() as session`")


def arrays_for(
    signatures: Sequence[EntryPoint], inputs: Mapping[str, ArrayLike] | ArrayLike, key: str | None
) -> VectorSet:
    """The input set of arrays of Python. Raises VectorsError or UsageError if they don't fit the model."""
    number = choose_signature(signatures, key, LABEL)
    ports = signatures[number].inputs
    names = [port.name for port in ports]
    if not isinstance(inputs, Mapping):
        if len(names) != 1:
            listed = ", ".join(f"'{name}'" for name in names)
            raise UsageError(f"{LABEL}: the model has {len(names)} inputs: give an array for each of {listed}")
        inputs = {names[0]: inputs}
    unknown = [name for name in inputs if name not in names]
    if unknown:
        listed = ", ".join(f"'{name}'" for name in names) or "none"
        raise UsageError(f"{LABEL}: the model has no input '{unknown[0]}'. It has {listed}")
    arrays = {port.name: _array(port.name, inputs[port.name], port) for port in ports if port.name in inputs}
    return vector_set_of(LABEL, arrays, signatures, number)


def named_outputs(
    signatures: Sequence[EntryPoint], vectors: VectorSet, outputs: Sequence[NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Outputs by name, as arrays that the user may change."""
    ports = signatures[vectors.signature].outputs
    return {port.name: array.copy() for port, array in zip(ports, outputs, strict=True)}


def _array(name: str, value: ArrayLike, port: Port) -> NDArray[Any]:
    """Numbers of Python's own, which may be whole ones for floats, as an array; an array as it is."""
    try:
        array, dtype = np.asarray(value), port.type.dtype
    except (TypeError, ValueError) as error:
        raise UsageError(f"{LABEL}: '{name}' is no array: {error}") from None
    is_plain = array.dtype.kind in "iu" and not isinstance(value, np.ndarray)
    return array.astype(dtype.numpy) if dtype.is_float and is_plain else array


class SessionContext(AbstractContextManager[ModelSession]):
    """Result of `CompiledModel.session()`: a context that runs the firmware, not yet the session."""

    def __init__(self, context: AbstractContextManager[ModelSession]) -> None:
        self._context = context
        self._was_entered = False

    def __enter__(self) -> ModelSession:
        if self._was_entered:
            raise UsageError("a session() is for one `with`: call session() for each")
        self._was_entered = True
        return self._context.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._context.__exit__(kind, error, trace)

    def __getattr__(self, name: str) -> Any:
        text = f"session() has no '{name}' before it is entered: write `with model.session() as session:`"
        raise AttributeError(text)
