/* Sums of rows of int8 weights times one row of int8 values for cores with MVE, and their requantisation: what SVDF and LSTM
 * share.
 *
 * The weights are groups of eight rows as FULLY_CONNECTED has them (fully_connected_mve.h), each with eight biases behind its
 * weights.
 */
#ifndef TFLMGEN_KERNELS_SUMS_MVE_H
#define TFLMGEN_KERNELS_SUMS_MVE_H

#include "fully_connected_mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* Bytes of rows on the stack, each filled up to whole 16s. */
#define TFLMGEN_SUMS_MVE_STACK_BYTES 320

/* The next eight sums of a row of `chunks` 16s; returns where the next group begins. */
TFLMGEN_HELPER const int8_t *tflmgen_sums_mve(const int8_t *row, const int8_t *stream, int32_t chunks, int32_t *sums)
{
    const int32_t *const biases =
        (const int32_t *)(const void *)tflmgen_fully_connected_mve_sums(row, stream, chunks, sums);
    vst1q_s32(sums, vaddq_s32(vld1q_s32(sums), vld1q_s32(biases)));
    vst1q_s32(sums + 4, vaddq_s32(vld1q_s32(sums + 4), vld1q_s32(biases + 4)));
    return (const int8_t *)(const void *)(biases + 8);
}

/* tflmgen_requantize by a multiplier above 0: VQRDMULH is its first rounding, VRSHL its second but for halves below zero. */
TFLMGEN_HELPER int32x4_t tflmgen_requantize_mve(int32x4_t values, int32_t multiplier, int32_t shift)
{
    if (shift >= 0) {
        return vqrdmulhq_n_s32(vshlq_r_s32(values, shift), multiplier);
    }
    const int32x4_t high = vqrdmulhq_n_s32(values, multiplier);
    return vrshlq_n_s32(vaddq_s32(high, vshrq_n_s32(high, 31)), shift);
}

TFLMGEN_HELPER int32x4_t tflmgen_clamp_mve(int32x4_t values, int32_t least, int32_t greatest)
{
    return vmaxq_s32(vminq_s32(values, vdupq_n_s32(greatest)), vdupq_n_s32(least));
}

#endif

#endif
