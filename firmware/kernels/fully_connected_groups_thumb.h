/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* The inner loops of FULLY_CONNECTED in int8 for every Cortex-M: one row times four units at a time (see thumb.h).
 *
 * Two weights share a multiplication by one value x of the row. A word of the stream has the weights of units 0 to 3
 * for one value, as bytes, with 128 added:
 *
 *     w0 | w1 | w2 | w3  =  A + 256 B,  where A = w0 + 65536 w2 and B = w1 + 65536 w3
 *
 * x has 128 added, too: in a copy of the row (`copied`), or each time that it is read (`plain`). Products of bytes fit
 * 16 bits, and so x A has those of units 0 and 2 side by side. S1 is the sum of all x A, S2 of their upper halves: S2
 * is the sum of unit 2, and S1 - 65536 S2 that of unit 0, modulo 2^32. Units 1 and 3 have the same of x B. What 128
 * adds to the weights is taken off at the beginning: S2 begins with -128 times the sum of the row's x, S1 with 65537
 * times that.
 *
 * An octet is eight consecutive values of a row. Where many weights are small, the halves of an octet's products are
 * parted only once (`small`). The sum of the products by the words, less 256 times that of the products by B, is the
 * sum of those by A. From both sums 65537 * 128 times the sum of the eight values is taken off, what 128 adds to the
 * weights. What remains has halves with a sign, as long as a unit's weights above 0, summed, are 128 at most, and so
 * those below. The stream of a group with masks, where a mask comes in front of the values that do not fill an octet
 * and in front of each 31 octets:
 *
 *     mask | (a word) * (values % 8) | (8 words) * 31 | mask | (8 words) * 31 | ... | constants of the four units
 *
 * From the topmost bit on, a mask has 1 for octets that are to be taken one value at a time, else 0, and behind them a
 * 1. ADDS of the mask to itself moves a bit to the carry: C clear is an octet to be taken as one, C set and Z clear
 * one to be taken value by value, and with C and Z set, since nothing is behind the last 1, the mask is used up.
 */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_GROUPS_THUMB_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_GROUPS_THUMB_H

#include "thumb.h"

#ifdef __thumb__

#define TFLMGEN_FULLY_CONNECTED_THUMB_UNITS 4        /* of a group */
#define TFLMGEN_FULLY_CONNECTED_THUMB_SIGNED_WORDS 5 /* of a unit's constants with the sign fix */
#define TFLMGEN_FULLY_CONNECTED_THUMB_UNROLLED 8     /* values of a single unit */

/* Octets of values that a mask tells of, and of a row for whose sums there is room on the stack. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_MASKED 31
#define TFLMGEN_FULLY_CONNECTED_THUMB_OCTETS (3 * TFLMGEN_FULLY_CONNECTED_THUMB_MASKED)

/* What the groups need to know, in the order in which the assembly reads it. The loop over a row is unrolled 8
 * times; its first pass begins within the unrolled code, so that the last pass ends with the last value. `one` in names
 * is a single unit. */
struct tflmgen_fully_connected_thumb_groups {
    const uint8_t *first; /* where the first pass would begin in the row */
    int32_t skip_bytes;   /* of code that the first pass leaves out */
    const uint8_t *row_end;
    uint32_t s2_start; /* S1 begins with 65537 times that */
    int8_t *output_end;
    int32_t skip_one_bytes; /* of code that the first pass of a single unit leaves out */
    int32_t one_words;      /* of the stream for such a unit */
    uintptr_t octets;       /* address of 128 times the sum of each octet, less half the address of the row's first */
    const uint8_t *masked_first; /* where the first pass begins with masks */
};

typedef void tflmgen_fully_connected_thumb_function(const tflmgen_u32 *stream, int8_t *output,
                                                    const struct tflmgen_fully_connected_thumb_groups *groups);

/* Value i of the pass times the register `weights`, of four: LDRB, 3 for A and B, 2 MULS, 2 * 3 for their sums: 12
 * instructions. ADD_128: "", or the instruction that adds 128 to the value. */
/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_THUMB_VALUE(i, weights, ADD_128) \
    "ldrb r4, [r0, #" i "]\n\t" ADD_128                          \
    "lsrs r3, " weights ", #8\n\t"                               \
    "ands r3, r3, r5\n\t"                                        \
    "ands " weights ", " weights ", r5\n\t"                      \
    "muls r3, r4, r3\n\t"                                        \
    "muls " weights ", r4, " weights "\n\t"                      \
    TFLMGEN_THUMB_SPLIT(weights, "r8", "r9")                     \
    TFLMGEN_THUMB_SPLIT("r3", "r10", "r11")
/* clang-format on */

/* The products alone: of the word, in `weights`, and of B, in r3. 6 instructions, 7 where 128 is added. */
/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_THUMB_PRODUCTS(i, weights, ADD_128) \
    "ldrb r4, [r0, #" i "]\n\t" ADD_128                             \
    "lsrs r3, " weights ", #8\n\t"                                  \
    "ands r3, r3, r5\n\t"                                           \
    "muls r3, r4, r3\n\t"                                           \
    "muls " weights ", r4, " weights "\n\t"
/* clang-format on */

/* Two values times four units: 25 instructions per 8 MACs, 27 where 128 is added. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_COPIED_BYTES 50
/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_THUMB_COPIED(i, j)   \
    "ldmia r1!, {r6, r7}\n\t"                        \
    TFLMGEN_FULLY_CONNECTED_THUMB_VALUE(i, "r6", "") \
    TFLMGEN_FULLY_CONNECTED_THUMB_VALUE(j, "r7", "")
/* clang-format on */
#define TFLMGEN_FULLY_CONNECTED_THUMB_PLAIN_BYTES 54
/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_THUMB_PLAIN(i, j)                       \
    "ldmia r1!, {r6, r7}\n\t"                                           \
    TFLMGEN_FULLY_CONNECTED_THUMB_VALUE(i, "r6", "eors r4, r4, r2\n\t") \
    TFLMGEN_FULLY_CONNECTED_THUMB_VALUE(j, "r7", "eors r4, r4, r2\n\t")
/* clang-format on */

/* An octet times four units: 81 instructions per 32 MACs, 89 where 128 is added. lr sums the products by the words, r12
 * those by B. SUM: "mov" for the first ones, then "add". Behind the last value r7 is the sum of the products by A, r3
 * that by B, r6 what 128 adds to one half, r4 to both. ASRS has in the carry what rounds the upper half. */
/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_THUMB_OCTET_VALUE(i, weights, ADD_128, SUM) \
    TFLMGEN_FULLY_CONNECTED_THUMB_PRODUCTS(i, weights, ADD_128)             \
    SUM " lr, " weights "\n\t"                                              \
    SUM " r12, r3\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_OCTET_PAIR(ADD_128, i, j, SUM) \
    "ldmia r1!, {r6, r7}\n\t"                                        \
    TFLMGEN_FULLY_CONNECTED_THUMB_OCTET_VALUE(i, "r6", ADD_128, SUM) \
    TFLMGEN_FULLY_CONNECTED_THUMB_OCTET_VALUE(j, "r7", ADD_128, "add")
#define TFLMGEN_FULLY_CONNECTED_THUMB_OCTET(ADD_128)                     \
    TFLMGEN_FULLY_CONNECTED_THUMB_OCTET_PAIR(ADD_128, "0", "1", "mov")   \
    TFLMGEN_FULLY_CONNECTED_THUMB_OCTET_PAIR(ADD_128, "2", "3", "add")   \
    TFLMGEN_FULLY_CONNECTED_THUMB_OCTET_PAIR(ADD_128, "4", "5", "add")   \
    "ldmia r1!, {r6, r7}\n\t"                                            \
    TFLMGEN_FULLY_CONNECTED_THUMB_OCTET_VALUE("6", "r6", ADD_128, "add") \
    TFLMGEN_FULLY_CONNECTED_THUMB_PRODUCTS("7", "r7", ADD_128)           \
    "add r7, r7, lr\n\t"                                                 \
    "add r3, r3, r12\n\t"                                                \
    "lsls r4, r3, #8\n\t"                                                \
    "subs r7, r7, r4\n\t"                                                \
    "add r8, r8, r7\n\t"                                                 \
    "add r10, r10, r3\n\t"                                               \
    "ldr r4, [sp, #32]\n\t"                                              \
    "lsrs r6, r0, #1\n\t"                                                \
    "ldr r6, [r4, r6]\n\t"                                               \
    "lsls r4, r6, #16\n\t"                                               \
    "adds r4, r4, r6\n\t"                                                \
    "subs r7, r7, r4\n\t"                                                \
    "asrs r7, r7, #16\n\t"                                               \
    "adcs r7, r7, r6\n\t"                                                \
    "add r9, r9, r7\n\t"                                                 \
    "subs r3, r3, r4\n\t"                                                \
    "asrs r3, r3, #16\n\t"                                               \
    "adcs r3, r3, r6\n\t"                                                \
    "add r11, r11, r3\n\t"                                               \
    "adds r0, #8\n\t"

/* All values of a row times four units: one at a time, with r12 the end of the row. STEP: two values. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_LOOP(STEP) \
    "2:\n\t"                                     \
    STEP("0", "1")                               \
    STEP("2", "3")                               \
    STEP("4", "5")                               \
    STEP("6", "7")                               \
    "adds r0, #8\n\t"                            \
    "cmp r0, r12\n\t"                            \
    "bne 2b\n\t"

/* The same as masks tell: an octet as one at 5, or value by value at 2, with lr the last value of the octet. The first
 * pass begins at 4, or behind 2 if the row begins with values that do not fill an octet. At the first 7 the mask is
 * perhaps used up, at the second it is, or the row. MASK loads a mask, BIT takes its topmost bit off; `copied` has it
 * in r2, `plain` on the stack, since r2 is 128 there. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_MASK_COPIED "ldmia r1!, {r2}\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_BIT_COPIED "adds r2, r2, r2\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_MASK_PLAIN \
    "ldmia r1!, {r4}\n\t"                        \
    "str r4, [sp, #28]\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_BIT_PLAIN \
    "ldr r4, [sp, #28]\n\t"                     \
    "adds r4, r4, r4\n\t"                       \
    "str r4, [sp, #28]\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_VALUES_END_BYTES 6
#define TFLMGEN_FULLY_CONNECTED_THUMB_MASKED_LOOP(STEP, ADD_128, MASK, BIT) \
    "2:\n\t"                                                                \
    STEP("0", "1")                                                          \
    STEP("2", "3")                                                          \
    "adds r0, #4\n\t"                                                       \
    "cmp r0, lr\n\t"                                                        \
    "bls 2b\n"                                                              \
    "4:\n\t" BIT                                                            \
    "bcc 5f\n"                                                              \
    "7:\n\t"                                                                \
    "beq 7f\n\t"                                                            \
    "adds r3, r0, #7\n\t"                                                   \
    "mov lr, r3\n\t"                                                        \
    "b 2b\n"                                                                \
    "5:\n\t"                                                                \
    TFLMGEN_FULLY_CONNECTED_THUMB_OCTET(ADD_128) BIT                        \
    "bcc 5b\n\t"                                                            \
    "b 7b\n"                                                                \
    "7:\n\t"                                                                \
    "ldr r3, [sp, #36]\n\t"                                                 \
    "cmp r0, r3\n\t"                                                        \
    "beq 6f\n\t" MASK                                                       \
    "b 4b\n"                                                                \
    "6:\n\t"
/* clang-format on */

/* The sum of the unit in the lower halves, and of that in the upper ones, to r2. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_LOW(s1, s2) \
    "mov r3, " s2 "\n\t"                          \
    "mov r2, " s1 "\n\t"                          \
    "lsls r3, r3, #16\n\t"                        \
    "subs r2, r2, r3\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_HIGH(s2) "mov r2, " s2 "\n\t"

/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_THUMB_STORE_CLAMPED \
    "ldmia r1!, {r5, r6, r7}\n\t"                   \
    TFLMGEN_THUMB_REQUANTIZE("")                    \
    "ldr r0, [sp, #16]\n\t"                         \
    "strb r2, [r0]\n\t"                             \
    "adds r0, #1\n\t"                               \
    "str r0, [sp, #16]\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_STORE_SIGNED  \
    "ldmia r1!, {r5, r6, r7}\n\t"                   \
    TFLMGEN_THUMB_SIGN_FIX                          \
    "adds r1, #8\n\t"                               \
    TFLMGEN_THUMB_REQUANTIZE("adds r2, r2, r0\n\t") \
    "ldr r0, [sp, #16]\n\t"                         \
    "strb r2, [r0]\n\t"                             \
    "adds r0, #1\n\t"                               \
    "str r0, [sp, #16]\n\t"

/* All groups of four units of one row.
 *
 *     PROLOGUE     with masks: what else goes on the stack
 *     BEGIN        with masks: what else a group begins with
 *     LOOP         the loop over a row
 *     STORE        makes an output of the sum in r2, and puts it where the next output goes
 *     SUBROUTINE   with masks: STORE, which is called then
 *
 * Registers: r0 row, r1 stream, r2 128, r3 and r6 or r7 weights, r4 value, r5 0x00FF00FF, r8 and r9 S1 and S2 of units
 * 0 and 2, r10 and r11 of units 1 and 3, r12 end of the row or sum of products by B, lr that by the words. Stack:
 *
 *      0  row, where the first pass begins     16  next output            32  octets
 *      4  entry of the first pass              20  end of the outputs     36  end of the row
 *      8  start of S2                          24  0x00FF00FF             40  last value of the first octet
 *     12  start of S1                          28  mask
 *
 * The loop over groups begins at 1, that over a row is at 2, and 9 is STORE where it is called. A group costs 13
 * instructions before its values, 4 after its outputs, and 3 per pass. With masks it costs 16 before and 12 after
 * them, 2 or 4 for an octet, and 10 or 12 for one that is taken value by value. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_GROUPS(name, PROLOGUE, BEGIN, LOOP, STORE, SUBROUTINE) \
    TFLMGEN_SHARED void name(const tflmgen_u32 *stream, int8_t *output,                      \
                             const struct tflmgen_fully_connected_thumb_groups *groups)      \
    {                                                                                        \
        TFLMGEN_IN_REGISTERS_3(stream, output, groups);                                      \
        __asm__ volatile(".syntax unified\n\t" TFLMGEN_THUMB_PUSH                            \
                         "sub sp, #44\n\t"                                                   \
                         "str r1, [sp, #16]\n\t"                                             \
                         "mov r1, r0\n\t"                                                    \
                         "ldmia r2!, {r3, r4, r5, r6, r7}\n\t"                               \
                         "str r3, [sp]\n\t"                                                  \
                         "adr r3, 2f\n\t"                                                    \
                         "adds r4, r4, r3\n\t"                                               \
                         "str r4, [sp, #4]\n\t"                                              \
                         "mov r12, r5\n\t"                                                   \
                         "str r6, [sp, #8]\n\t"                                              \
                         "lsls r5, r6, #16\n\t"                                              \
                         "adds r5, r5, r6\n\t"                                               \
                         "str r5, [sp, #12]\n\t"                                             \
                         "str r7, [sp, #20]\n\t" PROLOGUE                                    \
                         "movs r5, #255\n\t"                                                 \
                         "lsls r4, r5, #16\n\t"                                              \
                         "orrs r5, r5, r4\n\t"                                               \
                         "str r5, [sp, #24]\n"                                               \
                         "1:\n\t"                                                            \
                         "ldr r2, [sp, #8]\n\t"                                              \
                         "ldr r3, [sp, #12]\n\t"                                             \
                         "mov r8, r3\n\t"                                                    \
                         "mov r9, r2\n\t"                                                    \
                         "mov r10, r3\n\t"                                                   \
                         "mov r11, r2\n\t"                                                   \
                         "ldr r0, [sp]\n\t"                                                  \
                         "ldr r5, [sp, #24]\n\t"                                             \
                         "movs r2, #128\n\t" BEGIN                                           \
                         "ldr r6, [sp, #4]\n\t"                                              \
                         "mov pc, r6\n\t"                                                    \
                         ".p2align 2\n" LOOP                                                 \
                         TFLMGEN_FULLY_CONNECTED_THUMB_LOW("r8", "r9") STORE                 \
                         TFLMGEN_FULLY_CONNECTED_THUMB_LOW("r10", "r11") STORE               \
                         TFLMGEN_FULLY_CONNECTED_THUMB_HIGH("r9") STORE                      \
                         TFLMGEN_FULLY_CONNECTED_THUMB_HIGH("r11") STORE                     \
                         "ldr r4, [sp, #20]\n\t"                                             \
                         "cmp r0, r4\n\t"                                                    \
                         "beq 3f\n\t"                                                        \
                         "b 1b\n" SUBROUTINE                                                 \
                         "3:\n\t"                                                            \
                         "add sp, #44\n\t" TFLMGEN_THUMB_POP                                 \
                         : "+r"(r0), "+r"(r1), "+r"(r2)                                      \
                         :                                                                   \
                         : "r3", "r12", "cc", "memory");                                     \
    }
/* clang-format on */

/* With masks: the words from 32 on, a group's first mask, and STORE as a subroutine. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_MASKED_PROLOGUE \
    "ldr r5, [r2, #8]\n\t"                            \
    "str r5, [sp, #32]\n\t"                           \
    "mov r5, r12\n\t"                                 \
    "str r5, [sp, #36]\n\t"                           \
    "ldr r5, [sp]\n\t"                                \
    "adds r5, #7\n\t"                                 \
    "str r5, [sp, #40]\n\t"                           \
    "ldr r5, [r2, #12]\n\t"                           \
    "str r5, [sp]\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_MASKED_BEGIN(MASK) \
    "ldr r3, [sp, #40]\n\t"                              \
    "mov lr, r3\n\t" MASK
#define TFLMGEN_FULLY_CONNECTED_THUMB_CALL_STORE "bl 9f\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_STORE_SUBROUTINE(STORE) "9:\n\t" STORE "bx lr\n"
#define TFLMGEN_FULLY_CONNECTED_THUMB_WITH_MASKS(name, STEP, ADD_128, MASK, BIT, STORE)                                \
    TFLMGEN_FULLY_CONNECTED_THUMB_GROUPS(                                                                              \
        name, TFLMGEN_FULLY_CONNECTED_THUMB_MASKED_PROLOGUE, TFLMGEN_FULLY_CONNECTED_THUMB_MASKED_BEGIN(MASK),         \
        TFLMGEN_FULLY_CONNECTED_THUMB_MASKED_LOOP(STEP, ADD_128, MASK, BIT), TFLMGEN_FULLY_CONNECTED_THUMB_CALL_STORE, \
        TFLMGEN_FULLY_CONNECTED_THUMB_STORE_SUBROUTINE(STORE))

/* All loops with one STORE: of rows that are copied or plain, one value at a time, or as masks tell (small). outputs:
 * clamped or signed. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_ALL_LOOPS(outputs, STORE)                                                    \
    TFLMGEN_FULLY_CONNECTED_THUMB_GROUPS(tflmgen_fully_connected_thumb_copied_##outputs, "", "",                   \
                                         TFLMGEN_FULLY_CONNECTED_THUMB_LOOP(TFLMGEN_FULLY_CONNECTED_THUMB_COPIED), \
                                         STORE, "")                                                                \
    TFLMGEN_FULLY_CONNECTED_THUMB_GROUPS(tflmgen_fully_connected_thumb_plain_##outputs, "", "",                    \
                                         TFLMGEN_FULLY_CONNECTED_THUMB_LOOP(TFLMGEN_FULLY_CONNECTED_THUMB_PLAIN),  \
                                         STORE, "")                                                                \
    TFLMGEN_FULLY_CONNECTED_THUMB_WITH_MASKS(                                                                      \
        tflmgen_fully_connected_thumb_copied_small_##outputs, TFLMGEN_FULLY_CONNECTED_THUMB_COPIED, "",            \
        TFLMGEN_FULLY_CONNECTED_THUMB_MASK_COPIED, TFLMGEN_FULLY_CONNECTED_THUMB_BIT_COPIED, STORE)                \
    TFLMGEN_FULLY_CONNECTED_THUMB_WITH_MASKS(tflmgen_fully_connected_thumb_plain_small_##outputs,                  \
                                             TFLMGEN_FULLY_CONNECTED_THUMB_PLAIN, "eors r4, r4, r2\n\t",           \
                                             TFLMGEN_FULLY_CONNECTED_THUMB_MASK_PLAIN,                             \
                                             TFLMGEN_FULLY_CONNECTED_THUMB_BIT_PLAIN, STORE)

TFLMGEN_FULLY_CONNECTED_THUMB_ALL_LOOPS(clamped, TFLMGEN_FULLY_CONNECTED_THUMB_STORE_CLAMPED)
TFLMGEN_FULLY_CONNECTED_THUMB_ALL_LOOPS(signed, TFLMGEN_FULLY_CONNECTED_THUMB_STORE_SIGNED)

#endif

#endif
