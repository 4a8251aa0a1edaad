/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Gradients of pools in float32 by their input, tensors [batch, height, width, channels]. */
#ifndef TFLMGEN_KERNELS_POOL_GRADIENTS_H
#define TFLMGEN_KERNELS_POOL_GRADIENTS_H

#include "spread_gradients.h"

struct tflmgen_pool2d_gradient {
    TFLMGEN_CHANNEL_WINDOW_FIELDS
};

#define TFLMGEN_POOL_TAPS_OF_ROW(p, out_y) \
    tflmgen_taps_inside((out_y) * (p)->stride_height - (p)->padding_top, 1, (p)->filter_height, (p)->input_height)
#define TFLMGEN_POOL_TAPS_OF_COLUMN(p, out_x) \
    tflmgen_taps_inside((out_x) * (p)->stride_width - (p)->padding_left, 1, (p)->filter_width, (p)->input_width)

/* By the input of MAX_POOL_2D: to the first of the greatest elements of each window. */
TFLMGEN_KERNEL void tflmgen_max_pool2d_gradient(const tflmgen_f32 *input, const tflmgen_f32 *gradient,
                                                tflmgen_f32 *result, const struct tflmgen_pool2d_gradient *p){
    TFLMGEN_EACH_WINDOW(p, p -> input_channels,
                        {
                            const struct tflmgen_taps y = TFLMGEN_POOL_TAPS_OF_ROW(p, out_y);
                            const struct tflmgen_taps x = TFLMGEN_POOL_TAPS_OF_COLUMN(p, out_x);
                            const tflmgen_f32 *const values = input + batch * image_size;
                            for (int32_t channel = 0; channel < p->input_channels; ++channel) {
                                int32_t greatest = -1;
                                for (int32_t ky = y.first; ky < y.end; ++ky) {
                                    for (int32_t kx = x.first; kx < x.end; ++kx) {
                                        const int32_t at =
                                            ((y.origin + ky) * p->input_width + x.origin + kx) * p->input_channels +
                                            channel;
                                        if (greatest < 0 || values[at] > values[greatest]) {
                                            greatest = at;
                                        }
                                    }
                                }
                                if (greatest >= 0) {
                                    image[greatest] += pixel[channel];
                                }
                            }
                        })}

/* By the input of AVERAGE_POOL_2D: in equal parts to the elements of each window, padding left out. */
TFLMGEN_KERNEL void tflmgen_average_pool2d_gradient(const tflmgen_f32 *gradient, tflmgen_f32 *result,
                                                    const struct tflmgen_pool2d_gradient *p)
{
    TFLMGEN_EACH_WINDOW(p, p->input_channels, {
        const struct tflmgen_taps y = TFLMGEN_POOL_TAPS_OF_ROW(p, out_y);
        const struct tflmgen_taps x = TFLMGEN_POOL_TAPS_OF_COLUMN(p, out_x);
        const float share = 1.0f / (float)tflmgen_max_s32((y.end - y.first) * (x.end - x.first), 1);
        for (int32_t ky = y.first; ky < y.end; ++ky) {
            for (int32_t kx = x.first; kx < x.end; ++kx) {
                tflmgen_f32 *const to = image + ((y.origin + ky) * p->input_width + x.origin + kx) * p->input_channels;
                for (int32_t channel = 0; channel < p->input_channels; ++channel) {
                    to[channel] += pixel[channel] * share;
                }
            }
        }
    })
}

#endif
