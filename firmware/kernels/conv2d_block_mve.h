/* The inner loops of CONV_2D in int8 for cores with MVE: four pixels times all output channels, two at a time.
 *
 * The four windows are gathered in a column: 16 values of each pixel, then the next 16. The weights are a stream of
 * channel pairs, in the order of use, where a window is filled up with zero weights to whole 16s:
 *     16 weights of each, times `chunks` | bias0 m0 s0 bias1 m1 s1
 * where the low byte of s0 and s1 is -r, and s0 / 256 the bytes to the next pair, 0 at the end.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_BLOCK_MVE_H
#define TFLMGEN_KERNELS_CONV2D_BLOCK_MVE_H

#include "mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* What a block needs to know, in the order in which the assembly reads it. */
struct tflmgen_conv2d_mve_block {
    int32_t passes; /* of the loop over all chunks but the first, unrolled 4 times */
    int32_t skip;   /* bytes of code that the first pass leaves out */
    int32_t pixel;  /* bytes from an output pixel to the next one */
    int32_t zero_point;
    uint32_t last;   /* the last pixel of the block: those behind it repeat it */
    uint32_t second; /* from the first output of a pair to the second: 0 where they are the same one, else 1 */
};

typedef void tflmgen_conv2d_mve_block_function(const int8_t *column, const int8_t *stream, int8_t *output,
                                               const struct tflmgen_conv2d_mve_block *block);

#define TFLMGEN_CONV2D_MVE_PIXELS 4 /* of a block */
#define TFLMGEN_CONV2D_MVE_CHUNK_BYTES 56

/* 16 values of four pixels times two channels, 128 MACs: 6 VLDRB + 8 VMLADAV = 14 instructions. The accumulators are
 * the eight even registers. */
/* clang-format off */
#define TFLMGEN_CONV2D_MVE_CHUNK(MAC) \
    "vldrb.8 q0, [r1], #16\n\t"       \
    "vldrb.8 q4, [r9], #16\n\t"       \
    MAC " r0, q0, q4\n\t"             \
    "vldrb.8 q1, [r1], #16\n\t"       \
    MAC " r2, q1, q4\n\t"             \
    "vldrb.8 q2, [r1], #16\n\t"       \
    MAC " r4, q2, q4\n\t"             \
    "vldrb.8 q3, [r1], #16\n\t"       \
    MAC " r6, q3, q4\n\t"             \
    "vldrb.8 q5, [r9], #16\n\t"       \
    MAC " r8, q0, q5\n\t"             \
    MAC " r10, q1, q5\n\t"            \
    MAC " r12, q2, q5\n\t"            \
    MAC " lr, q3, q5\n\t"
/* clang-format on */

#define TFLMGEN_CONV2D_MVE_CLAMPED(sums) ""
#define TFLMGEN_CONV2D_MVE_SIGNED(sums) \
    "vshr.s32 q2, " sums ", #31\n\t"    \
    "vadd.i32 " sums ", " sums ", q2\n\t"

/* Five chunks at most are straight code. */
#define TFLMGEN_CONV2D_MVE_SHORT_BEGIN ""
#define TFLMGEN_CONV2D_MVE_SHORT_END ""
#define TFLMGEN_CONV2D_MVE_LONG_BEGIN "ldr r3, [sp]\n\t"
#define TFLMGEN_CONV2D_MVE_LONG_END \
    "subs.w r3, r3, #1\n\t"         \
    "bne.w 2b\n\t"

/* Registers: r1 column, r3 passes left, r5 where the column begins, r7 entry of the first pass, r9 stream, r11 output;
 * q6 where the outputs of a pair go, pixel after pixel; q7 zero point. Stack: passes. A pair of channels costs 2
 * instructions around its first chunk and 19 (23 where signed) after the last one, for 8 outputs; and where there are
 * more than five chunks, 1 and 2 for every four. */
/* clang-format off */
#define TFLMGEN_CONV2D_MVE_BLOCK(name, BEGIN, END, FIX)                                                                \
    TFLMGEN_SHARED void name(const int8_t *column, const int8_t *stream, int8_t *output,                               \
                             const struct tflmgen_conv2d_mve_block *block)                                             \
    {                                                                                                                  \
        TFLMGEN_IN_REGISTERS_4(column, stream, output, block);                                                         \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                                                       \
                         "ldmia r3, {r4, r5, r6, r7, r8, r10}\n\t"                                                     \
                         "mov r9, r1\n\t"                                                                              \
                         "mov r11, r2\n\t"                                                                             \
                         "vdup.16 q7, r7\n\t"                                                                          \
                         "adr r7, 2f\n\t"                                                                              \
                         "add r7, r7, r5\n\t"                                                                          \
                         "orr r7, r7, #1\n\t"                                                                          \
                         "mov r5, r0\n\t"                                                                              \
                         "push {r4}\n\t"                                                                               \
                         "movs r4, #0\n\t"                                                                             \
                         "vidup.u16 q6, r4, #1\n\t"                                                                    \
                         "vdup.16 q1, r8\n\t"                                                                          \
                         "vshr.u16 q0, q6, #1\n\t"                                                                     \
                         "vmin.u16 q0, q0, q1\n\t"                                                                     \
                         "vmul.i16 q0, q0, r6\n\t"                                                                     \
                         "vdup.16 q1, r10\n\t"                                                                         \
                         "vand q6, q6, q1\n\t"                                                                         \
                         "vadd.i16 q6, q6, q0\n"                                                                       \
                         "1:\n\t"                                                                                      \
                         "mov r1, r5\n\t" BEGIN TFLMGEN_CONV2D_MVE_CHUNK("vmladav.s8")                                 \
                         "mov pc, r7\n\t" \
                         ".p2align 2\n"                                                                                \
                         "2:\n\t"                                                                                      \
                         ".rept 4\n\t" TFLMGEN_CONV2D_MVE_CHUNK("vmladava.s8") ".endr\n\t" END                         \
                         "vmov d0, r0, r2\n\t"                                                                         \
                         "vmov d1, r4, r6\n\t"                                                                         \
                         "vmov d2, r8, r10\n\t"                                                                        \
                         "vmov d3, r12, lr\n\t"                                                                        \
                         "ldmia.w r9!, {r0, r2, r4, r6, r8, r10}\n\t"                                                  \
                         "vadd.i32 q0, q0, r0\n\t"                                                                     \
                         "vqrdmulh.s32 q0, q0, r2\n\t" FIX("q0")                                                       \
                         "vrshl.s32 q0, r4\n\t"                                                                        \
                         "vadd.i32 q1, q1, r6\n\t"                                                                     \
                         "vqrdmulh.s32 q1, q1, r8\n\t" FIX("q1")                                                       \
                         "vrshl.s32 q1, r10\n\t"                                                                       \
                         "vqmovnb.s32 q0, q0\n\t"                                                                      \
                         "vqmovnt.s32 q0, q1\n\t"                                                                      \
                         "vqadd.s16 q0, q0, q7\n\t"                                                                    \
                         "vqmovnb.s16 q0, q0\n\t"                                                                      \
                         "vstrb.16 q0, [r11, q6]\n\t"                                                                  \
                         "lsrs r12, r4, #8\n\t"                                                                        \
                         "add r11, r11, r12\n\t"                                                                       \
                         "bne.w 1b\n\t"                                                                                \
                         "pop {r4}\n\t"                                                                                \
                         "pop {r4-r11, lr}"                                                                            \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                                      \
                         :                                                                                             \
                         : "r12", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc", "memory");                     \
    }
/* clang-format on */

/* For outputs clamped at the zero point, and for those that are not. */
TFLMGEN_CONV2D_MVE_BLOCK(tflmgen_conv2d_mve_short_clamped, TFLMGEN_CONV2D_MVE_SHORT_BEGIN, TFLMGEN_CONV2D_MVE_SHORT_END,
                         TFLMGEN_CONV2D_MVE_CLAMPED)
TFLMGEN_CONV2D_MVE_BLOCK(tflmgen_conv2d_mve_short_signed, TFLMGEN_CONV2D_MVE_SHORT_BEGIN, TFLMGEN_CONV2D_MVE_SHORT_END,
                         TFLMGEN_CONV2D_MVE_SIGNED)
TFLMGEN_CONV2D_MVE_BLOCK(tflmgen_conv2d_mve_long_clamped, TFLMGEN_CONV2D_MVE_LONG_BEGIN, TFLMGEN_CONV2D_MVE_LONG_END,
                         TFLMGEN_CONV2D_MVE_CLAMPED)
TFLMGEN_CONV2D_MVE_BLOCK(tflmgen_conv2d_mve_long_signed, TFLMGEN_CONV2D_MVE_LONG_BEGIN, TFLMGEN_CONV2D_MVE_LONG_END,
                         TFLMGEN_CONV2D_MVE_SIGNED)

#endif

#endif
