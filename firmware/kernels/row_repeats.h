/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Rows (rows.h) that are repeated: by TILE, or because one row meets many. */
#ifndef TFLMGEN_ROW_REPEATS_H
#define TFLMGEN_ROW_REPEATS_H

#include <stdint.h>
#include <string.h>

#include "common.h"

struct tflmgen_repeat_rows {
    int32_t outer;
    int32_t input_rows; /* that there is memory for */
    int32_t output_rows;
    int32_t row_bytes;
    bool broadcast; /* there is one row, or there are as many as wanted */
    bool clear;     /* the rows not in use become zeros: a bool has to be one */
};

/* How many rows two operands have when they meet: equally many, or one of them has one. */
TFLMGEN_KERNEL bool tflmgen_common_rows(const tflmgen_s32 *one, const tflmgen_s32 *other, tflmgen_s32 *rows)
{
    const int32_t common = *one == 1 ? *other : *one;
    if (*other != common && *other != 1) {
        return false;
    }
    *rows = common;
    return true;
}

/* `wanted` rows: those in use, and then the same again. The output may begin where the input does if each has the same
 * room, or `outer` is 1. */
TFLMGEN_KERNEL bool tflmgen_repeat_rows(const void *input, const tflmgen_s32 *input_rows, const tflmgen_s32 *wanted,
                                        void *output, const struct tflmgen_repeat_rows *params)
{
    const int32_t rows = *input_rows;
    const int32_t count = *wanted;
    const int32_t bytes = rows * params->row_bytes;
    const uint8_t *from = input;
    uint8_t *to = output;
    if (count < 0 || count > params->output_rows || (params->broadcast && rows != 1 && rows != count)) {
        return false;
    }
    for (int32_t outer = 0; outer < params->outer; ++outer) {
        if (to != from && count > 0) {
            memcpy(to, from, (size_t)bytes);
        }
        for (int32_t row = rows; row < count; row += rows) {
            memcpy(to + row * params->row_bytes, to, (size_t)bytes);
        }
        if (params->clear) {
            memset(to + count * params->row_bytes, 0, (size_t)((params->output_rows - count) * params->row_bytes));
        }
        from += params->input_rows * params->row_bytes;
        to += params->output_rows * params->row_bytes;
    }
    return true;
}

#endif
