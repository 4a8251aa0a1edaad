/* Windows of convolutions and pools: which of their taps lie inside the input. */
#ifndef TFLMGEN_KERNELS_WINDOW_H
#define TFLMGEN_KERNELS_WINDOW_H

#include "common.h"

/* The params of every kernel with windows: tensors are [batch, height, width, channels]. */
#define TFLMGEN_WINDOW_FIELDS \
    int32_t batches;          \
    int32_t input_height;     \
    int32_t input_width;      \
    int32_t input_channels;   \
    int32_t output_height;    \
    int32_t output_width;     \
    int32_t output_channels;  \
    int32_t filter_height;    \
    int32_t filter_width;     \
    int32_t stride_height;    \
    int32_t stride_width;     \
    int32_t padding_top;      \
    int32_t padding_left;

/* Taps first <= i < end of a window along one dimension. */
struct tflmgen_taps {
    int32_t first;
    int32_t end;
};

/* The taps i in [0, taps) with 0 <= origin + i * dilation < size. */
TFLMGEN_HELPER struct tflmgen_taps tflmgen_taps_inside(int32_t origin, int32_t dilation, int32_t taps, int32_t size)
{
    struct tflmgen_taps inside;
    inside.first = origin < 0 ? tflmgen_min_s32((-origin + dilation - 1) / dilation, taps) : 0;
    inside.end = origin < size ? tflmgen_min_s32((size - origin + dilation - 1) / dilation, taps) : 0;
    inside.end = tflmgen_max_s32(inside.end, inside.first);
    return inside;
}

#endif
