/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D in int8 for cores with the DSP extension: one part of the windows of a block, times all output channels
 * (conv2d_split_dsp.h). The sums of all channels wait in memory from part to part, six for each pair of channels, in
 * the order of r7 to r12 (conv2d_steps_dsp.h).
 */
#ifndef TFLMGEN_KERNELS_CONV2D_SPLIT_PART_DSP_H
#define TFLMGEN_KERNELS_CONV2D_SPLIT_PART_DSP_H

#include "conv2d_steps_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

#ifdef __OPTIMIZE_SIZE__
#define TFLMGEN_CONV2D_SPLIT_DSP_STEP_PAIRS 4 /* of a pass */
#else
#define TFLMGEN_CONV2D_SPLIT_DSP_STEP_PAIRS 6
#endif

/* A part of a block, in the order in which the assembly reads it. */
struct tflmgen_conv2d_split_dsp_part {
    int32_t last_pass;  /* bytes of the im2col buffer in front of it, see conv2d_block_dsp.h */
    int32_t skip_bytes; /* of code that the first pass leaves out, from the loop's first instruction on */
    int32_t entry;      /* bytes of code from there to where a pair begins: that pass, a single step, or behind all */
    int32_t channels;
    tflmgen_u32 *sums;
    tflmgen_u32 *sums_end;
    const tflmgen_u32 *starts; /* two biases for each pair, where rows are left out */
    int32_t skip_stream; /* bytes of a pair in front of its weights then, or of all its weights, which are left out */
};

/* How the sums of a part begin: with those of the part before, the biases of the stream, or `starts`. */
enum { TFLMGEN_CONV2D_SPLIT_DSP_CONTINUE, TFLMGEN_CONV2D_SPLIT_DSP_BIASES, TFLMGEN_CONV2D_SPLIT_DSP_STARTS };

typedef void tflmgen_conv2d_split_dsp_last_part(const tflmgen_u32 *im2col, const tflmgen_u32 *stream, int8_t *output,
                                                const struct tflmgen_conv2d_split_dsp_part *part);

/* A part's steps: 33 instructions for two, and 18 for the single one in front of them where their number is odd.
 * first_pass: where on the stack its entry is. */
#define TFLMGEN_CONV2D_SPLIT_DSP_SINGLE_BYTES 80
#define TFLMGEN_CONV2D_SPLIT_DSP_PASS_BYTES \
    (TFLMGEN_CONV2D_SPLIT_DSP_SINGLE_BYTES + 12) /* from where all steps are passed by */
/* clang-format off */
#define TFLMGEN_CONV2D_SPLIT_DSP_STEPS(first_pass) \
    ".p2align 2\n\t"                               \
    TFLMGEN_CONV2D_DSP_STEP                        \
    "ldr pc, [sp, " first_pass "]\n"               \
    TFLMGEN_CONV2D_DSP_PASSES(TFLMGEN_CONV2D_SPLIT_DSP_STEP_PAIRS, TFLMGEN_CONV2D_DSP_STEP_PAIR)

/* The first instructions of a part, whose address is in r3: afterwards r5 is the entry of the first pass, r10 that of a
 * pair, r11 the im2col buffer in the last pass; r7, r8 and r9 are channels, sums and their end. */
#define TFLMGEN_CONV2D_SPLIT_DSP_BEGIN                                                                                 \
    "push {r4-r11, lr}\n\t"                                                                                            \
    "ldmia.w r3, {r4, r5, r6, r7, r8, r9}\n\t"                                                                         \
    "adr lr, 4f\n\t"                                                                                                   \
    "add r5, r5, lr\n\t"                                                                                               \
    "add r6, r6, lr\n\t"                                                                                               \
    "orr r5, r5, #1\n\t"                                                                                               \
    "orr r10, r6, #1\n\t"                                                                                              \
    "add r11, r4, r0\n\t"
/* clang-format on */

/* Any part but the last: its products are added to the sums. Registers and conditions as in conv2d_steps_dsp.h. Stack:
 *
 *      0  im2col buffer       12  entry of the first pass           24  where sums come from: 5, 6 or 7
 *      4  next sums           16  entry of a pair                   28  next starts
 *      8  end of the sums     20  im2col buffer in the last pass    32  skip_stream
 *
 * A pair begins at 5 with the biases of the stream, at 6 with its sums, at 7 with `starts`. */
TFLMGEN_SHARED void tflmgen_conv2d_split_dsp_add_part(const tflmgen_u32 *im2col, const tflmgen_u32 *stream,
                                                      int32_t begins, const struct tflmgen_conv2d_split_dsp_part *part)
{
    TFLMGEN_IN_REGISTERS_4(im2col, stream, begins, part);
    /* clang-format off */
    __asm__ volatile(TFLMGEN_CONV2D_SPLIT_DSP_BEGIN
                     "ldrd r3, r4, [r3, #24]\n\t"
                     "push {r3, r4}\n\t"
                     "mov r6, r8\n\t"
                     "mov r8, r9\n\t"
                     "mov r9, r5\n\t"
                     "adr r3, 5f\n\t"
                     "adr r4, 7f\n\t"
                     "adr r12, 6f\n\t"
                     "cmp r2, #1\n\t"
                     "it eq\n\t"
                     "moveq r12, r3\n\t"
                     "it hi\n\t"
                     "movhi r12, r4\n\t"
                     "orr r12, r12, #1\n\t"
                     "cmp r11, r0\n\t"
                     "push {r0, r6, r8, r9, r10, r11, r12}\n\t"
                     "mov r2, r6\n\t"
                     "bx r12\n\t"
                     TFLMGEN_CONV2D_SPLIT_DSP_STEPS("#12")
                     "ldmia.w sp, {r0, r2, r3}\n\t"
                     "stmia.w r2!, {r7, r8, r9, r10, r11, r12}\n\t"
                     "str r2, [sp, #4]\n\t"
                     "teq r2, r3\n\t"
                     "it ne\n\t"
                     "ldrne pc, [sp, #24]\n\t"
                     "add sp, sp, #36\n\t"
                     "b 3f\n\t"
                     ".p2align 2\n"
                     "7:\n\t"
                     "ldr r3, [sp, #28]\n\t"
                     "ldrd r7, r10, [r3], #8\n\t"
                     "str r3, [sp, #28]\n\t"
                     "ldr r3, [sp, #32]\n\t"
                     "add r1, r1, r3\n\t"
                     "b 8f\n\t"
                     ".p2align 2\n"
                     "5:\n\t"
                     "ldrd r7, r10, [r1], #8\n"
                     "8:\n\t"
                     "mov r8, r7\n\t"
                     "mov r9, r7\n\t"
                     "mov r11, r10\n\t"
                     "mov r12, r10\n\t"
                     "ldr pc, [sp, #16]\n\t"
                     ".p2align 2\n"
                     "6:\n\t"
                     "ldmia.w r2, {r7, r8, r9, r10, r11, r12}\n\t"
                     "ldr pc, [sp, #16]\n"
                     "3:\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "r12", "cc", "memory");
    /* clang-format on */
}

/* The last part, whose sums become outputs; KIND is signed or uniform (conv2d_steps_dsp.h). Stack:
 *
 *      0  im2col buffer     12  end of the outputs                24  next sums
 *      4  next output       16  entry of a pair                   28  entry of the first pass
 *      8  channels          20  im2col buffer in the last pass    32  skip_stream
 *
 * A pair begins at 1, and 9 is behind its steps. */
/* clang-format off */
#define TFLMGEN_CONV2D_SPLIT_DSP_LAST_PART(KIND)                              \
    TFLMGEN_SHARED void tflmgen_conv2d_split_dsp_last_##KIND(                 \
        const tflmgen_u32 *im2col, const tflmgen_u32 *stream, int8_t *output, \
        const struct tflmgen_conv2d_split_dsp_part *part)                     \
    {                                                                         \
        TFLMGEN_IN_REGISTERS_4(im2col, stream, output, part);                 \
        __asm__ volatile(TFLMGEN_CONV2D_SPLIT_DSP_BEGIN                       \
                         "ldr r3, [r3, #28]\n\t"                              \
                         "push {r3}\n\t"                                      \
                         "add r9, r2, r7\n\t"                                 \
                         "mov r12, r8\n\t"                                    \
                         "mov lr, r5\n\t"                                     \
                         "cmp r11, r0\n\t"                                    \
                         "push {r0, r2, r7, r9, r10, r11, r12, lr}\n\t"       \
                         "b 1f\n\t"                                           \
                         ".p2align 2\n\t"                                     \
                         "ldr.w r3, [sp, #32]\n\t"                            \
                         "add.w r1, r1, r3\n\t"                               \
                         "b.w 9f\n\t"                                         \
                         TFLMGEN_CONV2D_SPLIT_DSP_STEPS("#28")                \
                         "9:\n\t"                                             \
                         TFLMGEN_CONV2D_DSP_FINISH_##KIND                     \
                         "beq 3f\n"                                           \
                         "1:\n\t"                                             \
                         "ldr r2, [sp, #24]\n\t"                              \
                         "ldmia.w r2!, {r7, r8, r9, r10, r11, r12}\n\t"       \
                         "str r2, [sp, #24]\n\t"                              \
                         "ldr pc, [sp, #16]\n"                                \
                         "3:\n\t"                                             \
                         "add sp, sp, #36\n\t"                                \
                         "pop {r4-r11, lr}"                                   \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)             \
                         :                                                    \
                         : "r12", "cc", "memory");                            \
    }
/* clang-format on */

TFLMGEN_CONV2D_SPLIT_DSP_LAST_PART(signed)
TFLMGEN_CONV2D_SPLIT_DSP_LAST_PART(uniform)

#endif

#endif
