/* Tensors whose first dimension is known at run time only: memory for the most rows that there can be, and beside it the
 * number of rows in use. What lies in the rows after these is of no account. A function that returns false has written
 * nothing: the caller gives up. */
#ifndef TFLMGEN_ROWS_H
#define TFLMGEN_ROWS_H

#include <stdint.h>
#include <string.h>

#include "common.h"

struct tflmgen_append_rows {
    int32_t most; /* rows that the output has room for */
    int32_t row_bytes;
    bool clear; /* the rows not in use become zeros: a bool has to be one */
};

struct tflmgen_fit_rows {
    int32_t input_rows;
    int32_t output_rows;
    int32_t row_bytes;
    bool clear;
};

struct tflmgen_fill_rows {
    int32_t rows;
    int32_t row_bytes;
    int32_t element_bytes;
};

struct tflmgen_window_rows {
    int32_t most;
    int32_t begin; /* negative: from the end */
    int32_t end;
    bool exact; /* fewer rows than the output has room for are an error */
    int32_t row_bytes;
    bool clear;
};

TFLMGEN_HELPER void tflmgen_clear_rows(void *output, int32_t rows, int32_t most, int32_t row_bytes)
{
    memset((uint8_t *)output + rows * row_bytes, 0, (size_t)((most - rows) * row_bytes));
}

/* output = the rows of first, then those of second. Its rows may begin at or before those of first. */
TFLMGEN_KERNEL bool tflmgen_append_rows(const void *first, const int32_t *first_rows, const void *second,
                                        const int32_t *second_rows, void *output, int32_t *output_rows,
                                        const struct tflmgen_append_rows *params)
{
    const int32_t before = *first_rows;
    const int32_t added = *second_rows;
    if (added > params->most - before) {
        return false;
    }
    if (output != first) {
        memmove(output, first, (size_t)(before * params->row_bytes));
    }
    memcpy((uint8_t *)output + before * params->row_bytes, second, (size_t)(added * params->row_bytes));
    if (params->clear) {
        tflmgen_clear_rows(output, before + added, params->most, params->row_bytes);
    }
    *output_rows = before + added;
    return true;
}

/* The same rows in memory for more of them, or for fewer. */
TFLMGEN_KERNEL bool tflmgen_fit_rows(const void *input, const int32_t *rows, void *output,
                                     const struct tflmgen_fit_rows *params)
{
    const int32_t moved = tflmgen_min_s32(params->input_rows, params->output_rows);
    if (*rows > params->output_rows) {
        return false;
    }
    if (output != input) {
        memmove(output, input, (size_t)(moved * params->row_bytes));
    }
    if (params->clear) {
        tflmgen_clear_rows(output, moved, params->output_rows, params->row_bytes);
    }
    return true;
}

/* Two tensors that are computed with row by row must have equally many. */
TFLMGEN_KERNEL bool tflmgen_same_rows(const int32_t *one, const int32_t *other, int32_t *rows)
{
    if (*one != *other) {
        return false;
    }
    *rows = *one;
    return true;
}

/* The rows not in use become copies of one element, which changes nothing in what is made of all rows. */
TFLMGEN_KERNEL void tflmgen_fill_rows(const void *input, const int32_t *rows, void *output, const void *element,
                                      const struct tflmgen_fill_rows *params)
{
    const int32_t first = *rows * params->row_bytes;
    const int32_t end = params->rows * params->row_bytes;
    if (output != input) {
        memmove(output, input, (size_t)first);
    }
    for (int32_t at = first; at < end; at += params->element_bytes) {
        memcpy((uint8_t *)output + at, element, (size_t)params->element_bytes);
    }
}

/* The rows from begin to end, as Python's input[begin:end] counts. */
TFLMGEN_KERNEL bool tflmgen_window_rows(const void *input, const int32_t *input_rows, void *output,
                                        int32_t *output_rows, const struct tflmgen_window_rows *params)
{
    const int32_t rows = *input_rows;
    const int32_t begin = tflmgen_min_s32(params->begin < 0 ? params->begin + rows : params->begin, rows);
    const int32_t end = tflmgen_min_s32(params->end < 0 ? params->end + rows : params->end, rows);
    const int32_t first = begin < 0 ? 0 : begin;
    const int32_t count = end > first ? tflmgen_min_s32(end - first, params->most) : 0;
    if (params->exact && count != params->most) {
        return false;
    }
    memmove(output, (const uint8_t *)input + first * params->row_bytes, (size_t)(count * params->row_bytes));
    if (params->clear) {
        tflmgen_clear_rows(output, count, params->most, params->row_bytes);
    }
    *output_rows = count;
    return true;
}

#endif
