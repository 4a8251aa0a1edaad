"""Cases with explicit padding, as passes make them, and the same cases on an input that is padded beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from tflmgen.kernels.operators.pool import ZEROS
from tflmgen.kernels.specification.window import EXPLICIT_PADDING
from tflmgen.kernels.table import OPERATORS

from support.conv_cases import Run
from support.kernel_harness import Array, Case, Tensor

VALID = 1


def explicitly_padded(
    rng: np.random.Generator, run: tuple[Case, Sequence[Array | None]], zeros: bool = False
) -> tuple[Run, Run]:
    """(the same operator VALID with explicit padding, VALID on an input that holds this padding).

    zeros: for a pool, whether padding is pixels of zero; else it must be a MAX_POOL_2D, in which it takes no part.
    """
    case, values = run
    options = dict(case.options) | {"padding": VALID}
    taps = (options["filter_height"], options["filter_width"]) if len(case.inputs) == 1 else _taps(case)
    reach = [
        (t - 1) * options.get(name, 1) + 1
        for t, name in zip(taps, ("dilation_h_factor", "dilation_w_factor"), strict=True)
    ]
    top, bottom = (int(rng.integers(reach[0])) for _ in range(2))
    left, right = (int(rng.integers(reach[1])) for _ in range(2))
    x = case.inputs[0]
    assert x is not None
    assert values[0] is not None
    quantization = x.type.quantization
    fill: float = quantization.zero_point if quantization else 0
    if case.operator == "MAX_POOL_2D" and not zeros:
        fill = x.type.dtype.limits[0] if quantization else float(np.finfo(np.float32).min)
    larger = np.pad(values[0], ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    # So that at least one window fits.
    least = [max(0, r - n) for r, n in zip(reach, larger.shape[1:3], strict=True)]
    bottom, right = bottom + least[0], right + least[1]
    larger = np.pad(larger, ((0, 0), (0, least[0]), (0, least[1]), (0, 0)), constant_values=fill)
    counted = {ZEROS: True} if zeros else {}
    explicit = _with(case, x, options | {EXPLICIT_PADDING: (top, left, bottom, right)} | counted)
    plain = _with(case, Tensor(x.type.with_shape(larger.shape)), options)
    return (explicit, list(values)), (plain, [larger, *values[1:]])


def _taps(case: Case) -> tuple[int, int]:
    weights = case.inputs[1]
    assert weights is not None
    _, height, width, _ = weights.type.max_shape
    return height, width


def _with(case: Case, x: Tensor, options: dict[str, object]) -> Case:
    other = Case(case.operator, (x, *case.inputs[1:]), case.outputs, options)
    (shape,) = OPERATORS[case.operator].infer(other.instance)
    assert shape is not None
    return replace(other, outputs=(case.outputs[0].with_shape(shape),))
