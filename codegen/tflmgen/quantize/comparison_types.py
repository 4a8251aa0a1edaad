"""Types in which a comparison is exact.

TFLite Micro's int8 kernels bring both operands to multiples of 1/256 before they compare, and abort for a scale of 1 or
more: finer operands, such as the residue of a loop that converges, would compare as equal. Such operands, and int16
ones, for which there is no kernel, are compared as int32 numbers of one scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from tflmgen.ir import DType, Quantization
from tflmgen.quantize.integer_forms import ElementType

_STEP = 1 / 256
"""What int8 operands are compared in multiples of."""

_WIDEST_RATIO = 2.0**14
"""Greatest ratio of an operand's scale to the common one, with which int16 elements stay within 31 bits."""

_Place = TypeVar("_Place")


def comparison_types(types: Mapping[_Place, ElementType]) -> Mapping[_Place, ElementType]:
    """Element types of a comparison's operands, from those that their webs have."""
    scales = [element.quantization.scale for element in types.values() if element.quantization is not None]
    is_int8 = all(element.dtype is DType.INT8 for element in types.values())
    if not scales or (is_int8 and min(scales) >= _STEP * 0.999 and max(scales) < 1):
        return types
    common = Quantization((float(np.float32(max(min(scales) / 4, max(scales) / _WIDEST_RATIO))),), (0,))
    return dict.fromkeys(types, ElementType(DType.INT32, common))
