/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* FULLY_CONNECTED: input [batches, depth], filter [units, depth], output [batches, units]. */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_H

#include "dot.h"
#include "requantize.h"
#include "rows_f32.h"

struct tflmgen_fully_connected_s8 {
    int32_t batches;
    int32_t depth;
    int32_t units;
    int32_t input_offset;  /* added to every input value; 0 where it is folded into the bias */
    int32_t filter_offset; /* minus the filter's zero point */
    int32_t row_offset;    /* minus the input's zero point, for a row of them */
    int32_t multiplier;
    int32_t shift;
    int32_t output_zero_point;
    int32_t output_min;
    int32_t output_max;
};

/* bias: one per unit, or NULL. One multiplier and shift for all units. */
TFLMGEN_KERNEL void tflmgen_fully_connected_s8(const int8_t *input, const int8_t *restrict filter,
                                               const tflmgen_s32 *restrict bias, int8_t *output,
                                               const struct tflmgen_fully_connected_s8 *p)
{
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        /* What the filter's zero point adds to each sum. */
        const int32_t row_sum = p->filter_offset ? tflmgen_sum_s8(input, p->depth) + p->row_offset : 0;
        const int32_t shared = (int32_t)((uint32_t)row_sum * (uint32_t)p->filter_offset);
        for (int32_t unit = 0; unit < p->units; ++unit) {
            const int32_t sum = tflmgen_dot_s8(input, filter + unit * p->depth, p->depth, p->input_offset);
            *output++ = tflmgen_output_s8(tflmgen_add_wrap_s32(sum, shared), bias ? bias[unit] : 0, p->multiplier,
                                          p->shift, p->output_zero_point, p->output_min, p->output_max);
        }
        input += p->depth;
    }
}

struct tflmgen_fully_connected_channels_s8 {
    int32_t batches;
    int32_t depth;
    int32_t units;
    int32_t input_offset; /* added to every input value; 0 where it is folded into the bias */
    int32_t output_zero_point;
    int32_t output_min;
    int32_t output_max;
};

/* The same with a multiplier and a shift per unit. */
TFLMGEN_KERNEL void tflmgen_fully_connected_channels_s8(const int8_t *input, const int8_t *restrict filter,
                                                        const tflmgen_s32 *restrict bias,
                                                        const tflmgen_s32 *restrict multipliers,
                                                        const int8_t *restrict shifts, int8_t *output,
                                                        const struct tflmgen_fully_connected_channels_s8 *p)
{
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t unit = 0; unit < p->units; ++unit) {
            const int32_t sum = tflmgen_dot_s8(input, filter + unit * p->depth, p->depth, p->input_offset);
            *output++ = tflmgen_output_s8(sum, bias ? bias[unit] : 0, multipliers[unit], shifts[unit],
                                          p->output_zero_point, p->output_min, p->output_max);
        }
        input += p->depth;
    }
}

struct tflmgen_fully_connected_f32 {
    int32_t batches;
    int32_t depth;
    int32_t units;
    float output_min;
    float output_max;
};

/* bias: one per unit, or NULL. */
TFLMGEN_KERNEL void tflmgen_fully_connected_f32(const tflmgen_f32 *input, const tflmgen_f32 *restrict filter,
                                                const tflmgen_f32 *restrict bias, tflmgen_f32 *output,
                                                const struct tflmgen_fully_connected_f32 *p)
{
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        tflmgen_matrix_f32(input, filter, bias, output, p->depth, p->units);
        tflmgen_clamp_row_f32(output, p->units, p->output_min, p->output_max);
        input += p->depth;
        output += p->units;
    }
}

#endif
