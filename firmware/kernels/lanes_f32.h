/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Sums of float products in many channels at a time: the innermost loops of float32 depthwise convolutions.
 *
 * Each sum adds its products one after the other, rounding the product and the sum, on every core. On cores with MVE
 * and its floating point (MVE-F), vectors take numbers below FLT_MIN, denormal ones, for zero.
 */
#ifndef TFLMGEN_KERNELS_LANES_F32_H
#define TFLMGEN_KERNELS_LANES_F32_H

#include "mve.h"
#include "rows_f32.h"

/* Channels that are computed at a time. */
#define TFLMGEN_LANES_F32 8

/* Before a loop over them: straight code keeps the sums in registers. */
#if defined(__GNUC__) && __GNUC__ >= 8 && !defined(__clang__) && !defined(TFLMGEN_OPTIMIZE_SIZE)
#define TFLMGEN_UNROLL_LANES_F32 _Pragma("GCC unroll 8")
#else
#define TFLMGEN_UNROLL_LANES_F32
#endif

#if TFLMGEN_HAS_FPU && !TFLMGEN_HAS_MVE_F32
#define TFLMGEN_LANES_F32_OPERANDS(sums)                                                                \
    [s0] "+t"(sums[0]), [s1] "+t"(sums[1]), [s2] "+t"(sums[2]), [s3] "+t"(sums[3]), [s4] "+t"(sums[4]), \
        [s5] "+t"(sums[5]), [s6] "+t"(sums[6]), [s7] "+t"(sums[7])
#if TFLMGEN_HAS_FAST_VMLA
#define TFLMGEN_LANES_F32_PRODUCTS(x0, x1, x2, x3, x4, x5, x6, x7)                                  \
    "vmla.f32 %[s0], s16, " x0 "\n\tvmla.f32 %[s1], s17, " x1 "\n\tvmla.f32 %[s2], s18, " x2 "\n\t" \
    "vmla.f32 %[s3], s19, " x3 "\n\tvmla.f32 %[s4], s20, " x4 "\n\tvmla.f32 %[s5], s21, " x5 "\n\t" \
    "vmla.f32 %[s6], s22, " x6 "\n\tvmla.f32 %[s7], s23, " x7 "\n\t"
#else
#define TFLMGEN_LANES_F32_PRODUCTS(x0, x1, x2, x3, x4, x5, x6, x7)                                 \
    "vmul.f32 s16, s16, " x0 "\n\tvmul.f32 s17, s17, " x1 "\n\tvmul.f32 s18, s18, " x2 "\n\t"      \
    "vmul.f32 s19, s19, " x3 "\n\tvmul.f32 s20, s20, " x4 "\n\tvmul.f32 s21, s21, " x5 "\n\t"      \
    "vmul.f32 s22, s22, " x6 "\n\tvmul.f32 s23, s23, " x7 "\n\t"                                   \
    "vadd.f32 %[s0], s16\n\tvadd.f32 %[s1], s17\n\tvadd.f32 %[s2], s18\n\tvadd.f32 %[s3], s19\n\t" \
    "vadd.f32 %[s4], s20\n\tvadd.f32 %[s5], s21\n\tvadd.f32 %[s6], s22\n\tvadd.f32 %[s7], s23\n\t"
#endif
#endif

/* Taps of a window: `lines` of `columns`. Steps go from tap to tap, skips from the end of a line (a step behind its
 * last tap) to the next line; all in floats. The assembly reads the first three. */
struct tflmgen_lanes_f32 {
    int32_t columns;
    int32_t x_skip;
    int32_t weight_skip;
    int32_t x_step;
    int32_t weight_step;
    int32_t lines;
};

#if TFLMGEN_HAS_FPU && !TFLMGEN_HAS_MVE_F32
/* The taps, with `LOAD` of x at s8 and on. */
/* clang-format off */
#define TFLMGEN_LANES_F32_TAPS(LOAD, PRODUCTS)                                                                         \
    __asm__ volatile("1:\n\t"                                                                                          \
                     "ldr %[columns], [%[taps]]\n"                                                                     \
                     "2:\n\t" LOAD "vldmia %[w], {s16-s23}\n\t" PRODUCTS                                              \
                     "add %[x], %[x], %[x_step], lsl #2\n\t"                                                          \
                     "add %[w], %[w], %[w_step], lsl #2\n\t"                                                          \
                     "subs %[columns], #1\n\t"                                                                        \
                     "bne 2b\n\t"                                                                                     \
                     "subs %[lines], #1\n\t"                                                                          \
                     "beq 3f\n\t"                                                                                     \
                     "ldr %[columns], [%[taps], #4]\n\t"                                                              \
                     "add %[x], %[x], %[columns], lsl #2\n\t"                                                         \
                     "ldr %[columns], [%[taps], #8]\n\t"                                                              \
                     "add %[w], %[w], %[columns], lsl #2\n\t"                                                         \
                     "b 1b\n"                                                                                         \
                     "3:"                                                                                             \
                     : TFLMGEN_LANES_F32_OPERANDS(sums), [x] "+r"(x), [w] "+r"(weights), [lines] "+&r"(lines),         \
                       [columns] "=&r"(columns)                                                                       \
                     : [x_step] "r"(taps->x_step), [w_step] "r"(taps->weight_step), [taps] "r"(taps)                  \
                     : "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15", "s16", "s17", "s18", "s19", "s20",       \
                       "s21", "s22", "s23", "cc", "memory")
/* clang-format on */
#endif

#if TFLMGEN_HAS_MVE_F32
/* The taps, with PRODUCTS of x and the weights at w added to q0 and q1. */
/* clang-format off */
#define TFLMGEN_LANES_F32_TAPS(PRODUCTS)                                                               \
    __asm__ volatile("1:\n\t"                                                                          \
                     "ldr r4, [%[taps]]\n\t"                                                           \
                     "dls lr, r4\n"                                                                    \
                     "2:\n\t" PRODUCTS                                                                 \
                     "add %[x], %[x], %[x_step], lsl #2\n\t"                                           \
                     "add %[w], %[w], %[w_step], lsl #2\n\t"                                           \
                     "le lr, 2b\n\t"                                                                   \
                     "subs %[lines], #1\n\t"                                                           \
                     "beq 3f\n\t"                                                                      \
                     "ldrd r4, r5, [%[taps], #4]\n\t"                                                  \
                     "add %[x], %[x], r4, lsl #2\n\t"                                                  \
                     "add %[w], %[w], r5, lsl #2\n\t"                                                  \
                     "b 1b\n"                                                                          \
                     "3:"                                                                              \
                     : [low] "+w"(low), [high] "+w"(high), [x] "+l"(x), [w] "+l"(weights), [lines] "+&r"(lines) \
                     : [x_step] "r"(taps->x_step), [w_step] "r"(taps->weight_step), [taps] "r"(taps)   \
                     : "r4", "r5", "lr", "q2", "q3", "q4", "q5", "cc", "memory")
/* clang-format on */

/* One window of so many channels as whole vectors of eight have, of which the last may overlap those before, each of an
 * input channel of its own, or `multiplier` of one; there is at least one tap, and at least eight channels. Adds the
 * bias, NULL for none, and writes what is not below `least`. Returns 0: no output is infinite.
 *
 * Eight products: 4 VLDRW, 2 VMUL, 2 VADD, 2 ADD, LE; between lines 8. */
TFLMGEN_HELPER float tflmgen_window_lanes_f32(const tflmgen_f32 *window, int32_t multiplier, const tflmgen_f32 *filter,
                                              const tflmgen_f32 *bias, int32_t channels, float least,
                                              tflmgen_f32 *output, const struct tflmgen_lanes_f32 *taps)
{
    const float32x4_t lows = vdupq_n_f32(least);
    const float32x4_t highs = vdupq_n_f32(FLT_MAX);
    for (int32_t channel = 0; channel < channels; channel += TFLMGEN_LANES_F32) {
        const int32_t first = tflmgen_min_s32(channel, channels - TFLMGEN_LANES_F32);
        const tflmgen_f32 *x = window + first / multiplier;
        const tflmgen_f32 *weights = filter + first;
        int32_t lines = taps->lines;
        float32x4_t low = vdupq_n_f32(0.0f);
        float32x4_t high = vdupq_n_f32(0.0f);
        if (multiplier > 1) {
            TFLMGEN_LANES_F32_TAPS("vldrw.u32 q2, [%[w]]\n\t"
                                   "ldr r4, [%[x]]\n\t"
                                   "vmul.f32 q2, q2, r4\n\t"
                                   "vldrw.u32 q3, [%[w], #16]\n\t"
                                   "vadd.f32 %q[low], %q[low], q2\n\t"
                                   "vmul.f32 q3, q3, r4\n\t"
                                   "vadd.f32 %q[high], %q[high], q3\n\t");
        } else {
            TFLMGEN_LANES_F32_TAPS("vldrw.u32 q2, [%[x]]\n\t"
                                   "vldrw.u32 q3, [%[w]]\n\t"
                                   "vmul.f32 q2, q2, q3\n\t"
                                   "vldrw.u32 q4, [%[x], #16]\n\t"
                                   "vadd.f32 %q[low], %q[low], q2\n\t"
                                   "vldrw.u32 q5, [%[w], #16]\n\t"
                                   "vmul.f32 q4, q4, q5\n\t"
                                   "vadd.f32 %q[high], %q[high], q4\n\t");
        }
        if (bias) {
            low = vaddq_f32(low, vldrwq_f32(bias + first));
            high = vaddq_f32(high, vldrwq_f32(bias + first + 4));
        }
        vstrwq_f32(output + first, tflmgen_clamp_f32_mve(low, lows, highs));
        vstrwq_f32(output + first + 4, tflmgen_clamp_f32_mve(high, lows, highs));
    }
    return 0.0f;
}
#else
/* sums[c] += x[c] * weights[c] over all taps, or with `one` x[0] * weights[c]; there is at least one tap. With a
 * floating-point unit 22 instructions for 8 products, 14 with VMLA, and 7 between lines. */
TFLMGEN_HELPER void tflmgen_add_taps_f32(float sums[TFLMGEN_LANES_F32], bool one, const tflmgen_f32 *x,
                                         const tflmgen_f32 *weights, const struct tflmgen_lanes_f32 *taps)
{
    int32_t lines = taps->lines;
#if TFLMGEN_HAS_FPU
    int32_t columns;
    if (one) {
        TFLMGEN_LANES_F32_TAPS("vldr s8, [%[x]]\n\t",
                               TFLMGEN_LANES_F32_PRODUCTS("s8", "s8", "s8", "s8", "s8", "s8", "s8", "s8"));
    } else {
        TFLMGEN_LANES_F32_TAPS("vldmia %[x], {s8-s15}\n\t",
                               TFLMGEN_LANES_F32_PRODUCTS("s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15"));
    }
#else
    for (; lines > 0; --lines, x += taps->x_skip, weights += taps->weight_skip) {
        for (int32_t i = 0; i < taps->columns; ++i, x += taps->x_step, weights += taps->weight_step) {
            for (int32_t c = 0; c < TFLMGEN_LANES_F32; ++c) {
                sums[c] += x[one ? 0 : c] * weights[c];
            }
        }
    }
#endif
}

/* Adds the bias, NULL for none, and writes what is not below `least`. Returns the sum of all before that. */
TFLMGEN_HELPER float tflmgen_finish_lanes_f32(const float sums[TFLMGEN_LANES_F32], const tflmgen_f32 *bias, float least,
                                              tflmgen_f32 *output)
{
    static const float none[TFLMGEN_LANES_F32] = {0.0f};
    const tflmgen_f32 *const added = bias ? bias : none;
    float total = 0.0f;
    TFLMGEN_UNROLL_LANES_F32
    for (int32_t i = 0; i < TFLMGEN_LANES_F32; ++i) {
        const float value = sums[i] + added[i];
        total += value;
        output[i] = value < least ? least : value;
    }
    return total;
}

/* The same as with vectors. Returns the sum of all outputs before what is below `least` was raised. */
TFLMGEN_HELPER float tflmgen_window_lanes_f32(const tflmgen_f32 *window, int32_t multiplier, const tflmgen_f32 *filter,
                                              const tflmgen_f32 *bias, int32_t channels, float least,
                                              tflmgen_f32 *output, const struct tflmgen_lanes_f32 *taps)
{
    float total = 0.0f;
    for (int32_t channel = 0; channel < channels; channel += TFLMGEN_LANES_F32) {
        const int32_t first = tflmgen_min_s32(channel, channels - TFLMGEN_LANES_F32);
        float sums[TFLMGEN_LANES_F32] = {0.0f};
        tflmgen_add_taps_f32(sums, multiplier > 1, window + first / multiplier, filter + first, taps);
        total += tflmgen_finish_lanes_f32(sums, bias ? bias + first : NULL, least, output + first);
    }
    return total;
}
#endif

#endif
