/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D of int16 activations by int8 weights for cores with the DSP extension, as conv2d_s16.h has it, for layers
 * whose sums provably fit 32 bits.
 *
 * Three pixels by two output channels at a time. The three windows are first copied to the im2col buffer, two values x
 * of a window in a word, zeros for padding. A step is four values of each window, lane n the words of window n:
 *
 *     x0 x1 of lanes 0, 1, 2 | x2 x3 of lanes 0, 1, 2 | ...             word 3 i + n: values 2 i and 2 i + 1 of lane n
 *
 * The stream has for each pair of output channels (0, 1)
 *
 *     bias0 bias1 | (a word of weights of 0, one of 1) * steps | multiplier0 multiplier1 | bytes to the next outputs
 *
 * A word has the weights of values 0, 2, 1, 3 as bytes, so that SXTB16 takes out two that lie side by side. The last
 * pair overlaps the one before where the number of channels is odd, and its bytes to the next outputs are 0.
 *
 * Requantisation is one SMMULR: the multiplier, of 15 bits, was shifted left at build time by 32 less the right shift.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_S16_DSP_H
#define TFLMGEN_KERNELS_CONV2D_S16_DSP_H

#include "dsp.h"
#include "window.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

struct tflmgen_conv2d_s16_dsp {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t steps; /* of four values */
    bool backward; /* the pixels from the last to the first */
    int32_t output_min;
    int32_t output_max;
};

#define TFLMGEN_CONV2D_S16_DSP_PIXELS 3 /* of a block */

/* The most words of an im2col buffer on the stack. */
#define TFLMGEN_CONV2D_S16_DSP_STACK_WORDS 120

/* Four values of three windows by two channels, 24 products: 2 LDRD + 2 LDM + 4 SXTB16 + 12 SMLAD. The weights are
 * loaded twice, for want of two registers. */
/* clang-format off */
#define TFLMGEN_CONV2D_S16_DSP_STEP                                                                                    \
    "ldrd r2, r3, [r1]\n\t"                                                                                            \
    "ldmia r0!, {r4, r5, r6}\n\t"                                                                                      \
    "sxtb16 r2, r2\n\t"                                                                                                \
    "sxtb16 r3, r3\n\t" TFLMGEN_CONV2D_S16_DSP_PRODUCTS                                                                \
    "ldrd r2, r3, [r1], #8\n\t"                                                                                        \
    "ldmia r0!, {r4, r5, r6}\n\t"                                                                                      \
    "sxtb16 r2, r2, ror #8\n\t"                                                                                        \
    "sxtb16 r3, r3, ror #8\n\t" TFLMGEN_CONV2D_S16_DSP_PRODUCTS
/* clang-format on */

#define TFLMGEN_CONV2D_S16_DSP_PRODUCTS                                        \
    "smlad r7, r2, r4, r7\n\tsmlad r8, r2, r5, r8\n\tsmlad r9, r2, r6, r9\n\t" \
    "smlad r10, r3, r4, r10\n\tsmlad r11, r3, r5, r11\n\tsmlad r12, r3, r6, r12\n\t"

#define TFLMGEN_S16_DSP_REQUANTIZE(sum, multiplier) \
    "smmulr " sum ", " sum ", " multiplier "\n\t"   \
    "ssat " sum ", #16, " sum "\n\t"

/* im2col: 6 * steps words. stride: bytes from the output of a pixel to that of the next. */
TFLMGEN_SHARED void tflmgen_conv2d_s16_dsp_block(const tflmgen_u32 *im2col, const tflmgen_u32 *stream,
                                                 tflmgen_s16 *output, const int32_t steps_and_stride[2])
{
    TFLMGEN_IN_REGISTERS_4(im2col, stream, output, steps_and_stride);
    /* Stack: im2col, output, steps, stride. */
    /* clang-format off */
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldmia r3, {r4, r5}\n\t"
                     "push {r0, r2, r4, r5}\n"
                     "1:\n\t"
                     "ldr r0, [sp]\n\t"
                     "ldr lr, [sp, #8]\n\t"
                     "ldrd r7, r10, [r1], #8\n\t"
                     "mov r8, r7\n\t"
                     "mov r9, r7\n\t"
                     "mov r11, r10\n\t"
                     "mov r12, r10\n\t"
                     "lsrs lr, lr, #1\n\t"
                     "bcc 2f\n\t" TFLMGEN_CONV2D_S16_DSP_STEP
                     "cmp lr, #0\n\t"
                     "beq 3f\n"
                     "2:\n\t" TFLMGEN_CONV2D_S16_DSP_STEP TFLMGEN_CONV2D_S16_DSP_STEP
                     "subs lr, lr, #1\n\t"
                     "bne 2b\n"
                     "3:\n\t"
                     "ldmia r1!, {r2, r3, r4}\n\t" TFLMGEN_S16_DSP_REQUANTIZE("r7", "r2")
                         TFLMGEN_S16_DSP_REQUANTIZE("r8", "r2") TFLMGEN_S16_DSP_REQUANTIZE("r9", "r2")
                             TFLMGEN_S16_DSP_REQUANTIZE("r10", "r3") TFLMGEN_S16_DSP_REQUANTIZE("r11", "r3")
                                 TFLMGEN_S16_DSP_REQUANTIZE("r12", "r3")
                     "ldr r0, [sp, #4]\n\t"
                     "ldr r6, [sp, #12]\n\t"
                     "pkhbt r7, r7, r10, lsl #16\n\t"
                     "pkhbt r8, r8, r11, lsl #16\n\t"
                     "pkhbt r9, r9, r12, lsl #16\n\t"
                     "str r7, [r0]\n\t"
                     "str r8, [r0, r6]\n\t"
                     "str r9, [r0, r6, lsl #1]\n\t"
                     "add r0, r0, r4\n\t"
                     "str r0, [sp, #4]\n\t"
                     "cmp r4, #0\n\t"
                     "bne 1b\n\t"
                     "add sp, sp, #16\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "r12", "cc", "memory");
    /* clang-format on */
}

/* Copies `count` values, the first of which is value `at` of its window, to a lane of the im2col buffer. */
TFLMGEN_HELPER void tflmgen_conv2d_s16_dsp_copy(tflmgen_s16 *lane, int32_t at, const tflmgen_s16 *values, int32_t count)
{
    if (at % 2 != 0 && count > 0) {
        lane[at / 2 * 6 + 1] = *values++;
        ++at;
        --count;
    }
    lane += at / 2 * 6;
    for (; count >= 2; count -= 2, values += 2, lane += 6) {
        tflmgen_store4(lane, tflmgen_load4(values));
    }
    if (count > 0) {
        *lane = *values;
    }
}

/* The window of output pixel `pixel` (of all batches) becomes a lane of the im2col buffer. */
TFLMGEN_SHARED void tflmgen_conv2d_s16_dsp_gather(tflmgen_s16 *lane, const tflmgen_s16 *input, int32_t pixel,
                                                  const struct tflmgen_conv2d_s16_dsp *p)
{
    const int32_t out_x = pixel % p->output_width;
    const int32_t line = pixel / p->output_width;
    const int32_t channels = p->input_channels;
    const int32_t origin_y = line % p->output_height * p->stride_height - p->padding_top;
    const int32_t origin_x = out_x * p->stride_width - p->padding_left;
    const struct tflmgen_taps y = tflmgen_taps_inside(origin_y, p->dilation_height, p->filter_height, p->input_height);
    const struct tflmgen_taps x = tflmgen_taps_inside(origin_x, p->dilation_width, p->filter_width, p->input_width);
    const int32_t inside = (y.end - y.first) * (x.end - x.first);
    if (inside < p->filter_height * p->filter_width || p->filter_height * p->filter_width * channels % 4 != 0) {
        for (int32_t i = 0; i < 2 * p->steps; ++i) {
            tflmgen_store4(lane + 6 * i, 0);
        }
    }
    const int32_t top = line / p->output_height * p->input_height + origin_y;
    for (int32_t ky = y.first; ky < y.end; ++ky) {
        const int32_t row = (top + ky * p->dilation_height) * p->input_width + origin_x;
        const int32_t at = ky * p->filter_width * channels;
        if (p->dilation_width == 1) {
            tflmgen_conv2d_s16_dsp_copy(lane, at + x.first * channels, input + (row + x.first) * channels,
                                        (x.end - x.first) * channels);
        } else {
            for (int32_t kx = x.first; kx < x.end; ++kx) {
                tflmgen_conv2d_s16_dsp_copy(lane, at + kx * channels, input + (row + kx * p->dilation_width) * channels,
                                            channels);
            }
        }
    }
}

TFLMGEN_SHARED void tflmgen_conv2d_s16_dsp_run(const tflmgen_s16 *input, const tflmgen_u32 *stream, tflmgen_u32 *im2col,
                                               tflmgen_s16 *output, const struct tflmgen_conv2d_s16_dsp *p)
{
    const int32_t pixels = p->batches * p->output_height * p->output_width;
    const int32_t whole = pixels - pixels % TFLMGEN_CONV2D_S16_DSP_PIXELS;
    tflmgen_s16 *const values = (tflmgen_s16 *)im2col;
    int32_t steps_and_stride[2] = {p->steps, p->output_channels * 2};
    for (int32_t done = 0; done < pixels;) {
        /* Pixels behind the last whole block come last, one by one, each in all three lanes. */
        const int32_t left = p->backward ? pixels - done : whole - done;
        const int32_t lanes = left >= TFLMGEN_CONV2D_S16_DSP_PIXELS ? TFLMGEN_CONV2D_S16_DSP_PIXELS : 1;
        const int32_t pixel = p->backward ? pixels - done - lanes : done;
        for (int32_t lane = 0; lane < TFLMGEN_CONV2D_S16_DSP_PIXELS; ++lane) {
            tflmgen_conv2d_s16_dsp_gather(values + 2 * lane, input,
                                          pixel + (lanes == TFLMGEN_CONV2D_S16_DSP_PIXELS ? lane : 0), p);
        }
        steps_and_stride[1] = lanes == TFLMGEN_CONV2D_S16_DSP_PIXELS ? p->output_channels * 2 : 0;
        tflmgen_conv2d_s16_dsp_block(im2col, stream, output + pixel * p->output_channels, steps_and_stride);
        done += lanes;
    }
    tflmgen_clamp_dsp_s16(output, pixels * p->output_channels, p->output_min, p->output_max);
}

/* The im2col buffer is on the stack, or in the arena. */
TFLMGEN_SHARED void tflmgen_conv2d_s16_dsp_stack(const tflmgen_s16 *input, const tflmgen_u32 *stream,
                                                 tflmgen_s16 *output, const struct tflmgen_conv2d_s16_dsp *p)
{
    uint32_t im2col[TFLMGEN_CONV2D_S16_DSP_STACK_WORDS];
    tflmgen_conv2d_s16_dsp_run(input, stream, im2col, output, p);
}

TFLMGEN_SHARED void tflmgen_conv2d_s16_dsp(const tflmgen_s16 *input, const tflmgen_u32 *stream, void *im2col,
                                           tflmgen_s16 *output, const struct tflmgen_conv2d_s16_dsp *p)
{
    tflmgen_conv2d_s16_dsp_run(input, stream, im2col, output, p);
}

#endif

#endif
