/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* The inner loops of CONV_2D in int8 for cores with the DSP extension: a block of three output pixels times all output
 * channels, two channels at a time. Where the conditions of dsp.h hold, the results are those of conv2d.h.
 *
 * Steps, the im2col buffer and the stream are those of conv2d_steps_dsp.h.
 *
 * The steps of a pair are passes of straight code. The first pass is entered in its middle, `skip_bytes` of code on, so
 * that the last one ends with the last step.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_BLOCK_DSP_H
#define TFLMGEN_KERNELS_CONV2D_BLOCK_DSP_H

#include "conv2d_fill_dsp.h"
#include "conv2d_steps_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* Consecutive blocks of a layer, in the order in which the assembly reads it. */
struct tflmgen_conv2d_dsp_blocks {
    int32_t channels;
    int32_t skip_bytes;  /* of code that the first pass leaves out */
    int32_t last_pass;   /* bytes of the im2col buffer in front of it; below 0 if it is the only one */
    int32_t count;       /* blocks that remain */
    int32_t output_step; /* bytes from the end of a block's first pixel to the next block */
    int32_t input_step;  /* bytes from a block's first window to the next block's */
    tflmgen_u32 *im2col;
    const int8_t *input;                    /* first window of the next block, less input_step */
    int32_t pixel;                          /* bytes from window to window */
    struct tflmgen_conv2d_dsp_rows words;   /* of the windows */
    int32_t pixels;                         /* twice `pixel` */
    tflmgen_conv2d_dsp_fill_function *fill; /* fills the im2col buffer before each block */
};

/* One block whose windows have rows above or below the input, which are left out. */
struct tflmgen_conv2d_dsp_edge {
    struct tflmgen_conv2d_dsp_blocks blocks;
    const tflmgen_u32 *biases; /* of the next pair, with what those rows add */
    int32_t above;             /* bytes of a pair's own biases, and its weights for rows above */
    int32_t below;             /* bytes of its weights for rows below */
};

typedef void tflmgen_conv2d_dsp_block_function(tflmgen_u32 *im2col, const tflmgen_u32 *stream, int8_t *output,
                                               struct tflmgen_conv2d_dsp_blocks *blocks);

#define TFLMGEN_CONV2D_DSP_PIXELS 3 /* of a block */

/* How much a pass unrolls: steps in the compact functions, pairs of steps in the others, and steps where rows are left
 * out. */
#ifdef __OPTIMIZE_SIZE__
#define TFLMGEN_CONV2D_DSP_STEPS 8
#else
#define TFLMGEN_CONV2D_DSP_STEPS 16
#endif
#if defined(TFLMGEN_CODE_CACHE) && TFLMGEN_CODE_CACHE < 2048
#define TFLMGEN_CONV2D_DSP_STEP_PAIRS 4
#else
#define TFLMGEN_CONV2D_DSP_STEP_PAIRS 8
#endif
#define TFLMGEN_CONV2D_DSP_EDGE_STEPS 4

/* Words of an im2col buffer on the stack: of 21 steps at most, with which the deepest call of a layer takes 1 KiB. */
#define TFLMGEN_CONV2D_DSP_STACK_WORDS (6 * 21)

/* The stack; r9 is what is at 28 then:
 *
 *      0  im2col buffer    12  end of the outputs                24  stream
 *      4  next output      16  entry of the first pass           28  blocks, from `count` on
 *      8  channels         20  im2col buffer in the last pass */
#define TFLMGEN_CONV2D_DSP_BEGIN_BLOCKS \
    "push {r4-r11, lr}\n\t"             \
    "ldmia.w r3!, {r4, r6, r7}\n\t"     \
    "adr r9, 4f\n\t"                    \
    "add r6, r6, r9\n\t"                \
    "orr r6, r6, #1\n\t"                \
    "add r7, r7, r0\n\t"                \
    "mov r8, r1\n\t"                    \
    "mov r9, r3\n\t"                    \
    "add r5, r2, r4\n\t"                \
    "push {r0, r2, r4, r5, r6, r7, r8, r9}\n\t"

/* From block to block: the next one's output, or on at 9 behind the last one. */
#define TFLMGEN_CONV2D_DSP_NEXT_BLOCK \
    "ldr r9, [sp, #28]\n\t"           \
    "ldmia.w r9!, {r3, r4, r5}\n\t"   \
    "subs r3, r3, #1\n\t"             \
    "ble 9f\n\t"                      \
    "str r3, [r9, #-12]\n\t"          \
    "ldr r3, [sp, #8]\n\t"            \
    "add r2, r2, r4\n\t"              \
    "add r3, r3, r2\n\t"              \
    "str r2, [sp, #4]\n\t"            \
    "str r3, [sp, #12]\n\t"

/* Consecutive blocks. FIRST begins the sums of a pair of channels, PASSES are its other steps, FINISH its outputs. A
 * block begins at 0, by a call of `fill`, a pair of channels at 1. A pair costs 3 instructions around its values and
 * outputs, of which LDR is the only branch that is taken; a block 22. */
/* clang-format off */
#define TFLMGEN_CONV2D_DSP_BLOCK(name, FIRST, PASSES, FINISH)                                \
    TFLMGEN_SHARED void name(tflmgen_u32 *im2col, const tflmgen_u32 *stream, int8_t *output, \
                             struct tflmgen_conv2d_dsp_blocks *blocks)                       \
    {                                                                                        \
        TFLMGEN_IN_REGISTERS_4(im2col, stream, output, blocks);                              \
        __asm__ volatile(TFLMGEN_CONV2D_DSP_BEGIN_BLOCKS                                     \
                         "ldmia.w r9!, {r3, r4, r5}\n"                                       \
                         "0:\n\t"                                                            \
                         "ldmia.w r9, {r0, r1, r2, r3, r10, r11, r12, lr}\n\t"               \
                         "add r1, r1, r5\n\t"                                                \
                         "str r1, [r9, #4]\n\t"                                              \
                         "blx lr\n\t"                                                        \
                         "ldr r0, [sp]\n\t"                                                  \
                         "ldr lr, [sp, #20]\n\t"                                             \
                         "ldr r1, [sp, #24]\n\t"                                             \
                         "cmp lr, r0\n\t"                                                    \
                         "b 1f\n\t"                                                          \
                         ".p2align 2\n"                                                      \
                         PASSES FINISH                                                       \
                         "beq 3f\n"                                                          \
                         "1:\n\t" FIRST                                                      \
                         "ldr pc, [sp, #16]\n"                                               \
                         "3:\n\t" TFLMGEN_CONV2D_DSP_NEXT_BLOCK                              \
                         "b 0b\n"                                                            \
                         "9:\n\t"                                                            \
                         "add sp, sp, #32\n\t"                                               \
                         "pop {r4-r11, lr}"                                                  \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                            \
                         :                                                                   \
                         : "r12", "cc", "memory");                                           \
    }
/* clang-format on */

/* Compact: windows of any number of steps, in the least code. */
#define TFLMGEN_CONV2D_DSP_COMPACT_BLOCK(KIND)                                                             \
    TFLMGEN_CONV2D_DSP_BLOCK(tflmgen_conv2d_dsp_block_compact_##KIND, TFLMGEN_CONV2D_DSP_FIRST_odd,        \
                             TFLMGEN_CONV2D_DSP_PASSES(TFLMGEN_CONV2D_DSP_STEPS, TFLMGEN_CONV2D_DSP_STEP), \
                             TFLMGEN_CONV2D_DSP_FINISH_##KIND)

/* COUNT: whether the number of steps is odd or even. */
#define TFLMGEN_CONV2D_DSP_COUNTED_BLOCK(KIND, COUNT)                                                                \
    TFLMGEN_CONV2D_DSP_BLOCK(tflmgen_conv2d_dsp_block_##KIND##_##COUNT, TFLMGEN_CONV2D_DSP_FIRST_##COUNT,            \
                             TFLMGEN_CONV2D_DSP_PASSES(TFLMGEN_CONV2D_DSP_STEP_PAIRS, TFLMGEN_CONV2D_DSP_STEP_PAIR), \
                             TFLMGEN_CONV2D_DSP_FINISH_##KIND)
#define TFLMGEN_CONV2D_DSP_BLOCKS(KIND)          \
    TFLMGEN_CONV2D_DSP_COUNTED_BLOCK(KIND, even) \
    TFLMGEN_CONV2D_DSP_COUNTED_BLOCK(KIND, odd)

/* Edge: windows without their rows above or below the input, of any number of steps. */
#define TFLMGEN_CONV2D_DSP_EDGE_BLOCK(KIND)                                                                     \
    TFLMGEN_CONV2D_DSP_BLOCK(tflmgen_conv2d_dsp_block_##KIND##_edge, TFLMGEN_CONV2D_DSP_FIRST_edge,             \
                             TFLMGEN_CONV2D_DSP_PASSES(TFLMGEN_CONV2D_DSP_EDGE_STEPS, TFLMGEN_CONV2D_DSP_STEP), \
                             TFLMGEN_CONV2D_DSP_SKIP_BELOW TFLMGEN_CONV2D_DSP_FINISH_##KIND)

/* signed: any outputs. clamped: outputs clamped at the zero point, so that negative sums need no sign fix (dsp.h).
 * uniform: clamped, and all channels have the shift TFLMGEN_DSP_SHIFT. Functions that are not called are not
 * compiled. */
TFLMGEN_CONV2D_DSP_COMPACT_BLOCK(signed)
TFLMGEN_CONV2D_DSP_COMPACT_BLOCK(clamped)
TFLMGEN_CONV2D_DSP_BLOCKS(signed)
TFLMGEN_CONV2D_DSP_BLOCKS(clamped)
TFLMGEN_CONV2D_DSP_BLOCKS(uniform)
TFLMGEN_CONV2D_DSP_EDGE_BLOCK(signed)
TFLMGEN_CONV2D_DSP_EDGE_BLOCK(clamped)
TFLMGEN_CONV2D_DSP_EDGE_BLOCK(uniform)

/* One block of windows of `steps` steps, whose im2col buffer is filled. A pass of the loop unrolls `unrolled` units of
 * code, each of `unit_steps` steps (1 or 2). */
TFLMGEN_HELPER struct tflmgen_conv2d_dsp_blocks tflmgen_conv2d_dsp_blocks_of(int32_t steps, int32_t channels,
                                                                             int32_t unrolled, int32_t unit_steps)
{
    const int32_t units = (steps - 1) / unit_steps; /* behind the first one or two steps */
    const int32_t passes = tflmgen_max_s32((units + unrolled - 1) / unrolled, 1);
    const int32_t bytes = unit_steps == 1 ? TFLMGEN_CONV2D_DSP_STEP_BYTES : TFLMGEN_CONV2D_DSP_STEP_PAIR_BYTES;
    const int32_t last_pass = passes > 1 ? 24 * (steps - unit_steps * unrolled) : -4;
    const struct tflmgen_conv2d_dsp_blocks blocks = {
        channels, (unrolled * passes - units) * bytes, last_pass, 1, 0, 0, 0, 0, 0, {0, 0, 0},
        0,        tflmgen_conv2d_dsp_fill_nothing};
    return blocks;
}

/* All output channels of one pixel, for those behind the last whole block. sign_fix: what a negative sum's requantised
 * value loses. uniform: all channels have the shift TFLMGEN_DSP_SHIFT, and no control words. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_pixel(const tflmgen_u32 *lane, const tflmgen_u32 *stream, int8_t *output,
                                             int32_t steps, int32_t channels, int32_t sign_fix, bool uniform)
{
    const int8_t *const end = output + channels;
    const uint32_t uniform_control = 2u << 16 | TFLMGEN_DSP_SHIFT * 0x101u;
    uint32_t control;
    do {
        const tflmgen_u32 *x = lane;
        int32_t sum0 = (int32_t)stream[0];
        int32_t sum1 = (int32_t)stream[1];
        stream += 2;
        TFLMGEN_DSP_UNROLL(2)
        for (int32_t step = 0; step < steps; ++step, x += 6, stream += 2) {
            sum0 = tflmgen_smlad(stream[0], x[0], sum0);
            sum1 = tflmgen_smlad(stream[1], x[0], sum1);
            sum0 = tflmgen_smlad(tflmgen_even_bytes(stream[0]), x[3], sum0);
            sum1 = tflmgen_smlad(tflmgen_even_bytes(stream[1]), x[3], sum1);
        }
        control = uniform ? uniform_control : stream[4];
        const int32_t scaled0 =
            tflmgen_smmla(sum0, (int32_t)stream[0], (int32_t)stream[1]) + tflmgen_sign_mask(sum0) * sign_fix;
        const int32_t scaled1 =
            tflmgen_smmla(sum1, (int32_t)stream[2], (int32_t)stream[3]) + tflmgen_sign_mask(sum1) * sign_fix;
        output[0] = (int8_t)tflmgen_saturate_s8(scaled0 >> (control & 255u));
        output[1] = (int8_t)tflmgen_saturate_s8(scaled1 >> (control >> 8 & 255u));
        output += control >> 16;
        stream += uniform ? 4 : 5;
    } while (control >> 16 && output != end);
}

#endif

#endif
