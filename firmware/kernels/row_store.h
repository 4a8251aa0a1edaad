/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* A list of rows with one row replaced: output = list, but output[..., index, ...] = row. In place, one row of each
 * group moves. */
#ifndef TFLMGEN_ROW_STORE_H
#define TFLMGEN_ROW_STORE_H

#include <stdint.h>
#include <string.h>

#include "common.h"

struct tflmgen_row_store {
    int32_t groups;
    int32_t rows; /* of a group */
    int32_t row_bytes;
};

/* An index outside of the list stores nothing: the reference's SLICEs would fail, and there is no error to return. */
TFLMGEN_KERNEL void tflmgen_row_store(const void *list, const tflmgen_s32 *index, const void *row, void *output,
                                      const struct tflmgen_row_store *params)
{
    const uint32_t row_bytes = (uint32_t)params->row_bytes;
    const uint32_t group_bytes = (uint32_t)params->rows * row_bytes;
    const int32_t at = *index;
    if (output != list) {
        memmove(output, list, (uint32_t)params->groups * group_bytes);
    }
    if (at >= 0 && at < params->rows) {
        uint8_t *to = (uint8_t *)output + (uint32_t)at * row_bytes;
        const uint8_t *from = row;
        for (int32_t group = 0; group < params->groups; ++group, to += group_bytes, from += row_bytes) {
            memcpy(to, from, row_bytes);
        }
    }
}

#endif
