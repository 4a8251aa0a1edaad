/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* The inner loops of CONV_2D in int8 for every Cortex-M: a block of four output pixels times all output channels (see
 * thumb.h for the arithmetic). The results are those of conv2d.h.
 *
 * The im2col buffer has two words for each value of the four windows, the lanes, negated:
 *
 *     -(x of lane 0 + 65536 * x of lane 1) | -(x of lane 2 + 65536 * x of lane 3) | the same of the next value | ...
 *
 * The stream has three parts, one after the other:
 *
 *     weights       of each group of 8 output channels, for each value of a window:  w0 | w1 | w2 | ... | w7, bytes
 *     constants     of each output channel, with its first mask: see TFLMGEN_CONV2D_THUMB_START_CLAMPED and _SIGNED
 *     masks         of each output channel, all but the first one
 *
 * Windows are filled up in front with zeros to a multiple of four values. A row of weights is as long as the two words
 * of a value, so that one register walks over both. A mask has a bit for each pass over 8 values: 0 where the products
 * of four values are summed before they are taken apart, 1 where only those of two fit.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_BLOCK_THUMB_H
#define TFLMGEN_KERNELS_CONV2D_BLOCK_THUMB_H

#include "thumb.h"

#ifdef __thumb__

#define TFLMGEN_CONV2D_THUMB_LANES 4
#define TFLMGEN_CONV2D_THUMB_GROUP 8 /* channels in a row of weights */

/* What a block needs to know, in the order in which the assembly reads it. */
struct tflmgen_conv2d_thumb_block {
    int32_t entry; /* bytes of code to the first pass, which may be one over four rows */
    int32_t im2col_bytes;
    const tflmgen_u32 *constants; /* of the first channel */
    const tflmgen_u32 *masks;
    int32_t group_step;       /* bytes from a group's last channel to the one before the next group's first */
    int8_t *outputs_end;      /* of the first pixel */
    int32_t pixel_offsets[3]; /* bytes from the first pixel's outputs to those of the others, 0 where there is none */
};

typedef void tflmgen_conv2d_thumb_block_function(const tflmgen_u32 *im2col, const int8_t *weights, int8_t *output,
                                                 const struct tflmgen_conv2d_thumb_block *block);

/* One weight times four pixels: the first one sets the products in r2 and r3, further ones add to them. LDRSB + LDM + 2
 * MULS, and 2 ADDS to add; then the products are parted into S1 and S2. */
#define TFLMGEN_CONV2D_THUMB_SET_PRODUCTS \
    "ldrsb r6, [r1, r0]\n\t"              \
    "ldmia r0!, {r2, r3}\n\t"             \
    "muls r2, r6, r2\n\t"                 \
    "muls r3, r6, r3\n\t"
#define TFLMGEN_CONV2D_THUMB_ADD_PRODUCTS \
    "ldrsb r6, [r1, r0]\n\t"              \
    "ldmia r0!, {r4, r5}\n\t"             \
    "muls r4, r6, r4\n\t"                 \
    "muls r5, r6, r5\n\t"                 \
    "adds r2, r2, r4\n\t"                 \
    "adds r3, r3, r5\n\t"
#define TFLMGEN_CONV2D_THUMB_SPLIT_PRODUCTS \
    TFLMGEN_THUMB_PART("r2", "r8", "r9")    \
    TFLMGEN_THUMB_PART("r3", "r10", "r11")

/* Two weights: 18 instructions per 8 MACs. Four: 30 per 16 MACs. */
#define TFLMGEN_CONV2D_THUMB_TWO_WEIGHTS \
    TFLMGEN_CONV2D_THUMB_SET_PRODUCTS TFLMGEN_CONV2D_THUMB_ADD_PRODUCTS TFLMGEN_CONV2D_THUMB_SPLIT_PRODUCTS
#define TFLMGEN_CONV2D_THUMB_FOUR_WEIGHTS                                                                 \
    TFLMGEN_CONV2D_THUMB_SET_PRODUCTS TFLMGEN_CONV2D_THUMB_ADD_PRODUCTS TFLMGEN_CONV2D_THUMB_ADD_PRODUCTS \
        TFLMGEN_CONV2D_THUMB_ADD_PRODUCTS TFLMGEN_CONV2D_THUMB_SPLIT_PRODUCTS

/* Bytes of code from "2:" to the middle of the pass that sums two products at a time, with which windows begin whose
 * number of values is not a multiple of 8. */
#define TFLMGEN_CONV2D_THUMB_HALF_BYTES (2 * (2 + 2 * 30 + 2 + 1 + 2 * 18))

/* The sum of the lane in the lower halves, and of that in the upper ones, to r2. */
#define TFLMGEN_CONV2D_THUMB_LOW(s1, s2) \
    "mov r2, " s1 "\n\t"                 \
    "mov r3, " s2 "\n\t"                 \
    "lsls r3, r3, #16\n\t"               \
    "subs r2, r2, r3\n\t"
#define TFLMGEN_CONV2D_THUMB_HIGH(s1, s2) "mov r2, " s2 "\n\t"

/* STORE(SUM, PUT) requantises and stores the output of each lane, from lane 3 to lane 0. */
#define TFLMGEN_CONV2D_THUMB_STORES(STORE)                                                       \
    STORE(TFLMGEN_CONV2D_THUMB_HIGH("r10", "r11"), "ldr r3, [sp, #44]\n\tstrb r2, [r0, r3]\n\t") \
    STORE(TFLMGEN_CONV2D_THUMB_LOW("r10", "r11"), "ldr r3, [sp, #40]\n\tstrb r2, [r0, r3]\n\t")  \
    STORE(TFLMGEN_CONV2D_THUMB_HIGH("r8", "r9"), "ldr r3, [sp, #36]\n\tstrb r2, [r0, r3]\n\t")   \
    STORE(TFLMGEN_CONV2D_THUMB_LOW("r8", "r9"), "strb r2, [r0]\n\t")

/* Constants of a channel, requantisation `bounded`: 2^10 b + f | 2^10 r + mask | 2^12 h + l. START has the start of S2
 * in r2, that of S1 in r3, the mask in r7; OUTPUTS has the constants' address in r4. */
#define TFLMGEN_CONV2D_THUMB_START_CLAMPED \
    "ldmia r4!, {r2, r7}\n\t"              \
    "asrs r2, r2, #10\n\t"                 \
    "lsls r3, r2, #16\n\t"                 \
    "adds r3, r3, r2\n\t"
#define TFLMGEN_CONV2D_THUMB_STORE_CLAMPED(SUM, PUT) SUM TFLMGEN_THUMB_BOUNDED PUT
/* clang-format off */
#define TFLMGEN_CONV2D_THUMB_OUTPUTS_CLAMPED    \
    "ldmia r4!, {r3, r6, r7}\n\t"               \
    "str r4, [sp, #8]\n\t" TFLMGEN_THUMB_UNPACK \
    TFLMGEN_CONV2D_THUMB_STORES(TFLMGEN_CONV2D_THUMB_STORE_CLAMPED)
/* clang-format on */

/* Constants of a channel, requantisation `any`: mask | m | c | 256 f + s | bias | sign fix. */
#define TFLMGEN_CONV2D_THUMB_START_SIGNED \
    "ldr r7, [r4]\n\t"                    \
    "movs r2, #0\n\t"                     \
    "movs r3, #0\n\t"
/* clang-format off */
#define TFLMGEN_CONV2D_THUMB_STORE_SIGNED(SUM, PUT)     \
    SUM "negs r2, r2\n\t" TFLMGEN_THUMB_SIGN_FIX        \
        TFLMGEN_THUMB_REQUANTIZE("adds r2, r2, r0\n\t") \
    "ldr r0, [sp, #16]\n\t" PUT
#define TFLMGEN_CONV2D_THUMB_OUTPUTS_SIGNED                        \
    "str r1, [sp, #48]\n\t"                                        \
    "adds r4, #4\n\t"                                              \
    "ldmia r4!, {r5, r6, r7}\n\t"                                  \
    "mov r1, r4\n\t"                                               \
    "adds r4, #8\n\t"                                              \
    "str r4, [sp, #8]\n\t"                                         \
    TFLMGEN_CONV2D_THUMB_STORES(TFLMGEN_CONV2D_THUMB_STORE_SIGNED) \
    "ldr r1, [sp, #48]\n\t"

/* Registers: r0 im2col, r1 from there to the weights, r2 and r3 products, r4 and r5 products to add, r6 weight, r7
 * mask, r8-r11 S1 and S2, r12 0x8000, lr end of the im2col buffer. Stack:
 *
 *      0  im2col buffer       16  next output                      36  pixel_offsets
 *      4  entry               20  group_step                       48  r1, while outputs are made where signed
 *      8  next constants      24  end of the group's outputs
 *     12  next masks          28  outputs_end
 *
 * LSLS takes the mask's topmost bit off for each pass: C clear is a pass at 3, where four products are summed, C set
 * and Z clear one at 4, where two are, and with C and Z set, since nothing is behind the last 1, the mask is used up.
 * A pass over 8 weights takes 62 instructions where four products are summed, 74 or 75 where two are; a channel 14
 * before its weights, and 27 beside the requantisation of its four outputs. */
#define TFLMGEN_CONV2D_THUMB_BLOCK(name, START, OUTPUTS)                                                               \
    TFLMGEN_SHARED void name(const tflmgen_u32 *im2col, const int8_t *weights, int8_t *output,                         \
                             const struct tflmgen_conv2d_thumb_block *block)                                           \
    {                                                                                                                  \
        TFLMGEN_IN_REGISTERS_4(im2col, weights, output, block);                                                        \
        __asm__ volatile(                                                                                              \
            ".syntax unified\n\t" TFLMGEN_THUMB_PUSH                                                                   \
            "sub sp, #52\n\t"                                                                                          \
            "str r0, [sp]\n\t"                                                                                         \
            "subs r1, r1, r0\n\t"                                                                                      \
            "subs r1, #1\n\t"                                                                                          \
            "str r2, [sp, #16]\n\t"                                                                                    \
            "adds r2, #8\n\t"                                                                                          \
            "ldmia r3!, {r4, r5, r6, r7}\n\t"                                                                          \
            "adds r5, r5, r0\n\t"                                                                                      \
            "mov lr, r5\n\t"                                                                                           \
            "adr r5, 2f\n\t"                                                                                           \
            "adds r4, r4, r5\n\t"                                                                                      \
            "str r4, [sp, #4]\n\t"                                                                                     \
            "str r6, [sp, #8]\n\t"                                                                                     \
            "str r7, [sp, #12]\n\t"                                                                                    \
            "ldmia r3!, {r4, r5}\n\t"                                                                                  \
            "str r4, [sp, #20]\n\t"                                                                                    \
            "str r5, [sp, #28]\n\t"                                                                                    \
            "cmp r2, r5\n\t"                                                                                           \
            "bls 1f\n\t"                                                                                               \
            "mov r2, r5\n"                                                                                             \
            "1:\n\t"                                                                                                   \
            "str r2, [sp, #24]\n\t"                                                                                    \
            "ldmia r3!, {r4, r5, r6}\n\t"                                                                              \
            "str r4, [sp, #36]\n\t"                                                                                    \
            "str r5, [sp, #40]\n\t"                                                                                    \
            "str r6, [sp, #44]\n\t"                                                                                    \
            "movs r4, #1\n\t"                                                                                          \
            "lsls r4, r4, #15\n\t"                                                                                     \
            "mov r12, r4\n"                                                                                            \
            "1:\n\t"                                                                                                   \
            "ldr r4, [sp, #8]\n\t" START                                                                               \
            "mov r8, r3\n\t"                                                                                           \
            "mov r9, r2\n\t"                                                                                           \
            "mov r10, r3\n\t"                                                                                          \
            "mov r11, r2\n\t"                                                                                          \
            "lsls r7, r7, #22\n\t"                                                                                     \
            "ldr r0, [sp]\n\t"                                                                                         \
            "adds r1, #1\n\t"                                                                                          \
            "ldr r6, [sp, #4]\n\t"                                                                                     \
            "mov pc, r6\n\t"                                                                                           \
            ".p2align 2\n"                                                                                             \
            "2:\n\t"                                                                                                   \
            "lsls r7, r7, #1\n\t"                                                                                      \
            "bcs 4f\n"                                                                                                 \
            "3:\n\t" TFLMGEN_CONV2D_THUMB_FOUR_WEIGHTS TFLMGEN_CONV2D_THUMB_FOUR_WEIGHTS                               \
            "lsls r7, r7, #1\n\t"                                                                                      \
            "bcc 3b\n"                                                                                                 \
            "4:\n\t"                                                                                                   \
            "beq 5f\n\t" TFLMGEN_CONV2D_THUMB_TWO_WEIGHTS TFLMGEN_CONV2D_THUMB_TWO_WEIGHTS                             \
                TFLMGEN_CONV2D_THUMB_TWO_WEIGHTS TFLMGEN_CONV2D_THUMB_TWO_WEIGHTS                                      \
            "lsls r7, r7, #1\n\t"                                                                                      \
            "bcs 4b\n\t"                                                                                               \
            "b 3b\n"                                                                                                   \
            "5:\n\t"                                                                                                   \
            "cmp r0, lr\n\t"                                                                                           \
            "beq 6f\n\t"                                                                                               \
            "ldr r4, [sp, #12]\n\t"                                                                                    \
            "ldmia r4!, {r7}\n\t"                                                                                      \
            "str r4, [sp, #12]\n\t"                                                                                    \
            "b 2b\n"                                                                                                   \
            "6:\n\t"                                                                                                   \
            "ldr r0, [sp, #16]\n\t"                                                                                    \
            "ldr r4, [sp, #8]\n\t" OUTPUTS                                                                             \
            "adds r0, #1\n\t"                                                                                          \
            "str r0, [sp, #16]\n\t"                                                                                    \
            "ldr r3, [sp, #24]\n\t"                                                                                    \
            "cmp r0, r3\n\t"                                                                                           \
            "beq 7f\n\t"                                                                                               \
            "b 1b\n"                                                                                                   \
            "7:\n\t"                                                                                                   \
            "ldr r2, [sp, #28]\n\t"                                                                                    \
            "cmp r0, r2\n\t"                                                                                           \
            "beq 9f\n\t"                                                                                               \
            "ldr r4, [sp, #20]\n\t"                                                                                    \
            "adds r1, r1, r4\n\t"                                                                                      \
            "adds r3, #8\n\t"                                                                                          \
            "cmp r3, r2\n\t"                                                                                           \
            "bls 8f\n\t"                                                                                               \
            "mov r3, r2\n"                                                                                             \
            "8:\n\t"                                                                                                   \
            "str r3, [sp, #24]\n\t"                                                                                    \
            "b 1b\n"                                                                                                   \
            "9:\n\t"                                                                                                   \
            "add sp, #52\n\t" TFLMGEN_THUMB_POP                                                                        \
            : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                                                   \
            :                                                                                                          \
            : "r12", "cc", "memory");                                                                                  \
    }
/* clang-format on */

TFLMGEN_CONV2D_THUMB_BLOCK(tflmgen_conv2d_thumb_block_clamped, TFLMGEN_CONV2D_THUMB_START_CLAMPED,
                           TFLMGEN_CONV2D_THUMB_OUTPUTS_CLAMPED)
TFLMGEN_CONV2D_THUMB_BLOCK(tflmgen_conv2d_thumb_block_signed, TFLMGEN_CONV2D_THUMB_START_SIGNED,
                           TFLMGEN_CONV2D_THUMB_OUTPUTS_SIGNED)

#endif

#endif
