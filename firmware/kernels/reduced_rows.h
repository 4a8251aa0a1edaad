/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Sums and extremes by vectors: the innermost loops of reduce.h, pool2d.h and rounded_sums.h on cores with MVE, and
 * those of int8 sums in reduce.h on cores with the DSP extension.
 *
 * A row is neighbouring elements that make one result. Columns lie side by side: each makes a result of its own, and a
 * vector holds the results of several.
 *
 *     row   e0 e1 e2 e3 ... -> result        columns   a0 b0 c0 d0       first elements of columns a, b, c and d
 *                                                      a1 b1 c1 d1       `stride` elements further
 *                                                      ...
 *                                                      -> results of a b c d
 */
#ifndef TFLMGEN_KERNELS_REDUCED_ROWS_H
#define TFLMGEN_KERNELS_REDUCED_ROWS_H

#include "dsp.h"
#include "element_rows.h"

/* Neighbouring columns. */
struct tflmgen_columns {
    int32_t extent[3]; /* of the elements of a column, in three loops, the outermost first */
    int32_t stride[3];
};

#define TFLMGEN_REDUCED_ROWS_DSP_TERMS 256 /* bytes whose sum fits a signed half */

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* What a row's elements and `result` make, of the type `bits`. suffix: the elements' (element_rows.h). A vector: VLDR,
 * VADDVA, VMAXV or VMINV, LETP. */
#define TFLMGEN_DEFINE_REDUCED_ROW(name, element, bits, suffix, operation)                                         \
    TFLMGEN_HELPER bits name(const element *row, int32_t elements, bits result)                                    \
    {                                                                                                              \
        __asm__ volatile("wlstp." TFLMGEN_LANE_BITS_##suffix " lr, %[elements], 2f\n"                              \
                                                             "1:\n\t" TFLMGEN_READ_##suffix("q0", "row") operation \
                         " %[result], q0\n\t"                                                                      \
                         "letp lr, 1b\n"                                                                           \
                         "2:"                                                                                      \
                         : [row] "+r"(row), [result] "+Te"(result)                                                 \
                         : [elements] "r"(elements)                                                                \
                         : "lr", "q0", "memory");                                                                  \
        return result;                                                                                             \
    }

/* One vector of columns, `offset` bytes from the first one. */
#define TFLMGEN_COLUMN_MVE(load, operation, offset, sums) \
    load ", [%[row], #" offset "]\n\t" operation " %q[" sums "], %q[" sums "], q0\n\t"

/* Down the innermost loop: COLUMNS, and the last vector, `offset` bytes on, which need not be full. An element of four
 * vectors: 4 VLDR, 4 VADD, VPST, ADD, LE. */
#define TFLMGEN_COLUMNS_LOOP_MVE(lane_bits, COLUMNS, load, load_type, operation, offset)                              \
    __asm__ volatile(                                                                                                 \
        "vctp." lane_bits " %[last]\n\t"                                                                              \
        "wls lr, %[count], 2f\n"                                                                                      \
        "1:\n\t" COLUMNS "vpst\n\t" load "t" load_type " q0, [%[row], #" offset "]\n\t" operation                     \
        " %q[last_sums], %q[last_sums], q0\n\t"                                                                       \
        "add %[row], %[row], %[stride]\n\t"                                                                           \
        "le lr, 1b\n"                                                                                                 \
        "2:"                                                                                                          \
        : [row] "+l"(row), [sums0] "+w"(sums0), [sums1] "+w"(sums1), [sums2] "+w"(sums2), [last_sums] "+w"(last_sums) \
        : [last] "r"(last), [count] "r"(columns->extent[2]), [stride] "r"(stride)                                     \
        : "lr", "q0", "cc", "memory")

/* Results of up to four vectors of columns, the last of which need not be full, from `start` on in each word, to
 * `results`.
 *
 *   lane_bits         of a result, a string, as VCTP has it
 *   load, load_type   a load of elements, which it may widen to lanes: "vldrb" and ".s32"
 *   operation         of two vectors: "vadd.i32"
 *   vector_bytes      of the elements that a vector is loaded from, a string
 *   lanes             of a vector */
#define TFLMGEN_DEFINE_COLUMNS(name, element, lane_bits, load, load_type, operation, vector_bytes, lanes)             \
    TFLMGEN_SHARED void name(const element *input, int32_t count, const struct tflmgen_columns *columns,              \
                             uint32_t start, void *results)                                                           \
    {                                                                                                                 \
        const int32_t vectors = (count + (lanes) - 1) / (lanes), last = count - (vectors - 1) * (lanes);              \
        const int32_t stride = columns->stride[2] * (int32_t)sizeof(element);                                         \
        uint32x4_t sums0 = vdupq_n_u32(start), sums1 = sums0, sums2 = sums0, last_sums = sums0;                       \
        for (int32_t i = 0; i < columns->extent[0]; ++i) {                                                            \
            for (int32_t j = 0; j < columns->extent[1]; ++j) {                                                        \
                const element *row = input + i * columns->stride[0] + j * columns->stride[1];                         \
                if (vectors == 4) {                                                                                   \
                    TFLMGEN_COLUMNS_LOOP_MVE(                                                                         \
                        lane_bits,                                                                                    \
                        TFLMGEN_COLUMN_MVE(load load_type " q0", operation, "0", "sums0")                             \
                            TFLMGEN_COLUMN_MVE(load load_type " q0", operation, vector_bytes, "sums1")                \
                                TFLMGEN_COLUMN_MVE(load load_type " q0", operation, vector_bytes "*2", "sums2"),      \
                        load, load_type, operation, vector_bytes "*3");                                               \
                } else if (vectors == 3) {                                                                            \
                    TFLMGEN_COLUMNS_LOOP_MVE(                                                                         \
                        lane_bits,                                                                                    \
                        TFLMGEN_COLUMN_MVE(load load_type " q0", operation, "0", "sums0")                             \
                            TFLMGEN_COLUMN_MVE(load load_type " q0", operation, vector_bytes, "sums1"),               \
                        load, load_type, operation, vector_bytes "*2");                                               \
                } else if (vectors == 2) {                                                                            \
                    TFLMGEN_COLUMNS_LOOP_MVE(lane_bits,                                                               \
                                             TFLMGEN_COLUMN_MVE(load load_type " q0", operation, "0", "sums0"), load, \
                                             load_type, operation, vector_bytes);                                     \
                } else {                                                                                              \
                    TFLMGEN_COLUMNS_LOOP_MVE(lane_bits, "", load, load_type, operation, "0");                         \
                }                                                                                                     \
            }                                                                                                         \
        }                                                                                                             \
        vst1q_u32((tflmgen_u32 *)results, sums0);                                                                     \
        vst1q_u32((tflmgen_u32 *)results + 4, sums1);                                                                 \
        vst1q_u32((tflmgen_u32 *)results + 8, sums2);                                                                 \
        vst1q_u32((tflmgen_u32 *)results + 4 * (vectors - 1), last_sums);                                             \
    }

/* What REQUANTIZED_SUMS of rounded_sums.h are: the sums of `count` elements, requantised. Four: VLDRW, VADD, VSHL, 4 to
 * requantise, VADD, VMAX, VMIN, VSTR, LETP. */
/* clang-format off */
#define TFLMGEN_DEFINE_REQUANTIZED_ROW(name, element, least, greatest, WRITE)                               \
    TFLMGEN_SHARED void name(const tflmgen_s32 *sums, element *results, int32_t count, int32_t offset,      \
                             int32_t multiplier, int32_t shift, int32_t zero_point)                         \
    {                                                                                                       \
        const struct tflmgen_scale_mve scale = tflmgen_scale_mve_of(multiplier, tflmgen_min_s32(shift, 0)); \
        __asm__ volatile("wlstp.32 lr, %[count], 2f\n"                                                      \
                         "1:\n\t"                                                                           \
                         "vldrw.32 q0, [%[sums]], #16\n\t"                                                  \
                         "vadd.i32 q0, q0, %q[offset]\n\t"                                                  \
                         "vshl.s32 q0, %[left_shift]\n\t"                                                   \
                         TFLMGEN_REQUANTIZE_MVE("q0", "%[multiplier]", "%[shift]", "%[sign_fix]")           \
                         "vadd.i32 q0, q0, %q[zero_point]\n\t"                                              \
                         "vmax.s32 q0, q0, %q[low]\n\t"                                                     \
                         "vmin.s32 q0, q0, %q[high]\n\t" WRITE                                              \
                         "letp lr, 1b\n"                                                                    \
                         "2:"                                                                               \
                         : [sums] "+r"(sums), [result] "+l"(results)                                        \
                         : [count] "r"(count), [offset] "w"(vdupq_n_s32(offset)),                           \
                           [left_shift] "r"(tflmgen_max_s32(shift, 0)), [multiplier] "r"(scale.multiplier), \
                           [shift] "r"(scale.shift), [sign_fix] "r"(scale.sign_fix),                        \
                           [zero_point] "w"(vdupq_n_s32(zero_point)), [low] "w"(vdupq_n_s32(least)),        \
                           [high] "w"(vdupq_n_s32(greatest))                                                \
                         : "lr", "q0", "q1", "memory");                                                     \
    }
/* clang-format on */

TFLMGEN_DEFINE_REQUANTIZED_ROW(tflmgen_requantized_row_s8, int8_t, INT8_MIN, INT8_MAX, TFLMGEN_NARROW_8)
TFLMGEN_DEFINE_REQUANTIZED_ROW(tflmgen_requantized_row_s16, tflmgen_s16, INT16_MIN, INT16_MAX, TFLMGEN_NARROW_16)

/* What AVERAGED_SUMS are: `count` sums of `divisor` elements each, divided, halves away from zero.
 *
 * n / divisor = n * factor >> 32 + shift, rounded down, for 0 <= n < 2^31 (Granlund and Montgomery 1994): 2^shift is
 * the greatest power of two below the divisor, and factor is 2^(32 + shift) / divisor rounded down, plus 1. Four:
 * VLDRW, VSHR, VABS, VADD, VMULH, VSHL, VEOR, VSUB, VMAX, VMIN, VSTR, LETP. */
#define TFLMGEN_DEFINE_AVERAGED_ROW(name, element, WRITE)                                                              \
    TFLMGEN_SHARED void name(const tflmgen_s32 *sums, element *results, int32_t count, int32_t divisor, int32_t least, \
                             int32_t greatest)                                                                         \
    {                                                                                                                  \
        if (divisor < 2 || divisor > 65535) {                                                                          \
            for (int32_t i = 0; i < count; ++i) {                                                                      \
                const int32_t sum = sums[i];                                                                           \
                results[i] = (element)tflmgen_clamp_s32((sum > 0 ? sum + divisor / 2 : sum - divisor / 2) / divisor,   \
                                                        least, greatest);                                              \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        const int32_t shift = 31 - __builtin_clz((uint32_t)divisor - 1u);                                              \
        const uint32_t quotient = (65536u << shift) / (uint32_t)divisor;                                               \
        const uint32_t remainder = (65536u << shift) % (uint32_t)divisor;                                              \
        const uint32_t factor = (quotient << 16) + (remainder << 16) / (uint32_t)divisor + 1u;                         \
        __asm__ volatile("wlstp.32 lr, %[count], 2f\n"                                                                 \
                         "1:\n\t"                                                                                      \
                         "vldrw.32 q0, [%[sums]], #16\n\t"                                                             \
                         "vshr.s32 q1, q0, #31\n\t"                                                                    \
                         "vabs.s32 q0, q0\n\t"                                                                         \
                         "vadd.i32 q0, q0, %[half]\n\t"                                                                \
                         "vmulh.u32 q0, q0, %q[factor]\n\t"                                                            \
                         "vshl.u32 q0, %[shift]\n\t"                                                                   \
                         "veor q0, q0, q1\n\t"                                                                         \
                         "vsub.i32 q0, q0, q1\n\t"                                                                     \
                         "vmax.s32 q0, q0, %q[low]\n\t"                                                                \
                         "vmin.s32 q0, q0, %q[high]\n\t" WRITE "letp lr, 1b\n"                                         \
                         "2:"                                                                                          \
                         : [sums] "+r"(sums), [result] "+l"(results)                                                   \
                         : [count] "r"(count), [half] "r"(divisor / 2), [factor] "w"(vdupq_n_u32(factor)),             \
                           [shift] "r"(-shift), [low] "w"(vdupq_n_s32(least)), [high] "w"(vdupq_n_s32(greatest))       \
                         : "lr", "q0", "q1", "memory");                                                                \
    }

TFLMGEN_DEFINE_AVERAGED_ROW(tflmgen_averaged_row_s8, int8_t, TFLMGEN_NARROW_8)
TFLMGEN_DEFINE_AVERAGED_ROW(tflmgen_averaged_row_s16, tflmgen_s16, TFLMGEN_NARROW_16)

/* Columns of four lanes. */
#define TFLMGEN_DEFINE_SUMS(suffix, element, load, load_type, add, step) \
    TFLMGEN_DEFINE_COLUMNS(tflmgen_column_sums_##suffix, element, "32", load, load_type, add, step, 4)
TFLMGEN_DEFINE_SUMS(s8, int8_t, "vldrb", ".s32", "vadd.i32", "4")
TFLMGEN_DEFINE_SUMS(s16, tflmgen_s16, "vldrh", ".s32", "vadd.i32", "8")
TFLMGEN_DEFINE_SUMS(s32, tflmgen_s32, "vldrw", ".u32", "vadd.i32", "16")
TFLMGEN_DEFINE_REDUCED_ROW(tflmgen_row_sum_s8, int8_t, tflmgen_s32, s8, "vaddva.s8")
TFLMGEN_DEFINE_REDUCED_ROW(tflmgen_row_sum_s16, tflmgen_s16, tflmgen_s32, s16, "vaddva.s16")
TFLMGEN_DEFINE_REDUCED_ROW(tflmgen_row_sum_s32, tflmgen_s32, tflmgen_s32, s32, "vaddva.s32")

#define TFLMGEN_DEFINE_COLUMN_EXTREMES(suffix, element, load, load_type, lanes)                               \
    TFLMGEN_DEFINE_COLUMNS(tflmgen_column_max_##suffix, element, TFLMGEN_LANE_BITS_##suffix, load, load_type, \
                           "vmax." #suffix, "16", lanes)                                                      \
    TFLMGEN_DEFINE_COLUMNS(tflmgen_column_min_##suffix, element, TFLMGEN_LANE_BITS_##suffix, load, load_type, \
                           "vmin." #suffix, "16", lanes)                                                      \
    TFLMGEN_DEFINE_REDUCED_ROW(tflmgen_row_max_of_##suffix, element, tflmgen_s32, suffix, "vmaxv." #suffix)   \
    TFLMGEN_DEFINE_REDUCED_ROW(tflmgen_row_min_of_##suffix, element, tflmgen_s32, suffix, "vminv." #suffix)
TFLMGEN_DEFINE_COLUMN_EXTREMES(s8, int8_t, "vldrb", ".u8", 16)
TFLMGEN_DEFINE_COLUMN_EXTREMES(s16, tflmgen_s16, "vldrh", ".u16", 8)
TFLMGEN_DEFINE_COLUMN_EXTREMES(s32, tflmgen_s32, "vldrw", ".u32", 4)

#if TFLMGEN_HAS_MVE_F32
TFLMGEN_DEFINE_SUMS(f32, tflmgen_f32, "vldrw", ".u32", "vadd.f32", "16")
TFLMGEN_DEFINE_COLUMNS(tflmgen_column_max_f32, tflmgen_f32, "32", "vldrw", ".u32", "vmaxnm.f32", "16", 4)
TFLMGEN_DEFINE_COLUMNS(tflmgen_column_min_f32, tflmgen_f32, "32", "vldrw", ".u32", "vminnm.f32", "16", 4)
TFLMGEN_DEFINE_REDUCED_ROW(tflmgen_row_max_of_f32, tflmgen_f32, tflmgen_u32, f32, "vmaxnmv.f32")
TFLMGEN_DEFINE_REDUCED_ROW(tflmgen_row_min_of_f32, tflmgen_f32, tflmgen_u32, f32, "vminnmv.f32")

/* One after the other. Four: VLDM, 4 VADD, LE. */
TFLMGEN_HELPER float tflmgen_row_sum_f32(const tflmgen_f32 *row, int32_t elements, float sum)
{
    const tflmgen_f32 *const end = row + elements;
    __asm__ volatile("wls lr, %[fours], 2f\n"
                     "1:\n\t"
                     "vldmia %[row]!, {s0-s3}\n\t"
                     "vadd.f32 %[sum], s0\n\t"
                     "vadd.f32 %[sum], s1\n\t"
                     "vadd.f32 %[sum], s2\n\t"
                     "vadd.f32 %[sum], s3\n\t"
                     "le lr, 1b\n"
                     "2:"
                     : [row] "+r"(row), [sum] "+t"(sum)
                     : [fours] "r"(elements / 4)
                     : "lr", "s0", "s1", "s2", "s3", "memory");
    for (; row != end; ++row) {
        sum += *row;
    }
    return sum;
}
#endif

#elif defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* The sum of a row. Four: LDR, EOR, USADA8, whose bytes are unsigned, each 128 more. */
TFLMGEN_HELPER int32_t tflmgen_row_sum_s8(const int8_t *row, int32_t elements, int32_t sum)
{
    const int8_t *const end = row + elements;
    sum -= 128 * (elements & ~3);
#pragma GCC unroll 4
    for (; end - row >= 4; row += 4) {
        __asm__("usada8 %0, %1, %2, %0" : "+r"(sum) : "r"(tflmgen_load4(row) ^ 0x80808080u), "r"(0));
    }
    for (; row != end; ++row) {
        sum += *row;
    }
    return sum;
}

/* The sum of one column. */
TFLMGEN_HELPER int32_t tflmgen_column_sum_s8(const int8_t *input, const struct tflmgen_columns *columns, int32_t sum)
{
    for (int32_t i = 0; i < columns->extent[0]; ++i) {
        for (int32_t j = 0; j < columns->extent[1]; ++j) {
            const int8_t *column = input + i * columns->stride[0] + j * columns->stride[1];
            for (int32_t k = 0; k < columns->extent[2]; ++k, column += columns->stride[2]) {
                sum += *column;
            }
        }
    }
    return sum;
}

/* Four columns down the innermost loop, added to `sums`. An element of each: LDR, 2 SXTAB16 and the loop. */
TFLMGEN_HELPER void tflmgen_add_four_columns_s8(const int8_t *columns, int32_t count, int32_t stride, tflmgen_s32 *sums)
{
    while (count > 0) {
        const int32_t terms = tflmgen_min_s32(count, TFLMGEN_REDUCED_ROWS_DSP_TERMS);
        uint32_t even = 0, odd = 0;
        for (int32_t k = 0; k < terms; ++k, columns += stride) {
            const uint32_t bytes = tflmgen_load4(columns);
            even = tflmgen_add_even_bytes(even, bytes);
            odd = tflmgen_add_odd_bytes(odd, bytes);
        }
        sums[0] += (int16_t)even;
        sums[1] += (int16_t)odd;
        sums[2] += (int32_t)even >> 16;
        sums[3] += (int32_t)odd >> 16;
        count -= terms;
    }
}

/* The sums of neighbouring columns, in fours, the last of which overlaps the one before. */
TFLMGEN_SHARED void tflmgen_column_sums_s8(const int8_t *input, int32_t count, const struct tflmgen_columns *columns,
                                           uint32_t start, tflmgen_s32 *results)
{
    for (int32_t column = 0; column < count; column += 4) {
        const int32_t first = tflmgen_min_s32(column, count - 4);
        if (first < 0) {
            for (int32_t i = 0; i < count; ++i) {
                results[i] = tflmgen_column_sum_s8(input + i, columns, (int32_t)start);
            }
            return;
        }
        tflmgen_s32 *sums = results + first;
        sums[0] = (int32_t)start;
        sums[1] = (int32_t)start;
        sums[2] = (int32_t)start;
        sums[3] = (int32_t)start;
        for (int32_t i = 0; i < columns->extent[0]; ++i) {
            for (int32_t j = 0; j < columns->extent[1]; ++j) {
                const int8_t *first_row = input + first + i * columns->stride[0] + j * columns->stride[1];
                tflmgen_add_four_columns_s8(first_row, columns->extent[2], columns->stride[2], sums);
            }
        }
    }
}
#endif

#endif
