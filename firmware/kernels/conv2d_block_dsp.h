/* The inner loops of CONV_2D in int8 for cores with the DSP extension: three pixels times all output channels.
 *
 * The three windows are widened into a column: for every four of a window's values the words X of the three pixels and
 * then their words Y (see dsp.h). The weights are a stream of channel pairs, in the order of use:
 *     bias0 bias1 | four weights of each, times `steps` | m0 ra0 m1 ra1 | s0 + 256 s1 + 65536 * (to the next pair)
 * The last word is only there where channels differ in their shifts, or their number is odd.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_BLOCK_DSP_H
#define TFLMGEN_KERNELS_CONV2D_BLOCK_DSP_H

#include "dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* What a block needs to know, in the order in which the assembly reads it. */
struct tflmgen_conv2d_dsp_block {
    int32_t passes; /* of the loop over all steps but the first, unrolled TFLMGEN_CONV2D_DSP_UNROLLED times */
    int32_t skip;   /* bytes of code that the first pass leaves out */
    int32_t channels;
};

typedef void tflmgen_conv2d_dsp_block_function(uint32_t *column, const uint32_t *stream, int8_t *output,
                                               const struct tflmgen_conv2d_dsp_block *block);

typedef void tflmgen_conv2d_dsp_pixel_function(const uint32_t *lane, const uint32_t *stream, int8_t *output, int32_t steps,
                                               int32_t channels, int32_t sign_fix, int32_t shift);

#define TFLMGEN_CONV2D_DSP_STEP_BYTES 68
#ifdef __OPTIMIZE_SIZE__
#define TFLMGEN_CONV2D_DSP_UNROLLED 8
#else
#define TFLMGEN_CONV2D_DSP_UNROLLED 16
#endif
#define TFLMGEN_CONV2D_DSP_TEXT(number) #number /* of a macro's value */
#define TFLMGEN_CONV2D_DSP_STEPS_OF(number, WIDEN) \
    ".rept " TFLMGEN_CONV2D_DSP_TEXT(number) "\n\t" TFLMGEN_CONV2D_DSP_MORE(WIDEN) ".endr\n\t"
#define TFLMGEN_CONV2D_DSP_STEPS(number) TFLMGEN_CONV2D_DSP_STEPS_OF(number, "sxtb16")

/* Four values of three pixels times two channels, 24 MACs: 1 LDRD + 2 LDM + 2 SXTB16 + 12 SMLAD = 17 instructions.
 * WIDEN: sxtb16, or uxtb16 for offset pairs. */
#define TFLMGEN_CONV2D_DSP_MORE(WIDEN)        \
    "ldrd r2, r3, [r1], #8\n\t"               \
    "ldmia.w r0!, {r4, r5, r6}\n\t"           \
    "smlad r8, r2, r5, r8\n\t"                \
    "smlad r9, r2, r6, r9\n\t"                \
    "smlad r7, r2, r4, r7\n\t"                \
    "smlad r11, r3, r5, r11\n\t"              \
    "smlad r12, r3, r6, r12\n\t"              \
    "smlad r10, r3, r4, r10\n\t"              \
    WIDEN " r2, r2\n\t"                       \
    WIDEN " r3, r3\n\t"                       \
    "ldmia.w r0!, {r4, r5, r6}\n\t"           \
    "smlad r7, r2, r4, r7\n\t"                \
    "smlad r8, r2, r5, r8\n\t"                \
    "smlad r9, r2, r6, r9\n\t"                \
    "smlad r10, r3, r4, r10\n\t"              \
    "smlad r11, r3, r5, r11\n\t"              \
    "smlad r12, r3, r6, r12\n\t"
/* The first step, with the biases in front of its weights: 1 LDM for both, 17 instructions. */
#define TFLMGEN_CONV2D_DSP_FIRST(WIDEN)       \
    "ldmia.w r1!, {r2, r3, r7, r10}\n\t"      \
    "ldmia.w r0!, {r4, r5, r6}\n\t"           \
    "smlad r8, r7, r5, r2\n\t"                \
    "smlad r9, r7, r6, r2\n\t"                \
    "smlad r2, r7, r4, r2\n\t"                \
    "smlad r11, r10, r5, r3\n\t"              \
    "smlad r12, r10, r6, r3\n\t"              \
    "smlad r3, r10, r4, r3\n\t"               \
    WIDEN " r7, r7\n\t"                       \
    WIDEN " r10, r10\n\t"                     \
    "ldmia.w r0!, {r4, r5, r6}\n\t"           \
    "smlad r8, r7, r5, r8\n\t"                \
    "smlad r9, r7, r6, r9\n\t"                \
    "smlad r7, r7, r4, r2\n\t"                \
    "smlad r11, r10, r5, r11\n\t"             \
    "smlad r12, r10, r6, r12\n\t"             \
    "smlad r10, r10, r4, r3\n\t"

#define TFLMGEN_CONV2D_DSP_RESCALE_CLAMPED(sum, m, ra) "smmla " sum ", " sum ", " m ", " ra "\n\t"
#define TFLMGEN_CONV2D_DSP_RESCALE_SIGNED(sum, m, ra) \
    "asr lr, " sum ", #31\n\t"                        \
    "smmla " sum ", " sum ", " m ", " ra "\n\t"       \
    "add " sum ", " sum ", lr, lsl #7\n\t"

#define TFLMGEN_CONV2D_DSP_ROUND(sum) \
    "asr " sum ", " sum ", r6\n\t"    \
    "ssat " sum ", #8, " sum "\n\t"

/* Two channels of three pixels to r0, r0 + r4 and r0 + 2 * r4. */
#define TFLMGEN_CONV2D_DSP_STORE         \
    "bfi r7, r10, #8, #8\n\t"            \
    "bfi r8, r11, #8, #8\n\t"            \
    "bfi r9, r12, #8, #8\n\t"            \
    "strh r8, [r0, r4]\n\t"              \
    "strh r9, [r0, r4, lsl #1]\n\t"

/* After the last step of a pair of channels, whose sums are r7 to r12. On the stack: the output, its channels, its end.
 * Each channel with its own shift: 31 instructions, 43 where signed. */
#define TFLMGEN_CONV2D_DSP_FINISH(RESCALE)                                        \
    "ldmia.w r1!, {r2, r3, r4, r5, r6}\n\t"                                       \
    RESCALE("r7", "r2", "r3") RESCALE("r8", "r2", "r3") RESCALE("r9", "r2", "r3") \
    RESCALE("r10", "r4", "r5") RESCALE("r11", "r4", "r5") RESCALE("r12", "r4", "r5") \
    TFLMGEN_CONV2D_DSP_ROUND("r7") TFLMGEN_CONV2D_DSP_ROUND("r8")                 \
    TFLMGEN_CONV2D_DSP_ROUND("r9")                                                \
    "lsrs r6, r6, #8\n\t"                                                         \
    TFLMGEN_CONV2D_DSP_ROUND("r10") TFLMGEN_CONV2D_DSP_ROUND("r11")               \
    TFLMGEN_CONV2D_DSP_ROUND("r12")                                               \
    "ldrd r0, r4, [sp]\n\t" TFLMGEN_CONV2D_DSP_STORE                              \
    "strh r7, [r0]\n\t"                                                           \
    "lsrs r6, r6, #8\n\t"                                                         \
    "add r0, r0, r6\n\t"                                                          \
    "str r0, [sp]\n\t"                                                            \
    "bne.w 1b\n\t"

/* All channels with one shift: 23 instructions. */
#define TFLMGEN_CONV2D_DSP_FINISH_SHIFT(SHIFT)                                                           \
    "ldmia.w r1!, {r2, r3, r4, r5}\n\t"                                                                  \
    "smmla r7, r7, r2, r3\n\tsmmla r8, r8, r2, r3\n\tsmmla r9, r9, r2, r3\n\t"                           \
    "smmla r10, r10, r4, r5\n\tsmmla r11, r11, r4, r5\n\tsmmla r12, r12, r4, r5\n\t"                     \
    "ssat r7, #8, r7, asr #" SHIFT "\n\tssat r8, #8, r8, asr #" SHIFT "\n\t"                             \
    "ssat r9, #8, r9, asr #" SHIFT "\n\tssat r10, #8, r10, asr #" SHIFT "\n\t"                           \
    "ssat r11, #8, r11, asr #" SHIFT "\n\tssat r12, #8, r12, asr #" SHIFT "\n\t"                         \
    "ldmia.w sp, {r0, r4, r5}\n\t" TFLMGEN_CONV2D_DSP_STORE                                              \
    "strh r7, [r0], #2\n\t"                                                                              \
    "str r0, [sp]\n\t"                                                                                   \
    "cmp r0, r5\n\t"                                                                                     \
    "bne.w 1b\n\t"

/* Registers: r0 column, r1 stream, r2-r3 weights, r4-r6 inputs, r7-r9 sums of channel 0, r10-r12 of channel 1, lr
 * passes. Stack: output, channels, end of the output, column, passes, entry of the first pass. A pair of channels costs 2
 * instructions around its first step, for 6 outputs. */
#define TFLMGEN_CONV2D_DSP_BLOCK(name, FINISH) TFLMGEN_CONV2D_DSP_BLOCK_OF(name, "sxtb16", FINISH)
#define TFLMGEN_CONV2D_DSP_BLOCK_OF(name, WIDEN, FINISH)                                                               \
    TFLMGEN_SHARED void name(uint32_t *column, const uint32_t *stream, int8_t *output,                                 \
                             const struct tflmgen_conv2d_dsp_block *block)                                             \
    {                                                                                                                  \
        register uint32_t *r0 __asm__("r0") = column;                                                                  \
        register const uint32_t *r1 __asm__("r1") = stream;                                                            \
        register int8_t *r2 __asm__("r2") = output;                                                                    \
        register const struct tflmgen_conv2d_dsp_block *r3 __asm__("r3") = block;                                      \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                                                       \
                         "ldmia.w r3, {r6, r7, r8}\n\t"                                                                \
                         "adr r9, 2f\n\t"                                                                              \
                         "add r7, r7, r9\n\t"                                                                          \
                         "orr r7, r7, #1\n\t"                                                                          \
                         "mov r5, r0\n\t"                                                                              \
                         "mov r3, r8\n\t"                                                                              \
                         "add r4, r2, r8\n\t"                                                                          \
                         "push {r2-r7}\n"                                                                              \
                         "1:\n\t"                                                                                      \
                         "ldrd r0, lr, [sp, #12]\n\t"                                                                  \
                         TFLMGEN_CONV2D_DSP_FIRST(WIDEN)                                                               \
                         "ldr pc, [sp, #20]\n\t"                                                                       \
                         ".p2align 2\n"                                                                                \
                         "2:\n\t"                                                                                      \
                         TFLMGEN_CONV2D_DSP_STEPS_OF(TFLMGEN_CONV2D_DSP_UNROLLED, WIDEN)                               \
                         "subs lr, lr, #1\n\t"                                                                         \
                         "bne.w 2b\n\t"                                                                                \
                         FINISH                                                                                        \
                         "add sp, sp, #24\n\t"                                                                         \
                         "pop {r4-r11, lr}"                                                                            \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                                      \
                         :                                                                                             \
                         : "r12", "cc", "memory");                                                                     \
    }

/* Channels with their own shifts, outputs clamped at the zero point or not; and all channels with one shift. */
TFLMGEN_CONV2D_DSP_BLOCK(tflmgen_conv2d_dsp_block_clamped, TFLMGEN_CONV2D_DSP_FINISH(TFLMGEN_CONV2D_DSP_RESCALE_CLAMPED))
TFLMGEN_CONV2D_DSP_BLOCK(tflmgen_conv2d_dsp_block_signed, TFLMGEN_CONV2D_DSP_FINISH(TFLMGEN_CONV2D_DSP_RESCALE_SIGNED))
TFLMGEN_CONV2D_DSP_BLOCK(tflmgen_conv2d_dsp_block_shift9, TFLMGEN_CONV2D_DSP_FINISH_SHIFT("9"))
TFLMGEN_CONV2D_DSP_BLOCK(tflmgen_conv2d_dsp_block_shift10, TFLMGEN_CONV2D_DSP_FINISH_SHIFT("10"))
TFLMGEN_CONV2D_DSP_BLOCK(tflmgen_conv2d_dsp_block_shift11, TFLMGEN_CONV2D_DSP_FINISH_SHIFT("11"))
TFLMGEN_CONV2D_DSP_BLOCK(tflmgen_conv2d_dsp_block_shift12, TFLMGEN_CONV2D_DSP_FINISH_SHIFT("12"))
TFLMGEN_CONV2D_DSP_BLOCK(tflmgen_conv2d_dsp_block_shift13, TFLMGEN_CONV2D_DSP_FINISH_SHIFT("13"))
TFLMGEN_CONV2D_DSP_BLOCK(tflmgen_conv2d_dsp_block_shift14, TFLMGEN_CONV2D_DSP_FINISH_SHIFT("14"))
TFLMGEN_CONV2D_DSP_BLOCK(tflmgen_conv2d_dsp_block_shift15, TFLMGEN_CONV2D_DSP_FINISH_SHIFT("15"))

/* For a loop over `steps` steps behind the first, which may be none. */
TFLMGEN_HELPER struct tflmgen_conv2d_dsp_block tflmgen_conv2d_dsp_block_of(int32_t steps, int32_t channels)
{
    const int32_t unrolled = TFLMGEN_CONV2D_DSP_UNROLLED;
    const int32_t passes = tflmgen_max_s32((steps + unrolled - 1) / unrolled, 1);
    const struct tflmgen_conv2d_dsp_block block = {
        passes, (unrolled * passes - steps) * TFLMGEN_CONV2D_DSP_STEP_BYTES, channels};
    return block;
}

/* One pixel, for what is left after the last whole block. sign_fix: what a negative sum's rescaled value loses. shift: of
 * all channels, or 0 where each pair has its control word. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_pixel(const uint32_t *lane, const uint32_t *stream, int8_t *output,
                                             int32_t steps, int32_t channels, int32_t sign_fix, int32_t shift)
{
    const int8_t *const end = output + channels;
    const uint32_t common = 2u << 16 | (uint32_t)shift * 0x101u;
    uint32_t control;
    do {
        const uint32_t *x = lane;
        int32_t sum0 = (int32_t)stream[0];
        int32_t sum1 = (int32_t)stream[1];
        stream += 2;
#pragma GCC unroll 4
        for (int32_t step = 0; step < steps; ++step, x += 6, stream += 2) {
            sum0 = tflmgen_smlad(stream[0], x[0], sum0);
            sum1 = tflmgen_smlad(stream[1], x[0], sum1);
            sum0 = tflmgen_smlad(tflmgen_even_bytes(stream[0]), x[3], sum0);
            sum1 = tflmgen_smlad(tflmgen_even_bytes(stream[1]), x[3], sum1);
        }
        control = shift ? common : stream[4];
        const int32_t scaled0 = tflmgen_smmla(sum0, (int32_t)stream[0], (int32_t)stream[1]) + tflmgen_sign_mask(sum0) * sign_fix;
        const int32_t scaled1 = tflmgen_smmla(sum1, (int32_t)stream[2], (int32_t)stream[3]) + tflmgen_sign_mask(sum1) * sign_fix;
        output[0] = (int8_t)tflmgen_saturate_s8(scaled0 >> (control & 255u));
        output[1] = (int8_t)tflmgen_saturate_s8(scaled1 >> (control >> 8 & 255u));
        output += control >> 16;
        stream += shift ? 4 : 5;
    } while (control >> 16 && output != end);
}

#endif

#endif
