/* Sums of float products in many channels at a time: the innermost loops of float32 depthwise convolutions.
 *
 * Each sum adds its products one after the other, rounding the product and the sum, on every core.
 */
#ifndef TFLMGEN_KERNELS_LANES_F32_H
#define TFLMGEN_KERNELS_LANES_F32_H

#include "rows_f32.h"

/* Channels that are computed at a time. */
#define TFLMGEN_LANES_F32 8

#if TFLMGEN_HAS_FPU
#define TFLMGEN_LANES_F32_OPERANDS(sums)                                                                               \
    [s0] "+t"(sums[0]), [s1] "+t"(sums[1]), [s2] "+t"(sums[2]), [s3] "+t"(sums[3]), [s4] "+t"(sums[4]),                \
        [s5] "+t"(sums[5]), [s6] "+t"(sums[6]), [s7] "+t"(sums[7])
#if TFLMGEN_HAS_FAST_VMLA
#define TFLMGEN_LANES_F32_PRODUCTS(x0, x1, x2, x3, x4, x5, x6, x7)                                                     \
    "vmla.f32 %[s0], s16, " x0 "\n\tvmla.f32 %[s1], s17, " x1 "\n\tvmla.f32 %[s2], s18, " x2 "\n\t"                     \
    "vmla.f32 %[s3], s19, " x3 "\n\tvmla.f32 %[s4], s20, " x4 "\n\tvmla.f32 %[s5], s21, " x5 "\n\t"                     \
    "vmla.f32 %[s6], s22, " x6 "\n\tvmla.f32 %[s7], s23, " x7 "\n\t"
#else
#define TFLMGEN_LANES_F32_PRODUCTS(x0, x1, x2, x3, x4, x5, x6, x7)                                                     \
    "vmul.f32 s16, s16, " x0 "\n\tvmul.f32 s17, s17, " x1 "\n\tvmul.f32 s18, s18, " x2 "\n\t"                          \
    "vmul.f32 s19, s19, " x3 "\n\tvmul.f32 s20, s20, " x4 "\n\tvmul.f32 s21, s21, " x5 "\n\t"                          \
    "vmul.f32 s22, s22, " x6 "\n\tvmul.f32 s23, s23, " x7 "\n\t"                                                      \
    "vadd.f32 %[s0], s16\n\tvadd.f32 %[s1], s17\n\tvadd.f32 %[s2], s18\n\tvadd.f32 %[s3], s19\n\t"                     \
    "vadd.f32 %[s4], s20\n\tvadd.f32 %[s5], s21\n\tvadd.f32 %[s6], s22\n\tvadd.f32 %[s7], s23\n\t"
#endif
#endif

/* sums[c] += x[c] * weights[c] for each of `taps` taps, which are x_step and weight_step apart; taps > 0. With a
 * floating-point unit 22 instructions for 8 products, 14 with VMLA. */
TFLMGEN_HELPER void tflmgen_add_taps_f32(float sums[TFLMGEN_LANES_F32], const float *x, int32_t x_step,
                                         const float *weights, int32_t weight_step, int32_t taps)
{
#if TFLMGEN_HAS_FPU
    __asm__ volatile("1:\n\t"
                     "vldmia %[x], {s8-s15}\n\t"
                     "vldmia %[w], {s16-s23}\n\t"
                     TFLMGEN_LANES_F32_PRODUCTS("s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15")
                     "add %[x], %[x], %[x_step], lsl #2\n\t"
                     "add %[w], %[w], %[w_step], lsl #2\n\t"
                     "subs %[taps], #1\n\t"
                     "bne 1b"
                     : TFLMGEN_LANES_F32_OPERANDS(sums), [x] "+r"(x), [w] "+r"(weights), [taps] "+r"(taps)
                     : [x_step] "r"(x_step), [w_step] "r"(weight_step)
                     : "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15", "s16", "s17", "s18", "s19", "s20", "s21",
                       "s22", "s23", "cc", "memory");
#else
    for (; taps > 0; --taps, x += x_step, weights += weight_step) {
        for (int32_t c = 0; c < TFLMGEN_LANES_F32; ++c) {
            sums[c] += x[c] * weights[c];
        }
    }
#endif
}

/* The same for one x: sums[c] += x[0] * weights[c]. */
TFLMGEN_HELPER void tflmgen_add_taps_of_one_f32(float sums[TFLMGEN_LANES_F32], const float *x, int32_t x_step,
                                                const float *weights, int32_t weight_step, int32_t taps)
{
#if TFLMGEN_HAS_FPU
    __asm__ volatile("1:\n\t"
                     "vldr s8, [%[x]]\n\t"
                     "vldmia %[w], {s16-s23}\n\t"
                     TFLMGEN_LANES_F32_PRODUCTS("s8", "s8", "s8", "s8", "s8", "s8", "s8", "s8")
                     "add %[x], %[x], %[x_step], lsl #2\n\t"
                     "add %[w], %[w], %[w_step], lsl #2\n\t"
                     "subs %[taps], #1\n\t"
                     "bne 1b"
                     : TFLMGEN_LANES_F32_OPERANDS(sums), [x] "+r"(x), [w] "+r"(weights), [taps] "+r"(taps)
                     : [x_step] "r"(x_step), [w_step] "r"(weight_step)
                     : "s8", "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23", "cc", "memory");
#else
    for (; taps > 0; --taps, x += x_step, weights += weight_step) {
        for (int32_t c = 0; c < TFLMGEN_LANES_F32; ++c) {
            sums[c] += x[0] * weights[c];
        }
    }
#endif
}

#endif
