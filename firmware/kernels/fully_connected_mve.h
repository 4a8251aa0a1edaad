/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* FULLY_CONNECTED in int8 for cores with MVE: one row times eight units at a time. The results are those of
 * fully_connected.h.
 *
 * A chunk is 16 values of a row, a vector register; rows that are no whole chunks are copied first. The stream has a
 * record for each group of eight units; rows are filled up with zero weights to whole chunks, and the last group with
 * units of zeros:
 *
 *     bias of units 0 to 7
 *     (16 weights of unit 0 | 16 of unit 1 | ... | 16 of unit 7) * chunks
 *     m of units 0, 2, 4, 6 | -r of units 0, 2, 4, 6 | m of units 1, 3, 5, 7 | -r of units 1, 3, 5, 7
 *
 * A few units at the end may be single ones, which need no zeros beside them, with a record each:
 *
 *     (16 weights) * chunks | bias | m | -r
 */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_MVE_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_MVE_H

#include "mve.h"
#include "requantize.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

#define TFLMGEN_FULLY_CONNECTED_MVE_UNITS 8 /* of a group */

/* Bytes of a row that is no multiple of 16, on the stack. */
#define TFLMGEN_FULLY_CONNECTED_MVE_STACK_BYTES 512

struct tflmgen_fully_connected_mve_s8 {
    int32_t batches;
    int32_t depth;
    int32_t units;
    int32_t chunks;  /* of 16 values in a row */
    int32_t singles; /* units behind the groups, computed one by one */
    int32_t output_zero_point;
    int32_t output_min;
    int32_t output_max;
};

/* What the groups of a row need to know, in the order in which the assembly reads it. */
struct tflmgen_fully_connected_mve_groups {
    const int8_t *row;
    int32_t counter; /* of passes of the loop over the chunks, unrolled 4 times: goes up to 1 */
    int32_t skip;    /* bytes of code that the first pass leaves out */
    int32_t units;
    int32_t zero_point;
};

#define TFLMGEN_FULLY_CONNECTED_MVE_CHUNK_BYTES 68
#define TFLMGEN_FULLY_CONNECTED_MVE_GROUP_BYTES 96 /* beside its chunks */

/* 16 values times eight units, 128 MACs: 9 VLDRB + 8 VMLADAVA. The accumulators are the even registers. */
/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_MVE_CHUNK \
    "vldrb.8 q0, [r1], #16\n\t"           \
    "vldrb.8 q1, [r9], #16\n\t"           \
    "vmladava.s8 r0, q0, q1\n\t"          \
    "vldrb.8 q2, [r9], #16\n\t"           \
    "vmladava.s8 r2, q0, q2\n\t"          \
    "vldrb.8 q1, [r9], #16\n\t"           \
    "vmladava.s8 r4, q0, q1\n\t"          \
    "vldrb.8 q2, [r9], #16\n\t"           \
    "vmladava.s8 r6, q0, q2\n\t"          \
    "vldrb.8 q1, [r9], #16\n\t"           \
    "vmladava.s8 r8, q0, q1\n\t"          \
    "vldrb.8 q2, [r9], #16\n\t"           \
    "vmladava.s8 r10, q0, q2\n\t"         \
    "vldrb.8 q1, [r9], #16\n\t"           \
    "vmladava.s8 r12, q0, q1\n\t"         \
    "vldrb.8 q2, [r9], #16\n\t"           \
    "vmladava.s8 lr, q0, q2\n\t"

/* Four sums by the next m and -r of the stream. The counter, r3, is 1 behind the last pass, and so it is the sign fix.
 */
#define TFLMGEN_FULLY_CONNECTED_MVE_REQUANTIZE(sums) \
    "vldrw.u32 q3, [r9], #16\n\t"                   \
    "vqrdmulh.s32 " sums ", " sums ", q3\n\t"       \
    "vldrw.u32 q3, [r9], #16\n\t"                   \
    "vqdmlah.s32 " sums ", " sums ", r3\n\t"        \
    "vrshl.s32 " sums ", " sums ", q3\n\t"

/* All groups of one row: 1 begins a group, 2 a pass over four chunks, 3 stores the outputs of a last group of fewer
 * than eight units. Registers: r1 row, r3 counter, r5 entry of the first pass, r7 output, r9 stream, r11 units that
 * remain; q4 zero point; the even ones sums, those of units 0, 2, 4, 6 to q0, of the others to q1. Stack: 0 row, 4
 * counter. A group begins with its biases, 3 instructions; then 2 for every four of its chunks, and 22. */
TFLMGEN_SHARED void tflmgen_fully_connected_mve_groups(int8_t *output,
                                                       const struct tflmgen_fully_connected_mve_groups *groups,
                                                       const int8_t *stream)
{
    TFLMGEN_IN_REGISTERS_3(output, groups, stream);
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "mov r9, r2\n\t"
                     "mov r7, r0\n\t"
                     "ldmia r1, {r3, r4, r5, r8, r11}\n\t"
                     "push {r3, r4}\n\t"
                     "vdup.16 q4, r11\n\t"
                     "mov r11, r8\n\t"
                     "adr r6, 2f\n\t"
                     "add r5, r5, r6\n\t"
                     "orr r5, r5, #1\n"
                     "1:\n\t"
                     "ldrd r1, r3, [sp]\n\t"
                     "ldmia.w r9!, {r0, r2, r4, r6, r8, r10, r12, lr}\n\t"
                     "mov pc, r5\n\t"
                     ".p2align 2\n"
                     "2:\n\t"
                     ".rept 4\n\t" TFLMGEN_FULLY_CONNECTED_MVE_CHUNK ".endr\n\t"
                     "adds.w r3, r3, #1\n\t"
                     "ble.w 2b\n\t"
                     "vmov d0, r0, r4\n\t"
                     "vmov d1, r8, r12\n\t"
                     "vmov d2, r2, r6\n\t"
                     "vmov d3, r10, lr\n\t" TFLMGEN_FULLY_CONNECTED_MVE_REQUANTIZE("q0")
                     TFLMGEN_FULLY_CONNECTED_MVE_REQUANTIZE("q1")
                     "vqmovnb.s32 q0, q0\n\t"
                     "vqmovnt.s32 q0, q1\n\t"
                     "vqadd.s16 q0, q0, q4\n\t"
                     "vqmovnb.s16 q0, q0\n\t"
                     "subs.w r11, r11, #8\n\t"
                     "blt 3f\n\t"
                     "vstrb.16 q0, [r7], #8\n\t"
                     "bne.w 1b\n\t"
                     "b 4f\n"
                     "3:\n\t"
                     "add r11, r11, #8\n\t"
                     "vctp.16 r11\n\t"
                     "vpst\n\t"
                     "vstrbt.16 q0, [r7]\n"
                     "4:\n\t"
                     "add sp, sp, #8\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2)
                     :
                     : "r3", "r12", "q0", "q1", "q2", "q3", "q4", "cc", "memory");
}
/* clang-format on */

TFLMGEN_HELPER struct tflmgen_fully_connected_mve_groups
tflmgen_fully_connected_mve_groups_of(const int8_t *row, int32_t chunks, int32_t units, int32_t zero_point)
{
    const int32_t passes = (chunks + 3) / 4;
    const struct tflmgen_fully_connected_mve_groups groups = {
        row, 1 - passes, (4 * passes - chunks) * TFLMGEN_FULLY_CONNECTED_MVE_CHUNK_BYTES, units, zero_point};
    return groups;
}

/* The sum of a single unit. 16 MACs: 2 VLDRB, VMLADAVA, LE. */
TFLMGEN_HELPER int32_t tflmgen_fully_connected_mve_dot(int32_t sum, const int8_t *row, const int8_t *weights,
                                                       int32_t chunks)
{
    /* clang-format off */
    __asm__ volatile("wls lr, %[chunks], 2f\n"
                     "1:\n\t"
                     "vldrb.8 q0, [%[row]], #16\n\t"
                     "vldrb.8 q1, [%[weights]], #16\n\t"
                     "vmladava.s8 %[sum], q0, q1\n\t"
                     "le lr, 1b\n"
                     "2:"
                     : [sum] "+Te"(sum), [row] "+r"(row), [weights] "+r"(weights)
                     : [chunks] "r"(chunks)
                     : "lr", "q0", "q1", "memory");
    /* clang-format on */
    return sum;
}

/* The single units, one after the other. */
TFLMGEN_SHARED void tflmgen_fully_connected_mve_singles(const int8_t *row, const int8_t *stream, int8_t *output,
                                                        const struct tflmgen_fully_connected_mve_s8 *p)
{
    for (int32_t single = 0; single < p->singles; ++single) {
        const tflmgen_s32 *const factors = (const tflmgen_s32 *)(const void *)(stream + 16 * p->chunks);
        const int32_t sum = tflmgen_fully_connected_mve_dot(factors[0], row, stream, p->chunks);
        const int32_t result = tflmgen_requantize(sum, factors[1], factors[2]) + p->output_zero_point;
        output[single] = (int8_t)tflmgen_saturate_s8(result);
        stream = (const int8_t *)(const void *)(factors + 3);
    }
}

/* copied: room for a row of whole chunks, where rows are copied, else NULL. */
TFLMGEN_SHARED void tflmgen_fully_connected_mve_run(const int8_t *input, const int8_t *stream, int8_t *output,
                                                    const struct tflmgen_fully_connected_mve_s8 *p, int8_t *copied)
{
    struct tflmgen_fully_connected_mve_groups groups =
        tflmgen_fully_connected_mve_groups_of(copied, p->chunks, p->units - p->singles, p->output_zero_point);
    for (int32_t batch = 0; batch < p->batches; ++batch, input += p->depth, output += p->units) {
        if (copied) {
            tflmgen_copy_mve(copied, input, p->depth);
        } else {
            groups.row = input;
        }
        if (groups.units > 0) {
            tflmgen_fully_connected_mve_groups(output, &groups, stream);
        }
        if (p->singles > 0) {
            const int8_t *const singles_stream =
                stream + (groups.units + TFLMGEN_FULLY_CONNECTED_MVE_UNITS - 1) / TFLMGEN_FULLY_CONNECTED_MVE_UNITS *
                             (128 * p->chunks + TFLMGEN_FULLY_CONNECTED_MVE_GROUP_BYTES);
            tflmgen_fully_connected_mve_singles(groups.row, singles_stream, output + groups.units, p);
        }
    }
    const int32_t count = p->batches * p->units;
    tflmgen_clamp_dsp_s8(output - count, count, p->output_min, p->output_max);
}

TFLMGEN_SHARED void tflmgen_fully_connected_mve_run_copied(const int8_t *input, const int8_t *stream, int8_t *output,
                                                           const struct tflmgen_fully_connected_mve_s8 *p)
{
    int8_t row[TFLMGEN_FULLY_CONNECTED_MVE_STACK_BYTES];
    tflmgen_fully_connected_mve_run(input, stream, output, p, row);
}

/* Rows of whole chunks, or of at most TFLMGEN_FULLY_CONNECTED_MVE_STACK_BYTES values. */
TFLMGEN_SHARED void tflmgen_fully_connected_mve_s8(const int8_t *input, const tflmgen_u32 *stream, int8_t *output,
                                                   const struct tflmgen_fully_connected_mve_s8 *p)
{
    if (p->depth % 16 == 0) {
        tflmgen_fully_connected_mve_run(input, (const int8_t *)stream, output, p, NULL);
    } else {
        tflmgen_fully_connected_mve_run_copied(input, (const int8_t *)stream, output, p);
    }
}

#endif

#endif
