/* MAX_POOL_2D in int8 for cores with the DSP extension: four channels at a time, of which the last
 * four may overlap those before. */
#ifndef TFLMGEN_KERNELS_MAX_POOL2D_DSP_H
#define TFLMGEN_KERNELS_MAX_POOL2D_DSP_H

#include "dsp.h"
#include "pool2d.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* The window at `at`, `width` by `height` pixels. Four values: LDR, SSUB8, SEL and 3 to loop; of 2x2, 13 in all. */
TFLMGEN_HELPER uint32_t tflmgen_max_pool2d_dsp_four(const int8_t *at, int32_t width, int32_t height, int32_t line,
                                                    int32_t channels)
{
    if (width == 2 && height == 2) {
        const uint32_t above = tflmgen_max4(tflmgen_load4(at), tflmgen_load4(at + channels));
        const uint32_t below = tflmgen_max4(tflmgen_load4(at + line), tflmgen_load4(at + line + channels));
        return tflmgen_max4(above, below);
    }
    uint32_t most = 0x80808080u;
    for (; height > 0; --height, at += line) {
        const int8_t *value = at;
        for (int32_t left = width; left > 0; --left, value += channels) {
            most = tflmgen_max4(most, tflmgen_load4(value));
        }
    }
    return most;
}

/* least: the padding's value where it counts, for windows that have some. */
#define TFLMGEN_MAX_POOL2D_DSP(name, params, LEAST)                                                              \
    TFLMGEN_SHARED void name(const int8_t *input, int8_t *output, const struct params *p)                        \
    {                                                                                                            \
        const int32_t channels = p->input_channels;                                                              \
        const int32_t line = p->input_width * channels;                                                          \
        const uint32_t high = tflmgen_splat4(p->output_max);                                                     \
        for (int32_t batch = 0; batch < p->batches; ++batch, input += p->input_height * line) {                  \
            for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {                                         \
                const int32_t top = out_y * p->stride_height - p->padding_top;                                   \
                const struct tflmgen_taps y = tflmgen_taps_inside(top, 1, p->filter_height, p->input_height);    \
                for (int32_t out_x = 0; out_x < p->output_width; ++out_x) {                                      \
                    const int32_t left = out_x * p->stride_width - p->padding_left;                              \
                    const struct tflmgen_taps x = tflmgen_taps_inside(left, 1, p->filter_width, p->input_width); \
                    const int32_t width = x.end - x.first;                                                       \
                    const int32_t height = y.end - y.first;                                                      \
                    const int32_t least = LEAST(width * height < p->filter_width * p->filter_height);            \
                    const uint32_t low = tflmgen_splat4(least);                                                  \
                    const bool clamped = least > INT8_MIN || p->output_max < INT8_MAX;                           \
                    const int8_t *const at = input + (top + y.first) * line + (left + x.first) * channels;       \
                    for (int32_t channel = 0; channel < channels; channel += 4) {                                \
                        const int32_t first = tflmgen_min_s32(channel, channels - 4);                            \
                        uint32_t most = tflmgen_max_pool2d_dsp_four(at + first, width, height, line, channels);  \
                        if (clamped) {                                                                           \
                            most = tflmgen_min4(tflmgen_max4(most, low), high);                                  \
                        }                                                                                        \
                        tflmgen_store4(output + first, most);                                                    \
                    }                                                                                            \
                    output += channels;                                                                          \
                }                                                                                                \
            }                                                                                                    \
        }                                                                                                        \
    }

#define TFLMGEN_MAX_POOL2D_DSP_IGNORED(cut) p->output_min
#define TFLMGEN_MAX_POOL2D_DSP_ZEROS(cut) ((cut) ? tflmgen_max_s32(p->zero, p->output_min) : p->output_min)

TFLMGEN_MAX_POOL2D_DSP(tflmgen_max_pool2d_dsp_s8, tflmgen_pool2d_s8, TFLMGEN_MAX_POOL2D_DSP_IGNORED)
TFLMGEN_MAX_POOL2D_DSP(tflmgen_max_pool2d_zeros_dsp_s8, tflmgen_pool2d_zeros_s8, TFLMGEN_MAX_POOL2D_DSP_ZEROS)

#endif

#endif
