/* SELECT and SELECT_V2: each element from one of two tensors, as a condition says. */
#ifndef TFLMGEN_KERNELS_SELECT_H
#define TFLMGEN_KERNELS_SELECT_H

#include "copy.h"

struct tflmgen_select {
    int32_t rank;
    int32_t extent[TFLMGEN_MAX_RANK];
    int32_t condition_stride[TFLMGEN_MAX_RANK];
    int32_t stride1[TFLMGEN_MAX_RANK];
    int32_t stride2[TFLMGEN_MAX_RANK];
};

#define TFLMGEN_DEFINE_SELECT(name, word)                                                                          \
    TFLMGEN_KERNEL void name(const tflmgen_bool *condition, const void *input1, const void *input2, void *output,  \
                             const struct tflmgen_select *params)                                                  \
    {                                                                                                              \
        const int32_t row = params->rank - 1;                                                                      \
        word *to = (word *)output;                                                                                 \
        struct tflmgen_nest_cursor inputs = {{0}, 0, 0};                                                           \
        struct tflmgen_nest_cursor conditions = {{0}, 0, 0};                                                       \
        bool more;                                                                                                 \
        do {                                                                                                       \
            const tflmgen_bool *choice = condition + conditions.offset1;                                           \
            const word *row1 = (const word *)input1 + inputs.offset1;                                              \
            const word *row2 = (const word *)input2 + inputs.offset2;                                              \
            for (int32_t i = 0; i < params->extent[row]; i++) {                                                    \
                *to++ = *choice ? *row1 : *row2;                                                                   \
                choice += params->condition_stride[row];                                                           \
                row1 += params->stride1[row];                                                                      \
                row2 += params->stride2[row];                                                                      \
            }                                                                                                      \
            more = tflmgen_nest_next_row(&inputs, params->rank, params->extent, params->stride1, params->stride2); \
            (void)tflmgen_nest_next_row(&conditions, params->rank, params->extent, params->condition_stride,       \
                                        params->condition_stride);                                                 \
        } while (more);                                                                                            \
    }

TFLMGEN_DEFINE_SELECT(tflmgen_select_8, tflmgen_word8)
TFLMGEN_DEFINE_SELECT(tflmgen_select_16, tflmgen_word16)
TFLMGEN_DEFINE_SELECT(tflmgen_select_32, tflmgen_word32)
TFLMGEN_DEFINE_SELECT(tflmgen_select_64, tflmgen_word64)

#endif
