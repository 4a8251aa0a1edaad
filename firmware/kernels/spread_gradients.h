/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Gradients by the input that are added up window by window, on zeros. */
#ifndef TFLMGEN_KERNELS_SPREAD_GRADIENTS_H
#define TFLMGEN_KERNELS_SPREAD_GRADIENTS_H

#include <string.h>

#include "window.h"

/* Runs `spread` for each window, in order: on its output `pixel`, with its taps `y` and `x` in `image`, the zeros on
 * which the gradient by the input is added up. */
#define TFLMGEN_EACH_WINDOW(p, channels, spread)                                                                \
    const int32_t image_size = (p)->input_height * (p)->input_width * (p)->input_channels;                      \
    memset(result, 0, (size_t)((p)->batches * image_size) * sizeof *result);                                    \
    for (int32_t batch = 0; batch < (p)->batches; ++batch) {                                                    \
        tflmgen_f32 *const image = result + batch * image_size;                                                 \
        for (int32_t out_y = 0; out_y < (p)->output_height; ++out_y) {                                          \
            for (int32_t out_x = 0; out_x < (p)->output_width; ++out_x) {                                       \
                const tflmgen_f32 *const pixel =                                                                \
                    gradient + ((batch * (p)->output_height + out_y) * (p)->output_width + out_x) * (channels); \
                spread;                                                                                         \
            }                                                                                                   \
        }                                                                                                       \
    }

#endif
