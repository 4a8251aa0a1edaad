/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* BATCH_MATMUL in int8 for every Cortex-M: four rows of the left matrix times a column of the right one at a time, two
 * products per MULS (thumb.h). The results are those of batch_matmul.h.
 *
 * Rows are words of two negated values, four rows' side by side; a panel is a number of columns, of each eight the
 * values side by side. Both are filled up to whole steps of four values, the rows with zeros:
 *
 *     value 0: rows 0 and 1 | rows 2 and 3      value 1: ...                            8 bytes each
 *     value 0: columns 0 to 7      value 1: ...      value 0: columns 8 to 15 ...       8 bytes each
 *
 * Zero points are taken off in the end, with the sums of rows' and columns' values. Of fewer than four rows the last
 * one is computed several times; of other numbers of rows the last four overlap those before.
 */
#ifndef TFLMGEN_KERNELS_BATCH_MATMUL_THUMB_H
#define TFLMGEN_KERNELS_BATCH_MATMUL_THUMB_H

#include "batch_matmul.h"
#include "thumb.h"

#ifdef __thumb__

#define TFLMGEN_BATCH_MATMUL_THUMB_COLUMNS 8 /* side by side */

/* Two values of four rows times a column's, 8 MACs: 2 LDRSB + 2 LDM + 4 MULS + 2 ADDS, and 8 to part the sums. */
#define TFLMGEN_BATCH_MATMUL_THUMB_TWO \
    "ldrsb r6, [r1, r0]\n\t"           \
    "ldmia r0!, {r2, r3}\n\t"          \
    "muls r2, r6, r2\n\t"              \
    "muls r3, r6, r3\n\t"              \
    "ldrsb r6, [r1, r0]\n\t"           \
    "ldmia r0!, {r4, r5}\n\t"          \
    "muls r4, r6, r4\n\t"              \
    "muls r5, r6, r5\n\t"              \
    "adds r2, r2, r4\n\t"              \
    "adds r3, r3, r5\n\t" TFLMGEN_THUMB_PART("r2", "r8", "r9") TFLMGEN_THUMB_PART("r3", "r10", "r11")

/* The sums of two rows' products, from S1 and S2, which are of negated ones. */
#define TFLMGEN_BATCH_MATMUL_THUMB_SUMS(s1, s2, first, second) \
    "mov " second ", " s2 "\n\t"                               \
    "lsls " first ", " second ", #16\n\t"                      \
    "mov r6, " s1 "\n\t"                                       \
    "subs " first ", " first ", r6\n\t"                        \
    "negs " second ", " second "\n\t"

/* Sums of the products of four rows with each of `count` columns. A column begins at 1, a pass over four values at 2:
 * 38 instructions; a column takes 28 beside them. Registers: r0 rows, r1 from there to the column, r2 to r5 products,
 * r6 value, r7 sums, r8 to r11 S1 and S2, r12 0x8000, lr rows' end. Stack: rows, columns that remain. */
TFLMGEN_SHARED void tflmgen_batch_matmul_thumb_rows(const tflmgen_u32 *rows, const tflmgen_u32 *end,
                                                    const int8_t *columns, int32_t count, tflmgen_s32 *sums)
{
    const void *arguments[5] = {rows, end, columns, sums, 0};
    arguments[4] = (const void *)(uintptr_t)(uint32_t)count;
    register const void *const *r0 __asm__("r0") = arguments;
    /* clang-format off */
    __asm__ volatile(".syntax unified\n\t" TFLMGEN_THUMB_PUSH
                     "ldmia r0!, {r2, r3, r4, r7}\n\t"
                     "ldr r5, [r0]\n\t"
                     "push {r2, r5}\n\t"
                     "mov lr, r3\n\t"
                     "subs r1, r4, r2\n\t"
                     "movs r0, #1\n\t"
                     "lsls r0, r0, #15\n\t"
                     "mov r12, r0\n"
                     "1:\n\t"
                     "ldr r0, [sp]\n\t"
                     "movs r2, #0\n\t"
                     "mov r8, r2\n\t"
                     "mov r9, r2\n\t"
                     "mov r10, r2\n\t"
                     "mov r11, r2\n"
                     "2:\n\t"
                     TFLMGEN_BATCH_MATMUL_THUMB_TWO
                     TFLMGEN_BATCH_MATMUL_THUMB_TWO
                     "cmp r0, lr\n\t"
                     "bne 2b\n\t"
                     TFLMGEN_BATCH_MATMUL_THUMB_SUMS("r8", "r9", "r2", "r3")
                     TFLMGEN_BATCH_MATMUL_THUMB_SUMS("r10", "r11", "r4", "r5")
                     "stmia r7!, {r2, r3, r4, r5}\n\t"
                     "adds r1, #1\n\t"
                     "ldr r2, [sp, #4]\n\t"
                     "subs r2, #1\n\t"
                     "str r2, [sp, #4]\n\t"
                     "bne 1b\n\t"
                     "add sp, #8\n\t"
                     TFLMGEN_THUMB_POP
                     : "+r"(r0)
                     :
                     : "r1", "r2", "r3", "r12", "cc", "memory");
    /* clang-format on */
}

/* Four rows as words, and the sums of their values. */
TFLMGEN_SHARED void tflmgen_batch_matmul_thumb_pack_rows(tflmgen_u32 *to, const int8_t *left, tflmgen_s32 sums[4],
                                                         const struct tflmgen_batch_matmul_panels_s8 *p)
{
    for (int32_t pair = 0; pair < 4; pair += 2, ++to) {
        const int8_t *first = left + tflmgen_min_s32(pair, p->rows - 1) * p->left_row_stride;
        const int8_t *second = left + tflmgen_min_s32(pair + 1, p->rows - 1) * p->left_row_stride;
        tflmgen_u32 *at = to;
        int32_t sum0 = 0, sum1 = 0;
        for (int32_t k = p->depth; k > 0; --k, at += 2, first += p->left_depth_stride, second += p->left_depth_stride) {
            sum0 += *first;
            sum1 += *second;
            *at = 0u - (uint32_t)*first - ((uint32_t)*second << 16);
        }
        for (int32_t k = p->depth; k % 4 != 0; ++k, at += 2) {
            *at = 0;
        }
        sums[pair] = sum0;
        sums[pair + 1] = sum1;
    }
}

/* Columns of a panel, and of each what its zero points take off: left_zero_point * (sum of its values - depth *
 * right_zero_point). */
TFLMGEN_SHARED void tflmgen_batch_matmul_thumb_pack_columns(int8_t *to, const int8_t *right, int32_t count,
                                                            tflmgen_s32 *offsets,
                                                            const struct tflmgen_batch_matmul_panels_s8 *p)
{
    const int32_t bytes = (p->depth + 3) / 4 * 4 * TFLMGEN_BATCH_MATMUL_THUMB_COLUMNS;
    for (int32_t column = 0; column < count; ++column, right += p->right_column_stride) {
        int8_t *at =
            to + column / TFLMGEN_BATCH_MATMUL_THUMB_COLUMNS * bytes + column % TFLMGEN_BATCH_MATMUL_THUMB_COLUMNS;
        const int8_t *value = right;
        int32_t sum = -p->depth * p->right_zero_point;
        for (int32_t k = p->depth; k > 0; --k, value += p->right_depth_stride) {
            sum += *value;
            *at = *value;
            at += TFLMGEN_BATCH_MATMUL_THUMB_COLUMNS;
        }
        offsets[column] = p->left_zero_point * sum;
    }
}

/* The outputs of four rows and up to eight columns. */
TFLMGEN_SHARED void tflmgen_batch_matmul_thumb_store(int8_t *output, const tflmgen_s32 *sums,
                                                     const tflmgen_s32 *offsets, const tflmgen_s32 row_sums[4],
                                                     int32_t count, const struct tflmgen_batch_matmul_panels_s8 *p)
{
    const int32_t rows = tflmgen_min_s32(p->rows, 4);
    const int32_t multiplier = p->multiplier;
    const int32_t right_shift = -p->shift;
    const int32_t zero_point = p->output_zero_point;
    for (int32_t row = 0; row < rows; ++row, output += p->output_row_stride) {
        const int32_t offset = p->right_zero_point * row_sums[row];
        int8_t *at = output;
        for (int32_t column = 0; column < count; ++column, at += p->output_column_stride) {
            const int32_t sum = sums[4 * column + row] - offsets[column] - offset;
            const int32_t high = tflmgen_doubling_high_product(sum, multiplier);
            const int32_t result = tflmgen_rounding_shift_right(high, right_shift) + zero_point;
            *at = (int8_t)tflmgen_clamp_s32(result, INT8_MIN, INT8_MAX);
        }
    }
}

/* The matrices of one batch. scratch: four rows, a panel, and a word for each of its columns. */
TFLMGEN_SHARED void tflmgen_batch_matmul_thumb_matrix(const int8_t *left, const int8_t *right, void *scratch,
                                                      int8_t *output, const struct tflmgen_batch_matmul_panels_s8 *p)
{
    const int32_t depth = (p->depth + 3) / 4 * 4;
    tflmgen_u32 *const rows = scratch;
    int8_t *const panel = (int8_t *)(rows + 2 * depth);
    tflmgen_s32 *const offsets = (tflmgen_s32 *)(void *)(panel + p->panel * depth);
    for (int32_t begin = 0; begin < p->columns; begin += p->panel) {
        const int32_t count = tflmgen_min_s32(p->panel, p->columns - begin);
        tflmgen_batch_matmul_thumb_pack_columns(panel, right + begin * p->right_column_stride, count, offsets, p);
        for (int32_t four = 0; four < p->rows; four += 4) {
            const int32_t row = tflmgen_max_s32(tflmgen_min_s32(four, p->rows - 4), 0);
            tflmgen_s32 row_sums[4], sums[4 * TFLMGEN_BATCH_MATMUL_THUMB_COLUMNS];
            tflmgen_batch_matmul_thumb_pack_rows(rows, left + row * p->left_row_stride, row_sums, p);
            for (int32_t column = 0; column < count; column += TFLMGEN_BATCH_MATMUL_THUMB_COLUMNS) {
                const int32_t some = tflmgen_min_s32(count - column, TFLMGEN_BATCH_MATMUL_THUMB_COLUMNS);
                tflmgen_batch_matmul_thumb_rows(rows, rows + 2 * depth, panel + column * depth, some, sums);
                tflmgen_batch_matmul_thumb_store(output + row * p->output_row_stride +
                                                     (begin + column) * p->output_column_stride,
                                                 sums, offsets + column, row_sums, some, p);
            }
        }
    }
}

TFLMGEN_SHARED void tflmgen_batch_matmul_thumb_s8(const int8_t *left, const int8_t *right, void *scratch,
                                                  int8_t *output, const struct tflmgen_batch_matmul_panels_s8 *p)
{
    tflmgen_batch_matmul_each_s8(left, right, scratch, output, p, tflmgen_batch_matmul_thumb_matrix);
}

#endif

#endif
