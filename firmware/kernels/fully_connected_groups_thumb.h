/* The inner loops of FULLY_CONNECTED in int8 for every Cortex-M: one row times four units at a time (see thumb.h).
 *
 * Here two weights share a word, and are multiplied by one value of the row. The weights of four units, with 128 added,
 * are the bytes of a word for each value of a row. 128 is added to the values in a copy of the row (`copied`), or each
 * time that they are read (`plain`).
 *
 * An octet is eight consecutive values of a row. Where many weights are small, the sums of the products of an octet are
 * taken apart only once. A word of four weights is A + 256 B, with two weights in either: the sum of the products by
 * it, less 256 times that of the products by B, is the sum of those by A. From both 65537 * 128 times the sum of the
 * eight values is taken off, what 128 adds to the weights. What is left has halves with a sign, as long as a unit's
 * weights above 0, summed, are 128 at most, and so those below. In front of each 31 octets of a group stands a mask:
 * from its topmost bit on, 1 for octets that are to be taken one value at a time, and behind them a 1.
 */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_GROUPS_THUMB_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_GROUPS_THUMB_H

#include "thumb.h"

#ifdef __thumb__

#define TFLMGEN_FULLY_CONNECTED_THUMB_UNITS 4        /* of a group */
#define TFLMGEN_FULLY_CONNECTED_THUMB_SIGNED_WORDS 5 /* of a unit's constants where sums below zero have their own */
#define TFLMGEN_FULLY_CONNECTED_THUMB_UNROLLED 8     /* values of a single unit */

/* Octets of values that a mask tells of, and of a row for whose sums there is room on the stack. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_MASKED 31
#define TFLMGEN_FULLY_CONNECTED_THUMB_OCTETS (3 * TFLMGEN_FULLY_CONNECTED_THUMB_MASKED)

/* What the groups need to know, in the order in which the assembly reads it. The loop over a row is unrolled 8
 * times; its first pass begins where the last pass ends with the last value. */
struct tflmgen_fully_connected_thumb_groups {
    const uint8_t *first; /* where the first pass would begin in the row */
    int32_t skip;         /* bytes of code that the first pass leaves out */
    const uint8_t *row_end;
    uint32_t start;       /* of S2; S1 begins with 65537 times that */
    int8_t *end;          /* of the outputs */
    int32_t skip_one;     /* bytes of code that the first pass of a single unit leaves out */
    int32_t one_words;    /* of such a unit */
    uintptr_t octets;     /* address of 128 times the sum of each octet, less half the address of the row's first */
    const uint8_t *begin; /* where the first pass begins where masks tell */
};

typedef void tflmgen_fully_connected_thumb_function(const tflmgen_u32 *stream, int8_t *output,
                                                    const struct tflmgen_fully_connected_thumb_groups *groups);

/* One value times four weights in `four`: LDRB, 3 to part the weights, 2 MULS, 2 * 3: 12 instructions. ADD adds 128. */
/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_THUMB_VALUE(i, four, ADD) \
    "ldrb r4, [r0, #" i "]\n\t" ADD                       \
    "lsrs r3, " four ", #8\n\t"                           \
    "ands r3, r3, r5\n\t"                                 \
    "ands " four ", " four ", r5\n\t"                     \
    "muls r3, r4, r3\n\t"                                 \
    "muls " four ", r4, " four "\n\t"                     \
    TFLMGEN_THUMB_SPLIT(four, "r8", "r9")                 \
    TFLMGEN_THUMB_SPLIT("r3", "r10", "r11")
/* clang-format on */

/* The products alone, of the words and of B in r3: 6 instructions, 7 where 128 is added. */
/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_THUMB_PRODUCTS(i, four, ADD) \
    "ldrb r4, [r0, #" i "]\n\t" ADD                          \
    "lsrs r3, " four ", #8\n\t"                              \
    "ands r3, r3, r5\n\t"                                    \
    "muls r3, r4, r3\n\t"                                    \
    "muls " four ", r4, " four "\n\t"
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

/* Eight values times four units: 81 instructions per 32 MACs, 89 where 128 is added. ASRS has in the carry what rounds
 * the upper half. */
/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_THUMB_SMALL(i, four, ADD, TO) \
    TFLMGEN_FULLY_CONNECTED_THUMB_PRODUCTS(i, four, ADD)      \
    TO " lr, " four "\n\t"                                    \
    TO " r12, r3\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_SMALLS(ADD, i, j, TO)  \
    "ldmia r1!, {r6, r7}\n\t"                                \
    TFLMGEN_FULLY_CONNECTED_THUMB_SMALL(i, "r6", ADD, TO)    \
    TFLMGEN_FULLY_CONNECTED_THUMB_SMALL(j, "r7", ADD, "add")
#define TFLMGEN_FULLY_CONNECTED_THUMB_EIGHT(ADD)                \
    TFLMGEN_FULLY_CONNECTED_THUMB_SMALLS(ADD, "0", "1", "mov")  \
    TFLMGEN_FULLY_CONNECTED_THUMB_SMALLS(ADD, "2", "3", "add")  \
    TFLMGEN_FULLY_CONNECTED_THUMB_SMALLS(ADD, "4", "5", "add")  \
    "ldmia r1!, {r6, r7}\n\t"                                   \
    TFLMGEN_FULLY_CONNECTED_THUMB_SMALL("6", "r6", ADD, "add")  \
    TFLMGEN_FULLY_CONNECTED_THUMB_PRODUCTS("7", "r7", ADD)      \
    "add r7, r7, lr\n\t"                                        \
    "add r3, r3, r12\n\t"                                       \
    "lsls r4, r3, #8\n\t"                                       \
    "subs r7, r7, r4\n\t"                                       \
    "add r8, r8, r7\n\t"                                        \
    "add r10, r10, r3\n\t"                                      \
    "ldr r4, [sp, #32]\n\t"                                     \
    "lsrs r6, r0, #1\n\t"                                       \
    "ldr r6, [r4, r6]\n\t"                                      \
    "lsls r4, r6, #16\n\t"                                      \
    "adds r4, r4, r6\n\t"                                       \
    "subs r7, r7, r4\n\t"                                       \
    "asrs r7, r7, #16\n\t"                                      \
    "adcs r7, r7, r6\n\t"                                       \
    "add r9, r9, r7\n\t"                                        \
    "subs r3, r3, r4\n\t"                                       \
    "asrs r3, r3, #16\n\t"                                      \
    "adcs r3, r3, r6\n\t"                                       \
    "add r11, r11, r3\n\t"                                      \
    "adds r0, #8\n\t"

/* All values of a row times four units: one at a time, with r12 the end of the row; */
#define TFLMGEN_FULLY_CONNECTED_THUMB_EACH(STEP) \
    "2:\n\t"                                     \
    STEP("0", "1")                               \
    STEP("2", "3")                               \
    STEP("4", "5")                               \
    STEP("6", "7")                               \
    "adds r0, #8\n\t"                            \
    "cmp r0, r12\n\t"                            \
    "bne 2b\n\t"

/* or, as masks tell, eight, with lr the last of eight that are taken one at a time. The first pass begins at "4:",
 * or behind "2:" if it is not over eight. MASK loads a mask, BIT takes its topmost bit off. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_MASK_COPIED "ldmia r1!, {r2}\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_BIT_COPIED "adds r2, r2, r2\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_MASK_PLAIN \
    "ldmia r1!, {r4}\n\t"                        \
    "str r4, [sp, #28]\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_BIT_PLAIN \
    "ldr r4, [sp, #28]\n\t"                     \
    "adds r4, r4, r4\n\t"                       \
    "str r4, [sp, #28]\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_SLOW_END_BYTES 6
#define TFLMGEN_FULLY_CONNECTED_THUMB_MASKS(STEP, ADD, MASK, BIT) \
    "2:\n\t"                                                      \
    STEP("0", "1")                                                \
    STEP("2", "3")                                                \
    "adds r0, #4\n\t"                                             \
    "cmp r0, lr\n\t"                                              \
    "bls 2b\n"                                                    \
    "4:\n\t" BIT                                                  \
    "bcc 5f\n"                                                    \
    "7:\n\t"                                                      \
    "beq 7f\n\t"                                                  \
    "adds r3, r0, #7\n\t"                                         \
    "mov lr, r3\n\t"                                              \
    "b 2b\n"                                                      \
    "5:\n\t"                                                      \
    TFLMGEN_FULLY_CONNECTED_THUMB_EIGHT(ADD) BIT                  \
    "bcc 5b\n\t"                                                  \
    "b 7b\n"                                                      \
    "7:\n\t"                                                      \
    "ldr r3, [sp, #36]\n\t"                                       \
    "cmp r0, r3\n\t"                                              \
    "beq 6f\n\t" MASK                                             \
    "b 4b\n"                                                      \
    "6:\n\t"
/* clang-format on */

/* The unit of the lower halves, and that of the upper ones. */
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

/* Registers: r0 row, r1 stream, r2 128, r3 and r6 or r7 weights, r4 value, r5 0x00FF00FF, r8-r11 S1 and S2, r12 end
 * of the row or sum of products by B, lr that by the words. Stack: first, entry of the first pass, start of S2 and of
 * S1, output, end, 0x00FF00FF, mask, octets, end of the row, last of the first eight values. A group costs 13
 * instructions before its values, 4 after its outputs, and 3 per pass. Where masks tell it costs 16 before and 12 after
 * them, 2 or 4 for eight values, and 10 or 12 for eight that are taken one at a time. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_GROUPS(name, PROLOGUE, BEGIN, LOOP, STORE, END)          \
    TFLMGEN_SHARED void name(const tflmgen_u32 *stream, int8_t *output,                        \
                             const struct tflmgen_fully_connected_thumb_groups *groups)        \
    {                                                                                          \
        TFLMGEN_IN_REGISTERS_3(stream, output, groups);                                        \
        __asm__ volatile(".syntax unified\n\t" TFLMGEN_THUMB_PUSH                              \
                         "sub sp, #44\n\t"                                                     \
                         "str r1, [sp, #16]\n\t"                                               \
                         "mov r1, r0\n\t"                                                      \
                         "ldmia r2!, {r3, r4, r5, r6, r7}\n\t"                                 \
                         "str r3, [sp]\n\t"                                                    \
                         "adr r3, 2f\n\t"                                                      \
                         "adds r4, r4, r3\n\t"                                                 \
                         "str r4, [sp, #4]\n\t"                                                \
                         "mov r12, r5\n\t"                                                     \
                         "str r6, [sp, #8]\n\t"                                                \
                         "lsls r5, r6, #16\n\t"                                                \
                         "adds r5, r5, r6\n\t"                                                 \
                         "str r5, [sp, #12]\n\t"                                               \
                         "str r7, [sp, #20]\n\t" PROLOGUE                                      \
                         "movs r5, #255\n\t"                                                   \
                         "lsls r4, r5, #16\n\t"                                                \
                         "orrs r5, r5, r4\n\t"                                                 \
                         "str r5, [sp, #24]\n"                                                 \
                         "1:\n\t"                                                              \
                         "ldr r2, [sp, #8]\n\t"                                                \
                         "ldr r3, [sp, #12]\n\t"                                               \
                         "mov r8, r3\n\t"                                                      \
                         "mov r9, r2\n\t"                                                      \
                         "mov r10, r3\n\t"                                                     \
                         "mov r11, r2\n\t"                                                     \
                         "ldr r0, [sp]\n\t"                                                    \
                         "ldr r5, [sp, #24]\n\t"                                               \
                         "movs r2, #128\n\t" BEGIN                                             \
                         "ldr r6, [sp, #4]\n\t"                                                \
                         "mov pc, r6\n\t"                                                      \
                         ".p2align 2\n" LOOP                                                   \
                         TFLMGEN_FULLY_CONNECTED_THUMB_LOW("r8", "r9") STORE                   \
                         TFLMGEN_FULLY_CONNECTED_THUMB_LOW("r10", "r11") STORE                 \
                         TFLMGEN_FULLY_CONNECTED_THUMB_HIGH("r9") STORE                        \
                         TFLMGEN_FULLY_CONNECTED_THUMB_HIGH("r11") STORE                       \
                         "ldr r4, [sp, #20]\n\t"                                               \
                         "cmp r0, r4\n\t"                                                      \
                         "beq 3f\n\t"                                                          \
                         "b 1b\n" END                                                          \
                         "3:\n\t"                                                              \
                         "add sp, #44\n\t" TFLMGEN_THUMB_POP                                   \
                         : "+r"(r0), "+r"(r1), "+r"(r2)                                        \
                         :                                                                     \
                         : "r3", "r12", "cc", "memory");                                       \
    }
/* clang-format on */

/* Each kind of row, one value at a time or as masks tell. With masks, STORE is called. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_PROLOGUE \
    "ldr r5, [r2, #8]\n\t"                     \
    "str r5, [sp, #32]\n\t"                    \
    "mov r5, r12\n\t"                          \
    "str r5, [sp, #36]\n\t"                    \
    "ldr r5, [sp]\n\t"                         \
    "adds r5, #7\n\t"                          \
    "str r5, [sp, #40]\n\t"                    \
    "ldr r5, [r2, #12]\n\t"                    \
    "str r5, [sp]\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_BEGIN(MASK) \
    "ldr r3, [sp, #40]\n\t"                       \
    "mov lr, r3\n\t" MASK
#define TFLMGEN_FULLY_CONNECTED_THUMB_CALL "bl 9f\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_CALLED(STORE) "9:\n\t" STORE "bx lr\n"
#define TFLMGEN_FULLY_CONNECTED_THUMB_WITH_MASKS(name, STEP, ADD, MASK, BIT, STORE)                    \
    TFLMGEN_FULLY_CONNECTED_THUMB_GROUPS(                                                              \
        name, TFLMGEN_FULLY_CONNECTED_THUMB_PROLOGUE, TFLMGEN_FULLY_CONNECTED_THUMB_BEGIN(MASK),       \
        TFLMGEN_FULLY_CONNECTED_THUMB_MASKS(STEP, ADD, MASK, BIT), TFLMGEN_FULLY_CONNECTED_THUMB_CALL, \
        TFLMGEN_FULLY_CONNECTED_THUMB_CALLED(STORE))
#define TFLMGEN_FULLY_CONNECTED_THUMB_KINDS(kind, STORE)                                                              \
    TFLMGEN_FULLY_CONNECTED_THUMB_GROUPS(tflmgen_fully_connected_thumb_copied_##kind, "", "",                         \
                                         TFLMGEN_FULLY_CONNECTED_THUMB_EACH(TFLMGEN_FULLY_CONNECTED_THUMB_COPIED),    \
                                         STORE, "")                                                                   \
    TFLMGEN_FULLY_CONNECTED_THUMB_GROUPS(tflmgen_fully_connected_thumb_plain_##kind, "", "",                          \
                                         TFLMGEN_FULLY_CONNECTED_THUMB_EACH(TFLMGEN_FULLY_CONNECTED_THUMB_PLAIN),     \
                                         STORE, "")                                                                   \
    TFLMGEN_FULLY_CONNECTED_THUMB_WITH_MASKS(                                                                         \
        tflmgen_fully_connected_thumb_copied_small_##kind, TFLMGEN_FULLY_CONNECTED_THUMB_COPIED, "",                  \
        TFLMGEN_FULLY_CONNECTED_THUMB_MASK_COPIED, TFLMGEN_FULLY_CONNECTED_THUMB_BIT_COPIED, STORE)                   \
    TFLMGEN_FULLY_CONNECTED_THUMB_WITH_MASKS(                                                                         \
        tflmgen_fully_connected_thumb_plain_small_##kind, TFLMGEN_FULLY_CONNECTED_THUMB_PLAIN, "eors r4, r4, r2\n\t", \
        TFLMGEN_FULLY_CONNECTED_THUMB_MASK_PLAIN, TFLMGEN_FULLY_CONNECTED_THUMB_BIT_PLAIN, STORE)

TFLMGEN_FULLY_CONNECTED_THUMB_KINDS(clamped, TFLMGEN_FULLY_CONNECTED_THUMB_STORE_CLAMPED)
TFLMGEN_FULLY_CONNECTED_THUMB_KINDS(signed, TFLMGEN_FULLY_CONNECTED_THUMB_STORE_SIGNED)

#endif

#endif
