/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DEPTHWISE_CONV_2D in int8 with any window, for cores with the DSP extension: four channels of a pixel at a time, read
 * where they lie. Of several filters per channel each goes through the input by itself.
 *
 * The weights are a stream of groups of four channels c0..c3, taps in pairs (t, u), the last one filled up with zeros,
 * all of them times 256:
 *     4 biases | ((c0 t, c0 u) (c1 t, c1 u) (c2 t, c2 u) (c3 t, c3 u) as halves) * pairs |
 *     m0 m1 m2 m3 | addend0 addend1 addend2 addend3 | s0 + 256 s1 + ...
 * The last group is the last four channels, some of which are computed twice where their number is no multiple of four.
 * With several filters per channel, the streams of the filters follow one another.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_WINDOW_DSP_H
#define TFLMGEN_KERNELS_DEPTHWISE_WINDOW_DSP_H

#include "dsp.h"
#include "window.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

struct tflmgen_depthwise_window_dsp_s8 {
    TFLMGEN_DILATED_CHANNEL_WINDOW_FIELDS
    int32_t filters; /* of each channel */
    int32_t padding_value;
    int32_t pairs;
    int32_t output_min;
    int32_t output_max;
};

/* Consecutive pixels of one output row, in the order in which the assembly reads it. */
struct tflmgen_depthwise_window_dsp_line {
    int32_t passes; /* of the loop over all pairs, unrolled 8 times */
    int32_t skip;   /* bytes of code that the first pass leaves out */
    int32_t last;   /* the last group's first channel */
    int32_t pixels;
    int32_t gap; /* bytes of input from the last group of a pixel to the first one of the next */
    int32_t filters;
};

typedef void tflmgen_depthwise_window_dsp_function(const int8_t *const *taps, const tflmgen_u32 *stream, int8_t *output,
                                                   const struct tflmgen_depthwise_window_dsp_line *line);

/* Two taps of four channels, 8 MACs: 15 instructions. */
#define TFLMGEN_DEPTHWISE_WINDOW_DSP_PAIR_BYTES 60
#define TFLMGEN_DEPTHWISE_WINDOW_DSP_PAIR \
    "ldrd r7, r8, [r0], #8\n\t"           \
    "ldr.w r7, [r7, r1]\n\t"              \
    "ldr.w r8, [r8, r1]\n\t"              \
    "ldrd r11, r12, [r2], #8\n\t"         \
    "pkhbt r9, r7, r8, lsl #16\n\t"       \
    "pkhtb r8, r8, r7, asr #16\n\t"       \
    "sxtb16.w r7, r9\n\t"                 \
    "sxtb16.w r9, r9, ror #8\n\t"         \
    "sxtb16.w r10, r8\n\t"                \
    "sxtb16.w r8, r8, ror #8\n\t"         \
    "smlad r3, r7, r11, r3\n\t"           \
    "smlad r4, r9, r12, r4\n\t"           \
    "ldrd r11, r12, [r2], #8\n\t"         \
    "smlad r5, r10, r11, r5\n\t"          \
    "smlad r6, r8, r12, r6\n\t"

#define TFLMGEN_DEPTHWISE_WINDOW_DSP_REQUANTIZE(sum, m, addend) \
    "smmla " m ", " sum ", " m ", " addend "\n\t"               \
    "asr " sum ", " sum ", #31\n\t"                             \
    "add " sum ", " m ", " sum ", lsl #7\n\t"

#define TFLMGEN_DEPTHWISE_WINDOW_DSP_ROUND(sum) \
    "asr " sum ", " sum ", r0\n\t"              \
    "ssat " sum ", #8, " sum "\n\t"

/* Four outputs r3-r6 to r7, then r4 of them onwards, and a pixel's last four: of one filter per channel they lie side
 * by side, of several as far apart as there are filters. */
#define TFLMGEN_DEPTHWISE_WINDOW_DSP_STORE \
    "bfi r3, r4, #8, #8\n\t"               \
    "bfi r5, r6, #8, #8\n\t"               \
    "pkhbt r3, r3, r5, lsl #16\n\t"        \
    "str r3, [r7]\n\t"
#define TFLMGEN_DEPTHWISE_WINDOW_DSP_ONWARDS "add r7, r7, r4\n\t"
#define TFLMGEN_DEPTHWISE_WINDOW_DSP_LAST "add r7, r7, #4\n\t"
#define TFLMGEN_DEPTHWISE_WINDOW_DSP_STORE_APART \
    "ldr r8, [sp, #36]\n\t"                      \
    "add r9, r7, r8, lsl #1\n\t"                 \
    "strb r3, [r7]\n\t"                          \
    "strb r4, [r7, r8]\n\t"                      \
    "strb r5, [r9]\n\t"                          \
    "strb r6, [r9, r8]\n\t"
#define TFLMGEN_DEPTHWISE_WINDOW_DSP_ONWARDS_APART "mla r7, r4, r8, r7\n\t"
#define TFLMGEN_DEPTHWISE_WINDOW_DSP_LAST_APART "add r7, r7, r8, lsl #2\n\t"

/* All channels of pixels of one line. Registers: r0 taps, r1 from the first pixel's taps on, r2 stream, r3-r6 sums,
 * r7-r10 inputs, r11-r12 weights, lr passes. Stack: taps, stream, output, passes, entry of the first pass, last
 * group, pixels, gap, channels to the last group, filters. A group costs 6 instructions before its pairs and 42 after
 * them, a pixel 11 more. */
/* clang-format off */
#define TFLMGEN_DEPTHWISE_WINDOW_DSP_LINES(name, store, onwards, last)                             \
    TFLMGEN_SHARED void name(const int8_t *const *taps, const tflmgen_u32 *stream, int8_t *output, \
                             const struct tflmgen_depthwise_window_dsp_line *line)                 \
    {                                                                                              \
        TFLMGEN_IN_REGISTERS_4(taps, stream, output, line);                                        \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                                   \
                     "ldmia.w r3, {r4, r5, r6, r7, r8, r10}\n\t"                                   \
                     "adr r9, 2f\n\t"                                                              \
                     "add r5, r5, r9\n\t"                                                          \
                     "orr r5, r5, #1\n\t"                                                          \
                     "mov r9, r6\n\t"                                                              \
                     "mov r3, r2\n\t"                                                              \
                     "mov r2, r1\n\t"                                                              \
                     "push {r3, r4, r5, r6, r7, r8, r9, r10}\n\t"                                  \
                     "push {r0, r1}\n\t"                                                           \
                     "mov r1, #0\n"                                                                \
                     "1:\n\t"                                                                      \
                     "ldr r0, [sp]\n\t"                                                            \
                     "ldr lr, [sp, #12]\n\t"                                                       \
                     "ldmia.w r2!, {r3, r4, r5, r6}\n\t"                                           \
                     "ldr pc, [sp, #16]\n\t"                                                       \
                     ".p2align 2\n"                                                                \
                     "2:\n\t"                                                                      \
                     ".rept 8\n\t" TFLMGEN_DEPTHWISE_WINDOW_DSP_PAIR ".endr\n\t"                   \
                     "subs lr, lr, #1\n\t"                                                         \
                     "bne.w 2b\n\t"                                                                \
                     "ldmia.w r2!, {r7, r8, r9, r10}\n\t"                                          \
                     "ldmia.w r2!, {r0, r11, r12, lr}\n\t"                                         \
                     TFLMGEN_DEPTHWISE_WINDOW_DSP_REQUANTIZE("r3", "r7", "r0")                     \
                     TFLMGEN_DEPTHWISE_WINDOW_DSP_REQUANTIZE("r4", "r8", "r11")                    \
                     "ldr r0, [r2], #4\n\t"                                                        \
                     TFLMGEN_DEPTHWISE_WINDOW_DSP_REQUANTIZE("r5", "r9", "r12")                    \
                     TFLMGEN_DEPTHWISE_WINDOW_DSP_REQUANTIZE("r6", "r10", "lr")                    \
                     TFLMGEN_DEPTHWISE_WINDOW_DSP_ROUND("r3")                                      \
                     "lsr r0, r0, #8\n\t"                                                          \
                     TFLMGEN_DEPTHWISE_WINDOW_DSP_ROUND("r4")                                      \
                     "lsr r0, r0, #8\n\t"                                                          \
                     TFLMGEN_DEPTHWISE_WINDOW_DSP_ROUND("r5")                                      \
                     "lsr r0, r0, #8\n\t"                                                          \
                     TFLMGEN_DEPTHWISE_WINDOW_DSP_ROUND("r6")                                      \
                     "ldr r7, [sp, #8]\n\t"                                                        \
                     "ldr r0, [sp, #32]\n\t"                                                       \
                     store                                                                         \
                     "cbz r0, 3f\n\t"                                                              \
                     "cmp r0, #4\n\t"                                                              \
                     "ite ge\n\t"                                                                  \
                     "movge r4, #4\n\t"                                                            \
                     "movlt r4, r0\n\t"                                                            \
                     onwards                                                                       \
                     "add r1, r1, r4\n\t"                                                          \
                     "sub r0, r0, r4\n\t"                                                          \
                     "str r7, [sp, #8]\n\t"                                                        \
                     "str r0, [sp, #32]\n\t"                                                       \
                     "b 1b\n"                                                                      \
                     "3:\n\t"                                                                      \
                     last                                                                          \
                     "ldrd r8, r9, [sp, #20]\n\t"                                                  \
                     "ldr r10, [sp, #28]\n\t"                                                      \
                     "ldr r2, [sp, #4]\n\t"                                                        \
                     "add r1, r1, r10\n\t"                                                         \
                     "str r7, [sp, #8]\n\t"                                                        \
                     "str r8, [sp, #32]\n\t"                                                       \
                     "subs r9, r9, #1\n\t"                                                         \
                     "str r9, [sp, #24]\n\t"                                                       \
                     "bne.w 1b\n\t"                                                                \
                     "add sp, sp, #40\n\t"                                                         \
                     "pop {r4-r11, lr}"                                                            \
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                      \
                     :                                                                             \
                     : "r12", "cc", "memory");                                                     \
    }
/* clang-format on */

TFLMGEN_DEPTHWISE_WINDOW_DSP_LINES(tflmgen_depthwise_window_dsp_lines, TFLMGEN_DEPTHWISE_WINDOW_DSP_STORE,
                                   TFLMGEN_DEPTHWISE_WINDOW_DSP_ONWARDS, TFLMGEN_DEPTHWISE_WINDOW_DSP_LAST)
TFLMGEN_DEPTHWISE_WINDOW_DSP_LINES(tflmgen_depthwise_window_dsp_lines_apart, TFLMGEN_DEPTHWISE_WINDOW_DSP_STORE_APART,
                                   TFLMGEN_DEPTHWISE_WINDOW_DSP_ONWARDS_APART, TFLMGEN_DEPTHWISE_WINDOW_DSP_LAST_APART)

/* Where each tap of a window begins; `outside` where it is not in the input. A tap that is none is like the last
 * one. */
TFLMGEN_SHARED void tflmgen_depthwise_window_dsp_taps(const int8_t **taps, const int8_t *outside, const int8_t *input,
                                                      int32_t origin_y, int32_t origin_x,
                                                      const struct tflmgen_depthwise_window_dsp_s8 *p)
{
    for (int32_t ky = 0; ky < p->filter_height; ++ky) {
        const int32_t y = origin_y + ky * p->dilation_height;
        const bool inside = y >= 0 && y < p->input_height;
        for (int32_t kx = 0; kx < p->filter_width; ++kx) {
            const int32_t x = origin_x + kx * p->dilation_width;
            const bool here = inside && x >= 0 && x < p->input_width;
            *taps++ = here ? input + (y * p->input_width + x) * p->input_channels : outside;
        }
    }
    if (p->filter_height * p->filter_width % 2) {
        *taps = taps[-1];
    }
}

/* scratch: 2 * pairs addresses, and a pixel of padding, for windows that reach out. */
TFLMGEN_HELPER void tflmgen_depthwise_window_dsp_run(const int8_t *input, const tflmgen_u32 *stream, void *scratch,
                                                     int8_t *output, const struct tflmgen_depthwise_window_dsp_s8 *p,
                                                     tflmgen_depthwise_window_dsp_function *run_line)
{
    const int8_t **const taps = (const int8_t **)scratch;
    int8_t *const outside = (int8_t *)(taps + 2 * p->pairs);
    const int32_t channels = p->input_channels;
    const int32_t passes = (p->pairs + 7) / 8;
    struct tflmgen_depthwise_window_dsp_line line;
    line.passes = passes;
    line.skip = (8 * passes - p->pairs) * TFLMGEN_DEPTHWISE_WINDOW_DSP_PAIR_BYTES;
    line.last = channels - 4;
    line.gap = p->stride_width * channels - line.last;
    line.filters = p->filters;
    const int32_t outputs = channels * p->filters;
    const int32_t words = (channels + 3) / 4 * (4 * p->pairs + 13); /* of a filter's stream */
    /* Windows that begin in [0, y_end) x [0, x_end) lie inside the input: those of columns first <= x < end. */
    const int32_t y_end = p->input_height - (p->filter_height - 1) * p->dilation_height;
    const int32_t x_end = p->input_width - (p->filter_width - 1) * p->dilation_width;
    const int32_t first = (p->padding_left + p->stride_width - 1) / p->stride_width;
    const int32_t end =
        tflmgen_min_s32((x_end + p->padding_left + p->stride_width - 1) / p->stride_width, p->output_width);
    const int32_t last_y = (p->output_height - 1) * p->stride_height - p->padding_top;
    if (first > 0 || end < p->output_width || p->padding_top > 0 || last_y >= y_end) {
        const uint32_t padding = tflmgen_splat4(p->padding_value);
        for (int32_t channel = 0; channel < channels - 4; channel += 4) {
            tflmgen_store4(outside + channel, padding);
        }
        tflmgen_store4(outside + channels - 4, padding);
    }
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t y = 0; y < p->output_height; ++y) {
            const int32_t origin_y = y * p->stride_height - p->padding_top;
            const bool inside = origin_y >= 0 && origin_y < y_end;
            for (int32_t x = 0; x < p->output_width; x += line.pixels) {
                line.pixels = inside && x >= first && x < end ? end - x : 1;
                tflmgen_depthwise_window_dsp_taps(taps, outside, input, origin_y, x * p->stride_width - p->padding_left,
                                                  p);
                for (int32_t filter = 0; filter < p->filters; ++filter) {
                    run_line((const int8_t *const *)taps, stream + filter * words, output + filter, &line);
                }
                output += line.pixels * outputs;
            }
        }
        input += p->input_height * p->input_width * channels;
    }
    const int32_t size = p->batches * p->output_height * p->output_width * outputs;
    tflmgen_clamp_dsp_s8(output - size, size, p->output_min, p->output_max);
}

TFLMGEN_SHARED void tflmgen_depthwise_window_dsp_s8(const int8_t *input, const tflmgen_u32 *stream, void *scratch,
                                                    int8_t *output, const struct tflmgen_depthwise_window_dsp_s8 *p)
{
    tflmgen_depthwise_window_dsp_run(input, stream, scratch, output, p, tflmgen_depthwise_window_dsp_lines);
}

/* Several filters per channel. */
TFLMGEN_SHARED void tflmgen_depthwise_window_dsp_filters_s8(const int8_t *input, const tflmgen_u32 *stream,
                                                            void *scratch, int8_t *output,
                                                            const struct tflmgen_depthwise_window_dsp_s8 *p)
{
    tflmgen_depthwise_window_dsp_run(input, stream, scratch, output, p, tflmgen_depthwise_window_dsp_lines_apart);
}

#endif

#endif
