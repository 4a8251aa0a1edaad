"""The difference that is reported of an output is the one by which it is judged."""

from __future__ import annotations

import numpy as np
import pytest
from tflmgen.sources.output_differences import is_within, relative_error


@pytest.mark.parametrize("share", [0.5, 0.99, 1.01, 3.0])
def test_what_cancels_out_is_relative_to_the_inputs(share: float) -> None:
    """Differences of large numbers leave rounding of these, which may be as large as the result."""
    expected = np.array([1e-9, -2e-9], np.float32)
    actual = expected + np.float32(share * 1e-4 * 0.01 * 50.0)
    assert is_within(actual, expected, 1e-4, magnitude=50.0) == (share < 1.0)
    assert relative_error(actual, expected, magnitude=50.0) == pytest.approx(share * 1e-4, rel=1e-3)


def test_integers_are_relative_to_themselves() -> None:
    assert relative_error(np.array([3, 4]), np.array([4, 4]), magnitude=1e6) == 0.25
