/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* What the kernels for every Cortex-M share, written in the instructions of Armv6-M (Cortex-M0, M0+).
 *
 * Two products per MULS. A word x0 + 65536 x1 times a common factor w is x0 w + 65536 x1 w: two products, the halves of
 * the result. As long as each half, or the sum of a few, fits 16 bits, words are summed first and taken apart later. S1
 * sums the words, wrapping, and S2 their upper halves. In the end the sum of the upper halves is S2, and that of the
 * lower ones is S1 - 65536 S2.
 *
 * Halves with a sign. Two products of an int8 by a negated int8 sum up to at least -32768 and at most 32512. The upper
 * half of a word t with such sums, or with sums of more products that the compiler has found to fit, is
 * t + 0x8000 >> 16. Since one factor is negated, the kernels have negated sums S.
 *
 * Halves without a sign. (value + 128) * (weight + 128) is an unsigned number of 16 bits. What 128 adds is taken off
 * again: 128 times the sum of the values is subtracted from what S1 and S2 begin with, the rest from the bias.
 *
 * Requantisation (words: requantize.h), without a long multiplication. The compiler searches the constants of each
 * output channel, and proves the result equal to TFLite's double rounding. There are two forms:
 *   bounded  all sums whose outputs are not clamped lie in a window of at most 2^20 sums. With the distance d = S + b
 *            and the multiplier 2^12 h + l, y = 2^31 - c - (d h + (d l >> 12)), and the output is y >> 24
 *            (thumb/bounded.py);
 *   any      a sum a = 2^10 h + l and the multiplier 2^10 m + f give y = h m + ((l m + h f) >> 10) + c, with the addend
 *            c, and the output is (y >> s) - 128, saturated. In kernels `signed`, where outputs of negative sums are
 *            not clamped, these sums have a sign fix, which is added to c (thumb/thumb_requantisation.py).
 */
#ifndef TFLMGEN_KERNELS_THUMB_H
#define TFLMGEN_KERNELS_THUMB_H

#include "common.h"

#ifdef __thumb__

/* Compiled once per source file, and called: the parameters are read at run time. */
#ifndef TFLMGEN_SHARED
#define TFLMGEN_SHARED static __attribute__((noinline, unused))
#endif

/* All registers that a function must keep, around its body. */
#define TFLMGEN_THUMB_PUSH          \
    "push {r4, r5, r6, r7, lr}\n\t" \
    "mov r4, r8\n\t"                \
    "mov r5, r9\n\t"                \
    "mov r6, r10\n\t"               \
    "mov r7, r11\n\t"               \
    "push {r4, r5, r6, r7}\n\t"
#define TFLMGEN_THUMB_POP      \
    "pop {r4, r5, r6, r7}\n\t" \
    "mov r8, r4\n\t"           \
    "mov r9, r5\n\t"           \
    "mov r10, r6\n\t"          \
    "mov r11, r7\n\t"          \
    "pop {r4, r5, r6, r7}\n\t" \
    "pop {r3}\n\t"             \
    "mov lr, r3\n\t"

/* Halves with a sign in `word` go to S1 and S2. r12 is 0x8000. */
#define TFLMGEN_THUMB_PART(word, s1, s2) \
    "add " s1 ", " s1 ", " word "\n\t"   \
    "add " word ", " word ", r12\n\t"    \
    "asrs " word ", " word ", #16\n\t"   \
    "add " s2 ", " s2 ", " word "\n\t"

/* Requantisation `bounded`: d in r2 becomes its output, with h in r4, l in r5, 2^31 - c in r6 and the window's width in
 * r7; r3 is lost. 9 instructions, 5 beyond the window. */
#define TFLMGEN_THUMB_BOUNDED \
    "cmp r2, r7\n\t"          \
    "bls 7f\n\t"              \
    "asrs r2, r2, #31\n\t"    \
    "adds r2, #128\n\t"       \
    "b 8f\n"                  \
    "7:\n\t"                  \
    "mov r3, r2\n\t"          \
    "muls r3, r5, r3\n\t"     \
    "lsrs r3, r3, #12\n\t"    \
    "muls r2, r4, r2\n\t"     \
    "adds r2, r2, r3\n\t"     \
    "subs r2, r6, r2\n\t"     \
    "asrs r2, r2, #24\n"      \
    "8:\n\t"

/* What that needs, from 2^10 b + f in r3, 2^10 r in r6, whose ten low bits do not matter, and 2^12 h + l in r7: 11
 * instructions. */
#define TFLMGEN_THUMB_UNPACK \
    "lsrs r4, r7, #12\n\t"   \
    "lsls r5, r7, #20\n\t"   \
    "lsrs r5, r5, #20\n\t"   \
    "lsrs r7, r6, #10\n\t"   \
    "lsls r3, r3, #22\n\t"   \
    "lsrs r3, r3, #22\n\t"   \
    "muls r3, r4, r3\n\t"    \
    "lsrs r3, r3, #10\n\t"   \
    "movs r6, #1\n\t"        \
    "lsls r6, r6, #31\n\t"   \
    "subs r6, r6, r3\n\t"

/* Products without a sign in `word` go to S1 and S2. */
#define TFLMGEN_THUMB_SPLIT(word, s1, s2) \
    "add " s1 ", " s1 ", " word "\n\t"    \
    "lsrs " word ", " word ", #16\n\t"    \
    "add " s2 ", " s2 ", " word "\n\t"

/* Requantisation `any`: the sum in r2 becomes its output, with m in r5, c in r6 and 256 f + s in r7; r3, r4 are lost.
 * 15 instructions, 17 where it saturates. ADD_SIGN_FIX: "", or the instruction that adds it to c. */
/* clang-format off */
#define TFLMGEN_THUMB_REQUANTIZE(ADD_SIGN_FIX) \
    "asrs r3, r2, #10\n\t"                     \
    "lsls r2, r2, #22\n\t"                     \
    "lsrs r2, r2, #22\n\t"                     \
    "lsrs r4, r7, #8\n\t"                      \
    "muls r4, r3, r4\n\t"                      \
    "muls r2, r5, r2\n\t"                      \
    "adds r2, r2, r4\n\t"                      \
    "asrs r2, r2, #10\n\t"                     \
    "muls r3, r5, r3\n\t"                      \
    "adds r2, r2, r3\n\t"                      \
    "adds r2, r2, r6\n\t" ADD_SIGN_FIX         \
    "asrs r2, r2, r7\n\t"                      \
    "cmp r2, #255\n\t"                         \
    "bls 8f\n\t"                               \
    "asrs r2, r2, #31\n\t"                     \
    "mvns r2, r2\n"                            \
    "8:\n\t"                                   \
    "subs r2, #128\n\t"
/* clang-format on */

/* r0 = the sign fix of the sum in r2: the second word at r1 where the sum with its bias, the first word, is negative,
 * else 0. r3 is lost. */
#define TFLMGEN_THUMB_SIGN_FIX \
    "ldr r0, [r1]\n\t"         \
    "adds r0, r0, r2\n\t"      \
    "asrs r0, r0, #31\n\t"     \
    "ldr r3, [r1, #4]\n\t"     \
    "ands r0, r0, r3\n\t"

/* The outputs of two pixels go to r0, which moves on: the second one first, so that the first one stays where both have
 * the same place. Stack: at 20 the bytes from one pixel to the next, at 24 twice that. 43 instructions, and 2 for each
 * output that saturates. */
/* clang-format off */
#define TFLMGEN_THUMB_STORE_CLAMPED(s1, s2) \
    "mov r2, " s2 "\n\t"                    \
    TFLMGEN_THUMB_REQUANTIZE("")            \
    "ldr r4, [sp, #20]\n\t"                 \
    "strb r2, [r0, r4]\n\t"                 \
    "mov r3, " s2 "\n\t"                    \
    "lsls r3, r3, #16\n\t"                  \
    "mov r2, " s1 "\n\t"                    \
    "subs r2, r2, r3\n\t"                   \
    TFLMGEN_THUMB_REQUANTIZE("")            \
    "strb r2, [r0]\n\t"                     \
    "ldr r4, [sp, #24]\n\t"                 \
    "adds r0, r0, r4\n\t"

/* The same with sign fixes, 60 instructions. Stack: at 36 room for r0. */
#define TFLMGEN_THUMB_STORE_SIGNED(s1, s2)          \
    "str r0, [sp, #36]\n\t"                         \
    "mov r2, " s2 "\n\t"                            \
    TFLMGEN_THUMB_SIGN_FIX                          \
    TFLMGEN_THUMB_REQUANTIZE("adds r2, r2, r0\n\t") \
    "ldr r4, [sp, #20]\n\t"                         \
    "ldr r0, [sp, #36]\n\t"                         \
    "strb r2, [r0, r4]\n\t"                         \
    "mov r3, " s2 "\n\t"                            \
    "lsls r3, r3, #16\n\t"                          \
    "mov r2, " s1 "\n\t"                            \
    "subs r2, r2, r3\n\t"                           \
    TFLMGEN_THUMB_SIGN_FIX                          \
    TFLMGEN_THUMB_REQUANTIZE("adds r2, r2, r0\n\t") \
    "ldr r0, [sp, #36]\n\t"                         \
    "strb r2, [r0]\n\t"                             \
    "ldr r4, [sp, #24]\n\t"                         \
    "adds r0, r0, r4\n\t"
/* clang-format on */

/* Clamps `count` values in place. */
TFLMGEN_SHARED void tflmgen_clamp_each_thumb_s8(int8_t *values, int32_t count, int32_t least, int32_t greatest)
{
    for (int32_t i = 0; i < count; ++i) {
        values[i] = (int8_t)tflmgen_clamp_s32(values[i], least, greatest);
    }
}

/* Clamps `count` values in place, where the range is smaller than that of int8. */
TFLMGEN_HELPER void tflmgen_clamp_thumb_s8(int8_t *values, int32_t count, int32_t least, int32_t greatest)
{
    if (least > INT8_MIN || greatest < INT8_MAX) {
        tflmgen_clamp_each_thumb_s8(values, count, least, greatest);
    }
}

/* An upper part of a sum, saturated. */
TFLMGEN_HELPER int8_t tflmgen_finish_thumb_s8(int32_t sum, int32_t shift)
{
    sum = (sum >> shift) + 128;
    if ((uint32_t)sum > 255) {
        sum = ~tflmgen_sign_mask(sum);
    }
    return (int8_t)(sum - 128);
}

#endif

#endif
