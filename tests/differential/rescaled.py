"""RELU6 to another scale than its input's, where TFLite Micro is wrong and LiteRT is the reference; FAKE_QUANT."""

from __future__ import annotations

import numpy as np
from support.differential import Family, Rng, Run, finished, shape_of, typed
from support.kernel_harness import Array, Case, make_case, operands_of, tensor


def relu6(rng: Rng, dtype: str) -> Run:
    """Of int16, the greatest output is at most 6.0."""
    source = typed(rng, dtype, shape_of(rng, 0, 5), 1e-5 if dtype == "int16" else 1e-3)
    result = typed(rng, dtype) if dtype == "int8" else tensor(dtype, (), float(rng.uniform(0.2, 1.0)) * 6 / 32767)
    return finished(rng, make_case("RELU6", [source], [result]))


def fake_quant(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 1, 4))
    low = float(np.float32(-rng.uniform(0, 4))) if rng.random() < 0.8 else 0.0
    options = {"min": low, "max": float(np.float32(rng.uniform(0.1, 4)))}
    options |= {"num_bits": int(rng.integers(2, 17)), "narrow_range": bool(rng.random() < 0.3)}
    return finished(rng, make_case("FAKE_QUANT", [source], [source], options))


def in_narrow_range(case: Case, values: list[Array | None]) -> list[Array]:
    """The nearest of the codes 1 to 2^bits - 1, of which one is 0."""
    (x,) = operands_of(case, values)
    low, high = np.float32(case.options["min"]), np.float32(case.options["max"])
    last = np.float32(2 ** case.options["num_bits"] - 1)
    scale = (high - low) / (last - 1)
    zero = np.clip(np.floor(1 - low / scale + np.float32(0.5)), 1, last)
    codes = (np.arange(1, last + 1, dtype=np.float64) - zero) * scale
    return [codes[np.abs(x.astype(np.float64)[..., None] - codes).argmin(axis=-1)].astype(np.float32)]


FAMILIES = (
    Family("RELU6", ("int8", "int16"), relu6, tflm=False),
    # LiteRT's kernel refuses narrow ranges, which its converter writes.
    Family("FAKE_QUANT", ("float32",), fake_quant, rtol=1e-6, atol=1e-6, expected=in_narrow_range),
)
