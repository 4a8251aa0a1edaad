/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Functions of one int8 element as tables of 256 results, made at build time: of -128 first, of 127 last. */
#ifndef TFLMGEN_KERNELS_LOOKUP_H
#define TFLMGEN_KERNELS_LOOKUP_H

#include "common.h"

struct tflmgen_lookup {
    int32_t elements;
};

/* output = table[input + 128] */
TFLMGEN_KERNEL void tflmgen_lookup_s8(const int8_t *input, const int8_t *table, int8_t *output,
                                      const struct tflmgen_lookup *params)
{
    const int8_t *entry_of_zero = table + 128;
#if defined(__GNUC__) && defined(__arm__)
    __asm__("" : "+r"(entry_of_zero)); /* so that 128 is added once, not to each index */
#endif
    TFLMGEN_UNROLL_4
    for (int32_t i = 0; i < params->elements; i++) {
        output[i] = entry_of_zero[input[i]];
    }
}

#endif
