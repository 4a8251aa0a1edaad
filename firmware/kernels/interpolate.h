/* Functions of int16 by tables of 513 numbers. */
#ifndef TFLMGEN_KERNELS_INTERPOLATE_H
#define TFLMGEN_KERNELS_INTERPOLATE_H

#include "common.h"

/* A table has numbers at the multiples of 2^7. */
#define TFLMGEN_INTERPOLATED_BITS 7

/* A table interpolated; what leaves 16 bits wraps, as in TFLite. */
TFLMGEN_HELPER int32_t tflmgen_interpolate_s16(const tflmgen_s16 *table, int32_t x)
{
    const int32_t bits = TFLMGEN_INTERPOLATED_BITS;
    const int32_t step = 1 << bits;
    const tflmgen_s16 *const at = table + (1 << (15 - bits)) + (x >> bits);
    const int32_t slope = (int16_t)(uint16_t)(at[1] - at[0]);
    return (int16_t)(uint16_t)(at[0] + ((slope * (x & (step - 1)) + step / 2) >> bits));
}

struct tflmgen_interpolated {
    int32_t elements;
};

/* Safe where input and output begin at the same byte. */
TFLMGEN_KERNEL void tflmgen_interpolated_s16(const tflmgen_s16 *input, const tflmgen_s16 *table, tflmgen_s16 *output,
                                             const struct tflmgen_interpolated *params)
{
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = (int16_t)tflmgen_interpolate_s16(table, input[i]);
    }
}

#endif
