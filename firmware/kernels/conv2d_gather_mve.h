/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* im2col of CONV_2D in int8 for cores with MVE, into the buffer that conv2d_block_mve.h reads: four lanes, in chunks of
 * 16 values.
 *
 * Rows of windows are copied where a pixel's channels are whole chunks, or, of four windows side by side within the
 * input, where a row of the window is whole chunks or the only one. Other windows are gathered value by value, vectors
 * of eight at a time, by a gather table in front of the stream, which has for each vector
 *     8 * 16 bits: values from the window's first one | 8 * 8 bits: rows from the first one | 8 * 8 bits: columns
 */
#ifndef TFLMGEN_KERNELS_CONV2D_GATHER_MVE_H
#define TFLMGEN_KERNELS_CONV2D_GATHER_MVE_H

#include "mve.h"
#include "window.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

#define TFLMGEN_CONV2D_MVE_TABLE_BYTES 64 /* for 16 values */

struct tflmgen_conv2d_mve_s8 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t padding_value;
    int32_t chunks; /* of 16 values in a window */
    int32_t output_zero_point;
    int32_t sign_fix; /* 1, or 0 where sums below zero are clamped anyway (mve.h) */
    int32_t output_min;
    int32_t output_max;
};

/* Four windows inside the input, side by side; in the order in which the assembly reads it. */
struct tflmgen_conv2d_mve_four {
    int32_t pixel; /* bytes from a window to the next one */
    int32_t row;   /* bytes */
    int32_t line;  /* bytes from a row to the next one */
    int32_t rows;
};

/* Row by row: of 16 values of each window 4 VLDRB, 4 VSTRB, LETP; 8 per row. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_copy_four(int8_t *im2col, const int8_t *from,
                                                 const struct tflmgen_conv2d_mve_four *four)
{
    TFLMGEN_IN_REGISTERS_3(im2col, from, four);
    __asm__ volatile("push {r4-r9, lr}\n\t"
                     "ldmia r2, {r3, r4, r8, r9}\n\t"
                     "mov r2, r4\n"
                     "1:\n\t"
                     "mov r4, r1\n\t"
                     "add r5, r1, r3\n\t"
                     "add r6, r5, r3\n\t"
                     "add r7, r6, r3\n\t"
                     "add r1, r1, r8\n\t"
                     "dlstp.8 lr, r2\n"
                     "2:\n\t"
                     "vldrb.8 q0, [r4], #16\n\t"
                     "vldrb.8 q1, [r5], #16\n\t"
                     "vldrb.8 q2, [r6], #16\n\t"
                     "vldrb.8 q3, [r7], #16\n\t"
                     "vstrb.8 q1, [r0, #16]\n\t"
                     "vstrb.8 q2, [r0, #32]\n\t"
                     "vstrb.8 q3, [r0, #48]\n\t"
                     "vstrb.8 q0, [r0], #64\n\t"
                     "letp lr, 2b\n\t"
                     "subs r9, r9, #1\n\t"
                     "bne 1b\n\t"
                     "pop {r4-r9, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2)
                     :
                     : "r3", "q0", "q1", "q2", "q3", "cc", "memory");
}

/* Which values of a window are inside the input, and what the others are; in the order in which the assembly reads
 * it. */
struct tflmgen_conv2d_mve_bounds {
    int32_t y;
    int32_t x;
    int32_t height;
    int32_t width;
    int32_t padding;
    const int8_t *table;
    int32_t chunks;
};

/* Eight values of one window: 12 instructions. */
#define TFLMGEN_CONV2D_MVE_TABLE_ONE(to) \
    "vldrb.u16 q0, [r2, #16]\n\t"        \
    "vldrb.u16 q1, [r2, #24]\n\t"        \
    "vadd.i16 q0, q0, r4\n\t"            \
    "vadd.i16 q1, q1, r5\n\t"            \
    "vcmp.u16 hi, q5, q0\n\t"            \
    "vpst\n\t"                           \
    "vcmpt.u16 hi, q6, q1\n\t"           \
    "vldrw.u32 q2, [r2], #32\n\t"        \
    "vpst\n\t"                           \
    "vldrbt.u16 q3, [r1, q2]\n\t"        \
    "vpsel q3, q3, q4\n\t"               \
    "vstrb.16 q3, " to "\n\t"

/* One window value by value; what is not in the input is padding. `from` is the address of its first value. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_table_one(int8_t *lane, uint32_t from,
                                                 const struct tflmgen_conv2d_mve_bounds *bounds)
{
    TFLMGEN_IN_REGISTERS_3(lane, from, bounds);
    /* clang-format off */
    __asm__ volatile("push {r4-r8, lr}\n\t"
                     "ldmia r2, {r2, r3, r4, r5, r6, r7, r8}\n\t"
                     "dls lr, r8\n\t"
                     "vdup.16 q5, r4\n\t"
                     "vdup.16 q6, r5\n\t"
                     "vdup.16 q4, r6\n\t"
                     "mov r4, r2\n\t"
                     "mov r5, r3\n\t"
                     "mov r2, r7\n"
                     "1:\n\t" TFLMGEN_CONV2D_MVE_TABLE_ONE("[r0], #8") TFLMGEN_CONV2D_MVE_TABLE_ONE("[r0], #56")
                     "le lr, 1b\n\t"
                     "pop {r4-r8, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2)
                     :
                     : "r3", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "cc", "memory");
    /* clang-format on */
}

/* Four windows side by side that are clipped: some of their values lie outside of the input. In the order in which the
 * assembly reads it. */
struct tflmgen_conv2d_mve_clipped {
    uint32_t from; /* the address of the first one's first value */
    int32_t pixel; /* bytes from a window to the next one */
    int32_t step;  /* pixels from a window to the next one */
    struct tflmgen_conv2d_mve_bounds bounds;
};

/* Eight values of four windows, at q0 from each. */
#define TFLMGEN_CONV2D_MVE_TABLE_FOUR(half)     \
    "vldrw.u32 q0, [r2], #32\n\t"               \
    "vldrb.u16 q1, [r1, q0]\n\t"                \
    "vldrb.u16 q2, [r4, q0]\n\t"                \
    "vldrb.u16 q3, [r5, q0]\n\t"                \
    "vldrb.u16 q4, [r6, q0]\n\t"                \
    "vstrb.16 q1, [r0, #8 * " half "]\n\t"      \
    "vstrb.16 q2, [r0, #16 + 8 * " half "]\n\t" \
    "vstrb.16 q3, [r0, #32 + 8 * " half "]\n\t" \
    "vstrb.16 q4, [r0, #48 + 8 * " half "]\n\t"

/* Windows inside the input, value by value: of 16 values of each window 2 VLDRW, 8 VLDRB, 8 VSTRB, ADD, LE. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_table_four(int8_t *im2col, const int8_t *from,
                                                  const struct tflmgen_conv2d_mve_clipped *clipped)
{
    TFLMGEN_IN_REGISTERS_3(im2col, from, clipped);
    /* clang-format off */
    __asm__ volatile("push {r4-r6, lr}\n\t"
                     "ldr r3, [r2, #36]\n\t"
                     "dls lr, r3\n\t"
                     "ldr r3, [r2, #4]\n\t"
                     "ldr r2, [r2, #32]\n\t"
                     "add r4, r1, r3\n\t"
                     "add r5, r4, r3\n\t"
                     "add r6, r5, r3\n"
                     "1:\n\t" TFLMGEN_CONV2D_MVE_TABLE_FOUR("0") TFLMGEN_CONV2D_MVE_TABLE_FOUR("1")
                     "add r0, r0, #64\n\t"
                     "le lr, 1b\n\t"
                     "pop {r4-r6, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2)
                     :
                     : "r3", "q0", "q1", "q2", "q3", "q4", "cc", "memory");
    /* clang-format on */
}

/* Eight values of one of them, where the columns are in q0, or are none. */
#define TFLMGEN_CONV2D_MVE_CLIPPED_ONE(from, x, to) \
    "vadd.i16 q1, q0, " x "\n\t"                    \
    "vcmp.u16 hi, q6, q1\n\t"                       \
    "vpst\n\t"                                      \
    "vldrbt.u16 q3, [" from ", q2]\n\t"             \
    "vpsel q3, q3, q4\n\t"                          \
    "vstrb.16 q3, [r0, #" to "]\n\t"

/* Eight values of each: 30 instructions. */
/* clang-format off */
#define TFLMGEN_CONV2D_MVE_CLIPPED_FOUR(half)                      \
    "vldrb.u16 q0, [r2, #16]\n\t"                              \
    "vadd.i16 q0, q0, r3\n\t"                                  \
    "vcmp.u16 hi, q5, q0\n\t"                                  \
    "vldrb.u16 q0, [r2, #24]\n\t"                              \
    "vpsel q0, q0, q7\n\t"                                     \
    "vldrw.u32 q2, [r2], #32\n\t"                              \
    TFLMGEN_CONV2D_MVE_CLIPPED_ONE("r1", "r7", "8 * " half)        \
    TFLMGEN_CONV2D_MVE_CLIPPED_ONE("r4", "r8", "16 + 8 * " half)   \
    TFLMGEN_CONV2D_MVE_CLIPPED_ONE("r5", "r9", "32 + 8 * " half)   \
    TFLMGEN_CONV2D_MVE_CLIPPED_ONE("r6", "r10", "48 + 8 * " half)
/* clang-format on */

TFLMGEN_SHARED void tflmgen_conv2d_mve_table_clipped(int8_t *im2col, const struct tflmgen_conv2d_mve_clipped *clipped)
{
    TFLMGEN_IN_REGISTERS_2(im2col, clipped);
    /* clang-format off */
    __asm__ volatile("push {r4-r10, lr}\n\t"
                     "ldmia r1!, {r2-r9}\n\t"
                     "vdup.16 q5, r7\n\t"
                     "vdup.16 q6, r8\n\t"
                     "vdup.16 q4, r9\n\t"
                     "vmov.i16 q7, #0x8000\n\t"
                     "ldr lr, [r1, #4]\n\t"
                     "dls lr, lr\n\t"
                     "mov r7, r6\n\t"
                     "add r8, r7, r4\n\t"
                     "add r9, r8, r4\n\t"
                     "add r10, r9, r4\n\t"
                     "ldr r12, [r1]\n\t"
                     "mov r1, r2\n\t"
                     "mov r2, r12\n\t"
                     "mov r12, r5\n\t"
                     "add r4, r1, r3\n\t"
                     "add r5, r4, r3\n\t"
                     "add r6, r5, r3\n\t"
                     "mov r3, r12\n"
                     "1:\n\t" TFLMGEN_CONV2D_MVE_CLIPPED_FOUR("0") TFLMGEN_CONV2D_MVE_CLIPPED_FOUR("1")
                     "add r0, r0, #64\n\t"
                     "le lr, 1b\n\t"
                     "pop {r4-r10, lr}"
                     : "+r"(r0), "+r"(r1)
                     :
                     : "r2", "r3", "r12", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc", "memory");
    /* clang-format on */
}

/* One window whose pixels are whole chunks, counted in chunks; in the order in which the assembly reads it. */
struct tflmgen_conv2d_mve_window {
    int32_t padding;
    int32_t above;  /* padding in front of the first row inside */
    int32_t left;   /* padding of each row inside */
    int32_t inside; /* values of each row inside */
    int32_t right;  /* padding of each row inside */
    int32_t below;  /* padding behind the last row inside */
    int32_t rows;   /* in the input */
    int32_t line;   /* bytes from one to the next */
};

#define TFLMGEN_CONV2D_MVE_PADDING(count) \
    "wls lr, " count ", 3f\n"             \
    "2:\n\t"                              \
    "vstrb.8 q1, [r0], #64\n\t"           \
    "le lr, 2b\n"                         \
    "3:\n\t"

/* Of 16 values VLDRB, VSTRB, LE, of padding VSTRB, LE; 7 per row. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_copy_one(int8_t *lane, const int8_t *from,
                                                const struct tflmgen_conv2d_mve_window *window)
{
    TFLMGEN_IN_REGISTERS_3(lane, from, window);
    /* clang-format off */
    __asm__ volatile("push {r4-r9, lr}\n\t"
                     "ldmia r2, {r2, r3, r4, r5, r6, r7, r8, r9}\n\t"
                     "vdup.8 q1, r2\n\t" TFLMGEN_CONV2D_MVE_PADDING("r3")
                     "cmp r8, #0\n\t"
                     "beq 6f\n"
                     "1:\n\t"
                     "mov r2, r1\n\t" TFLMGEN_CONV2D_MVE_PADDING("r4")
                     "wls lr, r5, 5f\n"
                     "4:\n\t"
                     "vldrb.8 q0, [r2], #16\n\t"
                     "vstrb.8 q0, [r0], #64\n\t"
                     "le lr, 4b\n"
                     "5:\n\t" TFLMGEN_CONV2D_MVE_PADDING("r6")
                     "add r1, r1, r9\n\t"
                     "subs r8, r8, #1\n\t"
                     "bne 1b\n"
                     "6:\n\t" TFLMGEN_CONV2D_MVE_PADDING("r7")
                     "pop {r4-r9, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2)
                     :
                     : "r3", "q0", "q1", "cc", "memory");
    /* clang-format on */
}

#endif

#endif
