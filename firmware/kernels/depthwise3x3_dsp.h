/* DEPTHWISE_CONV_2D in int8 with 3x3 filters that move by one column, one output per input channel, for cores with the
 * DSP extension.
 *
 * Four channels at a time are transposed into planes of halves in scratch memory, padding included, a strip of lines
 * at a time; a word holds two columns. Then all nine weights of a channel stay in registers. A line of a plane takes
 * PITCH bytes and ends at a multiple of PITCH, which is how the loop over it ends; its last word lies at the start of
 * the next line, where none of that line's begins. A strip's last lines are the next strip's first, so that the output may
 * lie over the very place of an input of the same size: only the four channels that are in the planes are overwritten.
 *
 * The weights are scaled by 2^e, each channel by its own e, such that the shift after the multiplication is the same
 * for all channels: out = (hi32(2^e a m) + ra) >> SHIFT, clamped at the zero point. See dsp.h for the rounding.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE3X3_DSP_H
#define TFLMGEN_KERNELS_DEPTHWISE3X3_DSP_H

#include "depthwise3x3_planes_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* One channel as the assembly reads it: (w0, w1), (w1, w2) of each filter row; multiplier, ra, start of the sum, and what
 * a negative sum's rescaled value loses where it is not clamped. */
struct tflmgen_depthwise3x3_dsp_channel {
    uint32_t weights[6];
    int32_t multiplier;
    int32_t addend;
    int32_t bias;
    int32_t sign_fix;
};

/* Lines of output; bytes from the end of a line to the next one's start, of the plane and of the output; bytes from one
 * output to the next. */
struct tflmgen_depthwise3x3_dsp_lines {
    int32_t lines;
    int32_t plane_gap;
    int32_t output_gap;
    int32_t output_step;
};

typedef void tflmgen_depthwise3x3_dsp_function(const uint32_t *plane, int8_t *output,
                                               const struct tflmgen_depthwise3x3_dsp_channel *channel,
                                               const struct tflmgen_depthwise3x3_dsp_lines *lines);

/* Registers: r0 plane, r1 output, r2-r7 weights, r8 multiplier, r9 ra, r10-r11 sums (r11 begins as the bias), r12 and lr columns.
 * Stack: the four fields of lines, bias, sign_fix. */
#define TFLMGEN_DEPTHWISE3X3_DSP_LINES(name, PITCH, ONE_STEP)                                                          \
    TFLMGEN_SHARED void name(const uint32_t *plane, int8_t *output,                                                    \
                             const struct tflmgen_depthwise3x3_dsp_channel *channel,                                   \
                             const struct tflmgen_depthwise3x3_dsp_lines *lines)                                       \
    {                                                                                                                  \
        register const uint32_t *r0 __asm__("r0") = plane;                                                             \
        register int8_t *r1 __asm__("r1") = output;                                                                    \
        register const struct tflmgen_depthwise3x3_dsp_channel *r2 __asm__("r2") = channel;                            \
        register const struct tflmgen_depthwise3x3_dsp_lines *r3 __asm__("r3") = lines;                                \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                                                       \
                         "ldmia r3, {r8, r9, r10, r11}\n\t"                                                            \
                         "ldrd r12, lr, [r2, #32]\n\t"                                                                 \
                         "push {r8, r9, r10, r11, r12, lr}\n\t"                                                        \
                         "ldmia r2, {r2, r3, r4, r5, r6, r7, r8, r9}\n\t"                                              \
                         "mov r11, r12\n"                                                                              \
                         "1:\n\t" ONE_STEP                                                                             \
                         "tst r0, #" PITCH " - 1\n\t"                                                                  \
                         "bne 1b\n\t"                                                                                  \
                         "ldrd r10, r12, [sp]\n\t"                                                                     \
                         "ldr lr, [sp, #8]\n\t"                                                                        \
                         "add r0, r0, r12\n\t"                                                                         \
                         "add r1, r1, lr\n\t"                                                                          \
                         "subs r10, r10, #1\n\t"                                                                       \
                         "str r10, [sp]\n\t"                                                                           \
                         "bne 1b\n\t"                                                                                  \
                         "add sp, sp, #24\n\t"                                                                         \
                         "pop {r4-r11, lr}"                                                                            \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                                      \
                         :                                                                                             \
                         : "r12", "cc", "memory");                                                                     \
    }

#define TFLMGEN_DEPTHWISE3X3_DSP_RESCALE_clamped(sum) "smmla " sum ", " sum ", r8, r9\n\t"
#define TFLMGEN_DEPTHWISE3X3_DSP_RESCALE_signed(sum) \
    "asr r12, " sum ", #31\n\t"                      \
    "ldr lr, [sp, #20]\n\t"                          \
    "smmla " sum ", " sum ", r8, r9\n\t"             \
    "mla " sum ", r12, lr, " sum "\n\t"

/* sum: where the first output's sum is so far. */
#define TFLMGEN_DEPTHWISE3X3_DSP_ROW(columns, w01, w12, sum) \
    "ldrd r12, lr, " columns "\n\t"                           \
    "smlad r10, r12, " w01 ", " sum "\n\t"                    \
    "smlatb r11, r12, " w01 ", r11\n\t"                       \
    "smlabt r10, lr, " w12 ", r10\n\t"                        \
    "smlad r11, lr, " w12 ", r11\n\t"

/* Two outputs, 18 MACs: 1 for the bias, 3 LDRD, 12 multiplications, 2 * 2 to rescale, 4 to store, 2 to loop:
 * 26 instructions. */
#define TFLMGEN_DEPTHWISE3X3_DSP_STEP(PITCH, SHIFT, RESCALE)                \
    TFLMGEN_DEPTHWISE3X3_DSP_ROW("[r0, #" PITCH "]", "r4", "r5", "r11")     \
    TFLMGEN_DEPTHWISE3X3_DSP_ROW("[r0, #2 * " PITCH "]", "r6", "r7", "r10") \
    TFLMGEN_DEPTHWISE3X3_DSP_ROW("[r0], #4", "r2", "r3", "r10")             \
    RESCALE("r10") RESCALE("r11")                                            \
    "ssat r10, #8, r10, asr #" SHIFT "\n\t"                                  \
    "ssat r11, #8, r11, asr #" SHIFT "\n\t"                                  \
    "strb r10, [r1]\n\t"                                                     \
    "ldr r12, [sp, #12]\n\t"                                                 \
    "strb r11, [r1, r12]\n\t"                                                \
    "ldr r11, [sp, #16]\n\t"                                                 \
    "add r1, r1, r12, lsl #1\n\t"

/* Packed: nine weights, e, two bytes of nothing, start of the sum, multiplier. */
TFLMGEN_HELPER void tflmgen_depthwise3x3_dsp_unpack(struct tflmgen_depthwise3x3_dsp_channel *channel,
                                                    const uint32_t *packed, int32_t addend)
{
    const int8_t *weights = (const int8_t *)packed;
    const int32_t scale = 1 << weights[9];
    for (int32_t row = 0; row < 3; ++row, weights += 3) {
        const uint32_t middle = (uint32_t)(weights[1] * scale);
        channel->weights[2 * row] = ((uint32_t)(weights[0] * scale) & 0xFFFFu) | middle << 16;
        channel->weights[2 * row + 1] = (middle & 0xFFFFu) | (uint32_t)(weights[2] * scale) << 16;
    }
    channel->bias = (int32_t)packed[3];
    channel->multiplier = (int32_t)packed[4];
    channel->addend = addend + (scale >> 2);
    channel->sign_fix = scale >> 1;
}

/* The last line of a width that is odd: outputs come in pairs, and the last one must go nowhere. */
TFLMGEN_SHARED void tflmgen_depthwise3x3_dsp_last_line(const uint32_t *plane, int8_t *output, int32_t step,
                                                       int32_t width,
                                                       const struct tflmgen_depthwise3x3_dsp_channel *channel,
                                                       tflmgen_depthwise3x3_dsp_function *run)
{
    int8_t values[128];
    const struct tflmgen_depthwise3x3_dsp_lines one = {1, 0, 0, 1};
    run(plane, values, channel, &one);
    for (int32_t x = 0; x < width; ++x, output += step) {
        *output = values[x];
    }
}

/* scratch: 4 planes of ((strip - 1) * stride_height + 3) lines of `pitch` bytes, `pitch` more to align, and a word. */
TFLMGEN_SHARED void tflmgen_depthwise3x3_dsp_run(const int8_t *input, const uint32_t *packed, void *scratch,
                                                 int8_t *output, const struct tflmgen_depthwise3x3_dsp_s8 *p,
                                                 tflmgen_depthwise3x3_dsp_function *run, int32_t pitch,
                                                 int32_t addend)
{
    struct tflmgen_depthwise3x3_dsp_planes planes = tflmgen_depthwise3x3_dsp_planes_in(scratch, pitch, p);
    const int32_t channels = p->input_channels;
    const int32_t words = (p->output_width + 1) / 2;
    const bool odd = p->output_width % 2 == 1;
    struct tflmgen_depthwise3x3_dsp_lines lines;
    planes.start = pitch - 4 * words;
    lines.plane_gap = p->stride_height * pitch - 4 * words;
    lines.output_gap = odd ? -channels : 0;
    lines.output_step = channels;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t first = 0; first < channels; first += 4) {
            const int32_t quad = tflmgen_min_s32(first, channels - 4);
            for (int32_t y = 0; y < p->output_height; y += p->strip) {
                lines.lines = tflmgen_min_s32(p->strip, p->output_height - y);
                tflmgen_depthwise3x3_dsp_strip(&planes, input + quad, y, lines.lines, p->strip, first == 0, p);
                for (int32_t i = 0; i < 4; ++i) {
                    struct tflmgen_depthwise3x3_dsp_channel channel;
                    const uint32_t *from =
                        (const uint32_t *)(const void *)(planes.first + i * planes.lines * pitch + planes.start);
                    int8_t *to = output + y * p->output_width * channels + quad + i;
                    tflmgen_depthwise3x3_dsp_unpack(&channel, packed + 5 * (quad + i), addend);
                    if (odd && y + lines.lines == p->output_height) {
                        const int32_t before = lines.lines - 1;
                        if (before > 0) {
                            struct tflmgen_depthwise3x3_dsp_lines fewer = lines;
                            fewer.lines = before;
                            run(from, to, &channel, &fewer);
                        }
                        tflmgen_depthwise3x3_dsp_last_line(from + before * p->stride_height * pitch / 4,
                                                           to + before * p->output_width * channels, channels,
                                                           p->output_width, &channel, run);
                    } else {
                        run(from, to, &channel, &lines);
                    }
                }
            }
        }
        input += p->input_height * p->input_width * channels;
        output += p->output_height * p->output_width * channels;
    }
    if (p->output_min > -128 || p->output_max < 127) {
        const int32_t count = p->batches * p->output_height * p->output_width * channels;
        tflmgen_clamp_dsp_s8(output - count, count, p->output_min, p->output_max);
    }
}

#define TFLMGEN_DEPTHWISE3X3_DSP(PITCH, SHIFT, KIND)                                                                  \
    TFLMGEN_DEPTHWISE3X3_DSP_LINES(                                                                                   \
        tflmgen_depthwise3x3_dsp_lines_##PITCH##_##SHIFT##_##KIND, #PITCH,                                            \
        TFLMGEN_DEPTHWISE3X3_DSP_STEP(#PITCH, #SHIFT, TFLMGEN_DEPTHWISE3X3_DSP_RESCALE_##KIND))                       \
    TFLMGEN_SHARED void tflmgen_depthwise3x3_dsp_##PITCH##_##SHIFT##_##KIND##_s8(                                     \
        const int8_t *input, const uint32_t *packed, void *scratch, int8_t *output,                                   \
        const struct tflmgen_depthwise3x3_dsp_s8 *p)                                                                  \
    {                                                                                                                 \
        tflmgen_depthwise3x3_dsp_run(input, packed, scratch, output, p,                                               \
                                     tflmgen_depthwise3x3_dsp_lines_##PITCH##_##SHIFT##_##KIND, PITCH,                \
                                     (2 * p->output_zero_point + 1) * (1 << (SHIFT - 1)));                            \
    }

/* By pitch, shift, and whether outputs are clamped at the zero point. Those that are not called are not compiled. */
#define TFLMGEN_DEPTHWISE3X3_DSP_KINDS(PITCH, SHIFT) \
    TFLMGEN_DEPTHWISE3X3_DSP(PITCH, SHIFT, clamped) \
    TFLMGEN_DEPTHWISE3X3_DSP(PITCH, SHIFT, signed)
#define TFLMGEN_DEPTHWISE3X3_DSP_SHIFTS(PITCH) \
    TFLMGEN_DEPTHWISE3X3_DSP_KINDS(PITCH, 6) \
    TFLMGEN_DEPTHWISE3X3_DSP_KINDS(PITCH, 7) \
    TFLMGEN_DEPTHWISE3X3_DSP_KINDS(PITCH, 8) \
    TFLMGEN_DEPTHWISE3X3_DSP_KINDS(PITCH, 9) \
    TFLMGEN_DEPTHWISE3X3_DSP_KINDS(PITCH, 10) \
    TFLMGEN_DEPTHWISE3X3_DSP_KINDS(PITCH, 11) \
    TFLMGEN_DEPTHWISE3X3_DSP_KINDS(PITCH, 12)
TFLMGEN_DEPTHWISE3X3_DSP_SHIFTS(16)
TFLMGEN_DEPTHWISE3X3_DSP_SHIFTS(32)
TFLMGEN_DEPTHWISE3X3_DSP_SHIFTS(64)
TFLMGEN_DEPTHWISE3X3_DSP_SHIFTS(128)
TFLMGEN_DEPTHWISE3X3_DSP_SHIFTS(256)

#endif

#endif
