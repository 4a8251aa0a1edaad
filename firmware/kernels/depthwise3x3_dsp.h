/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DEPTHWISE_CONV_2D in int8 with 3x3 filters that move by one column, one output per input channel, for cores with the
 * DSP extension.
 *
 * Four channels at a time are transposed into planes of halves in scratch memory, padding included, a strip of lines
 * at a time; a word holds two columns. Then all nine weights of a channel stay in registers. A line of a plane takes
 * PITCH bytes and ends at a multiple of PITCH, which is how the loop over it ends; its last word, or two of an odd
 * width, lies at the start of the next line, where none of that line's begins. A strip's last lines are the next
 * strip's first, so that the output may lie over the very place of an input of the same size: only the four channels
 * that are in the planes are overwritten.
 *
 * The weights are scaled by 2^e, each channel by its own e, such that the shift after the multiplication is the same
 * for all channels: out = (hi32(2^e a m) + addend) >> SHIFT, clamped at the zero point. See dsp.h for the rounding.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE3X3_DSP_H
#define TFLMGEN_KERNELS_DEPTHWISE3X3_DSP_H

#include "depthwise3x3_planes_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* One channel as the assembly reads it: (w0, w1), (w1, w2) of each filter row; multiplier, addend, start of the sum,
 * and the sign fix (dsp.h). */
struct tflmgen_depthwise3x3_dsp_channel {
    uint32_t weights[6];
    int32_t multiplier;
    int32_t addend;
    int32_t bias;
    int32_t sign_fix;
};

/* Output lines of four channels, in bytes and in the order in which the assembly reads it. */
struct tflmgen_depthwise3x3_dsp_lines {
    int32_t plane_gap;   /* from the end of a line to the next one's start, of the plane */
    int32_t output_gap;  /* and of the output */
    int32_t output_step; /* from one output to the next */
    int32_t lines;       /* their number */
    int32_t plane_next;  /* from a channel's end to the next one's start, of the planes */
    int32_t output_next; /* and of the output */
};

typedef void tflmgen_depthwise3x3_dsp_function(const uint8_t *plane, int8_t *output,
                                               const struct tflmgen_depthwise3x3_dsp_channel *channels,
                                               const struct tflmgen_depthwise3x3_dsp_lines *lines);

/* Lines of four channels. Registers: r0 plane, r1 output, r2-r7 weights, r8 multiplier, r9 addend, r10-r11 sums (r11
 * begins as the bias), r12 and lr columns. Stack: lines left, the gaps, output_step, bias, sign_fix, channels,
 * lines, from one channel to the next, channels left. A channel takes 14 instructions, a line 8, or 24 of an odd
 * width. */
/* clang-format off */
#define TFLMGEN_DEPTHWISE3X3_DSP_LINES(name, LINE)                                                                     \
    TFLMGEN_SHARED void name(const uint8_t *plane, int8_t *output,                                                     \
                             const struct tflmgen_depthwise3x3_dsp_channel *channels,                                  \
                             const struct tflmgen_depthwise3x3_dsp_lines *lines)                                       \
    {                                                                                                                  \
        TFLMGEN_IN_REGISTERS_4(plane, output, channels, lines);                                                        \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                                                       \
                         "ldmia.w r3, {r4, r5, r6, r7, r8, r9}\n\t"                                                   \
                         "mov r10, #4\n\t"                                                                            \
                         "push {r2, r7, r8, r9, r10}\n\t"                                                             \
                         "push {r3, r4, r5, r6, r7, r8}\n"                                                            \
                         "0:\n\t"                                                                                     \
                         "ldrd r10, r12, [sp, #24]\n\t"                                                               \
                         "str r12, [sp]\n\t"                                                                          \
                         "ldmia.w r10!, {r2, r3, r4, r5, r6, r7, r8, r9}\n\t"                                         \
                         "ldrd r11, r12, [r10], #8\n\t"                                                               \
                         "str r10, [sp, #24]\n\t"                                                                     \
                         "strd r11, r12, [sp, #16]\n"                                                                 \
                         LINE                                                                                          \
                         "ldmia.w sp, {r10, r12, lr}\n\t"                                                             \
                         "add r0, r0, r12\n\t"                                                                        \
                         "add r1, r1, lr\n\t"                                                                         \
                         "subs r10, r10, #1\n\t"                                                                      \
                         "str r10, [sp]\n\t"                                                                          \
                         "bne 1b\n\t"                                                                                 \
                         "ldrd r10, r12, [sp, #32]\n\t"                                                               \
                         "ldr lr, [sp, #40]\n\t"                                                                      \
                         "add r0, r0, r10\n\t"                                                                        \
                         "add r1, r1, r12\n\t"                                                                        \
                         "subs lr, lr, #1\n\t"                                                                        \
                         "str lr, [sp, #40]\n\t"                                                                      \
                         "bne 0b\n\t"                                                                                 \
                         "add sp, sp, #44\n\t"                                                                        \
                         "pop {r4-r11, lr}"                                                                            \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                                      \
                         :                                                                                             \
                         : "r12", "cc", "memory");                                                                     \
    }
/* clang-format on */

#define TFLMGEN_DEPTHWISE3X3_DSP_REQUANTIZE(sum) \
    "asr r12, " sum ", #31\n\t"                  \
    "ldr lr, [sp, #20]\n\t"                      \
    "smmla " sum ", " sum ", r8, r9\n\t"         \
    "mla " sum ", r12, lr, " sum "\n\t"

/* sum: where the first output's sum is so far. */
#define TFLMGEN_DEPTHWISE3X3_DSP_ROW(columns, w01, w12, sum) \
    "ldrd r12, lr, " columns "\n\t"                          \
    "smlad r10, r12, " w01 ", " sum "\n\t"                   \
    "smlatb r11, r12, " w01 ", r11\n\t"                      \
    "smlabt r10, lr, " w12 ", r10\n\t"                       \
    "smlad r11, lr, " w12 ", r11\n\t"

/* Two outputs, 18 MACs: 1 for the bias, 3 LDRD, 12 multiplications, 2 * 5 to requantise, 4 to store, 2 to loop:
 * 32 instructions. */
/* clang-format off */
#define TFLMGEN_DEPTHWISE3X3_DSP_STEP(PITCH, SHIFT)                         \
    TFLMGEN_DEPTHWISE3X3_DSP_ROW("[r0, #" PITCH "]", "r4", "r5", "r11")     \
    TFLMGEN_DEPTHWISE3X3_DSP_ROW("[r0, #2 * " PITCH "]", "r6", "r7", "r10") \
    TFLMGEN_DEPTHWISE3X3_DSP_ROW("[r0], #4", "r2", "r3", "r10")             \
    TFLMGEN_DEPTHWISE3X3_DSP_REQUANTIZE("r10")                              \
    TFLMGEN_DEPTHWISE3X3_DSP_REQUANTIZE("r11")                              \
    "ssat r10, #8, r10, asr #" SHIFT "\n\t"                                 \
    "ssat r11, #8, r11, asr #" SHIFT "\n\t"                                 \
    "strb r10, [r1]\n\t"                                                    \
    "ldr r12, [sp, #12]\n\t"                                                \
    "strb r11, [r1, r12]\n\t"                                               \
    "ldr r11, [sp, #16]\n\t"                                                \
    "add r1, r1, r12, lsl #1\n\t"                                           \
    "tst r0, #" PITCH " - 1\n\t"
#define TFLMGEN_DEPTHWISE3X3_DSP_LINE_even(PITCH, SHIFT)            \
    "1:\n\t" TFLMGEN_DEPTHWISE3X3_DSP_STEP(PITCH, SHIFT)            \
    "bne 1b\n\t"
/* clang-format on */

/* The last output of a width that is odd. */
#define TFLMGEN_DEPTHWISE3X3_DSP_LAST_ROW(columns, w01, w12, sum) \
    "ldrd r12, lr, " columns "\n\t"                               \
    "smlad r10, r12, " w01 ", " sum "\n\t"                        \
    "smlabt r10, lr, " w12 ", r10\n\t"
/* clang-format off */
#define TFLMGEN_DEPTHWISE3X3_DSP_LINE_odd(PITCH, SHIFT)                          \
    "1:\n\t"                                                                     \
    "tst r0, #" PITCH " - 1\n\t"                                                 \
    "beq 3f\n"                                                                   \
    "2:\n\t" TFLMGEN_DEPTHWISE3X3_DSP_STEP(PITCH, SHIFT)                         \
    "bne 2b\n"                                                                   \
    "3:\n\t"                                                                     \
    TFLMGEN_DEPTHWISE3X3_DSP_LAST_ROW("[r0, #" PITCH "]", "r4", "r5", "r11")     \
    TFLMGEN_DEPTHWISE3X3_DSP_LAST_ROW("[r0, #2 * " PITCH "]", "r6", "r7", "r10") \
    TFLMGEN_DEPTHWISE3X3_DSP_LAST_ROW("[r0], #4", "r2", "r3", "r10")             \
    TFLMGEN_DEPTHWISE3X3_DSP_REQUANTIZE("r10")                                   \
    "ldr r12, [sp, #12]\n\t"                                                     \
    "ssat r10, #8, r10, asr #" SHIFT "\n\t"                                      \
    "strb r10, [r1]\n\t"                                                         \
    "add r1, r1, r12\n\t"
/* clang-format on */

/* Four channels. Packed: nine weights, e, two bytes of nothing, start of the sum, multiplier. */
TFLMGEN_UNCLONED void tflmgen_depthwise3x3_dsp_unpack(struct tflmgen_depthwise3x3_dsp_channel *channel,
                                                      const tflmgen_u32 *packed, int32_t addend)
{
    for (const tflmgen_u32 *const end = packed + 20; packed < end; packed += 5, ++channel) {
        const int8_t *const weights = (const int8_t *)packed;
        const int32_t scale = 1 << weights[9];
        TFLMGEN_DSP_UNROLL(3)
        for (int32_t row = 0; row < 3; ++row) {
            const uint32_t middle = (uint32_t)(weights[3 * row + 1] * scale);
            channel->weights[2 * row] = tflmgen_lower_halves((uint32_t)(weights[3 * row] * scale), middle);
            channel->weights[2 * row + 1] = tflmgen_lower_halves(middle, (uint32_t)(weights[3 * row + 2] * scale));
        }
        channel->bias = (int32_t)packed[3];
        channel->multiplier = (int32_t)packed[4];
        channel->addend = addend + (scale >> 2);
        channel->sign_fix = scale >> 1;
    }
}

/* scratch: 4 planes of ((strip - 1) * stride_height + 3) lines of `pitch` bytes, `pitch` more to align, and a word,
 * or two of an odd width. */
TFLMGEN_UNCLONED void tflmgen_depthwise3x3_dsp_run(const int8_t *input, const tflmgen_u32 *packed, void *scratch,
                                                   int8_t *output, const struct tflmgen_depthwise3x3_dsp_s8 *p,
                                                   tflmgen_depthwise3x3_dsp_function *run, int32_t pitch,
                                                   int32_t addend)
{
    const int32_t channels = p->input_channels;
    const int32_t row = p->output_width * channels;
    const int32_t plane_line = p->stride_height * pitch;
    struct tflmgen_depthwise3x3_dsp_planes planes =
        tflmgen_depthwise3x3_dsp_planes_in(scratch, pitch, pitch - p->output_width / 2 * 4, p);
    struct tflmgen_depthwise3x3_dsp_lines lines;
    lines.plane_gap = plane_line - (p->output_width + 1) / 2 * 4;
    lines.output_gap = 0;
    lines.output_step = channels;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t first = 0; first < channels; first += 4) {
            const int32_t quad = tflmgen_min_s32(first, channels - 4);
            struct tflmgen_depthwise3x3_dsp_channel four[4];
            tflmgen_depthwise3x3_dsp_unpack(four, packed + 5 * quad, addend);
            for (int32_t y = 0; y < p->output_height; y += p->strip) {
                lines.lines = tflmgen_min_s32(p->strip, p->output_height - y);
                lines.plane_next = planes.plane - lines.lines * plane_line;
                lines.output_next = 1 - lines.lines * row;
                tflmgen_depthwise3x3_dsp_strip(&planes, input + quad, y, lines.lines, p->strip, first == 0, p);
                run(planes.first + planes.start, output + y * row + quad, four, &lines);
            }
        }
        input += p->input_height * p->input_width * channels;
        output += p->output_height * row;
    }
    const int32_t count = p->batches * p->output_height * row;
    tflmgen_clamp_dsp_s8(output - count, count, p->output_min, p->output_max);
}

#define TFLMGEN_DEPTHWISE3X3_DSP(name, PITCH, SHIFT, WIDTH)                                                           \
    TFLMGEN_DEPTHWISE3X3_DSP_LINES(tflmgen_depthwise3x3_dsp_lines_##name,                                             \
                                   TFLMGEN_DEPTHWISE3X3_DSP_LINE_##WIDTH(#PITCH, #SHIFT))                             \
    TFLMGEN_SHARED void tflmgen_depthwise3x3_dsp_##name##_s8(const int8_t *input, const tflmgen_u32 *packed,          \
                                                             void *scratch, int8_t *output,                           \
                                                             const struct tflmgen_depthwise3x3_dsp_s8 *p)             \
    {                                                                                                                 \
        tflmgen_depthwise3x3_dsp_run(input, packed, scratch, output, p, tflmgen_depthwise3x3_dsp_lines_##name, PITCH, \
                                     (2 * p->output_zero_point + 1) * (1 << (SHIFT - 1)));                            \
    }

/* Of outputs of an even or an odd number of columns, up to so many; a shift of 9, or, where that is not exact for all
 * channels, of 8 (coarse) or 10 (fine). Those that are not called are not compiled. */
#define TFLMGEN_DEPTHWISE3X3_DSP_WIDTHS(COLUMNS, PITCH)               \
    TFLMGEN_DEPTHWISE3X3_DSP(to##COLUMNS, PITCH, 9, even)             \
    TFLMGEN_DEPTHWISE3X3_DSP(to##COLUMNS##_odd, PITCH, 9, odd)        \
    TFLMGEN_DEPTHWISE3X3_DSP(to##COLUMNS##_coarse, PITCH, 8, even)    \
    TFLMGEN_DEPTHWISE3X3_DSP(to##COLUMNS##_coarse_odd, PITCH, 8, odd) \
    TFLMGEN_DEPTHWISE3X3_DSP(to##COLUMNS##_fine, PITCH, 10, even)     \
    TFLMGEN_DEPTHWISE3X3_DSP(to##COLUMNS##_fine_odd, PITCH, 10, odd)
TFLMGEN_DEPTHWISE3X3_DSP_WIDTHS(6, 16)
TFLMGEN_DEPTHWISE3X3_DSP_WIDTHS(14, 32)
TFLMGEN_DEPTHWISE3X3_DSP_WIDTHS(30, 64)
TFLMGEN_DEPTHWISE3X3_DSP_WIDTHS(62, 128)
TFLMGEN_DEPTHWISE3X3_DSP_WIDTHS(126, 256)

#endif

#endif
