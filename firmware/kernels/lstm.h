/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* LSTM over a sequence: input [batches, steps, inputs] or, time-major, [steps, batches, inputs]; output the same with
 * `outputs` for `inputs`.
 *
 *     forget, output and input gate = logistic(W x + R h + bias)
 *     cell gate                     = tanh(W x + R h + bias)
 *     cell = forget gate * cell + input gate * cell gate
 *     h    = output gate * tanh(cell), or its projection
 *
 * Weights W [gates, cells, inputs] and R [gates, cells, outputs], biases [gates, cells] and all other numbers of the
 * gates are in the order forget, cell, output, input gate. The states h [batches, outputs] and cell [batches, cells]
 * are read from *_in and written to their own pointers, which may be the same.
 *
 * Results of int8 and int16 are TFLite Micro's, bit for bit.
 */
#ifndef TFLMGEN_KERNELS_LSTM_H
#define TFLMGEN_KERNELS_LSTM_H

#include <string.h>

#include "dot.h"
#include "fixed_point_s16.h"
#include "lstm_gates.h"
#include "quantized_unary.h"
#include "rows_f32.h"
#include "sum_s16.h"

#define TFLMGEN_LSTM_F32_FIELDS                                             \
    int32_t batches;                                                        \
    int32_t steps;                                                          \
    bool time_major;                                                        \
    bool backward; /* from the last step on */                              \
    int32_t inputs;                                                         \
    int32_t cells;                                                          \
    int32_t outputs;                                                        \
    bool coupled;    /* there is no input gate: 1 - forget stands for it */ \
    float cell_clip; /* 0: none */                                          \
    float projection_clip;

struct tflmgen_lstm_f32 {
    TFLMGEN_LSTM_F32_FIELDS
};

/* The row of input and output of a step, by the params p: of [batches, steps] or, time-major, of [steps, batches]. */
#define TFLMGEN_LSTM_ROW(p, batch, step) \
    ((p)->time_major ? (step) * (p)->batches + (batch) : (batch) * (p)->steps + (step))

/* The states before the first step. */
TFLMGEN_HELPER void tflmgen_lstm_start(void *h, const void *h_in, int32_t h_bytes, void *cell, const void *cell_in,
                                       int32_t cell_bytes)
{
    if (h != h_in) {
        memmove(h, h_in, (size_t)h_bytes);
    }
    if (cell != cell_in) {
        memmove(cell, cell_in, (size_t)cell_bytes);
    }
}

/* peepholes (forget, output, input), norms, projection [outputs, cells] and its bias may be NULL. gates: scratch for
 * one number per gate and cell. */
TFLMGEN_KERNEL void tflmgen_lstm_f32(const tflmgen_f32 *input, const tflmgen_f32 *restrict weights,
                                     const tflmgen_f32 *restrict recurrent_weights, const tflmgen_f32 *restrict biases,
                                     const tflmgen_f32 *restrict peepholes, const tflmgen_f32 *restrict norms,
                                     const tflmgen_f32 *restrict projection,
                                     const tflmgen_f32 *restrict projection_bias, const tflmgen_f32 *h_in,
                                     const tflmgen_f32 *cell_in, tflmgen_f32 *output, tflmgen_f32 *h, tflmgen_f32 *cell,
                                     tflmgen_f32 *restrict gates, const struct tflmgen_lstm_f32 *p)
{
    const int32_t weight_rows = (p->coupled ? TFLMGEN_LSTM_INPUT : TFLMGEN_LSTM_INPUT + 1) * p->cells;
    const tflmgen_f32 *const hidden = gates + TFLMGEN_LSTM_OUTPUT * p->cells;
    tflmgen_lstm_start(h, h_in, p->batches * p->outputs * 4, cell, cell_in, p->batches * p->cells * 4);
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t step = 0; step < p->steps; ++step) {
            const int32_t time = p->backward ? p->steps - 1 - step : step;
            const int32_t row = TFLMGEN_LSTM_ROW(p, batch, time);
            const tflmgen_f32 *const x = input + row * p->inputs;
            tflmgen_matrix_f32(x, weights, norms ? NULL : biases, gates, p->inputs, weight_rows);
            tflmgen_matrix_f32(h, recurrent_weights, gates, gates, p->outputs, weight_rows);
            tflmgen_lstm_update_f32(gates, biases, peepholes, norms, cell, p->cells, p->coupled, p->cell_clip);
            if (projection) {
                tflmgen_matrix_f32(hidden, projection, projection_bias, h, p->cells, p->outputs);
                for (int32_t i = 0; i < p->outputs; ++i) {
                    h[i] = tflmgen_clip_f32(h[i], p->projection_clip);
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

/* The int8 and int16 kernels. Gates and cells are int16; sums of products are brought to 1/4096, the gates' activations
 * and the hyperbolic tangent of the cells to 1/32768. */
struct tflmgen_lstm_integer {
    int32_t batches;
    int32_t steps;
    bool time_major;
    int32_t inputs;
    int32_t cells;
    int32_t multipliers[4]; /* of W x, per gate */
    int32_t shifts[4];
    int32_t recurrent_multipliers[4]; /* of R h, per gate */
    int32_t recurrent_shifts[4];
    int32_t forget_multiplier; /* of forget * cell */
    int32_t forget_shift;
    int32_t input_multiplier; /* of input gate * cell gate */
    int32_t input_shift;
    int32_t output_multiplier; /* of output gate * tanh(cell) */
    int32_t output_shift;
    int32_t output_zero_point;
    int32_t cell_clip;        /* 0: none */
    int32_t steps_multiplier; /* from a cell to the steps of tflmgen_tanh_of_steps */
    int32_t steps_shift;
};

/* What x or h adds to a gate, in 1/4096, saturated: the sum of products with the bias, requantised. */
TFLMGEN_HELPER int32_t tflmgen_lstm_sum_s8(const int8_t *x, const int8_t *weights, int32_t length,
                                           const tflmgen_s32 *bias, int32_t multiplier, int32_t shift)
{
    const int32_t sum = tflmgen_add_wrap_s32(tflmgen_dot_s8(x, weights, length, 0), bias ? *bias : 0);
    return tflmgen_saturate_s16(tflmgen_requantize(sum, multiplier, shift));
}

TFLMGEN_HELPER int32_t tflmgen_lstm_sum_s16(const tflmgen_s16 *x, const int8_t *weights, int32_t length,
                                            const tflmgen_s64 *bias, int32_t multiplier, int32_t shift)
{
    const int64_t sum = tflmgen_dot_s16(x, weights, length);
    return tflmgen_saturate_s16(tflmgen_finish_s16_b64(sum, bias ? *bias : 0, multiplier, shift));
}

/* The new cell of one step. gates: that cell's forget gate; its other gates are p->cells apart. */
TFLMGEN_HELPER void tflmgen_lstm_update_cell_s16(tflmgen_s16 *cell, const tflmgen_s16 *gates,
                                                 const struct tflmgen_lstm_integer *p)
{
    const int32_t gated_input = gates[TFLMGEN_LSTM_INPUT * p->cells] * gates[TFLMGEN_LSTM_CELL * p->cells];
    const int32_t kept = tflmgen_requantize(*gates * *cell, p->forget_multiplier, p->forget_shift);
    const int32_t added = tflmgen_requantize(gated_input, p->input_multiplier, p->input_shift);
    const int32_t sum = tflmgen_saturate_s16(tflmgen_saturate_s16(kept) + tflmgen_saturate_s16(added));
    *cell = (int16_t)(p->cell_clip ? tflmgen_clamp_s32(sum, -p->cell_clip, p->cell_clip) : sum);
}

/* biases: of W x, zero points folded in; recurrent_biases: of R h, or NULL; sigmoid_table: that of
 * tflmgen_logistic_s16; gates: scratch for one number per gate and cell. */
#define TFLMGEN_LSTM_INTEGER(name, element, bias_element, sum_of, least, most)                                         \
    TFLMGEN_KERNEL void name(const element *input, const int8_t *restrict weights,                                     \
                             const int8_t *restrict recurrent_weights, const bias_element *restrict biases,            \
                             const bias_element *restrict recurrent_biases, const tflmgen_u16 *restrict sigmoid_table, \
                             const element *h_in, const tflmgen_s16 *cell_in, element *output, element *h,             \
                             tflmgen_s16 *cell, tflmgen_s16 *restrict gates, const struct tflmgen_lstm_integer *p)     \
    {                                                                                                                  \
        tflmgen_lstm_start(h, h_in, p->batches * p->cells * (int32_t)sizeof(element), cell, cell_in,                   \
                           p->batches * p->cells * 2);                                                                 \
        for (int32_t batch = 0; batch < p->batches; ++batch) {                                                         \
            for (int32_t step = 0; step < p->steps; ++step) {                                                          \
                const int32_t row = TFLMGEN_LSTM_ROW(p, batch, step);                                                  \
                const element *const x = input + row * p->inputs;                                                      \
                for (int32_t gate = 0, i = 0; gate < 4; ++gate) {                                                      \
                    for (int32_t unit = 0; unit < p->cells; ++unit, ++i) {                                             \
                        int32_t sum = sum_of(x, weights + i * p->inputs, p->inputs, biases + i, p->multipliers[gate],  \
                                             p->shifts[gate]);                                                         \
                        sum += sum_of(h, recurrent_weights + i * p->cells, p->cells,                                   \
                                      recurrent_biases ? recurrent_biases + i : NULL, p->recurrent_multipliers[gate],  \
                                      p->recurrent_shifts[gate]);                                                      \
                        sum = tflmgen_saturate_s16(sum) * 3;                                                           \
                        gates[i] = gate == TFLMGEN_LSTM_CELL ? tflmgen_tanh_of_steps(sigmoid_table, sum)               \
                                                             : tflmgen_logistic_of_steps(sigmoid_table, sum);          \
                    }                                                                                                  \
                }                                                                                                      \
                for (int32_t i = 0; i < p->cells; ++i) {                                                               \
                    tflmgen_lstm_update_cell_s16(cell + i, gates + i, p);                                              \
                    const int32_t tanh_steps = tflmgen_sigmoid_steps(cell[i], p->steps_multiplier, p->steps_shift);    \
                    int32_t result =                                                                                   \
                        tflmgen_tanh_of_steps(sigmoid_table, tanh_steps) * gates[TFLMGEN_LSTM_OUTPUT * p->cells + i];  \
                    result = tflmgen_requantize(result, p->output_multiplier, p->output_shift);                        \
                    result = tflmgen_add_wrap_s32(result, p->output_zero_point);                                       \
                    h[i] = (element)tflmgen_clamp_s32(result, least, most);                                            \
                }                                                                                                      \
                memcpy(output + row * p->cells, h, (size_t)p->cells * sizeof(element));                                \
            }                                                                                                          \
            h += p->cells;                                                                                             \
            cell += p->cells;                                                                                          \
        }                                                                                                              \
    }

TFLMGEN_LSTM_INTEGER(tflmgen_lstm_s8, int8_t, tflmgen_s32, tflmgen_lstm_sum_s8, INT8_MIN, INT8_MAX)
TFLMGEN_LSTM_INTEGER(tflmgen_lstm_s16, tflmgen_s16, tflmgen_s64, tflmgen_lstm_sum_s16, INT16_MIN, INT16_MAX)

#endif
