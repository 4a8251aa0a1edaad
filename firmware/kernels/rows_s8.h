/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Products of int8 matrices and vectors, four rows of weights at a time: the innermost loops of layers that quantise
 * their float32 input.
 */
#ifndef TFLMGEN_KERNELS_ROWS_S8_H
#define TFLMGEN_KERNELS_ROWS_S8_H

#include "dot.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* 64 products: 5 VLDRB, 4 VMLADAVA, LETP, which stops at the last column; with an offset 32, and VADD. */
#define TFLMGEN_ROWS_MVE_S8(size, load, ADD, step)                                                                  \
    __asm__ volatile("wlstp." size " lr, %[length], 2f\n"                                                           \
                     "1:\n\t"                                                                                       \
                     "vldrb." load " q0, [%[input]], #" step "\n\t" ADD "vldrb." load " q1, [%[w0]], #" step "\n\t" \
                     "vmladava.s" size " %[s0], q0, q1\n\t"                                                         \
                     "vldrb." load " q2, [%[w1]], #" step "\n\t"                                                    \
                     "vmladava.s" size " %[s1], q0, q2\n\t"                                                         \
                     "vldrb." load " q1, [%[w2]], #" step "\n\t"                                                    \
                     "vmladava.s" size " %[s2], q0, q1\n\t"                                                         \
                     "vldrb." load " q2, [%[w3]], #" step "\n\t"                                                    \
                     "vmladava.s" size " %[s3], q0, q2\n\t"                                                         \
                     "letp lr, 1b\n"                                                                                \
                     "2:"                                                                                           \
                     : [s0] "+&Te"(s0), [s1] "+&Te"(s1), [s2] "+&Te"(s2), [s3] "+&Te"(s3), [input] "+&l"(input),    \
                       [w0] "+&l"(weights), [w1] "+&l"(row1), [w2] "+&l"(row2), [w3] "+&l"(row3)                    \
                     : [length] "r"(length), [offset] "r"(offset)                                                   \
                     : "lr", "q0", "q1", "q2", "cc", "memory")

TFLMGEN_SHARED void tflmgen_dot_rows_mve_s8(tflmgen_s32 sums[4], const int8_t *input, const int8_t *weights,
                                            int32_t stride, int32_t length, int32_t offset)
{
    const int8_t *row1 = weights + stride;
    const int8_t *row2 = row1 + stride;
    const int8_t *row3 = row2 + stride;
    int32_t s0 = sums[0];
    int32_t s1 = sums[1];
    int32_t s2 = sums[2];
    int32_t s3 = sums[3];
    if (offset == 0) {
        TFLMGEN_ROWS_MVE_S8("8", "8", "", "16");
    } else {
        TFLMGEN_ROWS_MVE_S8("16", "s16", "vadd.i16 q0, q0, %[offset]\n\t", "8");
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

#elif defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
struct tflmgen_rows_s8_block {
    int32_t sums[4];
    int32_t stride;
    uint32_t offsets; /* in both halves */
};

/* Four columns of four rows, 16 products: LDR + 2 SXTAB16 + 4 (LDR + 2 SXTB16 + 2 SMLAD), and 2 for the loop.
 * Registers: r0 input, r1 and r2 rows 0 and 2, r3 stride, r4-r7 sums, r8-r9 input widened, r10-r11 weights, r12
 * offsets, lr passes. */
TFLMGEN_SHARED void tflmgen_rows_s8_block(const int8_t *input, const int8_t *weights,
                                          struct tflmgen_rows_s8_block *block, int32_t passes)
{
    TFLMGEN_IN_REGISTERS_4(input, weights, block, passes);
    __asm__ volatile("push {r2, r4-r11, lr}\n\t"
                     "mov lr, r3\n\t"
                     "ldmia r2, {r4-r7}\n\t"
                     "ldrd r3, r12, [r2, #16]\n\t"
                     "add r2, r1, r3, lsl #1\n"
                     "1:\n\t"
                     "ldr r9, [r0], #4\n\t"
                     "ldr r11, [r1, r3]\n\t"
                     "sxtab16 r8, r12, r9\n\t"
                     "sxtab16 r9, r12, r9, ror #8\n\t"
                     "sxtb16 r10, r11\n\tsxtb16 r11, r11, ror #8\n\t"
                     "smlad r5, r8, r10, r5\n\tsmlad r5, r9, r11, r5\n\t"
                     "ldr r11, [r1], #4\n\t"
                     "sxtb16 r10, r11\n\tsxtb16 r11, r11, ror #8\n\t"
                     "smlad r4, r8, r10, r4\n\tsmlad r4, r9, r11, r4\n\t"
                     "ldr r11, [r2, r3]\n\t"
                     "sxtb16 r10, r11\n\tsxtb16 r11, r11, ror #8\n\t"
                     "smlad r7, r8, r10, r7\n\tsmlad r7, r9, r11, r7\n\t"
                     "ldr r11, [r2], #4\n\t"
                     "sxtb16 r10, r11\n\tsxtb16 r11, r11, ror #8\n\t"
                     "smlad r6, r8, r10, r6\n\tsmlad r6, r9, r11, r6\n\t"
                     "subs lr, lr, #1\n\t"
                     "bne 1b\n\t"
                     "pop {r2}\n\t"
                     "stmia r2, {r4-r7}\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "r12", "cc", "memory");
}
#endif

/* sums[r] += sum of (input[i] + offset) * row r [i], for four rows that are `stride` apart. */
TFLMGEN_HELPER void tflmgen_dot_rows_s8(int32_t sums[4], const int8_t *input, const int8_t *weights, int32_t stride,
                                        int32_t length, int32_t offset)
{
#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
    tflmgen_dot_rows_mve_s8(sums, input, weights, stride, length, offset);
#else
    int32_t i = 0;
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
    if (length >= 4) {
        struct tflmgen_rows_s8_block block = {{sums[0], sums[1], sums[2], sums[3]}, stride, tflmgen_splat2(offset)};
        tflmgen_rows_s8_block(input, weights, &block, length / 4);
        for (int32_t row = 0; row < 4; ++row) {
            sums[row] = block.sums[row];
        }
        i = length / 4 * 4;
    }
#endif
    for (; i < length; ++i) {
        const int32_t x = input[i] + offset;
        sums[0] += x * weights[i];
        sums[1] += x * weights[stride + i];
        sums[2] += x * weights[2 * stride + i];
        sums[3] += x * weights[3 * stride + i];
    }
#endif
}

#endif
