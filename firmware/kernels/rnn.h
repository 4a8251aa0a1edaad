/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Simple recurrent layers over a sequence: h = activation(W x + R h + bias), which is the output of each step.
 *
 * Input [batches, steps, inputs] or, time-major, [steps, batches, inputs]; output the same with `units` for `inputs`.
 * The state h [batches, units] is read from h_in and written to h, which may be the same.
 */
#ifndef TFLMGEN_KERNELS_RNN_H
#define TFLMGEN_KERNELS_RNN_H

#include <string.h>

#include "dynamic_quantize.h"
#include "elementary_rows.h"
#include "rows_f32.h"

#define TFLMGEN_RNN_FIELDS                       \
    int32_t batches;                             \
    int32_t steps;                               \
    bool time_major;                             \
    bool backward; /* from the last step on */   \
    int32_t inputs;                              \
    int32_t units;                               \
    bool tangent; /* the activation is tanh() */ \
    float output_min;                            \
    float output_max;

struct tflmgen_rnn_f32 {
    TFLMGEN_RNN_FIELDS
};

/* int8 weights; vectors are quantised before they are multiplied, with a zero point if `asymmetric`. */
struct tflmgen_rnn_hybrid {
    TFLMGEN_RNN_FIELDS
    bool asymmetric;
    float scale; /* of W */
    float recurrent_scale;
};

TFLMGEN_HELPER void tflmgen_rnn_activate(const tflmgen_f32 *sums, tflmgen_f32 *h, int32_t units, bool tangent,
                                         float least, float greatest)
{
    if (tangent) {
        tflmgen_tanh_row_f32(sums, h, units);
        return;
    }
    for (int32_t i = 0; i < units; ++i) {
        h[i] = tflmgen_clamp_f32(sums[i], least, greatest);
    }
}

/* sums: scratch for one number per unit. */
TFLMGEN_KERNEL void tflmgen_rnn_f32(const tflmgen_f32 *input, const tflmgen_f32 *restrict weights,
                                    const tflmgen_f32 *restrict recurrent_weights, const tflmgen_f32 *restrict bias,
                                    const tflmgen_f32 *h_in, tflmgen_f32 *output, tflmgen_f32 *h,
                                    tflmgen_f32 *restrict sums, const struct tflmgen_rnn_f32 *p)
{
    if (h != h_in) {
        memcpy(h, h_in, (size_t)(p->batches * p->units) * sizeof(float));
    }
    for (int32_t batch = 0; batch < p->batches; ++batch, h += p->units) {
        for (int32_t step = 0; step < p->steps; ++step) {
            const int32_t at = p->backward ? p->steps - 1 - step : step;
            const int32_t row = p->time_major ? at * p->batches + batch : batch * p->steps + at;
            tflmgen_matrix_f32(input + row * p->inputs, weights, bias, sums, p->inputs, p->units);
            tflmgen_matrix_f32(h, recurrent_weights, sums, sums, p->units, p->units);
            tflmgen_rnn_activate(sums, h, p->units, p->tangent, p->output_min, p->output_max);
            memcpy(output + row * p->units, h, (size_t)p->units * sizeof(float));
        }
    }
}

/* Adds weights * x to the sums. quantized: scratch as long as x. */
TFLMGEN_HELPER void tflmgen_rnn_add_hybrid(tflmgen_f32 *sums, const tflmgen_f32 *x, int8_t *quantized,
                                           const int8_t *weights, int32_t length, float scale,
                                           const struct tflmgen_rnn_hybrid *p)
{
    const struct tflmgen_row_scale row = tflmgen_quantize_row(x, quantized, length, p->asymmetric);
    for (int32_t i = 0; i < p->units; ++i) {
        const int32_t sum = tflmgen_dot_s8(quantized, weights + i * length, length, -row.zero_point);
        sums[i] += (float)sum * (row.scale * scale);
    }
}

/* quantized: scratch as long as the longer of x and h. */
TFLMGEN_KERNEL void tflmgen_rnn_hybrid(const tflmgen_f32 *input, const int8_t *restrict weights,
                                       const int8_t *restrict recurrent_weights, const tflmgen_f32 *restrict bias,
                                       const tflmgen_f32 *h_in, tflmgen_f32 *output, tflmgen_f32 *h,
                                       tflmgen_f32 *restrict sums, int8_t *restrict quantized,
                                       const struct tflmgen_rnn_hybrid *p)
{
    if (h != h_in) {
        memcpy(h, h_in, (size_t)(p->batches * p->units) * sizeof(float));
    }
    for (int32_t batch = 0; batch < p->batches; ++batch, h += p->units) {
        for (int32_t step = 0; step < p->steps; ++step) {
            const int32_t at = p->backward ? p->steps - 1 - step : step;
            const int32_t row = p->time_major ? at * p->batches + batch : batch * p->steps + at;
            memcpy(sums, bias, (size_t)p->units * sizeof(float));
            tflmgen_rnn_add_hybrid(sums, input + row * p->inputs, quantized, weights, p->inputs, p->scale, p);
            tflmgen_rnn_add_hybrid(sums, h, quantized, recurrent_weights, p->units, p->recurrent_scale, p);
            tflmgen_rnn_activate(sums, h, p->units, p->tangent, p->output_min, p->output_max);
            memcpy(output + row * p->units, h, (size_t)p->units * sizeof(float));
        }
    }
}

#endif
