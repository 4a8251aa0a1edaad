/* LSTM over a sequence: input [batches, steps, inputs] or, time-major, [steps, batches, inputs]; output the same with
 * `outputs` for `inputs`.
 *
 *     forget, cell gate, output gate, input gate = activation(W x + R h + bias)
 *     cell = forget * cell + input gate * cell gate
 *     h = output gate * tanh(cell)
 *
 * Weights, biases and other numbers of the gates lie one gate after the other in the order given above; a row of
 * weights per cell. The states h [batches, outputs] and cell [batches, cells] are read from *_in and written to their
 * own pointers, which may be the same.
 */
#ifndef TFLMGEN_KERNELS_LSTM_H
#define TFLMGEN_KERNELS_LSTM_H

#include <math.h>
#include <string.h>

#include "quantized_unary.h"
#include "sum_s16.h"

#define TFLMGEN_LSTM_FORGET 0
#define TFLMGEN_LSTM_CELL 1
#define TFLMGEN_LSTM_OUTPUT 2
#define TFLMGEN_LSTM_INPUT 3

struct tflmgen_lstm_f32 {
    int32_t batches;
    int32_t steps;
    bool time_major;
    int32_t inputs;
    int32_t cells;
    int32_t outputs;
    bool coupled;    /* there is no input gate: 1 - forget stands for it */
    float cell_clip; /* 0: none */
    float projection_clip;
};

TFLMGEN_HELPER float tflmgen_logistic_f32_of(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

/* values * norm + bias, once the values have mean 0 and variance 1. */
TFLMGEN_HELPER void tflmgen_lstm_normalize_f32(float *values, const float *norm, const float *bias, int32_t length)
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
    const float factor = 1.0f / sqrtf(squares / (float)length + 1e-8f);
    for (int32_t i = 0; i < length; ++i) {
        values[i] = (values[i] - mean) * factor * norm[i] + bias[i];
    }
}

/* The peephole, the normalisation and the activation of one gate, whose sums of products are in `values`. */
TFLMGEN_HELPER void tflmgen_lstm_finish_gate_f32(int32_t gate, float *values, const float *bias, const float *peephole,
                                                 const float *norm, const float *cell,
                                                 const struct tflmgen_lstm_f32 *p)
{
    if (peephole) {
        for (int32_t i = 0; i < p->cells; ++i) {
            values[i] += peephole[i] * cell[i];
        }
    }
    if (norm) {
        tflmgen_lstm_normalize_f32(values, norm, bias, p->cells);
    }
    for (int32_t i = 0; i < p->cells; ++i) {
        values[i] = gate == TFLMGEN_LSTM_CELL ? tanhf(values[i]) : tflmgen_logistic_f32_of(values[i]);
    }
}

TFLMGEN_HELPER float tflmgen_clip_f32(float value, float limit)
{
    return limit > 0.0f ? tflmgen_clamp_f32(value, -limit, limit) : value;
}

/* The new h from the output gate's values, which are overwritten. */
TFLMGEN_HELPER void tflmgen_lstm_output_f32(float *gate, const float *cell, const float *projection,
                                            const float *projection_bias, float *h, const struct tflmgen_lstm_f32 *p)
{
    for (int32_t i = 0; i < p->cells; ++i) {
        gate[i] *= tanhf(cell[i]);
    }
    if (!projection) {
        memcpy(h, gate, (size_t)p->outputs * sizeof(float));
        return;
    }
    for (int32_t i = 0; i < p->outputs; ++i) {
        const float sum = tflmgen_dot_f32(0.0f, gate, projection + i * p->cells, p->cells);
        h[i] = tflmgen_clip_f32((projection_bias ? projection_bias[i] : 0.0f) + sum, p->projection_clip);
    }
}

/* peepholes (forget, output, input), norms, projection [outputs, cells] and its bias may be NULL. gates: scratch for
 * one number per gate and cell. */
TFLMGEN_KERNEL void tflmgen_lstm_f32(const float *input, const float *restrict weights,
                                     const float *restrict recurrent_weights, const float *restrict biases,
                                     const float *restrict peepholes, const float *restrict norms,
                                     const float *restrict projection, const float *restrict projection_bias,
                                     const float *h_in, const float *cell_in, float *output, float *h, float *cell,
                                     float *restrict gates, const struct tflmgen_lstm_f32 *p)
{
    const int32_t gate_count = p->coupled ? TFLMGEN_LSTM_INPUT : TFLMGEN_LSTM_INPUT + 1;
    float *const forget = gates;
    const float *const cell_gate = gates + TFLMGEN_LSTM_CELL * p->cells;
    float *const output_gate = gates + TFLMGEN_LSTM_OUTPUT * p->cells;
    float *const input_gate = gates + TFLMGEN_LSTM_INPUT * p->cells;
    if (h != h_in) {
        memcpy(h, h_in, (size_t)(p->batches * p->outputs) * sizeof(float));
    }
    if (cell != cell_in) {
        memcpy(cell, cell_in, (size_t)(p->batches * p->cells) * sizeof(float));
    }
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t step = 0; step < p->steps; ++step) {
            const int32_t row = p->time_major ? step * p->batches + batch : batch * p->steps + step;
            const float *const x = input + row * p->inputs;
            for (int32_t i = 0; i < gate_count * p->cells; ++i) {
                const float sum = tflmgen_dot_f32(0.0f, x, weights + i * p->inputs, p->inputs);
                gates[i] = (norms ? 0.0f : biases[i]) + sum;
                gates[i] += tflmgen_dot_f32(0.0f, h, recurrent_weights + i * p->outputs, p->outputs);
            }
            for (int32_t gate = 0; gate < gate_count; ++gate) {
                const int32_t at = gate * p->cells;
                const float *peephole = NULL;
                if (peepholes && (gate == TFLMGEN_LSTM_FORGET || gate == TFLMGEN_LSTM_INPUT)) {
                    peephole = peepholes + (gate == TFLMGEN_LSTM_FORGET ? 0 : 2 * p->cells);
                }
                if (gate != TFLMGEN_LSTM_OUTPUT) {
                    tflmgen_lstm_finish_gate_f32(gate, gates + at, biases + at, peephole, norms ? norms + at : NULL,
                                                 cell, p);
                }
            }
            for (int32_t i = 0; i < p->cells; ++i) {
                const float let_in = p->coupled ? 1.0f - forget[i] : input_gate[i];
                cell[i] = tflmgen_clip_f32(forget[i] * cell[i] + cell_gate[i] * let_in, p->cell_clip);
            }
            const int32_t at = TFLMGEN_LSTM_OUTPUT * p->cells;
            tflmgen_lstm_finish_gate_f32(TFLMGEN_LSTM_OUTPUT, output_gate, biases + at,
                                         peepholes ? peepholes + p->cells : NULL, norms ? norms + at : NULL, cell, p);
            tflmgen_lstm_output_f32(output_gate, cell, projection, projection_bias, h, p);
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
    int32_t cell_clip; /* 0: none */
    int32_t steps_multiplier; /* from a cell to the steps of tflmgen_tanh_of_steps */
    int32_t steps_shift;
};

TFLMGEN_HELPER int32_t tflmgen_clamp_to_s16(int32_t value)
{
    return tflmgen_clamp_s32(value, INT16_MIN, INT16_MAX);
}

TFLMGEN_HELPER int32_t tflmgen_lstm_sum_s8(const int8_t *x, const int8_t *weights, int32_t length, const int32_t *bias,
                                           int32_t multiplier, int32_t shift)
{
    const int32_t sum = tflmgen_add_wrap_s32(tflmgen_dot_s8(x, weights, length, 0), bias ? *bias : 0);
    return tflmgen_clamp_to_s16(tflmgen_requantize(sum, multiplier, shift));
}

TFLMGEN_HELPER int32_t tflmgen_lstm_sum_s16(const int16_t *x, const int8_t *weights, int32_t length,
                                            const int64_t *bias, int32_t multiplier, int32_t shift)
{
    const int64_t sum = tflmgen_dot_s16(x, weights, length);
    return tflmgen_clamp_to_s16(tflmgen_finish_s16_b64(sum, bias, multiplier, shift));
}

/* `gates` points to the forget gate of the cell. */
TFLMGEN_HELPER void tflmgen_lstm_update_cell_s16(int16_t *cell, const int16_t *gates,
                                                 const struct tflmgen_lstm_integer *p)
{
    const int32_t let_in = gates[TFLMGEN_LSTM_INPUT * p->cells] * gates[TFLMGEN_LSTM_CELL * p->cells];
    const int32_t kept = tflmgen_requantize(*gates * *cell, p->forget_multiplier, p->forget_shift);
    const int32_t added = tflmgen_requantize(let_in, p->input_multiplier, p->input_shift);
    const int32_t sum = tflmgen_clamp_to_s16(tflmgen_clamp_to_s16(kept) + tflmgen_clamp_to_s16(added));
    *cell = (int16_t)(p->cell_clip ? tflmgen_clamp_s32(sum, -p->cell_clip, p->cell_clip) : sum);
}

/* biases: of W x, zero points folded in; recurrent_biases: of R h, or NULL; sigmoid: the table of
 * tflmgen_logistic_s16; gates: scratch for one number per gate and cell. */
#define TFLMGEN_LSTM_INTEGER(name, element, bias_element, sum_of, least, most)                                         \
    TFLMGEN_KERNEL void name(const element *input, const int8_t *restrict weights,                                     \
                             const int8_t *restrict recurrent_weights, const bias_element *restrict biases,            \
                             const bias_element *restrict recurrent_biases, const uint16_t *restrict sigmoid,          \
                             const element *h_in, const int16_t *cell_in, element *output, element *h, int16_t *cell,  \
                             int16_t *restrict gates, const struct tflmgen_lstm_integer *p)                            \
    {                                                                                                                  \
        if (h != h_in) {                                                                                               \
            memcpy(h, h_in, (size_t)(p->batches * p->cells) * sizeof(element));                                        \
        }                                                                                                              \
        if (cell != cell_in) {                                                                                         \
            memcpy(cell, cell_in, (size_t)(p->batches * p->cells) * sizeof(int16_t));                                  \
        }                                                                                                              \
        for (int32_t batch = 0; batch < p->batches; ++batch) {                                                         \
            for (int32_t step = 0; step < p->steps; ++step) {                                                          \
                const int32_t row = p->time_major ? step * p->batches + batch : batch * p->steps + step;               \
                const element *const x = input + row * p->inputs;                                                      \
                for (int32_t gate = 0, i = 0; gate < 4; ++gate) {                                                      \
                    for (int32_t unit = 0; unit < p->cells; ++unit, ++i) {                                             \
                        int32_t sum = sum_of(x, weights + i * p->inputs, p->inputs, biases + i, p->multipliers[gate],  \
                                             p->shifts[gate]);                                                         \
                        sum += sum_of(h, recurrent_weights + i * p->cells, p->cells,                                   \
                                      recurrent_biases ? recurrent_biases + i : NULL, p->recurrent_multipliers[gate],  \
                                      p->recurrent_shifts[gate]);                                                      \
                        sum = tflmgen_clamp_to_s16(sum) * 3;                                                           \
                        gates[i] = gate == TFLMGEN_LSTM_CELL ? tflmgen_tanh_of_steps(sigmoid, sum)                     \
                                                             : tflmgen_logistic_of_steps(sigmoid, sum);                \
                    }                                                                                                  \
                }                                                                                                      \
                for (int32_t i = 0; i < p->cells; ++i) {                                                               \
                    tflmgen_lstm_update_cell_s16(cell + i, gates + i, p);                                              \
                    const int32_t scaled = tflmgen_sigmoid_steps(cell[i], p->steps_multiplier, p->steps_shift);        \
                    int32_t result =                                                                                   \
                        tflmgen_tanh_of_steps(sigmoid, scaled) * gates[TFLMGEN_LSTM_OUTPUT * p->cells + i];            \
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

TFLMGEN_LSTM_INTEGER(tflmgen_lstm_s8, int8_t, int32_t, tflmgen_lstm_sum_s8, INT8_MIN, INT8_MAX)
TFLMGEN_LSTM_INTEGER(tflmgen_lstm_s16, int16_t, int64_t, tflmgen_lstm_sum_s16, INT16_MIN, INT16_MAX)

#endif
