"""Runs cases of operators with variable tensors step after step: kernels on the host, TFLite Micro and LiteRT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from tflmgen.ir.kernel.call import Overlap
from tflmgen.kernels.table import OPERATORS

from support.case_models import model_bytes
from support.kernel_harness import Array, Case, claims, run_kernels

Sequences = Sequence[tuple[Case, Sequence[Array]]]
"""Cases of one run-time input beside their variables, with its value at each step."""


def initial(case: Case) -> dict[int, Array]:
    """What TFLite Micro gives variable tensors to begin with: zero, as quantised where it is int8."""
    states = {}
    for index in OPERATORS[case.operator].updates:
        item = case.inputs[index]
        assert item is not None
        kind = item.type
        zero = kind.quantization.zero_point if kind.quantization and kind.dtype.label == "int8" else 0
        states[index] = np.full(kind.max_shape, zero, kind.dtype.numpy)
    return states


def tflm_steps(case: Case, inputs: Sequence[Array]) -> list[Array]:
    from tflite_micro.python.tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(model_bytes(case), arena_size=1_000_000)
    outputs = []
    for value in inputs:
        interpreter.set_input(value, 0)
        interpreter.invoke()
        outputs.append(np.array(interpreter.get_output(0)))
    return outputs


def litert_steps(case: Case, inputs: Sequence[Array]) -> list[Array]:
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    interpreter = litert.Interpreter(
        model_content=model_bytes(case), experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF, num_threads=1
    )
    interpreter.allocate_tensors()
    outputs = []
    for value in inputs:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], value)
        interpreter.invoke()
        outputs.append(np.array(interpreter.get_tensor(interpreter.get_output_details()[0]["index"])))
    return outputs


def check_steps(runs: Sequences, reference: Callable[[Case, Sequence[Array]], list[Array]], **tolerance: Any) -> None:
    """Kernels equal the reference at each step, also at every overlap that they claim; floats within the tolerance."""
    expected = [reference(case, inputs) for case, inputs in runs]
    states = [initial(case) for case, _ in runs]
    claimed: list[list[Overlap | None]] = [[None, *claims(case.kernel)] for case, _ in runs]
    for step in range(len(runs[0][1])):
        batch = []
        for (case, inputs), state in zip(runs, states, strict=True):
            values: list[Array | None] = [state.get(i) for i in range(len(case.inputs))]
            values[0] = inputs[step]
            batch.append((case, values))
        flat = [run for run, overlaps in zip(batch, claimed, strict=True) for _ in overlaps]
        results = iter(run_kernels(flat, [overlap for overlaps in claimed for overlap in overlaps]))
        for number, ((case, _), overlaps) in enumerate(zip(batch, claimed, strict=True)):
            first = next(results)
            for overlap in overlaps[1:]:
                for got, alone in zip(next(results), first, strict=True):
                    np.testing.assert_array_equal(got, alone, err_msg=f"{case}\n{overlap}")
            _compare(first[0], expected[number][step], f"step {step} of {case}", tolerance)
            updates = OPERATORS[case.operator].updates
            states[number] = dict(zip(updates, first[len(first) - len(updates) :], strict=True))


def _compare(got: Array, want: Array, message: str, tolerance: dict[str, Any]) -> None:
    if got.dtype.kind == "f":
        np.testing.assert_allclose(got, want.reshape(got.shape), err_msg=message, **tolerance)
    else:
        np.testing.assert_array_equal(got, want.reshape(got.shape), err_msg=message)
