/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* SEGMENT_SUM and UNSORTED_SEGMENT_SUM, _PROD, _MAX and _MIN: each block of the input goes into the segment that its
 * index names. Blocks whose index names none are left out. */
#ifndef TFLMGEN_KERNELS_SEGMENTS_H
#define TFLMGEN_KERNELS_SEGMENTS_H

#include <float.h>

#include "common.h"

struct tflmgen_segments {
    int32_t blocks;
    int32_t segments;
    int32_t block; /* elements of a block */
};

/* A segment without blocks has `initial` for each element. */
#define TFLMGEN_DEFINE_SEGMENTS(name, type, index_type, initial, COMBINED)               \
    TFLMGEN_KERNEL void name(const type *input, const index_type *indices, type *output, \
                             const struct tflmgen_segments *params)                      \
    {                                                                                    \
        for (int32_t i = 0; i < params->segments * params->block; i++) {                 \
            output[i] = initial;                                                         \
        }                                                                                \
        for (int32_t i = 0; i < params->blocks; i++, input += params->block) {           \
            const index_type index = indices[i];                                         \
            if (index >= 0 && index < params->segments) {                                \
                type *segment = output + (int32_t)index * params->block;                 \
                for (int32_t j = 0; j < params->block; j++) {                            \
                    segment[j] = COMBINED(segment[j], input[j]);                         \
                }                                                                        \
            }                                                                            \
        }                                                                                \
    }

/* Integers wrap. */
#define TFLMGEN_SEGMENT_SUM_S32(a, b) (tflmgen_s32)((tflmgen_u32)(a) + (tflmgen_u32)(b))
#define TFLMGEN_SEGMENT_PROD_S32(a, b) (tflmgen_s32)((tflmgen_u32)(a) * (tflmgen_u32)(b))
#define TFLMGEN_SEGMENT_SUM_F32(a, b) ((a) + (b))
#define TFLMGEN_SEGMENT_PROD_F32(a, b) ((a) * (b))
#define TFLMGEN_SEGMENT_MAX(a, b) ((b) > (a) ? (b) : (a))
#define TFLMGEN_SEGMENT_MIN(a, b) ((b) < (a) ? (b) : (a))

#define TFLMGEN_DEFINE_ALL_SEGMENTS(indices, index_type)                                                               \
    TFLMGEN_DEFINE_SEGMENTS(tflmgen_segment_sum_f32_##indices, tflmgen_f32, index_type, 0, TFLMGEN_SEGMENT_SUM_F32)    \
    TFLMGEN_DEFINE_SEGMENTS(tflmgen_segment_sum_s32_##indices, tflmgen_s32, index_type, 0, TFLMGEN_SEGMENT_SUM_S32)    \
    TFLMGEN_DEFINE_SEGMENTS(tflmgen_segment_prod_f32_##indices, tflmgen_f32, index_type, 1, TFLMGEN_SEGMENT_PROD_F32)  \
    TFLMGEN_DEFINE_SEGMENTS(tflmgen_segment_prod_s32_##indices, tflmgen_s32, index_type, 1, TFLMGEN_SEGMENT_PROD_S32)  \
    TFLMGEN_DEFINE_SEGMENTS(tflmgen_segment_max_f32_##indices, tflmgen_f32, index_type, -FLT_MAX, TFLMGEN_SEGMENT_MAX) \
    TFLMGEN_DEFINE_SEGMENTS(tflmgen_segment_max_s32_##indices, tflmgen_s32, index_type, INT32_MIN,                     \
                            TFLMGEN_SEGMENT_MAX)                                                                       \
    TFLMGEN_DEFINE_SEGMENTS(tflmgen_segment_min_f32_##indices, tflmgen_f32, index_type, FLT_MAX, TFLMGEN_SEGMENT_MIN)  \
    TFLMGEN_DEFINE_SEGMENTS(tflmgen_segment_min_s32_##indices, tflmgen_s32, index_type, INT32_MAX, TFLMGEN_SEGMENT_MIN)

TFLMGEN_DEFINE_ALL_SEGMENTS(s32, tflmgen_s32)

/* Sums of segments whose indices are computed, and how many there are: the last index in use and one. False for indices
 * that descend or are negative, and for more segments than there is room for. */
#define TFLMGEN_DEFINE_SEGMENT_ROWS(name, type, COMBINED)                                                            \
    TFLMGEN_KERNEL bool name(const type *input, const tflmgen_s32 *indices, const tflmgen_s32 *in_use, type *output, \
                             tflmgen_s32 *count, const struct tflmgen_segments *params)                              \
    {                                                                                                                \
        int32_t last = 0;                                                                                            \
        for (int32_t i = 0; i < params->segments * params->block; i++) {                                             \
            output[i] = 0;                                                                                           \
        }                                                                                                            \
        for (int32_t i = 0; i < *in_use; i++, input += params->block) {                                              \
            if (indices[i] < last || indices[i] >= params->segments) {                                               \
                return false;                                                                                        \
            }                                                                                                        \
            last = indices[i];                                                                                       \
            for (int32_t j = 0; j < params->block; j++) {                                                            \
                output[last * params->block + j] = COMBINED(output[last * params->block + j], input[j]);             \
            }                                                                                                        \
        }                                                                                                            \
        *count = *in_use > 0 ? last + 1 : 0;                                                                         \
        return true;                                                                                                 \
    }

TFLMGEN_DEFINE_SEGMENT_ROWS(tflmgen_segment_rows_f32, tflmgen_f32, TFLMGEN_SEGMENT_SUM_F32)
TFLMGEN_DEFINE_SEGMENT_ROWS(tflmgen_segment_rows_s32, tflmgen_s32, TFLMGEN_SEGMENT_SUM_S32)

#endif
