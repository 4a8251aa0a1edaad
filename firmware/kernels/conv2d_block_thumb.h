/* The inner loops of CONV_2D in int8 for every Cortex-M: six or two pixels times all output channels (see thumb.h).
 *
 * The windows of six pixels are a column: 3 words per value, each of two pixels. The weights are a stream, per channel:
 *     weights + 128 as bytes, at their front as many more as make whole words | m c (256 f + s) | where signed: bias, and
 *     what negative sums add to c
 */
#ifndef TFLMGEN_KERNELS_CONV2D_BLOCK_THUMB_H
#define TFLMGEN_KERNELS_CONV2D_BLOCK_THUMB_H

#include "thumb.h"

#ifdef __thumb__

#define TFLMGEN_CONV2D_THUMB_LANES 6

/* What a block needs to know, in the order in which the assembly reads it. The loop over a channel's weights is unrolled
 * 8 times; its first pass begins where the last pass ends with the last weight. */
struct tflmgen_conv2d_thumb_block {
    int32_t lead;          /* bytes from a channel's weights to those of the first pass, below 0 or 0 */
    int32_t span;          /* bytes of weights in all passes */
    int32_t skip;          /* bytes of code that the first pass leaves out */
    int32_t pixel;         /* bytes from a pixel's outputs to the next one's */
    const uint32_t *start; /* what S1 and S2 of each pair of pixels begin with */
    int8_t *end;           /* of the first pixel's outputs */
};

typedef void tflmgen_conv2d_thumb_block_function(const uint32_t *column, const uint32_t *stream, int8_t *output,
                                                 const struct tflmgen_conv2d_thumb_block *block);

/* One weight times six pixels: LDRB + LDM + 3 MULS + 3 * 3 = 14 instructions per 6 MACs. */
#define TFLMGEN_CONV2D_THUMB_STEP6_BYTES 28
#define TFLMGEN_CONV2D_THUMB_STEP6(i)       \
    "ldrb r5, [r1, #" i "]\n\t"             \
    "ldmia r0!, {r2, r3, r4}\n\t"           \
    "muls r2, r5, r2\n\t"                   \
    "muls r3, r5, r3\n\t"                   \
    "muls r4, r5, r4\n\t"                   \
    TFLMGEN_THUMB_SPLIT("r2", "r8", "r9")   \
    TFLMGEN_THUMB_SPLIT("r3", "r10", "r11") \
    TFLMGEN_THUMB_SPLIT("r4", "r12", "lr")
#define TFLMGEN_CONV2D_THUMB_START6 \
    "ldmia r0!, {r2, r3, r4}\n\t"   \
    "mov r8, r2\n\t"                \
    "mov r9, r3\n\t"                \
    "mov r10, r4\n\t"               \
    "ldmia r0!, {r2, r3, r4}\n\t"   \
    "mov r11, r2\n\t"               \
    "mov r12, r3\n\t"               \
    "mov lr, r4\n\t"

/* One weight times two pixels of a column for six: 6 instructions per 2 MACs. */
#define TFLMGEN_CONV2D_THUMB_STEP2_BYTES 12
#define TFLMGEN_CONV2D_THUMB_STEP2(i) \
    "ldrb r5, [r1, #" i "]\n\t"       \
    "ldr r2, [r0, #12 * " i "]\n\t"   \
    "muls r2, r5, r2\n\t"             \
    TFLMGEN_THUMB_SPLIT("r2", "r8", "r9")
#define TFLMGEN_CONV2D_THUMB_START2 \
    "ldmia r0!, {r2, r3}\n\t"       \
    "mov r8, r2\n\t"                \
    "mov r9, r3\n\t"

#define TFLMGEN_CONV2D_THUMB_STORES6(STORE) STORE("r8", "r9") STORE("r10", "r11") STORE("r12", "lr")
#define TFLMGEN_CONV2D_THUMB_STORES2(STORE) STORE("r8", "r9")

/* Registers: r0 column or output, r1 stream, r2-r4 products, r5 weight, r7 end of the weights, r8-lr S1 and S2. Stack:
 * column, lead, span, entry of the first pass, output, pixel, 2 * pixel, end, start, and one word. A channel costs 19
 * instructions before its weights (13 for two pixels), 9 after its outputs, and 3 per pass. */
#define TFLMGEN_CONV2D_THUMB_BLOCK(name, START, STEP, ADVANCE, STORES, STORE, PARAMS)                             \
    TFLMGEN_SHARED void name(const uint32_t *column, const uint32_t *stream, int8_t *output,                      \
                             const struct tflmgen_conv2d_thumb_block *block)                                      \
    {                                                                                                             \
        register const uint32_t *r0 __asm__("r0") = column;                                                       \
        register const uint32_t *r1 __asm__("r1") = stream;                                                       \
        register int8_t *r2 __asm__("r2") = output;                                                               \
        register const struct tflmgen_conv2d_thumb_block *r3 __asm__("r3") = block;                               \
        __asm__ volatile(".syntax unified\n\t" TFLMGEN_THUMB_PUSH                                                 \
                         "sub sp, #40\n\t"                                                                        \
                         "str r0, [sp]\n\t"                                                                       \
                         "str r2, [sp, #16]\n\t"                                                                  \
                         "ldmia r3!, {r4, r5, r6, r7}\n\t"                                                        \
                         "str r4, [sp, #4]\n\t"                                                                   \
                         "str r5, [sp, #8]\n\t"                                                                   \
                         "adr r4, 2f\n\t"                                                                         \
                         "adds r6, r6, r4\n\t"                                                                    \
                         "str r6, [sp, #12]\n\t"                                                                  \
                         "str r7, [sp, #20]\n\t"                                                                  \
                         "adds r7, r7, r7\n\t"                                                                    \
                         "str r7, [sp, #24]\n\t"                                                                  \
                         "ldmia r3!, {r4, r5}\n\t"                                                                \
                         "str r4, [sp, #32]\n\t"                                                                  \
                         "str r5, [sp, #28]\n"                                                                    \
                         "1:\n\t"                                                                                 \
                         "ldr r2, [sp, #4]\n\t"                                                                   \
                         "ldr r7, [sp, #8]\n\t"                                                                   \
                         "adds r1, r1, r2\n\t"                                                                    \
                         "adds r7, r7, r1\n\t"                                                                    \
                         "ldr r0, [sp, #32]\n\t" START                                                            \
                         "ldr r0, [sp]\n\t"                                                                       \
                         "ldr r6, [sp, #12]\n\t"                                                                  \
                         "mov pc, r6\n\t"                                                                         \
                         ".p2align 2\n"                                                                           \
                         "2:\n\t" STEP("0") STEP("1") STEP("2") STEP("3") STEP("4") STEP("5") STEP("6") STEP("7") \
                         "adds r1, #8\n\t" ADVANCE                                                                \
                         "cmp r1, r7\n\t"                                                                         \
                         "bne 2b\n\t"                                                                             \
                         "ldmia r1!, {r5, r6, r7}\n\t"                                                            \
                         "ldr r0, [sp, #16]\n\t" STORES(STORE) PARAMS                                             \
                         "ldr r0, [sp, #16]\n\t"                                                                  \
                         "ldr r4, [sp, #28]\n\t"                                                                  \
                         "adds r0, #1\n\t"                                                                        \
                         "str r0, [sp, #16]\n\t"                                                                  \
                         "cmp r0, r4\n\t"                                                                         \
                         "beq 3f\n\t"                                                                             \
                         "b 1b\n"                                                                                 \
                         "3:\n\t"                                                                                 \
                         "add sp, #40\n\t" TFLMGEN_THUMB_POP                                                      \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                                 \
                         :                                                                                        \
                         : "r12", "cc", "memory");                                                                \
    }

TFLMGEN_CONV2D_THUMB_BLOCK(tflmgen_conv2d_thumb_block6_clamped, TFLMGEN_CONV2D_THUMB_START6, TFLMGEN_CONV2D_THUMB_STEP6,
                           "", TFLMGEN_CONV2D_THUMB_STORES6, TFLMGEN_THUMB_STORE_CLAMPED, "")
TFLMGEN_CONV2D_THUMB_BLOCK(tflmgen_conv2d_thumb_block6_signed, TFLMGEN_CONV2D_THUMB_START6, TFLMGEN_CONV2D_THUMB_STEP6,
                           "", TFLMGEN_CONV2D_THUMB_STORES6, TFLMGEN_THUMB_STORE_SIGNED, "adds r1, #8\n\t")
TFLMGEN_CONV2D_THUMB_BLOCK(tflmgen_conv2d_thumb_block2_clamped, TFLMGEN_CONV2D_THUMB_START2, TFLMGEN_CONV2D_THUMB_STEP2,
                           "adds r0, #96\n\t", TFLMGEN_CONV2D_THUMB_STORES2, TFLMGEN_THUMB_STORE_CLAMPED, "")
TFLMGEN_CONV2D_THUMB_BLOCK(tflmgen_conv2d_thumb_block2_signed, TFLMGEN_CONV2D_THUMB_START2, TFLMGEN_CONV2D_THUMB_STEP2,
                           "adds r0, #96\n\t", TFLMGEN_CONV2D_THUMB_STORES2, TFLMGEN_THUMB_STORE_SIGNED,
                           "adds r1, #8\n\t")

#endif

#endif
