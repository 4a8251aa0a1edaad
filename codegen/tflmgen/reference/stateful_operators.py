"""Which operators keep state: in variable tensors of the file, or by themselves."""

from __future__ import annotations

from collections.abc import Mapping

from tflmgen.reference.operation import Array, Operation
from tflmgen.reference.signal_operators import INITIAL_STATES

UPDATES: Mapping[str, tuple[int, ...]] = {
    "SVDF": (4,),
    "RNN": (4,),
    "UNIDIRECTIONAL_SEQUENCE_RNN": (4,),
    "LSTM": (18, 19),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (18, 19),
    "BIDIRECTIONAL_SEQUENCE_RNN": (4, 8),
    "BIDIRECTIONAL_SEQUENCE_LSTM": (35, 36, 37, 38),
}
"""Inputs that are variable tensors; evaluations give their new contents after the outputs."""


def initial_states(op: Operation) -> tuple[Array, ...]:
    """State that an operator keeps by itself, before the first invoke."""
    states = INITIAL_STATES.get(op.name)
    return states(op) if states else ()
