/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* TFLite Micro's filter bank operators: accumulation, square root, spectral subtraction, PCAN, logarithm. */
#ifndef TFLMGEN_KERNELS_SIGNAL_FILTER_BANK_H
#define TFLMGEN_KERNELS_SIGNAL_FILTER_BANK_H

#include "common.h"
#include "signal_window.h"

struct tflmgen_signal_channels {
    int32_t channels;
};

/* Each channel is the weighted energy of its own band and the unweighted one of the band before, whose sum ends up in
 * no channel. `bands` has the start in the input, the start in the weights and the width of each. */
TFLMGEN_KERNEL void tflmgen_signal_filter_bank(const tflmgen_u32 *input, const tflmgen_s16 *weights,
                                               const tflmgen_s16 *unweights, const tflmgen_s16 *starts,
                                               const tflmgen_s16 *weight_starts, const tflmgen_s16 *widths,
                                               tflmgen_u64 *output, const struct tflmgen_signal_channels *params)
{
    uint64_t weighted = 0;
    for (int32_t i = 0; i <= params->channels; i++) {
        uint64_t unweighted = 0;
        for (int32_t j = 0; j < widths[i]; j++) {
            const uint64_t energy = input[starts[i] + j];
            weighted += (uint64_t)(int64_t)weights[weight_starts[i] + j] * energy;
            unweighted += (uint64_t)(int64_t)unweights[weight_starts[i] + j] * energy;
        }
        if (i > 0) {
            output[i - 1] = weighted;
        }
        weighted = unweighted;
    }
}

/* The rounded square root, digit by digit in base 4, from the first digit that isn't zero. */
TFLMGEN_HELPER uint32_t tflmgen_signal_root_32(uint32_t value)
{
    uint32_t root = 0;
    const int32_t highest = value ? tflmgen_signal_highest_bit(value) - 1 : 0;
    for (uint32_t bit = UINT32_C(1) << (highest & ~1); bit != 0; bit >>= 2) {
        if (value >= root + bit) {
            value -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return value > root && root != UINT16_MAX ? root + 1 : root;
}

TFLMGEN_HELPER uint32_t tflmgen_signal_root_64(uint64_t value)
{
    if (value >> 32 == 0) {
        return tflmgen_signal_root_32((uint32_t)value);
    }
    uint64_t root = 0;
    const int32_t highest = tflmgen_signal_highest_bit((uint32_t)(value >> 32)) + 31;
    for (uint64_t bit = UINT64_C(1) << (highest & ~1); bit != 0; bit >>= 2) {
        if (value >= root + bit) {
            value -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return (uint32_t)(value > root && root != UINT32_MAX ? root + 1 : root);
}

/* Square roots, shifted right to undo the scaling of the frame. Input and output may begin at the same byte. */
TFLMGEN_KERNEL void tflmgen_signal_square_root(const tflmgen_u64 *input, const tflmgen_s32 *scale_bits,
                                               tflmgen_u32 *output, const struct tflmgen_signal_channels *params)
{
    const uint32_t shift = (uint32_t)*scale_bits & 31U;
    for (int32_t i = 0; i < params->channels; i++) {
        output[i] = tflmgen_signal_root_64(input[i]) >> shift;
    }
}

struct tflmgen_signal_subtraction {
    int32_t channels;
    uint32_t smoothing[2];
    uint32_t one_minus_smoothing[2];
    uint32_t min_remaining;
    int32_t smoothing_bits;
    int32_t bits;
    bool clamping;
};

/* Subtracts a running estimate of the noise; even and odd channels adapt at their own rates. `after` is the estimate,
 * which also leaves as `noise`. Input and output may begin at the same byte, `before` and `after` too. */
TFLMGEN_KERNEL void tflmgen_signal_subtraction(const tflmgen_u32 *input, const tflmgen_u32 *before, tflmgen_u32 *output,
                                               tflmgen_u32 *noise, tflmgen_u32 *after,
                                               const struct tflmgen_signal_subtraction *params)
{
    for (int32_t i = 0; i < params->channels; i++) {
        const uint32_t signal = input[i];
        const uint32_t scaled = signal << params->smoothing_bits;
        const uint64_t mixed =
            (uint64_t)scaled * params->smoothing[i & 1] + (uint64_t)before[i] * params->one_minus_smoothing[i & 1];
        uint32_t kept = (uint32_t)(mixed >> params->bits);
        const uint32_t estimate = kept < scaled ? kept : scaled;
        kept = params->clamping ? estimate : kept;
        const uint32_t least = (uint32_t)(((uint64_t)signal * params->min_remaining) >> params->bits);
        const uint32_t rest = (scaled - estimate) >> params->smoothing_bits;
        output[i] = rest > least ? rest : least;
        noise[i] = kept;
        after[i] = kept;
    }
}

/* The gain for a noise estimate: a piecewise quadratic, three numbers for each power of two. */
TFLMGEN_HELPER int16_t tflmgen_signal_gain(uint32_t noise, const tflmgen_s16 *table)
{
    if (noise <= 2) {
        return table[noise];
    }
    const int32_t interval = tflmgen_signal_highest_bit(noise);
    const tflmgen_s16 *factors = table + 4 * interval - 6;
    const int32_t fraction = (int32_t)((interval < 11 ? noise << (11 - interval) : noise >> (interval - 11)) & 0x3FF);
    const int32_t slope = ((factors[2] * fraction) >> 5) + factors[1] * 32;
    return (int16_t)(((slope * fraction + (1 << 14)) >> 15) + factors[0]);
}

struct tflmgen_signal_pcan {
    int32_t channels;
    int32_t snr_shift;
};

/* Per-channel amplitude normalisation; the ratio has 12 fractional bits, the output 6. In place if need be. */
TFLMGEN_KERNEL void tflmgen_signal_pcan(const tflmgen_u32 *input, const tflmgen_u32 *noise, const tflmgen_s16 *table,
                                        tflmgen_u32 *output, const struct tflmgen_signal_pcan *params)
{
    for (int32_t i = 0; i < params->channels; i++) {
        const uint32_t gain = (uint32_t)(int32_t)tflmgen_signal_gain(noise[i], table);
        const uint32_t ratio = (uint32_t)(((uint64_t)input[i] * gain) >> params->snr_shift);
        output[i] = ratio < (2U << 12) ? (ratio * ratio) >> 20 : (ratio >> 6) - (1U << 6);
    }
}

struct tflmgen_signal_log {
    int32_t channels;
    int32_t correction_bits;
    uint32_t scale;
};

/* The natural logarithm times `scale`: log2 with 16 fractional bits, its fraction x corrected by a table of
 * log2(1 + x) - x at 128 places. Input and output may begin at the same byte. */
TFLMGEN_KERNEL void tflmgen_signal_log(const tflmgen_u32 *input, const tflmgen_u16 *table, tflmgen_s16 *output,
                                       const struct tflmgen_signal_log *params)
{
    for (int32_t i = 0; i < params->channels; i++) {
        const uint32_t value = input[i] << params->correction_bits;
        if (value <= 1) {
            output[i] = 0;
            continue;
        }
        const int32_t whole = tflmgen_signal_highest_bit(value) - 1;
        const uint32_t rest = value - (UINT32_C(1) << whole);
        const int32_t fraction = (int32_t)(whole < 16 ? rest << (16 - whole) : rest >> (whole - 16));
        const int32_t segment = fraction >> 9;
        const int32_t step = ((table[segment + 1] - table[segment]) * (fraction - segment * 512)) >> 16;
        const uint32_t log2 = ((uint32_t)whole << 16) + (uint32_t)(fraction + table[segment] + step);
        const uint32_t log = (uint32_t)((UINT64_C(45426) * log2 + 32768) >> 16);
        const uint32_t scaled = (params->scale * log + 32768) >> 16;
        output[i] = (int16_t)(scaled < INT16_MAX ? scaled : INT16_MAX);
    }
}

#endif
