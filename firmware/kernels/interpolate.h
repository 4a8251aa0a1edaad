/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Functions of int16 by tables of 513 numbers, interpolated, bit for bit as TFLite does it: table[i] is the function of
 * (i - 256) * 2^7. */
#ifndef TFLMGEN_KERNELS_INTERPOLATE_H
#define TFLMGEN_KERNELS_INTERPOLATE_H

#include "mve.h"

/* A table has entries at the multiples of 2^7. */
#define TFLMGEN_INTERPOLATED_BITS 7

/* A table interpolated; what leaves 16 bits wraps, as in TFLite. */
TFLMGEN_HELPER int32_t tflmgen_interpolate_s16(const tflmgen_s16 *table, int32_t x)
{
    const int32_t bits = TFLMGEN_INTERPOLATED_BITS;
    const int32_t step = 1 << bits;
    const tflmgen_s16 *const entry = table + (1 << (15 - bits)) + (x >> bits);
    const int32_t slope = (int16_t)(uint16_t)(entry[1] - entry[0]);
    return (int16_t)(uint16_t)(entry[0] + ((slope * (x & (step - 1)) + step / 2) >> bits));
}

struct tflmgen_interpolated {
    int32_t elements;
};

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
/* tflmgen_interpolate_s16 of q0's elements, to which 2^15 was added: 2 gathering VLDRH and 7. */
#define TFLMGEN_INTERPOLATE_q0                  \
    "vshr.u32 q1, q0, #7\n\t"                   \
    "vand q0, q0, %q[fractions]\n\t"            \
    "vldrh.s32 q2, [%[table], q1, uxtw #1]\n\t" \
    "vldrh.s32 q3, [%[next], q1, uxtw #1]\n\t"  \
    "vsub.i32 q3, q3, q2\n\t"                   \
    "vmovlb.s16 q3, q3\n\t"                     \
    "vmul.i32 q0, q0, q3\n\t"                   \
    "vrshr.s32 q0, q0, #7\n\t"                  \
    "vadd.i32 q0, q0, q2\n\t"
#define TFLMGEN_INTERPOLATED_TABLE(first) [table] "r"(first), [next] "r"((first) + 1), [fractions] "w"(vdupq_n_s32(127))

/* Four: VLDRH, VADD, 9, VSTRH, LETP. */
TFLMGEN_KERNEL void tflmgen_interpolated_s16(const tflmgen_s16 *input, const tflmgen_s16 *table, tflmgen_s16 *output,
                                             const struct tflmgen_interpolated *params)
{
    __asm__ volatile("wlstp.32 lr, %[elements], 2f\n"
                     "1:\n\t"
                     "vldrh.s32 q0, [%[input]], #8\n\t"
                     "vadd.i32 q0, q0, %[half]\n\t" TFLMGEN_INTERPOLATE_q0 "vstrh.32 q0, [%[output]], #8\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [input] "+l"(input), [output] "+l"(output)
                     : [half] "r"(1 << 15), [elements] "r"(params->elements), TFLMGEN_INTERPOLATED_TABLE(table)
                     : "lr", "q0", "q1", "q2", "q3", "memory");
}
#else
/* Safe where input and output begin at the same byte. */
TFLMGEN_KERNEL void tflmgen_interpolated_s16(const tflmgen_s16 *input, const tflmgen_s16 *table, tflmgen_s16 *output,
                                             const struct tflmgen_interpolated *params)
{
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = (int16_t)tflmgen_interpolate_s16(table, input[i]);
    }
}
#endif

#endif
