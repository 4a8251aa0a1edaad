/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* 1 / sqrt(x) of an integer as a multiplier for tflmgen_requantize, bit for bit as TFLite does it. */
#ifndef TFLMGEN_KERNELS_INVERSE_SQRT_H
#define TFLMGEN_KERNELS_INVERSE_SQRT_H

#include "fixed_point.h"

/* Bits of fraction that RSQRT keeps of 1 / sqrt(x). */
#define TFLMGEN_INVERSE_SQRT_BITS 20

/* 1 / sqrt(x) = multiplier * 2^(shift - 31), for x >= 0; 0 counts as 1. Newton and Raphson's iteration on x brought
 * to [1/4, 1) with three integer bits, starting from 1. */
TFLMGEN_HELPER void tflmgen_inverse_sqrt(int32_t x, tflmgen_s32 *multiplier, tflmgen_s32 *shift)
{
    if (x <= 1) {
        *multiplier = INT32_MAX;
        *shift = 0;
        return;
    }
    int32_t right_shift = 11;
    while (x >= 1 << 29) {
        x /= 4;
        right_shift++;
    }
    while (x < 1 << 27) {
        x *= 4;
        right_shift--;
    }
    const int32_t half = tflmgen_rounding_divide_by_power(x >> 1, 1);
    const int32_t three_halves = (1 << 28) + (1 << 27);
    int32_t root = 1 << 28;
    for (int32_t i = 0; i < 5; i++) {
        const int32_t square = tflmgen_doubling_high_multiply(root, root);
        const int32_t cube = tflmgen_saturating_shift_left(tflmgen_doubling_high_multiply(square, root), 6);
        const int32_t step =
            tflmgen_doubling_high_multiply(three_halves, root) - tflmgen_doubling_high_multiply(half, cube);
        root = tflmgen_saturating_shift_left(step, 3);
    }
    const int32_t half_sqrt_2 = 1518500250;
    const int32_t scaled = tflmgen_doubling_high_multiply(root, half_sqrt_2);
    *multiplier = right_shift < 0 ? (int32_t)((uint32_t)scaled << -right_shift) : scaled;
    *shift = right_shift < 0 ? 0 : -right_shift;
}

#endif
