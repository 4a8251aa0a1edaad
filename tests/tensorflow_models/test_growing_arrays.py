"""TensorArrays of a dynamic size become arrays with a count, which compute what TensorFlow does."""

from __future__ import annotations

import pytest
from support.tensorflow_conversions import converted
from support.tensorflow_environment import file_beside, requires_tensorflow
from tflmgen.conversion.tensorflow_process import TensorFlowProcess
from tflmgen.errors import ModelError

pytestmark = [requires_tensorflow, pytest.mark.xdist_group("tensorflow")]

PROGRAMS = file_beside("growing_arrays.py")


@pytest.mark.parametrize(
    "name", ["by_counter", "where_positive", "computed_places", "in_two_loops", "beside_found_rows", "bins"]
)
def test_rows_equal_tensorflow(tensorflow: TensorFlowProcess, name: str) -> None:
    proof = converted(tensorflow, f"{PROGRAMS}:{name}").proof
    assert not proof.unsupported
    assert proof.equal >= 12


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("anywhere", "is written at a place that no loop's counter bounds"),
        ("computed_size", "starts with a computed one"),
    ],
)
def test_an_array_without_a_bound(tensorflow: TensorFlowProcess, name: str, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        converted(tensorflow, f"{PROGRAMS}:{name}")
