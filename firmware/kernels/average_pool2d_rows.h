/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* AVERAGE_POOL_2D in int8 over a whole image, a row of it at each call: the sums of the channels are kept from call to
 * call. Means round halves away from zero, as those of pool2d.h. */
#ifndef TFLMGEN_KERNELS_AVERAGE_POOL2D_ROWS_H
#define TFLMGEN_KERNELS_AVERAGE_POOL2D_ROWS_H

#include "pool2d.h"

struct tflmgen_average_pool2d_rows_s8 {
    int32_t channels;
    int32_t width;
    int32_t count; /* pixels of the whole image */
    bool is_first;
    bool is_last;
    int32_t output_min;
    int32_t output_max;
};

/* Adds the row [width, channels] to `sums` [channels]; after the last one, writes the means. */
#define TFLMGEN_AVERAGE_POOL2D_ROWS(name, type)                                                  \
    TFLMGEN_KERNEL void name(const int8_t *row, type *sums, int8_t *output,                      \
                             const struct tflmgen_average_pool2d_rows_s8 *p)                     \
    {                                                                                            \
        for (int32_t channel = 0; channel < p->channels; ++channel) {                            \
            int32_t sum = p->is_first ? 0 : sums[channel];                                       \
            for (int32_t x = 0; x < p->width; ++x) {                                             \
                sum += row[x * p->channels + channel];                                           \
            }                                                                                    \
            sums[channel] = (type)sum;                                                           \
            if (p->is_last) {                                                                    \
                const int32_t mean = tflmgen_rounded_mean_s32(sum, p->count);                    \
                output[channel] = (int8_t)tflmgen_clamp_s32(mean, p->output_min, p->output_max); \
            }                                                                                    \
        }                                                                                        \
    }

/* Sums of up to 255 pixels fit 16 bits. */
TFLMGEN_AVERAGE_POOL2D_ROWS(tflmgen_average_pool2d_rows_s8_sum16, tflmgen_s16)
TFLMGEN_AVERAGE_POOL2D_ROWS(tflmgen_average_pool2d_rows_s8_sum32, tflmgen_s32)

#endif
