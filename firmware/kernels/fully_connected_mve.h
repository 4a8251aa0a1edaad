/* FULLY_CONNECTED in int8 for cores with MVE: one row times eight units at a time.
 *
 * The weights are a stream of groups of eight units, rows filled up with zero weights to whole 16s; units that the last
 * group lacks are zeros:
 *     16 weights of each unit, times `chunks` | bias, m, -r of units 0, 2, 4, 6 | the same of units 1, 3, 5, 7
 * Rows that are no whole 16s are copied. A few units at the end may be single ones, which need no zeros beside them:
 *     16 weights, times `chunks` | bias, m, -r
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
    int32_t chunks;  /* 16s of values in a row */
    int32_t singles; /* units behind the groups, computed one by one */
    int32_t output_zero_point;
    int32_t output_min;
    int32_t output_max;
};

/* What the groups of a row need to know, in the order in which the assembly reads it. */
struct tflmgen_fully_connected_mve_groups {
    const int8_t *row;
    int32_t passes; /* of the loop over all chunks but the first, unrolled 4 times */
    int32_t skip;   /* bytes of code that the first pass leaves out: the whole loop where there is one chunk */
    int32_t units;
    int32_t zero_point;
};

#define TFLMGEN_FULLY_CONNECTED_MVE_CHUNK_BYTES 68
#define TFLMGEN_FULLY_CONNECTED_MVE_LOOP_BYTES (4 * TFLMGEN_FULLY_CONNECTED_MVE_CHUNK_BYTES + 8)

/* 16 values times eight units, 128 MACs: 9 VLDRB + 8 VMLADAV. The accumulators are the even registers. */
/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_MVE_CHUNK(MAC) \
    "vldrb.8 q0, [r1], #16\n\t"                \
    "vldrb.8 q1, [r9], #16\n\t" MAC            \
    " r0, q0, q1\n\t"                          \
    "vldrb.8 q2, [r9], #16\n\t" MAC            \
    " r2, q0, q2\n\t"                          \
    "vldrb.8 q1, [r9], #16\n\t" MAC            \
    " r4, q0, q1\n\t"                          \
    "vldrb.8 q2, [r9], #16\n\t" MAC            \
    " r6, q0, q2\n\t"                          \
    "vldrb.8 q1, [r9], #16\n\t" MAC            \
    " r8, q0, q1\n\t"                          \
    "vldrb.8 q2, [r9], #16\n\t" MAC            \
    " r10, q0, q2\n\t"                         \
    "vldrb.8 q1, [r9], #16\n\t" MAC            \
    " r12, q0, q1\n\t"                         \
    "vldrb.8 q2, [r9], #16\n\t" MAC            \
    " lr, q0, q2\n\t"
/* clang-format on */

/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_MVE_REQUANTIZE(sums)         \
    "vldrw.u32 q3, [r9], #16\n\t"                         \
    "vadd.i32 " sums ", " sums ", q3\n\t"                 \
    "vldrw.u32 q3, [r9], #16\n\t"                         \
    "vqrdmulh.s32 " sums ", " sums ", q3\n\t"             \
    "vshr.s32 q3, " sums ", #31\n\t"                      \
    "vadd.i32 " sums ", " sums ", q3\n\t"                 \
    "vldrw.u32 q3, [r9], #16\n\t"                         \
    "vrshl.s32 " sums ", " sums ", q3\n\t"
/* clang-format on */

/* Registers: r1 row, r3 passes left, r5 entry of the first pass, r7 output, r9 stream, r11 units left; q4 zero point.
 * Stack: row, passes. A group costs 2 instructions around its first chunk, 2 for every four of
 * the others, and 29 after the last one. */
TFLMGEN_SHARED void tflmgen_fully_connected_mve_groups(const int8_t *stream, int8_t *output,
                                                       const struct tflmgen_fully_connected_mve_groups *groups)
{
    TFLMGEN_IN_REGISTERS_3(stream, output, groups);
    /* clang-format off */
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "mov r9, r0\n\t"
                     "mov r7, r1\n\t"
                     "ldmia r2, {r3, r4, r5, r8, r11}\n\t"
                     "push {r3, r4}\n\t"
                     "vdup.16 q4, r11\n\t"
                     "mov r11, r8\n\t"
                     "adr r6, 2f\n\t"
                     "add r5, r5, r6\n\t"
                     "orr r5, r5, #1\n"
                     "1:\n\t"
                     "ldrd r1, r3, [sp]\n\t" TFLMGEN_FULLY_CONNECTED_MVE_CHUNK("vmladav.s8")
                     "mov pc, r5\n\t"
                     ".p2align 2\n"
                     "2:\n\t"
                     ".rept 4\n\t" TFLMGEN_FULLY_CONNECTED_MVE_CHUNK("vmladava.s8") ".endr\n\t"
                     "subs.w r3, r3, #1\n\t"
                     "bne.w 2b\n\t"
                     "vmov d0, r0, r4\n\t"
                     "vmov d1, r8, r12\n\t"
                     "vmov d2, r2, r6\n\t"
                     "vmov d3, r10, lr\n\t" TFLMGEN_FULLY_CONNECTED_MVE_REQUANTIZE("q0")
                     TFLMGEN_FULLY_CONNECTED_MVE_REQUANTIZE("q1")
                     "vqmovnb.s32 q0, q0\n\t"
                     "vqmovnt.s32 q0, q1\n\t"
                     "vqadd.s16 q0, q0, q4\n\t"
                     "vqmovnb.s16 q0, q0\n\t"
                     "vctp.16 r11\n\t"
                     "vpst\n\t"
                     "vstrbt.16 q0, [r7], #8\n\t"
                     "subs r11, r11, #8\n\t"
                     "bgt.w 1b\n\t"
                     "add sp, sp, #8\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2)
                     :
                     : "r3", "r12", "q0", "q1", "q2", "q3", "q4", "cc", "memory");
    /* clang-format on */
}

TFLMGEN_HELPER struct tflmgen_fully_connected_mve_groups
tflmgen_fully_connected_mve_groups_of(const int8_t *row, int32_t chunks, int32_t units, int32_t zero_point)
{
    const int32_t rest = chunks - 1;
    const int32_t passes = (rest + 3) / 4;
    const int32_t skip = (4 * passes - rest) * TFLMGEN_FULLY_CONNECTED_MVE_CHUNK_BYTES;
    const struct tflmgen_fully_connected_mve_groups groups = {
        row, passes, rest > 0 ? skip : TFLMGEN_FULLY_CONNECTED_MVE_LOOP_BYTES, units, zero_point};
    return groups;
}

/* 16 MACs: 2 VLDRB, VMLADAVA, LE. */
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

/* One output after the other. */
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
            tflmgen_fully_connected_mve_groups(stream, output, &groups);
        }
        if (p->singles > 0) {
            const int8_t *const behind = stream + (groups.units + TFLMGEN_FULLY_CONNECTED_MVE_UNITS - 1) /
                                                      TFLMGEN_FULLY_CONNECTED_MVE_UNITS * (128 * p->chunks + 96);
            tflmgen_fully_connected_mve_singles(groups.row, behind, output + groups.units, p);
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

/* Rows of whole 16s, or of at most TFLMGEN_FULLY_CONNECTED_MVE_STACK_BYTES values. */
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
