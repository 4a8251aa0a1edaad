"""Types in which comparisons are exact."""

from __future__ import annotations

import pytest
from tflmgen.frontend.model_graph import ElementType
from tflmgen.ir import DType, Quantization
from tflmgen.quantize.element_types import comparison_types


def operands(dtype: DType, *scales: float) -> dict[int, ElementType]:
    return {place: ElementType(dtype, Quantization((scale,), (0,))) for place, scale in enumerate(scales)}


def test_scales_that_the_int8_kernel_resolves() -> None:
    types = operands(DType.INT8, 0.02, 0.5)
    assert comparison_types(types) == types


@pytest.mark.parametrize(
    ("dtype", "scales"),
    [(DType.INT8, (0.001, 0.5)), (DType.INT8, (0.02, 1.5)), (DType.INT16, (0.02, 0.5)), (DType.INT8, (1e-6, 100.0))],
)
def test_others_are_compared_in_int32_of_one_scale_without_overflow(dtype: DType, scales: tuple[float, ...]) -> None:
    types = set(comparison_types(operands(dtype, *scales)).values())
    (element,) = types
    assert element.dtype is DType.INT32
    assert element.quantization is not None
    assert max(scales) / element.quantization.scale * 2**16 < 2**31
