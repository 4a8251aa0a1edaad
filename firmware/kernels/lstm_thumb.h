/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* LSTM over a sequence in int8 for every Cortex-M. The results are those of lstm.h.
 *
 * Weights are two streams for sums_thumb.h, one of W and one of R, each with a group per cell:
 *
 *     cell 0: rows of forget, cell, output, input gate | cell 1: ...
 *
 * The sums of four cells are computed at a time.
 */
#ifndef TFLMGEN_KERNELS_LSTM_THUMB_H
#define TFLMGEN_KERNELS_LSTM_THUMB_H

#include "lstm.h"
#include "sums_thumb.h"

#ifdef __thumb__

/* Cells whose sums are on the stack. */
#define TFLMGEN_LSTM_THUMB_CELLS 4

/* One cell: from the four sums of its gates, of W x and of R h, to the cell, and to h, which is returned.
 * sigmoid_table: that of tflmgen_logistic_s16. */
TFLMGEN_HELPER int32_t tflmgen_lstm_thumb_cell(const tflmgen_s32 *sums, const tflmgen_s32 *recurrent,
                                               const tflmgen_u16 *sigmoid_table, tflmgen_s16 *cell,
                                               const struct tflmgen_lstm_integer *p)
{
    int32_t gates[4];
    for (int32_t gate = 0; gate < 4; ++gate) {
        const int32_t input_term = tflmgen_requantize(sums[gate], p->multipliers[gate], p->shifts[gate]);
        const int32_t recurrent_term =
            tflmgen_requantize(recurrent[gate], p->recurrent_multipliers[gate], p->recurrent_shifts[gate]);
        const int32_t steps =
            3 * tflmgen_saturate_s16(tflmgen_saturate_s16(input_term) + tflmgen_saturate_s16(recurrent_term));
        gates[gate] = gate == TFLMGEN_LSTM_CELL ? tflmgen_tanh_of_steps(sigmoid_table, steps)
                                                : tflmgen_logistic_of_steps(sigmoid_table, steps);
    }
    const int32_t gated_input = gates[TFLMGEN_LSTM_INPUT] * gates[TFLMGEN_LSTM_CELL];
    const int32_t kept = tflmgen_requantize(gates[TFLMGEN_LSTM_FORGET] * *cell, p->forget_multiplier, p->forget_shift);
    const int32_t added = tflmgen_requantize(gated_input, p->input_multiplier, p->input_shift);
    const int32_t sum = tflmgen_saturate_s16(tflmgen_saturate_s16(kept) + tflmgen_saturate_s16(added));
    const int32_t new_cell = p->cell_clip ? tflmgen_clamp_s32(sum, -p->cell_clip, p->cell_clip) : sum;
    *cell = (int16_t)new_cell;
    const int32_t tanh_steps = tflmgen_sigmoid_steps(new_cell, p->steps_multiplier, p->steps_shift);
    const int32_t hidden = tflmgen_tanh_of_steps(sigmoid_table, tanh_steps) * gates[TFLMGEN_LSTM_OUTPUT];
    const int32_t scaled = tflmgen_requantize(hidden, p->output_multiplier, p->output_shift);
    return tflmgen_clamp_s32(tflmgen_add_wrap_s32(scaled, p->output_zero_point), INT8_MIN, INT8_MAX);
}

TFLMGEN_KERNEL void tflmgen_lstm_thumb_s8(const int8_t *input, const tflmgen_u32 *restrict weights,
                                          const tflmgen_u32 *restrict recurrent_weights,
                                          const tflmgen_u16 *restrict sigmoid_table, const int8_t *h_in,
                                          const tflmgen_s16 *cell_in, int8_t *output, int8_t *h, tflmgen_s16 *cell,
                                          const struct tflmgen_lstm_integer *p)
{
    uint8_t copies[2][TFLMGEN_FULLY_CONNECTED_THUMB_STACK];
    int32_t sums[4 * TFLMGEN_LSTM_THUMB_CELLS];
    int32_t recurrent[4 * TFLMGEN_LSTM_THUMB_CELLS];
    struct tflmgen_sums_thumb input_sums;
    struct tflmgen_sums_thumb h_sums;
    tflmgen_lstm_start(h, h_in, p->batches * p->cells, cell, cell_in, p->batches * p->cells * 2);
    for (int32_t batch = 0; batch < p->batches; ++batch, h += p->cells, cell += p->cells) {
        for (int32_t step = 0; step < p->steps; ++step) {
            const int32_t row = TFLMGEN_LSTM_ROW(p, batch, step);
            tflmgen_sums_thumb_start(&input_sums, copies[0], input + row * p->inputs, p->inputs, weights);
            tflmgen_sums_thumb_start(&h_sums, copies[1], h, p->cells, recurrent_weights);
            for (int32_t i = 0; i < p->cells; ++i) {
                const int32_t slot = i % TFLMGEN_LSTM_THUMB_CELLS;
                if (slot == 0) {
                    const int32_t count = tflmgen_min_s32(p->cells - i, TFLMGEN_LSTM_THUMB_CELLS);
                    tflmgen_sums_thumb_next(&input_sums, sums, count);
                    tflmgen_sums_thumb_next(&h_sums, recurrent, count);
                }
                const int32_t result =
                    tflmgen_lstm_thumb_cell(sums + 4 * slot, recurrent + 4 * slot, sigmoid_table, cell + i, p);
                h[i] = (int8_t)result;
                output[row * p->cells + i] = (int8_t)result;
            }
        }
    }
}

#endif

#endif
