/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* A window over the last slices of a stream, the oldest first. */
#ifndef TFLMGEN_KERNELS_CIRCULAR_BUFFER_H
#define TFLMGEN_KERNELS_CIRCULAR_BUFFER_H

#include <string.h>

#include "common.h"

struct tflmgen_circular_buffer {
    int32_t slot;
    int32_t memory;
    int32_t cycles;
};

/* `before` and `after` are the slices but the newest, before and after the call, and may be one; so may the counts of
 * calls until `valid` is true. What is absent is NULL. */
TFLMGEN_KERNEL void tflmgen_circular_buffer(const int8_t *input, const int8_t *before, const tflmgen_s32 *count_before,
                                            int8_t *output, tflmgen_bool *valid, int8_t *after,
                                            tflmgen_s32 *count_after, const struct tflmgen_circular_buffer *params)
{
    const size_t memory = (size_t)params->memory;
    const size_t slot = (size_t)params->slot;
    if (memory != 0) {
        memcpy(output, before, memory);
    }
    memcpy(output + memory, input, slot);
    if (memory != 0) {
        memcpy(after, output + slot, memory);
    }
    if (valid) {
        const int32_t left = *count_before - 1;
        *valid = left == 0;
        *count_after = left == 0 ? params->cycles : left;
    }
}

#endif
