/* Products of float matrices and vectors, four rows of weights at a time: the innermost loops of float32 layers.
 *
 * Each sum adds its products one after the other, rounding the product and the sum, on every core. So the results do
 * not depend on how many rows are computed at a time.
 */
#ifndef TFLMGEN_KERNELS_ROWS_F32_H
#define TFLMGEN_KERNELS_ROWS_F32_H

#include "dot.h"

/* Rows that are computed at a time; others are computed alone where there are fewer than these. */
#define TFLMGEN_ROWS_F32 4

/* Whether there are the instructions of a floating-point unit in Thumb-2 code. */
#if defined(__ARM_FP) && (__ARM_FP & 4) && defined(__thumb2__)
#define TFLMGEN_HAS_FPU 1
#else
#define TFLMGEN_HAS_FPU 0
#endif

#if TFLMGEN_HAS_FPU
/* Eight products each of two rows, at s16 and s24, with the input at s8: VMUL and VADD take a cycle each on a Cortex-M4,
 * VFMA and VMLA three. The two sums alternate, so that none waits for itself. */
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
#endif

/* sums[r] += input * row r of weights, for four rows that are `stride` apart.
 *
 * With a floating-point unit eight columns at a time: 5 VLDM + 32 VMUL + 32 VADD + 2 for 32 products, the rest of the
 * columns one at a time: 5 VLDM + 4 VMUL + 4 VADD + 2. */
TFLMGEN_HELPER void tflmgen_dot_rows_f32(float sums[TFLMGEN_ROWS_F32], const float *input, const float *weights,
                                         int32_t stride, int32_t length)
{
    const float *row1 = weights + stride;
    const float *row2 = row1 + stride;
    const float *row3 = row2 + stride;
    float sum0 = sums[0];
    float sum1 = sums[1];
    float sum2 = sums[2];
    float sum3 = sums[3];
#if TFLMGEN_HAS_FPU
    __asm__ volatile("subs %[left], #8\n\t"
                     "blt 2f\n"
                     "1:\n\t"
                     "vldmia %[x]!, {s8-s15}\n\t" TFLMGEN_TWO_ROWS_F32("%[w0]", "%[w1]", "%[s0]", "%[s1]")
                         TFLMGEN_TWO_ROWS_F32("%[w2]", "%[w3]", "%[s2]", "%[s3]")
                     "subs %[left], #8\n\t"
                     "bge 1b\n"
                     "2:\n\t"
                     "adds %[left], #8\n\t"
                     "beq 4f\n"
                     "3:\n\t"
                     "vldmia %[x]!, {s8}\n\t"
                     "vldmia %[w0]!, {s16}\n\t"
                     "vldmia %[w1]!, {s17}\n\t"
                     "vldmia %[w2]!, {s18}\n\t"
                     "vldmia %[w3]!, {s19}\n\t"
                     "vmul.f32 s16, s16, s8\n\tvmul.f32 s17, s17, s8\n\t"
                     "vmul.f32 s18, s18, s8\n\tvmul.f32 s19, s19, s8\n\t"
                     "vadd.f32 %[s0], s16\n\tvadd.f32 %[s1], s17\n\t"
                     "vadd.f32 %[s2], s18\n\tvadd.f32 %[s3], s19\n\t"
                     "subs %[left], #1\n\t"
                     "bne 3b\n"
                     "4:"
                     : [s0] "+t"(sum0), [s1] "+t"(sum1), [s2] "+t"(sum2), [s3] "+t"(sum3), [x] "+r"(input),
                       [w0] "+r"(weights), [w1] "+r"(row1), [w2] "+r"(row2), [w3] "+r"(row3), [left] "+r"(length)
                     :
                     : "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15", "s16", "s17", "s18", "s19", "s20", "s21",
                       "s22", "s23", "s24", "s25", "s26", "s27", "s28", "s29", "s30", "s31", "cc", "memory");
#else
    for (int32_t i = 0; i < length; ++i) {
        sum0 += input[i] * weights[i];
        sum1 += input[i] * row1[i];
        sum2 += input[i] * row2[i];
        sum3 += input[i] * row3[i];
    }
#endif
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}

/* sums = addends + weights [rows, length] * input; addends may be NULL, or sums. The sums of four rows are known before
 * the first of them is written. The last four overlap those before where the rows are not of whole fours. */
static __attribute__((noinline, unused)) void tflmgen_matrix_f32(const float *input, const float *weights,
                                                                 const float *addends, float *sums, int32_t length,
                                                                 int32_t rows)
{
    if (rows < TFLMGEN_ROWS_F32) {
        for (int32_t row = 0; row < rows; ++row) {
            const float sum = tflmgen_dot_f32(0.0f, input, weights + row * length, length);
            sums[row] = (addends ? addends[row] : 0.0f) + sum;
        }
        return;
    }
    for (int32_t row = 0; row < rows; row += TFLMGEN_ROWS_F32) {
        const int32_t first = tflmgen_min_s32(row, rows - TFLMGEN_ROWS_F32);
        float four[TFLMGEN_ROWS_F32] = {0.0f, 0.0f, 0.0f, 0.0f};
        tflmgen_dot_rows_f32(four, input, weights + first * length, length, length);
        for (int32_t i = row - first; i < TFLMGEN_ROWS_F32; ++i) {
            sums[first + i] = (addends ? addends[first + i] : 0.0f) + four[i];
        }
    }
}

#endif
