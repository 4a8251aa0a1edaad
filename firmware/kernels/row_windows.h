/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Filters and pools along a dimension that is known at run time only (rows.h): how many windows there are, and rows
 * with the padding before and after them. */
#ifndef TFLMGEN_ROW_WINDOWS_H
#define TFLMGEN_ROW_WINDOWS_H

#include <stdint.h>
#include <string.h>

#include "common.h"

struct tflmgen_spacing {
    int32_t stride;
    int32_t reach; /* rows from the first tap to the last, both counted */
    bool same;     /* padding SAME, else VALID */
};

struct tflmgen_place_rows {
    int32_t outer;
    int32_t input_rows;
    int32_t output_rows;
    int32_t row_bytes;
    int32_t element_bytes;
};

TFLMGEN_HELPER int32_t tflmgen_windows(int32_t rows, const struct tflmgen_spacing *params)
{
    if (params->same) {
        return (rows + params->stride - 1) / params->stride;
    }
    return rows < params->reach ? 0 : (rows - params->reach) / params->stride + 1;
}

/* SAME padding before `rows` rows: half of what the last window lacks, rounded down. */
TFLMGEN_HELPER int32_t tflmgen_same_padding(int32_t rows, const struct tflmgen_spacing *params)
{
    const int32_t missing = (tflmgen_windows(rows, params) - 1) * params->stride + params->reach - rows;
    return missing > 0 ? missing / 2 : 0;
}

/* The windows over the rows in use. */
TFLMGEN_KERNEL void tflmgen_window_count(const tflmgen_s32 *rows, tflmgen_s32 *windows,
                                         const struct tflmgen_spacing *params)
{
    *windows = tflmgen_windows(*rows, params);
}

/* The rows of SAME padding before the first window. */
TFLMGEN_KERNEL void tflmgen_window_padding(const tflmgen_s32 *rows, tflmgen_s32 *padding,
                                           const struct tflmgen_spacing *params)
{
    *padding = tflmgen_same_padding(*rows, params);
}

/* The rows in use from row `begin` on, all others copies of one element. */
TFLMGEN_KERNEL bool tflmgen_place_rows(const void *input, const tflmgen_s32 *rows, const tflmgen_s32 *begin,
                                       void *output, const void *element, const struct tflmgen_place_rows *params)
{
    const int32_t first = *begin * params->row_bytes;
    const int32_t bytes = *rows * params->row_bytes;
    const int32_t end = params->output_rows * params->row_bytes;
    const uint8_t *from = input;
    uint8_t *to = output;
    if (*begin < 0 || *begin > params->output_rows - *rows) {
        return false;
    }
    for (int32_t outer = 0; outer < params->outer; ++outer) {
        for (int32_t at = 0; at < end; at += params->element_bytes) {
            if (at < first || at >= first + bytes) {
                memcpy(to + at, element, (size_t)params->element_bytes);
            }
        }
        memcpy(to + first, from, (size_t)bytes);
        from += params->input_rows * params->row_bytes;
        to += end;
    }
    return true;
}

#endif
