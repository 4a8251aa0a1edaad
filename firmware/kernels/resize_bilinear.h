/* RESIZE_BILINEAR. `rows` and `columns` hold, for each output row or column, the two input rows or columns between
 * which it lies; the fractions tell how near it is to the second. They are made at build time. */
#ifndef TFLMGEN_KERNELS_RESIZE_BILINEAR_H
#define TFLMGEN_KERNELS_RESIZE_BILINEAR_H

#include "common.h"

struct tflmgen_resize_bilinear {
    int32_t batches;
    int32_t input_height;
    int32_t input_width;
    int32_t output_height;
    int32_t output_width;
    int32_t channels;
};

#define TFLMGEN_DEFINE_RESIZE_BILINEAR(name, type, fraction_type, interpolate)                                        \
    TFLMGEN_KERNEL void name(const type *input, const tflmgen_s32 *rows, const fraction_type *row_fractions,          \
                             const tflmgen_s32 *columns, const fraction_type *column_fractions, type *output,         \
                             const struct tflmgen_resize_bilinear *params)                                            \
    {                                                                                                                 \
        const int32_t channels = params->channels;                                                                    \
        const int32_t stride = params->input_width * channels;                                                        \
        for (int32_t batch = 0; batch < params->batches; batch++) {                                                   \
            for (int32_t y = 0; y < params->output_height; y++) {                                                     \
                const type *upper = input + rows[2 * y] * stride;                                                     \
                const type *lower = input + rows[2 * y + 1] * stride;                                                 \
                for (int32_t x = 0; x < params->output_width; x++) {                                                  \
                    const int32_t left = columns[2 * x] * channels;                                                   \
                    const int32_t right = columns[2 * x + 1] * channels;                                              \
                    for (int32_t c = 0; c < channels; c++) {                                                          \
                        *output++ = interpolate(upper[left + c], upper[right + c], lower[left + c], lower[right + c], \
                                                row_fractions[y], column_fractions[x]);                               \
                    }                                                                                                 \
                }                                                                                                     \
            }                                                                                                         \
            input += params->input_height * stride;                                                                   \
        }                                                                                                             \
    }

TFLMGEN_HELPER float tflmgen_interpolate_f32(float upper_left, float upper_right, float lower_left, float lower_right,
                                             float down, float across)
{
    return upper_left * (1.0f - down) * (1.0f - across) + lower_left * down * (1.0f - across) +
           upper_right * (1.0f - down) * across + lower_right * down * across;
}

/* Fractions are in steps of 1 / 1024; the result is rounded, halves away from zero. */
TFLMGEN_HELPER int8_t tflmgen_interpolate_s8(int32_t upper_left, int32_t upper_right, int32_t lower_left,
                                             int32_t lower_right, int32_t down, int32_t across)
{
    const int32_t sum = upper_left * (1024 - down) * (1024 - across) + lower_left * down * (1024 - across) +
                        upper_right * (1024 - down) * across + lower_right * down * across;
    return (int8_t)((sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20));
}

TFLMGEN_DEFINE_RESIZE_BILINEAR(tflmgen_resize_bilinear_f32, tflmgen_f32, tflmgen_f32, tflmgen_interpolate_f32)
TFLMGEN_DEFINE_RESIZE_BILINEAR(tflmgen_resize_bilinear_s8, int8_t, tflmgen_s32, tflmgen_interpolate_s8)

#endif
