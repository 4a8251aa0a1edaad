/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D in int8 for cores with the DSP extension, straight from the input, without im2col: one output channel of
 * three pixels at a time.
 *
 * For layers, and groups of channels, that have too few output channels for im2col to pay, and for those whose weights
 * or sums the shifted pairs of conv2d_block_dsp.h are not exact for (dsp.h): products are plain ones here.
 *
 * A window is `filter_height` times `columns` segments of whole words: its rows, or, where taps are not side by side,
 * its taps. Where a row is no whole words, the values behind its end are read too; their weights are zeros. The stream
 * has a record for each output channel:
 *     bias | weights of each segment | multiplier, addend | shift + 256 * (1 if the group has a further channel)
 */
#ifndef TFLMGEN_KERNELS_CONV2D_DOT_DSP_H
#define TFLMGEN_KERNELS_CONV2D_DOT_DSP_H

#include "dsp.h"
#include "window.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

#define TFLMGEN_CONV2D_DOT_DSP_PIXELS 3 /* of a line, at a time */

struct tflmgen_conv2d_dot_dsp_s8 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t groups;
    int32_t filter_channels; /* input channels of a group */
    int32_t columns;         /* segments of a window's row */
    int32_t words;           /* of a segment */
    bool direct;             /* windows inside the input are read in place; all others are copied */
    int32_t padding_value;
    int32_t output_min;
    int32_t output_max;
};

/* Blocks of pixels and their windows, in the order in which the assembly reads it. */
struct tflmgen_conv2d_dot_dsp_blocks {
    int32_t bytes;    /* of a segment */
    int32_t segments; /* in a row */
    int32_t gap;      /* bytes from a segment's end to the next one's start */
    int32_t rows;
    int32_t row_gap; /* bytes that the next row begins after the last segment's gap */
    int32_t stride;  /* bytes from one output pixel to the next */
    int32_t lanes;   /* pixels of each block that there are */
    int32_t pixel;   /* bytes from a pixel's window to the next one's */
    int32_t blocks;
};

/* Four values of three pixels, 12 MACs: 4 LDR + 8 SXTB16 + 6 SMLAD = 18 instructions. */
#define TFLMGEN_CONV2D_DOT_DSP_WORD \
    "ldr r7, [r1, r2]\n\t"          \
    "ldr r8, [r1, r2, lsl #1]\n\t"  \
    "ldr r6, [r1], #4\n\t"          \
    "ldr r5, [r3], #4\n\t"          \
    "sxtb16 r4, r5\n\t"             \
    "sxtb16 r5, r5, ror #8\n\t"     \
    "sxtb16 lr, r6\n\t"             \
    "smlad r9, r4, lr, r9\n\t"      \
    "sxtb16 r6, r6, ror #8\n\t"     \
    "smlad r9, r5, r6, r9\n\t"      \
    "sxtb16 lr, r7\n\t"             \
    "smlad r10, r4, lr, r10\n\t"    \
    "sxtb16 r7, r7, ror #8\n\t"     \
    "smlad r10, r5, r7, r10\n\t"    \
    "sxtb16 lr, r8\n\t"             \
    "smlad r11, r4, lr, r11\n\t"    \
    "sxtb16 r8, r8, ror #8\n\t"     \
    "smlad r11, r5, r8, r11\n\t"

/* Both roundings of tflmgen_requantize, of |sum| < 2^30 to the right by one or more. */
#define TFLMGEN_CONV2D_DOT_DSP_ROUND(sum)        \
    "lsl " sum ", " sum ", #1\n\t"               \
    "smmulr " sum ", " sum ", r4\n\t"            \
    "add " sum ", " sum ", " sum ", asr #31\n\t" \
    "add " sum ", " sum ", r5\n\t"               \
    "asr " sum ", " sum ", r6\n\t"               \
    "ssat " sum ", #8, " sum "\n\t"

/* The output channels of a stream for blocks of three pixels, the first of which has its windows at `input`. A segment
 * is read two words at a time, an odd one first: 9 instructions beside the words, 2 for each two, and 9 for a row. A
 * channel takes 39 beside its rows, a block 12. Registers: r0 output, r1 input, r2 pixel, r3 stream, r4-r5 weights,
 * r6-r8 inputs, r9-r11 sums, r12 the segment's end. Stack: bytes, segments left, gap, rows left, row_gap; output,
 * input, blocks, stream; stride, lanes, pixel, blocks left. */
TFLMGEN_SHARED void tflmgen_conv2d_dot_dsp_run(int8_t *output, const int8_t *input,
                                               const struct tflmgen_conv2d_dot_dsp_blocks *blocks,
                                               const tflmgen_u32 *stream)
{
    TFLMGEN_IN_REGISTERS_4(output, input, blocks, stream);
    /* clang-format off */
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldmia.w r2, {r4, r5, r6, r7, r8, r9, r10, r11, r12}\n\t"
                     "push {r9, r10, r11, r12}\n\t"
                     "push {r0, r1, r2, r3}\n\t"
                     "push {r4, r5, r6, r7, r8}\n\t"
                     "mov r2, r11\n"
                     "1:\n\t"
                     "ldr r9, [r3], #4\n\t"
                     "ldrd r1, r4, [sp, #24]\n\t"
                     "mov r10, r9\n\t"
                     "mov r11, r9\n\t"
                     "ldr r4, [r4, #12]\n\t"
                     "str r4, [sp, #12]\n"
                     "2:\n\t"
                     "ldr r4, [sp, #28]\n\t"
                     "ldr r4, [r4, #4]\n\t"
                     "str r4, [sp, #4]\n"
                     "3:\n\t"
                     "ldr r4, [sp]\n\t"
                     "add r12, r1, r4\n\t"
                     "lsls r4, r4, #29\n\t"
                     "bmi 5f\n"
                     "4:\n\t" TFLMGEN_CONV2D_DOT_DSP_WORD
                     "5:\n\t" TFLMGEN_CONV2D_DOT_DSP_WORD
                     "cmp r1, r12\n\t"
                     "bne 4b\n\t"
                     "ldrd r4, r5, [sp, #4]\n\t"
                     "add r1, r1, r5\n\t"
                     "subs r4, r4, #1\n\t"
                     "str r4, [sp, #4]\n\t"
                     "bne 3b\n\t"
                     "ldrd r4, r5, [sp, #12]\n\t"
                     "add r1, r1, r5\n\t"
                     "subs r4, r4, #1\n\t"
                     "str r4, [sp, #12]\n\t"
                     "bne 2b\n\t"
                     "ldmia.w r3!, {r4, r5, r6}\n\t"
                     TFLMGEN_CONV2D_DOT_DSP_ROUND("r9")
                     TFLMGEN_CONV2D_DOT_DSP_ROUND("r10")
                     TFLMGEN_CONV2D_DOT_DSP_ROUND("r11")
                     "ldrd r7, r8, [sp, #36]\n\t"
                     "cmp r8, #2\n\t"
                     "it ge\n\t"
                     "strbge r10, [r0, r7]\n\t"
                     "it gt\n\t"
                     "strbgt r11, [r0, r7, lsl #1]\n\t"
                     "strb r9, [r0], #1\n\t"
                     "lsrs r6, r6, #8\n\t"
                     "bne 1b\n\t"
                     "ldrd r0, r1, [sp, #20]\n\t"
                     "add r7, r7, r7, lsl #1\n\t"
                     "add r4, r2, r2, lsl #1\n\t"
                     "add r0, r0, r7\n\t"
                     "add r1, r1, r4\n\t"
                     "strd r0, r1, [sp, #20]\n\t"
                     "ldr r3, [sp, #32]\n\t"
                     "ldr r4, [sp, #48]\n\t"
                     "subs r4, r4, #1\n\t"
                     "str r4, [sp, #48]\n\t"
                     "bne 1b\n\t"
                     "add sp, sp, #52\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "r12", "cc", "memory");
    /* clang-format on */
}

/* Copies the window at (origin_y, origin_x) of a group's channels, which begin at `input`: 5 instructions for four
 * values that lie side by side. */
TFLMGEN_SHARED void tflmgen_conv2d_dot_dsp_copy(int8_t *bytes, const int8_t *input, int32_t origin_y, int32_t origin_x,
                                                const struct tflmgen_conv2d_dot_dsp_s8 *p)
{
    const struct tflmgen_taps y = tflmgen_taps_inside(origin_y, p->dilation_height, p->filter_height, p->input_height);
    const struct tflmgen_taps x = tflmgen_taps_inside(origin_x, p->dilation_width, p->filter_width, p->input_width);
    const int32_t row = 4 * p->columns * p->words;
    if ((y.end - y.first) * (x.end - x.first) < p->filter_height * p->filter_width) {
        const uint32_t padding = tflmgen_splat4(p->padding_value);
        for (int32_t at = 0; at < p->filter_height * row; at += 4) {
            tflmgen_store4(bytes + at, padding);
        }
    }
    const bool together = p->dilation_width == 1 && p->filter_channels == p->input_channels;
    const int32_t taps = together ? 1 : x.end - x.first;
    const int32_t count = together ? (x.end - x.first) * p->filter_channels : p->filter_channels;
    for (int32_t ky = y.first; ky < y.end; ++ky) {
        const int32_t line = (origin_y + ky * p->dilation_height) * p->input_width;
        const int8_t *from = input + (line + origin_x + x.first * p->dilation_width) * p->input_channels;
        int8_t *to = bytes + ky * row + x.first * p->filter_channels;
        for (int32_t tap = 0; tap < taps; ++tap, from += p->dilation_width * p->input_channels, to += count) {
            if (count < 4) {
                for (int32_t i = 0; i < count; ++i) {
                    to[i] = from[i];
                }
                continue;
            }
            /* The last four overlap with those before. */
            for (int32_t i = 0; i < count - 4; i += 4) {
                tflmgen_store4(to + i, tflmgen_load4(from + i));
            }
            tflmgen_store4(to + count - 4, tflmgen_load4(from + count - 4));
        }
    }
}

/* Number of consecutive blocks that may be read in place: 0, or 1 to `most`. inside: pixels of the input, `stride` to a
 * window, at which the first block's first window and later ones may begin such that all three windows of the block lie
 * inside. bytes: from the first window to the last place where a block may begin whose words all lie in the input,
 * pixel: from window to window. */
TFLMGEN_HELPER int32_t tflmgen_conv2d_dot_dsp_whole(int32_t inside, int32_t stride, int32_t most, int32_t bytes,
                                                    int32_t pixel)
{
    if (inside <= 0 || bytes < 0) {
        return 0;
    }
    const int32_t blocks = tflmgen_min_s32((inside - 1) / (TFLMGEN_CONV2D_DOT_DSP_PIXELS * stride),
                                           bytes / (TFLMGEN_CONV2D_DOT_DSP_PIXELS * pixel)) +
                           1;
    return tflmgen_min_s32(blocks, tflmgen_max_s32(most, 1));
}

/* bytes: scratch for the copies of three windows. */
TFLMGEN_SHARED void tflmgen_conv2d_dot_dsp_s8(const int8_t *input, const tflmgen_u32 *stream, void *bytes,
                                              int8_t *output, const struct tflmgen_conv2d_dot_dsp_s8 *p)
{
    const int32_t channels = p->input_channels;
    const int32_t pixel = p->stride_width * channels;
    const int32_t line = p->dilation_height * p->input_width * channels;
    const int32_t tap = p->dilation_width * channels;
    const int32_t image = p->input_height * p->input_width * channels;
    const int32_t segment = 4 * p->words;
    const int32_t copied = p->filter_height * p->columns * segment;
    const int32_t group_words = p->output_channels / p->groups * (copied / 4 + 4);
    const bool by_rows = p->columns == 1;
    struct tflmgen_conv2d_dot_dsp_blocks in_place = {segment,
                                                     by_rows ? p->filter_height : p->columns,
                                                     (by_rows ? line : tap) - segment,
                                                     by_rows ? 1 : p->filter_height,
                                                     line - p->columns * tap,
                                                     p->output_channels,
                                                     3,
                                                     pixel,
                                                     1};
    struct tflmgen_conv2d_dot_dsp_blocks copies = {
        segment, p->filter_height * p->columns, 0, 1, 0, p->output_channels, 3, copied, 1};
    /* Where three windows inside the input begin, and where the first of them may begin if all its words are the
     * input's. */
    const int32_t y_end = p->direct ? p->input_height - (p->filter_height - 1) * p->dilation_height : 0;
    const int32_t x_end = p->input_width - (p->filter_width - 1) * p->dilation_width - 2 * p->stride_width;
    const int8_t *const last = input + p->batches * image - (p->filter_height - 1) * line - (p->columns - 1) * tap -
                               segment - (p->groups - 1) * p->filter_channels - 2 * pixel;
    const int32_t size = p->batches * p->output_height * p->output_width * p->output_channels;
    for (int32_t batch = 0; batch < p->batches; ++batch, input += image) {
        for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {
            const int32_t y = out_y * p->stride_height - p->padding_top;
            for (int32_t out_x = 0; out_x < p->output_width;) {
                const int32_t x = out_x * p->stride_width - p->padding_left;
                const int8_t *from = input + (y * p->input_width + x) * channels;
                const int32_t left = p->output_width - out_x;
                const int32_t most = p->groups == 1 ? left / TFLMGEN_CONV2D_DOT_DSP_PIXELS : 1;
                const int32_t whole =
                    y >= 0 && y < y_end && x >= 0
                        ? tflmgen_conv2d_dot_dsp_whole(x_end - x, p->stride_width, most, (int32_t)(last - from), pixel)
                        : 0;
                in_place.lanes = copies.lanes = tflmgen_min_s32(TFLMGEN_CONV2D_DOT_DSP_PIXELS, left);
                in_place.blocks = whole;
                for (int32_t group = 0; group < p->groups; ++group) {
                    const int32_t own = group * p->filter_channels;
                    int8_t *const to = output + group * (p->output_channels / p->groups);
                    if (whole) {
                        tflmgen_conv2d_dot_dsp_run(to, from + own, &in_place, stream + group * group_words);
                        continue;
                    }
                    int8_t *const windows = (int8_t *)bytes;
                    for (int32_t lane = 0; lane < copies.lanes; ++lane) {
                        tflmgen_conv2d_dot_dsp_copy(windows + lane * copied, input + own, y, x + lane * p->stride_width,
                                                    p);
                    }
                    tflmgen_conv2d_dot_dsp_run(to, windows, &copies, stream + group * group_words);
                }
                const int32_t done = whole > 1 ? TFLMGEN_CONV2D_DOT_DSP_PIXELS * whole : copies.lanes;
                out_x += done;
                output += done * p->output_channels;
            }
        }
    }
    tflmgen_clamp_dsp_s8(output - size, size, p->output_min, p->output_max);
}

#endif

#endif
