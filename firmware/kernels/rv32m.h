/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* What the kernels for RV32IM share: RISC-V with 31 registers, MUL and MULH, and no instructions for parts of words.
 *
 * They are C, so that any compiler takes them, and are chosen for cores with these instructions. Two products take one
 * MUL, as in thumb.h, whose notes on words and halves hold here, too.
 *
 * Requantisation (words: requantize.h), with constants of the form that dsp.h explains, for any number b of bits that
 * sums are scaled by: y = hi32((start + 2^b sum) m) + addend, less the sign fix 2^(b - 1) of negative sums where they
 * need it, and the output is (y >> s) - 128, saturated. `addend` has 2^s times the zero point + 128 among its terms.
 */
#ifndef TFLMGEN_KERNELS_RV32M_H
#define TFLMGEN_KERNELS_RV32M_H

#include "common.h"

/* Compiled once per source file, and called: the parameters are read at run time. */
#ifndef TFLMGEN_SHARED
#define TFLMGEN_SHARED static __attribute__((noinline, unused))
#endif

/* Scheduled before registers are allotted, the loads of a pass come first, and GCC has no registers left for sums. */
#if defined(__riscv) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-schedule-insns")
#endif

/* What a channel is requantised by. */
struct tflmgen_rv32m_channel {
    tflmgen_s32 start;
    tflmgen_s32 multiplier;
    tflmgen_s32 addend;
    tflmgen_s32 shift;
};

/* MULH: the upper 32 bits of a product. */
TFLMGEN_HELPER int32_t tflmgen_mulh(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b) >> 32);
}

/* The output of a scaled sum, start included. sign_fix: 0, or 2^(b - 1). */
TFLMGEN_HELPER int8_t tflmgen_output_rv32m_s8(int32_t scaled, int32_t multiplier, int32_t addend, int32_t shift,
                                              int32_t sign_fix)
{
    int32_t result = tflmgen_mulh(scaled, multiplier) + addend;
    if (sign_fix != 0) {
        result -= tflmgen_sign_mask(scaled) & sign_fix;
    }
    result >>= shift;
    if ((uint32_t)result > 255u) {
        result = ~tflmgen_sign_mask(result);
    }
    return (int8_t)(result - 128);
}

/* Clamps `count` values in place, where the range is smaller than that of int8. */
TFLMGEN_SHARED void tflmgen_clamp_rv32m_s8(int8_t *values, int32_t count, int32_t least, int32_t greatest)
{
    if (least == INT8_MIN && greatest == INT8_MAX) {
        return;
    }
    for (int32_t i = 0; i < count; ++i) {
        values[i] = (int8_t)tflmgen_clamp_s32(values[i], least, greatest);
    }
}

#endif
