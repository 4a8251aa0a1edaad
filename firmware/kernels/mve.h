/* What the kernels for cores with MVE (Armv8.1-M: Cortex-M55, M85) share.
 *
 * Requantisation. VQRDMULH is TFLite's first rounding, VRSHL by -r its second, but for halves below zero, which VRSHL
 * rounds up: such values lose one unit first, wherever the result is not clamped at the zero point anyway.
 */
#ifndef TFLMGEN_KERNELS_MVE_H
#define TFLMGEN_KERNELS_MVE_H

#include "common.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

#include <arm_mve.h>

#include "dsp.h"

/* Copies `count` bytes, 16 at a time. */
TFLMGEN_HELPER void tflmgen_copy_mve(int8_t *to, const int8_t *from, int32_t count)
{
    for (; count > 0; count -= 16, to += 16, from += 16) {
        const mve_pred16_t some = vctp8q((uint32_t)count);
        vstrbq_p_s8(to, vldrbq_z_s8(from, some), some);
    }
}

TFLMGEN_HELPER void tflmgen_fill_mve(int8_t *to, int32_t value, int32_t count)
{
    for (; count > 0; count -= 16, to += 16) {
        vstrbq_p_s8(to, vdupq_n_s8((int8_t)value), vctp8q((uint32_t)count));
    }
}

#endif

#endif
