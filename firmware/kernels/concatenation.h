/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONCATENATION, PACK, SPLIT, SPLIT_V and UNPACK, of any number of tensors.
 *
 * `layout` is made at build time: how often one block of each tensor follows another (the product of the dimensions
 * before the axis), the number of tensors, and the bytes of each tensor's block.
 */
#ifndef TFLMGEN_KERNELS_CONCATENATION_H
#define TFLMGEN_KERNELS_CONCATENATION_H

#include "move.h"

/* tflmgen_concatenation(layout, output, input, input, ...) */
#define tflmgen_concatenation(layout, output, ...) \
    tflmgen_concatenate_all(layout, output, (const void *const[]){__VA_ARGS__})

/* tflmgen_split(layout, input, output, output, ...) */
#define tflmgen_split(layout, input, ...) tflmgen_split_all(layout, input, (void *const[]){__VA_ARGS__})

TFLMGEN_KERNEL void tflmgen_concatenate_all(const tflmgen_s32 *layout, void *output, const void *const *inputs)
{
    const int32_t repeats = layout[0];
    const int32_t tensors = layout[1];
    uint8_t *to = output;
    for (int32_t repeat = 0; repeat < repeats; repeat++) {
        for (int32_t i = 0; i < tensors; i++) {
            const int32_t block = layout[2 + i];
            tflmgen_move_block(to, (const uint8_t *)inputs[i] + repeat * block, block);
            to += block;
        }
    }
}

TFLMGEN_KERNEL void tflmgen_split_all(const tflmgen_s32 *layout, const void *input, void *const *outputs)
{
    const int32_t repeats = layout[0];
    const int32_t tensors = layout[1];
    const uint8_t *from = input;
    for (int32_t repeat = 0; repeat < repeats; repeat++) {
        for (int32_t i = 0; i < tensors; i++) {
            const int32_t block = layout[2 + i];
            tflmgen_move_block((uint8_t *)outputs[i] + repeat * block, from, block);
            from += block;
        }
    }
}

#endif
