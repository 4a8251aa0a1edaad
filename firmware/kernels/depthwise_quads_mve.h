/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DEPTHWISE_CONV_2D in int8 with windows of many taps, also with several filters per channel, for cores with MVE: four
 * outputs of a line at a time.
 *
 * A tile is 16 channels of the input columns that four windows reach. Its rows are interleaved in quads, four rows at a
 * time (depthwise_patch_mve.h): a word is the four rows of one column and channel.
 *     quad | column | 16 channels | 4 rows                                 bytes, from the outermost dimension on
 * A gathering load takes four words of a window, 16 values, at offsets that all channels share, and VMLADAV multiplies
 * them by 16 weights in the same order. The stream is 16 bytes of padding, for rows outside of the input to point to,
 * and a record for each output channel:
 *     16 weights * loads | bias, multiplier, -r, bytes to the next words: 4, or 0 for the same input channel
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_QUADS_MVE_H
#define TFLMGEN_KERNELS_DEPTHWISE_QUADS_MVE_H

#include "depthwise_patch_mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

#define TFLMGEN_DEPTHWISE_QUADS_MVE_PIXELS 4      /* of a line, at a time */
#define TFLMGEN_DEPTHWISE_QUADS_MVE_LOADS 8       /* of a window, at most */
#define TFLMGEN_DEPTHWISE_QUADS_MVE_LOAD_BYTES 40 /* of code */
#define TFLMGEN_DEPTHWISE_QUADS_MVE_QUADS 4       /* of rows, at most */

struct tflmgen_depthwise_quads_mve_s8 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t padding_value;
    int32_t loads; /* vectors of 16 values in a window */
    int32_t output_zero_point;
    int32_t output_min;
    int32_t output_max;
};

/* What a block of channels needs to know, in the order in which the assembly reads it. */
struct tflmgen_depthwise_quads_mve_block {
    uint32_t windows[4]; /* where each begins */
    const tflmgen_u32 *offsets;
    int32_t skip; /* bytes of code for the loads that a window does not need */
    int32_t channels;
    int32_t zero_point;
    uint32_t outputs[4]; /* bytes to each */
};

typedef void tflmgen_depthwise_quads_mve_function(const int8_t *stream, int8_t *output,
                                                  const struct tflmgen_depthwise_quads_mve_block *block);

/* 16 values of four windows, 64 products: 6 loads, four of them gathering, and 4 VMLADAV. */
/* clang-format off */
#define TFLMGEN_DEPTHWISE_QUADS_MVE_LOAD(MAC) \
    "vldrw.u32 q1, [r10], #16\n\t"            \
    "vldrb.8 q2, [r9], #16\n\t"               \
    "vldrw.u32 q0, [r1, q1]\n\t"              \
    MAC " r0, q0, q2\n\t"                     \
    "vldrw.u32 q3, [r3, q1]\n\t"              \
    MAC " r2, q3, q2\n\t"                     \
    "vldrw.u32 q0, [r5, q1]\n\t"              \
    MAC " r4, q0, q2\n\t"                     \
    "vldrw.u32 q3, [r7, q1]\n\t"              \
    MAC " r6, q3, q2\n\t"

/* Registers: r1, r3, r5, r7 windows, r8 offsets, r9 stream, r11 output, r12 entry behind the first load, lr channels
 * left; q4 zero point, q5 where the outputs go. A channel costs 20 instructions (22 where signed) beside its loads. */
#define TFLMGEN_DEPTHWISE_QUADS_MVE(name, FIX)                                                                         \
    TFLMGEN_SHARED void name(const int8_t *stream, int8_t *output,                                                     \
                             const struct tflmgen_depthwise_quads_mve_block *block)                                    \
    {                                                                                                                  \
        TFLMGEN_IN_REGISTERS_3(stream, output, block);                                                                 \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                                                       \
                         "mov r9, r0\n\t"                                                                              \
                         "mov r11, r1\n\t"                                                                             \
                         "ldmia r2!, {r1, r3, r5, r7, r8, r12}\n\t"                                                    \
                         "ldmia r2!, {r0, r4}\n\t"                                                                     \
                         "dls lr, r0\n\t"                                                                              \
                         "vdup.16 q4, r4\n\t"                                                                          \
                         "vldrw.u32 q5, [r2]\n\t"                                                                      \
                         "adr r0, 2f\n\t"                                                                              \
                         "add r12, r12, r0\n\t"                                                                        \
                         "orr r12, r12, #1\n"                                                                          \
                         "1:\n\t"                                                                                      \
                         "mov r10, r8\n\t" TFLMGEN_DEPTHWISE_QUADS_MVE_LOAD("vmladav.s8")                              \
                         "mov pc, r12\n\t"                                                                             \
                         ".p2align 2\n"                                                                                \
                         "2:\n\t"                                                                                      \
                         ".rept 7\n\t" TFLMGEN_DEPTHWISE_QUADS_MVE_LOAD("vmladava.s8") ".endr\n\t"                     \
                         "vmov d0, r0, r2\n\t"                                                                         \
                         "vmov d1, r4, r6\n\t"                                                                         \
                         "ldmia r9!, {r0, r2, r4, r6}\n\t"                                                             \
                         "vadd.i32 q0, q0, r0\n\t"                                                                     \
                         "add r1, r1, r6\n\t"                                                                          \
                         "vqrdmulh.s32 q0, q0, r2\n\t" FIX("q0", "q1")                                                 \
                         "add r3, r3, r6\n\t"                                                                          \
                         "vrshl.s32 q0, r4\n\t"                                                                        \
                         "add r5, r5, r6\n\t"                                                                          \
                         "vqmovnb.s32 q0, q0\n\t"                                                                      \
                         "add r7, r7, r6\n\t"                                                                          \
                         "vqadd.s16 q0, q0, q4\n\t"                                                                    \
                         "vqmovnb.s16 q0, q0\n\t"                                                                      \
                         "vstrb.32 q0, [r11, q5]\n\t"                                                                  \
                         "add r11, r11, #1\n\t"                                                                        \
                         "le lr, 1b\n\t"                                                                               \
                         "pop {r4-r11, lr}"                                                                            \
                         : "+r"(r0), "+r"(r1), "+r"(r2)                                                                \
                         :                                                                                             \
                         : "r3", "r12", "q0", "q1", "q2", "q3", "q4", "q5", "cc", "memory");                           \
    }
/* clang-format on */

TFLMGEN_DEPTHWISE_QUADS_MVE(tflmgen_depthwise_quads_mve_clamped, TFLMGEN_DEPTHWISE_PATCH_MVE_CLAMPED)
TFLMGEN_DEPTHWISE_QUADS_MVE(tflmgen_depthwise_quads_mve_signed, TFLMGEN_DEPTHWISE_PATCH_MVE_SIGNED)

/* Where the rows of an output row's windows are, in groups of four: rows beyond the input are padding. */
TFLMGEN_HELPER void tflmgen_depthwise_quads_mve_rows(struct tflmgen_depthwise_patch_mve_rows *rows, int32_t quads,
                                                     int32_t in_y, const int8_t *image, const int8_t *padding,
                                                     const struct tflmgen_depthwise_quads_mve_s8 *p)
{
    for (int32_t tap = 0; tap < 4 * quads; ++tap) {
        const int32_t row = in_y + tap * p->dilation_height;
        const bool is_inside = row >= 0 && row < p->input_height && tap < p->filter_height;
        const int8_t *const at = is_inside ? image + row * p->input_width * p->input_channels : padding;
        rows[tap / 4].at[tap % 4] = (uint32_t)(uintptr_t)at;
        rows[tap / 4].step[tap % 4] = is_inside ? (uint32_t)p->input_channels : 0;
    }
}

/* 16 channels of `columns` columns, of which those from `first` to `end` are in the input, the first of them at `x`. */
TFLMGEN_HELPER void tflmgen_depthwise_quads_mve_fill(int8_t *to, const struct tflmgen_depthwise_patch_mve_rows *line,
                                                     int32_t x, int32_t channel, int32_t channels, int32_t first,
                                                     int32_t end, int32_t columns, int32_t padding)
{
    struct tflmgen_depthwise_patch_mve_rows rows;
    const uint32x4_t step = vld1q_u32(line->step);
    const uint32x4_t at = vmlaq_n_u32(vld1q_u32(line->at), step, (uint32_t)x);
    vst1q_u32(rows.at, vaddq_u32(at, vminq_u32(step, vdupq_n_u32((uint32_t)channel))));
    vst1q_u32(rows.step, step);
    if (first > 0) {
        tflmgen_depthwise_patch_mve_pad(to, first, padding);
        to += first * TFLMGEN_DEPTHWISE_PATCH_MVE_COLUMN;
    }
    to = tflmgen_depthwise_patch_mve_interleave(to, end - first, channels, &rows);
    if (columns > end) {
        tflmgen_depthwise_patch_mve_pad(to, columns - end, padding);
    }
}

/* tile: `quads` times `columns` times 16 words. */
TFLMGEN_SHARED void tflmgen_depthwise_quads_mve_run(const int8_t *input, const int8_t *stream, int8_t *tile,
                                                    int8_t *output, const struct tflmgen_depthwise_quads_mve_s8 *p,
                                                    tflmgen_depthwise_quads_mve_function *function)
{
    uint32_t offsets[4 * TFLMGEN_DEPTHWISE_QUADS_MVE_LOADS];
    struct tflmgen_depthwise_patch_mve_rows rows[TFLMGEN_DEPTHWISE_QUADS_MVE_QUADS];
    struct tflmgen_depthwise_quads_mve_block block;
    const int32_t reach = (p->filter_width - 1) * p->dilation_width + 1;
    const int32_t plane =
        ((TFLMGEN_DEPTHWISE_QUADS_MVE_PIXELS - 1) * p->stride_width + reach) * TFLMGEN_DEPTHWISE_PATCH_MVE_COLUMN;
    const int32_t quads = (p->filter_height + 3) / 4;
    const int32_t filters = p->output_channels / p->input_channels;
    for (int32_t word = 0, quad = 0, column = 0; word < 4 * p->loads; ++word) {
        offsets[word] = (uint32_t)(quad * plane + column * p->dilation_width * TFLMGEN_DEPTHWISE_PATCH_MVE_COLUMN);
        if (++column == p->filter_width) {
            column = 0;
            /* Words behind the last one have no weights. */
            quad = tflmgen_min_s32(quad + 1, quads - 1);
        }
    }
    block.offsets = offsets;
    block.skip = (TFLMGEN_DEPTHWISE_QUADS_MVE_LOADS - p->loads) * TFLMGEN_DEPTHWISE_QUADS_MVE_LOAD_BYTES;
    block.zero_point = p->output_zero_point;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t y = 0; y < p->output_height; ++y) {
            tflmgen_depthwise_quads_mve_rows(rows, quads, y * p->stride_height - p->padding_top, input, stream - 16, p);
            for (int32_t x = 0; x < p->output_width; x += TFLMGEN_DEPTHWISE_QUADS_MVE_PIXELS) {
                const int32_t last = tflmgen_min_s32(p->output_width - x, TFLMGEN_DEPTHWISE_QUADS_MVE_PIXELS) - 1;
                const int32_t in_x = x * p->stride_width - p->padding_left;
                const int32_t columns = last * p->stride_width + reach;
                const int32_t first = tflmgen_clamp_s32(-in_x, 0, columns);
                const int32_t end = tflmgen_clamp_s32(p->input_width - in_x, first, columns);
                const int8_t *weights = stream;
                for (int32_t k = 0; k < TFLMGEN_DEPTHWISE_QUADS_MVE_PIXELS; ++k) {
                    const int32_t pixel = tflmgen_min_s32(k, last);
                    block.windows[k] = (uint32_t)(uintptr_t)tile +
                                       (uint32_t)(pixel * p->stride_width * TFLMGEN_DEPTHWISE_PATCH_MVE_COLUMN);
                    block.outputs[k] = (uint32_t)(pixel * p->output_channels);
                }
                for (int32_t channel = 0; channel < p->input_channels; channel += 16) {
                    const int32_t channels = tflmgen_min_s32(p->input_channels - channel, 16);
                    for (int32_t quad = 0; quad < quads; ++quad) {
                        tflmgen_depthwise_quads_mve_fill(tile + quad * plane, &rows[quad], in_x + first, channel,
                                                         channels, first, end, columns, p->padding_value);
                    }
                    block.channels = channels * filters;
                    function(weights, output + channel * filters, &block);
                    weights += block.channels * (16 * p->loads + 16);
                }
                output += (last + 1) * p->output_channels;
            }
        }
        input += p->input_height * p->input_width * p->input_channels;
    }
    const int32_t outputs = p->batches * p->output_height * p->output_width * p->output_channels;
    tflmgen_clamp_dsp_s8(output - outputs, outputs, p->output_min, p->output_max);
}

/* Outputs clamped at the zero point, or not. */
TFLMGEN_SHARED void tflmgen_depthwise_quads_mve_relu_s8(const int8_t *input, const tflmgen_u32 *stream, void *tile,
                                                        int8_t *output, const struct tflmgen_depthwise_quads_mve_s8 *p)
{
    tflmgen_depthwise_quads_mve_run(input, (const int8_t *)stream + 16, tile, output, p,
                                    tflmgen_depthwise_quads_mve_clamped);
}

TFLMGEN_SHARED void tflmgen_depthwise_quads_mve_s8(const int8_t *input, const tflmgen_u32 *stream, void *tile,
                                                   int8_t *output, const struct tflmgen_depthwise_quads_mve_s8 *p)
{
    tflmgen_depthwise_quads_mve_run(input, (const int8_t *)stream + 16, tile, output, p,
                                    tflmgen_depthwise_quads_mve_signed);
}

#endif

#endif
