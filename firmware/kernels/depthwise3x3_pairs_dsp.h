/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DEPTHWISE_CONV_2D as in depthwise3x3_dsp.h where filters move by one line too and outputs are clamped at the zero
 * point: two lines of output at a time, from the last columns to the first, so that two outputs of each share the loads
 * of a window of four lines. Where the width is odd, each line's last output is computed by itself. Where the number of
 * lines is odd, the last line is computed together with the line before it, which is thus computed twice.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE3X3_PAIRS_DSP_H
#define TFLMGEN_KERNELS_DEPTHWISE3X3_PAIRS_DSP_H

#include "depthwise3x3_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* Pairs of output lines of four channels, in bytes and in the order in which the assembly reads it. */
struct tflmgen_depthwise3x3_dsp_pairs {
    int32_t pairs;       /* their number */
    int32_t plane_gap;   /* from a word in front of a pair's beginning to the end of the next one, of the plane */
    int32_t output_gap;  /* from two outputs in front of it, of the output */
    int32_t output_step; /* from one output to the next */
    int32_t output_row;  /* and to the one below */
    int32_t plane_next;  /* from a channel's end to the next one's start, of the planes */
    int32_t output_next; /* and of the output */
};

typedef void tflmgen_depthwise3x3_pairs_dsp_function(const uint8_t *plane, int8_t *output,
                                                     const struct tflmgen_depthwise3x3_dsp_channel *channels,
                                                     const struct tflmgen_depthwise3x3_dsp_pairs *pairs);

/* Two outputs' sums of one filter row; first0, first1: where they are so far. */
#define TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_ROW(w01, w12, sum0, sum1, first0, first1) \
    "smlad " sum0 ", r12, " w01 ", " first0 "\n\t"                               \
    "smlatb " sum1 ", r12, " w01 ", " first1 "\n\t"                              \
    "smlabt " sum0 ", lr, " w12 ", " sum0 "\n\t"                                 \
    "smlad " sum1 ", lr, " w12 ", " sum1 "\n\t"

/* Four outputs, 36 MACs: 4 LDRD, 24 multiplications, 2 * 4 to requantise and 1 LDRD, 6 to store and 1 LDRD, 1 for the
 * bias, 2 to loop: 47 instructions. */
/* clang-format off */
#define TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_STEP(PITCH, SHIFT)                                                             \
    "tst r0, #" PITCH " - 1\n\t"                                                                                      \
    "ldrd r12, lr, [r0, #3 * " PITCH "]\n\t" TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_ROW("r6", "r7", "r10", "r11", "r9", "r9") \
    "ldrd r12, lr, [r0, #2 * " PITCH "]\n\t"                                                                          \
    TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_ROW("r4", "r5", "r10", "r11", "r10", "r11")                                        \
        TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_ROW("r6", "r7", "r8", "r9", "r9", "r9")                                        \
    "ldrd r12, lr, [r0, #" PITCH "]\n\t" TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_ROW("r2", "r3", "r10", "r11", "r10", "r11")   \
        TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_ROW("r4", "r5", "r8", "r9", "r8", "r9")                                        \
    "ldrd r12, lr, [r0], #-4\n\t" TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_ROW("r2", "r3", "r8", "r9", "r8", "r9")              \
    "ldrd r12, lr, [sp, #20]\n\t"                                                                                     \
    "smmla r8, r8, r12, lr\n\tsmmla r9, r9, r12, lr\n\tsmmla r10, r10, r12, lr\n\tsmmla r11, r11, r12, lr\n\t"        \
    "ssat r8, #8, r8, asr #" SHIFT "\n\tssat r9, #8, r9, asr #" SHIFT "\n\t"                                          \
    "ssat r10, #8, r10, asr #" SHIFT "\n\tssat r11, #8, r11, asr #" SHIFT "\n\t"                                      \
    "ldrd r12, lr, [sp, #12]\n\t"                                                                                     \
    "strb r8, [r1]\n\t"                                                                                               \
    "strb r9, [r1, r12]\n\t"                                                                                          \
    "strb r10, [r1, lr]\n\t"                                                                                          \
    "add r8, r1, lr\n\t"                                                                                              \
    "strb r11, [r8, r12]\n\t"                                                                                         \
    "ldr r9, [sp, #28]\n\t"                                                                                           \
    "sub r1, r1, r12, lsl #1\n\t"

#define TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_LINES_even(PITCH, SHIFT)   \
    "1:\n\t" TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_STEP(PITCH, SHIFT)    \
    "bne 1b\n\t"
/* clang-format on */

/* One output's sum of one filter row. */
#define TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_LAST_ROW(w01, w12, sum, first) \
    "smlad " sum ", r12, " w01 ", " first "\n\t"                      \
    "smlabt " sum ", lr, " w12 ", " sum "\n\t"

/* The last outputs of two lines of an odd width, 18 MACs: 4 LDRD, 12 multiplications, 2 * 2 to requantise and 1 LDRD,
 * 3 to store and 1 LDRD, 2 around it: 27 instructions. */
/* clang-format off */
#define TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_LINES_odd(PITCH, SHIFT)                                                        \
    "1:\n\t"                                                                                                          \
    "tst r0, #" PITCH " - 1\n\t"                                                                                      \
    "ldrd r12, lr, [r0, #3 * " PITCH "]\n\t" TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_LAST_ROW("r6", "r7", "r10", "r9")         \
    "ldrd r12, lr, [r0, #2 * " PITCH "]\n\t" TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_LAST_ROW("r4", "r5", "r10", "r10")        \
        TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_LAST_ROW("r6", "r7", "r8", "r9")                                               \
    "ldrd r12, lr, [r0, #" PITCH "]\n\t" TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_LAST_ROW("r2", "r3", "r10", "r10")            \
        TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_LAST_ROW("r4", "r5", "r8", "r8")                                               \
    "ldrd r12, lr, [r0], #-4\n\t" TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_LAST_ROW("r2", "r3", "r8", "r8")                     \
    "ldrd r12, lr, [sp, #20]\n\t" \
    "smmla r8, r8, r12, lr\n\tsmmla r10, r10, r12, lr\n\t"                                                           \
    "ldrd r12, lr, [sp, #12]\n\t"                                                                                      \
    "ssat r8, #8, r8, asr #" SHIFT "\n\tssat r10, #8, r10, asr #" SHIFT "\n\t"                                       \
    "strb r8, [r1]\n\t"                                                                                               \
    "strb r10, [r1, lr]\n\t"                                                                                          \
    "sub r1, r1, r12, lsl #1\n\t"                                                                                     \
    "beq 3f\n"                                                                                                         \
    "2:\n\t" TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_STEP(PITCH, SHIFT)                                                       \
    "bne 2b\n"                                                                                                         \
    "3:\n\t"

/* Pairs of lines of four channels. Registers: r0 plane, r1 output, r2-r7 weights, r8-r9 sums of the first line,
 * r10-r11 of the second one (r9 begins as the bias), r12 and lr columns. Stack: pairs left, the gaps, output_step,
 * output_row, multiplier, addend, bias, channels, pairs, from one channel to the next, channels left. A channel takes
 * 14 instructions, a pair 7. */
#define TFLMGEN_DEPTHWISE3X3_PAIRS_DSP(name, PITCH, SHIFT, WIDTH) \
    TFLMGEN_SHARED void tflmgen_depthwise3x3_pairs_dsp_lines_##name(                                \
        const uint8_t *plane, int8_t *output, const struct tflmgen_depthwise3x3_dsp_channel *channels,                \
        const struct tflmgen_depthwise3x3_dsp_pairs *pairs)                                                           \
    {                                                                                                                 \
        TFLMGEN_IN_REGISTERS_4(plane, output, channels, pairs);                                                       \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                                                      \
                         "ldmia.w r3, {r4, r5, r6, r7, r8, r9, r10}\n\t"                                             \
                         "mov r11, #4\n\t"                                                                           \
                         "push {r1, r2, r4, r9, r10, r11}\n\t"                                                       \
                         "push {r4, r5, r6, r7, r8, r9, r10}\n"                                                      \
                         "0:\n\t"                                                                                    \
                         "ldrd r10, r11, [sp, #32]\n\t"                                                              \
                         "ldmia.w r10!, {r2, r3, r4, r5, r6, r7, r8, r9}\n\t"                                        \
                         "strd r8, r9, [sp, #20]\n\t"                                                                \
                         "ldr r9, [r10], #8\n\t"                                                                     \
                         "str r10, [sp, #32]\n\t"                                                                    \
                         "str r11, [sp]\n\t"                                                                         \
                         "str r9, [sp, #28]\n"                                                                       \
                         TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_LINES_##WIDTH(#PITCH, #SHIFT)                                 \
                         "ldmia.w sp, {r10, r12, lr}\n\t"                                                            \
                         "add r0, r0, r12\n\t"                                                                       \
                         "add r1, r1, lr\n\t"                                                                        \
                         "subs r10, r10, #1\n\t"                                                                     \
                         "str r10, [sp]\n\t"                                                                         \
                         "bne 1b\n\t"                                                                                \
                         "ldrd r10, r12, [sp, #40]\n\t"                                                              \
                         "ldr lr, [sp, #48]\n\t"                                                                     \
                         "add r0, r0, r10\n\t"                                                                       \
                         "add r1, r1, r12\n\t"                                                                       \
                         "subs lr, lr, #1\n\t"                                                                       \
                         "str lr, [sp, #48]\n\t"                                                                     \
                         "bne 0b\n\t"                                                                                \
                         "add sp, sp, #52\n\t"                                                                       \
                         "pop {r4-r11, lr}"                                                                           \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                                     \
                         :                                                                                            \
                         : "r12", "cc", "memory");                                                                    \
    }                                                                                                                 \
    TFLMGEN_SHARED void tflmgen_depthwise3x3_pairs_dsp_##name##_s8(                                \
        const int8_t *input, const tflmgen_u32 *packed, void *scratch, int8_t *output,                                \
        const struct tflmgen_depthwise3x3_dsp_s8 *p)                                                                  \
    {                                                                                                                 \
        tflmgen_depthwise3x3_pairs_dsp_run(input, packed, scratch, output, p,                                         \
                                           tflmgen_depthwise3x3_pairs_dsp_lines_##name, PITCH,     \
                                           (2 * p->output_zero_point + 1) * (1 << (SHIFT - 1)));                      \
    }
/* clang-format on */

/* `count` lines of four channels, an even number, from the last word `from` of a plane's line on. */
TFLMGEN_HELPER void tflmgen_depthwise3x3_pairs_dsp_lines(const struct tflmgen_depthwise3x3_dsp_planes *planes,
                                                         const uint8_t *from, int32_t count, int8_t *output,
                                                         const struct tflmgen_depthwise3x3_dsp_channel *four,
                                                         struct tflmgen_depthwise3x3_dsp_pairs *pairs,
                                                         tflmgen_depthwise3x3_pairs_dsp_function *run)
{
    pairs->pairs = count / 2;
    pairs->plane_next = planes->plane - count * planes->pitch;
    pairs->output_next = 1 - count * pairs->output_row;
    run(from, output, four, pairs);
}

/* scratch: 4 planes of (strip + 2) lines of `pitch` bytes, and `pitch` more to align. Two lines or more, in strips
 * of an even number, four or more of an odd number of lines, or all at once; a strip that would leave one line
 * leaves three. */
TFLMGEN_UNCLONED void tflmgen_depthwise3x3_pairs_dsp_run(const int8_t *input, const tflmgen_u32 *packed, void *scratch,
                                                         int8_t *output, const struct tflmgen_depthwise3x3_dsp_s8 *p,
                                                         tflmgen_depthwise3x3_pairs_dsp_function *run, int32_t pitch,
                                                         int32_t addend)
{
    struct tflmgen_depthwise3x3_dsp_planes planes = tflmgen_depthwise3x3_dsp_planes_in(scratch, pitch, 0, p);
    const int32_t channels = p->input_channels;
    const int32_t row = p->output_width * channels;
    const int32_t last = 2 * ((p->output_width + 1) / 2 - 1); /* the first output of the last pair */
    const uint8_t *const from = planes.first + 2 * last;
    struct tflmgen_depthwise3x3_dsp_pairs pairs = {
        0, 2 * pitch + 2 * last + 4, 2 * row + (last + 2) * channels, channels, row, 0, 0};
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t first = 0; first < channels; first += 4) {
            const int32_t quad = tflmgen_min_s32(first, channels - 4);
            struct tflmgen_depthwise3x3_dsp_channel four[4];
            tflmgen_depthwise3x3_dsp_unpack(four, packed + 5 * quad, addend);
            for (int32_t y = 0, lines = 0, before; y < p->output_height; y += lines) {
                const int32_t left = p->output_height - y;
                int8_t *const to = output + y * row + last * channels + quad;
                before = lines;
                lines = tflmgen_min_s32(p->strip, left);
                lines -= left - lines == 1 ? 2 : 0;
                tflmgen_depthwise3x3_dsp_strip(&planes, input + quad, y, lines, before, first == 0, p);
                tflmgen_depthwise3x3_pairs_dsp_lines(&planes, from, lines & ~1, to, four, &pairs, run);
                if (lines & 1) {
                    tflmgen_depthwise3x3_pairs_dsp_lines(&planes, from + (lines - 2) * pitch, 2, to + (lines - 2) * row,
                                                         four, &pairs, run);
                }
            }
        }
        input += p->input_height * p->input_width * channels;
        output += p->output_height * row;
    }
    const int32_t count = p->batches * p->output_height * row;
    tflmgen_clamp_dsp_s8(output - count, count, p->output_min, p->output_max);
}

/* Of outputs of an even or an odd number of columns, up to so many; a shift of 9, or of 8 (coarse). Those that are not
 * called are not compiled. */
#define TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_WIDTHS(COLUMNS, PITCH)            \
    TFLMGEN_DEPTHWISE3X3_PAIRS_DSP(to##COLUMNS, PITCH, 9, even)          \
    TFLMGEN_DEPTHWISE3X3_PAIRS_DSP(to##COLUMNS##_odd, PITCH, 9, odd)     \
    TFLMGEN_DEPTHWISE3X3_PAIRS_DSP(to##COLUMNS##_coarse, PITCH, 8, even) \
    TFLMGEN_DEPTHWISE3X3_PAIRS_DSP(to##COLUMNS##_coarse_odd, PITCH, 8, odd)
TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_WIDTHS(6, 16)
TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_WIDTHS(14, 32)
TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_WIDTHS(30, 64)
TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_WIDTHS(62, 128)
TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_WIDTHS(126, 256)

#endif

#endif
