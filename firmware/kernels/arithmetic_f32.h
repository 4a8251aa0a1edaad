/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* ADD, SUB and MUL in float32, with their activation as a range of the output. Up to TFLMGEN_FEW_ELEMENTS are straight
 * code; more go row by row through functions that all calls share.
 */
#ifndef TFLMGEN_KERNELS_ARITHMETIC_F32_H
#define TFLMGEN_KERNELS_ARITHMETIC_F32_H

#include <float.h>

#include "mve.h"
#include "nest.h"

struct tflmgen_arithmetic_f32 {
    TFLMGEN_BINARY_NEST
    float least;
    float greatest;
};

#if TFLMGEN_HAS_MVE_F32
/* What all rows of a call have in common. */
struct tflmgen_rows_range_f32 {
    int32_t elements;
    float least;
    float greatest;
};

/* The loop over a row: LOADS of one operand or both, `operation` of the registers `first` and `second`, and the range.
 * A row's single other operand is in all lanes of `broadcast`. Four elements: LOADS, the operation, 2 VCMP, 2 VPSEL as
 * in tflmgen_clamp_f32_mve, VSTRW, LETP. */
/* clang-format off */
#define TFLMGEN_ARITHMETIC_LOOP_MVE(LOADS, operation, first, second)                                \
    __asm__ volatile("wlstp.32 lr, %[elements], 2f\n"                                               \
                     "1:\n\t" LOADS                                                                 \
                     operation " q0, " first ", " second "\n\t"                                     \
                     "vcmp.f32 gt, %q[least], q0\n\t"                                               \
                     "vpsel q0, %q[least], q0\n\t"                                                  \
                     "vcmp.f32 gt, q0, %[greatest]\n\t"                                             \
                     "vpsel q0, %q[greatest_lanes], q0\n\t"                                         \
                     "vstrw.32 q0, [%[output]], #16\n\t"                                            \
                     "letp lr, 1b\n"                                                                \
                     "2:"                                                                           \
                     : [row1] "+l"(row1), [row2] "+l"(row2), [output] "+l"(output)                  \
                     : [broadcast] "w"(broadcast), [least] "w"(vdupq_n_f32(p->least)),              \
                       [greatest_lanes] "w"(vdupq_n_f32(p->greatest)), [greatest] "r"(p->greatest), \
                       [elements] "r"(p->elements)                                                  \
                     : "lr", "q0", "q1", "cc", "memory")

/* name_row: a row and a row; name_second: a row and a single second element; name_first: a single first element and a
 * row. */
#define TFLMGEN_DEFINE_ARITHMETIC_ROW_F32(name, expression, operation)                                       \
    TFLMGEN_SHARED void name##_row(const tflmgen_f32 *row1, const tflmgen_f32 *row2, tflmgen_f32 *output,    \
                                   const struct tflmgen_rows_range_f32 *p)                                   \
    {                                                                                                        \
        const float32x4_t broadcast = vdupq_n_f32(0.0f);                                                     \
        TFLMGEN_ARITHMETIC_LOOP_MVE("vldrw.u32 q0, [%[row1]], #16\n\tvldrw.u32 q1, [%[row2]], #16\n\t",      \
                                    operation, "q0", "q1");                                                  \
    }                                                                                                        \
    TFLMGEN_SHARED void name##_second(const tflmgen_f32 *row1, const tflmgen_f32 *row2, tflmgen_f32 *output, \
                                      const struct tflmgen_rows_range_f32 *p)                                \
    {                                                                                                        \
        const float32x4_t broadcast = vdupq_n_f32(*row2);                                                    \
        TFLMGEN_ARITHMETIC_LOOP_MVE("vldrw.u32 q0, [%[row1]], #16\n\t", operation, "q0", "%q[broadcast]");   \
    }                                                                                                        \
    TFLMGEN_SHARED void name##_first(const tflmgen_f32 *row1, const tflmgen_f32 *row2, tflmgen_f32 *output,  \
                                     const struct tflmgen_rows_range_f32 *p)                                 \
    {                                                                                                        \
        const float32x4_t broadcast = vdupq_n_f32(*row1);                                                    \
        TFLMGEN_ARITHMETIC_LOOP_MVE("vldrw.u32 q0, [%[row2]], #16\n\t", operation, "%q[broadcast]", "q0");   \
    }
/* clang-format on */

#define TFLMGEN_DEFINE_ARITHMETIC_F32(name, expression, operation)                                                    \
    TFLMGEN_DEFINE_ARITHMETIC_ROW_F32(name, expression, operation)                                                    \
    TFLMGEN_KERNEL void name(const tflmgen_f32 *input1, const tflmgen_f32 *input2, tflmgen_f32 *output,               \
                             const struct tflmgen_arithmetic_f32 *params)                                             \
    {                                                                                                                 \
        const int32_t row = params->rank - 1;                                                                         \
        const struct tflmgen_rows_range_f32 p = {params->extent[row], params->least, params->greatest};               \
        if (!params->stride2[row]) {                                                                                  \
            TFLMGEN_EACH_BINARY_ROW(tflmgen_f32, input1, input2, output, params,                                      \
                                    name##_second(row1, row2, output, &p));                                           \
        } else if (!params->stride1[row]) {                                                                           \
            TFLMGEN_EACH_BINARY_ROW(tflmgen_f32, input1, input2, output, params,                                      \
                                    name##_first(row1, row2, output, &p));                                            \
        } else {                                                                                                      \
            TFLMGEN_EACH_BINARY_ROW(tflmgen_f32, input1, input2, output, params, name##_row(row1, row2, output, &p)); \
        }                                                                                                             \
    }
#else
/* Infinities become the greatest finite numbers; NaN stays. */
static __attribute__((noinline, cold, unused)) void tflmgen_make_finite(tflmgen_f32 *row, int32_t elements)
{
    for (int32_t i = 0; i < elements; i++) {
        row[i] = tflmgen_clamp_f32(row[i], -FLT_MAX, FLT_MAX);
    }
}

/* Without a greatest value the range is that of all finite floats above the least, and only infinities are beyond it.
 * If a row's sum is finite, all of its elements are, so that comparing the sum spares comparing each element. */
#define TFLMGEN_DEFINE_ARITHMETIC_ROW_F32(name, expression)                                                \
    TFLMGEN_HELPER void name##_row_of(const tflmgen_f32 *row1, int32_t stride1, const tflmgen_f32 *row2,   \
                                      int32_t stride2, tflmgen_f32 *output, int32_t elements, float least, \
                                      float greatest)                                                      \
    {                                                                                                      \
        float sum = 0.0f;                                                                                  \
        if (greatest < FLT_MAX) {                                                                          \
            for (int32_t i = 0; i < elements; i++) {                                                       \
                const float a = row1[i * stride1];                                                         \
                const float b = row2[i * stride2];                                                         \
                output[i] = tflmgen_clamp_f32((expression), least, greatest);                              \
            }                                                                                              \
            return;                                                                                        \
        }                                                                                                  \
        if (least > -FLT_MAX) {                                                                            \
            TFLMGEN_UNROLL_4                                                                               \
            for (int32_t i = 0; i < elements; i++) {                                                       \
                const float a = row1[i * stride1];                                                         \
                const float b = row2[i * stride2];                                                         \
                const float value = (expression);                                                          \
                sum += value;                                                                              \
                output[i] = value < least ? least : value;                                                 \
            }                                                                                              \
        } else {                                                                                           \
            TFLMGEN_UNROLL_4                                                                               \
            for (int32_t i = 0; i < elements; i++) {                                                       \
                const float a = row1[i * stride1];                                                         \
                const float b = row2[i * stride2];                                                         \
                const float value = (expression);                                                          \
                output[i] = value;                                                                         \
                sum += value;                                                                              \
            }                                                                                              \
        }                                                                                                  \
        if (!(sum - sum >= 0.0f)) {                                                                        \
            tflmgen_make_finite(output, elements);                                                         \
        }                                                                                                  \
    }

/* Rows one after the other; of each operand the elements of a row are a stride of 1 apart, or 0: one element. */
struct tflmgen_rows_range_f32 {
    int32_t rows;
    int32_t elements;
    int32_t step1; /* from row to row */
    int32_t step2;
    float least;
    float greatest;
};

#if defined(__ARM_FP) && (__ARM_FP & 4) && defined(__thumb2__)
/* Blocks of four elements in s0 to s3, by the registers of LOADS or by the other operand's single element in s4: 9
 * instructions, 4 of SUMS and 16 for each bound of BOUNDS. Leaves `left` modulo 4. */
/* clang-format off */
#define TFLMGEN_ARITHMETIC_BLOCKS_F32(LOADS, OPERATION, BOUNDS)                                                        \
    if ((left -= 4) >= 0) {                                                                                            \
        __asm__ volatile("1:\n\t"                                                                                      \
                         LOADS OPERATION BOUNDS                                                                        \
                         "vstmia %[output]!, {s0-s3}\n\t"                                                              \
                         "subs %[left], #4\n\t"                                                                        \
                         "bge 1b\n\t"                                                                                  \
                         : [a] "+r"(a_row), [b] "+r"(b_row), [output] "+r"(output), [left] "+r"(left), [sum] "+t"(sum),\
                           [other] "+t"(other)                                                                         \
                         : [least] "t"(least), [greatest] "t"(greatest)                                                \
                         : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "cc", "memory");                            \
    }                                                                                                                  \
    left += 4
#define TFLMGEN_SUMS_F32                                                                                               \
    "vadd.f32 %[sum], s0\n\tvadd.f32 %[other], s1\n\tvadd.f32 %[sum], s2\n\tvadd.f32 %[other], s3\n\t"
#define TFLMGEN_BOUND_F32(value, bound, condition)                                                                     \
    "vcmp.f32 " value ", " bound "\n\tvmrs APSR_nzcv, fpscr\n\tit " condition "\n\t"                                   \
    "vmov" condition ".f32 " value ", " bound "\n\t"
#define TFLMGEN_BOUNDS_F32(bound, condition)                                                                           \
    TFLMGEN_BOUND_F32("s0", bound, condition) TFLMGEN_BOUND_F32("s1", bound, condition)                                \
    TFLMGEN_BOUND_F32("s2", bound, condition) TFLMGEN_BOUND_F32("s3", bound, condition)
#define TFLMGEN_RAISE_F32 TFLMGEN_BOUNDS_F32("%[least]", "mi")
#define TFLMGEN_ARITHMETIC_F32_row(op, BOUNDS)                                                                         \
    TFLMGEN_ARITHMETIC_BLOCKS_F32(                                                                                     \
        "vldmia %[a]!, {s0-s3}\n\tvldmia %[b]!, {s4-s7}\n\t",                                                          \
        op " s0, s0, s4\n\t" op " s1, s1, s5\n\t" op " s2, s2, s6\n\t" op " s3, s3, s7\n\t", BOUNDS)
#define TFLMGEN_ARITHMETIC_F32_second(op, BOUNDS)                                                                      \
    TFLMGEN_ARITHMETIC_BLOCKS_F32(                                                                                     \
        "vldmia %[a]!, {s0-s3}\n\tvldr s4, [%[b]]\n\t",                                                                \
        op " s0, s0, s4\n\t" op " s1, s1, s4\n\t" op " s2, s2, s4\n\t" op " s3, s3, s4\n\t", BOUNDS)
#define TFLMGEN_ARITHMETIC_F32_first(op, BOUNDS)                                                                       \
    TFLMGEN_ARITHMETIC_BLOCKS_F32(                                                                                     \
        "vldmia %[b]!, {s0-s3}\n\tvldr s4, [%[a]]\n\t",                                                                \
        op " s0, s4, s0\n\t" op " s1, s4, s1\n\t" op " s2, s4, s2\n\t" op " s3, s4, s3\n\t", BOUNDS)
/* clang-format on */
#else
#define TFLMGEN_ARITHMETIC_F32_row(op, BOUNDS)
#define TFLMGEN_ARITHMETIC_F32_second(op, BOUNDS)
#define TFLMGEN_ARITHMETIC_F32_first(op, BOUNDS)
#endif

/* Rows by blocks, then by elements, whose `value` becomes the RESULT. */
#define TFLMGEN_EACH_ARITHMETIC_ROW_F32(stride1, stride2, expression, BLOCKS, RESULT) \
    for (int32_t row = p->rows; row > 0; --row, row1 += p->step1, row2 += p->step2) { \
        const tflmgen_f32 *a_row = row1;                                              \
        const tflmgen_f32 *b_row = row2;                                              \
        int32_t left = p->elements;                                                   \
        BLOCKS;                                                                       \
        for (; left > 0; --left, a_row += stride1, b_row += stride2) {                \
            const float a = *a_row;                                                   \
            const float b = *b_row;                                                   \
            const float value = (expression);                                         \
            *output++ = RESULT;                                                       \
            sum += value;                                                             \
        }                                                                             \
    }

/* name_KIND: rows of two rows, of a row and a single element, or the other way round. */
#define TFLMGEN_DEFINE_ARITHMETIC_ROWS_F32(name, kind, stride1, stride2, expression, operation)                        \
    static __attribute__((noinline, unused)) void name##_##kind(                                                       \
        const tflmgen_f32 *row1, const tflmgen_f32 *row2, tflmgen_f32 *output, const struct tflmgen_rows_range_f32 *p) \
    {                                                                                                                  \
        const float least = p->least;                                                                                  \
        const float greatest = p->greatest;                                                                            \
        tflmgen_f32 *const begin = output;                                                                             \
        float sum = 0.0f;                                                                                              \
        float other = 0.0f;                                                                                            \
        if (greatest < FLT_MAX) {                                                                                      \
            TFLMGEN_EACH_ARITHMETIC_ROW_F32(                                                                           \
                stride1, stride2, expression,                                                                          \
                TFLMGEN_ARITHMETIC_F32_##kind(operation, TFLMGEN_RAISE_F32 TFLMGEN_BOUNDS_F32("%[greatest]", "gt")),   \
                tflmgen_clamp_f32(value, least, greatest))                                                             \
            return;                                                                                                    \
        }                                                                                                              \
        if (least > -FLT_MAX) {                                                                                        \
            TFLMGEN_EACH_ARITHMETIC_ROW_F32(                                                                           \
                stride1, stride2, expression,                                                                          \
                TFLMGEN_ARITHMETIC_F32_##kind(operation, TFLMGEN_SUMS_F32 TFLMGEN_RAISE_F32),                          \
                value < least ? least : value)                                                                         \
        } else {                                                                                                       \
            TFLMGEN_EACH_ARITHMETIC_ROW_F32(stride1, stride2, expression,                                              \
                                            TFLMGEN_ARITHMETIC_F32_##kind(operation, TFLMGEN_SUMS_F32), value)         \
        }                                                                                                              \
        sum += other;                                                                                                  \
        if (!(sum - sum >= 0.0f)) {                                                                                    \
            tflmgen_make_finite(begin, p->rows * p->elements);                                                         \
        }                                                                                                              \
    }

#define TFLMGEN_DEFINE_ARITHMETIC_F32(name, expression, operation)                                                    \
    TFLMGEN_DEFINE_ARITHMETIC_ROW_F32(name, expression)                                                               \
    TFLMGEN_DEFINE_ARITHMETIC_ROWS_F32(name, row, 1, 1, expression, operation)                                        \
    TFLMGEN_DEFINE_ARITHMETIC_ROWS_F32(name, second, 1, 0, expression, operation)                                     \
    TFLMGEN_DEFINE_ARITHMETIC_ROWS_F32(name, first, 0, 1, expression, operation)                                      \
    TFLMGEN_KERNEL void name(const tflmgen_f32 *input1, const tflmgen_f32 *input2, tflmgen_f32 *output,               \
                             const struct tflmgen_arithmetic_f32 *params)                                             \
    {                                                                                                                 \
        const int32_t row = params->rank - 1;                                                                         \
        const struct tflmgen_rows_range_f32 p = {                                                                     \
            row > 0 ? params->extent[row - 1] : 1,  params->extent[row], row > 0 ? params->stride1[row - 1] : 0,      \
            row > 0 ? params->stride2[row - 1] : 0, params->least,       params->greatest};                           \
        if (TFLMGEN_FOR_SPEED && row <= 1 && tflmgen_is_few(p.rows * p.elements)) {                                   \
            for (int32_t i = 0; i < p.rows; i++) {                                                                    \
                name##_row_of(input1 + i * p.step1, params->stride1[row], input2 + i * p.step2, params->stride2[row], \
                              output + i * p.elements, p.elements, p.least, p.greatest);                              \
            }                                                                                                         \
            return;                                                                                                   \
        }                                                                                                             \
        struct tflmgen_nest_cursor cursor = {{0}, 0, 0};                                                              \
        do {                                                                                                          \
            const tflmgen_f32 *const row1 = input1 + cursor.offset1;                                                  \
            const tflmgen_f32 *const row2 = input2 + cursor.offset2;                                                  \
            if (!params->stride2[row]) {                                                                              \
                name##_second(row1, row2, output, &p);                                                                \
            } else if (!params->stride1[row]) {                                                                       \
                name##_first(row1, row2, output, &p);                                                                 \
            } else {                                                                                                  \
                name##_row(row1, row2, output, &p);                                                                   \
            }                                                                                                         \
            output += p.rows * p.elements;                                                                            \
        } while (tflmgen_nest_next_row(&cursor, row, params->extent, params->stride1, params->stride2));              \
    }
#endif

TFLMGEN_DEFINE_ARITHMETIC_F32(tflmgen_add_f32, a + b, "vadd.f32")
TFLMGEN_DEFINE_ARITHMETIC_F32(tflmgen_sub_f32, a - b, "vsub.f32")
TFLMGEN_DEFINE_ARITHMETIC_F32(tflmgen_mul_f32, a *b, "vmul.f32")

#endif
