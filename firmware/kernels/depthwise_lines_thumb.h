/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* The inner loops of DEPTHWISE_CONV_2D in int8 for every Cortex-M: lines of one channel, two outputs at a time.
 *
 * A plane holds a channel's lines as words x0 + 65536 x1 of two inputs, those that two outputs side by side multiply by
 * the same weight, which is negated (see thumb.h).
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_LINES_THUMB_H
#define TFLMGEN_KERNELS_DEPTHWISE_LINES_THUMB_H

#include "thumb.h"

#ifdef __thumb__

/* Two taps anywhere in a window: where they lie in the plane, in bytes, and their weights. */
struct TFLMGEN_ELEMENT tflmgen_depthwise_thumb_taps {
    int32_t at[2];
    int32_t weights[2];
};

/* A channel's constants behind its weights: 2^12 h + l parted, 2^31 - c, r; or m, c, 256 f + s, bias, sign fix. */
#define TFLMGEN_DEPTHWISE_THUMB_CONSTANTS 5

/* What the lines need to know, in the order in which the assembly reads it. */
struct tflmgen_depthwise_thumb_lines {
    const void *weights; /* what S1 and S2 begin with, the weights of a 3x3 filter or pairs of taps, constants */
    int32_t skip;        /* bytes of code that the first pass over the pairs leaves out */
    int32_t pixel;       /* bytes from one output to the next */
    int32_t lines;
    int32_t plane_gap;  /* bytes from where a line ends in the plane to the next one */
    int32_t output_gap; /* the same in the output */
    int32_t line_bytes; /* of the plane */
    int32_t row;        /* bytes from a row's third word to the next row; or where the pairs of taps end */
    int32_t step;       /* bytes from a window's end to that of the next two outputs */
    const tflmgen_u32 *line_end;
};

typedef void tflmgen_depthwise_thumb_function(const tflmgen_u32 *plane, int8_t *output,
                                              const struct tflmgen_depthwise_thumb_lines *lines);

#define TFLMGEN_DEPTHWISE_THUMB_PART(word) TFLMGEN_THUMB_PART(word, "r8", "r9")

/* Three weights of two outputs: 2 LDM, 3 MULS. */
#define TFLMGEN_DEPTHWISE_THUMB_LOAD3 \
    "ldmia r0!, {r4, r5, r6}\n\t"     \
    "ldmia r1!, {r2, r3, r7}\n\t"     \
    "muls r4, r2, r4\n\t"             \
    "muls r5, r3, r5\n\t"             \
    "muls r6, r7, r6\n\t"

/* All nine, the products summed two at a time: 42 instructions per 18 MACs, */
/* clang-format off */
#define TFLMGEN_DEPTHWISE_THUMB_ANY     \
    TFLMGEN_DEPTHWISE_THUMB_LOAD3       \
    "adds r4, r4, r5\n\t"              \
    TFLMGEN_DEPTHWISE_THUMB_PART("r4")  \
    "mov r11, r6\n\t"                  \
    "add r0, r0, r10\n\t"              \
    TFLMGEN_DEPTHWISE_THUMB_LOAD3       \
    "add r4, r4, r11\n\t"              \
    "adds r5, r5, r6\n\t"              \
    TFLMGEN_DEPTHWISE_THUMB_PART("r4")  \
    TFLMGEN_DEPTHWISE_THUMB_PART("r5")  \
    "add r0, r0, r10\n\t"              \
    TFLMGEN_DEPTHWISE_THUMB_LOAD3       \
    "adds r4, r4, r5\n\t"              \
    TFLMGEN_DEPTHWISE_THUMB_PART("r4")  \
    TFLMGEN_DEPTHWISE_THUMB_PART("r6")

/* and 35 three at a time, where the sums of no row's products leave a half. */
#define TFLMGEN_DEPTHWISE_THUMB_SMALL_ROW \
    TFLMGEN_DEPTHWISE_THUMB_LOAD3         \
    "adds r4, r4, r5\n\t"                 \
    "adds r4, r4, r6\n\t"                 \
    TFLMGEN_DEPTHWISE_THUMB_PART("r4")
#define TFLMGEN_DEPTHWISE_THUMB_SMALL                       \
    TFLMGEN_DEPTHWISE_THUMB_SMALL_ROW "add r0, r0, r10\n\t" \
    TFLMGEN_DEPTHWISE_THUMB_SMALL_ROW "add r0, r0, r10\n\t" TFLMGEN_DEPTHWISE_THUMB_SMALL_ROW
/* clang-format on */

/* Two taps of two outputs anywhere: 1 LDM, 2 LDR, 2 MULS, 1 ADDS, 4 to part: 10 instructions per 4 MACs. */
#define TFLMGEN_DEPTHWISE_THUMB_PAIR_BYTES 20
/* clang-format off */
#define TFLMGEN_DEPTHWISE_THUMB_PAIR  \
    "ldmia r1!, {r2, r3, r6, r7}\n\t" \
    "ldr r4, [r0, r2]\n\t"            \
    "ldr r5, [r0, r3]\n\t"            \
    "muls r4, r6, r4\n\t"             \
    "muls r5, r7, r5\n\t"             \
    "adds r4, r4, r5\n\t"             \
    TFLMGEN_DEPTHWISE_THUMB_PART("r4")

#define TFLMGEN_DEPTHWISE_THUMB_PAIRS          \
    "ldr r6, [sp, #4]\n\t"                     \
    "mov pc, r6\n\t"                           \
    ".p2align 2\n"                             \
    "2:\n\t"                                   \
    ".rept 4\n\t" TFLMGEN_DEPTHWISE_THUMB_PAIR \
    ".endr\n\t"                                \
    "cmp r1, r10\n\t"                          \
    "bne 2b\n\t"
/* clang-format on */

#define TFLMGEN_DEPTHWISE_THUMB_ENTRY \
    "adr r3, 2f\n\t"                  \
    "adds r5, r5, r3\n\t"

/* The sum of the lower halves; that of the upper ones is S2. */
#define TFLMGEN_DEPTHWISE_THUMB_LOW \
    "mov r2, r8\n\t"                \
    "mov r3, r9\n\t"                \
    "lsls r3, r3, #16\n\t"          \
    "subs r2, r2, r3\n\t"

/* Two outputs, the second one first, so that the first one stays where both have the same place: 31 instructions, */
/* clang-format off */
#define TFLMGEN_DEPTHWISE_THUMB_CLAMPED                  \
    "ldmia r1!, {r4, r5, r6, r7}\n\t"                    \
    "ldr r0, [sp, #16]\n\t"                              \
    "mov r2, r9\n\t" TFLMGEN_THUMB_BOUNDED               \
    "ldr r3, [sp, #20]\n\t"                              \
    "strb r2, [r0, r3]\n\t" TFLMGEN_DEPTHWISE_THUMB_LOW  \
    TFLMGEN_THUMB_BOUNDED                                \
    "strb r2, [r0]\n\t"                                  \
    "ldr r3, [sp, #24]\n\t"                              \
    "adds r0, r0, r3\n\t"

/* and 59 with the sign fix. */
#define TFLMGEN_DEPTHWISE_THUMB_SIGNED                                   \
    "ldmia r1!, {r5, r6, r7}\n\t"                                        \
    "mov r2, r9\n\t"                                                     \
    "negs r2, r2\n\t" TFLMGEN_THUMB_SIGN_FIX                             \
    TFLMGEN_THUMB_REQUANTIZE("adds r2, r2, r0\n\t")                      \
    "ldr r3, [sp, #20]\n\t"                                              \
    "ldr r0, [sp, #16]\n\t"                                              \
    "strb r2, [r0, r3]\n\t" TFLMGEN_DEPTHWISE_THUMB_LOW                  \
    "negs r2, r2\n\t" TFLMGEN_THUMB_SIGN_FIX                             \
    TFLMGEN_THUMB_REQUANTIZE("adds r2, r2, r0\n\t")                      \
    "ldr r0, [sp, #16]\n\t"                                              \
    "strb r2, [r0]\n\t"                                                  \
    "ldr r3, [sp, #24]\n\t"                                              \
    "adds r0, r0, r3\n\t"

/* Registers: r0 plane or output, r1 weights, r2-r7 inputs and weights, r8 and r9 S1 and S2, r10 row, r11 where the next
 * two outputs' window begins, r12 0x8000, lr step. Stack: weights, entry of the first pass, two words, output,
 * pixel, 2 * pixel, line_end, two words, the gaps, line_bytes, lines. Two outputs cost 11 instructions around their
 * window and their stores. */
#define TFLMGEN_DEPTHWISE_THUMB_LINES(name, ENTRY, WINDOW, OUTPUTS)                    \
    TFLMGEN_SHARED void name(const tflmgen_u32 *plane, int8_t *output,                 \
                             const struct tflmgen_depthwise_thumb_lines *lines)        \
    {                                                                                  \
        TFLMGEN_IN_REGISTERS_3(plane, output, lines);                                  \
        __asm__ volatile(".syntax unified\n\t" TFLMGEN_THUMB_PUSH                      \
                         "sub sp, #56\n\t"                                             \
                         "ldmia r2!, {r4, r5, r6, r7}\n\t" ENTRY                       \
                         "str r4, [sp]\n\t"                                            \
                         "str r5, [sp, #4]\n\t"                                        \
                         "str r1, [sp, #16]\n\t"                                       \
                         "str r6, [sp, #20]\n\t"                                       \
                         "adds r6, r6, r6\n\t"                                         \
                         "str r6, [sp, #24]\n\t"                                       \
                         "str r7, [sp, #52]\n\t"                                       \
                         "ldmia r2!, {r3, r4, r5, r6, r7}\n\t"                         \
                         "str r3, [sp, #40]\n\t"                                       \
                         "str r4, [sp, #44]\n\t"                                       \
                         "str r5, [sp, #48]\n\t"                                       \
                         "mov r10, r6\n\t"                                             \
                         "mov lr, r7\n\t"                                              \
                         "ldr r5, [r2]\n\t"                                            \
                         "str r5, [sp, #28]\n\t"                                       \
                         "movs r3, #1\n\t"                                             \
                         "lsls r3, r3, #15\n\t"                                        \
                         "mov r12, r3\n"                                               \
                         "1:\n\t"                                                      \
                         "ldr r1, [sp]\n\t"                                            \
                         "ldmia r1!, {r2, r3}\n\t"                                     \
                         "mov r8, r2\n\t"                                              \
                         "mov r9, r3\n\t" WINDOW                                       \
                         "add r0, r0, lr\n\t"                                          \
                         "mov r11, r0\n\t" OUTPUTS                                     \
                         "str r0, [sp, #16]\n\t"                                       \
                         "mov r0, r11\n\t"                                             \
                         "ldr r4, [sp, #28]\n\t"                                       \
                         "cmp r0, r4\n\t"                                              \
                         "bne 1b\n\t"                                                  \
                         "ldr r5, [sp, #48]\n\t"                                       \
                         "adds r4, r4, r5\n\t"                                         \
                         "str r4, [sp, #28]\n\t"                                       \
                         "ldr r5, [sp, #40]\n\t"                                       \
                         "adds r0, r0, r5\n\t"                                         \
                         "ldr r4, [sp, #16]\n\t"                                       \
                         "ldr r5, [sp, #44]\n\t"                                       \
                         "adds r4, r4, r5\n\t"                                         \
                         "str r4, [sp, #16]\n\t"                                       \
                         "ldr r4, [sp, #52]\n\t"                                       \
                         "subs r4, #1\n\t"                                             \
                         "str r4, [sp, #52]\n\t"                                       \
                         "beq 4f\n\t"                                                  \
                         "b 1b\n"                                                      \
                         "4:\n\t"                                                      \
                         "add sp, #56\n\t" TFLMGEN_THUMB_POP                           \
                         : "+r"(r0), "+r"(r1), "+r"(r2)                                \
                         :                                                             \
                         : "r3", "r12", "cc", "memory");                               \
    }
/* clang-format on */

TFLMGEN_DEPTHWISE_THUMB_LINES(tflmgen_depthwise_thumb_3x3_clamped, "", TFLMGEN_DEPTHWISE_THUMB_ANY,
                              TFLMGEN_DEPTHWISE_THUMB_CLAMPED)
TFLMGEN_DEPTHWISE_THUMB_LINES(tflmgen_depthwise_thumb_3x3_signed, "", TFLMGEN_DEPTHWISE_THUMB_ANY,
                              TFLMGEN_DEPTHWISE_THUMB_SIGNED)
TFLMGEN_DEPTHWISE_THUMB_LINES(tflmgen_depthwise_thumb_3x3_small_clamped, "", TFLMGEN_DEPTHWISE_THUMB_SMALL,
                              TFLMGEN_DEPTHWISE_THUMB_CLAMPED)
TFLMGEN_DEPTHWISE_THUMB_LINES(tflmgen_depthwise_thumb_window_clamped, TFLMGEN_DEPTHWISE_THUMB_ENTRY,
                              TFLMGEN_DEPTHWISE_THUMB_PAIRS, TFLMGEN_DEPTHWISE_THUMB_CLAMPED)
TFLMGEN_DEPTHWISE_THUMB_LINES(tflmgen_depthwise_thumb_window_signed, TFLMGEN_DEPTHWISE_THUMB_ENTRY,
                              TFLMGEN_DEPTHWISE_THUMB_PAIRS, TFLMGEN_DEPTHWISE_THUMB_SIGNED)

#endif

#endif
