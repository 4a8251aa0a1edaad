"""Sets that a restart of the board interrupts, and what a session is sent of sliding windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tflmgen.emulators.execute import MAX_RESTARTS, run_set, run_sets
from tflmgen.emulators.session import EmulatorError, Invocation, RestartError
from tflmgen.input_sets.npz import VectorSet
from tflmgen.ir.graph.module import EntryPoint, Port, Slide
from tflmgen.ir.types import Bound, Dim, DType, TensorType


class Restarting:
    """A session whose model returns the sum of all inputs since its reset; each invoke in `fails` restarts instead."""

    model = "sum"
    place = "at a port"

    def __init__(self, fails: Sequence[int]) -> None:
        self.fails, self.invokes, self.total, self.down = set(fails), 0, 0, False

    def reset(self) -> None:
        if self.down:
            raise RestartError("the board has restarted")
        self.total = 0

    def reopen(self) -> None:
        self.down, self.total = False, 0

    def invoke(self, signature: int, inputs: Sequence[bytes], dims: object) -> Invocation:
        assert (signature, dims) == (0, [()])
        self.invokes += 1
        if self.down or self.invokes - 1 in self.fails:
            self.down = True
            raise RestartError("the board has restarted")
        self.total += int.from_bytes(inputs[0], "little")
        return Invocation((self.total.to_bytes(4, "little"),), 0, 0, 0, None, dims=((),))


def run(fails: Sequence[int], stateful: bool) -> list[int]:
    port = Port("x", TensorType(DType.INT32, (1,)))
    sets = [VectorSet("", 0, (np.array([value], np.int32),)) for value in (1, 2, 3)]
    results = run_sets(Restarting(fails), [EntryPoint("", "main", (port,), (port,))], sets, stateful)  # type: ignore[arg-type]
    return [int(result.outputs[0][0]) for result in results]


@pytest.mark.parametrize("fails", [(), (0,), (1,), (2,), (0, 2), (1, 2, 3), (2, 5)])
def test_results_are_those_of_an_undisturbed_run(fails: tuple[int, ...]) -> None:
    assert run(fails, stateful=False) == [1, 2, 3]
    assert run(fails, stateful=True) == [1, 3, 6]


def test_restarts_without_end_are_an_error() -> None:
    with pytest.raises(EmulatorError, match=rf"{MAX_RESTARTS + 1} times in set 1. A watchdog"):
        run(range(1, 50), stateful=False)


class Recording:
    """A session that keeps what it is sent."""

    def invoke(self, signature: int, inputs: Sequence[bytes], dims: object) -> Invocation:
        assert signature == 0
        self.inputs, self.dims = list(inputs), dims
        return Invocation((), 0, 0, 0, None)


@pytest.mark.parametrize("rows", [5, 2])
@pytest.mark.parametrize("shape", [(3,), (Bound("n", 4),)])
def test_an_input_that_is_no_window_comes_with_each_push(rows: int, shape: tuple[Dim]) -> None:
    """Its bytes are free once an invoke has read it; a hop's rows alone are one push."""
    window = Port("window", TensorType(DType.INT8, (1, 5)), slide=Slide(1, 2))
    other = Port("other", TensorType(DType.INT8, shape))
    arrays = np.arange(1, 1 + rows, dtype=np.int8).reshape(1, rows), np.array([7, 8, 9], np.int8)
    session = Recording()
    run_set(session, [EntryPoint("", "main", (window, other), ())], VectorSet("", 0, arrays), "set")  # type: ignore[arg-type]
    pushes = 3 if rows == 5 else 1
    assert session.dims == [(), () if shape == (3,) else (3,)]
    assert session.inputs == [bytes(2 * pushes - rows) + arrays[0].tobytes(), pushes * bytes([7, 8, 9])]


def test_progress_counts_the_sets() -> None:
    port = Port("x", TensorType(DType.INT32, (1,)))
    sets = [VectorSet("", 0, (np.array([1], np.int32),))] * 2
    seen = []

    def note(text: str, done: int = 0, total: int = 0) -> None:
        seen.append((text, done, total))

    run_sets(Restarting(()), [EntryPoint("", "main", (port,), (port,))], sets, False, note)  # type: ignore[arg-type]
    assert seen == [("Running set 1 of 2 at a port", 0, 2), ("Running set 2 of 2 at a port", 1, 2)]
