/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D of int16 activations by int8 weights for cores with MVE, as conv2d_s16.h has it, for layers whose sums
 * provably fit 32 bits.
 *
 * One window times eight output channels at a time. A chunk is eight values of a window, a vector register; the window
 * is first copied to a row, filled up to whole chunks. The stream has a record for each group of eight channels;
 * weights and channels that fill up a record are zeros:
 *
 *     8 biases | (8 weights of each channel) * chunks | multipliers of channels 0, 2, 4, 6 | of 1, 3, 5, 7
 *
 * Requantisation is one VRMULH: the multiplier, of 15 bits, was shifted left at build time by 32 less the right shift.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_S16_MVE_H
#define TFLMGEN_KERNELS_CONV2D_S16_MVE_H

#include <string.h>

#include "mve.h"
#include "window.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

#define TFLMGEN_CONV2D_S16_MVE_CHANNELS 8 /* of a group */

/* The most bytes of a row on the stack. */
#define TFLMGEN_CONV2D_S16_MVE_STACK_BYTES 512

struct tflmgen_conv2d_s16_mve {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t chunks; /* of eight values in a window */
    bool backward;  /* the pixels from the last to the first */
    int32_t output_min;
    int32_t output_max;
};

/* All groups of channels of one row, in the order in which the assembly reads it. */
struct tflmgen_conv2d_s16_mve_groups {
    int32_t passes; /* of the loop over all chunks, unrolled 4 times */
    int32_t skip;   /* bytes of code that the first pass leaves out */
    int32_t channels;
    int32_t least;
    int32_t greatest;
};

#define TFLMGEN_CONV2D_S16_MVE_CHUNK_BYTES 68

/* Eight values times eight channels, 64 MACs: VLDRH + 8 VLDRB + 8 VMLADAVA. The accumulators are the even registers. */
/* clang-format off */
#define TFLMGEN_CONV2D_S16_MVE_CHUNK  \
    "vldrh.16 q0, [r9], #16\n\t"      \
    "vldrb.s16 q1, [r1], #8\n\t"      \
    "vmladava.s16 r0, q0, q1\n\t"     \
    "vldrb.s16 q2, [r1], #8\n\t"      \
    "vmladava.s16 r2, q0, q2\n\t"     \
    "vldrb.s16 q1, [r1], #8\n\t"      \
    "vmladava.s16 r4, q0, q1\n\t"     \
    "vldrb.s16 q2, [r1], #8\n\t"      \
    "vmladava.s16 r6, q0, q2\n\t"     \
    "vldrb.s16 q1, [r1], #8\n\t"      \
    "vmladava.s16 r8, q0, q1\n\t"     \
    "vldrb.s16 q2, [r1], #8\n\t"      \
    "vmladava.s16 r10, q0, q2\n\t"    \
    "vldrb.s16 q1, [r1], #8\n\t"      \
    "vmladava.s16 r12, q0, q1\n\t"    \
    "vldrb.s16 q2, [r1], #8\n\t"      \
    "vmladava.s16 lr, q0, q2\n\t"
/* clang-format on */

/* Registers: r1 stream, r3 passes left, r5 entry of the first pass, r7 output, r9 row, r11 channels left; q4 and q5
 * limits. Stack: row, passes. A group costs 4 instructions before its first chunk, 2 for every four of them, and 18
 * after the last one. */
TFLMGEN_SHARED void tflmgen_conv2d_s16_mve_groups(const tflmgen_s16 *row, const tflmgen_u32 *stream,
                                                  tflmgen_s16 *output,
                                                  const struct tflmgen_conv2d_s16_mve_groups *groups)
{
    TFLMGEN_IN_REGISTERS_4(row, stream, output, groups);
    /* clang-format off */
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "mov r7, r2\n\t"
                     "ldmia.w r3, {r4, r5, r6, r8, r10}\n\t"
                     "push {r0, r4}\n\t"
                     "vdup.16 q4, r8\n\t"
                     "vdup.16 q5, r10\n\t"
                     "mov r11, r6\n\t"
                     "adr r6, 2f\n\t"
                     "add r5, r5, r6\n\t"
                     "orr r5, r5, #1\n"
                     "1:\n\t"
                     "ldrd r9, r3, [sp]\n\t"
                     "ldmia.w r1!, {r0, r2, r4, r6, r8, r10, r12, lr}\n\t"
                     "mov pc, r5\n\t"
                     ".p2align 2\n"
                     "2:\n\t"
                     ".rept 4\n\t" TFLMGEN_CONV2D_S16_MVE_CHUNK ".endr\n\t"
                     "subs.w r3, r3, #1\n\t"
                     "bne.w 2b\n\t"
                     "vmov d0, r0, r4\n\t"
                     "vmov d1, r8, r12\n\t"
                     "vmov d2, r2, r6\n\t"
                     "vmov d3, r10, lr\n\t"
                     "vldrw.u32 q2, [r1], #16\n\t"
                     "vrmulh.s32 q0, q0, q2\n\t"
                     "vldrw.u32 q3, [r1], #16\n\t"
                     "vrmulh.s32 q1, q1, q3\n\t"
                     "vqmovnb.s32 q0, q0\n\t"
                     "vqmovnt.s32 q0, q1\n\t"
                     "vmax.s16 q0, q0, q4\n\t"
                     "vmin.s16 q0, q0, q5\n\t"
                     "vctp.16 r11\n\t"
                     "vpst\n\t"
                     "vstrht.16 q0, [r7], #16\n\t"
                     "subs r11, r11, #8\n\t"
                     "bgt.w 1b\n\t"
                     "add sp, sp, #8\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "r12", "q0", "q1", "q2", "q3", "q4", "q5", "cc", "memory");
    /* clang-format on */
}

/* All channels, for rows of `chunks` chunks. */
TFLMGEN_HELPER struct tflmgen_conv2d_s16_mve_groups tflmgen_conv2d_s16_mve_groups_of(int32_t chunks, int32_t channels,
                                                                                     int32_t least, int32_t greatest)
{
    const int32_t passes = (chunks + 3) / 4;
    const int32_t skip = (4 * passes - chunks) * TFLMGEN_CONV2D_S16_MVE_CHUNK_BYTES;
    const struct tflmgen_conv2d_s16_mve_groups groups = {passes, skip, channels, least, greatest};
    return groups;
}

TFLMGEN_HELPER void tflmgen_conv2d_s16_mve_copy(tflmgen_s16 *to, const tflmgen_s16 *from, int32_t count)
{
    tflmgen_copy_mve((int8_t *)(void *)to, (const int8_t *)(const void *)from, 2 * count);
}

/* The window of output pixel `pixel` (of all batches) becomes a row. */
TFLMGEN_SHARED void tflmgen_conv2d_s16_mve_gather(tflmgen_s16 *row, const tflmgen_s16 *input, int32_t pixel,
                                                  const struct tflmgen_conv2d_s16_mve *p)
{
    const int32_t line = pixel / p->output_width;
    const int32_t channels = p->input_channels;
    const int32_t origin_y = line % p->output_height * p->stride_height - p->padding_top;
    const int32_t origin_x = pixel % p->output_width * p->stride_width - p->padding_left;
    const struct tflmgen_taps y = tflmgen_taps_inside(origin_y, p->dilation_height, p->filter_height, p->input_height);
    const struct tflmgen_taps x = tflmgen_taps_inside(origin_x, p->dilation_width, p->filter_width, p->input_width);
    if ((y.end - y.first) * (x.end - x.first) < p->filter_height * p->filter_width) {
        tflmgen_fill_mve((int8_t *)(void *)row, 0, 2 * p->filter_height * p->filter_width * channels);
    }
    const int32_t top = line / p->output_height * p->input_height + origin_y;
    for (int32_t ky = y.first; ky < y.end; ++ky) {
        const tflmgen_s16 *const from =
            input + ((top + ky * p->dilation_height) * p->input_width + origin_x) * channels;
        tflmgen_s16 *const to = row + ky * p->filter_width * channels;
        if (p->dilation_width == 1) {
            tflmgen_conv2d_s16_mve_copy(to + x.first * channels, from + x.first * channels,
                                        (x.end - x.first) * channels);
        } else {
            for (int32_t kx = x.first; kx < x.end; ++kx) {
                tflmgen_conv2d_s16_mve_copy(to + kx * channels, from + kx * p->dilation_width * channels, channels);
            }
        }
    }
}

TFLMGEN_SHARED void tflmgen_conv2d_s16_mve_run(const tflmgen_s16 *input, const tflmgen_u32 *stream, tflmgen_s16 *row,
                                               tflmgen_s16 *output, const struct tflmgen_conv2d_s16_mve *p)
{
    const int32_t pixels = p->batches * p->output_height * p->output_width;
    const bool is_line =
        p->filter_height == 1 && p->filter_width == 1 && p->input_width == pixels && p->output_width == pixels;
    const struct tflmgen_conv2d_s16_mve_groups groups =
        tflmgen_conv2d_s16_mve_groups_of(p->chunks, p->output_channels, p->output_min, p->output_max);
    /* What fills up the last eight values is multiplied by zeros. */
    vst1q_s16(row + 8 * (p->chunks - 1), vdupq_n_s16(0));
    for (int32_t i = 0; i < pixels; ++i) {
        const int32_t pixel = p->backward ? pixels - 1 - i : i;
        if (is_line) {
            tflmgen_conv2d_s16_mve_copy(row, input + pixel * p->input_channels, p->input_channels);
        } else {
            tflmgen_conv2d_s16_mve_gather(row, input, pixel, p);
        }
        tflmgen_conv2d_s16_mve_groups(row, stream, output + pixel * p->output_channels, &groups);
    }
}

TFLMGEN_SHARED void tflmgen_conv2d_s16_mve_on_stack(const tflmgen_s16 *input, const tflmgen_u32 *stream,
                                                    tflmgen_s16 *output, const struct tflmgen_conv2d_s16_mve *p)
{
    int16_t row[TFLMGEN_CONV2D_S16_MVE_STACK_BYTES / 2];
    tflmgen_conv2d_s16_mve_run(input, stream, row, output, p);
}

/* row: scratch, or NULL where TFLMGEN_CONV2D_S16_MVE_STACK_BYTES are enough. */
TFLMGEN_SHARED void tflmgen_conv2d_s16_mve(const tflmgen_s16 *input, const tflmgen_u32 *stream, void *row,
                                           tflmgen_s16 *output, const struct tflmgen_conv2d_s16_mve *p)
{
    if (row) {
        tflmgen_conv2d_s16_mve_run(input, stream, row, output, p);
    } else {
        tflmgen_conv2d_s16_mve_on_stack(input, stream, output, p);
    }
}

#endif

#endif
