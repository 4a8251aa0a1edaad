/* CONV_2D of float32 by int8 weights, as conv2d.h has it: each batch is quantised before it is multiplied (LiteRT's
 * kernels/conv.cc). */
#ifndef TFLMGEN_KERNELS_CONV2D_HYBRID_H
#define TFLMGEN_KERNELS_CONV2D_HYBRID_H

#include "dot.h"
#include "dynamic_quantize.h"
#include "window.h"

struct tflmgen_conv2d_hybrid {
    TFLMGEN_WINDOW_FIELDS
    int32_t dilation_height;
    int32_t dilation_width;
    int32_t filter_channels;
    bool asymmetric;  /* batches are quantised with a zero point */
    bool per_channel; /* a scale for each output channel */
    float output_min;
    float output_max;
};

/* The windows of two output channels, added to `sums`; taps outside the input count as zero. */
TFLMGEN_HELPER void tflmgen_conv2d_windows_hybrid(int32_t *sums, const int8_t *input, const int8_t *first,
                                                  const int8_t *second, int32_t origin_y, int32_t origin_x,
                                                  struct tflmgen_taps y, struct tflmgen_taps x, int32_t offset,
                                                  const struct tflmgen_conv2d_hybrid *p)
{
    const bool contiguous = p->dilation_width == 1 && p->filter_channels == p->input_channels;
    for (int32_t ky = y.first; ky < y.end; ++ky) {
        const int32_t weights = ky * p->filter_width * p->filter_channels;
        const int32_t line = (origin_y + ky * p->dilation_height) * p->input_width;
        if (contiguous) {
            const int32_t at = weights + x.first * p->filter_channels;
            tflmgen_dot_pair_s8(sums, input + (line + origin_x + x.first) * p->input_channels, first + at, second + at,
                                (x.end - x.first) * p->filter_channels, offset);
        } else {
            for (int32_t kx = x.first; kx < x.end; ++kx) {
                const int32_t at = weights + kx * p->filter_channels;
                tflmgen_dot_pair_s8(sums, input + (line + origin_x + kx * p->dilation_width) * p->input_channels,
                                    first + at, second + at, p->filter_channels, offset);
            }
        }
    }
}

/* scales: of the filter, one per output channel or one in all; bias: one per output channel, or NULL; quantized:
 * scratch for one batch. */
TFLMGEN_KERNEL void tflmgen_conv2d_hybrid(const float *input, const int8_t *restrict filter,
                                          const float *restrict scales, const float *restrict bias, float *output,
                                          int8_t *restrict quantized, const struct tflmgen_conv2d_hybrid *p)
{
    const int32_t filter_size = p->filter_height * p->filter_width * p->filter_channels;
    const int32_t group_channels = p->output_channels / (p->input_channels / p->filter_channels);
    const int32_t input_size = p->input_height * p->input_width * p->input_channels;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const struct tflmgen_row_scale range = tflmgen_quantize_row(input, quantized, input_size, p->asymmetric);
        for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {
            const int32_t origin_y = out_y * p->stride_height - p->padding_top;
            const struct tflmgen_taps y =
                tflmgen_taps_inside(origin_y, p->dilation_height, p->filter_height, p->input_height);
            for (int32_t out_x = 0; out_x < p->output_width; ++out_x) {
                const int32_t origin_x = out_x * p->stride_width - p->padding_left;
                const struct tflmgen_taps x =
                    tflmgen_taps_inside(origin_x, p->dilation_width, p->filter_width, p->input_width);
                for (int32_t channel = 0, count = 0; channel < p->output_channels; channel += count) {
                    const int32_t group = channel / group_channels;
                    count = tflmgen_min_s32((group + 1) * group_channels - channel, 2);
                    const int8_t *const weights = filter + channel * filter_size;
                    int32_t sums[2] = {0, 0};
                    tflmgen_conv2d_windows_hybrid(sums, quantized + group * p->filter_channels, weights,
                                                  weights + (count - 1) * filter_size, origin_y, origin_x, y, x,
                                                  -range.zero_point, p);
                    for (int32_t i = channel; i < channel + count; ++i) {
                        const float sum = (float)sums[i - channel];
                        const float scale = scales[p->per_channel ? i : 0];
                        const float scaled = p->asymmetric ? sum * scale * range.scale : sum * (range.scale * scale);
                        *output++ = tflmgen_clamp_f32(scaled + (bias ? bias[i] : 0.0f), p->output_min, p->output_max);
                    }
                }
            }
        }
        input += input_size;
    }
}

#endif
