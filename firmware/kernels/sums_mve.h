/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Sums of rows of int8 weights times one row of int8 values, and their requantisation, for SVDF and LSTM on cores with
 * MVE.
 *
 * The weights are groups of eight rows as FULLY_CONNECTED has them (fully_connected_mve.h), filled up with zeros:
 *
 *     8 biases | (16 weights of each row) * chunks
 */
#ifndef TFLMGEN_KERNELS_SUMS_MVE_H
#define TFLMGEN_KERNELS_SUMS_MVE_H

#include "fully_connected_mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* Bytes of rows on the stack, each filled up to whole chunks of 16. */
#define TFLMGEN_SUMS_MVE_STACK_BYTES 320

/* The next eight sums of a row of `chunks` chunks; returns where the next group begins. Registers: r1 row, r3 chunks
 * that remain, r9 stream, the even ones sums. Stack: at 0 the address of `sums`. */
TFLMGEN_SHARED const int8_t *tflmgen_sums_mve(const int8_t *row, const int8_t *stream, int32_t chunks,
                                              tflmgen_s32 *sums)
{
    TFLMGEN_IN_REGISTERS_4(row, stream, chunks, sums);
    /* clang-format off */
    __asm__ volatile("push {r3, r4-r11, lr}\n\t"
                     "mov r9, r1\n\t"
                     "mov r1, r0\n\t"
                     "mov r3, r2\n\t"
                     "ldmia.w r9!, {r0, r2, r4, r6, r8, r10, r12, lr}\n"
                     "1:\n\t" TFLMGEN_FULLY_CONNECTED_MVE_CHUNK
                     "subs r3, r3, #1\n\t"
                     "bne 1b\n\t"
                     "ldr r3, [sp]\n\t"
                     "stmia r3!, {r0, r2, r4, r6, r8, r10, r12, lr}\n\t"
                     "mov r0, r9\n\t"
                     "pop {r3, r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "r12", "q0", "q1", "q2", "cc", "memory");
    /* clang-format on */
    return r0;
}

/* tflmgen_requantize by a multiplier above 0, with the sign fix (mve.h) where there is a second rounding. */
TFLMGEN_HELPER int32x4_t tflmgen_requantize_mve(int32x4_t values, int32_t multiplier, int32_t shift)
{
    if (shift >= 0) {
        return vqrdmulhq_n_s32(vshlq_r_s32(values, shift), multiplier);
    }
    const int32x4_t high = vqrdmulhq_n_s32(values, multiplier);
    return vrshlq_n_s32(vqdmlahq_n_s32(high, high, 1), shift);
}

TFLMGEN_HELPER int32x4_t tflmgen_clamp_mve(int32x4_t values, int32_t least, int32_t greatest)
{
    return vmaxq_s32(vminq_s32(values, vdupq_n_s32(greatest)), vdupq_n_s32(least));
}

#endif

#endif
