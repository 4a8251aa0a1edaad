/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* FULLY_CONNECTED in int8 for every Cortex-M: one row times four units at a time (see thumb.h).
 *
 * The stream has groups of four units, in the order of use, and behind them one or two single units; three units that
 * remain are a group with a unit of zeros. Weights are bytes with 128 added. A group has words with the weights of its
 * units for one value each, an even number of words, then the constants of unit after unit; where many weights are
 * small it has masks, too (fully_connected_groups_thumb.h). A single unit has bytes in front of its weights, which
 * fill up a multiple of 8:
 *
 *     group    w0 w1 w2 w3 | w0 w1 w2 w3 | ... | constants of units 0, 1, 2, 3
 *     single   bytes of filling | a byte for each value of a row, an even number | constants
 *
 *     constants    m | c | 256 f + s, and where signed | bias | sign fix       (thumb.h)
 *
 * 128 is added to a short row once, in a copy on the stack, to the values of a long one each time that they are read.
 */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_THUMB_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_THUMB_H

#include "fully_connected_groups_thumb.h"

#ifdef __thumb__

/* Values of a row that is copied to the stack. */
#define TFLMGEN_FULLY_CONNECTED_THUMB_STACK 288

struct tflmgen_fully_connected_thumb_s8 {
    int32_t batches;
    int32_t depth;
    int32_t units;
    int32_t group_words;
    int32_t mask_words; /* of a group */
    int32_t output_min;
    int32_t output_max;
};

/* A single unit: one value times one weight, 4 instructions, 5 where 128 is added. */
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
    "ldmia r1!, {r5, r6, r7}\n\t" TFLMGEN_THUMB_REQUANTIZE("")
#define TFLMGEN_FULLY_CONNECTED_THUMB_OUTPUT_SIGNED \
    "ldmia r1!, {r5, r6, r7}\n\t" TFLMGEN_THUMB_SIGN_FIX TFLMGEN_THUMB_REQUANTIZE("adds r2, r2, r0\n\t")

/* A single unit. VALUE multiplies value i of a pass, OUTPUT requantises the sum. Registers: r0 weights, r2 128, r3
 * row, r4 value, r5 end of the row, r6 sum, r7 weight, r12 output. The loop begins at 1, the first pass within it. It
 * costs 18 instructions beside its values and what requantises it, and 4 per pass. */
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

/* The sum of a row's values, each with 128 added, which are copied where there is room for them. octets, if not NULL:
 * room for 128 times the sum of each octet; the last octet ends with the row. */
TFLMGEN_HELPER uint32_t tflmgen_fully_connected_thumb_sum(uint8_t *copy, tflmgen_u32 *octets, const int8_t *input,
                                                          int32_t depth)
{
    uint32_t sum = 0;
    int32_t octet_end = octets ? ((depth + 1) & 7) / 2 * 2 : depth;
    for (int32_t i = 0; i < depth; octet_end += 8) {
        uint32_t octet_sum = 0;
        for (const int32_t end = tflmgen_min_s32(octet_end, depth); i < end; ++i) {
            const uint32_t x = (uint8_t)input[i] ^ 128u;
            if (copy) {
                copy[i] = (uint8_t)x;
            }
            octet_sum += x;
        }
        sum += octet_sum;
        if (octets && octet_end > 0) {
            *octets++ = octet_sum << 7;
        }
    }
    return sum;
}

TFLMGEN_SHARED uint32_t tflmgen_fully_connected_thumb_sums(uint8_t *copy, tflmgen_u32 *octets, const int8_t *input,
                                                           int32_t depth)
{
    return tflmgen_fully_connected_thumb_sum(copy, octets, input, depth);
}

/* Values by which the last pass ends beyond a row if the first one begins with it. */
TFLMGEN_HELPER int32_t tflmgen_fully_connected_thumb_skipped(int32_t terms)
{
    return -((terms + 1) & ~1) & (TFLMGEN_FULLY_CONNECTED_THUMB_UNROLLED - 1);
}

/* What all rows of `terms` values have in common. step_bytes, value_bytes: of code for two values of a group, and for
 * one of a single unit; mask_words: of each group. */
TFLMGEN_HELPER void tflmgen_fully_connected_thumb_begin(struct tflmgen_fully_connected_thumb_groups *groups,
                                                        int32_t terms, int32_t group_words, int32_t step_bytes,
                                                        int32_t value_bytes, int32_t mask_words)
{
    const int32_t values = (terms + 1) & ~1;
    const int32_t skipped = tflmgen_fully_connected_thumb_skipped(terms);
    groups->skip_bytes = skipped / 2 * step_bytes;
    if (mask_words) {
        groups->skip_bytes =
            skipped ? (skipped & 2) / 2 * step_bytes : 2 * step_bytes + TFLMGEN_FULLY_CONNECTED_THUMB_VALUES_END_BYTES;
    }
    groups->skip_one_bytes = skipped * value_bytes;
    groups->one_words = (values + skipped) / 4 + (group_words - values - mask_words) / 4;
}

/* Where a row is. The first pass over the unrolled values begins in their middle: `first` is where the row would begin
 * if it had those that are left out. Nothing is read there, and so it is an address, not a pointer into the row.
 * octets: sums of the row's values, or NULL where no masks tell of them. */
TFLMGEN_HELPER void tflmgen_fully_connected_thumb_row(struct tflmgen_fully_connected_thumb_groups *groups,
                                                      const uint8_t *row, int32_t terms, const tflmgen_u32 *octets)
{
    const int32_t skipped = tflmgen_fully_connected_thumb_skipped(terms);
    const uintptr_t first = (uintptr_t)row - (uint32_t)skipped;
    groups->first = (const uint8_t *)first;
    groups->row_end = row + ((terms + 1) & ~1);
    groups->octets = (uintptr_t)octets - (first >> 1);
    groups->masked_first = (const uint8_t *)(first + (uint32_t)(skipped & 4));
}

/* All units of one row, with groups of weights that are `group_words` apart. */
TFLMGEN_HELPER void tflmgen_fully_connected_thumb_units(const tflmgen_u32 *stream, int8_t *output, int32_t units,
                                                        int32_t group_words,
                                                        struct tflmgen_fully_connected_thumb_groups *groups,
                                                        tflmgen_fully_connected_thumb_function *run_groups,
                                                        tflmgen_fully_connected_thumb_function *run_one)
{
    const int32_t remaining_units = units % TFLMGEN_FULLY_CONNECTED_THUMB_UNITS;
    if (units >= TFLMGEN_FULLY_CONNECTED_THUMB_UNITS) {
        groups->output_end = output + (units - remaining_units);
        run_groups(stream, output, groups);
    }
    stream += units / TFLMGEN_FULLY_CONNECTED_THUMB_UNITS * group_words;
    output += units - remaining_units;
    if (remaining_units == TFLMGEN_FULLY_CONNECTED_THUMB_UNITS - 1) {
        int8_t last[TFLMGEN_FULLY_CONNECTED_THUMB_UNITS];
        groups->output_end = last + TFLMGEN_FULLY_CONNECTED_THUMB_UNITS;
        run_groups(stream, last, groups);
        for (int32_t i = 0; i < TFLMGEN_FULLY_CONNECTED_THUMB_UNITS - 1; ++i) {
            output[i] = last[i];
        }
        return;
    }
    for (int32_t i = 0; i < remaining_units; ++i, stream += groups->one_words) {
        run_one(stream, output + i, groups);
    }
}

/* All units of all rows. copy: room for a row, and one byte more where its length is odd; or NULL, and it is even.
 * octets: room for the sums of a row's octets, or NULL where no masks tell of them. */
TFLMGEN_HELPER void tflmgen_fully_connected_thumb_run(const int8_t *input, const tflmgen_u32 *stream, int8_t *output,
                                                      const struct tflmgen_fully_connected_thumb_s8 *p, uint8_t *copy,
                                                      tflmgen_u32 *octets,
                                                      tflmgen_fully_connected_thumb_function *run_groups,
                                                      tflmgen_fully_connected_thumb_function *run_one)
{
    struct tflmgen_fully_connected_thumb_groups groups;
    tflmgen_fully_connected_thumb_begin(
        &groups, p->depth, p->group_words,
        copy ? TFLMGEN_FULLY_CONNECTED_THUMB_COPIED_BYTES : TFLMGEN_FULLY_CONNECTED_THUMB_PLAIN_BYTES,
        copy ? TFLMGEN_FULLY_CONNECTED_THUMB_ONE_COPIED_BYTES : TFLMGEN_FULLY_CONNECTED_THUMB_ONE_PLAIN_BYTES,
        p->mask_words);
    for (int32_t batch = 0; batch < p->batches; ++batch, input += p->depth, output += p->units) {
        groups.s2_start = 0u - 128u * (octets ? tflmgen_fully_connected_thumb_sums(copy, octets, input, p->depth)
                                              : tflmgen_fully_connected_thumb_sum(copy, NULL, input, p->depth));
        tflmgen_fully_connected_thumb_row(&groups, copy ? copy : (const uint8_t *)input, p->depth, octets);
        tflmgen_fully_connected_thumb_units(stream, output, p->units, p->group_words, &groups, run_groups, run_one);
    }
    const int32_t count = p->batches * p->units;
    tflmgen_clamp_thumb_s8(output - count, count, p->output_min, p->output_max);
}

/* Rows that are copied to the stack, or long ones; any weights, or many small ones; any outputs, or those clamped at
 * the zero point (relu). */
#define TFLMGEN_FULLY_CONNECTED_THUMB(name, outputs)                                                                 \
    TFLMGEN_SHARED void tflmgen_fully_connected_thumb_##name(const int8_t *input, const tflmgen_u32 *stream,         \
                                                             int8_t *output,                                         \
                                                             const struct tflmgen_fully_connected_thumb_s8 *p)       \
    {                                                                                                                \
        uint8_t copy[TFLMGEN_FULLY_CONNECTED_THUMB_STACK];                                                           \
        tflmgen_fully_connected_thumb_run(input, stream, output, p, copy, NULL,                                      \
                                          tflmgen_fully_connected_thumb_copied_##outputs,                            \
                                          tflmgen_fully_connected_thumb_one_copied_##outputs);                       \
    }                                                                                                                \
    TFLMGEN_SHARED void tflmgen_fully_connected_thumb_small_##name(const int8_t *input, const tflmgen_u32 *stream,   \
                                                                   int8_t *output,                                   \
                                                                   const struct tflmgen_fully_connected_thumb_s8 *p) \
    {                                                                                                                \
        uint8_t copy[TFLMGEN_FULLY_CONNECTED_THUMB_STACK];                                                           \
        tflmgen_u32 octets[TFLMGEN_FULLY_CONNECTED_THUMB_STACK / 8];                                                 \
        tflmgen_fully_connected_thumb_run(input, stream, output, p, copy, octets,                                    \
                                          tflmgen_fully_connected_thumb_copied_small_##outputs,                      \
                                          tflmgen_fully_connected_thumb_one_copied_##outputs);                       \
    }                                                                                                                \
    TFLMGEN_SHARED void tflmgen_fully_connected_thumb_long_##name(const int8_t *input, const tflmgen_u32 *stream,    \
                                                                  int8_t *output,                                    \
                                                                  const struct tflmgen_fully_connected_thumb_s8 *p)  \
    {                                                                                                                \
        tflmgen_fully_connected_thumb_run(input, stream, output, p, NULL, NULL,                                      \
                                          tflmgen_fully_connected_thumb_plain_##outputs,                             \
                                          tflmgen_fully_connected_thumb_one_plain_##outputs);                        \
    }                                                                                                                \
    TFLMGEN_SHARED void tflmgen_fully_connected_thumb_long_small_##name(                                             \
        const int8_t *input, const tflmgen_u32 *stream, int8_t *output,                                              \
        const struct tflmgen_fully_connected_thumb_s8 *p)                                                            \
    {                                                                                                                \
        tflmgen_u32 octets[TFLMGEN_FULLY_CONNECTED_THUMB_OCTETS];                                                    \
        tflmgen_fully_connected_thumb_run(input, stream, output, p, NULL, octets,                                    \
                                          tflmgen_fully_connected_thumb_plain_small_##outputs,                       \
                                          tflmgen_fully_connected_thumb_one_plain_##outputs);                        \
    }

TFLMGEN_FULLY_CONNECTED_THUMB(s8, signed)
TFLMGEN_FULLY_CONNECTED_THUMB(relu_s8, clamped)

#endif

#endif
