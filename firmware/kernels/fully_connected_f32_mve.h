/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* FULLY_CONNECTED of float32 for cores with MVE and its floating point: one row times eight units at a time. A row is
 * the one run of the one window of conv2d_f32_mve.h, whose stream of weights and groups of channels are used.
 */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_F32_MVE_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_F32_MVE_H

#include "conv2d_f32_mve.h"

#if TFLMGEN_HAS_MVE_F32

struct tflmgen_fully_connected_f32_mve {
    int32_t batches;
    int32_t depth;
    int32_t units;
    float output_min;
    float output_max;
};

TFLMGEN_KERNEL void tflmgen_fully_connected_f32_mve(const tflmgen_f32 *input, const tflmgen_f32 *stream,
                                                    tflmgen_f32 *output,
                                                    const struct tflmgen_fully_connected_f32_mve *p)
{
    const struct tflmgen_conv2d_f32_mve_runs runs = {.quads = p->depth / 4,
                                                     .remainder = p->depth % 4,
                                                     .runs = 1,
                                                     .planes = 1,
                                                     .terms = p->depth,
                                                     .channels = p->units,
                                                     .least = p->output_min,
                                                     .greatest = p->output_max};
    for (int32_t batch = 0; batch < p->batches; ++batch, input += p->depth, output += p->units) {
        tflmgen_conv2d_f32_mve_groups(input, stream, 0, output, &runs);
    }
}

#endif

#endif
