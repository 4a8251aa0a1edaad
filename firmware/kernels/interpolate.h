/* Functions of int16 by tables of 513 numbers. */
#ifndef TFLMGEN_KERNELS_INTERPOLATE_H
#define TFLMGEN_KERNELS_INTERPOLATE_H

#include "common.h"

/* A table of 513 numbers at the multiples of 128, interpolated; what leaves 16 bits wraps, as in TFLite. */
TFLMGEN_HELPER int32_t tflmgen_interpolate_s16(const int16_t *table, int32_t x)
{
    const int16_t *const at = table + 256 + (x >> 7);
    const int32_t slope = (int16_t)(uint16_t)(at[1] - at[0]);
    return (int16_t)(uint16_t)(at[0] + ((slope * (x & 127) + 64) >> 7));
}

struct tflmgen_interpolated {
    int32_t elements;
};

/* Safe where input and output begin at the same byte. */
TFLMGEN_KERNEL void tflmgen_interpolated_s16(const int16_t *input, const int16_t *table, int16_t *output,
                                             const struct tflmgen_interpolated *params)
{
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = (int16_t)tflmgen_interpolate_s16(table, input[i]);
    }
}

#endif
