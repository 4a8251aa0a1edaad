"""RELU6 to another scale than its input's, where TFLite Micro is wrong and LiteRT is the reference."""

from __future__ import annotations

from support.differential import Family, Rng, Run, finished, shape_of, typed
from support.kernel_harness import make_case, tensor


def relu6(rng: Rng, dtype: str) -> Run:
    """Of int16, the greatest output is at most 6.0."""
    source = typed(rng, dtype, shape_of(rng, 0, 5), 1e-5 if dtype == "int16" else 1e-3)
    result = typed(rng, dtype) if dtype == "int8" else tensor(dtype, (), float(rng.uniform(0.2, 1.0)) * 6 / 32767)
    return finished(rng, make_case("RELU6", [source], [result]))


FAMILIES = (Family("RELU6", ("int8", "int16"), relu6, tflm=False),)
