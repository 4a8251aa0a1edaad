/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Rows of int8 weights times one row of int8 values, four at a time, for cores with the DSP extension.
 *
 * A step is four values of a row. The weights are words of four, in the order of use: one of each of the four rows for
 * each step. They are shifted pairs (see dsp.h), or, where a pair does not fit, offset pairs with halves (w0 + 128) +
 * 256 w1, which always do: UXTB16 takes w0 + 128, and a sum comes out too great by 32768 (x0 + x2 + ...), the same for
 * all rows.
 */
#ifndef TFLMGEN_KERNELS_DOT_ROWS_DSP_H
#define TFLMGEN_KERNELS_DOT_ROWS_DSP_H

#include "dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

#define TFLMGEN_DOT_ROWS_GROUP 4 /* rows at a time */

/* The most steps of a row that is widened on the stack. */
#define TFLMGEN_DOT_ROWS_STACK_STEPS 72

/* Registers: r0 row, r1 weights, r2-r5 sums, r6-r9 weights, r10-r11 inputs. */
/* clang-format off */
#define TFLMGEN_DOT_ROWS_MACS(even_bytes) \
    "ldmia.w r1!, {r6, r7, r8, r9}\n\t"   \
    "smlad r2, r6, r10, r2\n\t"           \
    "smlad r3, r7, r10, r3\n\t"           \
    "smlad r4, r8, r10, r4\n\t"           \
    "smlad r5, r9, r10, r5\n\t"           \
    even_bytes " r6, r6\n\t"              \
    even_bytes " r7, r7\n\t"              \
    even_bytes " r8, r8\n\t"              \
    even_bytes " r9, r9\n\t"              \
    "smlad r2, r6, r11, r2\n\t"           \
    "smlad r3, r7, r11, r3\n\t"           \
    "smlad r4, r8, r11, r4\n\t"           \
    "smlad r5, r9, r11, r5\n\t"
/* clang-format on */

/* Four values times four rows, 16 MACs: 1 LDRD + 1 LDM + 4 SXTB16 + 8 SMLAD = 14 instructions. */
#define TFLMGEN_DOT_ROWS_WIDENED_BYTES 56
#define TFLMGEN_DOT_ROWS_WIDENED(even_bytes) "ldrd r10, r11, [r0], #8\n\t" TFLMGEN_DOT_ROWS_MACS(even_bytes)

/* What extracts the even bytes of shifted pairs and of offset pairs. */
#define TFLMGEN_DOT_ROWS_PAIRS "sxtb16.w"
#define TFLMGEN_DOT_ROWS_OFFSET "uxtb16.w"

/* Adds the correction of offset pairs, which is on the stack, to four sums: five instructions. */
#define TFLMGEN_DOT_ROWS_CORRECT(correction) \
    "ldr r6, " correction "\n\t"             \
    "add r2, r2, r6\n\t"                     \
    "add r3, r3, r6\n\t"                     \
    "add r4, r4, r6\n\t"                     \
    "add r5, r5, r6\n\t"

/* Adds what four values change in the correction of offset pairs: -32768 (x0 + x2). */
TFLMGEN_HELPER int32_t tflmgen_dot_rows_correct(int32_t correction, uint32_t x)
{
    return tflmgen_smlad(tflmgen_even_bytes(x), 0x80008000u, correction);
}

/* Four values as X and Y; returns the correction after them. */
TFLMGEN_HELPER int32_t tflmgen_dot_rows_widen4(tflmgen_u32 *widened, uint32_t x, int32_t correction)
{
    widened[0] = tflmgen_odd_bytes(x);
    widened[1] = tflmgen_shifted_inputs(x);
    return tflmgen_dot_rows_correct(correction, x);
}

/* A row as words X, Y of each four values; the last four are filled up with zeros. Returns the correction of offset
 * pairs. Sixteen values are 4 LDR, 4 REV16, 4 EOR, 4 SXTB16 and the stores. */
TFLMGEN_HELPER int32_t tflmgen_dot_rows_widen(tflmgen_u32 *widened, const int8_t *row, int32_t depth)
{
    int32_t correction = 0;
    for (; depth >= 16; depth -= 16, row += 16, widened += 8) {
        correction = tflmgen_dot_rows_widen4(widened, tflmgen_load4(row), correction);
        correction = tflmgen_dot_rows_widen4(widened + 2, tflmgen_load4(row + 4), correction);
        correction = tflmgen_dot_rows_widen4(widened + 4, tflmgen_load4(row + 8), correction);
        correction = tflmgen_dot_rows_widen4(widened + 6, tflmgen_load4(row + 12), correction);
    }
    for (; depth >= 4; depth -= 4, row += 4, widened += 2) {
        correction = tflmgen_dot_rows_widen4(widened, tflmgen_load4(row), correction);
    }
    if (depth > 0) {
        uint32_t x = 0;
        for (int32_t i = depth; i > 0; --i) {
            x = x << 8 | (uint8_t)row[i - 1];
        }
        correction = tflmgen_dot_rows_widen4(widened, x, correction);
    }
    return correction;
}

#endif

#endif
