/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* FULLY_CONNECTED of int16 activations by int8 weights for cores with MVE, for layers whose sums provably fit 32 bits:
 * one row times eight units at a time. Weights and requantisation are those of conv2d_s16_mve.h. Rows that are no
 * whole chunks of eight are copied first.
 */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_S16_MVE_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_S16_MVE_H

#include "conv2d_s16_mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

struct tflmgen_fully_connected_s16_mve {
    int32_t batches;
    int32_t depth;
    int32_t units;
    int32_t chunks; /* of eight values in a row */
    int32_t output_min;
    int32_t output_max;
};

/* copied: room for a row of whole chunks, where rows are copied, else NULL. */
TFLMGEN_SHARED void tflmgen_fully_connected_s16_mve_run(const tflmgen_s16 *input, const tflmgen_u32 *stream,
                                                        tflmgen_s16 *copied, tflmgen_s16 *output,
                                                        const struct tflmgen_fully_connected_s16_mve *p)
{
    const struct tflmgen_conv2d_s16_mve_groups groups =
        tflmgen_conv2d_s16_mve_groups_of(p->chunks, p->units, p->output_min, p->output_max);
    if (copied) {
        vst1q_s16(copied + 8 * (p->chunks - 1), vdupq_n_s16(0));
    }
    for (int32_t batch = 0; batch < p->batches; ++batch, input += p->depth, output += p->units) {
        if (copied) {
            tflmgen_conv2d_s16_mve_copy(copied, input, p->depth);
        }
        tflmgen_conv2d_s16_mve_groups(copied ? copied : input, stream, output, &groups);
    }
}

TFLMGEN_SHARED void tflmgen_fully_connected_s16_mve_on_stack(const tflmgen_s16 *input, const tflmgen_u32 *stream,
                                                             tflmgen_s16 *output,
                                                             const struct tflmgen_fully_connected_s16_mve *p)
{
    int16_t row[TFLMGEN_CONV2D_S16_MVE_STACK_BYTES / 2];
    tflmgen_fully_connected_s16_mve_run(input, stream, row, output, p);
}

/* scratch: room for a row of whole chunks, or NULL where none is copied or TFLMGEN_CONV2D_S16_MVE_STACK_BYTES are
 * enough. */
TFLMGEN_SHARED void tflmgen_fully_connected_s16_mve(const tflmgen_s16 *input, const tflmgen_u32 *stream, void *scratch,
                                                    tflmgen_s16 *output,
                                                    const struct tflmgen_fully_connected_s16_mve *p)
{
    if (scratch || p->depth % 8 == 0) {
        tflmgen_fully_connected_s16_mve_run(input, stream, scratch, output, p);
    } else {
        tflmgen_fully_connected_s16_mve_on_stack(input, stream, output, p);
    }
}

#endif

#endif
