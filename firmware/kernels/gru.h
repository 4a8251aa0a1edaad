/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* TflmgenGru: a gated recurrent unit over a sequence, as Keras has it with reset_after and ONE's Circle as GRU. */
#ifndef TFLMGEN_KERNELS_GRU_H
#define TFLMGEN_KERNELS_GRU_H

#include <string.h>

#include "elementary_rows.h"
#include "rows_f32.h"

/* Weights are [3 * units, inputs] and [3 * units, units]; of each, and of the biases, first what is for the update gate
 * z, then for the reset gate r, then for the candidate n:
 *
 *     z = logistic(Wz x + Uz h), r = logistic(Wr x + Ur h), n = tanh(Wn x + r * (Un h)), h' = z * h + (1 - z) * n
 */
struct tflmgen_gru {
    int32_t steps;
    int32_t inputs;
    int32_t units;
};

/* `sums` has room for 6 * units floats: of the input and of the state. */
TFLMGEN_KERNEL void tflmgen_gru_f32(const tflmgen_f32 *input, const tflmgen_f32 *weights, const tflmgen_f32 *bias,
                                    const tflmgen_f32 *state_weights, const tflmgen_f32 *state_bias,
                                    const tflmgen_f32 *state, tflmgen_f32 *output, tflmgen_f32 *sums,
                                    const struct tflmgen_gru *p)
{
    const int32_t units = p->units;
    tflmgen_f32 *const of_state = sums + 3 * units;
    tflmgen_f32 *const candidate = sums + 2 * units;
    memcpy(output, state, (size_t)units * sizeof(float));
    for (int32_t step = 0; step < p->steps; step++, input += p->inputs) {
        tflmgen_matrix_f32(input, weights, bias, sums, p->inputs, 3 * units);
        tflmgen_matrix_f32(output, state_weights, state_bias, of_state, units, 3 * units);
        for (int32_t i = 0; i < 2 * units; i++) {
            sums[i] += of_state[i];
        }
        tflmgen_logistic_row_f32(sums, sums, 2 * units);
        for (int32_t i = 0; i < units; i++) {
            candidate[i] += sums[units + i] * of_state[2 * units + i];
        }
        tflmgen_tanh_row_f32(candidate, candidate, units);
        for (int32_t i = 0; i < units; i++) {
            output[i] = sums[i] * output[i] + (1.0f - sums[i]) * candidate[i];
        }
    }
}

#endif
