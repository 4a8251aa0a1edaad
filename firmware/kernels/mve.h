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

/* Copies `count` bytes. 16 of them: VLDRB, VSTRB, LETP, which stops at the last one. */
TFLMGEN_HELPER void tflmgen_copy_mve(int8_t *to, const int8_t *from, int32_t count)
{
    __asm__ volatile("wlstp.8 lr, %[count], 2f\n"
                     "1:\n\t"
                     "vldrb.8 q0, [%[from]], #16\n\t"
                     "vstrb.8 q0, [%[to]], #16\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [to] "+r"(to), [from] "+r"(from)
                     : [count] "r"(count)
                     : "lr", "q0", "memory");
}

/* 16 bytes: VSTRB, LETP. */
TFLMGEN_HELPER void tflmgen_fill_mve(int8_t *to, int32_t value, int32_t count)
{
    const int8x16_t values = vdupq_n_s8((int8_t)value);
    __asm__ volatile("wlstp.8 lr, %[count], 2f\n"
                     "1:\n\t"
                     "vstrb.8 %q[values], [%[to]], #16\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [to] "+r"(to)
                     : [values] "w"(values), [count] "r"(count)
                     : "lr", "memory");
}

#endif

#endif
