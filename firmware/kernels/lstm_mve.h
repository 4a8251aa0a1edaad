/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* LSTM over a sequence in int8 for cores with MVE. The results are those of lstm.h.
 *
 * Four cells at a time, the last ones with cells of zero weights. Weights are two streams for sums_mve.h, one of W and
 * one of R, each with two groups of eight rows for four cells:
 *
 *     forget gate of cells 0 1 2 3, cell gate of 0 1 2 3 | output gate of 0 1 2 3, input gate of 0 1 2 3 | cells 4 ...
 */
#ifndef TFLMGEN_KERNELS_LSTM_MVE_H
#define TFLMGEN_KERNELS_LSTM_MVE_H

#include "lstm.h"
#include "sums_mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

#define TFLMGEN_LSTM_MVE_CELLS 4 /* at a time */

/* table[position / 2^bits], interpolated, times 2^bits. */
TFLMGEN_HELPER int32x4_t tflmgen_lstm_mve_interpolate(const tflmgen_u16 *table, uint32x4_t position, int32_t bits)
{
    const uint32x4_t index = vshlq_r_u32(position, -bits);
    const int32x4_t fraction = vreinterpretq_s32_u32(vandq_u32(position, vdupq_n_u32((1u << bits) - 1u)));
    const int32x4_t entry = vreinterpretq_s32_u32(vldrhq_gather_shifted_offset_u32(table, index));
    const int32x4_t next = vreinterpretq_s32_u32(vldrhq_gather_shifted_offset_u32(table + 1, index));
    return vaddq_s32(vshlq_r_s32(entry, bits), vmulq_s32(fraction, vsubq_s32(next, entry)));
}

/* tflmgen_logistic_of_steps of sums in 1/4096, and tflmgen_tanh_of_steps. One's complements take the place of their
 * roundings of negative arguments. */
TFLMGEN_HELPER int32x4_t tflmgen_lstm_mve_logistic(const tflmgen_u16 *table, int32x4_t sums)
{
    const int32x4_t sign = vshrq_n_s32(sums, 31);
    const uint32x4_t position = vreinterpretq_u32_s32(vmulq_n_s32(vabsq_s32(sums), 3));
    const int32x4_t value = veorq_s32(tflmgen_lstm_mve_interpolate(table, position, 9), sign);
    return vrshrq_n_s32(vaddq_s32(value, vandq_s32(sign, vdupq_n_s32(1 << 25))), 10);
}

TFLMGEN_HELPER int32x4_t tflmgen_lstm_mve_tanh(const tflmgen_u16 *table, int32x4_t steps)
{
    const int32x4_t sign = vshrq_n_s32(steps, 31);
    const uint32x4_t position = vminq_u32(vreinterpretq_u32_s32(vabsq_s32(steps)), vdupq_n_u32(65535));
    const int32x4_t value = vsubq_n_s32(tflmgen_lstm_mve_interpolate(table, position, 8), 1 << 23);
    return vrshrq_n_s32(veorq_s32(value, sign), 8);
}

TFLMGEN_HELPER int32x4_t tflmgen_lstm_mve_saturate(int32x4_t values)
{
    return tflmgen_clamp_mve(values, INT16_MIN, INT16_MAX);
}

/* A gate's sums in 1/4096, of four cells. sums: of W x, four of each gate; recurrent: of R h. */
TFLMGEN_HELPER int32x4_t tflmgen_lstm_mve_gate(int32_t gate, const tflmgen_s32 *sums, const tflmgen_s32 *recurrent,
                                               const struct tflmgen_lstm_integer *p)
{
    const int32x4_t input_term =
        tflmgen_requantize_mve(vld1q_s32(sums + 4 * gate), p->multipliers[gate], p->shifts[gate]);
    const int32x4_t recurrent_term = tflmgen_requantize_mve(vld1q_s32(recurrent + 4 * gate),
                                                            p->recurrent_multipliers[gate], p->recurrent_shifts[gate]);
    return tflmgen_lstm_mve_saturate(
        vaddq_s32(tflmgen_lstm_mve_saturate(input_term), tflmgen_lstm_mve_saturate(recurrent_term)));
}

/* `count` of four cells: from the sums of their gates to cells and h. table: tflmgen_logistic_s16's, and once more
 * its last. */
TFLMGEN_HELPER void tflmgen_lstm_mve_update(const tflmgen_s32 *sums, const tflmgen_s32 *recurrent,
                                            const tflmgen_u16 *table, tflmgen_s16 *cell, int8_t *h, int8_t *output,
                                            int32_t count, const struct tflmgen_lstm_integer *p)
{
    const mve_pred16_t active = vctp32q((uint32_t)count);
    const int32x4_t forget =
        tflmgen_lstm_mve_logistic(table, tflmgen_lstm_mve_gate(TFLMGEN_LSTM_FORGET, sums, recurrent, p));
    const int32x4_t cell_gate_steps = vmulq_n_s32(tflmgen_lstm_mve_gate(TFLMGEN_LSTM_CELL, sums, recurrent, p), 3);
    const int32x4_t gated_input =
        vmulq_s32(tflmgen_lstm_mve_logistic(table, tflmgen_lstm_mve_gate(TFLMGEN_LSTM_INPUT, sums, recurrent, p)),
                  tflmgen_lstm_mve_tanh(table, cell_gate_steps));
    const int32x4_t gated_cell = vmulq_s32(forget, vldrhq_z_s32(cell, active));
    const int32x4_t kept = tflmgen_requantize_mve(gated_cell, p->forget_multiplier, p->forget_shift);
    const int32x4_t added = tflmgen_requantize_mve(gated_input, p->input_multiplier, p->input_shift);
    int32x4_t new_cell =
        tflmgen_lstm_mve_saturate(vaddq_s32(tflmgen_lstm_mve_saturate(kept), tflmgen_lstm_mve_saturate(added)));
    if (p->cell_clip) {
        new_cell = tflmgen_clamp_mve(new_cell, -p->cell_clip, p->cell_clip);
    }
    vstrhq_p_s32(cell, new_cell, active);
    const int32x4_t tanh_steps = vrshlq_n_s32(vmulq_n_s32(new_cell, p->steps_multiplier), -p->steps_shift);
    const int32x4_t hidden =
        vmulq_s32(tflmgen_lstm_mve_tanh(table, tanh_steps),
                  tflmgen_lstm_mve_logistic(table, tflmgen_lstm_mve_gate(TFLMGEN_LSTM_OUTPUT, sums, recurrent, p)));
    const int32x4_t scaled = tflmgen_requantize_mve(hidden, p->output_multiplier, p->output_shift);
    const int32x4_t result = tflmgen_clamp_mve(vaddq_n_s32(scaled, p->output_zero_point), INT8_MIN, INT8_MAX);
    vstrbq_p_s32(h, result, active);
    vstrbq_p_s32(output, result, active);
}

TFLMGEN_KERNEL void tflmgen_lstm_mve_s8(const int8_t *input, const tflmgen_u32 *restrict weights,
                                        const tflmgen_u32 *restrict recurrent_weights,
                                        const tflmgen_u16 *restrict table, const int8_t *h_in,
                                        const tflmgen_s16 *cell_in, int8_t *output, int8_t *h, tflmgen_s16 *cell,
                                        const struct tflmgen_lstm_integer *p)
{
    const int32_t chunks = (p->inputs + 15) / 16;
    const int32_t recurrent_chunks = (p->cells + 15) / 16;
    int8_t padded_rows[TFLMGEN_SUMS_MVE_STACK_BYTES];
    int32_t sums[16];
    int32_t recurrent[16];
    tflmgen_lstm_start(h, h_in, p->batches * p->cells, cell, cell_in, p->batches * p->cells * 2);
    for (int32_t batch = 0; batch < p->batches; ++batch, h += p->cells, cell += p->cells) {
        for (int32_t step = 0; step < p->steps; ++step) {
            const int32_t row = TFLMGEN_LSTM_ROW(p, batch, step);
            const int8_t *group = (const int8_t *)weights;
            const int8_t *recurrent_group = (const int8_t *)recurrent_weights;
            tflmgen_copy_mve(padded_rows, input + row * p->inputs, p->inputs);
            tflmgen_copy_mve(padded_rows + 16 * chunks, h, p->cells);
            for (int32_t i = 0; i < p->cells; i += TFLMGEN_LSTM_MVE_CELLS) {
                group = tflmgen_sums_mve(padded_rows, group, chunks, sums);
                group = tflmgen_sums_mve(padded_rows, group, chunks, sums + 8);
                recurrent_group =
                    tflmgen_sums_mve(padded_rows + 16 * chunks, recurrent_group, recurrent_chunks, recurrent);
                recurrent_group =
                    tflmgen_sums_mve(padded_rows + 16 * chunks, recurrent_group, recurrent_chunks, recurrent + 8);
                tflmgen_lstm_mve_update(sums, recurrent, table, cell + i, h + i, output + row * p->cells + i,
                                        p->cells - i, p);
            }
        }
    }
}

#endif

#endif
