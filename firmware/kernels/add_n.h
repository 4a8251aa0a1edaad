/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* ADD_N of any number of tensors of one shape. `layout` is made at build time; its entries are: */
#ifndef TFLMGEN_KERNELS_ADD_N_H
#define TFLMGEN_KERNELS_ADD_N_H

#include "requantize.h"

enum {
    TFLMGEN_ADD_N_ELEMENTS,
    TFLMGEN_ADD_N_INPUTS,
    TFLMGEN_ADD_N_INPUT_OFFSET, /* int8 only, from here on: minus the inputs' zero point */
    TFLMGEN_ADD_N_OUTPUT_OFFSET,
    TFLMGEN_ADD_N_MULTIPLIER,
    TFLMGEN_ADD_N_SHIFT
};

/* tflmgen_add_n_f32(layout, output, input, input, ...) and so on */
#define tflmgen_add_n_f32(layout, output, ...) tflmgen_add_all_f32(layout, output, (const void *const[]){__VA_ARGS__})
#define tflmgen_add_n_s32(layout, output, ...) tflmgen_add_all_s32(layout, output, (const void *const[]){__VA_ARGS__})
#define tflmgen_add_n_s8(layout, output, ...) tflmgen_add_all_s8(layout, output, (const void *const[]){__VA_ARGS__})

#define TFLMGEN_DEFINE_ADD_ALL(name, type, sum_type)                                             \
    TFLMGEN_KERNEL void name(const tflmgen_s32 *layout, type *output, const void *const *inputs) \
    {                                                                                            \
        for (int32_t i = 0; i < layout[TFLMGEN_ADD_N_ELEMENTS]; i++) {                           \
            sum_type sum = 0;                                                                    \
            for (int32_t input = 0; input < layout[TFLMGEN_ADD_N_INPUTS]; input++) {             \
                sum += (sum_type)((const type *)inputs[input])[i];                               \
            }                                                                                    \
            output[i] = (type)sum;                                                               \
        }                                                                                        \
    }

TFLMGEN_DEFINE_ADD_ALL(tflmgen_add_all_f32, tflmgen_f32, tflmgen_f32)
TFLMGEN_DEFINE_ADD_ALL(tflmgen_add_all_s32, tflmgen_s32, tflmgen_u32)

/* Sums are halves of the inputs' scale with 20 more bits. TFLite Micro's begin with minus the zero point, and so do
 * these. */
TFLMGEN_KERNEL void tflmgen_add_all_s8(const tflmgen_s32 *layout, int8_t *output, const void *const *inputs)
{
    const int32_t offset = layout[TFLMGEN_ADD_N_INPUT_OFFSET];
    for (int32_t i = 0; i < layout[TFLMGEN_ADD_N_ELEMENTS]; i++) {
        int32_t sum = offset * (1 << 19);
        for (int32_t input = 0; input < layout[TFLMGEN_ADD_N_INPUTS]; input++) {
            sum = tflmgen_add_wrap_s32(sum, (((const int8_t *)inputs[input])[i] + offset) * (1 << 19));
        }
        const int32_t scaled = tflmgen_requantize(sum, layout[TFLMGEN_ADD_N_MULTIPLIER], layout[TFLMGEN_ADD_N_SHIFT]);
        output[i] = (int8_t)tflmgen_clamp_s32(scaled + layout[TFLMGEN_ADD_N_OUTPUT_OFFSET], INT8_MIN, INT8_MAX);
    }
}

#endif
