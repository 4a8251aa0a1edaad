"""Build-time arithmetic of quantisation and weights, common to operators and kernels.

In: scales, zero points, weights. Out: multipliers, shifts, tables and packed constants.
Decided here: how real numbers are rounded to those that C computes with.
"""

from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.quantize_math import FLOAT_MAX, Activation, activation_range
from tflmgen.kernels.numeric.real_functions import Real, Reals
from tflmgen.kernels.numeric.strides import MAX_RANK, is_per_channel, normalize_axis

__all__ = [
    "FLOAT_MAX",
    "MAX_RANK",
    "Activation",
    "Real",
    "Reals",
    "activation_range",
    "header_constant",
    "is_per_channel",
    "normalize_axis",
]
