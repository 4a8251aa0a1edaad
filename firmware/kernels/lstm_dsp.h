/* LSTM over a sequence in int8 for cores with the DSP extension: see lstm.h.
 *
 * The rows of weights, and the sums in `gates`, are ordered by cells: forget, cell, output and input gate of each.
 */
#ifndef TFLMGEN_KERNELS_LSTM_DSP_H
#define TFLMGEN_KERNELS_LSTM_DSP_H

#include "lstm.h"
#include "rescaled_rows_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

struct tflmgen_lstm_dsp_s8 {
    int32_t batches;
    int32_t steps;
    bool time_major;
    int32_t inputs;
    int32_t cells;
    int32_t scales[16];           /* of W x: see rescaled_rows_dsp.h */
    int32_t recurrent_scales[16]; /* of R h */
    int32_t input_shift;          /* 1 less than that of input gate * cell gate to the right */
    int32_t output_multiplier;    /* of output gate * tanh(cell) */
    int32_t output_right_shift;
    int32_t output_zero_point;
    int32_t cell_clip; /* 0: none */
    int32_t steps_multiplier; /* from a cell to the steps of tflmgen_tanh_of_steps */
    int32_t steps_shift;
};

/* (table[position / 2^bits] - 65536) * 2^bits, interpolated, added to `sum`: the table's values, from 32768 on, are negative
 * as halves of a word. */
TFLMGEN_HELPER int32_t tflmgen_lstm_dsp_interpolate(const uint16_t *table, uint32_t position, uint32_t bits, int32_t sum)
{
    const uint32_t two = tflmgen_load4(table + (position >> bits));
    const uint32_t rest = position & ((1u << bits) - 1u);
    return tflmgen_smlad(two, (rest << 16) + ((1u << bits) - rest), sum);
}

/* tflmgen_logistic_of_steps of a sum in 1/4096, and tflmgen_tanh_of_steps. One's complements take the place of their
 * roundings of negative arguments. */
TFLMGEN_HELPER int32_t tflmgen_lstm_dsp_logistic(const uint16_t *table, int32_t sum)
{
    const int32_t sign = tflmgen_sign_mask(sum);
    const int32_t value = tflmgen_lstm_dsp_interpolate(table, (uint32_t)(3 * ((sum ^ sign) - sign)), 9, 0);
    return (int32_t)((uint32_t)((value ^ sign) + 512) << 7 >> 17);
}

TFLMGEN_HELPER int32_t tflmgen_lstm_dsp_tanh(const uint16_t *table, int32_t steps)
{
    const int32_t sign = tflmgen_sign_mask(steps);
    uint32_t position;
    __asm__("usat %0, #16, %1" : "=r"(position) : "r"((steps ^ sign) - sign));
    return ((tflmgen_lstm_dsp_interpolate(table, position, 8, 1 << 23) ^ sign) + 128) >> 8;
}

/* tflmgen_requantize of a product of int16 by 2^(30 - 31 - right), saturated. */
TFLMGEN_HELPER int32_t tflmgen_lstm_dsp_halve(int32_t product, int32_t right)
{
    return tflmgen_saturate_s16(tflmgen_round_down_dsp((product + 1) >> 1, right));
}

/* One step: from the sums in `gates` to cells, h and output. table: tflmgen_logistic_s16's, and once more its last. */
TFLMGEN_HELPER void tflmgen_lstm_dsp_update(const int16_t *gates, const uint16_t *table, int16_t *cell, int8_t *h,
                                            int8_t *output, const struct tflmgen_lstm_dsp_s8 *p)
{
    const int32_t input_shift = p->input_shift, clip = p->cell_clip;
    const int32_t multiplier = p->output_multiplier, right = p->output_right_shift, zero_point = p->output_zero_point;
    const int32_t steps_multiplier = p->steps_multiplier, steps_shift = p->steps_shift;
    for (int32_t i = p->cells; i > 0; --i, gates += 4, ++cell, ++h, ++output) {
        const int32_t forget = tflmgen_lstm_dsp_logistic(table, gates[TFLMGEN_LSTM_FORGET]);
        const int32_t let_in = tflmgen_lstm_dsp_logistic(table, gates[TFLMGEN_LSTM_INPUT]) *
                               tflmgen_lstm_dsp_tanh(table, 3 * gates[TFLMGEN_LSTM_CELL]);
        int32_t sum = tflmgen_lstm_dsp_halve(forget * *cell, 14) + tflmgen_lstm_dsp_halve(let_in, input_shift);
        sum = clip ? tflmgen_clamp_s32(sum, -clip, clip) : tflmgen_saturate_s16(sum);
        *cell = (int16_t)sum;
        sum = tflmgen_lstm_dsp_tanh(table, tflmgen_sigmoid_steps(sum, steps_multiplier, steps_shift));
        sum *= tflmgen_lstm_dsp_logistic(table, gates[TFLMGEN_LSTM_OUTPUT]);
        sum = tflmgen_requantize_dsp(sum, multiplier, right) + zero_point;
        *h = *output = (int8_t)tflmgen_saturate_s8(sum);
    }
}

/* weights, recurrent_weights: see rescaled_rows_dsp.h; gates: scratch for four sums per cell. */
#define TFLMGEN_LSTM_DSP(name, rows_of)                                                                                \
    TFLMGEN_KERNEL void name(const int8_t *input, const uint32_t *restrict weights,                                    \
                             const uint32_t *restrict recurrent_weights, const uint16_t *restrict table,               \
                             const int8_t *h_in, const int16_t *cell_in, int8_t *output, int8_t *h, int16_t *cell,     \
                             int16_t *restrict gates, const struct tflmgen_lstm_dsp_s8 *p)                             \
    {                                                                                                                  \
        uint32_t widened[2 * TFLMGEN_DOT_ROWS_STACK_STEPS];                                                            \
        struct tflmgen_rescaled_rows_dsp rows;                                                                         \
        tflmgen_lstm_start(h, h_in, p->batches * p->cells, cell, cell_in, p->batches * p->cells * 2);                  \
        for (int32_t batch = 0; batch < p->batches; ++batch, h += p->cells, cell += p->cells) {                        \
            for (int32_t step = 0; step < p->steps; ++step) {                                                          \
                const int32_t row = p->time_major ? step * p->batches + batch : batch * p->steps + step;               \
                memset(gates, 0, (size_t)p->cells * 4 * sizeof *gates);                                                \
                rows.scale = p->scales;                                                                                \
                tflmgen_rescaled_rows_dsp_set_row(&rows, widened, input + row * p->inputs, p->inputs);                 \
                rows_of(&rows, weights, gates, p->cells);                                                              \
                rows.scale = p->recurrent_scales;                                                                      \
                tflmgen_rescaled_rows_dsp_set_row(&rows, widened, h, p->cells);                                        \
                rows_of(&rows, recurrent_weights, gates, p->cells);                                                    \
                tflmgen_lstm_dsp_update(gates, table, cell, h, output + row * p->cells, p);                            \
            }                                                                                                          \
        }                                                                                                              \
    }

TFLMGEN_LSTM_DSP(tflmgen_lstm_dsp_s8, tflmgen_rescaled_fours_dsp_pairs)
TFLMGEN_LSTM_DSP(tflmgen_lstm_dsp_offset_s8, tflmgen_rescaled_fours_dsp_offset)

#endif

#endif
