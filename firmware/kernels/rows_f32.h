/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Products of float matrices and vectors, four rows of weights at a time: the innermost loops of float32 layers.
 *
 * Each sum adds its products one after the other, rounding the product and the sum, on every core. So the results do
 * not depend on how many rows are computed at a time.
 */
#ifndef TFLMGEN_KERNELS_ROWS_F32_H
#define TFLMGEN_KERNELS_ROWS_F32_H

#include <float.h>

#include "dot.h"

/* Rows that are computed at a time; others are computed alone where there are fewer than these. */
#define TFLMGEN_ROWS_F32 4

/* Whether there are the instructions of a floating-point unit in Thumb-2 code. */
#if defined(__ARM_FP) && (__ARM_FP & 4) && defined(__thumb2__)
#define TFLMGEN_HAS_FPU 1
#else
#define TFLMGEN_HAS_FPU 0
#endif

/* Whether VMLA, which rounds the product and then the sum, takes no longer than VMUL: on cores whose unit has double
 * precision, too (Cortex-M7, M55). On a Cortex-M4 it takes three cycles, VMUL and VADD one each. */
#if TFLMGEN_HAS_FPU && (__ARM_FP & 8)
#define TFLMGEN_HAS_FAST_VMLA 1
#else
#define TFLMGEN_HAS_FAST_VMLA 0
#endif

#if TFLMGEN_HAS_FAST_VMLA
/* Eight columns of four rows, four at a time: 10 VLDM + 32 VMLA. The four sums take turns, so that none waits for
 * itself. */
#define TFLMGEN_FOUR_VMLA_F32(x, w0, w1, w2, w3)                         \
    "vmla.f32 %[s0], " w0 ", " x "\n\tvmla.f32 %[s1], " w1 ", " x "\n\t" \
    "vmla.f32 %[s2], " w2 ", " x "\n\tvmla.f32 %[s3], " w3 ", " x "\n\t"
/* clang-format off */
#define TFLMGEN_FOUR_COLUMNS_F32                                                                                       \
    "vldmia %[x]!, {s8-s11}\n\tvldmia %[w0]!, {s16-s19}\n\tvldmia %[w1]!, {s20-s23}\n\t"                               \
    "vldmia %[w2]!, {s24-s27}\n\tvldmia %[w3]!, {s28-s31}\n\t"                                                        \
    TFLMGEN_FOUR_VMLA_F32("s8", "s16", "s20", "s24", "s28") TFLMGEN_FOUR_VMLA_F32("s9", "s17", "s21", "s25", "s29")    \
    TFLMGEN_FOUR_VMLA_F32("s10", "s18", "s22", "s26", "s30") TFLMGEN_FOUR_VMLA_F32("s11", "s19", "s23", "s27", "s31")
/* clang-format on */
#define TFLMGEN_EIGHT_COLUMNS_F32 TFLMGEN_FOUR_COLUMNS_F32 TFLMGEN_FOUR_COLUMNS_F32
#define TFLMGEN_ONE_COLUMN_F32 TFLMGEN_FOUR_VMLA_F32("s8", "s16", "s17", "s18", "s19")
#elif TFLMGEN_HAS_FPU
/* Eight columns of two rows, at s16 and s24, with the input at s8: 2 VLDM + 16 VMUL + 16 VADD. The two sums take turns,
 * so that none waits for itself. */
/* clang-format off */
#define TFLMGEN_TWO_ROWS_F32(row_a, row_b, sum_a, sum_b)                                                              \
    "vldmia " row_a "!, {s16-s23}\n\t"                                                                                 \
    "vldmia " row_b "!, {s24-s31}\n\t"                                                                                 \
    "vmul.f32 s16, s16, s8\n\tvmul.f32 s24, s24, s8\n\tvmul.f32 s17, s17, s9\n\tvmul.f32 s25, s25, s9\n\t"             \
    "vmul.f32 s18, s18, s10\n\tvmul.f32 s26, s26, s10\n\tvmul.f32 s19, s19, s11\n\tvmul.f32 s27, s27, s11\n\t"         \
    "vmul.f32 s20, s20, s12\n\tvmul.f32 s28, s28, s12\n\tvmul.f32 s21, s21, s13\n\tvmul.f32 s29, s29, s13\n\t"         \
    "vmul.f32 s22, s22, s14\n\tvmul.f32 s30, s30, s14\n\tvmul.f32 s23, s23, s15\n\tvmul.f32 s31, s31, s15\n\t"         \
    "vadd.f32 " sum_a ", s16\n\tvadd.f32 " sum_b ", s24\n\tvadd.f32 " sum_a ", s17\n\tvadd.f32 " sum_b ", s25\n\t"     \
    "vadd.f32 " sum_a ", s18\n\tvadd.f32 " sum_b ", s26\n\tvadd.f32 " sum_a ", s19\n\tvadd.f32 " sum_b ", s27\n\t"     \
    "vadd.f32 " sum_a ", s20\n\tvadd.f32 " sum_b ", s28\n\tvadd.f32 " sum_a ", s21\n\tvadd.f32 " sum_b ", s29\n\t"     \
    "vadd.f32 " sum_a ", s22\n\tvadd.f32 " sum_b ", s30\n\tvadd.f32 " sum_a ", s23\n\tvadd.f32 " sum_b ", s31\n\t"
#define TFLMGEN_EIGHT_COLUMNS_F32                                                                                      \
    "vldmia %[x]!, {s8-s15}\n\t"                                                                                       \
    TFLMGEN_TWO_ROWS_F32("%[w0]", "%[w1]", "%[s0]", "%[s1]") TFLMGEN_TWO_ROWS_F32("%[w2]", "%[w3]", "%[s2]", "%[s3]")
/* The same of four columns of four rows: 5 VLDM + 16 VMUL + 16 VADD. */
#define TFLMGEN_FOUR_PRODUCTS_F32(x, w0, w1, w2, w3)                                                                   \
    "vmul.f32 " w0 ", " w0 ", " x "\n\tvmul.f32 " w1 ", " w1 ", " x "\n\t"                                             \
    "vmul.f32 " w2 ", " w2 ", " x "\n\tvmul.f32 " w3 ", " w3 ", " x "\n\t"                                             \
    "vadd.f32 %[s0], " w0 "\n\tvadd.f32 %[s1], " w1 "\n\tvadd.f32 %[s2], " w2 "\n\tvadd.f32 %[s3], " w3 "\n\t"
#define TFLMGEN_FOUR_COLUMNS_F32                                                                                       \
    "vldmia %[x]!, {s8-s11}\n\tvldmia %[w0]!, {s16-s19}\n\tvldmia %[w1]!, {s20-s23}\n\t"                               \
    "vldmia %[w2]!, {s24-s27}\n\tvldmia %[w3]!, {s28-s31}\n\t"                                                        \
    TFLMGEN_FOUR_PRODUCTS_F32("s8", "s16", "s20", "s24", "s28")                                                        \
    TFLMGEN_FOUR_PRODUCTS_F32("s9", "s17", "s21", "s25", "s29")                                                        \
    TFLMGEN_FOUR_PRODUCTS_F32("s10", "s18", "s22", "s26", "s30")                                                       \
    TFLMGEN_FOUR_PRODUCTS_F32("s11", "s19", "s23", "s27", "s31")
/* clang-format on */
#define TFLMGEN_ONE_COLUMN_F32                                                                             \
    "vmul.f32 s16, s16, s8\n\tvmul.f32 s17, s17, s8\n\tvmul.f32 s18, s18, s8\n\tvmul.f32 s19, s19, s8\n\t" \
    "vadd.f32 %[s0], s16\n\tvadd.f32 %[s1], s17\n\tvadd.f32 %[s2], s18\n\tvadd.f32 %[s3], s19\n\t"
#endif

/* Which columns of the input a row of weights goes with: `planes` of `runs` of `length` floats side by side. Skips,
 * from the end of a run to the next, and steps, from the begin of a plane or row to the next, are in floats. The
 * assembly reads the first four. */
struct tflmgen_runs_f32 {
    int32_t length;
    int32_t runs;
    int32_t input_skip;
    int32_t weight_skip;
    int32_t planes;
    int32_t input_step;
    int32_t weight_step;
    int32_t row_step;
};

struct tflmgen_sums_f32 {
    float s0;
    float s1;
    float s2;
    float s3;
};

/* Adds input * row of weights to the sum of each of four rows, for one plane.
 *
 * With a floating-point unit eight columns at a time, 32 products: 5 VLDM + 32 VMUL + 32 VADD + 2, or 10 VLDM + 32 VMLA
 * + 2; then four: 5 VLDM + 16 VMUL + 16 VADD, or 5 VLDM + 16 VMLA; then one at a time: 5 VLDM + 4 VMUL + 4 VADD + 2, or
 * 5 VLDM + 4 VMLA + 2. Between runs 13. */
TFLMGEN_HELPER struct tflmgen_sums_f32 tflmgen_dot_rows_f32(struct tflmgen_sums_f32 sums, const tflmgen_f32 *input,
                                                            const tflmgen_f32 *weights,
                                                            const struct tflmgen_runs_f32 *r)
{
    const tflmgen_f32 *row1 = weights + r->row_step;
    const tflmgen_f32 *row2 = row1 + r->row_step;
    const tflmgen_f32 *row3 = row2 + r->row_step;
    int32_t runs = r->runs;
#if TFLMGEN_HAS_FPU
    int32_t left;
    /* clang-format off */
    __asm__ volatile("0:\n\t"
                     "ldr %[left], [%[r]]\n\t"
                     "subs %[left], #8\n\t"
                     "blt 2f\n"
                     "1:\n\t"
                     TFLMGEN_EIGHT_COLUMNS_F32
                     "subs %[left], #8\n\t"
                     "bge 1b\n"
                     "2:\n\t"
                     "adds %[left], #4\n\t"
                     "blt 6f\n\t"
                     TFLMGEN_FOUR_COLUMNS_F32
                     "subs %[left], #4\n"
                     "6:\n\t"
                     "adds %[left], #4\n\t"
                     "beq 4f\n"
                     "3:\n\t"
                     "vldmia %[x]!, {s8}\n\t"
                     "vldmia %[w0]!, {s16}\n\t"
                     "vldmia %[w1]!, {s17}\n\t"
                     "vldmia %[w2]!, {s18}\n\t"
                     "vldmia %[w3]!, {s19}\n\t"
                     TFLMGEN_ONE_COLUMN_F32
                     "subs %[left], #1\n\t"
                     "bne 3b\n"
                     "4:\n\t"
                     "subs %[runs], #1\n\t"
                     "beq 5f\n\t"
                     "ldr %[left], [%[r], #8]\n\t"
                     "add %[x], %[x], %[left], lsl #2\n\t"
                     "ldr %[left], [%[r], #12]\n\t"
                     "add %[w0], %[w0], %[left], lsl #2\n\t"
                     "add %[w1], %[w1], %[left], lsl #2\n\t"
                     "add %[w2], %[w2], %[left], lsl #2\n\t"
                     "add %[w3], %[w3], %[left], lsl #2\n\t"
                     "b 0b\n"
                     "5:"
                     : [s0] "+t"(sums.s0), [s1] "+t"(sums.s1), [s2] "+t"(sums.s2), [s3] "+t"(sums.s3), [x] "+r"(input),
                       [w0] "+r"(weights), [w1] "+r"(row1), [w2] "+r"(row2), [w3] "+r"(row3), [left] "=&r"(left),
                       [runs] "+r"(runs)
                     : [r] "r"(r)
                     : "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15", "s16", "s17", "s18", "s19", "s20", "s21",
                       "s22", "s23", "s24", "s25", "s26", "s27", "s28", "s29", "s30", "s31", "cc", "memory");
    /* clang-format on */
#else
    for (; runs > 0; --runs) {
        for (int32_t i = 0; i < r->length; ++i) {
            sums.s0 += input[i] * weights[i];
            sums.s1 += input[i] * row1[i];
            sums.s2 += input[i] * row2[i];
            sums.s3 += input[i] * row3[i];
        }
        input += r->length + r->input_skip;
        weights += r->length + r->weight_skip;
        row1 += r->length + r->weight_skip;
        row2 += r->length + r->weight_skip;
        row3 += r->length + r->weight_skip;
    }
#endif
    return sums;
}

/* The sum of one row. */
TFLMGEN_HELPER float tflmgen_dot_row_f32(const tflmgen_f32 *input, const tflmgen_f32 *weights,
                                         const struct tflmgen_runs_f32 *r)
{
    float sum = 0.0f;
    for (int32_t plane = 0; plane < r->planes; ++plane) {
        for (int32_t run = 0; run < r->runs; ++run) {
            sum = tflmgen_dot_f32(sum, input + plane * r->input_step + run * (r->length + r->input_skip),
                                  weights + plane * r->weight_step + run * (r->length + r->weight_skip), r->length);
        }
    }
    return sum;
}

/* sums = addends + weights * input, for `rows` rows of weights; addends may be NULL, or sums. The sums of four rows are
 * known before the first of them is written. The last four overlap those before where the rows are not of whole fours;
 * fewer than four are computed one by one. */
static __attribute__((noinline, unused)) void tflmgen_rows_f32(const tflmgen_f32 *input, const tflmgen_f32 *weights,
                                                               const tflmgen_f32 *addends, tflmgen_f32 *sums,
                                                               int32_t rows, const struct tflmgen_runs_f32 *r)
{
    const bool none = r->length <= 0 || r->runs <= 0;
    if (rows < TFLMGEN_ROWS_F32) {
        for (int32_t row = 0; row < rows; ++row) {
            const float sum = none ? 0.0f : tflmgen_dot_row_f32(input, weights + row * r->row_step, r);
            sums[row] = (addends ? addends[row] : 0.0f) + sum;
        }
        return;
    }
    static const float zeros[TFLMGEN_ROWS_F32] = {0.0f, 0.0f, 0.0f, 0.0f};
    const tflmgen_f32 *added = addends ? addends : zeros;
    const int32_t planes = none ? 0 : r->planes;
    for (int32_t left = rows;;) {
        struct tflmgen_sums_f32 four = {0.0f, 0.0f, 0.0f, 0.0f};
        for (int32_t plane = 0; plane < planes; ++plane) {
            four = tflmgen_dot_rows_f32(four, input + plane * r->input_step, weights + plane * r->weight_step, r);
        }
        if (left < TFLMGEN_ROWS_F32) {
            if (left > 2) {
                sums[1] = added[1] + four.s1;
            }
            if (left > 1) {
                sums[2] = added[2] + four.s2;
            }
            sums[3] = added[3] + four.s3;
            return;
        }
        sums[0] = added[0] + four.s0;
        sums[1] = added[1] + four.s1;
        sums[2] = added[2] + four.s2;
        sums[3] = added[3] + four.s3;
        left -= TFLMGEN_ROWS_F32;
        if (left == 0) {
            return;
        }
        const int32_t step = tflmgen_min_s32(left, TFLMGEN_ROWS_F32);
        weights += step * r->row_step;
        sums += step;
        added += addends ? step : 0;
    }
}

/* The same for a matrix of weights [rows, length] and a vector. */
TFLMGEN_HELPER void tflmgen_matrix_f32(const tflmgen_f32 *input, const tflmgen_f32 *weights, const tflmgen_f32 *addends,
                                       tflmgen_f32 *sums, int32_t length, int32_t rows)
{
    const struct tflmgen_runs_f32 runs = {length, 1, 0, 0, 1, 0, 0, length};
    tflmgen_rows_f32(input, weights, addends, sums, rows, &runs);
}

/* Brings values into a range; NaN stays. Where the range is that of all finite floats above its least value, only
 * infinities are beyond it, and a sum that is finite shows that there are none. */
static __attribute__((noinline, unused)) void tflmgen_clamp_row_f32(tflmgen_f32 *values, int32_t count, float least,
                                                                    float greatest)
{
    float sum = 0.0f;
    if (least <= -FLT_MAX && greatest >= FLT_MAX) {
        TFLMGEN_UNROLL_4
        for (int32_t i = 0; i < count; ++i) {
            sum += values[i];
        }
    } else if (greatest >= FLT_MAX) {
        TFLMGEN_UNROLL_4
        for (int32_t i = 0; i < count; ++i) {
            const float value = values[i];
            sum += value;
            values[i] = value < least ? least : value;
        }
    }
    if (greatest < FLT_MAX || !(sum - sum >= 0.0f)) {
        for (int32_t i = 0; i < count; ++i) {
            values[i] = tflmgen_clamp_f32(values[i], least, greatest);
        }
    }
}

#endif
