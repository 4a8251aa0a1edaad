/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* AVERAGE_POOL_2D and L2_POOL_2D with SAME padding, of images whose dimensions are known at run time only: padding
 * takes no part, so that the last windows hang on how much of the image is in use. Input and output are dense
 * (rows.h). */
#ifndef TFLMGEN_KERNELS_POOL2D_IN_USE_H
#define TFLMGEN_KERNELS_POOL2D_IN_USE_H

#include "pool2d.h"
#include "row_windows.h"

/* The params are those of the largest image. */
#define TFLMGEN_POOL2D_IN_USE(kind, suffix, element)                                                           \
    TFLMGEN_KERNEL void tflmgen_##kind##_pool2d_in_use_##suffix(                                               \
        const element *input, const tflmgen_s32 *batches, const tflmgen_s32 *height, const tflmgen_s32 *width, \
        element *output, const struct tflmgen_pool2d_##suffix *params)                                         \
    {                                                                                                          \
        const struct tflmgen_spacing rows = {params->stride_height, params->filter_height, true};              \
        const struct tflmgen_spacing columns = {params->stride_width, params->filter_width, true};             \
        struct tflmgen_pool2d_##suffix image = *params;                                                        \
        image.batches = *batches;                                                                              \
        image.input_height = *height;                                                                          \
        image.input_width = *width;                                                                            \
        image.output_height = tflmgen_windows(*height, &rows);                                                 \
        image.output_width = tflmgen_windows(*width, &columns);                                                \
        image.padding_top = tflmgen_same_padding(*height, &rows);                                              \
        image.padding_left = tflmgen_same_padding(*width, &columns);                                           \
        tflmgen_##kind##_pool2d_##suffix(input, output, &image);                                               \
    }

TFLMGEN_POOL2D_IN_USE(average, s8, int8_t)
TFLMGEN_POOL2D_IN_USE(average, s16, tflmgen_s16)
TFLMGEN_POOL2D_IN_USE(average, f32, tflmgen_f32)
TFLMGEN_POOL2D_IN_USE(l2, f32, tflmgen_f32)

#endif
