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

/* Defines a function that copies a convolution's window at (origin_y, origin_x). Of its taps those in `y` x `x` lie
 * inside the input; the others become `outside`. */
#define TFLMGEN_GATHER_WINDOW(name, element, params_struct)                                             \
    TFLMGEN_HELPER void name(element *column, const element *input, int32_t origin_y, int32_t origin_x, \
                             struct tflmgen_taps y, struct tflmgen_taps x, element outside,             \
                             const struct params_struct *p)                                             \
    {                                                                                                   \
        for (int32_t ky = 0; ky < p->filter_height; ++ky) {                                             \
            const int32_t line = (origin_y + ky * p->dilation_height) * p->input_width + origin_x;      \
            for (int32_t kx = 0; kx < p->filter_width; ++kx) {                                          \
                const bool inside = ky >= y.first && ky < y.end && kx >= x.first && kx < x.end;         \
                const int32_t at = (line + kx * p->dilation_width) * p->input_channels;                 \
                for (int32_t channel = 0; channel < p->filter_channels; ++channel) {                    \
                    *column++ = inside ? input[at + channel] : outside;                                 \
                }                                                                                       \
            }                                                                                           \
        }                                                                                               \
    }

#endif
