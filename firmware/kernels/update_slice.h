/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DYNAMIC_UPDATE_SLICE: a tensor with a part of it replaced, at a place known at run time. */
#ifndef TFLMGEN_KERNELS_UPDATE_SLICE_H
#define TFLMGEN_KERNELS_UPDATE_SLICE_H

#include <string.h>

#include "nest.h"

struct tflmgen_update_slice {
    int32_t rank;
    int32_t extent[TFLMGEN_MAX_RANK]; /* of the update */
    int32_t stride[TFLMGEN_MAX_RANK]; /* of the output, in bytes */
    int32_t last[TFLMGEN_MAX_RANK];   /* the greatest beginning at which the update fits */
    int32_t element_bytes;
    int32_t bytes; /* of the output */
};

/* Beginnings out of range are moved to where the update fits. */
#define TFLMGEN_DEFINE_UPDATE_SLICE(name, index_type)                                                           \
    TFLMGEN_KERNEL void name(const void *input, const void *update, const index_type *begin, void *output,      \
                             const struct tflmgen_update_slice *params)                                         \
    {                                                                                                           \
        int32_t offset = 0;                                                                                     \
        for (int32_t axis = 0; axis < params->rank; axis++) {                                                   \
            const index_type last = params->last[axis];                                                         \
            const index_type start = begin[axis] < 0 ? 0 : begin[axis] > last ? last : begin[axis];             \
            offset += (int32_t)start * params->stride[axis];                                                    \
        }                                                                                                       \
        if (output != input) {                                                                                  \
            memmove(output, input, (size_t)params->bytes);                                                      \
        }                                                                                                       \
        const int32_t row = params->rank - 1;                                                                   \
        const size_t length = (size_t)(params->extent[row] * params->element_bytes);                            \
        struct tflmgen_nest_cursor cursor = {{0}, offset, 0};                                                   \
        const uint8_t *from = update;                                                                           \
        do {                                                                                                    \
            memcpy((uint8_t *)output + cursor.offset1, from, length);                                           \
            from += length;                                                                                     \
        } while (tflmgen_nest_next_row(&cursor, params->rank, params->extent, params->stride, params->stride)); \
    }

TFLMGEN_DEFINE_UPDATE_SLICE(tflmgen_update_slice_s32, tflmgen_s32)
TFLMGEN_DEFINE_UPDATE_SLICE(tflmgen_update_slice_s64, tflmgen_s64)

#endif
