/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* TflmgenGru: a gated recurrent unit over a sequence, as Keras has it with reset_after and ONE's Circle as GRU. */
#ifndef TFLMGEN_KERNELS_GRU_H
#define TFLMGEN_KERNELS_GRU_H

#include <string.h>

#include "elementary_f32.h"

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

TFLMGEN_HELPER float tflmgen_gru_sum(const tflmgen_f32 *weights, const tflmgen_f32 *values, int32_t count, float sum)
{
    for (int32_t i = 0; i < count; i++) {
        sum += weights[i] * values[i];
    }
    return sum;
}

/* `sums` has room for 2 * units floats. */
TFLMGEN_KERNEL void tflmgen_gru_f32(const tflmgen_f32 *input, const tflmgen_f32 *weights, const tflmgen_f32 *bias,
                                    const tflmgen_f32 *state_weights, const tflmgen_f32 *state_bias,
                                    const tflmgen_f32 *state, tflmgen_f32 *output, tflmgen_f32 *sums,
                                    const struct tflmgen_gru *p)
{
    const int32_t units = p->units;
    memcpy(output, state, (size_t)units * sizeof(float));
    for (int32_t step = 0; step < p->steps; step++, input += p->inputs) {
        for (int32_t i = 0; i < units; i++) {
            float of_input[3];
            float of_state[3];
            for (int32_t gate = 0; gate < 3; gate++) {
                const int32_t row = gate * units + i;
                of_input[gate] = tflmgen_gru_sum(weights + row * p->inputs, input, p->inputs, bias[row]);
                of_state[gate] = tflmgen_gru_sum(state_weights + row * units, output, units, state_bias[row]);
            }
            sums[i] = tflmgen_logistic_f32_of(of_input[0] + of_state[0]);
            const float reset = tflmgen_logistic_f32_of(of_input[1] + of_state[1]);
            sums[units + i] = tflmgen_tanh_f32_of(of_input[2] + reset * of_state[2]);
        }
        for (int32_t i = 0; i < units; i++) {
            output[i] = sums[i] * output[i] + (1.0f - sums[i]) * sums[units + i];
        }
    }
}

#endif
