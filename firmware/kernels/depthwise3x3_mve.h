/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Windows of 3x3 within the input, for depthwise_window_mve.h: eight channels of one pixel, or of two side by side,
 * from the stream's groups.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE3X3_MVE_H
#define TFLMGEN_KERNELS_DEPTHWISE3X3_MVE_H

#include "mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

TFLMGEN_HELPER int32x4_t tflmgen_depthwise_window_mve_requantize(int32x4_t sums, const tflmgen_s32 *factors)
{
    const int32x4_t high = vqrdmulhq_s32(sums, vld1q_s32(factors + 4));
    return vrshlq_s32(vaddq_s32(high, vshrq_n_s32(high, 31)), vld1q_s32(factors + 8));
}

/* By hand, since GCC 12 copies what it could narrow in place. */
#define TFLMGEN_DEPTHWISE_WINDOW_MVE_NARROW     \
    "vqmovnb.s32 %q[even], %q[even]\n\t"        \
    "vqmovnt.s32 %q[even], %q[odd]\n\t"         \
    "vqadd.s16 %q[even], %q[even], %[zero]\n\t" \
    "vqmovnb.s16 %q[even], %q[even]\n\t"

TFLMGEN_HELPER void tflmgen_depthwise_window_mve_store(int8_t *output, int32x4_t even, int32x4_t odd,
                                                       int32_t zero_point)
{
    __asm__ volatile(TFLMGEN_DEPTHWISE_WINDOW_MVE_NARROW "vstrb.16 %q[even], [%[output]]"
                     : [even] "+w"(even)
                     : [odd] "w"(odd), [zero] "r"(zero_point), [output] "l"(output)
                     : "memory");
}

/* The first `count` of eight. */
TFLMGEN_HELPER void tflmgen_depthwise_window_mve_store_some(int8_t *output, int32x4_t even, int32x4_t odd,
                                                            int32_t zero_point, int32_t count)
{
    __asm__ volatile(TFLMGEN_DEPTHWISE_WINDOW_MVE_NARROW "vctp.16 %[count]\n\t"
                                                         "vpst\n\t"
                                                         "vstrbt.16 %q[even], [%[output]]"
                     : [even] "+w"(even)
                     : [odd] "w"(odd), [zero] "r"(zero_point), [output] "l"(output), [count] "r"(count)
                     : "memory");
}

/* The next column, and a tap's weights. */
#define TFLMGEN_DEPTHWISE3X3_MVE_FIRST_COLUMN(row) \
    "vldrb.s16 %q[x], [%[" row "]]\n\tadd %[at], %[" row "], %[pixel]\n\t"
#define TFLMGEN_DEPTHWISE3X3_MVE_COLUMN "vldrb.s16 %q[x], [%[at]]\n\tadd %[at], %[at], %[pixel]\n\t"
#define TFLMGEN_DEPTHWISE3X3_MVE_WEIGHTS(tap) "vldrb.s16 %q[w], [%[stream], #8 * " tap "]\n\t"

/* Of the first pixel (s) or the second (t): a product that begins a pair of taps, or ends it in place of x or w. */
#define TFLMGEN_DEPTHWISE3X3_MVE_BEGIN(sum) "vmul.i16 %q[" sum "], %q[x], %q[w]\n\t"
#define TFLMGEN_DEPTHWISE3X3_MVE_END(sum, product) \
    "vmul.i16 %q[" product "], %q[x], %q[w]\n\t"   \
    "vadd.i16 %q[" sum "], %q[" sum "], %q[" product "]\n\t"

/* Both pixels' pairs go to the 32-bit sums. */
#define TFLMGEN_DEPTHWISE3X3_MVE_WIDEN(free)          \
    "vmovlb.s16 %q[" free "], %q[s]\n\t"              \
    "vadd.i32 %q[even0], %q[even0], %q[" free "]\n\t" \
    "vmovlt.s16 %q[s], %q[s]\n\t"                     \
    "vadd.i32 %q[odd0], %q[odd0], %q[s]\n\t"          \
    "vmovlb.s16 %q[" free "], %q[t]\n\t"              \
    "vadd.i32 %q[even1], %q[even1], %q[" free "]\n\t" \
    "vmovlt.s16 %q[t], %q[t]\n\t"                     \
    "vadd.i32 %q[odd1], %q[odd1], %q[t]\n\t"

/* A row's taps 0 and 1 as a pair, and tap 2 as the first of the next one. */
#define TFLMGEN_DEPTHWISE3X3_MVE_ROW_PAIR_FIRST(row, tap0, tap1, tap2) \
    TFLMGEN_DEPTHWISE3X3_MVE_WEIGHTS(tap0)                             \
    TFLMGEN_DEPTHWISE3X3_MVE_FIRST_COLUMN(row)                         \
    TFLMGEN_DEPTHWISE3X3_MVE_BEGIN("s")                                \
    TFLMGEN_DEPTHWISE3X3_MVE_COLUMN                                    \
    TFLMGEN_DEPTHWISE3X3_MVE_BEGIN("t")                                \
    TFLMGEN_DEPTHWISE3X3_MVE_WEIGHTS(tap1)                             \
    TFLMGEN_DEPTHWISE3X3_MVE_END("s", "x")                             \
    TFLMGEN_DEPTHWISE3X3_MVE_COLUMN                                    \
    TFLMGEN_DEPTHWISE3X3_MVE_END("t", "w")                             \
    TFLMGEN_DEPTHWISE3X3_MVE_WIDEN("w")                                \
    TFLMGEN_DEPTHWISE3X3_MVE_WEIGHTS(tap2)                             \
    TFLMGEN_DEPTHWISE3X3_MVE_BEGIN("s")                                \
    TFLMGEN_DEPTHWISE3X3_MVE_COLUMN                                    \
    TFLMGEN_DEPTHWISE3X3_MVE_BEGIN("t")

/* A row's tap 0 as the second of a pair, and taps 1 and 2 as one. */
#define TFLMGEN_DEPTHWISE3X3_MVE_ROW_PAIR_LAST(row, tap0, tap1, tap2) \
    TFLMGEN_DEPTHWISE3X3_MVE_WEIGHTS(tap0)                            \
    TFLMGEN_DEPTHWISE3X3_MVE_FIRST_COLUMN(row)                        \
    TFLMGEN_DEPTHWISE3X3_MVE_END("s", "x")                            \
    TFLMGEN_DEPTHWISE3X3_MVE_COLUMN                                   \
    TFLMGEN_DEPTHWISE3X3_MVE_END("t", "w")                            \
    TFLMGEN_DEPTHWISE3X3_MVE_WIDEN("w")                               \
    TFLMGEN_DEPTHWISE3X3_MVE_WEIGHTS(tap1)                            \
    TFLMGEN_DEPTHWISE3X3_MVE_BEGIN("s")                               \
    TFLMGEN_DEPTHWISE3X3_MVE_COLUMN                                   \
    TFLMGEN_DEPTHWISE3X3_MVE_BEGIN("t")                               \
    TFLMGEN_DEPTHWISE3X3_MVE_WEIGHTS(tap2)                            \
    TFLMGEN_DEPTHWISE3X3_MVE_END("s", "x")                            \
    TFLMGEN_DEPTHWISE3X3_MVE_COLUMN                                   \
    TFLMGEN_DEPTHWISE3X3_MVE_END("t", "x")                            \
    TFLMGEN_DEPTHWISE3X3_MVE_WIDEN("x")

/* Eight channels of a 3x3 window of two neighbouring pixels, from three rows, 144 MACs: 21 VLDRB, 12 ADD, 18 VMUL, 8
 * VADD of 16 bits, 20 VMOVL, 20 VADD, and some 30 to requantise and store. */
TFLMGEN_HELPER const int8_t *tflmgen_depthwise3x3_mve_two(const int8_t *row0, const int8_t *row1, const int8_t *row2,
                                                          int32_t pixel, const int8_t *stream, int8_t *output,
                                                          int32_t zero_point)
{
    const tflmgen_s32 *factors = (const tflmgen_s32 *)(const void *)(stream + 72);
    int32x4_t even0 = vld1q_s32(factors);
    int32x4_t odd0 = vld1q_s32(factors + 12);
    int32x4_t even1 = even0;
    int32x4_t odd1 = odd0;
    int16x8_t s, t, x, w;
    const int8_t *at;
    __asm__(TFLMGEN_DEPTHWISE3X3_MVE_ROW_PAIR_FIRST("row0", "0", "1", "2")
                TFLMGEN_DEPTHWISE3X3_MVE_ROW_PAIR_LAST("row1", "3", "4", "5")
                    TFLMGEN_DEPTHWISE3X3_MVE_ROW_PAIR_FIRST("row2", "6", "7", "8") TFLMGEN_DEPTHWISE3X3_MVE_WIDEN("x")
            : [even0] "+w"(even0), [odd0] "+w"(odd0), [even1] "+w"(even1), [odd1] "+w"(odd1), [s] "=&w"(s),
              [t] "=&w"(t), [x] "=&w"(x), [w] "=&w"(w), [at] "=&l"(at)
            : [row0] "l"(row0), [row1] "l"(row1), [row2] "l"(row2), [pixel] "r"(pixel), [stream] "l"(stream)
            : "memory");
    even0 = tflmgen_depthwise_window_mve_requantize(even0, factors);
    odd0 = tflmgen_depthwise_window_mve_requantize(odd0, factors + 12);
    tflmgen_depthwise_window_mve_store(output, even0, odd0, zero_point);
    even1 = tflmgen_depthwise_window_mve_requantize(even1, factors);
    odd1 = tflmgen_depthwise_window_mve_requantize(odd1, factors + 12);
    tflmgen_depthwise_window_mve_store(output + pixel, even1, odd1, zero_point);
    return (const int8_t *)(const void *)(factors + 24);
}

#define TFLMGEN_DEPTHWISE3X3_MVE_WIDEN_ONE     \
    "vmovlb.s16 %q[x], %q[s]\n\t"              \
    "vadd.i32 %q[even0], %q[even0], %q[x]\n\t" \
    "vmovlt.s16 %q[s], %q[s]\n\t"              \
    "vadd.i32 %q[odd0], %q[odd0], %q[s]\n\t"

#define TFLMGEN_DEPTHWISE3X3_MVE_ONE_PAIR_FIRST(row, tap0, tap1, tap2) \
    TFLMGEN_DEPTHWISE3X3_MVE_WEIGHTS(tap0)                             \
    TFLMGEN_DEPTHWISE3X3_MVE_FIRST_COLUMN(row)                         \
    TFLMGEN_DEPTHWISE3X3_MVE_BEGIN("s")                                \
    TFLMGEN_DEPTHWISE3X3_MVE_WEIGHTS(tap1)                             \
    TFLMGEN_DEPTHWISE3X3_MVE_COLUMN                                    \
    TFLMGEN_DEPTHWISE3X3_MVE_END("s", "x")                             \
    TFLMGEN_DEPTHWISE3X3_MVE_WIDEN_ONE                                 \
    TFLMGEN_DEPTHWISE3X3_MVE_WEIGHTS(tap2)                             \
    TFLMGEN_DEPTHWISE3X3_MVE_COLUMN                                    \
    TFLMGEN_DEPTHWISE3X3_MVE_BEGIN("s")

#define TFLMGEN_DEPTHWISE3X3_MVE_ONE_PAIR_LAST(row, tap0, tap1, tap2) \
    TFLMGEN_DEPTHWISE3X3_MVE_WEIGHTS(tap0)                            \
    TFLMGEN_DEPTHWISE3X3_MVE_FIRST_COLUMN(row)                        \
    TFLMGEN_DEPTHWISE3X3_MVE_END("s", "x")                            \
    TFLMGEN_DEPTHWISE3X3_MVE_WIDEN_ONE                                \
    TFLMGEN_DEPTHWISE3X3_MVE_WEIGHTS(tap1)                            \
    TFLMGEN_DEPTHWISE3X3_MVE_COLUMN                                   \
    TFLMGEN_DEPTHWISE3X3_MVE_BEGIN("s")                               \
    TFLMGEN_DEPTHWISE3X3_MVE_WEIGHTS(tap2)                            \
    TFLMGEN_DEPTHWISE3X3_MVE_COLUMN                                   \
    TFLMGEN_DEPTHWISE3X3_MVE_END("s", "x")                            \
    TFLMGEN_DEPTHWISE3X3_MVE_WIDEN_ONE

/* The same of one pixel, 72 MACs: 18 VLDRB, 9 ADD, 9 VMUL, 4 VADD of 16 bits, 10 VMOVL, 10 VADD, and some 15. */
TFLMGEN_HELPER const int8_t *tflmgen_depthwise3x3_mve_one(const int8_t *row0, const int8_t *row1, const int8_t *row2,
                                                          int32_t pixel, const int8_t *stream, int8_t *output,
                                                          int32_t zero_point)
{
    const tflmgen_s32 *factors = (const tflmgen_s32 *)(const void *)(stream + 72);
    int32x4_t even0 = vld1q_s32(factors);
    int32x4_t odd0 = vld1q_s32(factors + 12);
    int16x8_t s, x, w;
    const int8_t *at;
    __asm__(TFLMGEN_DEPTHWISE3X3_MVE_ONE_PAIR_FIRST("row0", "0", "1", "2")
                TFLMGEN_DEPTHWISE3X3_MVE_ONE_PAIR_LAST("row1", "3", "4", "5")
                    TFLMGEN_DEPTHWISE3X3_MVE_ONE_PAIR_FIRST("row2", "6", "7", "8") TFLMGEN_DEPTHWISE3X3_MVE_WIDEN_ONE
            : [even0] "+w"(even0), [odd0] "+w"(odd0), [s] "=&w"(s), [x] "=&w"(x), [w] "=&w"(w), [at] "=&l"(at)
            : [row0] "l"(row0), [row1] "l"(row1), [row2] "l"(row2), [pixel] "r"(pixel), [stream] "l"(stream)
            : "memory");
    even0 = tflmgen_depthwise_window_mve_requantize(even0, factors);
    odd0 = tflmgen_depthwise_window_mve_requantize(odd0, factors + 12);
    tflmgen_depthwise_window_mve_store(output, even0, odd0, zero_point);
    return (const int8_t *)(const void *)(factors + 24);
}

/* All channels. offset: from the rows' beginnings. outside: what rows of padding are, which have the same everywhere;
 * NULL if there is none among the three. */
TFLMGEN_HELPER void tflmgen_depthwise3x3_mve_pixels(const int8_t *const *rows, const int8_t *outside, int32_t offset,
                                                    int32_t channels, const int8_t *stream, int8_t *output,
                                                    int32_t zero_point, bool two_pixels)
{
    const int8_t *row0 = rows[0] + offset;
    const int8_t *row1 = rows[1] + offset;
    const int8_t *row2 = rows[2] + offset;
    if (outside) {
        row0 = rows[0] == outside ? outside : row0;
        row1 = rows[1] == outside ? outside : row1;
        row2 = rows[2] == outside ? outside : row2;
    }
    /* Whole groups; then, once, those channels that are left over, and as many before them as a group has. */
    int32_t left = channels & ~7;
    for (int32_t back = -channels & 7;; back = 0) {
        for (; left > 0; left -= 8, row0 += 8, row1 += 8, row2 += 8, output += 8) {
            stream = two_pixels ? tflmgen_depthwise3x3_mve_two(row0, row1, row2, channels, stream, output, zero_point)
                                : tflmgen_depthwise3x3_mve_one(row0, row1, row2, channels, stream, output, zero_point);
        }
        if (back == 0) {
            return;
        }
        row0 -= back;
        row1 -= back;
        row2 -= back;
        output -= back;
        left = 8;
    }
}

#endif

#endif
