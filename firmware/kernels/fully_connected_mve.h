/* FULLY_CONNECTED in int8 for cores with MVE: one row times eight units at a time.
 *
 * The weights are a stream of groups of eight units, rows filled up with zero weights to whole 16s; units that the last
 * group lacks are zeros:
 *     16 weights of each unit, times `chunks` | bias, m, -r of units 0..3 | the same of units 4..7
 */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_MVE_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_MVE_H

#include "mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* Bytes of a row that is no multiple of 16, on the stack. */
#define TFLMGEN_FULLY_CONNECTED_MVE_STACK_BYTES 512

struct tflmgen_fully_connected_mve_s8 {
    int32_t batches;
    int32_t depth;
    int32_t units;
    int32_t chunks; /* 16s of values in a row */
    int32_t output_zero_point;
    int32_t output_min;
    int32_t output_max;
};

/* 16 values times eight units, 128 MACs: 9 VLDRB + 8 VMLADAV, and 2 to loop. The accumulators are the even registers. */
#define TFLMGEN_FULLY_CONNECTED_MVE_CHUNK  \
    "vldrb.8 q0, [r1], #16\n\t"            \
    "vldrb.8 q1, [r9], #16\n\t"            \
    "vmladava.s8 r0, q0, q1\n\t"           \
    "vldrb.8 q2, [r9], #16\n\t"            \
    "vmladava.s8 r2, q0, q2\n\t"           \
    "vldrb.8 q1, [r9], #16\n\t"            \
    "vmladava.s8 r4, q0, q1\n\t"           \
    "vldrb.8 q2, [r9], #16\n\t"            \
    "vmladava.s8 r6, q0, q2\n\t"           \
    "vldrb.8 q1, [r9], #16\n\t"            \
    "vmladava.s8 r8, q0, q1\n\t"           \
    "vldrb.8 q2, [r9], #16\n\t"            \
    "vmladava.s8 r10, q0, q2\n\t"          \
    "vldrb.8 q1, [r9], #16\n\t"            \
    "vmladava.s8 r12, q0, q1\n\t"          \
    "vldrb.8 q2, [r9], #16\n\t"            \
    "vmladava.s8 lr, q0, q2\n\t"

/* Sums of eight units; returns where the group's factors begin. Registers: r1 row, r3 chunks left, r9 stream. */
TFLMGEN_SHARED const int8_t *tflmgen_fully_connected_mve_sums(const int8_t *row, const int8_t *stream, int32_t chunks,
                                                              int32_t *sums)
{
    register const int8_t *r0 __asm__("r0") = row;
    register const int8_t *r1 __asm__("r1") = stream;
    register int32_t r2 __asm__("r2") = chunks;
    register int32_t *r3 __asm__("r3") = sums;
    __asm__ volatile("push {r3, r4-r11, lr}\n\t"
                     "mov r9, r1\n\t"
                     "mov r1, r0\n\t"
                     "mov r3, r2\n\t"
                     "movs r0, #0\n\t"
                     "mov r2, r0\n\t"
                     "mov r4, r0\n\t"
                     "mov r6, r0\n\t"
                     "mov r8, r0\n\t"
                     "mov r10, r0\n\t"
                     "mov r12, r0\n\t"
                     "mov lr, r0\n"
                     "1:\n\t" TFLMGEN_FULLY_CONNECTED_MVE_CHUNK
                     "subs r3, r3, #1\n\t"
                     "bne 1b\n\t"
                     "ldr r3, [sp]\n\t"
                     "stmia r3!, {r0, r2, r4, r6, r8, r10, r12, lr}\n\t"
                     "mov r0, r9\n\t"
                     "pop {r3, r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "r12", "q0", "q1", "q2", "cc", "memory");
    return r0;
}

/* Four units' outputs, `count` of them. */
TFLMGEN_HELPER void tflmgen_fully_connected_mve_finish(int8_t *output, const int32_t *sums, const int32_t *factors,
                                                       int32_t zero_point, int32_t count, bool with_sign)
{
    int32x4_t high = vqrdmulhq_s32(vaddq_s32(vld1q_s32(sums), vld1q_s32(factors)), vld1q_s32(factors + 4));
    if (with_sign) {
        high = vaddq_s32(high, vshrq_n_s32(high, 31));
    }
    high = vaddq_n_s32(vrshlq_s32(high, vld1q_s32(factors + 8)), zero_point);
    high = vmaxq_s32(vminq_s32(high, vdupq_n_s32(127)), vdupq_n_s32(-128));
    vstrbq_p_s32(output, high, vctp32q((uint32_t)tflmgen_max_s32(count, 0)));
}

TFLMGEN_HELPER void tflmgen_fully_connected_mve_run(const int8_t *input, const int8_t *stream, int8_t *output,
                                                    const struct tflmgen_fully_connected_mve_s8 *p, int8_t *copied,
                                                    bool with_sign)
{
    for (int32_t batch = 0; batch < p->batches; ++batch, input += p->depth) {
        const int8_t *row = input;
        const int8_t *at = stream;
        if (copied) {
            tflmgen_copy_mve(copied, input, p->depth);
            row = copied;
        }
        for (int32_t left = p->units; left > 0; left -= 8) {
            int32_t sums[8];
            const int32_t *factors = (const int32_t *)(const void *)tflmgen_fully_connected_mve_sums(row, at, p->chunks, sums);
            tflmgen_fully_connected_mve_finish(output, sums, factors, p->output_zero_point, left, with_sign);
            tflmgen_fully_connected_mve_finish(output + 4, sums + 4, factors + 12, p->output_zero_point, left - 4,
                                               with_sign);
            output += tflmgen_min_s32(left, 8);
            at = (const int8_t *)(const void *)(factors + 24);
        }
    }
    if (p->output_min > -128 || p->output_max < 127) {
        const int32_t count = p->batches * p->units;
        tflmgen_clamp_dsp_s8(output - count, count, p->output_min, p->output_max);
    }
}

/* Rows of whole 16s, or of at most 512 values; outputs clamped at the zero point, or not. */
TFLMGEN_SHARED void tflmgen_fully_connected_mve_clamped_s8(const int8_t *input, const uint32_t *stream, int8_t *output,
                                                           const struct tflmgen_fully_connected_mve_s8 *p)
{
    tflmgen_fully_connected_mve_run(input, (const int8_t *)stream, output, p, NULL, false);
}

TFLMGEN_SHARED void tflmgen_fully_connected_mve_signed_s8(const int8_t *input, const uint32_t *stream, int8_t *output,
                                                          const struct tflmgen_fully_connected_mve_s8 *p)
{
    tflmgen_fully_connected_mve_run(input, (const int8_t *)stream, output, p, NULL, true);
}

TFLMGEN_SHARED void tflmgen_fully_connected_mve_clamped_stack_s8(const int8_t *input, const uint32_t *stream,
                                                                 int8_t *output,
                                                                 const struct tflmgen_fully_connected_mve_s8 *p)
{
    int8_t row[TFLMGEN_FULLY_CONNECTED_MVE_STACK_BYTES];
    tflmgen_fully_connected_mve_run(input, (const int8_t *)stream, output, p, row, false);
}

TFLMGEN_SHARED void tflmgen_fully_connected_mve_signed_stack_s8(const int8_t *input, const uint32_t *stream,
                                                                int8_t *output,
                                                                const struct tflmgen_fully_connected_mve_s8 *p)
{
    int8_t row[TFLMGEN_FULLY_CONNECTED_MVE_STACK_BYTES];
    tflmgen_fully_connected_mve_run(input, (const int8_t *)stream, output, p, row, true);
}

#endif

#endif
