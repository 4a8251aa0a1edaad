/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR of images [batch, height, width, channels] whose sizes are known at run
 * time only, and lie in memory for the largest ones. Where each pixel comes from is computed as TFLite does it: in
 * single precision, for int8 in steps of 1 / 1024. */
#ifndef TFLMGEN_KERNELS_RESIZE_IN_USE_H
#define TFLMGEN_KERNELS_RESIZE_IN_USE_H

#include <math.h>
#include <string.h>

#include "resize_bilinear.h"

struct tflmgen_resize_in_use {
    int32_t batches;
    int32_t input_height; /* that there is memory for */
    int32_t input_width;
    int32_t output_height;
    int32_t output_width;
    int32_t pixel_bytes;
    int32_t channels;
    bool align_corners; /* the corner pixels' centres coincide */
    bool half_pixel_centers;
};

/* Input rows or columns from one of the output's to the next one. */
TFLMGEN_HELPER float tflmgen_resize_step(int32_t input_size, int32_t output_size, bool align_corners)
{
    return align_corners && output_size > 1 ? (float)(input_size - 1) / (float)(output_size - 1)
                                            : (float)input_size / (float)output_size;
}

/* The input's row or column for one of the output's. */
TFLMGEN_HELPER int32_t tflmgen_nearest(int32_t position, int32_t input_size, int32_t output_size,
                                       const struct tflmgen_resize_in_use *params)
{
    const float offset = params->half_pixel_centers ? 0.5f : 0.0f;
    const float coordinate =
        ((float)position + offset) * tflmgen_resize_step(input_size, output_size, params->align_corners);
    const int32_t index = (int32_t)(params->align_corners ? roundf(coordinate) : floorf(coordinate));
    return tflmgen_clamp_s32(index, 0, input_size - 1);
}

TFLMGEN_KERNEL void tflmgen_resize_nearest_in_use(const void *input, const tflmgen_s32 *height,
                                                  const tflmgen_s32 *width, const tflmgen_s32 *new_height,
                                                  const tflmgen_s32 *new_width, void *output,
                                                  const struct tflmgen_resize_in_use *params)
{
    const int32_t bytes = params->pixel_bytes;
    const uint8_t *source = input;
    uint8_t *target = output;
    for (int32_t batch = 0; batch < params->batches; ++batch) {
        for (int32_t y = 0; y < *new_height; ++y) {
            const int32_t row = tflmgen_nearest(y, *height, *new_height, params) * params->input_width;
            for (int32_t x = 0; x < *new_width; ++x) {
                const int32_t pixel = row + tflmgen_nearest(x, *width, *new_width, params);
                memcpy(target + (y * params->output_width + x) * bytes, source + pixel * bytes, (size_t)bytes);
            }
        }
        source += params->input_height * params->input_width * bytes;
        target += params->output_height * params->output_width * bytes;
    }
}

/* The two rows or columns between which one of the output's lies, and how near it is to the second. */
#define TFLMGEN_NEIGHBOURS(suffix, fraction_type) \
    struct tflmgen_neighbours_##suffix {          \
        int32_t first;                            \
        int32_t second;                           \
        fraction_type fraction;                   \
    };

TFLMGEN_NEIGHBOURS(f32, tflmgen_f32)
TFLMGEN_NEIGHBOURS(s8, tflmgen_s32)

TFLMGEN_HELPER struct tflmgen_neighbours_f32 tflmgen_neighbours_f32_of(int32_t position, int32_t input_size,
                                                                       int32_t output_size,
                                                                       const struct tflmgen_resize_in_use *params)
{
    const float step = tflmgen_resize_step(input_size, output_size, params->align_corners);
    const float coordinate =
        params->half_pixel_centers ? ((float)position + 0.5f) * step - 0.5f : (float)position * step;
    const int32_t first = tflmgen_max_s32((int32_t)floorf(coordinate), 0);
    const struct tflmgen_neighbours_f32 neighbours = {tflmgen_min_s32(first, input_size - 1),
                                                      tflmgen_min_s32((int32_t)ceilf(coordinate), input_size - 1),
                                                      coordinate - (float)first};
    return neighbours;
}

TFLMGEN_HELPER struct tflmgen_neighbours_s8 tflmgen_neighbours_s8_of(int32_t position, int32_t input_size,
                                                                     int32_t output_size,
                                                                     const struct tflmgen_resize_in_use *params)
{
    const bool corners = params->align_corners && output_size > 1;
    const int32_t steps = corners ? output_size - 1 : output_size;
    const int32_t step = (1024 * (corners ? input_size - 1 : input_size) + steps / 2) / steps;
    const int32_t coordinate = position * step + (params->half_pixel_centers ? step / 2 - 512 : 0);
    const int32_t first = tflmgen_max_s32(coordinate / 1024, 0);
    const struct tflmgen_neighbours_s8 neighbours = {tflmgen_min_s32(first, input_size - 1),
                                                     tflmgen_min_s32((coordinate + 1023) / 1024, input_size - 1),
                                                     coordinate - 1024 * first};
    return neighbours;
}

#define tflmgen_neighbours_s16 tflmgen_neighbours_s8
#define tflmgen_neighbours_s16_of tflmgen_neighbours_s8_of

#define TFLMGEN_RESIZE_BILINEAR_IN_USE(suffix, type)                                                                 \
    TFLMGEN_KERNEL void tflmgen_resize_bilinear_in_use_##suffix(                                                     \
        const type *input, const tflmgen_s32 *height, const tflmgen_s32 *width, const tflmgen_s32 *new_height,       \
        const tflmgen_s32 *new_width, type *output, const struct tflmgen_resize_in_use *params)                      \
    {                                                                                                                \
        const int32_t channels = params->channels;                                                                   \
        for (int32_t batch = 0; batch < params->batches; ++batch) {                                                  \
            for (int32_t y = 0; y < *new_height; ++y) {                                                              \
                const struct tflmgen_neighbours_##suffix vertical =                                                  \
                    tflmgen_neighbours_##suffix##_of(y, *height, *new_height, params);                               \
                const type *upper = input + vertical.first * params->input_width * channels;                         \
                const type *lower = input + vertical.second * params->input_width * channels;                        \
                type *pixel = output + y * params->output_width * channels;                                          \
                for (int32_t x = 0; x < *new_width; ++x) {                                                           \
                    const struct tflmgen_neighbours_##suffix horizontal =                                            \
                        tflmgen_neighbours_##suffix##_of(x, *width, *new_width, params);                             \
                    const int32_t left = horizontal.first * channels;                                                \
                    const int32_t right = horizontal.second * channels;                                              \
                    tflmgen_resize_bilinear_pixel_##suffix(upper + left, upper + right, lower + left, lower + right, \
                                                           pixel, channels, vertical.fraction, horizontal.fraction); \
                    pixel += channels;                                                                               \
                }                                                                                                    \
            }                                                                                                        \
            input += params->input_height * params->input_width * channels;                                          \
            output += params->output_height * params->output_width * channels;                                       \
        }                                                                                                            \
    }

TFLMGEN_RESIZE_BILINEAR_IN_USE(f32, tflmgen_f32)
TFLMGEN_RESIZE_BILINEAR_IN_USE(s8, int8_t)
TFLMGEN_RESIZE_BILINEAR_IN_USE(s16, tflmgen_s16)

#endif
