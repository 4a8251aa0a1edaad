/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DEPTHWISE_CONV_2D in int8 with 2 to 9 taps in one row or one column that move by one, for cores with the DSP
 * extension.
 *
 * A line is what the taps move along: a row of the image, or a column. Of a dilated layer each phase, every
 * dilation_width-th element, is a line of its own. Of one line four channels at a time are widened into four planes of
 * halves in scratch memory, padding included, so that a word holds two elements that follow each other:
 *     plane: | x0 x1 | x2 x3 | ...
 * Then two outputs of a channel at a time are products of words: the first one of (w0, w1) (w2, w3) ..., the second one
 * of w0 and (w1, w2) (w3, w4) .... All weights are times 256; see dsp.h for the rounding.
 *
 * The stream of weights, for each channel, with as many taps as the function has, those beyond the filter zero:
 *     ((w0, w1) (w1, w2)) ((w2, w3) (w3, w4)) ... as halves | m | addend | shift | start
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_LINE_DSP_H
#define TFLMGEN_KERNELS_DEPTHWISE_LINE_DSP_H

#include "dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

struct tflmgen_depthwise_line_dsp_s8 {
    int32_t batches;
    int32_t output_height; /* lines of a batch */
    int32_t input_width;   /* elements of a line */
    int32_t output_width;
    int32_t input_channels;
    int32_t padding_left;
    int32_t dilation_width;
    int32_t padding_value;
    int32_t input_step; /* from one element of a line to the next */
    int32_t output_step;
    int32_t input_line; /* from one line to the next */
    int32_t output_line;
    int32_t input_batch; /* from one batch to the next */
    int32_t output_batch;
    int32_t output_min;
    int32_t output_max;
};

/* A line of outputs, in the order in which the assembly reads it. */
struct tflmgen_depthwise_line_dsp_outputs {
    int32_t step;           /* from one output to the next */
    const tflmgen_u32 *end; /* of the plane, where pairs of outputs end */
    int32_t odd;            /* 4 where a single output follows, or 0 */
};

typedef void tflmgen_depthwise_line_dsp_function(const tflmgen_u32 *plane, int8_t *output, const tflmgen_u32 *channel,
                                                 const struct tflmgen_depthwise_line_dsp_outputs *outputs);

/* The products of two elements with words of weights: of the first pair of taps, of the next ones, of the last one. */
#define TFLMGEN_DEPTHWISE_LINE_DSP_FIRST(x, w01, start) \
    "smlad r10, " x ", " w01 ", " start "\n\t"          \
    "smlatb r11, " x ", " w01 ", " start "\n\t"
#define TFLMGEN_DEPTHWISE_LINE_DSP_NEXT(x, w12, w23) \
    "smlad r10, " x ", " w23 ", r10\n\t"             \
    "smlad r11, " x ", " w12 ", r11\n\t"
#define TFLMGEN_DEPTHWISE_LINE_DSP_LAST(x, w12) \
    "smlabt r10, " x ", " w12 ", r10\n\t"       \
    "smlad r11, " x ", " w12 ", r11\n\t"

/* Both sums, by multiplier and addend. */
#define TFLMGEN_DEPTHWISE_LINE_DSP_REQUANTIZE(m, addend) \
    "smmla r12, r10, " m ", " addend "\n\t"              \
    "asr r10, r10, #31\n\t"                              \
    "add r10, r12, r10, lsl #7\n\t"                      \
    "smmla r12, r11, " m ", " addend "\n\t"              \
    "asr r11, r11, #31\n\t"                              \
    "add r11, r12, r11, lsl #7\n\t"

/* The first output is stored last: of a single one, whose step is 0, it stays. */
#define TFLMGEN_DEPTHWISE_LINE_DSP_STORE(shift, step) \
    "asr r10, r10, " shift "\n\t"                     \
    "asr r11, r11, " shift "\n\t"                     \
    "ssat r10, #8, r10\n\t"                           \
    "ssat r11, #8, r11\n\t"                           \
    "strb r11, [r1, " step "]\n\t"                    \
    "strb r10, [r1]\n\t"                              \
    "add r1, r1, " step ", lsl #1\n\t"

/* Two outputs of up to three taps: 20 instructions. Registers: r2-r3 weights, r4 multiplier, r5 addend, r6 shift,
 * r7 start, r8 step, r9 end, r10-r11 sums. Stack: odd. */
#define TFLMGEN_DEPTHWISE_LINE_DSP_BEGIN_3     \
    "ldmia.w r3, {r8, r9, r12}\n\t"            \
    "push {r12}\n\t"                           \
    "ldmia.w r2, {r2, r3, r4, r5, r6, r7}\n\t" \
    "cmp r0, r9\n\t"
/* clang-format off */
#define TFLMGEN_DEPTHWISE_LINE_DSP_STEP_3               \
    "ldrd r12, lr, [r0], #4\n\t"                        \
    TFLMGEN_DEPTHWISE_LINE_DSP_FIRST("r12", "r2", "r7") \
    TFLMGEN_DEPTHWISE_LINE_DSP_LAST("lr", "r3")         \
    TFLMGEN_DEPTHWISE_LINE_DSP_REQUANTIZE("r4", "r5")   \
    TFLMGEN_DEPTHWISE_LINE_DSP_STORE("r6", "r8")        \
    "cmp r0, r9\n\t"
/* clang-format on */
#define TFLMGEN_DEPTHWISE_LINE_DSP_SINGLE_3 \
    "ldr r12, [sp]\n\t"                     \
    "mov r8, #0\n\t"                        \
    "str r8, [sp]\n\t"                      \
    "add r9, r9, r12\n\t"                   \
    "cmp r0, r9\n\t"

/* Of up to five taps: 26 instructions. Registers: r2-r5 weights, r6 multiplier, r7 addend, r8 shift, r9 step. Stack:
 * end, odd, start. */
#define TFLMGEN_DEPTHWISE_LINE_DSP_BEGIN_5         \
    "ldmia.w r3, {r9, r10, r11}\n\t"               \
    "ldr r12, [r2, #28]\n\t"                       \
    "push {r10, r11, r12}\n\t"                     \
    "ldmia.w r2, {r2, r3, r4, r5, r6, r7, r8}\n\t" \
    "cmp r0, r10\n\t"
/* clang-format off */
#define TFLMGEN_DEPTHWISE_LINE_DSP_STEP_5                \
    "ldr r11, [sp, #8]\n\t"                              \
    "ldrd r12, lr, [r0], #4\n\t"                         \
    TFLMGEN_DEPTHWISE_LINE_DSP_FIRST("r12", "r2", "r11") \
    TFLMGEN_DEPTHWISE_LINE_DSP_NEXT("lr", "r3", "r4")    \
    "ldr r12, [r0, #4]\n\t"                              \
    TFLMGEN_DEPTHWISE_LINE_DSP_LAST("r12", "r5")         \
    TFLMGEN_DEPTHWISE_LINE_DSP_REQUANTIZE("r6", "r7")    \
    TFLMGEN_DEPTHWISE_LINE_DSP_STORE("r8", "r9")         \
    "ldr r12, [sp]\n\t"                                  \
    "cmp r0, r12\n\t"
/* clang-format on */
#define TFLMGEN_DEPTHWISE_LINE_DSP_SINGLE_5 \
    "ldrd r12, lr, [sp]\n\t"                \
    "mov r9, #0\n\t"                        \
    "add r12, r12, lr\n\t"                  \
    "strd r12, r9, [sp]\n\t"                \
    "cmp r0, r12\n\t"

/* Of up to nine taps: 34 instructions. Registers: r2-r7 weights; r8-r9 the last four, then multiplier and addend,
 * lr shift, r12 step. Stack: (w6, w7), (w7, w8), multiplier, addend, step, shift, end, odd, start. */
#define TFLMGEN_DEPTHWISE_LINE_DSP_BEGIN_9             \
    "ldmia.w r3, {r8, r10, r11}\n\t"                   \
    "add r3, r2, #24\n\t"                              \
    "ldmia.w r3, {r4, r5, r6, r7, r9, r12}\n\t"        \
    "push {r4, r5, r6, r7, r8, r9, r10, r11, r12}\n\t" \
    "ldmia.w r2, {r2, r3, r4, r5, r6, r7}\n\t"         \
    "cmp r0, r10\n\t"
/* clang-format off */
#define TFLMGEN_DEPTHWISE_LINE_DSP_STEP_9                \
    "ldr r11, [sp, #32]\n\t"                             \
    "ldrd r12, lr, [r0], #4\n\t"                         \
    TFLMGEN_DEPTHWISE_LINE_DSP_FIRST("r12", "r2", "r11") \
    TFLMGEN_DEPTHWISE_LINE_DSP_NEXT("lr", "r3", "r4")    \
    "ldrd r12, lr, [r0, #4]\n\t"                         \
    "ldrd r8, r9, [sp]\n\t"                              \
    TFLMGEN_DEPTHWISE_LINE_DSP_NEXT("r12", "r5", "r6")   \
    TFLMGEN_DEPTHWISE_LINE_DSP_NEXT("lr", "r7", "r8")    \
    "ldr r12, [r0, #12]\n\t"                             \
    TFLMGEN_DEPTHWISE_LINE_DSP_LAST("r12", "r9")         \
    "ldrd r8, r9, [sp, #8]\n\t"                          \
    TFLMGEN_DEPTHWISE_LINE_DSP_REQUANTIZE("r8", "r9")    \
    "ldrd r12, lr, [sp, #16]\n\t"                        \
    TFLMGEN_DEPTHWISE_LINE_DSP_STORE("lr", "r12")        \
    "ldr r12, [sp, #24]\n\t"                             \
    "cmp r0, r12\n\t"
/* clang-format on */
#define TFLMGEN_DEPTHWISE_LINE_DSP_SINGLE_9 \
    "ldrd r12, lr, [sp, #24]\n\t"           \
    "mov r9, #0\n\t"                        \
    "add r12, r12, lr\n\t"                  \
    "strd r12, r9, [sp, #24]\n\t"           \
    "str r9, [sp, #16]\n\t"                 \
    "cmp r0, r12\n\t"

/* Outputs of one channel along a line. r0 plane, r1 output, r12 and lr elements; 1: two outputs, 2: the single one
 * after them, then the end. FRAME: bytes of the stack. */
/* clang-format off */
#define TFLMGEN_DEPTHWISE_LINE_DSP_CHANNEL(TAPS, FRAME)                                                      \
    TFLMGEN_SHARED void tflmgen_depthwise_line_dsp_channel_##TAPS(                                           \
        const tflmgen_u32 *plane, int8_t *output, const tflmgen_u32 *channel,                                \
        const struct tflmgen_depthwise_line_dsp_outputs *outputs)                                            \
    {                                                                                                        \
        TFLMGEN_IN_REGISTERS_4(plane, output, channel, outputs);                                             \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                                             \
                         TFLMGEN_DEPTHWISE_LINE_DSP_BEGIN_##TAPS                                             \
                         "beq 2f\n"                                                                          \
                         "1:\n\t" TFLMGEN_DEPTHWISE_LINE_DSP_STEP_##TAPS                                     \
                         "bne 1b\n"                                                                          \
                         "2:\n\t" TFLMGEN_DEPTHWISE_LINE_DSP_SINGLE_##TAPS                                   \
                         "bne 1b\n\t"                                                                        \
                         "add sp, sp, #" #FRAME "\n\t"                                                       \
                         "pop {r4-r11, lr}"                                                                  \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                            \
                         :                                                                                   \
                         : "r12", "cc", "memory");                                                           \
    }
/* clang-format on */

/* Two elements of four channels become a word of each plane. */
TFLMGEN_HELPER void tflmgen_depthwise_line_dsp_put(tflmgen_u32 *to, int32_t plane, uint32_t first, uint32_t second)
{
    const uint32_t low = tflmgen_lower_halves(first, second);
    const uint32_t high = tflmgen_upper_halves(first, second);
    to[0] = tflmgen_even_bytes(low);
    to[plane] = tflmgen_odd_bytes(low);
    to[2 * plane] = tflmgen_even_bytes(high);
    to[3 * plane] = tflmgen_odd_bytes(high);
}

/* Fills four planes of `plane` words: `before` elements of padding, `count` of the input, `step` bytes apart, then
 * padding again. Two elements of four channels take 17 instructions. */
TFLMGEN_UNCLONED void tflmgen_depthwise_line_dsp_fill(tflmgen_u32 *to, int32_t plane, const int8_t *input,
                                                      int32_t before, int32_t count, int32_t step, uint32_t padding)
{
    const int32_t end = before + count;
    for (int32_t i = 0; i < 2 * plane; i += 2, ++to) {
        for (; i >= before && i + 1 < end; i += 2, ++to, input += 2 * step) {
            tflmgen_depthwise_line_dsp_put(to, plane, tflmgen_load4(input), tflmgen_load4(input + step));
        }
        if (i < 2 * plane) {
            uint32_t two[2] = {padding, padding};
            for (int32_t k = 0; k < 2; ++k) {
                if (i + k >= before && i + k < end) {
                    two[k] = tflmgen_load4(input);
                    input += step;
                }
            }
            tflmgen_depthwise_line_dsp_put(to, plane, two[0], two[1]);
        }
    }
}

/* Four channels of a line's phase, from `first`, its first output, on. */
TFLMGEN_UNCLONED void tflmgen_depthwise_line_dsp_phase(const int8_t *input, const tflmgen_u32 *channels,
                                                       tflmgen_u32 *planes, int8_t *output, int32_t first, int32_t taps,
                                                       const struct tflmgen_depthwise_line_dsp_s8 *p,
                                                       tflmgen_depthwise_line_dsp_function *run)
{
    const int32_t dilation = p->dilation_width;
    const int32_t count = (p->output_width - first + dilation - 1) / dilation;
    const int32_t origin = first - p->padding_left;
    const int32_t before = origin < 0 ? (dilation - 1 - origin) / dilation : 0;
    const int32_t begin = origin + before * dilation;
    const int32_t plane =
        (count + taps) / 2; /* words: of taps - 1 elements more than outputs, an even number of these */
    const int32_t inside = begin < p->input_width ? (p->input_width - begin + dilation - 1) / dilation : 0;
    tflmgen_depthwise_line_dsp_fill(planes, plane, input + begin * p->input_step, before,
                                    tflmgen_min_s32(inside, 2 * plane - before), dilation * p->input_step,
                                    tflmgen_splat4(p->padding_value));
    const int32_t step = dilation * p->output_step;
    output += first * p->output_step;
    for (int32_t channel = 0; channel < 4; ++channel) {
        const struct tflmgen_depthwise_line_dsp_outputs outputs = {step, planes + count / 2, count % 2 * 4};
        run(planes, output + channel, channels, &outputs);
        planes += plane;
        channels += taps + 3; /* words of a channel */
    }
}

/* scratch: four planes of output_width / dilation_width elements, rounded up to an even number, and taps - 1 more. */
TFLMGEN_HELPER void tflmgen_depthwise_line_dsp_run(const int8_t *input, const tflmgen_u32 *stream, void *scratch,
                                                   int8_t *output, const struct tflmgen_depthwise_line_dsp_s8 *p,
                                                   int32_t taps, tflmgen_depthwise_line_dsp_function *run)
{
    int32_t size = 0;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t line = 0; line < p->output_height; ++line) {
            const int8_t *const from = input + batch * p->input_batch + line * p->input_line;
            int8_t *const to = output + batch * p->output_batch + line * p->output_line;
            for (int32_t channel = 0; channel < p->input_channels; channel += 4) {
                const int32_t quad = tflmgen_min_s32(channel, p->input_channels - 4);
                for (int32_t first = 0; first < tflmgen_min_s32(p->dilation_width, p->output_width); ++first) {
                    tflmgen_depthwise_line_dsp_phase(from + quad, stream + quad * (taps + 3), (tflmgen_u32 *)scratch,
                                                     to + quad, first, taps, p, run);
                }
            }
            size += p->output_width * p->input_channels;
        }
    }
    tflmgen_clamp_dsp_s8(output, size, p->output_min, p->output_max);
}

#define TFLMGEN_DEPTHWISE_LINE_DSP(TAPS, FRAME)                                                                  \
    TFLMGEN_DEPTHWISE_LINE_DSP_CHANNEL(TAPS, FRAME)                                                              \
    TFLMGEN_SHARED void tflmgen_depthwise_line_dsp_to##TAPS##_s8(const int8_t *input, const tflmgen_u32 *stream, \
                                                                 void *scratch, int8_t *output,                  \
                                                                 const struct tflmgen_depthwise_line_dsp_s8 *p)  \
    {                                                                                                            \
        tflmgen_depthwise_line_dsp_run(input, stream, scratch, output, p, TAPS,                                  \
                                       tflmgen_depthwise_line_dsp_channel_##TAPS);                               \
    }

/* Of up to so many taps. */
TFLMGEN_DEPTHWISE_LINE_DSP(3, 4)
TFLMGEN_DEPTHWISE_LINE_DSP(5, 12)
TFLMGEN_DEPTHWISE_LINE_DSP(9, 36)

#endif

#endif
