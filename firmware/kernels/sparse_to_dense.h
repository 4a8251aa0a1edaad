/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* SPARSE_TO_DENSE: values at places, one default everywhere else. Elements are words, whatever they mean. */
#ifndef TFLMGEN_KERNELS_SPARSE_TO_DENSE_H
#define TFLMGEN_KERNELS_SPARSE_TO_DENSE_H

#include "copy.h"

/* A place is `rank` indices of the output's dimensions. */
struct tflmgen_sparse_to_dense {
    int32_t places;
    int32_t rank;
    int32_t dimension[TFLMGEN_MAX_RANK];
    int32_t elements;
    int32_t value_step; /* 0: one value for every place */
};

/* Of several values for one place the last one stays; a place out of range is left out. */
#define TFLMGEN_DEFINE_SPARSE_TO_DENSE(bits, indices_suffix, index_type)                       \
    TFLMGEN_KERNEL void tflmgen_sparse_to_dense_##bits##_##indices_suffix(                     \
        const index_type *indices, const void *values, const void *otherwise, void *output,    \
        const struct tflmgen_sparse_to_dense *params)                                          \
    {                                                                                          \
        const tflmgen_word##bits *from = values;                                               \
        tflmgen_word##bits *to = output;                                                       \
        for (int32_t i = 0; i < params->elements; i++) {                                       \
            to[i] = *(const tflmgen_word##bits *)otherwise;                                    \
        }                                                                                      \
        for (int32_t place = 0; place < params->places; place++, from += params->value_step) { \
            int32_t offset = 0;                                                                \
            bool inside = true;                                                                \
            for (int32_t i = 0; i < params->rank; i++) {                                       \
                const index_type index = *indices++;                                           \
                inside = inside && index >= 0 && index < params->dimension[i];                 \
                offset = inside ? offset * params->dimension[i] + (int32_t)index : 0;          \
            }                                                                                  \
            if (inside) {                                                                      \
                to[offset] = *from;                                                            \
            }                                                                                  \
        }                                                                                      \
    }

#define TFLMGEN_DEFINE_SPARSE_TO_DENSES(bits)              \
    TFLMGEN_DEFINE_SPARSE_TO_DENSE(bits, s32, tflmgen_s32) \
    TFLMGEN_DEFINE_SPARSE_TO_DENSE(bits, s64, tflmgen_s64)

TFLMGEN_DEFINE_SPARSE_TO_DENSES(8)
TFLMGEN_DEFINE_SPARSE_TO_DENSES(16)
TFLMGEN_DEFINE_SPARSE_TO_DENSES(32)
TFLMGEN_DEFINE_SPARSE_TO_DENSES(64)

#endif
