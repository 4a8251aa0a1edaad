from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tflmgen.compare.verdict import Tolerance, difference
from tflmgen.reference.element_distance import distance, largest_distance

NONE = Tolerance(0.0, 0.0)
NAN, INF = float("nan"), float("inf")


def _floats(*values: float) -> Any:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("expected", "actual", "right"),
    [
        (1.0, 1.0, True),
        (1.0, 1.5, True),
        (1.0, 1.75, False),
        (-100.0, -110.0, True),
        (0.0, 0.5, True),
        (NAN, NAN, True),
        (NAN, 1.0, False),
        (1.0, NAN, False),
        (INF, INF, True),
        (INF, -INF, False),
        (INF, 3e38, False),
        (3e38, INF, False),
    ],
)
def test_floats(expected: float, actual: float, right: bool) -> None:
    verdict = difference(_floats(expected), _floats(actual), Tolerance(0.5, 0.1))
    assert (verdict is None) == right


def test_the_worst_element_is_reported() -> None:
    expected = np.zeros((2, 3), np.int8)
    actual = np.array([[0, 1, 0], [0, -128, 100]], np.int8)
    verdict = difference(expected, actual, NONE)
    assert verdict is not None
    assert (verdict.count, verdict.total, verdict.index) == (3, 6, (1, 1))
    assert str(verdict) == "3 of 6 wrong, the worst at [1,1]: expected 0, got -128"


def test_the_worst_is_one_that_is_wrong() -> None:
    """Within a relative tolerance the farthest element may be right, and a nearer one wrong."""
    verdict = difference(_floats(1000.0, 1.0), _floats(1050.0, 10.0), Tolerance(0.0, 0.1))
    assert verdict is not None
    assert (verdict.count, verdict.index) == (1, (1,))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@given(data=st.data())
def test_distance_of_integers_is_exact(dtype: str, data: st.DataObject) -> None:
    expected, actual = (data.draw(arrays.arrays(dtype, (2, 2))) for _ in range(2))
    wanted = [abs(int(e) - int(a)) for e, a in zip(expected.flat, actual.flat, strict=True)]
    assert [int(d) for d in distance(expected, actual).flat] == wanted
    assert (difference(expected, actual, Tolerance(1.0, 1.0)) is None) == (wanted == [0, 0, 0, 0])


def test_scalars_and_empty_arrays() -> None:
    assert difference(np.array(3, np.int32), np.array(3, np.int32), NONE) is None
    verdict = difference(np.array(3, np.int32), np.array(5, np.int32), NONE)
    assert verdict is not None
    assert verdict.index == ()
    empty = np.zeros((0, 2), np.float32)
    assert difference(empty, empty, NONE) is None
    assert largest_distance(empty, empty) == 0.0
    assert largest_distance(_floats(NAN, 1.0), _floats(NAN, 3.0)) == 2.0


def test_what_cancels_rounds_in_units_of_the_largest() -> None:
    """A sixteenth of the relative tolerance of the largest; fillings are no results, and integers have none."""
    tolerance, lowest = Tolerance(0.0, 1e-3), -3e38
    assert difference(_floats(1600.0, 1.0), _floats(1600.0, 1.09), tolerance) is None
    assert difference(_floats(1600.0, 1.0), _floats(1600.0, 1.11), tolerance) is not None
    assert difference(_floats(lowest, 1.0), _floats(lowest, 1.09), tolerance) is not None
    assert difference(np.array([1600, 1]), np.array([1600, 2]), tolerance) is not None
    assert difference(_floats(1600.0, 1.0), _floats(1600.0, 1.001), Tolerance(0.0, 0.0)) is not None
