/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* From sums of int16 activations times int8 weights to outputs: the bias is added, and the sum requantised.
 *
 * TFLite Micro accumulates in the type of the bias, 64 bits where there is none, and has a multiplication for each.
 */
#ifndef TFLMGEN_KERNELS_SUM_S16_H
#define TFLMGEN_KERNELS_SUM_S16_H

#include "dot.h"
#include "requantize.h"

/* 32-bit sums wrap. */
TFLMGEN_HELPER int32_t tflmgen_finish_s16_b32(int64_t sum, int32_t bias, int32_t multiplier, int32_t shift)
{
    return tflmgen_requantize(tflmgen_add_wrap_s32((int32_t)sum, bias), multiplier, shift);
}

/* |sum + bias| < 2^47, -31 <= shift <= 7 */
TFLMGEN_HELPER int32_t tflmgen_finish_s16_b64(int64_t sum, int64_t bias, int32_t multiplier, int32_t shift)
{
    return tflmgen_requantize_s64(sum + bias, multiplier, shift);
}

#endif
