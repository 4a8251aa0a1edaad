/* DEPTHWISE_CONV_2D as in depthwise3x3_dsp.h where filters move by one line too and outputs are clamped at the zero point:
 * two lines of output at a time, from the last columns to the first, so that two outputs of each share the loads of a
 * window of four lines. Of an odd number of lines the last two are computed with the one before, of which they are.
 *
 * Of an odd width the last output of a pair is nothing; it lies where the first output of the next line is written later.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE3X3_PAIRS_DSP_H
#define TFLMGEN_KERNELS_DEPTHWISE3X3_PAIRS_DSP_H

#include "depthwise3x3_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* Bytes from one output to the next and to the one below; pairs of lines; bytes from one pair's beginning, less a word or
 * two outputs, to the end of the next one, of the plane and of the output. In the order in which the assembly reads it. */
struct tflmgen_depthwise3x3_dsp_pairs {
    int32_t output_step;
    int32_t output_row;
    int32_t pairs;
    int32_t plane_gap;
    int32_t output_gap;
};

typedef void tflmgen_depthwise3x3_pairs_dsp_function(const uint8_t *plane, int8_t *output,
                                                     const struct tflmgen_depthwise3x3_dsp_channel *channel,
                                                     const struct tflmgen_depthwise3x3_dsp_pairs *pairs);

/* Two outputs' sums of one filter row; first0, first1: where they are so far. */
#define TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_ROW(w01, w12, sum0, sum1, first0, first1) \
    "smlad " sum0 ", r12, " w01 ", " first0 "\n\t"                               \
    "smlatb " sum1 ", r12, " w01 ", " first1 "\n\t"                              \
    "smlabt " sum0 ", lr, " w12 ", " sum0 "\n\t"                                 \
    "smlad " sum1 ", lr, " w12 ", " sum1 "\n\t"

/* Four outputs, 36 MACs: 4 LDRD, 24 multiplications, 2 * 4 to rescale and 1 LDRD, 6 to store and 1 LDRD, 1 for the bias, 2
 * to loop: 47 instructions. */
#define TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_STEP(PITCH, SHIFT)                                                             \
    "tst r0, #" PITCH " - 1\n\t"                                                                                      \
    "ldrd r12, lr, [r0, #3 * " PITCH "]\n\t" TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_ROW("r6", "r7", "r10", "r11", "r9", "r9") \
    "ldrd r12, lr, [r0, #2 * " PITCH "]\n\t" TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_ROW("r4", "r5", "r10", "r11", "r10", "r11") \
        TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_ROW("r6", "r7", "r8", "r9", "r9", "r9")                                        \
    "ldrd r12, lr, [r0, #" PITCH "]\n\t" TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_ROW("r2", "r3", "r10", "r11", "r10", "r11")   \
        TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_ROW("r4", "r5", "r8", "r9", "r8", "r9")                                        \
    "ldrd r12, lr, [r0], #-4\n\t" TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_ROW("r2", "r3", "r8", "r9", "r8", "r9")              \
    "ldrd r12, lr, [sp]\n\t"                                                                                          \
    "smmla r8, r8, r12, lr\n\tsmmla r9, r9, r12, lr\n\tsmmla r10, r10, r12, lr\n\tsmmla r11, r11, r12, lr\n\t"        \
    "ssat r8, #8, r8, asr #" SHIFT "\n\tssat r9, #8, r9, asr #" SHIFT "\n\t"                                          \
    "ssat r10, #8, r10, asr #" SHIFT "\n\tssat r11, #8, r11, asr #" SHIFT "\n\t"                                      \
    "ldrd r12, lr, [sp, #8]\n\t"                                                                                      \
    "strb r8, [r1]\n\t"                                                                                               \
    "strb r9, [r1, r12]\n\t"                                                                                          \
    "strb r10, [r1, lr]\n\t"                                                                                          \
    "add r8, r1, lr\n\t"                                                                                              \
    "strb r11, [r8, r12]\n\t"                                                                                         \
    "ldr r9, [sp, #16]\n\t"                                                                                           \
    "sub r1, r1, r12, lsl #1\n\t"

/* Registers: r0 plane, r1 output, r2-r7 weights, r8-r9 sums of the first line, r10-r11 of the second one (r9 begins as the
 * bias), r12 and lr columns. Stack: multiplier, ra, output_step, output_row, bias, and the rest of pairs. */
#define TFLMGEN_DEPTHWISE3X3_PAIRS_DSP(PITCH, SHIFT)                                                                  \
    TFLMGEN_SHARED void tflmgen_depthwise3x3_pairs_dsp_lines_##PITCH##_##SHIFT(                                       \
        const uint8_t *plane, int8_t *output, const struct tflmgen_depthwise3x3_dsp_channel *channel,                 \
        const struct tflmgen_depthwise3x3_dsp_pairs *pairs)                                                           \
    {                                                                                                                 \
        register const uint8_t *r0 __asm__("r0") = plane;                                                             \
        register int8_t *r1 __asm__("r1") = output;                                                                   \
        register const struct tflmgen_depthwise3x3_dsp_channel *r2 __asm__("r2") = channel;                           \
        register const struct tflmgen_depthwise3x3_dsp_pairs *r3 __asm__("r3") = pairs;                               \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                                                      \
                         "ldmia.w r3, {r6, r7, r9, r10, r11}\n\t"                                                     \
                         "ldrd r4, r5, [r2, #24]\n\t"                                                                 \
                         "ldr r8, [r2, #32]\n\t"                                                                      \
                         "push {r4-r11}\n\t"                                                                          \
                         "mov r9, r8\n\t"                                                                             \
                         "ldmia.w r2, {r2, r3, r4, r5, r6, r7}\n"                                                     \
                         "1:\n\t" TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_STEP(#PITCH, #SHIFT)                                 \
                         "bne 1b\n\t"                                                                                 \
                         "ldrd r10, r12, [sp, #20]\n\t"                                                               \
                         "ldr lr, [sp, #28]\n\t"                                                                      \
                         "add r0, r0, r12\n\t"                                                                        \
                         "add r1, r1, lr\n\t"                                                                         \
                         "subs r10, r10, #1\n\t"                                                                      \
                         "str r10, [sp, #20]\n\t"                                                                     \
                         "bne 1b\n\t"                                                                                 \
                         "add sp, sp, #32\n\t"                                                                        \
                         "pop {r4-r11, lr}"                                                                           \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                                     \
                         :                                                                                            \
                         : "r12", "cc", "memory");                                                                    \
    }                                                                                                                 \
    TFLMGEN_SHARED void tflmgen_depthwise3x3_pairs_dsp_##PITCH##_##SHIFT##_s8(                                        \
        const int8_t *input, const uint32_t *packed, void *scratch, int8_t *output,                                   \
        const struct tflmgen_depthwise3x3_dsp_s8 *p)                                                                  \
    {                                                                                                                 \
        tflmgen_depthwise3x3_pairs_dsp_run(input, packed, scratch, output, p,                                         \
                                           tflmgen_depthwise3x3_pairs_dsp_lines_##PITCH##_##SHIFT, PITCH,             \
                                           (2 * p->output_zero_point + 1) * (1 << (SHIFT - 1)));                      \
    }

/* The last two lines of a width that is odd: outputs come in pairs, and the last one must go nowhere. */
TFLMGEN_SHARED void tflmgen_depthwise3x3_pairs_dsp_last(const uint8_t *plane, int8_t *output, int32_t step, int32_t width,
                                                        const struct tflmgen_depthwise3x3_dsp_channel *channel,
                                                        tflmgen_depthwise3x3_pairs_dsp_function *run)
{
    int8_t values[2 * 128];
    const struct tflmgen_depthwise3x3_dsp_pairs one = {1, width, 1, 0, 0};
    run(plane, &values[width - 1], channel, &one);
    for (int32_t x = 0; x < 2 * width; ++x, output += step) {
        *output = values[x];
    }
}

/* scratch: 4 planes of (strip + 2) lines of `pitch` bytes, and `pitch` more to align. Two lines or more, in strips of three or
 * more, or of two if the lines' number is even; a strip that would leave one line leaves two. */
TFLMGEN_SHARED void tflmgen_depthwise3x3_pairs_dsp_run(const int8_t *input, const uint32_t *packed, void *scratch,
                                                       int8_t *output, const struct tflmgen_depthwise3x3_dsp_s8 *p,
                                                       tflmgen_depthwise3x3_pairs_dsp_function *run, int32_t pitch,
                                                       int32_t addend)
{
    const struct tflmgen_depthwise3x3_dsp_planes planes = tflmgen_depthwise3x3_dsp_planes_in(scratch, pitch, p);
    const int32_t channels = p->input_channels;
    const int32_t row = p->output_width * channels;
    const int32_t last = 2 * ((p->output_width + 1) / 2 - 1); /* the first output of the last pair */
    struct tflmgen_depthwise3x3_dsp_pairs pairs = {channels, row, 0, 2 * pitch + 2 * last + 4,
                                                   2 * row + (last + 2) * channels};
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t first = 0; first < channels; first += 4) {
            const int32_t quad = tflmgen_min_s32(first, channels - 4);
            struct tflmgen_depthwise3x3_dsp_channel four[4];
            for (int32_t i = 0; i < 4; ++i) {
                tflmgen_depthwise3x3_dsp_unpack(four + i, packed + 5 * (quad + i), addend);
            }
            for (int32_t y = 0, lines = 0, before; y < p->output_height; y += lines) {
                const int32_t left = p->output_height - y;
                before = lines;
                lines = tflmgen_min_s32(p->strip, left);
                lines -= left - lines == 1;
                const bool apart = p->output_width % 2 == 1 && lines == left;
                const bool again = !apart && lines % 2;
                const int32_t whole = apart ? (lines - 1) / 2 : lines / 2;
                const uint8_t *from = planes.first + 2 * last;
                int8_t *to = output + y * row + quad;
                tflmgen_depthwise3x3_dsp_strip(&planes, input + quad, y, lines, before, first == 0, p);
                for (int32_t i = 0; i < 4; ++i, from += planes.lines * pitch, ++to) {
                    pairs.pairs = whole;
                    if (whole > 0) {
                        run(from, to + last * channels, four + i, &pairs);
                    }
                    if (apart) {
                        tflmgen_depthwise3x3_pairs_dsp_last(from + (lines - 2) * pitch, to + (lines - 2) * row, channels,
                                                            p->output_width, four + i, run);
                    } else if (again) {
                        pairs.pairs = 1;
                        run(from + (lines - 2) * pitch, to + (lines - 2) * row + last * channels, four + i, &pairs);
                    }
                }
            }
        }
        input += p->input_height * p->input_width * channels;
        output += p->output_height * row;
    }
    if (p->output_min > -128 || p->output_max < 127) {
        const int32_t count = p->batches * p->output_height * row;
        tflmgen_clamp_dsp_s8(output - count, count, p->output_min, p->output_max);
    }
}

/* By pitch and shift. Those that are not called are not compiled. */
#define TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_SHIFTS(PITCH) \
    TFLMGEN_DEPTHWISE3X3_PAIRS_DSP(PITCH, 6)         \
    TFLMGEN_DEPTHWISE3X3_PAIRS_DSP(PITCH, 7)         \
    TFLMGEN_DEPTHWISE3X3_PAIRS_DSP(PITCH, 8)         \
    TFLMGEN_DEPTHWISE3X3_PAIRS_DSP(PITCH, 9)         \
    TFLMGEN_DEPTHWISE3X3_PAIRS_DSP(PITCH, 10)        \
    TFLMGEN_DEPTHWISE3X3_PAIRS_DSP(PITCH, 11)        \
    TFLMGEN_DEPTHWISE3X3_PAIRS_DSP(PITCH, 12)
TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_SHIFTS(16)
TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_SHIFTS(32)
TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_SHIFTS(64)
TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_SHIFTS(128)
TFLMGEN_DEPTHWISE3X3_PAIRS_DSP_SHIFTS(256)

#endif

#endif
