/* The inner loops of CONV_2D in int8 for cores with the DSP extension: a block of three output pixels times all output
 * channels, two channels at a time. Where the conditions of dsp.h hold, the results are those of conv2d.h.
 *
 * A step is four values of a window. The im2col buffer has six words per step, X and Y (see dsp.h) of each of the three
 * windows; the words of one window are a lane:
 *
 *     step 0              step 1
 *     X0 X1 X2 Y0 Y1 Y2 | X0 X1 X2 Y0 Y1 Y2 | ...         lane n: words n and n + 3 of each step
 *
 * The stream has a record for each pair of output channels (0, 1), in the order of use:
 *
 *     bias0 bias1 | (4 weights of 0, 4 weights of 1) * steps | m0 addend0 m1 addend1 | s0 + 256 s1 + 65536 * next
 *
 * `next` is the number of channels to the next pair, 0 behind the last one. The last word is only there where channels
 * differ in their shifts, or their number is odd: the last pair then begins one channel earlier, and computes a channel
 * twice.
 *
 * The steps of a pair are passes of straight code. The first pass is entered in its middle, `skip` bytes of code on, so
 * that the last one ends with the last step.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_BLOCK_DSP_H
#define TFLMGEN_KERNELS_CONV2D_BLOCK_DSP_H

#include "conv2d_fill_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* Consecutive blocks of a layer, in the order in which the assembly reads it. */
struct tflmgen_conv2d_dsp_blocks {
    int32_t channels;
    int32_t skip;        /* bytes of code that the first pass leaves out */
    int32_t last;        /* bytes of the im2col buffer in front of the last pass; below 0 if there is only one */
    int32_t count;       /* blocks that are left */
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

/* Bytes of code of one step, and of two; how much a pass unrolls: steps in the compact functions, pairs of steps in
 * the others, and steps where rows are left out. */
#define TFLMGEN_CONV2D_DSP_STEP_BYTES 68
#define TFLMGEN_CONV2D_DSP_TWICE_BYTES 132
#ifdef __OPTIMIZE_SIZE__
#define TFLMGEN_CONV2D_DSP_STEPS 8
#else
#define TFLMGEN_CONV2D_DSP_STEPS 16
#endif
#define TFLMGEN_CONV2D_DSP_UNROLLED 8
#define TFLMGEN_CONV2D_DSP_EDGE_STEPS 4

/* Words of an im2col buffer on the stack: of 21 steps at most, with which the deepest call of a layer takes 1 KiB. */
#define TFLMGEN_CONV2D_DSP_STACK_WORDS (6 * 21)
#define TFLMGEN_CONV2D_DSP_REPEAT(number, code) ".rept " TFLMGEN_DSP_TEXT(number) "\n\t" code ".endr\n\t"

/* Four values of three pixels times two channels, 24 MACs: 1 LDRD + 2 LDM + 2 SXTB16 + 12 SMLAD = 17 instructions. */
/* clang-format off */
#define TFLMGEN_CONV2D_DSP_STEP           \
    "ldrd r2, r3, [r1], #8\n\t"           \
    "ldmia.w r0!, {r4, r5, r6}\n\t"       \
    "smlad r8, r2, r5, r8\n\t"            \
    "smlad r9, r2, r6, r9\n\t"            \
    "smlad r7, r2, r4, r7\n\t"            \
    "smlad r11, r3, r5, r11\n\t"          \
    "smlad r12, r3, r6, r12\n\t"          \
    "smlad r10, r3, r4, r10\n\t"          \
    "sxtb16 r2, r2\n\t"                   \
    "sxtb16 r3, r3\n\t"                   \
    "ldmia.w r0!, {r4, r5, r6}\n\t"       \
    "smlad r7, r2, r4, r7\n\t"            \
    "smlad r8, r2, r5, r8\n\t"            \
    "smlad r9, r2, r6, r9\n\t"            \
    "smlad r10, r3, r4, r10\n\t"          \
    "smlad r11, r3, r5, r11\n\t"          \
    "smlad r12, r3, r6, r12\n\t"
/* clang-format on */

/* Twice four values of three pixels times two channels, 48 MACs, all but the first loads and products of pixel 0:
 * its sums go from begin0 and begin1 to sum0 and sum1. The im2col buffer is read by X0 X1 X2 Y0 | Y1 Y2 X0 X1 |
 * X2 Y0 Y1 Y2. */
#define TFLMGEN_CONV2D_DSP_TWICE(w0, w1, begin0, begin1, first1, first2, first4, first5) \
    "ldmia.w r0!, {r4, r5, r6, lr}\n\t"                                                  \
    "smlad r8, " w0 ", r5, " first1 "\n\t"                                               \
    "smlad r9, " w0 ", r6, " first2 "\n\t"                                               \
    "smlad " begin0 ", " w0 ", r4, " begin0 "\n\t"                                       \
    "smlad r11, " w1 ", r5, " first4 "\n\t"                                              \
    "smlad r12, " w1 ", r6, " first5 "\n\t"                                              \
    "smlad " begin1 ", " w1 ", r4, " begin1 "\n\t"                                       \
    "sxtb16 " w0 ", " w0 "\n\t"                                                          \
    "sxtb16 " w1 ", " w1 "\n\t"                                                          \
    "smlad " begin0 ", " w0 ", lr, " begin0 "\n\t"                                       \
    "smlad " begin1 ", " w1 ", lr, " begin1 "\n\t"                                       \
    "ldmia.w r0!, {r4, r5, r6, lr}\n\t"                                                  \
    "smlad r8, " w0 ", r4, r8\n\t"                                                       \
    "smlad r9, " w0 ", r5, r9\n\t"                                                       \
    "smlad r11, " w1 ", r4, r11\n\t"                                                     \
    "smlad r12, " w1 ", r5, r12\n\t"                                                     \
    "ldrd " w0 ", " w1 ", [r1], #8\n\t"                                                  \
    "smlad " begin0 ", " w0 ", r6, " begin0 "\n\t"                                       \
    "smlad r8, " w0 ", lr, r8\n\t"                                                       \
    "smlad " begin1 ", " w1 ", r6, " begin1 "\n\t"                                       \
    "smlad r11, " w1 ", lr, r11\n\t"                                                     \
    "ldmia.w r0!, {r4, r5, r6, lr}\n\t"                                                  \
    "smlad r9, " w0 ", r4, r9\n\t"                                                       \
    "smlad r12, " w1 ", r4, r12\n\t"                                                     \
    "sxtb16 " w0 ", " w0 "\n\t"                                                          \
    "sxtb16 " w1 ", " w1 "\n\t"                                                          \
    "smlad r8, " w0 ", r6, r8\n\t"                                                       \
    "smlad r9, " w0 ", lr, r9\n\t"                                                       \
    "smlad r7, " w0 ", r5, " begin0 "\n\t"                                               \
    "smlad r11, " w1 ", r6, r11\n\t"                                                     \
    "smlad r12, " w1 ", lr, r12\n\t"                                                     \
    "smlad r10, " w1 ", r5, " begin1 "\n\t"

/* Eight values: 2 LDRD + 3 LDM + 4 SXTB16 + 24 SMLAD = 33 instructions. */
/* clang-format off */
#define TFLMGEN_CONV2D_DSP_MORE      \
    "ldrd r2, r3, [r1], #8\n\t"      \
    TFLMGEN_CONV2D_DSP_TWICE("r2", "r3", "r7", "r10", "r8", "r9", "r11", "r12")

/* The first two steps of windows of an even number of steps, with the biases in front of their weights: 1 LDM for
 * both, 33 instructions. */
#define TFLMGEN_CONV2D_DSP_FIRST_even         \
    "ldmia.w r1!, {r2, r3, r7, r10}\n\t"      \
    TFLMGEN_CONV2D_DSP_TWICE("r7", "r10", "r2", "r3", "r2", "r2", "r3", "r3")

/* The first four values, of weights r7 and r10, to sums that begin with r2 and r3: 16 instructions. */
#define TFLMGEN_CONV2D_DSP_FOUR               \
    "ldmia.w r0!, {r4, r5, r6}\n\t"           \
    "smlad r8, r7, r5, r2\n\t"                \
    "smlad r9, r7, r6, r2\n\t"                \
    "smlad r2, r7, r4, r2\n\t"                \
    "smlad r11, r10, r5, r3\n\t"              \
    "smlad r12, r10, r6, r3\n\t"              \
    "smlad r3, r10, r4, r3\n\t"               \
    "sxtb16 r7, r7\n\t"                       \
    "sxtb16 r10, r10\n\t"                     \
    "ldmia.w r0!, {r4, r5, r6}\n\t"           \
    "smlad r8, r7, r5, r8\n\t"                \
    "smlad r9, r7, r6, r9\n\t"                \
    "smlad r7, r7, r4, r2\n\t"                \
    "smlad r11, r10, r5, r11\n\t"             \
    "smlad r12, r10, r6, r12\n\t"             \
    "smlad r10, r10, r4, r3\n\t"

/* The same with the biases in front of their weights: 1 + 2 LDM + 2 SXTB16 + 12 SMLAD = 17 instructions. */
#define TFLMGEN_CONV2D_DSP_FIRST_odd          \
    "ldmia.w r1!, {r2, r3, r7, r10}\n\t"      \
    TFLMGEN_CONV2D_DSP_FOUR

/* The same behind the weights of rows above the input, with biases of their own: 22 instructions. */
#define TFLMGEN_CONV2D_DSP_FIRST_edge         \
    "ldr lr, [sp, #28]\n\t"                   \
    "ldrd r4, r5, [lr, #44]\n\t"              \
    "ldrd r2, r3, [r4], #8\n\t"               \
    "str r4, [lr, #44]\n\t"                   \
    "add r1, r1, r5\n\t"                      \
    "ldrd r7, r10, [r1], #8\n\t"              \
    TFLMGEN_CONV2D_DSP_FOUR
/* clang-format on */

/* In front of what comes after a pair's weights: past those of rows below the input. */
#define TFLMGEN_CONV2D_DSP_PASS_BELOW \
    "ldr r2, [sp, #28]\n\t"           \
    "ldr r2, [r2, #52]\n\t"           \
    "add r1, r1, r2\n\t"

/* What is left after the first values, in passes. The condition is HI: C says whether there are several passes, which
 * nothing from channel pair to channel pair changes; Z is only set in the last one of several. */
/* clang-format off */
#define TFLMGEN_CONV2D_DSP_REST(UNROLLED, CODE)                       \
    "2:\n\t"                                                          \
    "ldr lr, [sp, #20]\n\t"                                           \
    "teq r0, lr\n"                                                    \
    "4:\n\t"                                                          \
    TFLMGEN_CONV2D_DSP_REPEAT(UNROLLED, CODE)                         \
    "bhi.w 2b\n\t"
/* clang-format on */

#define TFLMGEN_CONV2D_DSP_REQUANTIZE_CLAMPED(sum, m, addend) "smmla " sum ", " sum ", " m ", " addend "\n\t"
#define TFLMGEN_CONV2D_DSP_REQUANTIZE_SIGNED(sum, m, addend) \
    "asr lr, " sum ", #31\n\t"                               \
    "smmla " sum ", " sum ", " m ", " addend "\n\t"          \
    "add " sum ", " sum ", lr, lsl #7\n\t"

#define TFLMGEN_CONV2D_DSP_ROUND(sum) \
    "asr " sum ", " sum ", r6\n\t"    \
    "ssat " sum ", #8, " sum "\n\t"

/* Two channels of three pixels to r2, r2 + r4 and r2 + 2 * r4. */
#define TFLMGEN_CONV2D_DSP_STORE \
    "bfi r7, r10, #8, #8\n\t"    \
    "bfi r8, r11, #8, #8\n\t"    \
    "bfi r9, r12, #8, #8\n\t"    \
    "strh r8, [r2, r4]\n\t"      \
    "strh r9, [r2, r4, lsl #1]\n\t"

/* After the last step of a pair of channels, whose sums are r7 to r12. On the stack: the im2col buffer, where r0 goes
 * again, the output, its channels, its end. Z at the end: whether this was the last pair. Each channel with its own
 * shift: 32 instructions, 44 where signed. */
/* clang-format off */
#define TFLMGEN_CONV2D_DSP_FINISH(REQUANTIZE)                                                 \
    "ldmia.w r1!, {r2, r3, r4, r5, r6}\n\t"                                                   \
    REQUANTIZE("r7", "r2", "r3") REQUANTIZE("r8", "r2", "r3") REQUANTIZE("r9", "r2", "r3")    \
    REQUANTIZE("r10", "r4", "r5") REQUANTIZE("r11", "r4", "r5") REQUANTIZE("r12", "r4", "r5") \
    TFLMGEN_CONV2D_DSP_ROUND("r7") TFLMGEN_CONV2D_DSP_ROUND("r8")                             \
    TFLMGEN_CONV2D_DSP_ROUND("r9")                                                            \
    "lsr r6, r6, #8\n\t"                                                                      \
    TFLMGEN_CONV2D_DSP_ROUND("r10") TFLMGEN_CONV2D_DSP_ROUND("r11")                           \
    TFLMGEN_CONV2D_DSP_ROUND("r12")                                                           \
    "ldmia.w sp, {r0, r2, r4}\n\t" TFLMGEN_CONV2D_DSP_STORE                                   \
    "strh r7, [r2]\n\t"                                                                       \
    "lsr r6, r6, #8\n\t"                                                                      \
    "add r2, r2, r6\n\t"                                                                      \
    "str r2, [sp, #4]\n\t"                                                                    \
    "tst r6, r6\n\t"
/* clang-format on */
#define TFLMGEN_CONV2D_DSP_FINISH_clamped TFLMGEN_CONV2D_DSP_FINISH(TFLMGEN_CONV2D_DSP_REQUANTIZE_CLAMPED)
#define TFLMGEN_CONV2D_DSP_FINISH_signed TFLMGEN_CONV2D_DSP_FINISH(TFLMGEN_CONV2D_DSP_REQUANTIZE_SIGNED)

/* All channels with the shift TFLMGEN_DSP_SHIFT, which SSAT takes along: 22 instructions. */
/* clang-format off */
#define TFLMGEN_CONV2D_DSP_FINISH_uniform                                                                \
    "ldmia.w r1!, {r2, r3, r4, r5}\n\t"                                                                  \
    "smmla r7, r7, r2, r3\n\tsmmla r8, r8, r2, r3\n\tsmmla r9, r9, r2, r3\n\t"                           \
    "smmla r10, r10, r4, r5\n\tsmmla r11, r11, r4, r5\n\tsmmla r12, r12, r4, r5\n\t"                     \
    TFLMGEN_DSP_SATURATE("r7") TFLMGEN_DSP_SATURATE("r8")                                                \
    TFLMGEN_DSP_SATURATE("r9") TFLMGEN_DSP_SATURATE("r10")                                               \
    TFLMGEN_DSP_SATURATE("r11") TFLMGEN_DSP_SATURATE("r12")                                              \
    "ldmia.w sp, {r0, r2, r4, r5}\n\t" TFLMGEN_CONV2D_DSP_STORE                                          \
    "strh r7, [r2], #2\n\t"                                                                              \
    "str r2, [sp, #4]\n\t"                                                                               \
    "teq r2, r5\n\t"
/* clang-format on */

/* The stack frame, from sp up: im2col, output, channels, end of the output, entry of the first pass, the im2col buffer
 * in the last pass, stream, blocks. r9 is the last one then. */
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

/* From block to block: the next one's output and input, or on at 9. */
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

/* Consecutive blocks. Registers: r0 im2col, r1 stream, r2-r3 weights, r4-r6 and lr inputs, r7-r9 sums of channel 0,
 * r10-r12 of channel 1. A pair of channels costs 3 instructions around its values and outputs, of which LDR is the only
 * branch that is taken; a block 22. */
/* clang-format off */
#define TFLMGEN_CONV2D_DSP_BLOCK(name, FIRST, REST, FINISH)                                                            \
    TFLMGEN_SHARED void name(tflmgen_u32 *im2col, const tflmgen_u32 *stream, int8_t *output,                           \
                             struct tflmgen_conv2d_dsp_blocks *blocks)                                                 \
    {                                                                                                                  \
        TFLMGEN_IN_REGISTERS_4(im2col, stream, output, blocks);                                                        \
        __asm__ volatile(TFLMGEN_CONV2D_DSP_BEGIN_BLOCKS                                                               \
                         "ldmia.w r9!, {r3, r4, r5}\n"                                                                 \
                         "0:\n\t"                                                                                      \
                         "ldmia.w r9, {r0, r1, r2, r3, r10, r11, r12, lr}\n\t"                                         \
                         "add r1, r1, r5\n\t"                                                                          \
                         "str r1, [r9, #4]\n\t"                                                                        \
                         "blx lr\n\t"                                                                                  \
                         "ldr r0, [sp]\n\t"                                                                            \
                         "ldr lr, [sp, #20]\n\t"                                                                       \
                         "ldr r1, [sp, #24]\n\t"                                                                       \
                         "cmp lr, r0\n\t"                                                                              \
                         "b 1f\n\t"                                                                                    \
                         ".p2align 2\n"                                                                                \
                         REST FINISH                                                                                   \
                         "beq 3f\n"                                                                                    \
                         "1:\n\t" FIRST                                                                                \
                         "ldr pc, [sp, #16]\n"                                                                         \
                         "3:\n\t" TFLMGEN_CONV2D_DSP_NEXT_BLOCK                                                        \
                         "b 0b\n"                                                                                      \
                         "9:\n\t"                                                                                      \
                         "add sp, sp, #32\n\t"                                                                         \
                         "pop {r4-r11, lr}"                                                                            \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                                      \
                         :                                                                                             \
                         : "r12", "cc", "memory");                                                                     \
    }
/* clang-format on */

/* Compact: windows of any number of steps, in the least code. */
#define TFLMGEN_CONV2D_DSP_COMPACT_BLOCK(KIND)                                                           \
    TFLMGEN_CONV2D_DSP_BLOCK(tflmgen_conv2d_dsp_block_compact_##KIND, TFLMGEN_CONV2D_DSP_FIRST_odd,      \
                             TFLMGEN_CONV2D_DSP_REST(TFLMGEN_CONV2D_DSP_STEPS, TFLMGEN_CONV2D_DSP_STEP), \
                             TFLMGEN_CONV2D_DSP_FINISH_##KIND)

/* COUNT: whether the number of steps is odd or even. */
#define TFLMGEN_CONV2D_DSP_COUNTED_BLOCK(KIND, COUNT)                                                       \
    TFLMGEN_CONV2D_DSP_BLOCK(tflmgen_conv2d_dsp_block_##KIND##_##COUNT, TFLMGEN_CONV2D_DSP_FIRST_##COUNT,   \
                             TFLMGEN_CONV2D_DSP_REST(TFLMGEN_CONV2D_DSP_UNROLLED, TFLMGEN_CONV2D_DSP_MORE), \
                             TFLMGEN_CONV2D_DSP_FINISH_##KIND)
#define TFLMGEN_CONV2D_DSP_BLOCKS(KIND)          \
    TFLMGEN_CONV2D_DSP_COUNTED_BLOCK(KIND, even) \
    TFLMGEN_CONV2D_DSP_COUNTED_BLOCK(KIND, odd)

/* Edge: windows without their rows above or below the input, of any number of steps. */
#define TFLMGEN_CONV2D_DSP_EDGE_BLOCK(KIND)                                                                   \
    TFLMGEN_CONV2D_DSP_BLOCK(tflmgen_conv2d_dsp_block_##KIND##_edge, TFLMGEN_CONV2D_DSP_FIRST_edge,           \
                             TFLMGEN_CONV2D_DSP_REST(TFLMGEN_CONV2D_DSP_EDGE_STEPS, TFLMGEN_CONV2D_DSP_STEP), \
                             TFLMGEN_CONV2D_DSP_PASS_BELOW TFLMGEN_CONV2D_DSP_FINISH_##KIND)

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
    const int32_t left = (steps - 1) / unit_steps;
    const int32_t passes = tflmgen_max_s32((left + unrolled - 1) / unrolled, 1);
    const int32_t bytes = unit_steps == 1 ? TFLMGEN_CONV2D_DSP_STEP_BYTES : TFLMGEN_CONV2D_DSP_TWICE_BYTES;
    const int32_t last = passes > 1 ? 24 * (steps - unit_steps * unrolled) : -4;
    const struct tflmgen_conv2d_dsp_blocks blocks = {
        channels, (unrolled * passes - left) * bytes, last, 1, 0, 0, 0, 0, 0, {0, 0, 0},
        0,        tflmgen_conv2d_dsp_fill_nothing};
    return blocks;
}

/* All output channels of one pixel, for those behind the last whole block. sign_fix: what a negative sum's requantised
 * value loses. uniform: all channels have the shift TFLMGEN_DSP_SHIFT, and no control words. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_pixel(const tflmgen_u32 *lane, const tflmgen_u32 *stream, int8_t *output,
                                             int32_t steps, int32_t channels, int32_t sign_fix, bool uniform)
{
    const int8_t *const end = output + channels;
    const uint32_t common = 2u << 16 | TFLMGEN_DSP_SHIFT * 0x101u;
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
        control = uniform ? common : stream[4];
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
