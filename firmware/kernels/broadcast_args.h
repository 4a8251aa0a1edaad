/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* BROADCAST_ARGS: the shape that two shapes broadcast to; dimensions are aligned at the last. */
#ifndef TFLMGEN_KERNELS_BROADCAST_ARGS_H
#define TFLMGEN_KERNELS_BROADCAST_ARGS_H

#include "common.h"

struct tflmgen_broadcast_args {
    int32_t first_rank;
    int32_t second_rank;
};

/* Of two dimensions, the one that isn't 1; of shapes that don't go together, the first one's. */
#define TFLMGEN_BROADCAST_ARGS(name, type)                                        \
    TFLMGEN_KERNEL void name(const type *first, const type *second, type *output, \
                             const struct tflmgen_broadcast_args *p)              \
    {                                                                             \
        const int32_t rank = tflmgen_max_s32(p->first_rank, p->second_rank);      \
        for (int32_t i = 1; i <= rank; ++i) {                                     \
            const type a = i <= p->first_rank ? first[p->first_rank - i] : 1;     \
            const type b = i <= p->second_rank ? second[p->second_rank - i] : 1;  \
            output[rank - i] = a == 1 ? b : a;                                    \
        }                                                                         \
    }

TFLMGEN_BROADCAST_ARGS(tflmgen_broadcast_args_s32, tflmgen_s32)
TFLMGEN_BROADCAST_ARGS(tflmgen_broadcast_args_s64, tflmgen_s64)

#endif
