/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* SLICE and STRIDED_SLICE whose beginnings are known at run time only. */
#ifndef TFLMGEN_KERNELS_SLICE_H
#define TFLMGEN_KERNELS_SLICE_H

#include <string.h>

#include "nest.h"

struct tflmgen_slice {
    int32_t rank;
    int32_t extent[TFLMGEN_MAX_RANK];    /* of the output */
    int32_t stride[TFLMGEN_MAX_RANK];    /* of the input, in bytes */
    int32_t dimension[TFLMGEN_MAX_RANK]; /* of the input */
    int32_t entry[TFLMGEN_MAX_RANK];     /* index into `begin`, or -1 where `offset` holds the beginning */
    int32_t offset;                      /* of the beginnings known at build time, in bytes */
    int32_t element_bytes;
};

/* Negative beginnings count from the end. Those out of range are moved to where the slice fits the input. */
TFLMGEN_KERNEL void tflmgen_slice(const void *input, const tflmgen_s32 *begin, void *output,
                                  const struct tflmgen_slice *params)
{
    int32_t offset = params->offset;
    for (int32_t axis = 0; axis < params->rank; axis++) {
        if (params->entry[axis] >= 0) {
            const int32_t given = begin[params->entry[axis]];
            const int32_t start = given < 0 ? tflmgen_add_wrap_s32(given, params->dimension[axis]) : given;
            const int32_t last = params->dimension[axis] - params->extent[axis];
            offset += tflmgen_clamp_s32(start, 0, last) * params->stride[axis];
        }
    }
    const int32_t row = params->rank - 1;
    const size_t element = (size_t)params->element_bytes;
    struct tflmgen_nest_cursor cursor = {{0}, offset, 0};
    uint8_t *to = output;
    do {
        const uint8_t *from = (const uint8_t *)input + cursor.offset1;
        for (int32_t i = 0; i < params->extent[row]; i++) {
            memcpy(to, from, element);
            from += params->stride[row];
            to += element;
        }
    } while (tflmgen_nest_next_row(&cursor, params->rank, params->extent, params->stride, params->stride));
}

#endif
