/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Tables of 256 results for cores with MVE. */
#ifndef TFLMGEN_KERNELS_LOOKUP_MVE_H
#define TFLMGEN_KERNELS_LOOKUP_MVE_H

#include "lookup.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

#include <arm_mve.h>

/* output = table[input + 128]. 16 elements: VLDRB, VEOR, a gathering VLDRB, VSTRB, LETP, which stops at the last
 * one. */
TFLMGEN_KERNEL void tflmgen_lookup_mve_s8(const int8_t *input, const int8_t *table, int8_t *output,
                                          const struct tflmgen_lookup *params)
{
    const uint8x16_t sign = vdupq_n_u8(128);
    __asm__ volatile("wlstp.8 lr, %[elements], 2f\n"
                     "1:\n\t"
                     "vldrb.8 q0, [%[input]], #16\n\t"
                     "veor q0, q0, %q[sign]\n\t"
                     "vldrb.u8 q1, [%[table], q0]\n\t"
                     "vstrb.8 q1, [%[output]], #16\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [input] "+r"(input), [output] "+r"(output)
                     : [table] "r"(table), [sign] "w"(sign), [elements] "r"(params->elements)
                     : "lr", "q0", "q1", "memory");
}

#endif

#endif
