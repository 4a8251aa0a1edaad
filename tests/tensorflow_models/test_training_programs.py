"""Training steps whose gradients TensorFlow derived, through branches and loops, become files that compute the same."""

from __future__ import annotations

import re

import pytest
from support.sampling import sampled
from support.tensorflow_conversions import converted
from support.tensorflow_environment import file_beside, requires_tensorflow
from tflmgen.conversion import ConversionSettings
from tflmgen.conversion.tensorflow_process import TensorFlowProcess
from tflmgen.errors import ModelError
from tflmgen.frontend.tflite import CUSTOM
from tflmgen.kernels import OPERATORS

pytestmark = [requires_tensorflow, pytest.mark.xdist_group("tensorflow")]

PROGRAMS = file_beside("training_programs.py")
NAMES = [
    *("two_branches", "many_branches", "branch_in_loop", "loop_in_branch", "loop_in_loop", "until", "row_by_row"),
    *("scanned", "folded", "written_rows", "unrolled", "images", "normalised", "looked_up", "lstm", "gru_rows"),
    *("bidirectional", "convolutions", "attention", "fused_updates", "broken_off", "choice_in_loops", "masked"),
    *("conv_lstm", "embedded", "three_loops"),
]
SETTINGS = ConversionSettings(composites=[name.removeprefix(CUSTOM) for name in OPERATORS if name.startswith(CUSTOM)])


@pytest.mark.parametrize("name", sampled(NAMES, 5, 2))
def test_steps_equal_tensorflow(tensorflow: TensorFlowProcess, name: str) -> None:
    """Three in a row, and the logits behind each."""
    proof = converted(tensorflow, f"{PROGRAMS}:{name}", SETTINGS).proof
    assert not proof.unsupported
    assert proof.equal >= 10


def test_all_programs_are_tested() -> None:
    defined = re.findall(r"^def ([a-z]\w*)\(\):", PROGRAMS.read_text(encoding="utf-8"), re.M)
    assert set(NAMES) == set(defined) - {"unbounded"}


PROGRAMS_OF_SEEDS = 300
SAMPLE = (12, 18, 20)
"""Seeds whose programs have branches, loops and both within one another."""


@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=[] if n in SAMPLE else [pytest.mark.sweep]) for n in range(PROGRAMS_OF_SEEDS)]
)
def test_gradients_of_random_programs_equal_tensorflow(tensorflow: TensorFlowProcess, seed: int) -> None:
    proof = converted(tensorflow, f"{file_beside('random_training.py')}:seed_{seed}", SETTINGS).proof
    assert not proof.unsupported
    assert proof.equal + proof.undecided >= 12
    assert proof.equal >= 6


def test_a_loop_without_a_bound_needs_one(tensorflow: TensorFlowProcess) -> None:
    with pytest.raises(ModelError, match=r"While 'while': .*gives no bound.*--max-iterations"):
        converted(tensorflow, f"{PROGRAMS}:unbounded", SETTINGS)
