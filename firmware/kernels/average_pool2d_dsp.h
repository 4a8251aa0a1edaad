/* AVERAGE_POOL_2D in int8 for cores with the DSP extension: four channels at a time, windows of 256 pixels at most. */
#ifndef TFLMGEN_KERNELS_AVERAGE_POOL2D_DSP_H
#define TFLMGEN_KERNELS_AVERAGE_POOL2D_DSP_H

#include "dsp.h"
#include "pool2d.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

#define TFLMGEN_AVERAGE_POOL2D_DSP_MEAN(sum) \
    ((int8_t)tflmgen_clamp_s32(tflmgen_rounded_mean_s32((sum) + extra, count), p->output_min, p->output_max))

/* Four values: LDR + 2 SXTAB16 and 3 to loop. PADDING: as in pool2d.h. */
#define TFLMGEN_AVERAGE_POOL2D_DSP(name, params, PADDING)                                                           \
    TFLMGEN_SHARED void name(const int8_t *input, int8_t *output, const struct params *p)                           \
    {                                                                                                               \
        const int32_t channels = p->input_channels;                                                                 \
        for (int32_t batch = 0; batch < p->batches; ++batch) {                                                      \
            for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {                                            \
                const int32_t top = out_y * p->stride_height - p->padding_top;                                      \
                const struct tflmgen_taps y = tflmgen_taps_inside(top, 1, p->filter_height, p->input_height);       \
                for (int32_t out_x = 0; out_x < p->output_width; ++out_x) {                                         \
                    const int32_t left = out_x * p->stride_width - p->padding_left;                                 \
                    const struct tflmgen_taps x = tflmgen_taps_inside(left, 1, p->filter_width, p->input_width);    \
                    int32_t count = (y.end - y.first) * (x.end - x.first);                                          \
                    int32_t extra = 0;                                                                              \
                    PADDING(extra, count, p->filter_height * p->filter_width - count, TFLMGEN_POOL_ADD_AVERAGE_s8); \
                    for (int32_t channel = 0; channel < channels; channel += 4) {                                   \
                        uint32_t even = 0;                                                                          \
                        uint32_t odd = 0;                                                                           \
                        for (int32_t ky = y.first; ky < y.end; ++ky) {                                              \
                            const int8_t *at =                                                                      \
                                input + ((top + ky) * p->input_width + left + x.first) * channels + channel;        \
                            for (int32_t kx = x.first; kx < x.end; ++kx, at += channels) {                          \
                                const uint32_t values = tflmgen_load4(at);                                          \
                                even = tflmgen_add_even_bytes(even, values);                                        \
                                odd = tflmgen_add_odd_bytes(odd, values);                                           \
                            }                                                                                       \
                        }                                                                                           \
                        output[0] = TFLMGEN_AVERAGE_POOL2D_DSP_MEAN((int16_t)even);                                 \
                        output[1] = TFLMGEN_AVERAGE_POOL2D_DSP_MEAN((int16_t)odd);                                  \
                        output[2] = TFLMGEN_AVERAGE_POOL2D_DSP_MEAN((int32_t)even >> 16);                           \
                        output[3] = TFLMGEN_AVERAGE_POOL2D_DSP_MEAN((int32_t)odd >> 16);                            \
                        output += 4;                                                                                \
                    }                                                                                               \
                }                                                                                                   \
            }                                                                                                       \
            input += p->input_height * p->input_width * channels;                                                   \
        }                                                                                                           \
    }

TFLMGEN_AVERAGE_POOL2D_DSP(tflmgen_average_pool2d_dsp_s8, tflmgen_pool2d_s8, TFLMGEN_POOL_IGNORED)
TFLMGEN_AVERAGE_POOL2D_DSP(tflmgen_average_pool2d_zeros_dsp_s8, tflmgen_pool2d_zeros_s8, TFLMGEN_POOL_ZEROS_AVERAGE)

#endif

#endif
