/* LSTM over a sequence in int8 for every Cortex-M: see lstm.h.
 *
 * The rows of weights are ordered by cells: forget, cell, output and input gate of each. The sums of four cells are
 * computed at a time.
 */
#ifndef TFLMGEN_KERNELS_LSTM_THUMB_H
#define TFLMGEN_KERNELS_LSTM_THUMB_H

#include "lstm.h"
#include "sums_thumb.h"

#ifdef __thumb__

/* Cells whose sums are on the stack. */
#define TFLMGEN_LSTM_THUMB_CELLS 4

/* One cell: from the sums of its gates to the cell, and to h, which is returned. sigmoid: the table of
 * tflmgen_logistic_s16. */
TFLMGEN_HELPER int32_t tflmgen_lstm_thumb_cell(const tflmgen_s32 *sums, const tflmgen_s32 *recurrent,
                                               const tflmgen_u16 *sigmoid, tflmgen_s16 *cell,
                                               const struct tflmgen_lstm_integer *p)
{
    int32_t gates[4];
    for (int32_t gate = 0; gate < 4; ++gate) {
        int32_t sum = tflmgen_requantize(sums[gate], p->multipliers[gate], p->shifts[gate]);
        const int32_t other =
            tflmgen_requantize(recurrent[gate], p->recurrent_multipliers[gate], p->recurrent_shifts[gate]);
        sum = 3 * tflmgen_saturate_s16(tflmgen_saturate_s16(sum) + tflmgen_saturate_s16(other));
        gates[gate] =
            gate == TFLMGEN_LSTM_CELL ? tflmgen_tanh_of_steps(sigmoid, sum) : tflmgen_logistic_of_steps(sigmoid, sum);
    }
    const int32_t let_in = gates[TFLMGEN_LSTM_INPUT] * gates[TFLMGEN_LSTM_CELL];
    const int32_t kept = tflmgen_requantize(gates[TFLMGEN_LSTM_FORGET] * *cell, p->forget_multiplier, p->forget_shift);
    const int32_t added = tflmgen_requantize(let_in, p->input_multiplier, p->input_shift);
    int32_t sum = tflmgen_saturate_s16(tflmgen_saturate_s16(kept) + tflmgen_saturate_s16(added));
    sum = p->cell_clip ? tflmgen_clamp_s32(sum, -p->cell_clip, p->cell_clip) : sum;
    *cell = (int16_t)sum;
    sum = tflmgen_tanh_of_steps(sigmoid, tflmgen_sigmoid_steps(sum, p->steps_multiplier, p->steps_shift));
    sum = tflmgen_requantize(sum * gates[TFLMGEN_LSTM_OUTPUT], p->output_multiplier, p->output_shift);
    return tflmgen_clamp_s32(tflmgen_add_wrap_s32(sum, p->output_zero_point), INT8_MIN, INT8_MAX);
}

/* weights, recurrent_weights: see sums_thumb.h; sigmoid: see above. */
TFLMGEN_KERNEL void tflmgen_lstm_thumb_s8(const int8_t *input, const tflmgen_u32 *restrict weights,
                                          const tflmgen_u32 *restrict recurrent_weights,
                                          const tflmgen_u16 *restrict sigmoid, const int8_t *h_in,
                                          const tflmgen_s16 *cell_in, int8_t *output, int8_t *h, tflmgen_s16 *cell,
                                          const struct tflmgen_lstm_integer *p)
{
    uint8_t copies[2][TFLMGEN_FULLY_CONNECTED_THUMB_STACK];
    int32_t sums[4 * TFLMGEN_LSTM_THUMB_CELLS];
    int32_t recurrent[4 * TFLMGEN_LSTM_THUMB_CELLS];
    struct tflmgen_sums_thumb of_input;
    struct tflmgen_sums_thumb of_h;
    tflmgen_lstm_start(h, h_in, p->batches * p->cells, cell, cell_in, p->batches * p->cells * 2);
    for (int32_t batch = 0; batch < p->batches; ++batch, h += p->cells, cell += p->cells) {
        for (int32_t step = 0; step < p->steps; ++step) {
            const int32_t row = p->time_major ? step * p->batches + batch : batch * p->steps + step;
            tflmgen_sums_thumb_start(&of_input, copies[0], input + row * p->inputs, p->inputs, weights);
            tflmgen_sums_thumb_start(&of_h, copies[1], h, p->cells, recurrent_weights);
            for (int32_t i = 0; i < p->cells; ++i) {
                const int32_t place = i % TFLMGEN_LSTM_THUMB_CELLS;
                if (place == 0) {
                    const int32_t count = tflmgen_min_s32(p->cells - i, TFLMGEN_LSTM_THUMB_CELLS);
                    tflmgen_sums_thumb_next(&of_input, sums, count);
                    tflmgen_sums_thumb_next(&of_h, recurrent, count);
                }
                const int32_t result =
                    tflmgen_lstm_thumb_cell(sums + 4 * place, recurrent + 4 * place, sigmoid, cell + i, p);
                h[i] = (int8_t)result;
                output[row * p->cells + i] = (int8_t)result;
            }
        }
    }
}

#endif

#endif
