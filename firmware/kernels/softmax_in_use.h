/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* SOFTMAX and LOG_SOFTMAX of int8 and int16 over rows whose length is known at run time only: the first `*depth`
 * elements of each row of [rows, depth], the params' depth being the room that a row has. */
#ifndef TFLMGEN_KERNELS_SOFTMAX_IN_USE_H
#define TFLMGEN_KERNELS_SOFTMAX_IN_USE_H

#include "softmax.h"

#define TFLMGEN_SOFTMAX_IN_USE_ROWS(function, struct_name, ...)                             \
    struct struct_name row = *params;                                                       \
    row.rows = 1;                                                                           \
    row.depth = *depth;                                                                     \
    for (int32_t i = 0; i < (*depth > 0 ? params->rows : 0); ++i) {                         \
        function(input + i * params->depth, __VA_ARGS__, output + i * params->depth, &row); \
    }

#define TFLMGEN_SOFTMAX_IN_USE(name, kernel, struct_name, element)                                            \
    TFLMGEN_KERNEL void name(const int8_t *input, const tflmgen_s32 *depth, const tflmgen_s32 *restrict exps, \
                             element *output, const struct struct_name *params)                               \
    {                                                                                                         \
        TFLMGEN_SOFTMAX_IN_USE_ROWS(kernel, struct_name, exps)                                                \
    }

TFLMGEN_SOFTMAX_IN_USE(tflmgen_softmax_in_use_s8, tflmgen_softmax_s8, tflmgen_softmax_s8, int8_t)
TFLMGEN_SOFTMAX_IN_USE(tflmgen_softmax_in_use_s8_s16, tflmgen_softmax_s8_s16, tflmgen_softmax_s8, tflmgen_s16)
TFLMGEN_SOFTMAX_IN_USE(tflmgen_log_softmax_in_use_s8, tflmgen_log_softmax_s8, tflmgen_log_softmax_s8, int8_t)

TFLMGEN_KERNEL void tflmgen_softmax_in_use_s16(const tflmgen_s16 *input, const tflmgen_s32 *depth,
                                               const tflmgen_s16 *restrict exps,
                                               const tflmgen_s16 *restrict reciprocals, tflmgen_s16 *output,
                                               const struct tflmgen_softmax_s16 *params)
{
    TFLMGEN_SOFTMAX_IN_USE_ROWS(tflmgen_softmax_s16, tflmgen_softmax_s16, exps, reciprocals)
}

#endif
