/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* BATCH_MATMUL in int8 of one row for cores with MVE, whose columns are read as they lie: four at a time where each is
 * of one piece, 16 where they lie side by side. The results are those of batch_matmul.h.
 */
#ifndef TFLMGEN_KERNELS_BATCH_MATMUL_ROW_MVE_H
#define TFLMGEN_KERNELS_BATCH_MATMUL_ROW_MVE_H

#include "batch_matmul.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

#include "mve.h"

/* Four columns that are of one piece each, in the order in which the assembly reads it. */
struct tflmgen_batch_matmul_row_mve_columns {
    const int8_t *row;
    const int8_t *columns;
    int32_t stride;
    int32_t depth;
};

/* clang-format off */
#define TFLMGEN_BATCH_MATMUL_ROW_MVE_SUMS(values, product, sum) \
    "vmladava.s8 " product ", q0, " values "\n\t"               \
    "vaddva.s8 " sum ", " values "\n\t"

/* Products of the row with each column, and sums of the columns' values. 16 values, 64 MACs: 5 VLDRB + 4 VMLADAVA +
 * 4 VADDVA, SUBS and BGE at 1; the last ones, where they are no 16, take 4 more at 2. Registers: r0, r2, r4, r6
 * products, r8, r10, r12, lr sums, r1 row, r3, r5, r7, r9 columns, r11 values that remain. Stack: results. */
TFLMGEN_SHARED void tflmgen_batch_matmul_row_mve_along(const struct tflmgen_batch_matmul_row_mve_columns *columns,
                                                       tflmgen_s32 *results)
{
    TFLMGEN_IN_REGISTERS_2(columns, results);
    __asm__ volatile("push {r1, r4-r11, lr}\n\t"
                     "ldmia.w r0, {r1, r3, r5, r11}\n\t"
                     "add r7, r3, r5, lsl #1\n\t"
                     "add r9, r7, r5\n\t"
                     "add r5, r3, r5\n\t"
                     ".irp sum, r0, r2, r4, r6, r8, r10, r12, lr\n\t"
                     "mov \\sum, #0\n\t"
                     ".endr\n\t"
                     "subs r11, r11, #16\n\t"
                     "blt 2f\n"
                     "1:\n\t"
                     "vldrb.8 q0, [r1], #16\n\t"
                     "vldrb.8 q1, [r3], #16\n\t"
                     "vldrb.8 q2, [r5], #16\n\t"
                     TFLMGEN_BATCH_MATMUL_ROW_MVE_SUMS("q1", "r0", "r8")
                     "vldrb.8 q3, [r7], #16\n\t"
                     TFLMGEN_BATCH_MATMUL_ROW_MVE_SUMS("q2", "r2", "r10")
                     "vldrb.8 q1, [r9], #16\n\t"
                     TFLMGEN_BATCH_MATMUL_ROW_MVE_SUMS("q3", "r4", "r12")
                     TFLMGEN_BATCH_MATMUL_ROW_MVE_SUMS("q1", "r6", "lr")
                     "subs r11, r11, #16\n\t"
                     "bge 1b\n"
                     "2:\n\t"
                     "adds r11, r11, #16\n\t"
                     "beq 3f\n\t"
                     "vctp.8 r11\n\t"
                     "vpstttt\n\t"
                     "vldrbt.8 q0, [r1]\n\t"
                     "vldrbt.8 q1, [r3]\n\t"
                     "vldrbt.8 q2, [r5]\n\t"
                     "vldrbt.8 q3, [r7]\n\t"
                     TFLMGEN_BATCH_MATMUL_ROW_MVE_SUMS("q1", "r0", "r8")
                     "vpst\n\t"
                     "vldrbt.8 q1, [r9]\n\t"
                     TFLMGEN_BATCH_MATMUL_ROW_MVE_SUMS("q2", "r2", "r10")
                     TFLMGEN_BATCH_MATMUL_ROW_MVE_SUMS("q3", "r4", "r12")
                     TFLMGEN_BATCH_MATMUL_ROW_MVE_SUMS("q1", "r6", "lr")
                     "3:\n\t"
                     "ldr r1, [sp], #4\n\t"
                     "stmia.w r1, {r0, r2, r4, r6, r8, r10, r12, lr}\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1)
                     :
                     : "r2", "r3", "r12", "q0", "q1", "q2", "q3", "cc", "memory");
}
/* clang-format on */

/* Elements of the output, of sums of products. */
TFLMGEN_HELPER int32x4_t tflmgen_batch_matmul_row_mve_results(int32x4_t sums,
                                                              const struct tflmgen_batch_matmul_panels_s8 *p)
{
    const int32x4_t rounded = vqrdmulhq_n_s32(sums, p->multiplier);
    const int32x4_t shifted = vrshlq_n_s32(vqdmlahq_n_s32(rounded, rounded, 1), p->shift);
    const int32x4_t results = vminq_s32(vaddq_n_s32(shifted, p->output_zero_point), vdupq_n_s32(INT8_MAX));
    return vmaxq_s32(results, vdupq_n_s32(INT8_MIN));
}

/* Those of four columns. */
TFLMGEN_HELPER void tflmgen_batch_matmul_row_mve_store(int8_t *output, int32x4_t sums,
                                                       const struct tflmgen_batch_matmul_panels_s8 *p)
{
    const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)p->output_column_stride);
    vstrbq_scatter_offset_s32(output, places, tflmgen_batch_matmul_row_mve_results(sums, p));
}

/* -zero_point of the right matrix times the sum of the row's values less their own zero point. */
TFLMGEN_HELPER int32_t tflmgen_batch_matmul_row_mve_start(const int8_t *row,
                                                          const struct tflmgen_batch_matmul_panels_s8 *p)
{
    int32_t sum = -p->left_zero_point * p->depth;
    if (p->left_depth_stride == 1) {
        for (int32_t k = 0; k < p->depth; k += 16) {
            sum = vaddvaq_s8(sum, vldrbq_z_s8(row + k, vctp8q((uint32_t)(p->depth - k))));
        }
    } else {
        for (int32_t k = 0; k < p->depth; ++k) {
            sum += row[k * p->left_depth_stride];
        }
    }
    return -p->right_zero_point * sum;
}

/* A row of one piece by at least four columns of one piece each, of one batch. */
TFLMGEN_HELPER void tflmgen_batch_matmul_row_mve_pieces(const int8_t *left, const int8_t *right, int8_t *output,
                                                        int32_t start, const struct tflmgen_batch_matmul_panels_s8 *p)
{
    for (int32_t four = 0; four < p->columns; four += 4) {
        const int32_t column = tflmgen_min_s32(four, p->columns - 4);
        const struct tflmgen_batch_matmul_row_mve_columns columns = {left, right + column * p->right_column_stride,
                                                                     p->right_column_stride, p->depth};
        int32_t sums[8];
        tflmgen_batch_matmul_row_mve_along(&columns, sums);
        const int32x4_t products =
            vmlaq_n_s32(vaddq_n_s32(vld1q_s32(sums), start), vld1q_s32(sums + 4), -p->left_zero_point);
        tflmgen_batch_matmul_row_mve_store(output + column * p->output_column_stride, products, p);
    }
}

/* 16 columns side by side. For each value of the row: LDRSB, SUB, 4 VLDRB, 4 VMLA, 2 ADD and LE. */
TFLMGEN_HELPER void tflmgen_batch_matmul_row_mve_sixteen(const int8_t *left, const int8_t *right, int8_t *output,
                                                         int32_t start, const struct tflmgen_batch_matmul_panels_s8 *p)
{
    int32x4_t a = vdupq_n_s32(start), b = a, c = a, d = a;
    int32_t value;
    /* clang-format off */
    __asm__ volatile("wls lr, %[depth], 2f\n"
                     "1:\n\t"
                     "ldrsb %[value], [%[left]]\n\t"
                     "vldrb.s32 q4, [%[right]]\n\t"
                     "vldrb.s32 q5, [%[right], #4]\n\t"
                     "sub %[value], %[value], %[zero_point]\n\t"
                     "vmla.s32 %q[a], q4, %[value]\n\t"
                     "vldrb.s32 q4, [%[right], #8]\n\t"
                     "vmla.s32 %q[b], q5, %[value]\n\t"
                     "vldrb.s32 q5, [%[right], #12]\n\t"
                     "vmla.s32 %q[c], q4, %[value]\n\t"
                     "add %[left], %[left], %[left_stride]\n\t"
                     "vmla.s32 %q[d], q5, %[value]\n\t"
                     "add %[right], %[right], %[right_stride]\n\t"
                     "le lr, 1b\n"
                     "2:"
                     : [a] "+w"(a), [b] "+w"(b), [c] "+w"(c), [d] "+w"(d), [value] "=&r"(value), [left] "+r"(left),
                       [right] "+l"(right)
                     : [depth] "r"(p->depth), [zero_point] "r"(p->left_zero_point),
                       [left_stride] "r"(p->left_depth_stride), [right_stride] "r"(p->right_depth_stride)
                     : "lr", "q4", "q5", "cc", "memory");
    /* clang-format on */
    const int32_t four = 4 * p->output_column_stride;
    tflmgen_batch_matmul_row_mve_store(output, a, p);
    tflmgen_batch_matmul_row_mve_store(output + four, b, p);
    tflmgen_batch_matmul_row_mve_store(output + 2 * four, c, p);
    tflmgen_batch_matmul_row_mve_store(output + 3 * four, d, p);
}

TFLMGEN_SHARED void tflmgen_batch_matmul_row_mve_matrix(const int8_t *left, const int8_t *right, void *scratch,
                                                        int8_t *output, const struct tflmgen_batch_matmul_panels_s8 *p)
{
    (void)scratch;
    const int32_t start = tflmgen_batch_matmul_row_mve_start(left, p);
    /* Columns of one value are of one piece each, too, and may be fewer than 16. */
    if (p->left_depth_stride == 1 && p->right_depth_stride == 1) {
        tflmgen_batch_matmul_row_mve_pieces(left, right, output, start, p);
        return;
    }
    for (int32_t column = 0; column < p->columns; column += 16) {
        const int32_t first = tflmgen_min_s32(column, p->columns - 16);
        tflmgen_batch_matmul_row_mve_sixteen(left, right + first, output + first * p->output_column_stride, start, p);
    }
}

/* Products of one row. */
TFLMGEN_SHARED void tflmgen_batch_matmul_row_mve_s8(const int8_t *left, const int8_t *right, int8_t *output,
                                                    const struct tflmgen_batch_matmul_panels_s8 *p)
{
    tflmgen_batch_matmul_each_s8(left, right, NULL, output, p, tflmgen_batch_matmul_row_mve_matrix);
}

#endif

#endif
