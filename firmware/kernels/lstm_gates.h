/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* What the float32 and the hybrid LSTM share: gates and cells, once the sums of products are known. */
#ifndef TFLMGEN_KERNELS_LSTM_GATES_H
#define TFLMGEN_KERNELS_LSTM_GATES_H

#include <math.h>

#include "elementary_rows.h"

/* The order of the gates in arrays. */
#define TFLMGEN_LSTM_FORGET 0
#define TFLMGEN_LSTM_CELL 1
#define TFLMGEN_LSTM_OUTPUT 2
#define TFLMGEN_LSTM_INPUT 3

/* limit 0: none */
TFLMGEN_HELPER float tflmgen_clip_f32(float value, float limit)
{
    return limit > 0.0f ? tflmgen_clamp_f32(value, -limit, limit) : value;
}

/* values * norm + bias, once the values have mean 0 and variance 1. */
TFLMGEN_HELPER void tflmgen_lstm_normalize_f32(tflmgen_f32 *values, const tflmgen_f32 *norm, const tflmgen_f32 *bias,
                                               int32_t length)
{
    float sum = 0.0f;
    float squares = 0.0f;
    for (int32_t i = 0; i < length; ++i) {
        sum += values[i];
    }
    const float mean = sum / (float)length;
    for (int32_t i = 0; i < length; ++i) {
        squares += (values[i] - mean) * (values[i] - mean);
    }
    const float inverse_deviation = 1.0f / sqrtf(squares / (float)length + 1e-8f);
    for (int32_t i = 0; i < length; ++i) {
        values[i] = (values[i] - mean) * inverse_deviation * norm[i] + bias[i];
    }
}

/* The peephole, the normalisation and the activation of one gate. biases, norms: of all gates; peephole: of this
 * one. */
TFLMGEN_HELPER void tflmgen_lstm_finish_gate_f32(int32_t gate, tflmgen_f32 *gates, const tflmgen_f32 *biases,
                                                 const tflmgen_f32 *peephole, const tflmgen_f32 *norms,
                                                 const tflmgen_f32 *cell, int32_t cells)
{
    tflmgen_f32 *const values = gates + gate * cells;
    if (peephole) {
        for (int32_t i = 0; i < cells; ++i) {
            values[i] += peephole[i] * cell[i];
        }
    }
    if (norms) {
        tflmgen_lstm_normalize_f32(values, norms + gate * cells, biases + gate * cells, cells);
    }
    if (gate == TFLMGEN_LSTM_CELL) {
        tflmgen_tanh_row_f32(values, values, cells);
    } else {
        tflmgen_logistic_row_f32(values, values, cells);
    }
}

/* One step of one batch: from the sums in `gates` (biases added where there are no norms) to the cells, and to
 * output gate * tanh(cell), which replaces the output gate. peepholes: forget, output, input; or NULL, as norms.
 * coupled: there is no input gate, 1 - forget stands for it. */
TFLMGEN_HELPER void tflmgen_lstm_update_f32(tflmgen_f32 *gates, const tflmgen_f32 *biases, const tflmgen_f32 *peepholes,
                                            const tflmgen_f32 *norms, tflmgen_f32 *cell, int32_t cells, bool coupled,
                                            float clip)
{
    const tflmgen_f32 *const forget = gates + TFLMGEN_LSTM_FORGET * cells;
    const tflmgen_f32 *const cell_gate = gates + TFLMGEN_LSTM_CELL * cells;
    tflmgen_f32 *const output_gate = gates + TFLMGEN_LSTM_OUTPUT * cells;
    const tflmgen_f32 *const input_gate = gates + TFLMGEN_LSTM_INPUT * cells;
    tflmgen_lstm_finish_gate_f32(TFLMGEN_LSTM_FORGET, gates, biases, peepholes, norms, cell, cells);
    tflmgen_lstm_finish_gate_f32(TFLMGEN_LSTM_CELL, gates, biases, NULL, norms, cell, cells);
    if (!coupled) {
        tflmgen_lstm_finish_gate_f32(TFLMGEN_LSTM_INPUT, gates, biases, peepholes ? peepholes + 2 * cells : NULL, norms,
                                     cell, cells);
    }
    for (int32_t i = 0; i < cells; ++i) {
        const float input_gate_value = coupled ? 1.0f - forget[i] : input_gate[i];
        cell[i] = tflmgen_clip_f32(forget[i] * cell[i] + cell_gate[i] * input_gate_value, clip);
    }
    tflmgen_lstm_finish_gate_f32(TFLMGEN_LSTM_OUTPUT, gates, biases, peepholes ? peepholes + cells : NULL, norms, cell,
                                 cells);
    tflmgen_tanh_product_row_f32(cell, output_gate, cells);
}

#endif
