/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* TFLite Micro's signal operators on single frames: window, automatic scaling, energy of a spectrum. */
#ifndef TFLMGEN_KERNELS_SIGNAL_WINDOW_H
#define TFLMGEN_KERNELS_SIGNAL_WINDOW_H

#include "common.h"

struct tflmgen_signal_window {
    int32_t frames;
    int32_t length;
    int32_t shift;
};

/* output = (input * weights) >> shift, saturated. Input and output may begin at the same byte. */
TFLMGEN_KERNEL void tflmgen_signal_window(const tflmgen_s16 *input, const tflmgen_s16 *weights, tflmgen_s16 *output,
                                          const struct tflmgen_signal_window *params)
{
    for (int32_t frame = 0; frame < params->frames; frame++) {
        for (int32_t i = 0; i < params->length; i++) {
            const int32_t at = frame * params->length + i;
            const int32_t product = ((int32_t)input[at] * weights[i]) >> params->shift;
            output[at] = (int16_t)tflmgen_clamp_s32(product, INT16_MIN, INT16_MAX);
        }
    }
}

/* The number of the highest bit set, from 1 on; 32 for 0, as TFLite Micro has it. */
TFLMGEN_HELPER int32_t tflmgen_signal_highest_bit(uint32_t value)
{
    return value ? 32 - __builtin_clz(value) : 32;
}

struct tflmgen_signal_auto_scale {
    int32_t elements;
};

/* Shifts a frame left as far as its largest magnitude permits; `bits` is how far. The frame may be scaled in place. */
TFLMGEN_KERNEL void tflmgen_signal_auto_scale(const tflmgen_s16 *input, tflmgen_s16 *output, tflmgen_s32 *bits,
                                              const struct tflmgen_signal_auto_scale *params)
{
    int16_t most = 0;
    for (int32_t i = 0; i < params->elements; i++) {
        const int16_t value = input[i];
        if (value > most) {
            most = value;
        } else if (-value > most) {
            most = (int16_t)-value;
        }
    }
    const int32_t shift = tflmgen_max_s32(15 - tflmgen_signal_highest_bit((uint32_t)(int32_t)most), 0);
    for (int32_t i = 0; i < params->elements; i++) {
        output[i] = (int16_t)(input[i] * (1 << shift));
    }
    *bits = shift;
}

struct tflmgen_signal_energy {
    int32_t elements;
    int32_t start;
    int32_t end;
};

/* The squared magnitudes of the complex numbers from `start` to `end`; zero elsewhere. */
TFLMGEN_KERNEL void tflmgen_signal_energy(const tflmgen_s16 *input, tflmgen_u32 *output,
                                          const struct tflmgen_signal_energy *params)
{
    for (int32_t i = 0; i < params->elements; i++) {
        const int32_t real = input[2 * i];
        const int32_t imaginary = input[2 * i + 1];
        const uint32_t energy = (uint32_t)(real * real) + (uint32_t)(imaginary * imaginary);
        output[i] = i >= params->start && i < params->end ? energy : 0;
    }
}

#endif
