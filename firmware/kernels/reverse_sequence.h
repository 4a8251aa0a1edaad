/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* REVERSE_SEQUENCE: of each sequence of a batch, its first elements come in the opposite order, the rest stays. */
#ifndef TFLMGEN_KERNELS_REVERSE_SEQUENCE_H
#define TFLMGEN_KERNELS_REVERSE_SEQUENCE_H

#include <string.h>

#include "common.h"

/* The tensor is [outer, first, between, second, block]; of `first` and `second`, one counts the batch and the other one
 * the steps of a sequence. */
struct tflmgen_reverse_sequence {
    int32_t outer;
    int32_t first;
    int32_t between;
    int32_t second;
    int32_t block_bytes;
    bool batch_first;
};

/* The step whose block comes to `step` in a sequence of which `length` steps change places. A length out of range is
 * moved to the nearest that exists. */
#define TFLMGEN_REVERSED_STEP(step, length) ((step) < (length) ? (int32_t)(length) - 1 - (step) : (step))

#define TFLMGEN_DEFINE_REVERSE_SEQUENCE(name, length_type)                                                 \
    TFLMGEN_KERNEL void name(const void *input, const length_type *lengths, void *output,                  \
                             const struct tflmgen_reverse_sequence *params)                                \
    {                                                                                                      \
        const uint8_t *from = input;                                                                       \
        uint8_t *to = output;                                                                              \
        const length_type longest = params->batch_first ? params->second : params->first;                  \
        const int32_t row = params->second * params->block_bytes, plane = params->between * row;           \
        for (int32_t outer = 0; outer < params->outer; outer++, from += params->first * plane) {           \
            for (int32_t i = 0; i < params->first; i++) {                                                  \
                for (int32_t between = 0; between < params->between; between++) {                          \
                    for (int32_t j = 0; j < params->second; j++, to += params->block_bytes) {              \
                        const length_type given = lengths[params->batch_first ? i : j];                    \
                        const length_type length = given > longest ? longest : given;                      \
                        const int32_t first = params->batch_first ? i : TFLMGEN_REVERSED_STEP(i, length);  \
                        const int32_t second = params->batch_first ? TFLMGEN_REVERSED_STEP(j, length) : j; \
                        memcpy(to, from + first * plane + between * row + second * params->block_bytes,    \
                               (size_t)params->block_bytes);                                               \
                    }                                                                                      \
                }                                                                                          \
            }                                                                                              \
        }                                                                                                  \
    }

TFLMGEN_DEFINE_REVERSE_SEQUENCE(tflmgen_reverse_sequence_s32, tflmgen_s32)
TFLMGEN_DEFINE_REVERSE_SEQUENCE(tflmgen_reverse_sequence_s64, tflmgen_s64)

#endif
