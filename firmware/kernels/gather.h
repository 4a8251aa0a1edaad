/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* GATHER, EMBEDDING_LOOKUP, GATHER_ND and SCATTER_ND. An index out of range is moved to the nearest that exists, so
 * that nothing outside of the tensors is touched. */
#ifndef TFLMGEN_KERNELS_GATHER_H
#define TFLMGEN_KERNELS_GATHER_H

#include <string.h>

#include "nest.h"

/* The input has dimensions batches x outer x axis x block, the indices batches x indices, the output
 * batches x outer x indices x block. */
struct tflmgen_gather {
    int32_t batches;
    int32_t outer;
    int32_t axis;
    int32_t indices;
    int32_t block_bytes;
};

#define TFLMGEN_DEFINE_GATHER(name, index_type)                                                   \
    TFLMGEN_KERNEL void name(const void *input, const index_type *indices, void *output,          \
                             const struct tflmgen_gather *params)                                 \
    {                                                                                             \
        const uint8_t *from = input;                                                              \
        uint8_t *to = output;                                                                     \
        for (int32_t batch = 0; batch < params->batches; batch++) {                               \
            for (int32_t outer = 0; outer < params->outer; outer++) {                             \
                for (int32_t i = 0; i < params->indices; i++) {                                   \
                    const index_type given = indices[i];                                          \
                    const int32_t last = params->axis - 1;                                        \
                    const int32_t index = (int32_t)(given < 0 ? 0 : given > last ? last : given); \
                    memcpy(to, from + index * params->block_bytes, (size_t)params->block_bytes);  \
                    to += params->block_bytes;                                                    \
                }                                                                                 \
                from += params->axis * params->block_bytes;                                       \
            }                                                                                     \
            indices += params->indices;                                                           \
        }                                                                                         \
    }

TFLMGEN_DEFINE_GATHER(tflmgen_gather_s16, tflmgen_s16)
TFLMGEN_DEFINE_GATHER(tflmgen_gather_s32, tflmgen_s32)
TFLMGEN_DEFINE_GATHER(tflmgen_gather_s64, tflmgen_s64)

/* `indices` holds `points` tuples of `depth` indices, one for each of the input's leading dimensions. */
struct tflmgen_gather_nd {
    int32_t points;
    int32_t depth;
    int32_t dimension[TFLMGEN_MAX_RANK];
    int32_t stride[TFLMGEN_MAX_RANK]; /* bytes */
    int32_t block_bytes;
};

#define TFLMGEN_DEFINE_GATHER_ND(name, index_type)                                                    \
    TFLMGEN_KERNEL void name(const void *input, const index_type *indices, void *output,              \
                             const struct tflmgen_gather_nd *params)                                  \
    {                                                                                                 \
        uint8_t *to = output;                                                                         \
        for (int32_t point = 0; point < params->points; point++) {                                    \
            int32_t offset = 0;                                                                       \
            for (int32_t i = 0; i < params->depth; i++) {                                             \
                const index_type given = *indices++;                                                  \
                const int32_t last = params->dimension[i] - 1;                                        \
                offset += (int32_t)(given < 0 ? 0 : given > last ? last : given) * params->stride[i]; \
            }                                                                                         \
            memcpy(to, (const uint8_t *)input + offset, (size_t)params->block_bytes);                 \
            to += params->block_bytes;                                                                \
        }                                                                                             \
    }

TFLMGEN_DEFINE_GATHER_ND(tflmgen_gather_nd_s16, tflmgen_s16)
TFLMGEN_DEFINE_GATHER_ND(tflmgen_gather_nd_s32, tflmgen_s32)
TFLMGEN_DEFINE_GATHER_ND(tflmgen_gather_nd_s64, tflmgen_s64)

/* The same for the output's leading dimensions. */
struct tflmgen_scatter_nd {
    int32_t points;
    int32_t depth;
    int32_t dimension[TFLMGEN_MAX_RANK];
    int32_t stride[TFLMGEN_MAX_RANK]; /* elements */
    int32_t block;
    int32_t elements;
};

/* Each point's block of updates is added to an output of zeros. A point out of range is left out. */
#define TFLMGEN_DEFINE_SCATTER_ND(name, type, sum)                                          \
    TFLMGEN_KERNEL void name(const tflmgen_s32 *indices, const type *updates, type *output, \
                             const struct tflmgen_scatter_nd *params)                       \
    {                                                                                       \
        for (int32_t i = 0; i < params->elements; i++) {                                    \
            output[i] = 0;                                                                  \
        }                                                                                   \
        for (int32_t point = 0; point < params->points; point++) {                          \
            int32_t offset = 0;                                                             \
            bool inside = true;                                                             \
            for (int32_t i = 0; i < params->depth; i++) {                                   \
                const int32_t index = *indices++;                                           \
                if (index < 0 || index >= params->dimension[i]) {                           \
                    inside = false;                                                         \
                } else {                                                                    \
                    offset += index * params->stride[i];                                    \
                }                                                                           \
            }                                                                               \
            for (int32_t i = 0; inside && i < params->block; i++) {                         \
                const type a = output[offset + i];                                          \
                const type b = updates[i];                                                  \
                output[offset + i] = (type)(sum);                                           \
            }                                                                               \
            updates += params->block;                                                       \
        }                                                                                   \
    }

TFLMGEN_DEFINE_SCATTER_ND(tflmgen_scatter_nd_f32, tflmgen_f32, a + b)
TFLMGEN_DEFINE_SCATTER_ND(tflmgen_scatter_nd_s8, int8_t, a + b)
TFLMGEN_DEFINE_SCATTER_ND(tflmgen_scatter_nd_u8, uint8_t, a + b)
TFLMGEN_DEFINE_SCATTER_ND(tflmgen_scatter_nd_s16, tflmgen_s16, a + b)
TFLMGEN_DEFINE_SCATTER_ND(tflmgen_scatter_nd_s32, tflmgen_s32, (uint32_t)a + (uint32_t)b)
TFLMGEN_DEFINE_SCATTER_ND(tflmgen_scatter_nd_s64, tflmgen_s64, (uint64_t)a + (uint64_t)b)
TFLMGEN_DEFINE_SCATTER_ND(tflmgen_scatter_nd_b8, tflmgen_bool, a || b)

#endif
