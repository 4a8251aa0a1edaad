/* MAX_POOL_2D in int8 for cores with the DSP extension: four channels at a time, of which the last
 * four may overlap those before. */
#ifndef TFLMGEN_KERNELS_MAX_POOL2D_DSP_H
#define TFLMGEN_KERNELS_MAX_POOL2D_DSP_H

#include "dsp.h"
#include "pool2d.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* The greatest of `most` and a row of `width` pixels. For two pixels: 2 LDR, 2 SSUB8, 2 SEL and 3 to loop. */
TFLMGEN_HELPER uint32_t tflmgen_max_pool2d_dsp_row(uint32_t most, const int8_t *at, int32_t width, int32_t channels)
{
    uint32_t a, b;
    __asm__ volatile("lsrs %[width], %[width], #1\n\t"
                     "bcc 1f\n\t"
                     "ldr %[a], [%[at]]\n\t"
                     "add %[at], %[at], %[channels]\n\t"
                     "ssub8 %[b], %[most], %[a]\n\t"
                     "sel %[most], %[most], %[a]\n\t"
                     "cmp %[width], #0\n"
                     "1:\n\t"
                     "beq 3f\n"
                     "2:\n\t"
                     "ldr %[a], [%[at]]\n\t"
                     "ldr %[b], [%[at], %[channels]]\n\t"
                     "add %[at], %[at], %[channels], lsl #1\n\t"
                     "ssub8 r12, %[most], %[a]\n\t"
                     "sel %[most], %[most], %[a]\n\t"
                     "ssub8 r12, %[most], %[b]\n\t"
                     "sel %[most], %[most], %[b]\n\t"
                     "subs %[width], %[width], #1\n\t"
                     "bne 2b\n"
                     "3:"
                     : [most] "+r"(most), [at] "+r"(at), [width] "+r"(width), [a] "=&r"(a), [b] "=&r"(b)
                     : [channels] "r"(channels)
                     : "r12", "cc", "memory");
    return most;
}

/* Four channels of the window at `at`, `width` by `height` pixels. */
TFLMGEN_HELPER uint32_t tflmgen_max_pool2d_dsp_four(const int8_t *at, int32_t width, int32_t height, int32_t line,
                                                    int32_t channels)
{
    uint32_t most = 0x80808080u;
    for (; height > 0; --height, at += line) {
        most = tflmgen_max_pool2d_dsp_row(most, at, width, channels);
    }
    return most;
}

/* The same of 2x2 pixels, by 13 instructions. */
TFLMGEN_HELPER uint32_t tflmgen_max_pool2d_dsp_square(const int8_t *at, int32_t line, int32_t channels)
{
    const uint32_t above = tflmgen_max4(tflmgen_load4(at), tflmgen_load4(at + channels));
    const uint32_t below = tflmgen_max4(tflmgen_load4(at + line), tflmgen_load4(at + line + channels));
    return tflmgen_max4(above, below);
}

/* Each four channels of a pixel. */
#define TFLMGEN_MAX_POOL2D_DSP_PIXEL(four)                            \
    for (int32_t channel = 0; channel < channels; channel += 4) {     \
        const int32_t first = tflmgen_min_s32(channel, channels - 4); \
        uint32_t most = four;                                         \
        if (clamped) {                                                \
            most = tflmgen_min4(tflmgen_max4(most, low), high);       \
        }                                                             \
        tflmgen_store4(output + first, most);                         \
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
                    if (width == 2 && height == 2) {                                                             \
                        TFLMGEN_MAX_POOL2D_DSP_PIXEL(tflmgen_max_pool2d_dsp_square(at + first, line, channels)); \
                    } else {                                                                                     \
                        TFLMGEN_MAX_POOL2D_DSP_PIXEL(                                                            \
                            tflmgen_max_pool2d_dsp_four(at + first, width, height, line, channels));             \
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
