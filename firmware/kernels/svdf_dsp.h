/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* SVDF in int8 for cores with the DSP extension. The results are those of svdf.h.
 *
 * The newest activations of up to 32 filters are computed at a time (requantized_rows_dsp.h). Then each filter's memory
 * moves on as it is weighed, by words of four activations of int8 or two of int16, which are read from any address:
 *
 *     state_in       a0 | a1 a2 a3 a4 | a5 a6 a7
 *     state               a1 a2 a3 a4 | a5 a6 a7 newest      memories of whole words, at least two
 *
 *     state_in       a0 | a1 a2 a3 a4 | a5
 *     state               a1 a2 a3 a4 | a5 | newest          `any`: words, single values, the newest activation
 */
#ifndef TFLMGEN_KERNELS_SVDF_DSP_H
#define TFLMGEN_KERNELS_SVDF_DSP_H

#include <string.h>

#include "requantized_rows_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* Filters whose newest activations are on the stack. */
#define TFLMGEN_SVDF_DSP_FILTERS 32

struct tflmgen_svdf_dsp {
    int32_t batches;
    int32_t inputs;
    int32_t units;
    int32_t rank; /* at most 8 */
    int32_t memory;
    int32_t scale[4]; /* from sums of products to the state */
    int32_t state_zero_point;
    int32_t output_multiplier;
    int32_t output_right_shift; /* at least 1 */
    int32_t output_zero_point;
};

/* Some units, in the order in which the assembly reads them. */
struct tflmgen_svdf_dsp_units {
    const void *old; /* the next filter's second oldest activation; all pointers but newest and end move on by a call */
    void *state;
    const void *weights;
    const tflmgen_s16 *newest; /* of each filter */
    const tflmgen_s32 *biases; /* of units, the state's zero point folded in */
    int8_t *output;
    const int8_t *end; /* of the outputs */
    int32_t words;     /* whole ones of a filter's memory without the newest activation */
    int32_t rank;
    int32_t zero_point; /* of the state */
    int32_t multiplier;
    int32_t right_shift_less_1; /* of the output */
    int32_t output_zero_point;
    int32_t single_values; /* of a filter's memory, between the words and the newest activation */
};

/* State of int8. WEIGH: four activations in r5 times four weights in r6, added to r4. */
#define TFLMGEN_SVDF_DSP_WEIGH_S8 \
    "sxtb16 r7, r5\n\t"           \
    "sxtb16 r8, r6\n\t"           \
    "smlad r4, r7, r8, r4\n\t"    \
    "sxtb16 r5, r5, ror #8\n\t"   \
    "sxtb16 r6, r6, ror #8\n\t"   \
    "smlad r4, r5, r6, r4\n\t"
/* The newest activation, r9, saturated, with the state's zero point. */
#define TFLMGEN_SVDF_DSP_ADD_ZERO_POINT_S8 \
    "ldr r7, [sp, #12]\n\t"                \
    "ssat r9, #8, r9\n\t"                  \
    "add r9, r9, r7\n\t"
/* r5 = the last word: the three activations at r0, and the newest one. */
#define TFLMGEN_SVDF_DSP_LAST_WORD_S8 \
    "ldr r5, [r0, #-1]\n\t"           \
    "lsr r5, r5, #8\n\t"              \
    "orr r5, r5, r9, lsl #24\n\t"
/* A single activation moves on by r5, with its weight in r6. */
#define TFLMGEN_SVDF_DSP_MOVE_VALUE_S8 \
    "ldrsb r5, [r0], #1\n\t"           \
    "ldrsb r6, [r2], #1\n\t"           \
    "strb r5, [r1], #1\n\t"
/* The newest activation is stored, with its weight in r6; r0 goes beyond the filter's memory. */
#define TFLMGEN_SVDF_DSP_STORE_NEWEST_S8 \
    "sxtb r9, r9\n\t"                    \
    "ldrsb r6, [r2], #1\n\t"             \
    "strb r9, [r1], #1\n\t"              \
    "add r0, r0, #1\n\t"

/* State of int16: two activations in a word, without a zero point. */
#define TFLMGEN_SVDF_DSP_WEIGH_S16 "smlad r4, r5, r6, r4\n\t"
#define TFLMGEN_SVDF_DSP_ADD_ZERO_POINT_S16 ""
#define TFLMGEN_SVDF_DSP_LAST_WORD_S16 \
    "ldr r5, [r0, #-2]\n\t"            \
    "lsr r5, r5, #16\n\t"              \
    "orr r5, r5, r9, lsl #16\n\t"
#define TFLMGEN_SVDF_DSP_MOVE_VALUE_S16 \
    "ldrsh r5, [r0], #2\n\t"            \
    "ldrsh r6, [r2], #2\n\t"            \
    "strh r5, [r1], #2\n\t"
#define TFLMGEN_SVDF_DSP_STORE_NEWEST_S16 \
    "ldrsh r6, [r2], #2\n\t"              \
    "strh r9, [r1], #2\n\t"               \
    "add r0, r0, #2\n\t"

/* clang-format off */
/* Before and behind the loop over words (3), where the last word of a memory holds the newest activation. */
#define TFLMGEN_SVDF_DSP_BEGIN_WORDS ""
#define TFLMGEN_SVDF_DSP_END_WORDS(TYPE) \
    TFLMGEN_SVDF_DSP_LAST_WORD_##TYPE    \
    "ldr r6, [r2], #4\n\t"               \
    "add r0, r0, #4\n\t"                 \
    "str r5, [r1], #4\n\t"               \
    TFLMGEN_SVDF_DSP_WEIGH_##TYPE

/* The same for any other memory: 4 behind the words, 5 the loop over single values, 6 the newest activation. */
#define TFLMGEN_SVDF_DSP_BEGIN_ANY \
    "cmp r10, #0\n\t"              \
    "beq 4f\n"
#define TFLMGEN_SVDF_DSP_END_ANY(TYPE)              \
    "4:\n\t"                                        \
    "ldr r10, [sp, #28]\n"                          \
    "5:\n\t"                                        \
    "subs r10, r10, #1\n\t"                         \
    "bmi 6f\n\t" TFLMGEN_SVDF_DSP_MOVE_VALUE_##TYPE \
    "smlabb r4, r5, r6, r4\n\t"                     \
    "b 5b\n"                                        \
    "6:\n\t" TFLMGEN_SVDF_DSP_STORE_NEWEST_##TYPE   \
    "smlabb r4, r9, r6, r4\n\t"

/* All units up to `end`. REST: WORDS or ANY. Labels: 1 next unit, 2 its next filter, 3 next word.
 *
 * Behind a unit's filters its sum in r4 is requantised: SMULL to ORR the first rounding, to r6; ADD, ASR, ADD, ADD the
 * second one, and the zero point.
 *
 * Registers: r0 old, r1 state, r2 weights, r3 newest, r4 sum, r9 the newest activation, r10 words that remain, r11
 * biases, r12 output, lr filters that remain. Stack: 0 end, 4 words, 8 rank, 12 zero_point, 16 multiplier, 20
 * right_shift_less_1, 24 output_zero_point, 28 single_values, 32 units. A word of four activations is 2 LDR, 1 STR, 4
 * SXTB16 and 2 SMLAD, one of two 2 LDR, 1 STR and 1 SMLAD, and 2 to loop; a single value is 7 instructions, a unit
 * costs 18 besides. */
#define TFLMGEN_SVDF_DSP_UNITS(name, TYPE, REST)                                                                       \
    TFLMGEN_SHARED void name(struct tflmgen_svdf_dsp_units *units)                                                     \
    {                                                                                                                  \
        TFLMGEN_IN_REGISTERS_1(units);                                                                                 \
        __asm__ volatile("push {r0, r4-r11, lr}\n\t"                                                                   \
                         "add r1, r0, #24\n\t"                                                                         \
                         "ldmia.w r1, {r2, r3, r4, r5, r6, r7, r8, r9}\n\t"                                            \
                         "push {r2, r3, r4, r5, r6, r7, r8, r9}\n\t"                                                   \
                         "ldmia.w r0, {r0, r1, r2, r3, r11, r12}\n"                                                    \
                         "1:\n\t"                                                                                      \
                         "ldr r4, [r11], #4\n\t"                                                                       \
                         "ldr lr, [sp, #8]\n"                                                                          \
                         "2:\n\t"                                                                                      \
                         "ldr r10, [sp, #4]\n\t"                                                                       \
                         "ldrsh r9, [r3], #2\n\t" TFLMGEN_SVDF_DSP_ADD_ZERO_POINT_##TYPE TFLMGEN_SVDF_DSP_BEGIN_##REST \
                         "3:\n\t"                                                                                      \
                         "ldr r5, [r0], #4\n\t"                                                                        \
                         "ldr r6, [r2], #4\n\t"                                                                        \
                         "str r5, [r1], #4\n\t" TFLMGEN_SVDF_DSP_WEIGH_##TYPE                                          \
                         "subs r10, r10, #1\n\t"                                                                       \
                         "bne 3b\n\t" TFLMGEN_SVDF_DSP_END_##REST(TYPE)                                                \
                         "subs lr, lr, #1\n\t"                                                                         \
                         "bne 2b\n\t"                                                                                  \
                         "ldrd r7, r8, [sp, #16]\n\t"                                                                  \
                         "smull r5, r6, r4, r7\n\t"                                                                    \
                         "adds r5, r5, #0x40000000\n\t"                                                                \
                         "adc r6, r6, #0\n\t"                                                                          \
                         "lsl r6, r6, #1\n\t"                                                                          \
                         "orr r6, r6, r5, lsr #31\n\t"                                                                 \
                         "add r6, r6, r6, asr #31\n\t"                                                                 \
                         "asr r6, r6, r8\n\t"                                                                          \
                         "ldr r7, [sp, #24]\n\t"                                                                       \
                         "ldr r5, [sp]\n\t"                                                                            \
                         "add r6, r6, #1\n\t"                                                                          \
                         "add r6, r7, r6, asr #1\n\t"                                                                  \
                         "ssat r6, #8, r6\n\t"                                                                         \
                         "strb r6, [r12], #1\n\t"                                                                      \
                         "cmp r12, r5\n\t"                                                                             \
                         "bne 1b\n\t"                                                                                  \
                         "add sp, sp, #32\n\t"                                                                         \
                         "pop {r3}\n\t"                                                                                \
                         "stmia.w r3, {r0, r1, r2}\n\t"                                                                \
                         "strd r11, r12, [r3, #16]\n\t"                                                                \
                         "pop {r4-r11, lr}"                                                                            \
                         : "+r"(r0)                                                                                    \
                         :                                                                                             \
                         : "r1", "r2", "r3", "r12", "cc", "memory");                                                   \
    }
/* clang-format on */

TFLMGEN_SVDF_DSP_UNITS(tflmgen_svdf_dsp_words_s8, S8, WORDS)
TFLMGEN_SVDF_DSP_UNITS(tflmgen_svdf_dsp_words_s16, S16, WORDS)
TFLMGEN_SVDF_DSP_UNITS(tflmgen_svdf_dsp_memory_s8, S8, ANY)
TFLMGEN_SVDF_DSP_UNITS(tflmgen_svdf_dsp_memory_s16, S16, ANY)

/* stream: weights [filters, inputs], see requantized_rows_dsp.h; biases: one per unit, the state's zero point folded
 * in. run_units: one of the functions above. */
#define TFLMGEN_SVDF_DSP(name, element, run_units)                                                               \
    TFLMGEN_SHARED void name(const int8_t *input, const tflmgen_u32 *stream, const element *time_weights,        \
                             const tflmgen_s32 *biases, const element *state_in, int8_t *output, element *state, \
                             const struct tflmgen_svdf_dsp *p)                                                   \
    {                                                                                                            \
        uint32_t widened[2 * TFLMGEN_DOT_ROWS_STACK_STEPS];                                                      \
        int16_t newest[TFLMGEN_SVDF_DSP_FILTERS] __attribute__((aligned(4)));                                    \
        struct tflmgen_requantized_rows_dsp rows = {p->scale, 0, 0, 0, NULL};                                    \
        struct tflmgen_svdf_dsp_units units = {state_in + 1,                                                     \
                                               state,                                                            \
                                               NULL,                                                             \
                                               newest,                                                           \
                                               NULL,                                                             \
                                               output,                                                           \
                                               NULL,                                                             \
                                               (p->memory - 1) * (int32_t)sizeof(element) / 4,                   \
                                               p->rank,                                                          \
                                               p->state_zero_point,                                              \
                                               p->output_multiplier,                                             \
                                               p->output_right_shift - 1,                                        \
                                               p->output_zero_point,                                             \
                                               (p->memory - 1) % (int32_t)(4 / sizeof(element))};                \
        for (int32_t batch = 0; batch < p->batches; ++batch) {                                                   \
            const tflmgen_u32 *group = stream;                                                                   \
            tflmgen_requantized_rows_dsp_set_row(&rows, widened, input + batch * p->inputs, p->inputs);          \
            units.weights = time_weights;                                                                        \
            units.biases = biases;                                                                               \
            for (int32_t remaining = p->units; remaining > 0;) {                                                 \
                const int32_t count = tflmgen_min_s32(remaining, TFLMGEN_SVDF_DSP_FILTERS / p->rank & ~3);       \
                memset(newest, 0, sizeof newest);                                                                \
                group = tflmgen_requantized_rows_dsp(&rows, group, newest, (count * p->rank + 3) / 4);           \
                units.end = units.output + count;                                                                \
                run_units(&units);                                                                               \
                remaining -= count;                                                                              \
            }                                                                                                    \
        }                                                                                                        \
    }

TFLMGEN_SVDF_DSP(tflmgen_svdf_dsp_s8, int8_t, tflmgen_svdf_dsp_words_s8)
TFLMGEN_SVDF_DSP(tflmgen_svdf_dsp_s8_s16, tflmgen_s16, tflmgen_svdf_dsp_words_s16)
TFLMGEN_SVDF_DSP(tflmgen_svdf_dsp_any_s8, int8_t, tflmgen_svdf_dsp_memory_s8)
TFLMGEN_SVDF_DSP(tflmgen_svdf_dsp_any_s8_s16, tflmgen_s16, tflmgen_svdf_dsp_memory_s16)

#endif

#endif
