/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Tensors with dimensions that are known at run time only. A tensor has memory for its largest shape, and for each such
 * dimension there is an int32 with the size in use; elements beyond it have no meaning. Inside of a model the strides
 * are those of the largest shape; a model's inputs and outputs are dense (see tflmgen_dense and tflmgen_spread).
 *
 * Along one dimension a tensor is outer x rows x row_bytes. A function that returns false has written nothing that
 * counts: the caller gives up. */
#ifndef TFLMGEN_ROWS_H
#define TFLMGEN_ROWS_H

#include <stdint.h>
#include <string.h>

#include "common.h"
#include "nest.h"

struct tflmgen_append_rows {
    int32_t outer;
    int32_t first;  /* rows that the first tensor has room for */
    int32_t second; /* that the second one has room for */
    int32_t most;   /* that the output has room for */
    int32_t row_bytes;
    bool clear; /* the rows not in use become zeros, since a bool must be 0 or 1 */
};

struct tflmgen_fit_rows {
    int32_t outer;
    int32_t input_rows;
    int32_t output_rows;
    int32_t row_bytes;
    bool clear;
};

struct tflmgen_fill_rows {
    int32_t outer;
    int32_t rows;
    int32_t row_bytes;
    int32_t element_bytes;
};

struct tflmgen_window_rows {
    int32_t outer;
    int32_t input_rows;
    int32_t most;
    int32_t begin; /* negative: from the end */
    int32_t end;
    bool exact; /* fewer rows than the output has room for are an error */
    int32_t row_bytes;
    bool clear;
};

struct tflmgen_cut_rows {
    int32_t outer;
    int32_t input_rows;
    int32_t most;
    int32_t step;
    bool from_first; /* the begin at run time does not count, nor does the end */
    bool to_last;
    bool sized; /* the end is a number of rows, -1: all that remain; begin and end must be in range */
    bool exact;
    int32_t row_bytes;
    bool clear;
};

struct tflmgen_limit {
    int32_t least;
    int32_t most;
};

struct tflmgen_new_shape {
    int32_t rank;
    int32_t new_rank;
};

struct tflmgen_dense {
    int32_t axes; /* up to the last that is known at run time only */
    int32_t most[TFLMGEN_MAX_RANK];
    int32_t block_bytes; /* of the dimensions after these */
    bool clear;
};

TFLMGEN_HELPER void tflmgen_clear_rows(void *output, int32_t rows, int32_t most, int32_t row_bytes)
{
    memset((uint8_t *)output + rows * row_bytes, 0, (size_t)((most - rows) * row_bytes));
}

/* output = the rows of first, then those of second. Its rows may begin at or before those of first. */
TFLMGEN_KERNEL bool tflmgen_append_rows(const void *first, const tflmgen_s32 *first_rows, const void *second,
                                        const tflmgen_s32 *second_rows, void *output, tflmgen_s32 *output_rows,
                                        const struct tflmgen_append_rows *params)
{
    const int32_t before = *first_rows;
    const int32_t added = *second_rows;
    const uint8_t *from_first = first;
    const uint8_t *from_second = second;
    uint8_t *to = output;
    if (added > params->most - before) {
        return false;
    }
    for (int32_t outer = 0; outer < params->outer; ++outer) {
        if (to != from_first) {
            memmove(to, from_first, (size_t)(before * params->row_bytes));
        }
        memcpy(to + before * params->row_bytes, from_second, (size_t)(added * params->row_bytes));
        if (params->clear) {
            tflmgen_clear_rows(to, before + added, params->most, params->row_bytes);
        }
        from_first += params->first * params->row_bytes;
        from_second += params->second * params->row_bytes;
        to += params->most * params->row_bytes;
    }
    *output_rows = before + added;
    return true;
}

/* The same rows in memory for more of them, or for fewer. */
TFLMGEN_KERNEL bool tflmgen_fit_rows(const void *input, const tflmgen_s32 *rows, void *output,
                                     const struct tflmgen_fit_rows *params)
{
    const int32_t moved = tflmgen_min_s32(params->input_rows, params->output_rows);
    const uint8_t *from = input;
    uint8_t *to = output;
    if (*rows > params->output_rows) {
        return false;
    }
    for (int32_t outer = 0; outer < params->outer; ++outer) {
        if (to != from) {
            memmove(to, from, (size_t)(moved * params->row_bytes));
        }
        if (params->clear) {
            tflmgen_clear_rows(to, moved, params->output_rows, params->row_bytes);
        }
        from += params->input_rows * params->row_bytes;
        to += params->output_rows * params->row_bytes;
    }
    return true;
}

/* The number of rows of two operands, which must be equal. */
TFLMGEN_KERNEL bool tflmgen_same_rows(const tflmgen_s32 *one, const tflmgen_s32 *other, tflmgen_s32 *rows)
{
    if (*one != *other) {
        return false;
    }
    *rows = *one;
    return true;
}

/* A number of rows that was computed, if it is in range. */
TFLMGEN_KERNEL bool tflmgen_limit_rows(const tflmgen_s32 *number, tflmgen_s32 *rows, const struct tflmgen_limit *params)
{
    if (*number < params->least || *number > params->most) {
        return false;
    }
    *rows = *number;
    return true;
}

/* The rows not in use become copies of one element that is neutral in what is computed from all rows. */
TFLMGEN_KERNEL void tflmgen_fill_rows(const void *input, const tflmgen_s32 *rows, void *output, const void *element,
                                      const struct tflmgen_fill_rows *params)
{
    const int32_t first = *rows * params->row_bytes;
    const int32_t end = params->rows * params->row_bytes;
    const uint8_t *from = input;
    uint8_t *to = output;
    for (int32_t outer = 0; outer < params->outer; ++outer) {
        if (to != from) {
            memmove(to, from, (size_t)first);
        }
        for (int32_t at = first; at < end; at += params->element_bytes) {
            memcpy(to + at, element, (size_t)params->element_bytes);
        }
        from += end;
        to += end;
    }
}

/* The rows from begin to end, as Python's input[begin:end] counts. */
TFLMGEN_KERNEL bool tflmgen_window_rows(const void *input, const tflmgen_s32 *input_rows, void *output,
                                        tflmgen_s32 *output_rows, const struct tflmgen_window_rows *params)
{
    const int32_t rows = *input_rows;
    const int32_t begin = tflmgen_min_s32(params->begin < 0 ? params->begin + rows : params->begin, rows);
    const int32_t end = tflmgen_min_s32(params->end < 0 ? params->end + rows : params->end, rows);
    const int32_t first = begin < 0 ? 0 : begin;
    const int32_t count = end > first ? tflmgen_min_s32(end - first, params->most) : 0;
    const uint8_t *from = input;
    uint8_t *to = output;
    if (params->exact && count != params->most) {
        return false;
    }
    for (int32_t outer = 0; outer < params->outer; ++outer) {
        memmove(to, from + first * params->row_bytes, (size_t)(count * params->row_bytes));
        if (params->clear) {
            tflmgen_clear_rows(to, count, params->most, params->row_bytes);
        }
        from += params->input_rows * params->row_bytes;
        to += params->most * params->row_bytes;
    }
    *output_rows = count;
    return true;
}

TFLMGEN_HELPER int32_t tflmgen_row_at(int32_t given, int32_t rows, int32_t low, int32_t high)
{
    return tflmgen_clamp_s32(given < 0 ? given + rows : given, low, high);
}

/* The rows from begin to end, both known at run time only, as STRIDED_SLICE counts them, or as SLICE does. */
TFLMGEN_KERNEL bool tflmgen_cut_rows(const void *input, const tflmgen_s32 *input_rows, const tflmgen_s32 *begin,
                                     const tflmgen_s32 *end, void *output, tflmgen_s32 *output_rows,
                                     const struct tflmgen_cut_rows *params)
{
    const int32_t rows = *input_rows;
    const int32_t step = params->step;
    const int32_t low = step > 0 ? 0 : -1;
    const int32_t high = step > 0 ? rows : rows - 1;
    const uint8_t *from = input;
    uint8_t *to = output;
    int32_t first;
    int32_t stop;
    if (params->sized) {
        first = *begin;
        if (first < 0 || first > rows || *end < -1 || *end > rows - first) {
            return false;
        }
        stop = *end < 0 ? rows : first + *end;
    } else {
        first = params->from_first ? (step > 0 ? low : high) : tflmgen_row_at(*begin, rows, low, high);
        stop = params->to_last ? (step > 0 ? high : low) : tflmgen_row_at(*end, rows, low, high);
    }
    const int32_t span = step > 0 ? stop - first : first - stop;
    const int32_t stride = step > 0 ? step : -step;
    const int32_t count = span > 0 ? (span - 1) / stride + 1 : 0;
    if (count > params->most || (params->exact && count != params->most)) {
        return false;
    }
    for (int32_t outer = 0; outer < params->outer; ++outer) {
        for (int32_t row = 0; row < count; ++row) {
            memcpy(to + row * params->row_bytes, from + (first + row * step) * params->row_bytes,
                   (size_t)params->row_bytes);
        }
        if (params->clear) {
            tflmgen_clear_rows(to, count, params->most, params->row_bytes);
        }
        from += params->input_rows * params->row_bytes;
        to += params->most * params->row_bytes;
    }
    *output_rows = count;
    return true;
}

/* The shape that RESHAPE makes of `shape`: `wanted`, of which one dimension may be -1. */
TFLMGEN_KERNEL bool tflmgen_new_shape(const tflmgen_s32 *shape, const tflmgen_s32 *wanted, tflmgen_s32 *output,
                                      const struct tflmgen_new_shape *params)
{
    int32_t elements = 1;
    int32_t rest = 1;
    int32_t open = -1;
    for (int32_t axis = 0; axis < params->rank; ++axis) {
        elements *= shape[axis];
    }
    for (int32_t axis = 0; axis < params->new_rank; ++axis) {
        const int32_t dim = wanted[axis];
        if (dim < -1 || (dim == -1 && open >= 0)) {
            return false;
        }
        if (dim == -1) {
            open = axis;
        } else if (dim != 0 && rest > INT32_MAX / dim) {
            return false;
        } else {
            rest *= dim;
        }
    }
    if (open < 0 ? rest != elements : rest == 0 ? elements != 0 : elements % rest != 0) {
        return false;
    }
    for (int32_t axis = 0; axis < params->new_rank; ++axis) {
        output[axis] = axis == open ? (rest == 0 ? 0 : elements / rest) : wanted[axis];
    }
    return true;
}

/* Runs of neighbouring elements in use: the product of all axes but the last one. */
TFLMGEN_HELPER int32_t tflmgen_dense_runs(const tflmgen_s32 *shape, const struct tflmgen_dense *params)
{
    int32_t runs = 1;
    for (int32_t axis = 0; axis < params->axes - 1; ++axis) {
        runs *= shape[axis];
    }
    return runs;
}

/* Where run `run` of the elements in use begins with the strides of the largest shape, in runs. */
TFLMGEN_HELPER int32_t tflmgen_spread_run(int32_t run, const tflmgen_s32 *shape, const struct tflmgen_dense *params)
{
    int32_t place = 0;
    int32_t stride = 1;
    for (int32_t axis = params->axes - 2; axis >= 0; --axis) {
        place += run % shape[axis] * stride;
        run /= shape[axis];
        stride *= params->most[axis];
    }
    return place;
}

/* To dense strides, as a model's outputs have: the elements in use, without those between them. */
TFLMGEN_KERNEL void tflmgen_dense(const void *input, const tflmgen_s32 *shape, void *output,
                                  const struct tflmgen_dense *params)
{
    const int32_t runs = tflmgen_dense_runs(shape, params);
    const int32_t bytes = shape[params->axes - 1] * params->block_bytes;
    const int32_t stride = params->most[params->axes - 1] * params->block_bytes;
    for (int32_t run = 0; run < runs; ++run) {
        const uint8_t *from = (const uint8_t *)input + tflmgen_spread_run(run, shape, params) * stride;
        memmove((uint8_t *)output + run * bytes, from, (size_t)bytes);
    }
}

/* Back to the strides of the largest shape. */
TFLMGEN_KERNEL void tflmgen_spread(const void *input, const tflmgen_s32 *shape, void *output,
                                   const struct tflmgen_dense *params)
{
    const int32_t bytes = shape[params->axes - 1] * params->block_bytes;
    const int32_t stride = params->most[params->axes - 1] * params->block_bytes;
    if (params->clear) {
        int32_t elements = stride;
        for (int32_t axis = 0; axis < params->axes - 1; ++axis) {
            elements *= params->most[axis];
        }
        memset(output, 0, (size_t)elements);
    }
    for (int32_t run = tflmgen_dense_runs(shape, params) - 1; run >= 0; --run) {
        uint8_t *to = (uint8_t *)output + tflmgen_spread_run(run, shape, params) * stride;
        memmove(to, (const uint8_t *)input + run * bytes, (size_t)bytes);
    }
}

#endif
