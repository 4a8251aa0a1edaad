/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* How lines of the input become lines of a plane, for the depthwise convolution for every Cortex-M.
 *
 * A word of the plane has a value of the input and, in its upper half, the one that lies as many values further as the
 * stride: it is complete when that one is read.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_FILL_THUMB_H
#define TFLMGEN_KERNELS_DEPTHWISE_FILL_THUMB_H

#include "thumb.h"

#ifdef __thumb__

/* What filling needs to know, in the order in which the assembly reads it. The loop over a line is unrolled; its first
 * pass begins where the last pass ends with the last value. */
struct tflmgen_depthwise_thumb_fill {
    int32_t step;      /* bytes from one value to the next */
    int32_t row_gap;   /* bytes from behind a line's last value to the next line */
    int32_t skip;      /* bytes of code that the first pass leaves out */
    int32_t padding;   /* the value beside the line, on both sides */
    int32_t plane_gap; /* bytes from behind a line's words to the next line's */
    int32_t bytes;     /* of a line's words */
};

typedef void tflmgen_depthwise_thumb_fill_function(tflmgen_u32 *to, const int8_t *from, const tflmgen_u32 *end,
                                                   const struct tflmgen_depthwise_thumb_fill *fill);

/* One value, which completes the word of the register `old`: 5 instructions. */
#define TFLMGEN_DEPTHWISE_THUMB_FILL_BYTES 10
#define TFLMGEN_DEPTHWISE_THUMB_FILL_ONE(value, old) \
    "ldrsb " value ", [r1, r7]\n\t"                  \
    "adds r1, r1, r2\n\t"                            \
    "lsls r3, " value ", #16\n\t"                    \
    "adds r3, r3, " old "\n\t"                       \
    "stmia r0!, {r3}\n\t"

/* At a stride of 1, 8 values in a pass, and the last value's word. */
/* clang-format off */
#define TFLMGEN_DEPTHWISE_THUMB_FILL_1                                                             \
    ".rept 4\n\t" TFLMGEN_DEPTHWISE_THUMB_FILL_ONE("r5", "r4")                                    \
    TFLMGEN_DEPTHWISE_THUMB_FILL_ONE("r4", "r5") ".endr\n\t"
/* clang-format on */
#define TFLMGEN_DEPTHWISE_THUMB_LAST_1 \
    "adds r3, r3, r4\n\t"              \
    "str r3, [r0]\n\t"

/* At a stride of 2, 6 values in a pass, and the last two values' words. */
/* clang-format off */
#define TFLMGEN_DEPTHWISE_THUMB_FILL_2                                                             \
    ".rept 2\n\t" TFLMGEN_DEPTHWISE_THUMB_FILL_ONE("r6", "r4")                                    \
    TFLMGEN_DEPTHWISE_THUMB_FILL_ONE("r4", "r5") TFLMGEN_DEPTHWISE_THUMB_FILL_ONE("r5", "r6") ".endr\n\t"
/* clang-format on */
#define TFLMGEN_DEPTHWISE_THUMB_LAST_2 \
    "adds r4, r3, r4\n\t"              \
    "adds r5, r3, r5\n\t"              \
    "str r4, [r0]\n\t"                 \
    "str r5, [r0, #4]\n\t"

/* Registers: r0 plane, r1 input, r2 step, r3 word, r4-r6 values, r7 0, r8 entry of the first pass, r9 row_gap, r10
 * plane_gap, r11 padding, r12 end, lr end of a line. Stack: bytes. A line costs 17 or 19 instructions beside its
 * values, and 2 per pass. */
/* clang-format off */
#define TFLMGEN_DEPTHWISE_THUMB_FILL(name, VALUES, LAST)                                      \
    TFLMGEN_SHARED void name(tflmgen_u32 *to, const int8_t *from, const tflmgen_u32 *end,     \
                             const struct tflmgen_depthwise_thumb_fill *fill)                 \
    {                                                                                         \
        TFLMGEN_IN_REGISTERS_4(to, from, end, fill);                                          \
        __asm__ volatile(".syntax unified\n\t" TFLMGEN_THUMB_PUSH                             \
                         "sub sp, #4\n\t"                                                     \
                         "mov r12, r2\n\t"                                                    \
                         "ldmia r3!, {r2, r4, r5, r6, r7}\n\t"                                \
                         "ldr r3, [r3]\n\t"                                                   \
                         "str r3, [sp]\n\t"                                                   \
                         "mov r9, r4\n\t"                                                     \
                         "adr r4, 2f\n\t"                                                     \
                         "adds r4, r4, r5\n\t"                                                \
                         "mov r8, r4\n\t"                                                     \
                         "mov r11, r6\n\t"                                                    \
                         "mov r10, r7\n\t"                                                    \
                         "movs r7, #0\n"                                                      \
                         "1:\n\t"                                                             \
                         "ldr r3, [sp]\n\t"                                                   \
                         "adds r3, r3, r0\n\t"                                                \
                         "mov lr, r3\n\t"                                                     \
                         "mov r4, r11\n\t"                                                    \
                         "mov r5, r11\n\t"                                                    \
                         "mov r6, r11\n\t"                                                    \
                         "mov r3, r8\n\t"                                                     \
                         "mov pc, r3\n\t"                                                     \
                         ".p2align 2\n"                                                       \
                         "2:\n\t" VALUES                                                      \
                         "cmp r0, lr\n\t"                                                     \
                         "bne 2b\n\t"                                                         \
                         "mov r3, r11\n\t"                                                    \
                         "lsls r3, r3, #16\n\t" LAST                                          \
                         "add r0, r0, r10\n\t"                                                \
                         "add r1, r1, r9\n\t"                                                 \
                         "cmp r0, r12\n\t"                                                    \
                         "bne 1b\n\t"                                                         \
                         "add sp, #4\n\t" TFLMGEN_THUMB_POP                                   \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                             \
                         :                                                                    \
                         : "r12", "cc", "memory");                                            \
    }
/* clang-format on */

TFLMGEN_DEPTHWISE_THUMB_FILL(tflmgen_depthwise_thumb_fill_1, TFLMGEN_DEPTHWISE_THUMB_FILL_1,
                             TFLMGEN_DEPTHWISE_THUMB_LAST_1)
TFLMGEN_DEPTHWISE_THUMB_FILL(tflmgen_depthwise_thumb_fill_2, TFLMGEN_DEPTHWISE_THUMB_FILL_2,
                             TFLMGEN_DEPTHWISE_THUMB_LAST_2)

/* At any other stride. */
TFLMGEN_SHARED void tflmgen_depthwise_thumb_fill_far(tflmgen_u32 *to, const int8_t *from, const tflmgen_u32 *end,
                                                     const struct tflmgen_depthwise_thumb_fill *fill, int32_t stride)
{
    const uint32_t padding = (uint32_t)fill->padding;
    const int32_t count = fill->bytes / 4;
    for (; to != end; to += fill->plane_gap / 4, from += fill->row_gap) {
        for (int32_t i = 0; i < stride; ++i) {
            to[i] = padding;
        }
        for (int32_t i = 0; i < count; ++i, ++to, from += fill->step) {
            to[stride] = (tflmgen_u32)*from;
            *to += (uint32_t)*from << 16;
        }
        for (int32_t i = 0; i < stride; ++i) {
            to[i] += padding << 16;
        }
    }
}

#endif

#endif
