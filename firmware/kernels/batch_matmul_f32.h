/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* BATCH_MATMUL of float32. Strides are those of batch_matmul.h.
 *
 * Each sum adds its products one after the other, rounding the product and the sum, on every core: several columns of
 * the right matrix at a time. Columns of one piece are FULLY_CONNECTED's rows of weights (rows_f32.h); of columns side
 * by side a row of the right matrix is loaded at once, times one value of the left one. Both need rows of one piece.
 */
#ifndef TFLMGEN_KERNELS_BATCH_MATMUL_F32_H
#define TFLMGEN_KERNELS_BATCH_MATMUL_F32_H

#include "batch_matmul.h"
#include "mve.h"
#include "rows_f32.h"

struct tflmgen_batch_matmul_f32 {
    TFLMGEN_BATCH_MATMUL_FIELDS
};

#if TFLMGEN_HAS_MVE_F32
#define TFLMGEN_BATCH_MATMUL_F32_SIDE_BY_SIDE 16

#define TFLMGEN_BATCH_MATMUL_F32_FOUR(offset, value, sum) \
    "vldrw.u32 " value ", [%[w], #" offset "]\n\t"        \
    "vmul.f32 " value ", " value ", %[value]\n\t"         \
    "vadd.f32 %q[" sum "], %q[" sum "], " value "\n\t"

/* 16 columns side by side: of each value of the row LDR, 4 VLDRW, 4 VMUL, 4 VADD, ADD and LE. */
TFLMGEN_HELPER void tflmgen_batch_matmul_f32_sums(const tflmgen_f32 *x, const tflmgen_f32 *w, int32_t stride,
                                                  int32_t depth, tflmgen_f32 *sums)
{
    float32x4_t a = vdupq_n_f32(0.0f), b = a, c = a, d = a;
    int32_t value;
    /* clang-format off */
    __asm__ volatile("wls lr, %[depth], 2f\n"
                     "1:\n\t"
                     "ldr %[value], [%[x]], #4\n\t"
                     TFLMGEN_BATCH_MATMUL_F32_FOUR("0", "q4", "a")
                     TFLMGEN_BATCH_MATMUL_F32_FOUR("16", "q5", "b")
                     TFLMGEN_BATCH_MATMUL_F32_FOUR("32", "q4", "c")
                     TFLMGEN_BATCH_MATMUL_F32_FOUR("48", "q5", "d")
                     "add %[w], %[w], %[stride]\n\t"
                     "le lr, 1b\n"
                     "2:"
                     : [a] "+w"(a), [b] "+w"(b), [c] "+w"(c), [d] "+w"(d), [x] "+r"(x), [w] "+r"(w),
                       [value] "=&r"(value)
                     : [stride] "r"(4 * stride), [depth] "r"(depth)
                     : "lr", "q4", "q5", "memory");
    /* clang-format on */
    vst1q_f32(sums, a);
    vst1q_f32(sums + 4, b);
    vst1q_f32(sums + 8, c);
    vst1q_f32(sums + 12, d);
}
#elif TFLMGEN_HAS_FPU
#define TFLMGEN_BATCH_MATMUL_F32_SIDE_BY_SIDE 8

/* A value of the row times eight columns. */
/* clang-format off */
#if TFLMGEN_HAS_FAST_VMLA
#define TFLMGEN_BATCH_MATMUL_F32_PRODUCTS                                                               \
    "vmla.f32 s0, s8, s16\n\tvmla.f32 s1, s9, s16\n\tvmla.f32 s2, s10, s16\n\tvmla.f32 s3, s11, s16\n\t"    \
    "vmla.f32 s4, s12, s16\n\tvmla.f32 s5, s13, s16\n\tvmla.f32 s6, s14, s16\n\tvmla.f32 s7, s15, s16\n\t"
#else
#define TFLMGEN_BATCH_MATMUL_F32_PRODUCTS                                                                       \
    "vmul.f32 s8, s8, s16\n\tvmul.f32 s9, s9, s16\n\tvmul.f32 s10, s10, s16\n\tvmul.f32 s11, s11, s16\n\t"      \
    "vmul.f32 s12, s12, s16\n\tvmul.f32 s13, s13, s16\n\tvmul.f32 s14, s14, s16\n\tvmul.f32 s15, s15, s16\n\t"  \
    "vadd.f32 s0, s8\n\tvadd.f32 s1, s9\n\tvadd.f32 s2, s10\n\tvadd.f32 s3, s11\n\t"                            \
    "vadd.f32 s4, s12\n\tvadd.f32 s5, s13\n\tvadd.f32 s6, s14\n\tvadd.f32 s7, s15\n\t"
#endif
#define TFLMGEN_BATCH_MATMUL_F32_VALUE                               \
    "vldmia %[x]!, {s16}\n\t"                                        \
    "vldmia %[w], {s8-s15}\n\t" TFLMGEN_BATCH_MATMUL_F32_PRODUCTS    \
    "add %[w], %[w], %[stride]\n\t"

/* Eight columns side by side: of each value of the row 2 VLDM, 8 VMUL, 8 VADD and ADD, or 2 VLDM, 8 VMLA and ADD, with
 * 2 to loop over four. */
TFLMGEN_HELPER void tflmgen_batch_matmul_f32_sums(const tflmgen_f32 *x, const tflmgen_f32 *w, int32_t stride,
                                                  int32_t depth, tflmgen_f32 *sums)
{
    static const float zeros[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    __asm__ volatile("vldmia %[zeros], {s0-s7}\n\t"
                     "subs %[depth], %[depth], #4\n\t"
                     "blt 2f\n"
                     "1:\n\t"
                     TFLMGEN_BATCH_MATMUL_F32_VALUE
                     TFLMGEN_BATCH_MATMUL_F32_VALUE
                     TFLMGEN_BATCH_MATMUL_F32_VALUE
                     TFLMGEN_BATCH_MATMUL_F32_VALUE
                     "subs %[depth], %[depth], #4\n\t"
                     "bge 1b\n"
                     "2:\n\t"
                     "adds %[depth], %[depth], #4\n\t"
                     "beq 4f\n"
                     "3:\n\t"
                     TFLMGEN_BATCH_MATMUL_F32_VALUE
                     "subs %[depth], %[depth], #1\n\t"
                     "bne 3b\n"
                     "4:\n\t"
                     "vstmia %[sums], {s0-s7}"
                     : [x] "+r"(x), [w] "+r"(w), [depth] "+r"(depth)
                     : [stride] "r"(4 * stride), [sums] "r"(sums), [zeros] "r"(zeros)
                     : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14",
                       "s15", "s16", "cc", "memory");
}
/* clang-format on */
#else
#define TFLMGEN_BATCH_MATMUL_F32_SIDE_BY_SIDE 4

/* Four columns side by side. */
TFLMGEN_HELPER void tflmgen_batch_matmul_f32_sums(const tflmgen_f32 *x, const tflmgen_f32 *w, int32_t stride,
                                                  int32_t depth, tflmgen_f32 *sums)
{
    float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
    for (int32_t k = 0; k < depth; ++k, ++x, w += stride) {
        a += *x * w[0];
        b += *x * w[1];
        c += *x * w[2];
        d += *x * w[3];
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}
#endif

/* A row of one piece times columns side by side, of which there are at least as many as are summed at a time. */
TFLMGEN_HELPER void tflmgen_batch_matmul_f32_across(const tflmgen_f32 *left, const tflmgen_f32 *right,
                                                    tflmgen_f32 *output, const struct tflmgen_batch_matmul_f32 *p)
{
    const int32_t size = TFLMGEN_BATCH_MATMUL_F32_SIDE_BY_SIDE;
    const int32_t stride = p->output_column_stride;
    for (int32_t column = 0; column < p->columns; column += size) {
        const int32_t first = tflmgen_min_s32(column, p->columns - size);
        tflmgen_f32 sums[TFLMGEN_BATCH_MATMUL_F32_SIDE_BY_SIDE];
        tflmgen_f32 *const out = output + first * stride;
        tflmgen_batch_matmul_f32_sums(left, right + first, p->right_depth_stride, p->depth, stride == 1 ? out : sums);
        for (int32_t i = 0; stride != 1 && i < size; ++i) {
            out[i * stride] = sums[i];
        }
    }
}

/* A row of one piece times at least four columns of one piece each. */
TFLMGEN_HELPER void tflmgen_batch_matmul_f32_along(const tflmgen_f32 *left, const tflmgen_f32 *right,
                                                   tflmgen_f32 *output, const struct tflmgen_batch_matmul_f32 *p)
{
    const struct tflmgen_runs_f32 runs = {p->depth, 1, 0, 0, 1, 0, 0, p->right_column_stride};
    const int32_t stride = p->output_column_stride;
    for (int32_t column = 0; column < p->columns; column += TFLMGEN_ROWS_F32) {
        const int32_t first = tflmgen_min_s32(column, p->columns - TFLMGEN_ROWS_F32);
        const struct tflmgen_sums_f32 zeros = {0.0f, 0.0f, 0.0f, 0.0f};
        const struct tflmgen_sums_f32 sums =
            tflmgen_dot_rows_f32(zeros, left, right + first * p->right_column_stride, &runs);
        tflmgen_f32 *const out = output + first * stride;
        out[0] = sums.s0;
        out[stride] = sums.s1;
        out[2 * stride] = sums.s2;
        out[3 * stride] = sums.s3;
    }
}

static __attribute__((noinline, unused)) void tflmgen_batch_matmul_f32_row(const tflmgen_f32 *left,
                                                                           const tflmgen_f32 *right,
                                                                           tflmgen_f32 *output,
                                                                           const struct tflmgen_batch_matmul_f32 *p)
{
    const bool whole = p->left_depth_stride == 1;
    if (whole && p->right_column_stride == 1 && p->columns >= TFLMGEN_BATCH_MATMUL_F32_SIDE_BY_SIDE) {
        tflmgen_batch_matmul_f32_across(left, right, output, p);
        return;
    }
    if (whole && p->right_depth_stride == 1 && p->columns >= TFLMGEN_ROWS_F32) {
        tflmgen_batch_matmul_f32_along(left, right, output, p);
        return;
    }
    for (int32_t column = 0; column < p->columns; ++column, right += p->right_column_stride) {
        float sum = 0.0f;
        for (int32_t k = 0; k < p->depth; ++k) {
            sum += left[k * p->left_depth_stride] * right[k * p->right_depth_stride];
        }
        output[column * p->output_column_stride] = sum;
    }
}

TFLMGEN_KERNEL void tflmgen_batch_matmul_f32(const tflmgen_f32 *restrict left, const tflmgen_f32 *restrict right,
                                             tflmgen_f32 *restrict output, const struct tflmgen_batch_matmul_f32 *p)
{
    for (int32_t a = 0; a < p->batches[0]; ++a) {
        for (int32_t b = 0; b < p->batches[1]; ++b) {
            for (int32_t c = 0; c < p->batches[2]; ++c) {
                const tflmgen_f32 *row =
                    left + a * p->left_batch_strides[0] + b * p->left_batch_strides[1] + c * p->left_batch_strides[2];
                const tflmgen_f32 *const matrix = right + a * p->right_batch_strides[0] +
                                                  b * p->right_batch_strides[1] + c * p->right_batch_strides[2];
                tflmgen_f32 *sums = output + a * p->output_batch_strides[0] + b * p->output_batch_strides[1] +
                                    c * p->output_batch_strides[2];
                for (int32_t i = 0; i < p->rows; ++i, row += p->left_row_stride, sums += p->output_row_stride) {
                    tflmgen_batch_matmul_f32_row(row, matrix, sums, p);
                }
            }
        }
    }
}

#endif
