"""Operators with variable tensors, compared step after step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from support.differential import Rng
from support.kernel_harness import Array, Case
from support.recurrent_cases import CELLS_LOG2, Steps, fixed_lstm, float_lstm, quantized_lstm, rnn, svdf
from support.recurrent_runs import litert_steps, tflm_steps

SEQUENCE = "UNIDIRECTIONAL_SEQUENCE_LSTM"


@dataclass(frozen=True)
class StepFamily:
    """One operator's random cases with the inputs of each step; `reference` gives the outputs of each."""

    operator: str
    name: str
    make: Callable[[Rng], Steps]
    reference: Callable[[Case, Sequence[Array]], list[Array]]

    @property
    def tolerance(self) -> dict[str, float]:
        """Layer normalisation divides by what may be next to nothing, and makes much of the last bit of a sum."""
        normalizes = self.operator in ("LSTM", SEQUENCE) and self.name in ("hybrid", "float32 variants")
        return {"rtol": 1e-4, "atol": 1e-4} if normalizes else {"rtol": 1e-5, "atol": 1e-5}


def _float(operator: str, hybrid: bool) -> Callable[[Rng], Steps]:
    return lambda rng: float_lstm(rng, True, operator, hybrid)


def _fixed(operator: str) -> Callable[[Rng], Steps]:
    return lambda rng: fixed_lstm(rng, operator)


def _rnn(operator: str, hybrid: bool) -> Callable[[Rng], Steps]:
    return lambda rng: rnn(rng, operator, hybrid)


def _svdf(state: str) -> Callable[[Rng], Steps]:
    return lambda rng: svdf(rng, state)


def _quantized(dtype: str) -> Callable[[Rng], Steps]:
    return lambda rng: quantized_lstm(rng, dtype)


def _with_any_cells(dtype: str) -> Callable[[Rng], Steps]:
    """With scales of cells that converters do not make."""
    return lambda rng: quantized_lstm(rng, dtype, cells_log2=CELLS_LOG2)


FAMILIES = (
    *(StepFamily(SEQUENCE, dtype, _quantized(dtype), tflm_steps) for dtype in ("int8", "int16")),
    *(StepFamily(SEQUENCE, f"{dtype} any cells", _with_any_cells(dtype), tflm_steps) for dtype in ("int8", "int16")),
    StepFamily(SEQUENCE, "float32", lambda rng: float_lstm(rng, variants=False), tflm_steps),
    *(
        StepFamily(operator, name, make, litert_steps)
        for operator in ("LSTM", SEQUENCE)
        for name, make in (
            ("int8 variants", _fixed(operator)),
            ("float32 variants", _float(operator, hybrid=False)),
            ("hybrid", _float(operator, hybrid=True)),
        )
    ),
    *(
        StepFamily(operator, name, _rnn(operator, name == "hybrid"), litert_steps)
        for operator in ("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")
        for name in ("float32", "hybrid")
    ),
    *(
        StepFamily("SVDF", state, _svdf(state), litert_steps if state == "hybrid" else tflm_steps)
        for state in ("int8", "int16", "float32", "hybrid")
    ),
)
