/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* LSTM of float32 by int8 weights ("hybrid"): as lstm.h, but each vector x, h and, before a projection, output gate *
 * tanh(cell) is quantised to int8 before it is multiplied by weights. */
#ifndef TFLMGEN_KERNELS_LSTM_HYBRID_H
#define TFLMGEN_KERNELS_LSTM_HYBRID_H

#include "dynamic_quantize.h"
#include "lstm.h"

struct tflmgen_lstm_hybrid {
    TFLMGEN_LSTM_F32_FIELDS
    bool asymmetric; /* vectors get a zero point */
    float scales[4]; /* of the weights, per gate */
    float recurrent_scales[4];
    float projection_scale;
};

/* Adds weights * x to the sums of all gates. quantized: scratch as long as x. */
TFLMGEN_HELPER void tflmgen_lstm_add_hybrid(tflmgen_f32 *gates, const tflmgen_f32 *x, int8_t *quantized,
                                            const int8_t *weights, int32_t length, const tflmgen_f32 *scales,
                                            const struct tflmgen_lstm_hybrid *p)
{
    const struct tflmgen_row_scale x_scale = tflmgen_quantize_row(x, quantized, length, p->asymmetric);
    const int32_t gate_count = p->coupled ? TFLMGEN_LSTM_INPUT : TFLMGEN_LSTM_INPUT + 1;
    for (int32_t gate = 0, i = 0; gate < gate_count; ++gate) {
        const float scale = x_scale.scale * scales[gate];
        for (int32_t unit = 0; unit < p->cells; ++unit, ++i) {
            gates[i] += (float)tflmgen_dot_s8(quantized, weights + i * length, length, -x_scale.zero_point) * scale;
        }
    }
}

/* gates: scratch for one number per gate and cell; quantized: scratch as long as the longest of x, h and the cells. */
TFLMGEN_KERNEL void tflmgen_lstm_hybrid(const tflmgen_f32 *input, const int8_t *restrict weights,
                                        const int8_t *restrict recurrent_weights, const tflmgen_f32 *restrict biases,
                                        const tflmgen_f32 *restrict peepholes, const tflmgen_f32 *restrict norms,
                                        const int8_t *restrict projection, const tflmgen_f32 *restrict projection_bias,
                                        const tflmgen_f32 *h_in, const tflmgen_f32 *cell_in, tflmgen_f32 *output,
                                        tflmgen_f32 *h, tflmgen_f32 *cell, tflmgen_f32 *restrict gates,
                                        int8_t *restrict quantized, const struct tflmgen_lstm_hybrid *p)
{
    const int32_t weight_rows = (p->coupled ? TFLMGEN_LSTM_INPUT : TFLMGEN_LSTM_INPUT + 1) * p->cells;
    const tflmgen_f32 *const hidden = gates + TFLMGEN_LSTM_OUTPUT * p->cells;
    tflmgen_lstm_start(h, h_in, p->batches * p->outputs * 4, cell, cell_in, p->batches * p->cells * 4);
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t step = 0; step < p->steps; ++step) {
            const int32_t time = p->backward ? p->steps - 1 - step : step;
            const int32_t row = TFLMGEN_LSTM_ROW(p, batch, time);
            for (int32_t i = 0; i < weight_rows; ++i) {
                gates[i] = norms ? 0.0f : biases[i];
            }
            tflmgen_lstm_add_hybrid(gates, input + row * p->inputs, quantized, weights, p->inputs, p->scales, p);
            tflmgen_lstm_add_hybrid(gates, h, quantized, recurrent_weights, p->outputs, p->recurrent_scales, p);
            tflmgen_lstm_update_f32(gates, biases, peepholes, norms, cell, p->cells, p->coupled, p->cell_clip);
            if (projection) {
                const struct tflmgen_row_scale hidden_scale =
                    tflmgen_quantize_row(hidden, quantized, p->cells, p->asymmetric);
                for (int32_t i = 0; i < p->outputs; ++i) {
                    const int32_t sum =
                        tflmgen_dot_s8(quantized, projection + i * p->cells, p->cells, -hidden_scale.zero_point);
                    const float scaled = (float)sum * (hidden_scale.scale * p->projection_scale);
                    h[i] = tflmgen_clip_f32((projection_bias ? projection_bias[i] : 0.0f) + scaled, p->projection_clip);
                }
            } else {
                memcpy(h, hidden, (size_t)p->outputs * sizeof(float));
            }
            memcpy(output + row * p->outputs, h, (size_t)p->outputs * sizeof(float));
        }
        h += p->outputs;
        cell += p->cells;
    }
}

#endif
