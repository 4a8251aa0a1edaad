/* FULLY_CONNECTED in int8 for every Cortex-M: one row times four units at a time (see thumb.h).
 *
 * Here two weights share a word, and the products have one input. The weights, with 128 added, are a stream of groups
 * of four units, in the order of use:
 *     four bytes, one of each unit, for each value of a row, an even number | m c (256 f + s) of each unit, where
 *     signed also its bias and what negative sums add to c
 * One or two units that are left come after that, each for itself: their weights, in front of which are bytes that fill
 * up a multiple of 8, and what rescales them. Three are a group with a unit of zeros. 128 is added to a short row once,
 * in a copy on the stack, to the values of a long one each time that they are read.
 */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_THUMB_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_THUMB_H

#include "thumb.h"

#ifdef __thumb__

#define TFLMGEN_FULLY_CONNECTED_THUMB_UNITS 4        /* of a group */
#define TFLMGEN_FULLY_CONNECTED_THUMB_SIGNED_WORDS 5 /* of a unit's constants where sums below zero have their own */
#define TFLMGEN_FULLY_CONNECTED_THUMB_UNROLLED 8     /* values of a single unit */

/* Values of a row that is copied to the stack. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_STACK 288

struct tflmgen_fully_connected_thumb_s8 {
    int32_t batches;
    int32_t depth;
    int32_t units;
    int32_t group_words;
    int32_t output_min;
    int32_t output_max;
};

/* What the groups need to know, in the order in which the assembly reads it. The loop over a row is unrolled 8
 * times; its first pass begins where the last pass ends with the last value. */
struct tflmgen_fully_connected_thumb_groups {
    const uint8_t *first; /* where the first pass would begin in the row */
    int32_t skip;         /* bytes of code that the first pass leaves out */
    const uint8_t *row_end;
    uint32_t start;    /* of S2; S1 begins with 65537 times that */
    int8_t *end;       /* of the outputs */
    int32_t skip_one;  /* bytes of code that the first pass of a single unit leaves out */
    int32_t one_words; /* of such a unit */
};

typedef void tflmgen_fully_connected_thumb_function(const tflmgen_u32 *stream, int8_t *output,
                                                    const struct tflmgen_fully_connected_thumb_groups *groups);

/* One value times four weights in `four`: LDRB, 3 to part the weights, 2 MULS, 2 * 3: 12 instructions. ADD adds 128. */
/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_THUMB_VALUE(i, four, ADD) \
    "ldrb r4, [r0, #" i "]\n\t" ADD                       \
    "lsrs r3, " four ", #8\n\t"                           \
    "ands r3, r3, r5\n\t"                                \
    "ands " four ", " four ", r5\n\t"                     \
    "muls r3, r4, r3\n\t"                                \
    "muls " four ", r4, " four "\n\t"                     \
    TFLMGEN_THUMB_SPLIT(four, "r8", "r9")                 \
    TFLMGEN_THUMB_SPLIT("r3", "r10", "r11")
/* clang-format on */

/* Two values times four units: 25 instructions per 8 MACs, 27 where 128 is added. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_COPIED_BYTES 50
/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_THUMB_COPIED(i, j)   \
    "ldmia r1!, {r6, r7}\n\t"                        \
    TFLMGEN_FULLY_CONNECTED_THUMB_VALUE(i, "r6", "") \
    TFLMGEN_FULLY_CONNECTED_THUMB_VALUE(j, "r7", "")
/* clang-format on */
#define TFLMGEN_FULLY_CONNECTED_THUMB_PLAIN_BYTES 54
/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_THUMB_PLAIN(i, j)                       \
    "ldmia r1!, {r6, r7}\n\t"                                           \
    TFLMGEN_FULLY_CONNECTED_THUMB_VALUE(i, "r6", "eors r4, r4, r2\n\t") \
    TFLMGEN_FULLY_CONNECTED_THUMB_VALUE(j, "r7", "eors r4, r4, r2\n\t")
/* clang-format on */

/* The unit of the lower halves, and that of the upper ones. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_LOW(s1, s2) \
    "mov r3, " s2 "\n\t"                          \
    "mov r2, " s1 "\n\t"                          \
    "lsls r3, r3, #16\n\t"                        \
    "subs r2, r2, r3\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_HIGH(s2) "mov r2, " s2 "\n\t"

/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_THUMB_STORE_CLAMPED \
    "ldmia r1!, {r5, r6, r7}\n\t"                   \
    TFLMGEN_THUMB_RESCALE("")                       \
    "ldr r0, [sp, #16]\n\t"                         \
    "strb r2, [r0]\n\t"                             \
    "adds r0, #1\n\t"                               \
    "str r0, [sp, #16]\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_STORE_SIGNED \
    "ldmia r1!, {r5, r6, r7}\n\t"                  \
    TFLMGEN_THUMB_SIGN                             \
    "adds r1, #8\n\t"                              \
    TFLMGEN_THUMB_RESCALE("adds r2, r2, r0\n\t")   \
    "ldr r0, [sp, #16]\n\t"                        \
    "strb r2, [r0]\n\t"                            \
    "adds r0, #1\n\t"                              \
    "str r0, [sp, #16]\n\t"

/* Registers: r0 row, r1 stream, r2 128, r3 and r6 or r7 weights, r4 value, r5 0x00FF00FF, r8-r11 S1 and S2, r12 end
 * of the row. Stack: first, entry of the first pass, start of S2 and of S1, output, end, 0x00FF00FF. A group costs
 * 13 instructions before its values, 4 after its outputs, and 3 per pass. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_GROUPS(name, STEP, STORE)                                \
    TFLMGEN_SHARED void name(const tflmgen_u32 *stream, int8_t *output,                        \
                             const struct tflmgen_fully_connected_thumb_groups *groups)        \
    {                                                                                          \
        TFLMGEN_IN_REGISTERS_3(stream, output, groups);                                        \
        __asm__ volatile(".syntax unified\n\t" TFLMGEN_THUMB_PUSH                              \
                         "sub sp, #28\n\t"                                                     \
                         "str r1, [sp, #16]\n\t"                                               \
                         "mov r1, r0\n\t"                                                      \
                         "ldmia r2!, {r3, r4, r5, r6, r7}\n\t"                                 \
                         "str r3, [sp]\n\t"                                                    \
                         "adr r3, 2f\n\t"                                                      \
                         "adds r4, r4, r3\n\t"                                                 \
                         "str r4, [sp, #4]\n\t"                                                \
                         "mov r12, r5\n\t"                                                     \
                         "str r6, [sp, #8]\n\t"                                                \
                         "lsls r5, r6, #16\n\t"                                                \
                         "adds r5, r5, r6\n\t"                                                 \
                         "str r5, [sp, #12]\n\t"                                               \
                         "str r7, [sp, #20]\n\t"                                               \
                         "movs r5, #255\n\t"                                                   \
                         "lsls r4, r5, #16\n\t"                                                \
                         "orrs r5, r5, r4\n\t"                                                 \
                         "str r5, [sp, #24]\n"                                                 \
                         "1:\n\t"                                                              \
                         "ldr r2, [sp, #8]\n\t"                                                \
                         "ldr r3, [sp, #12]\n\t"                                               \
                         "mov r8, r3\n\t"                                                      \
                         "mov r9, r2\n\t"                                                      \
                         "mov r10, r3\n\t"                                                     \
                         "mov r11, r2\n\t"                                                     \
                         "ldr r0, [sp]\n\t"                                                    \
                         "ldr r5, [sp, #24]\n\t"                                               \
                         "movs r2, #128\n\t"                                                   \
                         "ldr r6, [sp, #4]\n\t"                                                \
                         "mov pc, r6\n\t"                                                      \
                         ".p2align 2\n"                                                        \
                         "2:\n\t"                                                              \
                         STEP("0", "1")                                                        \
                         STEP("2", "3")                                                        \
                         STEP("4", "5")                                                        \
                         STEP("6", "7")                                                        \
                         "adds r0, #8\n\t"                                                     \
                         "cmp r0, r12\n\t"                                                     \
                         "bne 2b\n\t"                                                          \
                         TFLMGEN_FULLY_CONNECTED_THUMB_LOW("r8", "r9") STORE                   \
                         TFLMGEN_FULLY_CONNECTED_THUMB_LOW("r10", "r11") STORE                 \
                         TFLMGEN_FULLY_CONNECTED_THUMB_HIGH("r9") STORE                        \
                         TFLMGEN_FULLY_CONNECTED_THUMB_HIGH("r11") STORE                       \
                         "ldr r4, [sp, #20]\n\t"                                               \
                         "cmp r0, r4\n\t"                                                      \
                         "beq 3f\n\t"                                                          \
                         "b 1b\n"                                                              \
                         "3:\n\t"                                                              \
                         "add sp, #28\n\t" TFLMGEN_THUMB_POP                                   \
                         : "+r"(r0), "+r"(r1), "+r"(r2)                                        \
                         :                                                                     \
                         : "r3", "r12", "cc", "memory");                                       \
    }
/* clang-format on */

TFLMGEN_FULLY_CONNECTED_THUMB_GROUPS(tflmgen_fully_connected_thumb_copied_clamped, TFLMGEN_FULLY_CONNECTED_THUMB_COPIED,
                                     TFLMGEN_FULLY_CONNECTED_THUMB_STORE_CLAMPED)
TFLMGEN_FULLY_CONNECTED_THUMB_GROUPS(tflmgen_fully_connected_thumb_copied_signed, TFLMGEN_FULLY_CONNECTED_THUMB_COPIED,
                                     TFLMGEN_FULLY_CONNECTED_THUMB_STORE_SIGNED)
TFLMGEN_FULLY_CONNECTED_THUMB_GROUPS(tflmgen_fully_connected_thumb_plain_clamped, TFLMGEN_FULLY_CONNECTED_THUMB_PLAIN,
                                     TFLMGEN_FULLY_CONNECTED_THUMB_STORE_CLAMPED)
TFLMGEN_FULLY_CONNECTED_THUMB_GROUPS(tflmgen_fully_connected_thumb_plain_signed, TFLMGEN_FULLY_CONNECTED_THUMB_PLAIN,
                                     TFLMGEN_FULLY_CONNECTED_THUMB_STORE_SIGNED)

/* One value times one weight: 4 instructions, 5 where 128 is added. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_ONE_COPIED_BYTES 8
#define TFLMGEN_FULLY_CONNECTED_THUMB_ONE_COPIED(i) \
    "ldrb r4, [r3, #" i "]\n\t"                     \
    "ldrb r7, [r0, #" i "]\n\t"                     \
    "muls r7, r4, r7\n\t"                           \
    "adds r6, r6, r7\n\t"
#define TFLMGEN_FULLY_CONNECTED_THUMB_ONE_PLAIN_BYTES 10
#define TFLMGEN_FULLY_CONNECTED_THUMB_ONE_PLAIN(i) \
    "ldrb r4, [r3, #" i "]\n\t"                    \
    "ldrb r7, [r0, #" i "]\n\t"                    \
    "eors r4, r4, r2\n\t"                          \
    "muls r7, r4, r7\n\t"                          \
    "adds r6, r6, r7\n\t"

/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_THUMB_OUTPUT_CLAMPED \
    "ldmia r1!, {r5, r6, r7}\n\t" TFLMGEN_THUMB_RESCALE("")
#define TFLMGEN_FULLY_CONNECTED_THUMB_OUTPUT_SIGNED \
    "ldmia r1!, {r5, r6, r7}\n\t" TFLMGEN_THUMB_SIGN TFLMGEN_THUMB_RESCALE("adds r2, r2, r0\n\t")

/* A single unit. Registers: r0 weights, r2 128, r3 row, r4 value, r5 end of the row, r6 sum, r7 weight, r12 output.
 * It costs 18 instructions beside its values and what rescales it, and 4 per pass. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_ONE(name, VALUE, OUTPUT)                                 \
    TFLMGEN_SHARED void name(const tflmgen_u32 *stream, int8_t *output,                        \
                             const struct tflmgen_fully_connected_thumb_groups *groups)        \
    {                                                                                          \
        TFLMGEN_IN_REGISTERS_3(stream, output, groups);                                        \
        __asm__ volatile(".syntax unified\n\t"                                                 \
                         "push {r4, r5, r6, r7}\n\t"                                           \
                         "mov r12, r1\n\t"                                                     \
                         "ldmia r2!, {r3, r4, r5, r6}\n\t"                                     \
                         "ldr r7, [r2, #4]\n\t"                                                \
                         "adr r4, 1f\n\t"                                                      \
                         "adds r7, r7, r4\n\t"                                                 \
                         "movs r2, #128\n\t"                                                   \
                         "mov pc, r7\n\t"                                                      \
                         ".p2align 2\n"                                                        \
                         "1:\n\t"                                                              \
                         VALUE("0") VALUE("1") VALUE("2") VALUE("3")                           \
                         VALUE("4") VALUE("5") VALUE("6") VALUE("7")                           \
                         "adds r3, #8\n\t"                                                     \
                         "adds r0, #8\n\t"                                                     \
                         "cmp r3, r5\n\t"                                                      \
                         "bne 1b\n\t"                                                          \
                         "mov r1, r0\n\t"                                                      \
                         "mov r2, r6\n\t" OUTPUT                                               \
                         "mov r1, r12\n\t"                                                     \
                         "strb r2, [r1]\n\t"                                                   \
                         "pop {r4, r5, r6, r7}"                                                \
                         : "+r"(r0), "+r"(r1), "+r"(r2)                                        \
                         :                                                                     \
                         : "r3", "r12", "cc", "memory");                                       \
    }
/* clang-format on */

TFLMGEN_FULLY_CONNECTED_THUMB_ONE(tflmgen_fully_connected_thumb_one_copied_clamped,
                                  TFLMGEN_FULLY_CONNECTED_THUMB_ONE_COPIED,
                                  TFLMGEN_FULLY_CONNECTED_THUMB_OUTPUT_CLAMPED)
TFLMGEN_FULLY_CONNECTED_THUMB_ONE(tflmgen_fully_connected_thumb_one_copied_signed,
                                  TFLMGEN_FULLY_CONNECTED_THUMB_ONE_COPIED, TFLMGEN_FULLY_CONNECTED_THUMB_OUTPUT_SIGNED)
TFLMGEN_FULLY_CONNECTED_THUMB_ONE(tflmgen_fully_connected_thumb_one_plain_clamped,
                                  TFLMGEN_FULLY_CONNECTED_THUMB_ONE_PLAIN, TFLMGEN_FULLY_CONNECTED_THUMB_OUTPUT_CLAMPED)
TFLMGEN_FULLY_CONNECTED_THUMB_ONE(tflmgen_fully_connected_thumb_one_plain_signed,
                                  TFLMGEN_FULLY_CONNECTED_THUMB_ONE_PLAIN, TFLMGEN_FULLY_CONNECTED_THUMB_OUTPUT_SIGNED)

/* The sum of a row's values, each with 128 added, which are copied where there is room for them. */
TFLMGEN_HELPER uint32_t tflmgen_fully_connected_thumb_sum(uint8_t *copy, const int8_t *input, int32_t depth)
{
    uint32_t sum = 0;
    for (int32_t i = 0; i < depth; ++i) {
        const uint32_t x = (uint8_t)input[i] ^ 128u;
        if (copy) {
            copy[i] = (uint8_t)x;
        }
        sum += x;
    }
    return sum;
}

/* What all rows of `terms` values have in common. step_bytes, value_bytes: of code. */
TFLMGEN_HELPER void tflmgen_fully_connected_thumb_begin(struct tflmgen_fully_connected_thumb_groups *groups,
                                                        int32_t terms, int32_t group_words, int32_t step_bytes,
                                                        int32_t value_bytes)
{
    const int32_t values = (terms + 1) & ~1;
    const int32_t skipped = -values & (TFLMGEN_FULLY_CONNECTED_THUMB_UNROLLED - 1);
    groups->skip = skipped / 2 * step_bytes;
    groups->skip_one = skipped * value_bytes;
    groups->one_words = (values + skipped) / 4 + (group_words - values) / 4;
}

/* Where a row is. The first pass over the unrolled values begins in their middle: `first` is where the row would begin
 * if it had those that are left out. Nothing is read there, and so it is an address, not a pointer into the row. */
TFLMGEN_HELPER void tflmgen_fully_connected_thumb_row(struct tflmgen_fully_connected_thumb_groups *groups,
                                                      const uint8_t *row, int32_t terms)
{
    const int32_t values = (terms + 1) & ~1;
    const int32_t skipped = -values & (TFLMGEN_FULLY_CONNECTED_THUMB_UNROLLED - 1);
    groups->first = (const uint8_t *)((uintptr_t)row - (uint32_t)skipped);
    groups->row_end = row + values;
}

/* All units of one row, with groups of weights that are `group_words` apart. */
TFLMGEN_HELPER void tflmgen_fully_connected_thumb_units(const tflmgen_u32 *stream, int8_t *output, int32_t units,
                                                        int32_t group_words,
                                                        struct tflmgen_fully_connected_thumb_groups *groups,
                                                        tflmgen_fully_connected_thumb_function *run,
                                                        tflmgen_fully_connected_thumb_function *one)
{
    const int32_t rest = units % TFLMGEN_FULLY_CONNECTED_THUMB_UNITS;
    if (units >= TFLMGEN_FULLY_CONNECTED_THUMB_UNITS) {
        groups->end = output + (units - rest);
        run(stream, output, groups);
    }
    stream += units / TFLMGEN_FULLY_CONNECTED_THUMB_UNITS * group_words;
    output += units - rest;
    if (rest == TFLMGEN_FULLY_CONNECTED_THUMB_UNITS - 1) {
        int8_t last[TFLMGEN_FULLY_CONNECTED_THUMB_UNITS];
        groups->end = last + TFLMGEN_FULLY_CONNECTED_THUMB_UNITS;
        run(stream, last, groups);
        for (int32_t i = 0; i < TFLMGEN_FULLY_CONNECTED_THUMB_UNITS - 1; ++i) {
            output[i] = last[i];
        }
        return;
    }
    for (int32_t i = 0; i < rest; ++i, stream += groups->one_words) {
        one(stream, output + i, groups);
    }
}

/* All units of all rows. copy: room for a row, and one byte more where its length is odd; or NULL, and it is even. */
TFLMGEN_HELPER void tflmgen_fully_connected_thumb_run(const int8_t *input, const tflmgen_u32 *stream, int8_t *output,
                                                      const struct tflmgen_fully_connected_thumb_s8 *p, uint8_t *copy,
                                                      struct tflmgen_fully_connected_thumb_groups *groups,
                                                      tflmgen_fully_connected_thumb_function *run,
                                                      tflmgen_fully_connected_thumb_function *one)
{
    for (int32_t batch = 0; batch < p->batches; ++batch, input += p->depth, output += p->units) {
        groups->start = 0u - 128u * tflmgen_fully_connected_thumb_sum(copy, input, p->depth);
        tflmgen_fully_connected_thumb_row(groups, copy ? copy : (const uint8_t *)input, p->depth);
        tflmgen_fully_connected_thumb_units(stream, output, p->units, p->group_words, groups, run, one);
    }
    const int32_t count = p->batches * p->units;
    tflmgen_clamp_thumb_s8(output - count, count, p->output_min, p->output_max);
}

/* Rows that are copied to the stack, or long ones; any outputs, or those clamped at the zero point (relu). */
#define TFLMGEN_FULLY_CONNECTED_THUMB(name, kind)                                                                   \
    TFLMGEN_SHARED void tflmgen_fully_connected_thumb_##name(const int8_t *input, const tflmgen_u32 *stream,        \
                                                             int8_t *output,                                        \
                                                             const struct tflmgen_fully_connected_thumb_s8 *p)      \
    {                                                                                                               \
        uint8_t copy[TFLMGEN_FULLY_CONNECTED_THUMB_STACK];                                                          \
        struct tflmgen_fully_connected_thumb_groups groups;                                                         \
        tflmgen_fully_connected_thumb_begin(&groups, p->depth, p->group_words,                                      \
                                            TFLMGEN_FULLY_CONNECTED_THUMB_COPIED_BYTES,                             \
                                            TFLMGEN_FULLY_CONNECTED_THUMB_ONE_COPIED_BYTES);                        \
        tflmgen_fully_connected_thumb_run(input, stream, output, p, copy, &groups,                                  \
                                          tflmgen_fully_connected_thumb_copied_##kind,                              \
                                          tflmgen_fully_connected_thumb_one_copied_##kind);                         \
    }                                                                                                               \
    TFLMGEN_SHARED void tflmgen_fully_connected_thumb_long_##name(const int8_t *input, const tflmgen_u32 *stream,   \
                                                                  int8_t *output,                                   \
                                                                  const struct tflmgen_fully_connected_thumb_s8 *p) \
    {                                                                                                               \
        struct tflmgen_fully_connected_thumb_groups groups;                                                         \
        tflmgen_fully_connected_thumb_begin(&groups, p->depth, p->group_words,                                      \
                                            TFLMGEN_FULLY_CONNECTED_THUMB_PLAIN_BYTES,                              \
                                            TFLMGEN_FULLY_CONNECTED_THUMB_ONE_PLAIN_BYTES);                         \
        tflmgen_fully_connected_thumb_run(input, stream, output, p, NULL, &groups,                                  \
                                          tflmgen_fully_connected_thumb_plain_##kind,                               \
                                          tflmgen_fully_connected_thumb_one_plain_##kind);                          \
    }

TFLMGEN_FULLY_CONNECTED_THUMB(s8, signed)
TFLMGEN_FULLY_CONNECTED_THUMB(relu_s8, clamped)

#endif

#endif
