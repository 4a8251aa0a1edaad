/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* MAX_POOL_2D in int8 for cores with the DSP extension: four channels at a time, the bytes of a word; the last four may
 * overlap those before. SSUB8 and SEL take the greater one of each of four bytes. The results are those of pool2d.h. */
#ifndef TFLMGEN_KERNELS_MAX_POOL2D_DSP_H
#define TFLMGEN_KERNELS_MAX_POOL2D_DSP_H

#include "dsp.h"
#include "pool2d.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* The maxima of four channels over `maxima` and a row of `width` pixels. An odd pixel comes first; from label 2 on, two
 * pixels are 2 LDR, 2 SSUB8, 2 SEL and 3 to loop. */
TFLMGEN_HELPER uint32_t tflmgen_max_pool2d_dsp_row(uint32_t maxima, const int8_t *row, int32_t width, int32_t channels)
{
    uint32_t pixel0, pixel1;
    __asm__ volatile(
        "lsrs %[width], %[width], #1\n\t"
        "bcc 1f\n\t"
        "ldr %[pixel0], [%[row]]\n\t"
        "add %[row], %[row], %[channels]\n\t"
        "ssub8 %[pixel1], %[maxima], %[pixel0]\n\t"
        "sel %[maxima], %[maxima], %[pixel0]\n\t"
        "cmp %[width], #0\n"
        "1:\n\t"
        "beq 3f\n"
        "2:\n\t"
        "ldr %[pixel0], [%[row]]\n\t"
        "ldr %[pixel1], [%[row], %[channels]]\n\t"
        "add %[row], %[row], %[channels], lsl #1\n\t"
        "ssub8 r12, %[maxima], %[pixel0]\n\t"
        "sel %[maxima], %[maxima], %[pixel0]\n\t"
        "ssub8 r12, %[maxima], %[pixel1]\n\t"
        "sel %[maxima], %[maxima], %[pixel1]\n\t"
        "subs %[width], %[width], #1\n\t"
        "bne 2b\n"
        "3:"
        : [maxima] "+r"(maxima), [row] "+r"(row), [width] "+r"(width), [pixel0] "=&r"(pixel0), [pixel1] "=&r"(pixel1)
        : [channels] "r"(channels)
        : "r12", "cc", "memory");
    return maxima;
}

/* Four channels of a window, which is `width` by `height` pixels. */
TFLMGEN_HELPER uint32_t tflmgen_max_pool2d_dsp_four(const int8_t *window, int32_t width, int32_t height,
                                                    int32_t row_step, int32_t channels)
{
    uint32_t maxima = 0x80808080u;
    for (; height > 0; --height, window += row_step) {
        maxima = tflmgen_max_pool2d_dsp_row(maxima, window, width, channels);
    }
    return maxima;
}

/* The same of a window of 2x2 pixels, by 13 instructions. */
TFLMGEN_HELPER uint32_t tflmgen_max_pool2d_dsp_square(const int8_t *window, int32_t row_step, int32_t channels)
{
    const uint32_t above = tflmgen_max4(tflmgen_load4(window), tflmgen_load4(window + channels));
    const uint32_t below = tflmgen_max4(tflmgen_load4(window + row_step), tflmgen_load4(window + row_step + channels));
    return tflmgen_max4(above, below);
}

/* All channels of an output pixel; four_maxima: those of four channels from first_channel on. */
#define TFLMGEN_MAX_POOL2D_DSP_PIXEL(four_maxima)                             \
    for (int32_t channel = 0; channel < channels; channel += 4) {             \
        const int32_t first_channel = tflmgen_min_s32(channel, channels - 4); \
        uint32_t maxima = four_maxima;                                        \
        if (clamped) {                                                        \
            maxima = tflmgen_min4(tflmgen_max4(maxima, low), high);           \
        }                                                                     \
        tflmgen_store4(output + first_channel, maxima);                       \
    }

/* LEAST: the lower clamp of a window, at which it begins; `cut`: whether padding is part of it. */
#define TFLMGEN_MAX_POOL2D_DSP(name, params, LEAST)                                                                  \
    TFLMGEN_SHARED void name(const int8_t *input, int8_t *output, const struct params *p)                            \
    {                                                                                                                \
        const int32_t channels = p->input_channels;                                                                  \
        const int32_t row_step = p->input_width * channels;                                                          \
        const uint32_t high = tflmgen_splat4(p->output_max);                                                         \
        for (int32_t batch = 0; batch < p->batches; ++batch, input += p->input_height * row_step) {                  \
            for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {                                             \
                const int32_t top = out_y * p->stride_height - p->padding_top;                                       \
                const struct tflmgen_taps y = tflmgen_taps_inside(top, 1, p->filter_height, p->input_height);        \
                for (int32_t out_x = 0; out_x < p->output_width; ++out_x) {                                          \
                    const int32_t left = out_x * p->stride_width - p->padding_left;                                  \
                    const struct tflmgen_taps x = tflmgen_taps_inside(left, 1, p->filter_width, p->input_width);     \
                    const int32_t width = x.end - x.first;                                                           \
                    const int32_t height = y.end - y.first;                                                          \
                    const int32_t least = LEAST(width * height < p->filter_width * p->filter_height);                \
                    const uint32_t low = tflmgen_splat4(least);                                                      \
                    const bool clamped = least > INT8_MIN || p->output_max < INT8_MAX;                               \
                    const int8_t *const window = input + (top + y.first) * row_step + (left + x.first) * channels;   \
                    if (width == 2 && height == 2) {                                                                 \
                        TFLMGEN_MAX_POOL2D_DSP_PIXEL(                                                                \
                            tflmgen_max_pool2d_dsp_square(window + first_channel, row_step, channels));              \
                    } else {                                                                                         \
                        TFLMGEN_MAX_POOL2D_DSP_PIXEL(                                                                \
                            tflmgen_max_pool2d_dsp_four(window + first_channel, width, height, row_step, channels)); \
                    }                                                                                                \
                    output += channels;                                                                              \
                }                                                                                                    \
            }                                                                                                        \
        }                                                                                                            \
    }

#define TFLMGEN_MAX_POOL2D_DSP_IGNORED(cut) p->output_min
#define TFLMGEN_MAX_POOL2D_DSP_ZEROS(cut) ((cut) ? tflmgen_max_s32(p->zero, p->output_min) : p->output_min)

TFLMGEN_MAX_POOL2D_DSP(tflmgen_max_pool2d_dsp_s8, tflmgen_pool2d_s8, TFLMGEN_MAX_POOL2D_DSP_IGNORED)
TFLMGEN_MAX_POOL2D_DSP(tflmgen_max_pool2d_zeros_dsp_s8, tflmgen_pool2d_zeros_s8, TFLMGEN_MAX_POOL2D_DSP_ZEROS)

#endif

#endif
