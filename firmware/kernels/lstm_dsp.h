/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* LSTM over a sequence in int8 for cores with the DSP extension. The results are those of lstm.h.
 *
 * Weights are two streams for requantized_rows_dsp.h, one of W and one of R, each with a group per cell:
 *
 *     cell 0: rows of forget, cell, output, input gate | cell 1: ...
 *
 * The sums have the same order: four of int16 per cell, in 1/4096. Where the input and h have room on the stack
 * together, the sums of 24 cells at a time are there, too.
 */
#ifndef TFLMGEN_KERNELS_LSTM_DSP_H
#define TFLMGEN_KERNELS_LSTM_DSP_H

#include "lstm.h"
#include "requantized_rows_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* Cells whose sums are on the stack. */
#define TFLMGEN_LSTM_DSP_CELLS 24

struct tflmgen_lstm_dsp_s8 {
    int32_t batches;
    int32_t steps;
    bool time_major;
    int32_t inputs;
    int32_t cells;
    int32_t scales[16];           /* of W x: see requantized_rows_dsp.h */
    int32_t recurrent_scales[16]; /* of R h */
    int32_t input_shift;          /* s - 1, of input gate * cell gate */
    int32_t output_multiplier;    /* of output gate * tanh(cell) */
    int32_t output_right_shift;
    int32_t output_zero_point;
    int32_t cell_clip;        /* 0: none */
    int32_t steps_multiplier; /* from a cell to the steps of tflmgen_tanh_of_steps */
    int32_t steps_shift;
};

/* (table[position / 2^bits] - 65536) * 2^bits, interpolated, added to `sum`: the table's values, from 32768 on, are
 * negative as halves of a word. */
TFLMGEN_HELPER int32_t tflmgen_lstm_dsp_interpolate(const tflmgen_u16 *table, uint32_t position, uint32_t bits,
                                                    int32_t sum)
{
    const uint32_t neighbours = tflmgen_load4(table + (position >> bits));
    const uint32_t fraction = position & ((1u << bits) - 1u);
    return tflmgen_smlad(neighbours, (fraction << 16) + ((1u << bits) - fraction), sum);
}

/* tflmgen_logistic_of_steps of a sum in 1/4096, and tflmgen_tanh_of_steps. One's complements take the place of their
 * roundings of negative arguments. */
TFLMGEN_HELPER int32_t tflmgen_lstm_dsp_logistic(const tflmgen_u16 *table, int32_t sum)
{
    const int32_t sign = tflmgen_sign_mask(sum);
    const int32_t value = tflmgen_lstm_dsp_interpolate(table, (uint32_t)(3 * ((sum ^ sign) - sign)), 9, 0);
    return (int32_t)((uint32_t)((value ^ sign) + 512) << 7 >> 17);
}

TFLMGEN_HELPER int32_t tflmgen_lstm_dsp_tanh(const tflmgen_u16 *table, int32_t steps)
{
    const int32_t sign = tflmgen_sign_mask(steps);
    uint32_t position;
    __asm__("usat %0, #16, %1" : "=r"(position) : "r"((steps ^ sign) - sign));
    return ((tflmgen_lstm_dsp_interpolate(table, position, 8, 1 << 23) ^ sign) + 128) >> 8;
}

/* tflmgen_requantize of a product of int16 by the multiplier 2^30, which halves it, and -right_shift; saturated. */
TFLMGEN_HELPER int32_t tflmgen_lstm_dsp_halve(int32_t product, int32_t right_shift)
{
    return tflmgen_saturate_s16(tflmgen_rounding_shift_right_dsp((product + 1) >> 1, right_shift));
}

/* One step of `count` cells: from the sums of their gates to cells, h and output. table: tflmgen_logistic_s16's, and
 * once more its last. */
TFLMGEN_HELPER void tflmgen_lstm_dsp_update(const tflmgen_s16 *sums, const tflmgen_u16 *table, tflmgen_s16 *cell,
                                            int8_t *h, int8_t *output, int32_t count,
                                            const struct tflmgen_lstm_dsp_s8 *p)
{
    const int32_t input_shift = p->input_shift, clip = p->cell_clip;
    const int32_t multiplier = p->output_multiplier, right_shift = p->output_right_shift;
    const int32_t zero_point = p->output_zero_point;
    const int32_t steps_multiplier = p->steps_multiplier, steps_shift = p->steps_shift;
    for (; count > 0; --count, sums += 4, ++cell, ++h, ++output) {
        const int32_t forget_gate = tflmgen_lstm_dsp_logistic(table, sums[TFLMGEN_LSTM_FORGET]);
        const int32_t gated_input = tflmgen_lstm_dsp_logistic(table, sums[TFLMGEN_LSTM_INPUT]) *
                                    tflmgen_lstm_dsp_tanh(table, 3 * sums[TFLMGEN_LSTM_CELL]);
        const int32_t sum =
            tflmgen_lstm_dsp_halve(forget_gate * *cell, 14) + tflmgen_lstm_dsp_halve(gated_input, input_shift);
        const int32_t new_cell = clip ? tflmgen_clamp_s32(sum, -clip, clip) : tflmgen_saturate_s16(sum);
        *cell = (int16_t)new_cell;
        const int32_t tanh_steps = tflmgen_sigmoid_steps(new_cell, steps_multiplier, steps_shift);
        const int32_t tanh_cell = tflmgen_lstm_dsp_tanh(table, tanh_steps);
        const int32_t hidden = tanh_cell * tflmgen_lstm_dsp_logistic(table, sums[TFLMGEN_LSTM_OUTPUT]);
        const int32_t result = tflmgen_requantize_dsp(hidden, multiplier, right_shift) + zero_point;
        *h = *output = (int8_t)tflmgen_saturate_s8(result);
    }
}

/* gates: scratch for four sums per cell, or NULL where the input and h together fit `widened`. */
TFLMGEN_KERNEL void tflmgen_lstm_dsp_s8(const int8_t *input, const tflmgen_u32 *restrict weights,
                                        const tflmgen_u32 *restrict recurrent_weights,
                                        const tflmgen_u16 *restrict table, const int8_t *h_in,
                                        const tflmgen_s16 *cell_in, int8_t *output, int8_t *h, tflmgen_s16 *cell,
                                        tflmgen_s16 *gates, const struct tflmgen_lstm_dsp_s8 *p)
{
    uint32_t widened[2 * TFLMGEN_DOT_ROWS_STACK_STEPS];
    int16_t stack_sums[4 * TFLMGEN_LSTM_DSP_CELLS] __attribute__((aligned(4)));
    tflmgen_s16 *const sums = gates ? gates : stack_sums;
    const int32_t cells_per_pass = gates ? p->cells : TFLMGEN_LSTM_DSP_CELLS;
    struct tflmgen_requantized_rows_dsp input_row = {p->scales, 0, 0, 0, NULL};
    struct tflmgen_requantized_rows_dsp h_row = {p->recurrent_scales, 0, 0, 0, NULL};
    tflmgen_lstm_start(h, h_in, p->batches * p->cells, cell, cell_in, p->batches * p->cells * 2);
    for (int32_t batch = 0; batch < p->batches; ++batch, h += p->cells, cell += p->cells) {
        for (int32_t step = 0; step < p->steps; ++step) {
            const int32_t row = TFLMGEN_LSTM_ROW(p, batch, step);
            const tflmgen_u32 *group = weights;
            const tflmgen_u32 *recurrent_group = recurrent_weights;
            tflmgen_requantized_rows_dsp_set_row(&input_row, widened, input + row * p->inputs, p->inputs);
            if (!gates) {
                tflmgen_u32 *const widened_h = widened + 2 * ((p->inputs + 3) / 4);
                tflmgen_requantized_rows_dsp_set_row(&h_row, widened_h, h, p->cells);
            }
            for (int32_t i = 0; i < p->cells; i += cells_per_pass) {
                const int32_t count = tflmgen_min_s32(p->cells - i, cells_per_pass);
                memset(sums, 0, (size_t)count * 4 * sizeof *sums);
                group = tflmgen_requantized_fours_dsp(&input_row, group, sums, count);
                if (gates) {
                    tflmgen_requantized_rows_dsp_set_row(&h_row, widened, h, p->cells);
                }
                recurrent_group = tflmgen_requantized_fours_dsp(&h_row, recurrent_group, sums, count);
                tflmgen_lstm_dsp_update(sums, table, cell + i, h + i, output + row * p->cells + i, count, p);
            }
        }
    }
}

#endif

#endif
