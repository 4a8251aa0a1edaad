/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Walking nests of loops whose extents and strides were worked out at build time
 * (codegen/tflmgen/kernels/numeric/strides.py).
 *
 * Loop 0 is the outermost; the kernel runs the innermost loop, a row, itself and asks for the next row. Strides count
 * elements. There is always at least one loop, and an extent of 0 occurs only where it is the only loop.
 */
#ifndef TFLMGEN_KERNELS_NEST_H
#define TFLMGEN_KERNELS_NEST_H

#include "common.h"

#define TFLMGEN_MAX_RANK 6

struct tflmgen_nest_cursor {
    int32_t index[TFLMGEN_MAX_RANK];
    int32_t offset1; /* of the row's first element, in the first and the second tensor */
    int32_t offset2;
};

/* Moves to the next row; false when that was the last. `stride2` may be `stride1` where there is but one tensor. */
TFLMGEN_HELPER bool tflmgen_nest_next_row(struct tflmgen_nest_cursor *cursor, int32_t rank, const tflmgen_s32 *extent,
                                          const tflmgen_s32 *stride1, const tflmgen_s32 *stride2)
{
    for (int32_t loop = rank - 2; loop >= 0; loop--) {
        cursor->index[loop]++;
        if (cursor->index[loop] < extent[loop]) {
            cursor->offset1 += stride1[loop];
            cursor->offset2 += stride2[loop];
            return true;
        }
        cursor->index[loop] = 0;
        cursor->offset1 -= (extent[loop] - 1) * stride1[loop];
        cursor->offset2 -= (extent[loop] - 1) * stride2[loop];
    }
    return false;
}

/* The first members of the params of a kernel that combines two tensors into a contiguous third. */
#define TFLMGEN_BINARY_NEST            \
    int32_t rank;                      \
    int32_t extent[TFLMGEN_MAX_RANK];  \
    int32_t stride1[TFLMGEN_MAX_RANK]; \
    int32_t stride2[TFLMGEN_MAX_RANK];

struct tflmgen_binary {
    TFLMGEN_BINARY_NEST
};

/* Defines a kernel: for each pair of elements `a`, `b` of the inputs, output = expression. The expression may use
 * `params`. Each element is read before the output's element of the same index is written. */
#define TFLMGEN_DEFINE_MIXED_BINARY(name, type1, type2, output_type, params_struct, expression)                   \
    TFLMGEN_KERNEL void name(const type1 *input1, const type2 *input2, output_type *output,                       \
                             const struct params_struct *params)                                                  \
    {                                                                                                             \
        const int32_t row = params->rank - 1;                                                                     \
        struct tflmgen_nest_cursor cursor = {{0}, 0, 0};                                                          \
        do {                                                                                                      \
            const type1 *row1 = input1 + cursor.offset1;                                                          \
            const type2 *row2 = input2 + cursor.offset2;                                                          \
            for (int32_t i = 0; i < params->extent[row]; i++) {                                                   \
                const type1 a = *row1;                                                                            \
                const type2 b = *row2;                                                                            \
                row1 += params->stride1[row];                                                                     \
                row2 += params->stride2[row];                                                                     \
                *output++ = (output_type)(expression);                                                            \
            }                                                                                                     \
        } while (tflmgen_nest_next_row(&cursor, params->rank, params->extent, params->stride1, params->stride2)); \
    }

#define TFLMGEN_DEFINE_BINARY(name, input_type, output_type, params_struct, expression) \
    TFLMGEN_DEFINE_MIXED_BINARY(name, input_type, input_type, output_type, params_struct, expression)

/* STATEMENT for each row: of the inputs, row1 and row2, and of a contiguous output, whose pointer it moves on. */
#define TFLMGEN_EACH_BINARY_ROW(type, input1, input2, output, params, STATEMENT)                                      \
    do {                                                                                                              \
        const int32_t nest_inner = (params)->rank - 1;                                                                \
        const int32_t nest_rows = nest_inner > 0 ? (params)->extent[nest_inner - 1] : 1;                              \
        const int32_t nest_step1 = nest_inner > 0 ? (params)->stride1[nest_inner - 1] : 0;                            \
        const int32_t nest_step2 = nest_inner > 0 ? (params)->stride2[nest_inner - 1] : 0;                            \
        struct tflmgen_nest_cursor nest_cursor = {{0}, 0, 0};                                                         \
        do {                                                                                                          \
            const type *row1 = (input1) + nest_cursor.offset1;                                                        \
            const type *row2 = (input2) + nest_cursor.offset2;                                                        \
            for (int32_t nest_remaining = nest_rows; nest_remaining > 0;                                              \
                 --nest_remaining, row1 += nest_step1, row2 += nest_step2) {                                          \
                STATEMENT;                                                                                            \
                (output) += (params)->extent[nest_inner];                                                             \
            }                                                                                                         \
        } while (                                                                                                     \
            tflmgen_nest_next_row(&nest_cursor, nest_inner, (params)->extent, (params)->stride1, (params)->stride2)); \
    } while (0)

#endif
