/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* LSTM of int8 in all its variants, as LiteRT computes it, bit for bit: gates of int16 with fixed-point activations.
 * For operands and their order see lstm.h. Sums of products are brought to 1/4096 (Q3.12), or to a scale of their own
 * where they are normalised; gates are in 1/32768 (Q0.15), cells have `cell_integer_bits`. */
#ifndef TFLMGEN_KERNELS_LSTM_FIXED_H
#define TFLMGEN_KERNELS_LSTM_FIXED_H

#include <string.h>

#include "dot.h"
#include "fixed_point_s16.h"
#include "inverse_sqrt.h"
#include "lstm.h"

struct tflmgen_lstm_fixed_s8 {
    int32_t batches;
    int32_t steps;
    bool time_major;
    int32_t inputs;
    int32_t cells;
    int32_t outputs;
    bool coupled;
    int32_t multipliers[4]; /* of W x, per gate */
    int32_t shifts[4];
    int32_t recurrent_multipliers[4]; /* of R h, per gate */
    int32_t recurrent_shifts[4];
    int32_t peephole_multipliers[4]; /* per gate; that of the cell gate is unused */
    int32_t peephole_shifts[4];
    int32_t norm_multipliers[4];
    int32_t norm_shifts[4];
    int32_t least_variances[4]; /* what a variance below 1 counts as */
    int32_t cell_integer_bits;
    int32_t cell_clip;         /* 0: none */
    int32_t hidden_multiplier; /* of output gate * tanh(cell) */
    int32_t hidden_shift;
    int32_t hidden_zero_point;
    int32_t projection_multiplier;
    int32_t projection_shift;
    int32_t output_zero_point;
    int32_t projection_clip;
};

/* values * norm + bias, once the values have mean 0 and variance 1. */
TFLMGEN_HELPER void tflmgen_lstm_normalize_s16(tflmgen_s16 *values, const tflmgen_s16 *norm, const tflmgen_s32 *bias,
                                               int32_t gate, const struct tflmgen_lstm_fixed_s8 *p)
{
    int64_t sum = 0;
    int64_t squares = 0;
    for (int32_t i = 0; i < p->cells; ++i) {
        sum += values[i];
        squares += values[i] * values[i];
    }
    const int32_t mean = (int32_t)(sum * 1024 / p->cells);
    const int32_t variance = (int32_t)((squares * ((1 << 20) / p->cells) - (int64_t)mean * mean) / (1 << 20));
    int32_t multiplier;
    int32_t shift;
    tflmgen_inverse_sqrt(variance < 1 ? p->least_variances[gate] : variance, &multiplier, &shift);
    for (int32_t i = 0; i < p->cells; ++i) {
        const int32_t scaled = tflmgen_requantize(1024 * values[i] - mean, multiplier, shift);
        const int64_t weighted = (int32_t)((uint32_t)scaled * (uint32_t)norm[i] + (uint32_t)bias[i]);
        const int32_t rounded = (int32_t)((weighted > 0 ? weighted + 512 : weighted - 512) / 1024);
        values[i] =
            (int16_t)tflmgen_saturate_s16(tflmgen_requantize(rounded, p->norm_multipliers[gate], p->norm_shifts[gate]));
    }
}

/* The sums and the activation of one gate. The arrays are those of all gates; peephole: that of this one, or NULL. */
TFLMGEN_HELPER void tflmgen_lstm_gate_s16(int32_t gate, tflmgen_s16 *gates, const int8_t *x, const int8_t *h,
                                          const tflmgen_s16 *cell, const int8_t *weights, const tflmgen_s32 *biases,
                                          const int8_t *recurrent_weights, const tflmgen_s32 *recurrent_biases,
                                          const tflmgen_s16 *peephole, const tflmgen_s16 *norms,
                                          const tflmgen_s32 *norm_biases, const struct tflmgen_lstm_fixed_s8 *p)
{
    tflmgen_s16 *const values = gates + gate * p->cells;
    for (int32_t unit = 0; unit < p->cells; ++unit) {
        const int32_t i = gate * p->cells + unit;
        int32_t sum = tflmgen_lstm_sum_s8(x, weights + i * p->inputs, p->inputs, biases + i, p->multipliers[gate],
                                          p->shifts[gate]);
        int32_t products = tflmgen_dot_s8(h, recurrent_weights + i * p->outputs, p->outputs, 0);
        products = tflmgen_add_wrap_s32(products, recurrent_biases[i]);
        products = tflmgen_requantize(products, p->recurrent_multipliers[gate], p->recurrent_shifts[gate]);
        sum = tflmgen_saturate_s16(tflmgen_add_wrap_s32(sum, products));
        if (peephole) {
            const int32_t product = tflmgen_requantize(peephole[unit] * cell[unit], p->peephole_multipliers[gate],
                                                       p->peephole_shifts[gate]);
            sum = tflmgen_saturate_s16(tflmgen_add_wrap_s32(sum, product));
        }
        values[unit] = (int16_t)sum;
    }
    if (norms) {
        tflmgen_lstm_normalize_s16(values, norms + gate * p->cells, norm_biases + gate * p->cells, gate, p);
    }
    for (int32_t unit = 0; unit < p->cells; ++unit) {
        values[unit] = gate == TFLMGEN_LSTM_CELL ? tflmgen_fixed_tanh_s16(values[unit], 3)
                                                 : tflmgen_fixed_logistic_s16(values[unit], 3);
    }
}

/* The new cell of one step, from the old one and its gates in Q0.15. */
TFLMGEN_HELPER int16_t tflmgen_lstm_cell_s16(int32_t cell, int32_t forget, int32_t input_gate, int32_t cell_gate,
                                             const struct tflmgen_lstm_fixed_s8 *p)
{
    const int32_t kept = tflmgen_rounding_divide_by_power(forget * cell, 15);
    const int32_t added = (int16_t)tflmgen_rounding_divide_by_power(input_gate * cell_gate, 15 + p->cell_integer_bits);
    const int32_t sum = tflmgen_saturate_s16(kept + added);
    return (int16_t)(p->cell_clip ? tflmgen_clamp_s32(sum, -p->cell_clip, p->cell_clip) : sum);
}

/* peepholes (forget, output, input), norms with their biases, and the projection may be NULL. biases,
 * recurrent_biases, projection_bias: zero points folded in. gates: scratch for one number per gate and cell; hidden:
 * scratch for one per cell. */
TFLMGEN_KERNEL void tflmgen_lstm_fixed_s8(const int8_t *input, const int8_t *restrict weights,
                                          const int8_t *restrict recurrent_weights, const tflmgen_s32 *restrict biases,
                                          const tflmgen_s32 *restrict recurrent_biases,
                                          const tflmgen_s16 *restrict peepholes, const tflmgen_s16 *restrict norms,
                                          const tflmgen_s32 *restrict norm_biases, const int8_t *restrict projection,
                                          const tflmgen_s32 *restrict projection_bias, const int8_t *h_in,
                                          const tflmgen_s16 *cell_in, int8_t *output, int8_t *h, tflmgen_s16 *cell,
                                          tflmgen_s16 *restrict gates, int8_t *restrict hidden,
                                          const struct tflmgen_lstm_fixed_s8 *p)
{
    tflmgen_lstm_start(h, h_in, p->batches * p->outputs, cell, cell_in, p->batches * p->cells * 2);
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t step = 0; step < p->steps; ++step) {
            const int32_t row = TFLMGEN_LSTM_ROW(p, batch, step);
            const int8_t *const x = input + row * p->inputs;
            tflmgen_lstm_gate_s16(TFLMGEN_LSTM_FORGET, gates, x, h, cell, weights, biases, recurrent_weights,
                                  recurrent_biases, peepholes, norms, norm_biases, p);
            tflmgen_lstm_gate_s16(TFLMGEN_LSTM_CELL, gates, x, h, cell, weights, biases, recurrent_weights,
                                  recurrent_biases, NULL, norms, norm_biases, p);
            if (!p->coupled) {
                tflmgen_lstm_gate_s16(TFLMGEN_LSTM_INPUT, gates, x, h, cell, weights, biases, recurrent_weights,
                                      recurrent_biases, peepholes ? peepholes + 2 * p->cells : NULL, norms, norm_biases,
                                      p);
            }
            for (int32_t i = 0; i < p->cells; ++i) {
                const int32_t input_gate = p->coupled ? INT16_MAX - gates[i] : gates[TFLMGEN_LSTM_INPUT * p->cells + i];
                cell[i] =
                    tflmgen_lstm_cell_s16(cell[i], gates[i], input_gate, gates[TFLMGEN_LSTM_CELL * p->cells + i], p);
            }
            tflmgen_lstm_gate_s16(TFLMGEN_LSTM_OUTPUT, gates, x, h, cell, weights, biases, recurrent_weights,
                                  recurrent_biases, peepholes ? peepholes + p->cells : NULL, norms, norm_biases, p);
            for (int32_t i = 0; i < p->cells; ++i) {
                const int32_t tanh_cell = tflmgen_fixed_tanh_s16(cell[i], p->cell_integer_bits);
                const int32_t product = tanh_cell * gates[TFLMGEN_LSTM_OUTPUT * p->cells + i];
                const int32_t scaled = tflmgen_requantize(product, p->hidden_multiplier, p->hidden_shift);
                const int32_t shifted = tflmgen_add_wrap_s32(scaled, p->hidden_zero_point);
                hidden[i] = (int8_t)tflmgen_clamp_s32(shifted, INT8_MIN, INT8_MAX);
            }
            for (int32_t i = 0; i < p->outputs; ++i) {
                int32_t result = hidden[projection ? 0 : i];
                if (projection) {
                    result = tflmgen_dot_s8(hidden, projection + i * p->cells, p->cells, 0);
                    result = tflmgen_add_wrap_s32(result, projection_bias[i]);
                    result = tflmgen_requantize(result, p->projection_multiplier, p->projection_shift);
                    result = tflmgen_add_wrap_s32(result, p->output_zero_point);
                    result = tflmgen_clamp_s32(result, INT8_MIN, INT8_MAX);
                    result = p->projection_clip ? tflmgen_clamp_s32(result, -p->projection_clip, p->projection_clip)
                                                : result;
                }
                h[i] = (int8_t)result;
            }
            memcpy(output + row * p->outputs, h, (size_t)p->outputs);
        }
        h += p->outputs;
        cell += p->cells;
    }
}

#endif
