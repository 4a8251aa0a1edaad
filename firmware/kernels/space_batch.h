/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND of images: batches x height x width x block of bytes. */
#ifndef TFLMGEN_KERNELS_SPACE_BATCH_H
#define TFLMGEN_KERNELS_SPACE_BATCH_H

#include <string.h>

#include "common.h"

/* `space` is the side with the larger images and the fewer batches; `top` and `left` count the rows and columns of
 * padding (or of what is cropped) before it. */
struct tflmgen_space_batch {
    int32_t space_batches;
    int32_t space_height;
    int32_t space_width;
    int32_t batch_height;
    int32_t batch_width;
    int32_t block_height;
    int32_t block_width;
    int32_t top;
    int32_t left;
    int32_t pixel_bytes;
};

/* Pixels of padding become `padding`, which is one pixel. */
TFLMGEN_KERNEL void tflmgen_space_to_batch(const void *input, const void *padding, void *output,
                                           const struct tflmgen_space_batch *params)
{
    const size_t pixel = (size_t)params->pixel_bytes;
    uint8_t *to = output;
    for (int32_t i = 0; i < params->block_height; i++) {
        for (int32_t j = 0; j < params->block_width; j++) {
            for (int32_t n = 0; n < params->space_batches; n++) {
                for (int32_t row = 0; row < params->batch_height; row++) {
                    const int32_t y = row * params->block_height + i - params->top;
                    for (int32_t column = 0; column < params->batch_width; column++) {
                        const int32_t x = column * params->block_width + j - params->left;
                        const bool inside = y >= 0 && y < params->space_height && x >= 0 && x < params->space_width;
                        const int32_t place = (n * params->space_height + y) * params->space_width + x;
                        memcpy(to, inside ? (const uint8_t *)input + place * params->pixel_bytes : padding, pixel);
                        to += pixel;
                    }
                }
            }
        }
    }
}

TFLMGEN_KERNEL void tflmgen_batch_to_space(const void *input, void *output, const struct tflmgen_space_batch *params)
{
    const size_t pixel = (size_t)params->pixel_bytes;
    uint8_t *to = output;
    for (int32_t n = 0; n < params->space_batches; n++) {
        for (int32_t row = 0; row < params->space_height; row++) {
            const int32_t y = row + params->top;
            for (int32_t column = 0; column < params->space_width; column++) {
                const int32_t x = column + params->left;
                const int32_t phase = (y % params->block_height) * params->block_width + x % params->block_width;
                const int32_t batch = phase * params->space_batches + n;
                const int32_t place = (batch * params->batch_height + y / params->block_height) * params->batch_width +
                                      x / params->block_width;
                memcpy(to, (const uint8_t *)input + place * params->pixel_bytes, pixel);
                to += pixel;
            }
        }
    }
}

#endif
