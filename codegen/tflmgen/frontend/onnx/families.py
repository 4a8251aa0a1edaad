"""All lowerings: importing this module fills the table."""

from tflmgen.frontend.onnx import (
    lower_activation,
    lower_arithmetic,
    lower_codes,
    lower_control,
    lower_convolution,
    lower_index,
    lower_matrix,
    lower_move,
    lower_normal,
    lower_pool,
    lower_recurrent,
    lower_reduce,
    lower_resize,
    lower_sample,
    lower_signal,
)
from tflmgen.frontend.onnx.lowerings import LOWERINGS

FAMILIES = (
    lower_activation,
    lower_arithmetic,
    lower_codes,
    lower_control,
    lower_convolution,
    lower_index,
    lower_matrix,
    lower_move,
    lower_normal,
    lower_pool,
    lower_recurrent,
    lower_reduce,
    lower_resize,
    lower_sample,
    lower_signal,
)

__all__ = ["FAMILIES", "LOWERINGS"]
