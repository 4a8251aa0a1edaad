"""Kernel families: C functions whose costs have the same terms, and what they compute at a time."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tflmgen.kernels.costs import rows
from tflmgen.kernels.costs.term import Blocking, Numbers, Term
from tflmgen.kernels.costs.windows import WINDOW_TERMS, Windows, channel_parts, convolution_parts, transposed_parts

CALL = "call"
"""The term that every kernel has once."""

Parts = Callable[[Numbers, Blocking], list[tuple[int, Windows]]]


@dataclass(frozen=True, slots=True)
class Family:
    """C functions with one cost model. count: of one term, given the numbers of a call and the blocking.

    vocabulary: every term that such kernels may have. terms: those that this family has, beside the call itself.
    """

    count: Callable[[Numbers, Blocking, str], float]
    vocabulary: frozenset[str]
    blocking: Blocking
    terms: tuple[str, ...]

    def counts(self, numbers: Numbers) -> dict[str, float]:
        """How often each part of the kernel runs in a call with these numbers."""
        return {CALL: 1} | {name: self.count(numbers, self.blocking, name) for name in self.terms}


def _windows(parts: Parts) -> Callable[..., Family]:
    def count(numbers: Numbers, blocking: Blocking, name: str) -> float:
        return sum(times * WINDOW_TERMS[name].count(part) for times, part in parts(numbers, blocking))

    return partial(_family, count, WINDOW_TERMS)


def _rows(call: Callable[[Numbers, Blocking], Any], vocabulary: dict[str, Term[Any]]) -> Callable[..., Family]:
    def count(numbers: Numbers, blocking: Blocking, name: str) -> float:
        return vocabulary[name].count(call(numbers, blocking))

    return partial(_family, count, vocabulary)


def _family(
    count: Callable[[Numbers, Blocking, str], float],
    vocabulary: dict[str, Term[Any]],
    terms: str,
    pixels: int = 1,
    channels: int = 1,
    values: int = 1,
) -> Family:
    return Family(count, frozenset(vocabulary), Blocking(pixels, channels, values), tuple(terms.split()))


_conv, _depthwise, _transposed = (_windows(parts) for parts in (convolution_parts, channel_parts, transposed_parts))
_matrix = _rows(rows.Matrix, rows.MATRIX_TERMS)
_product = _rows(rows.Product, rows.PRODUCT_TERMS)
_elements = _rows(rows.Elements, rows.ELEMENT_TERMS)
_svdf = _rows(rows.Filters, rows.SVDF_TERMS)
_lstm = _rows(rows.Sequence, rows.LSTM_TERMS)

FAMILIES: dict[str, Family] = {
    # Portable
    "conv2d_s8": _conv("pixel output row_output tap_output product_inside"),
    "depthwise_conv2d_s8": _depthwise("output row_output tap_output padding_value border"),
    "fully_connected_s8": _matrix("row unit mac"),
    "fully_connected_channels_s8": _matrix("row unit mac"),
    "add_s8": _elements("row vector"),
    "mul_s8": _elements("row vector"),
    "average_pool2d_s8": _depthwise("pixel output row_output tap_output border"),
    # Armv6-M
    "conv2d_pixel_thumb": _conv("pixel row dilated_tap border_tap window output mac", 1, 4, 2),
    "conv2d_thumb": _conv("pixel alone_row gathered_step dilated_tap block step signed", 4, 1, 4),
    "depthwise_thumb_3x3": _depthwise("strip plane_pair wide_strided_pair pair odd_column signed clamp", 1, 1, 2),
    "depthwise_thumb_window": _depthwise(
        "strip plane_line plane_pair wide_strided_pair pair pair_taps signed", 1, 1, 2
    ),
    "depthwise_direct_thumb": _depthwise("pixel border border_tap output step signed clamp"),
    "transpose_conv_thumb": _transposed("pixel row gathered_step alone_value output mac signed", 1, 4, 2),
    "fully_connected_few_thumb": _matrix("row unit mac signed clamp", 1, 1, 2),
    "fully_connected_thumb_copied": _matrix("row value unit mac rest_mac signed clamp", 1, 4, 2),
    "fully_connected_thumb_plain": _matrix("value mac block rest_mac", 1, 4, 2),
    "add_thumb": _elements("vector clamp"),
    "add_rows_thumb": _elements("row restart broadcast_row vector full_vector clamp"),
    "mul_thumb": _elements("row vector clamp"),
    "svdf_thumb": _svdf("unit filter step value state wide_state", 1, 4, 2),
    "lstm_thumb": _lstm("cell step", 1, 1, 2),
    # DSP extension
    "conv2d_dsp": _conv("alone ragged window dilated_tap full_block full_step lone_step", 3, 2, 4),
    "conv2d_split_dsp": _conv("pixel alone_row gathered_step step pass signed", 3, 2, 4),
    "conv2d_winograd_dsp": _conv("pixel tile tile_block tile_step signed", 8, 2, 4),
    "conv2d_dot_dsp": _conv("line alone_row alone_odd_value padding_value ragged_row line_block line_step", 3, 1, 4),
    "conv2d_groups_dsp": _conv("value cut cut_row cut_odd_value line_gather line_step", 3, 2, 4),
    "transpose_conv_dsp": _transposed("cut line_gather_row line_gather_step line_pass product_inside", 3, 2, 4),
    "depthwise3x3_dsp": _depthwise("plane strip moved_value block clamp", 1, 4),
    "depthwise3x3_pairs_dsp": _depthwise("strip plane_pair pair block clamp", 2, 4),
    "depthwise_window_dsp": _depthwise("line border border_tap four_tap block step clamp", 1, 4, 2),
    "depthwise_nine_dsp": _depthwise("line border row output clamp", 1, 4, 2),
    "fully_connected_dsp": _matrix("row row_step rest block step own_scale", 1, 4, 4),
    "fully_connected_dsp_long": _matrix("widened_value block step own_scale", 1, 4, 4),
    "add_dsp": _elements("element rest clamp", 1, 1, 4),
    "add_rows_dsp": _elements("row restart full_vector element rest clamp", 1, 1, 4),
    "mul_dsp": _elements("row vector full_vector element full_rest clamp", 1, 1, 4),
    "average_pool2d_dsp": _depthwise("pixel row step four rest_tap clamp", 1, 4),
    "max_pool2d_dsp": _depthwise("pixel large_four_row rest rest_tap output tap_output clamp", 1, 4),
    "conv2d_s16_dsp": _conv("pixel row dilated_tap ragged_value gathered_step full_step output", 3, 2, 4),
    "depthwise_conv2d_s16_dsp": _depthwise("pixel four_tap rest_row block row_output tap_output clamp", 1, 4),
    "fully_connected_s16_dsp": _matrix("odd_value unit mac lone rest_mac partial_block", 1, 4, 4),
    "svdf_dsp": _svdf("row unit filter step state state_word", 1, 4, 4),
    "lstm_dsp": _lstm("time value cell step", 1, 1, 4),
    # Helium
    "conv2d_mve": _conv("line line_gather gathered_step cut_value alone_value block step", 4, 2, 16),
    "conv2d_groups_mve": _conv("part border cut_value line_gather line_gather_step block step", 4, 2, 16),
    "conv2d_windows_mve": _conv("pixel row dilated_tap block step signed clamp", 1, 8, 16),
    "transpose_conv_mve": _transposed("line border padding_value line_gather line_step block", 4, 2, 16),
    "depthwise_window_mve": _depthwise("whole other other_group other_tap border_tap by_ones_tap step", 1, 8),
    "depthwise_quads_mve": _depthwise("alone_row column_vector load line_four left_over", 4, 1, 4),
    "depthwise_squares_mve": _depthwise("tap line_four line_vector left_over signed clamp", 8),
    "depthwise_line_mve": _depthwise("line alone vector_tap line_four left_over signed clamp", 8),
    "depthwise_half_line_mve": _depthwise("line tap line_pair line_four line_vector signed clamp", 8),
    "fully_connected_mve": _matrix("copied_step grouped_row block grouped_step single single_step clamp", 1, 8, 16),
    "batch_matmul_mve": _product("group packed_value packed_step block step copied_step", 1, 8, 16),
    "add_mve": _elements("element rest clamp", 1, 1, 8),
    "mul_mve": _elements("row element full_vector rest clamp", 1, 1, 8),
    "average_pool2d_mve": _depthwise("pixel row wide wide_row wide_tap narrow narrow_tap", 1, 16),
    "max_pool2d_mve": _depthwise("line pixel border vector_row vector_tap block", 1, 16),
    "lookup_mve": _elements("vector", 1, 1, 16),
    "svdf_mve": _svdf("row filter step state wide_state", 1, 8, 16),
    "lstm_mve": _lstm("time block step", 1, 4, 16),
    # Floating-point unit
    "conv2d_f32": _conv("pixel gathered_tap gathered_value block run_block eights_block ones_block", 1, 4, 8),
    "depthwise_conv2d_f32": _depthwise("pixel output tap_output lane_rest lane_rest_row lane_rest_tap limited", 1, 8),
    "fully_connected_f32": _matrix("row unit mac lone rest_mac left_value rectified", 1, 4, 8),
    "svdf_f32": _svdf("row unit filter step mac state", 1, 4, 8),
    "lstm_f32": _lstm("time cell step mac", 1, 1, 8),
}
"""By how the names of their C functions begin, behind tflmgen_."""


def family_of(function: str) -> str | None:
    """The family of a C function: the longest one that its name begins with. Padding by zeros and SUB make none."""
    name = function.removeprefix("tflmgen_").replace("_zeros", "").replace("sub_s8", "add_s8")
    return max((family for family in FAMILIES if re.match(rf"{family}(_|$)", name)), key=len, default=None)
