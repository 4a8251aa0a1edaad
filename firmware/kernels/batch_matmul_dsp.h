/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* BATCH_MATMUL in int8 for cores with the DSP extension, whose operands are both computed. The results are those of
 * batch_matmul.h.
 *
 * Two rows times two columns at a time. A step is four values of each, less their zero points, as halves: a word of the
 * first and the third, one of the second and the fourth. A panel is a number of columns as words, two columns side by
 * side, step after step; every two rows become words once for each panel:
 *
 *     step 0: column 0, first and third | second and fourth | column 1, ... | ...       step 1: ...       16 bytes each
 *
 * Where the depth is no whole number of steps, the first step's values are read again by the second one, and are zeros
 * in the words of rows. Of an odd number of columns or rows the last two are computed again with those before.
 */
#ifndef TFLMGEN_KERNELS_BATCH_MATMUL_DSP_H
#define TFLMGEN_KERNELS_BATCH_MATMUL_DSP_H

#include "batch_matmul.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* How the vectors of an operand lie, rows of the left or columns of the right one, and -zero_point in both halves. */
struct tflmgen_batch_matmul_dsp_vectors {
    int32_t stride; /* from a vector to the next one; 1, or depth_stride is 1 */
    int32_t depth_stride;
    int32_t depth;
    uint32_t offsets;
};

/* Two rows and the columns of a panel, in the order in which the assembly reads it. */
struct tflmgen_batch_matmul_dsp_block {
    int8_t *output;
    int32_t row_stride;
    int32_t column_stride;
    int32_t multiplier;
    int32_t addend;
    int32_t right_shift;
    const tflmgen_u32 *rows;
    const tflmgen_u32 *rows_end;
    int32_t skip; /* bytes of code that the first pass leaves out */
    const tflmgen_u32 *panel_end;
};

#define TFLMGEN_BATCH_MATMUL_DSP_STEP_BYTES 40

/* Four values of two rows and two columns, 16 MACs: 2 LDM + 8 SMLAD. */
#define TFLMGEN_BATCH_MATMUL_DSP_STEP      \
    "ldmia.w r0!, {r6, r7, r8, r9}\n\t"    \
    "ldmia.w r1!, {r10, r11, r12, lr}\n\t" \
    "smlad r2, r6, r10, r2\n\t"            \
    "smlad r3, r8, r10, r3\n\t"            \
    "smlad r4, r6, r12, r4\n\t"            \
    "smlad r5, r8, r12, r5\n\t"            \
    "smlad r2, r7, r11, r2\n\t"            \
    "smlad r3, r9, r11, r3\n\t"            \
    "smlad r4, r7, lr, r4\n\t"             \
    "smlad r5, r9, lr, r5\n\t"

/* Both roundings of twice a sum: SMMULR's is the first, and what is added to it the second one's half, less the sign
 * fix, and the zero point. */
#define TFLMGEN_BATCH_MATMUL_DSP_OUTPUT(sum, multiplier, addend, right_shift) \
    "add r12, " addend ", " sum ", asr #31\n\t"                               \
    "smmlar " sum ", " sum ", " multiplier ", r12\n\t"                        \
    "asr " sum ", " sum ", " right_shift "\n\t"                               \
    "ssat " sum ", #8, " sum "\n\t"

/* Two rows times a panel. Two columns begin at 1, a pass over four steps at 2: 43 instructions for 64 MACs; four
 * outputs take 37 beside them. Registers: r0 panel, r1 rows, r2-r5 sums, r6-r9 two columns, r10-r12 and lr two rows.
 * Stack: output, row_stride, column_stride, multiplier, addend, right_shift, rows, rows_end, entry, panel_end. */
TFLMGEN_SHARED void tflmgen_batch_matmul_dsp_rows(const tflmgen_u32 *panel,
                                                  const struct tflmgen_batch_matmul_dsp_block *block)
{
    TFLMGEN_IN_REGISTERS_2(panel, block);
    /* clang-format off */
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldmia.w r1, {r2-r11}\n\t"
                     "adr r1, 2f\n\t"
                     "add r10, r10, r1\n\t"
                     "orr r10, r10, #1\n\t"
                     "push {r2-r11}\n"
                     "1:\n\t"
                     "ldr r1, [sp, #24]\n\t"
                     "movs r2, #0\n\t"
                     "movs r3, #0\n\t"
                     "movs r4, #0\n\t"
                     "movs r5, #0\n\t"
                     "ldr pc, [sp, #32]\n\t"
                     ".p2align 2\n"
                     "2:\n\t"
                     TFLMGEN_BATCH_MATMUL_DSP_STEP
                     TFLMGEN_BATCH_MATMUL_DSP_STEP
                     TFLMGEN_BATCH_MATMUL_DSP_STEP
                     TFLMGEN_BATCH_MATMUL_DSP_STEP
                     "ldr r6, [sp, #28]\n\t"
                     "cmp r1, r6\n\t"
                     "bne.w 2b\n\t"
                     "ldmia.w sp, {r6, r7, r8, r9, r10, r11}\n\t"
                     "lsl r2, r2, #1\n\t"
                     TFLMGEN_BATCH_MATMUL_DSP_OUTPUT("r2", "r9", "r10", "r11")
                     "lsl r3, r3, #1\n\t"
                     TFLMGEN_BATCH_MATMUL_DSP_OUTPUT("r3", "r9", "r10", "r11")
                     "lsl r4, r4, #1\n\t"
                     TFLMGEN_BATCH_MATMUL_DSP_OUTPUT("r4", "r9", "r10", "r11")
                     "lsl r5, r5, #1\n\t"
                     TFLMGEN_BATCH_MATMUL_DSP_OUTPUT("r5", "r9", "r10", "r11")
                     "strb r2, [r6]\n\t"
                     "strb r3, [r6, r8]\n\t"
                     "add r12, r6, r7\n\t"
                     "strb r4, [r12]\n\t"
                     "strb r5, [r12, r8]\n\t"
                     "add r6, r6, r8, lsl #1\n\t"
                     "str r6, [sp]\n\t"
                     "ldr r6, [sp, #36]\n\t"
                     "cmp r0, r6\n\t"
                     "bne.w 1b\n\t"
                     "add sp, sp, #40\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1)
                     :
                     : "r2", "r3", "r12", "cc", "memory");
    /* clang-format on */
}

/* Values from the first step on: where the next one begins. */
TFLMGEN_HELPER int32_t tflmgen_batch_matmul_dsp_first(int32_t depth)
{
    return depth % 4 != 0 ? depth % 4 : 4;
}

/* Two vectors, each of one piece, as words: 2 LDR + 4 SXTAB16 + 4 STR for eight values. */
TFLMGEN_SHARED void tflmgen_batch_matmul_dsp_along(tflmgen_u32 *to, const int8_t *from,
                                                   const struct tflmgen_batch_matmul_dsp_vectors *v)
{
    const int8_t *const end = from + v->depth;
    const int32_t stride = v->stride;
    const uint32_t offsets = v->offsets;
    int32_t next = tflmgen_batch_matmul_dsp_first(v->depth);
    for (; from != end; from += next, next = 4, to += 4) {
        const uint32_t x = tflmgen_load4(from);
        const uint32_t y = tflmgen_load4(from + stride);
        to[0] = tflmgen_add_even_bytes(offsets, x);
        to[1] = tflmgen_add_odd_bytes(offsets, x);
        to[2] = tflmgen_add_even_bytes(offsets, y);
        to[3] = tflmgen_add_odd_bytes(offsets, y);
    }
}

/* Pairs of two vectors: the first and third value of both in `even`, the second and fourth in `odd`. */
TFLMGEN_HELPER void tflmgen_batch_matmul_dsp_pair(tflmgen_u32 *to, uint32_t even, uint32_t odd, uint32_t offsets)
{
    to[0] = tflmgen_add_even_bytes(offsets, even);
    to[1] = tflmgen_add_even_bytes(offsets, odd);
    to[2] = tflmgen_add_odd_bytes(offsets, even);
    to[3] = tflmgen_add_odd_bytes(offsets, odd);
}

TFLMGEN_HELPER uint32_t tflmgen_batch_matmul_dsp_load2(const int8_t *address)
{
    tflmgen_u16 half;
    __builtin_memcpy(&half, address, sizeof half);
    return half;
}

/* Two vectors side by side: 4 LDRH + 2 PKHBT + 4 SXTAB16 + 4 STR for eight values. */
TFLMGEN_SHARED void tflmgen_batch_matmul_dsp_across2(tflmgen_u32 *to, const int8_t *from,
                                                     const struct tflmgen_batch_matmul_dsp_vectors *v)
{
    const int32_t stride = v->depth_stride;
    int32_t next = tflmgen_batch_matmul_dsp_first(v->depth);
    for (int32_t k = 0; k < v->depth; k += next, from += next * stride, next = 4, to += 4) {
        const uint32_t even = tflmgen_lower_halves(tflmgen_batch_matmul_dsp_load2(from),
                                                   tflmgen_batch_matmul_dsp_load2(from + 2 * stride));
        const uint32_t odd = tflmgen_lower_halves(tflmgen_batch_matmul_dsp_load2(from + stride),
                                                  tflmgen_batch_matmul_dsp_load2(from + 3 * stride));
        tflmgen_batch_matmul_dsp_pair(to, even, odd, v->offsets);
    }
}

/* Four vectors side by side: 4 LDR + 4 PKH + 8 SXTAB16 + 8 STR for 16 values. */
TFLMGEN_SHARED void tflmgen_batch_matmul_dsp_across4(tflmgen_u32 *to, const int8_t *from,
                                                     const struct tflmgen_batch_matmul_dsp_vectors *v)
{
    const int32_t stride = v->depth_stride;
    const uint32_t offsets = v->offsets;
    tflmgen_u32 *const others = to + (v->depth + 3) / 4 * 4;
    tflmgen_u32 *const end = others;
    const ptrdiff_t apart = others - to;
    int32_t next = tflmgen_batch_matmul_dsp_first(v->depth);
    for (; to != end; from += next * stride, next = 4, to += 4) {
        const uint32_t a = tflmgen_load4(from);
        const uint32_t b = tflmgen_load4(from + stride);
        const uint32_t c = tflmgen_load4(from + 2 * stride);
        const uint32_t d = tflmgen_load4(from + 3 * stride);
        tflmgen_batch_matmul_dsp_pair(to, tflmgen_lower_halves(a, c), tflmgen_lower_halves(b, d), offsets);
        tflmgen_batch_matmul_dsp_pair(to + apart, tflmgen_upper_halves(a, c), tflmgen_upper_halves(b, d), offsets);
    }
}

/* `count` vectors, at least two, as words. */
TFLMGEN_SHARED void tflmgen_batch_matmul_dsp_pack(tflmgen_u32 *to, const int8_t *from, int32_t count,
                                                  const struct tflmgen_batch_matmul_dsp_vectors *v)
{
    const int32_t pair = (v->depth + 3) / 4 * 4;
    for (int32_t vector = 0; vector < count; vector += 2, to += pair) {
        const int8_t *const first = from + tflmgen_min_s32(vector, count - 2) * v->stride;
        if (v->depth_stride == 1) {
            tflmgen_batch_matmul_dsp_along(to, first, v);
        } else if (vector + 4 <= count) {
            tflmgen_batch_matmul_dsp_across4(to, first, v);
            vector += 2;
            to += pair;
        } else {
            tflmgen_batch_matmul_dsp_across2(to, first, v);
        }
    }
}

/* Of the first step of each of `count` vectors the values that belong to it: depth % 4, or all. */
TFLMGEN_HELPER void tflmgen_batch_matmul_dsp_mask(tflmgen_u32 *words, int32_t count, int32_t depth)
{
    const int32_t rest = depth % 4;
    if (rest != 0) {
        for (int32_t vector = 0; vector < count; ++vector) {
            words[2 * vector] &= rest < 3 ? 0xFFFFu : ~0u;
            words[2 * vector + 1] &= rest < 2 ? 0u : 0xFFFFu;
        }
    }
}

TFLMGEN_HELPER int32_t tflmgen_batch_matmul_dsp_addend(const struct tflmgen_batch_matmul_panels_s8 *p)
{
    return p->output_zero_point * (1 << -p->shift) + (1 << (-p->shift - 1));
}

/* The matrices of one batch. scratch: two rows as words, then a panel. */
TFLMGEN_SHARED void tflmgen_batch_matmul_dsp_matrix(const int8_t *left, const int8_t *right, void *scratch,
                                                    int8_t *output, const struct tflmgen_batch_matmul_panels_s8 *p)
{
    const struct tflmgen_batch_matmul_dsp_vectors rows = {p->left_row_stride, p->left_depth_stride, p->depth,
                                                          tflmgen_splat2(-p->left_zero_point)};
    const struct tflmgen_batch_matmul_dsp_vectors columns = {p->right_column_stride, p->right_depth_stride, p->depth,
                                                             tflmgen_splat2(-p->right_zero_point)};
    const int32_t steps = (p->depth + 3) / 4;
    tflmgen_u32 *const words = scratch;
    tflmgen_u32 *const panel = words + 4 * steps;
    struct tflmgen_batch_matmul_dsp_block block = {NULL,
                                                   p->output_row_stride,
                                                   p->output_column_stride,
                                                   p->multiplier,
                                                   tflmgen_batch_matmul_dsp_addend(p),
                                                   -p->shift,
                                                   words,
                                                   panel,
                                                   -steps & 3,
                                                   NULL};
    block.skip *= TFLMGEN_BATCH_MATMUL_DSP_STEP_BYTES;
    for (int32_t column = 0; column < p->columns; column += p->panel) {
        const int32_t first = tflmgen_min_s32(column, p->columns - 2);
        const int32_t count = tflmgen_min_s32(p->panel, p->columns - first);
        tflmgen_batch_matmul_dsp_pack(panel, right + first * p->right_column_stride, count, &columns);
        for (int32_t pair = 0; pair < p->rows; pair += 2) {
            const int32_t row = tflmgen_min_s32(pair, p->rows - 2);
            tflmgen_batch_matmul_dsp_pack(words, left + row * p->left_row_stride, 2, &rows);
            tflmgen_batch_matmul_dsp_mask(words, 2, p->depth);
            block.output = output + row * p->output_row_stride + first * p->output_column_stride;
            block.panel_end = panel + count / 2 * 4 * steps;
            tflmgen_batch_matmul_dsp_rows(panel, &block);
            if (count % 2 != 0) {
                const tflmgen_u32 *const last = block.panel_end;
                block.output += (count - 2) * p->output_column_stride;
                block.panel_end += 4 * steps;
                tflmgen_batch_matmul_dsp_rows(last, &block);
            }
        }
    }
}

TFLMGEN_SHARED void tflmgen_batch_matmul_dsp_s8(const int8_t *left, const int8_t *right, void *scratch, int8_t *output,
                                                const struct tflmgen_batch_matmul_panels_s8 *p)
{
    tflmgen_batch_matmul_each_s8(left, right, scratch, output, p, tflmgen_batch_matmul_dsp_matrix);
}

#endif

#endif
