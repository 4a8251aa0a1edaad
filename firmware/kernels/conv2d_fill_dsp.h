/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* im2col of CONV_2D in int8 for cores with the DSP extension: the rows of three windows that lie side by side within
 * the input, in whole words, are widened into the buffer that conv2d_block_dsp.h reads. Its assembly calls these
 * functions before each block.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_FILL_DSP_H
#define TFLMGEN_KERNELS_CONV2D_FILL_DSP_H

#include "dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* Four values of three pixels: 13 instructions. */
/* clang-format off */
#define TFLMGEN_CONV2D_DSP_WIDEN3         \
    "ldr r5, [r1, r2]\n\t"                \
    "ldr r6, [r1, r12]\n\t"               \
    "ldr r4, [r1], #4\n\t" TFLMGEN_CONV2D_DSP_PUT3
/* clang-format on */
#define TFLMGEN_CONV2D_DSP_PUT3   \
    "rev16 r8, r5\n\t"            \
    "rev16 r9, r6\n\t"            \
    "rev16 r7, r4\n\t"            \
    "eor r7, r7, #0x007F007F\n\t" \
    "eor r8, r8, #0x007F007F\n\t" \
    "eor r9, r9, #0x007F007F\n\t" \
    "sxtb16 r4, r4, ror #8\n\t"   \
    "sxtb16 r5, r5, ror #8\n\t"   \
    "sxtb16 r6, r6, ror #8\n\t"   \
    "stmia r0!, {r4, r5, r6, r7, r8, r9}\n"

/* Rows of a window, in the order in which the assembly reads it: bytes of each, a multiple of four; how many; bytes
 * from end of one to the next one's start. */
struct tflmgen_conv2d_dsp_rows {
    int32_t bytes;
    int32_t count;
    int32_t gap;
};

/* Fills the im2col buffer: called by assembly only, which keeps no register but sp. Registers: r0 im2col, r1 first
 * window, r2 bytes to the second one, r12 to the third one; r3 bytes of a row, r10 rows, r11 their gap. */
typedef void tflmgen_conv2d_dsp_fill_function(void);

/* The im2col buffer is filled already. */
TFLMGEN_NAKED void tflmgen_conv2d_dsp_fill_nothing(void)
{
    __asm__ volatile("bx lr");
}

/* The rows of three windows, two words at a time, an odd one first: 9 instructions a row beside the words. */
TFLMGEN_NAKED void tflmgen_conv2d_dsp_fill_rows(void)
{
    /* clang-format off */
    __asm__ volatile("push {lr}\n"
                     "0:\n\t"
                     "add lr, r1, r3\n\t"
                     "lsls r4, r3, #29\n\t"
                     "bmi 2f\n"
                     "1:\n\t" TFLMGEN_CONV2D_DSP_WIDEN3
                     "2:\n\t" TFLMGEN_CONV2D_DSP_WIDEN3
                     "\tcmp r1, lr\n\t"
                     "bne 1b\n\t"
                     "add r1, r1, r11\n\t"
                     "subs r10, r10, #1\n\t"
                     "bne 0b\n\t"
                     "pop {pc}");
    /* clang-format on */
}

/* The same where windows are three columns wide and move by one, so that the three windows share columns, five in all:
 * four channels of all taps of a row take 34 instructions instead of 40. */
TFLMGEN_NAKED void tflmgen_conv2d_dsp_fill_adjacent(void)
{
    __asm__ volatile("add r11, r11, r2, lsl #1\n\t"
                     "push {r10, r11, lr}\n"
                     "0:\n\t"
                     "add lr, r1, r2\n"
                     "1:\n\t"
                     "add r3, r1, r2, lsl #1\n\t"
                     "ldr r6, [r3, r2]\n\t"
                     "ldr r4, [r1, r2]\n\t"
                     "ldr r5, [r1, r2, lsl #1]\n\t"
                     "ldr r7, [r1, r2, lsl #2]\n\t"
                     "ldr r3, [r1], #4\n\t"
                     "rev16 r8, r3\n\t"
                     "rev16 r9, r4\n\t"
                     "rev16 r10, r5\n\t"
                     "rev16 r11, r6\n\t"
                     "rev16 r12, r7\n\t"
                     "eor r8, r8, #0x007F007F\n\t"
                     "eor r9, r9, #0x007F007F\n\t"
                     "eor r10, r10, #0x007F007F\n\t"
                     "eor r11, r11, #0x007F007F\n\t"
                     "eor r12, r12, #0x007F007F\n\t"
                     "sxtb16 r3, r3, ror #8\n\t"
                     "sxtb16 r4, r4, ror #8\n\t"
                     "sxtb16 r5, r5, ror #8\n\t"
                     "sxtb16 r6, r6, ror #8\n\t"
                     "sxtb16 r7, r7, ror #8\n\t"
                     "stmia r0, {r3, r4, r5, r8, r9, r10}\n\t"
                     "add r3, r2, r2, lsl #1\n\t"
                     "add r8, r0, r3, lsl #1\n\t"
                     "stmia r8, {r4, r5, r6, r9, r10, r11}\n\t"
                     "add r8, r8, r3, lsl #1\n\t"
                     "stmia r8!, {r5, r6, r7, r10, r11, r12}\n\t"
                     "add r0, r0, #24\n\t"
                     "cmp r1, lr\n\t"
                     "bne 1b\n\t"
                     "mov r0, r8\n\t"
                     "ldrd r3, r4, [sp]\n\t"
                     "add r1, r1, r4\n\t"
                     "subs r3, r3, #1\n\t"
                     "str r3, [sp]\n\t"
                     "bne 0b\n\t"
                     "pop {r10, r11, pc}");
}

/* Whether tflmgen_conv2d_dsp_fill_adjacent may be used. channels: of a tap. */
TFLMGEN_HELPER bool tflmgen_conv2d_dsp_has_adjacent(int32_t filter_width, int32_t stride_width, int32_t channels)
{
    return filter_width == 3 && stride_width == 1 && channels % 4 == 0;
}

/* The function that fills the buffer for these windows. channels: of a tap. */
TFLMGEN_HELPER tflmgen_conv2d_dsp_fill_function *tflmgen_conv2d_dsp_select_fill(int32_t filter_width,
                                                                                int32_t stride_width, int32_t channels)
{
    const bool adjacent = tflmgen_conv2d_dsp_has_adjacent(filter_width, stride_width, channels);
    return adjacent ? tflmgen_conv2d_dsp_fill_adjacent : tflmgen_conv2d_dsp_fill_rows;
}

/* Calls a fill function from C: the rows of three windows that are `pixel` bytes apart. By its name, so that the use of
 * the stack is known. */
#define TFLMGEN_CONV2D_DSP_WIDEN3_BY(name, fill_)                                     \
    TFLMGEN_SHARED void name(tflmgen_u32 *im2col, const int8_t *input, int32_t pixel, \
                             const struct tflmgen_conv2d_dsp_rows *rows)              \
    {                                                                                 \
        TFLMGEN_IN_REGISTERS_4(im2col, input, pixel, rows);                           \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                      \
                         "ldmia.w r3, {r3, r10, r11}\n\t"                             \
                         "lsl r12, r2, #1\n\t"                                        \
                         "bl %c[fill]\n\t"                                            \
                         "pop {r4-r11, lr}"                                           \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                     \
                         : [fill] "i"(fill_)                                          \
                         : "r12", "cc", "memory");                                    \
    }
TFLMGEN_CONV2D_DSP_WIDEN3_BY(tflmgen_conv2d_dsp_widen3, tflmgen_conv2d_dsp_fill_rows)
TFLMGEN_CONV2D_DSP_WIDEN3_BY(tflmgen_conv2d_dsp_widen3_adjacent, tflmgen_conv2d_dsp_fill_adjacent)

#endif

#endif
