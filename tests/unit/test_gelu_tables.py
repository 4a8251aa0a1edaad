"""Tables of GELU: kernels and reference compute LiteRT's, in single precision, each by code of its own."""

from __future__ import annotations

import numpy as np
import pytest
from tflmgen.kernels.numeric.int16_tables import interpolated_table
from tflmgen.kernels.numeric.real_functions import gelu
from tflmgen.reference.definitions.elementwise_unary import int16_table, single_gelu


@pytest.mark.parametrize("by_tanh", [True, False])
def test_tables_are_equal(by_tanh: bool) -> None:
    """Computed in double precision, those of a fifth of these scales differ in some entry."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        high = rng.uniform(0.5, 8)
        scale, output = np.float32(high / 32767), np.float32(high * rng.uniform(0.9, 1.1) / 32767)
        own = interpolated_table(lambda values: gelu(values, by_tanh), scale, 0, output)
        assert (own == int16_table(lambda values: single_gelu(values, by_tanh), scale, 0, output)).all()
        values = (scale * np.arange(-128, 128).astype(np.float32) * np.float32(257)).astype(np.float64)
        assert (gelu(values, by_tanh) == single_gelu(values, by_tanh)).all()
