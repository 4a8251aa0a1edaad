/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DEPTHWISE_CONV_2D in int8 by patches, one filter per channel, for cores with MVE: windows of up to three rows and
 * columns.
 *
 * A tile is four input rows of up to ten columns and 16 channels, interleaved on the stack:
 *     column | 16 channels | 4 rows                                        bytes, from the outermost dimension on
 * so that a word is the four rows of one column and channel. A gathering load of four words is a patch of four columns
 * and four rows of one channel; VMLADAV with a window's weights in the same order is one sum. Outputs are made in
 * squares of 2x2 from one patch, by weights shifted by a row or a column, or in lines of four from a patch each.
 * The stream is 16 bytes of padding, for rows outside of the input to point to, and a record for each channel:
 *     column 0: w00 w10 w20 0 | column 1: w01 w11 w21 0 | column 2: w02 w12 w22 -r | bias | multiplier
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_PATCH_MVE_H
#define TFLMGEN_KERNELS_DEPTHWISE_PATCH_MVE_H

#include "mve.h"
#include "window.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

#define TFLMGEN_DEPTHWISE_PATCH_MVE_COLUMNS 10
#define TFLMGEN_DEPTHWISE_PATCH_MVE_COLUMN 64  /* bytes */
#define TFLMGEN_DEPTHWISE_PATCH_MVE_CHANNEL 20 /* bytes of the stream */

struct tflmgen_depthwise_patch_mve_s8 {
    TFLMGEN_DILATED_CHANNEL_WINDOW_FIELDS
    int32_t padding_value;
    bool squares;   /* outputs are made in squares, not in lines */
    int32_t pixels; /* the most of an output row that are computed from one tile */
    int32_t output_zero_point;
    int32_t output_min;
    int32_t output_max;
};

/* Flags of a block: N, Z, C of the APSR. */
#define TFLMGEN_DEPTHWISE_PATCH_MVE_ONCE (1u << 31)
#define TFLMGEN_DEPTHWISE_PATCH_MVE_ONE_LINE (1u << 30)
#define TFLMGEN_DEPTHWISE_PATCH_MVE_ONE_SQUARE (1u << 29)

/* What a block of channels needs to know, in the order in which the assembly reads it. */
struct tflmgen_depthwise_patch_mve_block {
    int32_t zero_point;
    int32_t channels;
    uint32_t flags;        /* ONCE: there are no second outputs, or with ONE_SQUARE only four of them; ONE_LINE: the
                            * lower outputs are the upper ones again */
    int32_t second;        /* bytes from the first outputs' patches to the second ones' */
    int32_t second_output; /* bytes from the first outputs to the second ones */
    uint32_t columns[4];   /* the columns of the first patch, less 4 */
    uint32_t outputs[4];   /* bytes to the outputs, in 32 or 2 times 16 bits, in the order in which they are narrowed */
};

typedef void tflmgen_depthwise_patch_mve_function(const int8_t *stream, int8_t *output,
                                                  const struct tflmgen_depthwise_patch_mve_block *block);

/* The addresses of four rows that are interleaved, and how far each moves on from column to column: 0 for padding. */
struct tflmgen_depthwise_patch_mve_rows {
    uint32_t at[4];
    uint32_t step[4];
};

/* Of `columns` columns up to 16 channels: VPST, 4 VLDRB, 4 ADD, 4 VST4, LE. Returns where the next column goes. */
TFLMGEN_SHARED int8_t *tflmgen_depthwise_patch_mve_interleave(int8_t *to, int32_t columns, int32_t channels,
                                                              const struct tflmgen_depthwise_patch_mve_rows *rows)
{
    TFLMGEN_IN_REGISTERS_4(to, columns, channels, rows);
    __asm__ volatile("push {r4-r10, lr}\n\t"
                     "vctp.8 r2\n\t"
                     "wls lr, r1, 2f\n\t"
                     "ldmia r3, {r3-r10}\n"
                     "1:\n\t"
                     "vpstttt\n\t"
                     "vldrbt.u8 q0, [r3]\n\t"
                     "vldrbt.u8 q1, [r4]\n\t"
                     "vldrbt.u8 q2, [r5]\n\t"
                     "vldrbt.u8 q3, [r6]\n\t"
                     "add r3, r3, r7\n\t"
                     "add r4, r4, r8\n\t"
                     "add r5, r5, r9\n\t"
                     "add r6, r6, r10\n\t"
                     "vst40.8 {q0, q1, q2, q3}, [r0]\n\t"
                     "vst41.8 {q0, q1, q2, q3}, [r0]\n\t"
                     "vst42.8 {q0, q1, q2, q3}, [r0]\n\t"
                     "vst43.8 {q0, q1, q2, q3}, [r0]!\n\t"
                     "le lr, 1b\n"
                     "2:\n\t"
                     "pop {r4-r10, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "q0", "q1", "q2", "q3", "cc", "memory");
    return r0;
}

/* Sums below zero lose one unit, by way of a free register. */
#define TFLMGEN_DEPTHWISE_PATCH_MVE_CLAMPED(sums, free) ""
#define TFLMGEN_DEPTHWISE_PATCH_MVE_SIGNED(sums, free) \
    "vshr.s32 " free ", " sums ", #31\n\t"             \
    "vadd.i32 " sums ", " sums ", " free "\n\t"

/* Bias, multiplier and shift are r1, r3 and r5. */
/* clang-format off */
#define TFLMGEN_DEPTHWISE_PATCH_MVE_REQUANTIZE(sums, free, FIX) \
    "vadd.i32 " sums ", " sums ", r1\n\t"                    \
    "vqrdmulh.s32 " sums ", " sums ", r3\n\t"                \
    FIX(sums, free)                                          \
    "vrshl.s32 " sums ", r5\n\t"
/* clang-format on */

/* Registers of both: r7 zero point, r8 stream, r9 first outputs, r12 second outputs, r11 between the patches, lr
 * channels left; q2 where the outputs go, q3 the patch's columns, P0 a window's weights. */
#define TFLMGEN_DEPTHWISE_PATCH_MVE_ENTER \
    "push {r2, r4-r11, lr}\n\t"           \
    "mov r8, r0\n\t"                      \
    "mov r9, r1\n\t"                      \
    "ldmia r2!, {r7, r10, r11}\n\t"       \
    "msr APSR_nzcvq, r11\n\t"             \
    "ldmia r2!, {r11, r12}\n\t"           \
    "add r12, r12, r9\n\t"                \
    "vldrw.u32 q3, [r2], #16\n\t"         \
    "vldrw.u32 q2, [r2]\n\t"              \
    "movw r0, #0x7FF\n\t"                 \
    "vmsr p0, r0\n\t"                     \
    "dls lr, r10\n\t"                     \
    "mov.w r10, #0\n"                     \
    "1:\n\t"                              \
    "vpst\n\t"                            \
    "vldrbt.8 q4, [r8], #12\n\t"          \
    "ldrsb r5, [r8, #-1]\n\t"             \
    "ldrd r1, r3, [r8], #8\n\t"

#define TFLMGEN_DEPTHWISE_PATCH_MVE_NEXT \
    "add r9, r9, #1\n\t"                 \
    "add r12, r12, #1\n\t"               \
    "le lr, 1b\n\t"

#define TFLMGEN_DEPTHWISE_PATCH_MVE_LEAVE "3:\n\t" TFLMGEN_DEPTHWISE_PATCH_MVE_NEXT

#define TFLMGEN_DEPTHWISE_PATCH_MVE_RETURN "pop {r2, r4-r11, lr}"

/* Four outputs in a square, of a patch. */
#define TFLMGEN_DEPTHWISE_SQUARES_MVE_SUMS(q, patch, low, high) \
    "vldrw.u32 " q ", " patch "\n\t"                            \
    "vmladav.s8 r0, " q ", q4\n\t"                              \
    "vmladav.s8 r2, " q ", q6\n\t"                              \
    "vmladav.s8 r4, " q ", q5\n\t"                              \
    "vmladav.s8 r6, " q ", q7\n\t"                              \
    "vmov " low ", r0, r2\n\t"                                  \
    "vmov " high ", r4, r6\n\t"

/* Two squares side by side, 72 MACs: 2 gathering VLDRW, 8 VMLADAV, 4 VMOV, 2 VADD, 2 VQRDMULH, 2 VRSHL, 5 to narrow and
 * store. Where signed, 5 more: the places of the outputs make room. */
/* clang-format off */
#define TFLMGEN_DEPTHWISE_SQUARES_MVE_TWO(patch, output, FIX, RELOAD)       \
    TFLMGEN_DEPTHWISE_SQUARES_MVE_SUMS("q0", patch, "d0", "d1")             \
    TFLMGEN_DEPTHWISE_SQUARES_MVE_SUMS("q1", "[q3, #128]", "d2", "d3")      \
    TFLMGEN_DEPTHWISE_PATCH_MVE_REQUANTIZE("q0", "q2", FIX)                    \
    TFLMGEN_DEPTHWISE_PATCH_MVE_REQUANTIZE("q1", "q2", FIX)                    \
    "vqmovnb.s32 q0, q0\n\t"                                                \
    "vqmovnt.s32 q0, q1\n\t"                                                \
    "vqadd.s16 q0, q0, r7\n\t"                                              \
    "vqmovnb.s16 q0, q0\n\t" RELOAD                                         \
    "vstrb.16 q0, [" output ", q2]\n\t"

/* One square, 36 MACs: 15 instructions; where signed, 2 more. */
#define TFLMGEN_DEPTHWISE_SQUARES_MVE_ONE(FIX)                              \
    TFLMGEN_DEPTHWISE_SQUARES_MVE_SUMS("q0", "[q3]", "d0", "d1")            \
    TFLMGEN_DEPTHWISE_PATCH_MVE_REQUANTIZE("q0", "q1", FIX)                    \
    "vqmovnb.s32 q0, q0\n\t"                                                \
    "vqadd.s16 q0, q0, r7\n\t"                                              \
    "vqmovnb.s16 q0, q0\n\t"                                                \
    "vmovlb.u16 q1, q2\n\t"                                                 \
    "vstrb.32 q0, [r12, q1]\n\t"

/* The same weights for the four outputs of a square: a row further down a byte later, a column further right a word
 * later. A channel takes 11 instructions before its first two squares, and 5 to 7 after them. */
#define TFLMGEN_DEPTHWISE_SQUARES_MVE(name, FIX, RELOAD)                                                               \
    TFLMGEN_SHARED void name(const int8_t *stream, int8_t *output,                                                     \
                             const struct tflmgen_depthwise_patch_mve_block *block)                                    \
    {                                                                                                                  \
        TFLMGEN_IN_REGISTERS_3(stream, output, block);                                                                 \
        __asm__ volatile(TFLMGEN_DEPTHWISE_PATCH_MVE_ENTER                                                             \
                         "vmov q5, q4\n\t"                                                                             \
                         "beq 2f\n\t"                                                                                  \
                         "vshlc q5, r10, #8\n"                                                                         \
                         "2:\n\t"                                                                                      \
                         "vmov q6, q4\n\t"                                                                             \
                         "vshlc q6, r10, #32\n\t"                                                                      \
                         "vmov q7, q5\n\t"                                                                             \
                         "vshlc q7, r10, #32\n\t"                                                                      \
                         TFLMGEN_DEPTHWISE_SQUARES_MVE_TWO("[q3, #4]!", "r9", FIX, RELOAD)                             \
                         "bmi 4f\n\t"                                                                                  \
                         "vadd.i32 q3, q3, r11\n\t"                                                                    \
                         TFLMGEN_DEPTHWISE_SQUARES_MVE_TWO("[q3]", "r12", FIX, RELOAD)                                 \
                         "vsub.i32 q3, q3, r11\n"                                                                      \
                         TFLMGEN_DEPTHWISE_PATCH_MVE_LEAVE                                                             \
                         "b 5f\n"                                                                                      \
                         "4:\n\t"                                                                                      \
                         "bcc 3b\n\t"                                                                                  \
                         "vadd.i32 q3, q3, r11\n\t"                                                                    \
                         TFLMGEN_DEPTHWISE_SQUARES_MVE_ONE(FIX)                                                        \
                         "vsub.i32 q3, q3, r11\n\t"                                                                    \
                         TFLMGEN_DEPTHWISE_PATCH_MVE_NEXT                                                              \
                         "5:\n\t"                                                                                      \
                         TFLMGEN_DEPTHWISE_PATCH_MVE_RETURN                                                            \
                         : "+r"(r0), "+r"(r1), "+r"(r2)                                                                \
                         :                                                                                             \
                         : "r3", "r12", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc", "memory"); \
    }

/* One output of a patch: four of them, 36 MACs of a 3x3 window: 4 gathering VLDRW, 4 VMLADAV, 2 VMOV, VADD, VQRDMULH,
 * VRSHL, 4 to narrow and store. `patch1` and so on: whole columns on from the first. */
#define TFLMGEN_DEPTHWISE_LINE_MVE_FOUR(patch, patch1, patch2, patch3, output, FIX) \
    "vldrw.u32 q0, " patch "\n\t"                                                   \
    "vmladav.s8 r0, q0, q4\n\t"                                                     \
    "vldrw.u32 q1, [q3, #" patch1 "]\n\t"                                           \
    "vmladav.s8 r2, q1, q4\n\t"                                                     \
    "vldrw.u32 q0, [q3, #" patch2 "]\n\t"                                           \
    "vmladav.s8 r4, q0, q4\n\t"                                                     \
    "vldrw.u32 q1, [q3, #" patch3 "]\n\t"                                           \
    "vmladav.s8 r6, q1, q4\n\t"                                                     \
    "vmov d0, r0, r2\n\t"                                                           \
    "vmov d1, r4, r6\n\t"                                                           \
    TFLMGEN_DEPTHWISE_PATCH_MVE_REQUANTIZE("q0", "q1", FIX)                            \
    "vqmovnb.s32 q0, q0\n\t"                                                        \
    "vqadd.s16 q0, q0, r7\n\t"                                                      \
    "vqmovnb.s16 q0, q0\n\t"                                                        \
    "vstrb.32 q0, [" output ", q2]\n\t"

#define TFLMGEN_DEPTHWISE_LINE_MVE(name, patch1, patch2, patch3, FIX)                                                  \
    TFLMGEN_SHARED void name(const int8_t *stream, int8_t *output,                                                     \
                             const struct tflmgen_depthwise_patch_mve_block *block)                                    \
    {                                                                                                                  \
        TFLMGEN_IN_REGISTERS_3(stream, output, block);                                                                 \
        __asm__ volatile(TFLMGEN_DEPTHWISE_PATCH_MVE_ENTER                                                             \
                         TFLMGEN_DEPTHWISE_LINE_MVE_FOUR("[q3, #4]!", patch1, patch2, patch3, "r9", FIX)               \
                         "bmi 3f\n\t"                                                                                  \
                         "vadd.i32 q3, q3, r11\n\t"                                                                    \
                         TFLMGEN_DEPTHWISE_LINE_MVE_FOUR("[q3]", patch1, patch2, patch3, "r12", FIX)                   \
                         "vsub.i32 q3, q3, r11\n"                                                                      \
                         TFLMGEN_DEPTHWISE_PATCH_MVE_LEAVE TFLMGEN_DEPTHWISE_PATCH_MVE_RETURN                          \
                         : "+r"(r0), "+r"(r1), "+r"(r2)                                                                \
                         :                                                                                             \
                         : "r3", "r12", "q0", "q1", "q2", "q3", "q4", "cc", "memory"); \
    }
/* clang-format on */

TFLMGEN_DEPTHWISE_SQUARES_MVE(tflmgen_depthwise_squares_mve_clamped, TFLMGEN_DEPTHWISE_PATCH_MVE_CLAMPED, "")
TFLMGEN_DEPTHWISE_SQUARES_MVE(tflmgen_depthwise_squares_mve_signed, TFLMGEN_DEPTHWISE_PATCH_MVE_SIGNED,
                              "ldr r0, [sp]\n\tvldrw.u32 q2, [r0, #36]\n\t")
TFLMGEN_DEPTHWISE_LINE_MVE(tflmgen_depthwise_line_mve_clamped, "64", "128", "192", TFLMGEN_DEPTHWISE_PATCH_MVE_CLAMPED)
TFLMGEN_DEPTHWISE_LINE_MVE(tflmgen_depthwise_line_mve_signed, "64", "128", "192", TFLMGEN_DEPTHWISE_PATCH_MVE_SIGNED)
TFLMGEN_DEPTHWISE_LINE_MVE(tflmgen_depthwise_half_line_mve_clamped, "128", "256", "384",
                           TFLMGEN_DEPTHWISE_PATCH_MVE_CLAMPED)
TFLMGEN_DEPTHWISE_LINE_MVE(tflmgen_depthwise_half_line_mve_signed, "128", "256", "384",
                           TFLMGEN_DEPTHWISE_PATCH_MVE_SIGNED)

/* The words of `columns` columns become padding. */
TFLMGEN_HELPER void tflmgen_depthwise_patch_mve_pad(int8_t *to, int32_t columns, int32_t value)
{
    for (; columns > 0; --columns, to += TFLMGEN_DEPTHWISE_PATCH_MVE_COLUMN) {
        vstrbq_s8(to, vdupq_n_s8((int8_t)value));
        vstrbq_s8(to + 16, vdupq_n_s8((int8_t)value));
        vstrbq_s8(to + 32, vdupq_n_s8((int8_t)value));
        vstrbq_s8(to + 48, vdupq_n_s8((int8_t)value));
    }
}

/* What the block has to know of `pixels` outputs: two squares of four at a time, or four of a line. */
TFLMGEN_SHARED void tflmgen_depthwise_patch_mve_place(struct tflmgen_depthwise_patch_mve_block *block, int32_t pixels,
                                                      uint32_t lower, const struct tflmgen_depthwise_patch_mve_s8 *p)
{
    const bool one_square = p->squares && (pixels == 5 || pixels == 6);
    const int32_t second = one_square ? pixels - 2 : tflmgen_max_s32(pixels - 4, 0);
    const uint32_t pixel = pixels < 4 ? 16 : (uint32_t)p->input_channels;
    const uint32_t twice = p->squares ? 0x10001 : 1;
    const uint32_t right = p->squares ? 2 * pixel << 16 : 0;
    const uint32_t third = p->squares ? lower : 2 * pixel;
    block->outputs[0] = right;
    block->outputs[1] = right + twice * pixel;
    block->outputs[2] = right + twice * third;
    block->outputs[3] = right + twice * (third + pixel);
    block->second = second * p->stride_width * TFLMGEN_DEPTHWISE_PATCH_MVE_COLUMN;
    block->second_output = second * p->input_channels;
    block->flags = (second > 0 && !one_square ? 0 : TFLMGEN_DEPTHWISE_PATCH_MVE_ONCE) |
                   (one_square ? TFLMGEN_DEPTHWISE_PATCH_MVE_ONE_SQUARE : 0) |
                   (lower > 0 ? 0 : TFLMGEN_DEPTHWISE_PATCH_MVE_ONE_LINE);
}

/* How many of the `left` pixels of a line are next: as many as may be, but if possible no less than four. */
TFLMGEN_HELPER int32_t tflmgen_depthwise_patch_mve_next(int32_t left, int32_t most)
{
    const int32_t few = left < most + 4 && left >= 8 ? left - 4 : most;
    return left <= most ? left : few;
}

/* Line by line, tile by tile, and then 16 channels at a time. The padding is before the stream. */
TFLMGEN_SHARED void tflmgen_depthwise_patch_mve_run(const int8_t *input, const int8_t *stream, int8_t *output,
                                                    const struct tflmgen_depthwise_patch_mve_s8 *p,
                                                    tflmgen_depthwise_patch_mve_function *function)
{
    int8_t tile[TFLMGEN_DEPTHWISE_PATCH_MVE_COLUMNS * TFLMGEN_DEPTHWISE_PATCH_MVE_COLUMN] __attribute__((aligned(4)));
    uint32_t starts[4]; /* of the rows */
    struct tflmgen_depthwise_patch_mve_rows rows;
    struct tflmgen_depthwise_patch_mve_block block;
    const uint32_t line = (uint32_t)(p->output_width * p->input_channels);
    block.zero_point = p->output_zero_point;
    for (int32_t k = 0; k < 4; ++k) {
        const int32_t column = p->squares ? k : tflmgen_min_s32(k, p->filter_width - 1) * p->dilation_width;
        block.columns[k] = (uint32_t)(uintptr_t)tile + (uint32_t)column * TFLMGEN_DEPTHWISE_PATCH_MVE_COLUMN - 4;
    }
    for (int32_t y = 0, batch = 0; batch < p->batches; batch += y == 0) {
        const uint32_t lower = p->squares && y + 1 < p->output_height ? line : 0;
        int32_t in_y = y * p->stride_height - p->padding_top;
        for (int32_t k = 0; k < 4; ++k, in_y += p->dilation_height) {
            const bool is_inside = in_y >= 0 && in_y < p->input_height && k < p->filter_height + p->squares;
            const int32_t row = (batch * p->input_height + in_y) * p->input_width * p->input_channels;
            starts[k] = (uint32_t)(uintptr_t)(is_inside ? input + row : stream - 16);
            rows.step[k] = is_inside ? (uint32_t)p->input_channels : 0;
        }
        for (int32_t x = 0, pixels; x < p->output_width; x += pixels) {
            pixels = tflmgen_depthwise_patch_mve_next(p->output_width - x, p->pixels);
            const int32_t in_x = x * p->stride_width - p->padding_left;
            const int32_t columns = (pixels - 1) * p->stride_width + (p->filter_width - 1) * p->dilation_width + 1;
            const int32_t first = tflmgen_min_s32(tflmgen_max_s32(-in_x, 0), columns);
            const int32_t end = tflmgen_clamp_s32(p->input_width - in_x, first, columns);
            const int8_t *weights = stream;
            int8_t *at = output + x * p->input_channels;
            if (x == 0 || pixels != p->pixels) {
                tflmgen_depthwise_patch_mve_place(&block, pixels, lower, p);
            }
            vst1q_u32(rows.at, vmlaq_n_u32(vld1q_u32(starts), vld1q_u32(rows.step), (uint32_t)(in_x + first)));
            tflmgen_depthwise_patch_mve_pad(tile, first, p->padding_value);
            tflmgen_depthwise_patch_mve_pad(tile + end * TFLMGEN_DEPTHWISE_PATCH_MVE_COLUMN, columns - end,
                                            p->padding_value);
            for (int32_t left = p->input_channels; left > 0; left -= 16, at += 16) {
                int8_t *to = tile + first * TFLMGEN_DEPTHWISE_PATCH_MVE_COLUMN;
                block.channels = tflmgen_min_s32(left, 16);
                tflmgen_depthwise_patch_mve_interleave(to, end - first, block.channels, &rows);
                /* Where less than four outputs are wanted, all four go to the last column, which is free then. */
                to = tile + (TFLMGEN_DEPTHWISE_PATCH_MVE_COLUMNS - 1) * TFLMGEN_DEPTHWISE_PATCH_MVE_COLUMN;
                function(weights, pixels < 4 ? to : at, &block);
                for (int32_t k = 0; pixels < 4 && k < pixels; ++k, to += 16) {
                    tflmgen_copy_mve(at + k * p->input_channels, to, block.channels);
                }
                vst1q_u32(rows.at, vaddq_u32(vld1q_u32(rows.at), vminq_u32(vld1q_u32(rows.step), vdupq_n_u32(16))));
                weights += 16 * TFLMGEN_DEPTHWISE_PATCH_MVE_CHANNEL;
            }
        }
        output += line + lower;
        y += lower > 0 ? 2 : 1;
        y = y < p->output_height ? y : 0;
    }
    const int32_t outputs = p->batches * p->output_height * (int32_t)line;
    tflmgen_clamp_dsp_s8(output - outputs, outputs, p->output_min, p->output_max);
}

/* Squares of outputs, or lines of them whose windows move by one or two columns; outputs clamped at the zero point, or
 * not. */
#define TFLMGEN_DEPTHWISE_PATCH_MVE(name, function)                                               \
    TFLMGEN_SHARED void name(const int8_t *input, const tflmgen_u32 *stream, int8_t *output,      \
                             const struct tflmgen_depthwise_patch_mve_s8 *p)                      \
    {                                                                                             \
        tflmgen_depthwise_patch_mve_run(input, (const int8_t *)stream + 16, output, p, function); \
    }

TFLMGEN_DEPTHWISE_PATCH_MVE(tflmgen_depthwise_squares_mve_relu_s8, tflmgen_depthwise_squares_mve_clamped)
TFLMGEN_DEPTHWISE_PATCH_MVE(tflmgen_depthwise_squares_mve_s8, tflmgen_depthwise_squares_mve_signed)
TFLMGEN_DEPTHWISE_PATCH_MVE(tflmgen_depthwise_line_mve_relu_s8, tflmgen_depthwise_line_mve_clamped)
TFLMGEN_DEPTHWISE_PATCH_MVE(tflmgen_depthwise_line_mve_s8, tflmgen_depthwise_line_mve_signed)
TFLMGEN_DEPTHWISE_PATCH_MVE(tflmgen_depthwise_half_line_mve_relu_s8, tflmgen_depthwise_half_line_mve_clamped)
TFLMGEN_DEPTHWISE_PATCH_MVE(tflmgen_depthwise_half_line_mve_s8, tflmgen_depthwise_half_line_mve_signed)

#endif

#endif
