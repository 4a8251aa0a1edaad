"""The families of kernels whose costs are measured on each core."""

from __future__ import annotations

PORTABLE = ("add_s8", "mul_s8", "average_pool2d_s8")
"""Kernels without weights."""

THUMB = (
    "conv2d_thumb",
    "conv2d_pixel_thumb",
    "depthwise_thumb_3x3",
    "depthwise_thumb_window",
    "depthwise_direct_thumb",
    "transpose_conv_thumb",
    "fully_connected_thumb_copied",
    "fully_connected_thumb_plain",
    "fully_connected_few_thumb",
    "add_thumb",
    "add_rows_thumb",
    "mul_thumb",
    "svdf_thumb",
    "lstm_thumb",
)
"""Those of every core, which take what no others are exact for: measured where there are no others."""

FLOATS = ("conv2d_f32", "depthwise_conv2d_f32", "fully_connected_f32", "svdf_f32", "lstm_f32")
"""Those of cores with a floating-point unit."""

SPECIALISED = ("lstm_dsp",)
"""Kernels that compilers specialise where a model has one such layer, the usual case: measured one by one."""

FAMILIES = {
    "cortex-m0": ("conv2d_s8", "depthwise_conv2d_s8", "fully_connected_channels_s8", *THUMB, *PORTABLE),
    "cortex-m4": (
        "conv2d_s8",
        "depthwise_conv2d_s8",
        "fully_connected_channels_s8",
        "fully_connected_s8",
        "conv2d_dsp",
        "conv2d_split_dsp",
        "conv2d_winograd_dsp",
        "conv2d_dot_dsp",
        "conv2d_groups_dsp",
        "transpose_conv_dsp",
        "depthwise3x3_dsp",
        "depthwise3x3_pairs_dsp",
        "depthwise_window_dsp",
        "depthwise_nine_dsp",
        "fully_connected_dsp",
        "fully_connected_dsp_long",
        "add_dsp",
        "add_rows_dsp",
        "mul_dsp",
        "average_pool2d_dsp",
        "max_pool2d_dsp",
        "conv2d_s16_dsp",
        "depthwise_conv2d_s16_dsp",
        "fully_connected_s16_dsp",
        "svdf_dsp",
        "lstm_dsp",
        *PORTABLE,
        *FLOATS,
    ),
    "cortex-m55": (
        "conv2d_mve",
        "conv2d_groups_mve",
        "conv2d_windows_mve",
        "transpose_conv_mve",
        "depthwise_window_mve",
        "depthwise_quads_mve",
        "batch_matmul_mve",
        "fully_connected_mve",
        "depthwise_squares_mve",
        "depthwise_line_mve",
        "depthwise_half_line_mve",
        "add_mve",
        "mul_mve",
        "average_pool2d_mve",
        "max_pool2d_mve",
        "lookup_mve",
        "svdf_mve",
        "lstm_mve",
    ),
}
FAMILIES["cortex-m3"] = FAMILIES["cortex-m0"]
FAMILIES["cortex-m7"] = FAMILIES["cortex-m4"]
FAMILIES["cortex-m55"] = (*FAMILIES["cortex-m4"], *FAMILIES["cortex-m55"])
