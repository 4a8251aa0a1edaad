/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* BATCH_MATMUL: output[b, i, j] = sum over k of left[b, i, k] * right[b, k, j].
 *
 * Strides, in elements, cover adjoint and permuted operands, a permuted output, and broadcast batches (stride 0).
 */
#ifndef TFLMGEN_KERNELS_BATCH_MATMUL_H
#define TFLMGEN_KERNELS_BATCH_MATMUL_H

#include "dot.h"
#include "mve.h"
#include "requantize.h"

/* Of kernels whose output is dense: no strides of the output. */
#define TFLMGEN_DENSE_BATCH_MATMUL_FIELDS \
    int32_t batches[3];                   \
    int32_t left_batch_strides[3];        \
    int32_t right_batch_strides[3];       \
    int32_t rows;                         \
    int32_t columns;                      \
    int32_t depth;                        \
    int32_t left_row_stride;              \
    int32_t left_depth_stride;            \
    int32_t right_depth_stride;           \
    int32_t right_column_stride;

#define TFLMGEN_BATCH_MATMUL_FIELDS   \
    TFLMGEN_DENSE_BATCH_MATMUL_FIELDS \
    int32_t output_batch_strides[3];  \
    int32_t output_row_stride;        \
    int32_t output_column_stride;

#define TFLMGEN_BATCH_MATMUL_FIELDS_S8 \
    TFLMGEN_BATCH_MATMUL_FIELDS        \
    int32_t left_zero_point;           \
    int32_t right_zero_point;          \
    int32_t multiplier;                \
    int32_t shift;                     \
    int32_t output_zero_point;

struct tflmgen_batch_matmul_s8 {
    TFLMGEN_BATCH_MATMUL_FIELDS_S8
};

TFLMGEN_HELPER int8_t tflmgen_batch_matmul_end_s8(int32_t sum, const struct tflmgen_batch_matmul_s8 *p)
{
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
    /* Products have 16 bits. */
    if (p->shift <= 0 && p->depth < 1 << 14) {
        return (int8_t)tflmgen_saturate_s8(tflmgen_requantize_dsp(sum, p->multiplier, -p->shift) +
                                           p->output_zero_point);
    }
#endif
    sum = tflmgen_add_wrap_s32(tflmgen_requantize(sum, p->multiplier, p->shift), p->output_zero_point);
    return (int8_t)tflmgen_clamp_s32(sum, INT8_MIN, INT8_MAX);
}

TFLMGEN_HELPER int8_t tflmgen_batch_matmul_sum_s8(const int8_t *left, const int8_t *right,
                                                  const struct tflmgen_batch_matmul_s8 *p)
{
    int32_t sum = 0;
    if (p->left_depth_stride == 1 && p->right_depth_stride == 1) {
        sum = tflmgen_dot_offsets_s8(left, right, p->depth, -p->left_zero_point, -p->right_zero_point);
    } else {
        for (int32_t k = 0; k < p->depth; ++k) {
            sum += (left[k * p->left_depth_stride] - p->left_zero_point) *
                   (right[k * p->right_depth_stride] - p->right_zero_point);
        }
    }
    return tflmgen_batch_matmul_end_s8(sum, p);
}

/* All zero points are 0; |sum| < 2^47, shift <= 7. */
struct tflmgen_batch_matmul_s16 {
    TFLMGEN_BATCH_MATMUL_FIELDS
    int32_t multiplier;
    int32_t shift;
};

/* Products of a row that is of one piece and a column that is not, summed: with MVE eight at a time, by VLDRH, a
 * gathering load and VMLALDAVA. */
#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
#define TFLMGEN_BATCH_MATMUL_GATHER_S16(name, right_element, gather)                                                \
    TFLMGEN_HELPER int64_t name(const tflmgen_s16 *left, const right_element *right, int32_t depth, int32_t stride) \
    {                                                                                                               \
        const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)stride);                                \
        int64_t sum = 0;                                                                                            \
        for (; depth > 0; depth -= 8, left += 8, right += 8 * stride) {                                             \
            const mve_pred16_t some = vctp16q((uint32_t)depth);                                                     \
            sum = vmlaldavaq_p_s16(sum, vldrhq_z_s16(left, some), gather(right, places, some), some);               \
        }                                                                                                           \
        return sum;                                                                                                 \
    }
TFLMGEN_BATCH_MATMUL_GATHER_S16(tflmgen_batch_matmul_gather_s16, tflmgen_s16, vldrhq_gather_shifted_offset_z_s16)
TFLMGEN_BATCH_MATMUL_GATHER_S16(tflmgen_batch_matmul_gather_s16_s8, int8_t, vldrbq_gather_offset_z_s16)
#define TFLMGEN_BATCH_MATMUL_GATHERS(p) ((p)->left_depth_stride == 1 && (p)->right_depth_stride < 65536 / 8)
#else
#define tflmgen_batch_matmul_gather_s16(left, right, depth, stride) 0
#define tflmgen_batch_matmul_gather_s16_s8(left, right, depth, stride) 0
#define TFLMGEN_BATCH_MATMUL_GATHERS(p) false
#endif

#define TFLMGEN_BATCH_MATMUL_SUM_S16(suffix, right_element, dot)                                                  \
    TFLMGEN_HELPER int16_t tflmgen_batch_matmul_sum_##suffix(const tflmgen_s16 *left, const right_element *right, \
                                                             const struct tflmgen_batch_matmul_s16 *p)            \
    {                                                                                                             \
        int64_t sum = 0;                                                                                          \
        if (p->left_depth_stride == 1 && p->right_depth_stride == 1) {                                            \
            sum = dot(left, right, p->depth);                                                                     \
        } else if (TFLMGEN_BATCH_MATMUL_GATHERS(p)) {                                                             \
            sum = tflmgen_batch_matmul_gather_##suffix(left, right, p->depth, p->right_depth_stride);             \
        } else {                                                                                                  \
            for (int32_t k = 0; k < p->depth; ++k) {                                                              \
                sum += left[k * p->left_depth_stride] * right[k * p->right_depth_stride];                         \
            }                                                                                                     \
        }                                                                                                         \
        const int32_t result = tflmgen_requantize_s64(sum, p->multiplier, p->shift);                              \
        return (int16_t)tflmgen_clamp_s32(result, INT16_MIN, INT16_MAX);                                          \
    }

TFLMGEN_BATCH_MATMUL_SUM_S16(s16, tflmgen_s16, tflmgen_dot_s16_s16)
TFLMGEN_BATCH_MATMUL_SUM_S16(s16_s8, int8_t, tflmgen_dot_s16)

/* Outputs of a row, two at a time, and how many: with the DSP extension, where columns are of one piece or lie side by
 * side, by SMLALD. */
#define tflmgen_batch_matmul_pairs_s8(left, right, output, p) 0
#define tflmgen_batch_matmul_pairs_s16_s8(left, right, output, p) 0
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP && !(defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE)
/* tflmgen_requantize_s64() with the parts that outputs share: the multiplier's upper half, and the shift. */
TFLMGEN_HELPER int16_t tflmgen_batch_matmul_end_s16(int64_t sum, uint32_t multiplier, int32_t right_shift)
{
    const uint64_t low = (uint64_t)(uint32_t)sum * multiplier, high = (uint32_t)(sum >> 32) * multiplier;
    const int64_t rounded = (int64_t)(low + (high << 32) + ((uint64_t)1 << (right_shift - 1)));
    return (int16_t)tflmgen_saturate_dsp_s16((int32_t)(rounded >> right_shift));
}

/* Sums of two columns side by side: a word has a value of either. */
TFLMGEN_HELPER void tflmgen_batch_matmul_beside_s16(const tflmgen_s16 *left, const tflmgen_s16 *right, int32_t depth,
                                                    int32_t step, int64_t sums[2])
{
    int64_t first = 0, second = 0;
    for (const tflmgen_s16 *const end = left + (depth & ~1); left != end; left += 2, right += 2 * step) {
        const uint32_t pair = tflmgen_load4(left), a = tflmgen_load4(right), b = tflmgen_load4(right + step);
        first = tflmgen_smlald(pair, tflmgen_lower_halves(a, b), first);
        second = tflmgen_smlald(pair, tflmgen_upper_halves(a, b), second);
    }
    sums[0] = depth % 2 != 0 ? first + *left * right[0] : first;
    sums[1] = depth % 2 != 0 ? second + *left * right[1] : second;
}

/* The same of two columns of one piece each. */
TFLMGEN_HELPER void tflmgen_batch_matmul_apart_s16(const tflmgen_s16 *left, const tflmgen_s16 *right, int32_t depth,
                                                   int32_t stride, int64_t sums[2])
{
    int64_t first = 0, second = 0;
    for (const tflmgen_s16 *const end = left + (depth & ~1); left != end; left += 2, right += 2) {
        const uint32_t pair = tflmgen_load4(left);
        first = tflmgen_smlald(pair, tflmgen_load4(right), first);
        second = tflmgen_smlald(pair, tflmgen_load4(right + stride), second);
    }
    sums[0] = depth % 2 != 0 ? first + *left * right[0] : first;
    sums[1] = depth % 2 != 0 ? second + *left * right[stride] : second;
}

TFLMGEN_SHARED int32_t tflmgen_batch_matmul_pairs_s16(const tflmgen_s16 *left, const tflmgen_s16 *right,
                                                      tflmgen_s16 *output, const struct tflmgen_batch_matmul_s16 *p)
{
    const int32_t depth = p->depth, step = p->right_depth_stride, stride = p->right_column_stride;
    if (p->left_depth_stride != 1 || (step != 1 && stride != 1)) {
        return 0;
    }
    const uint32_t multiplier = p->multiplier < 0x7FFF0000 ? (uint32_t)(p->multiplier + (1 << 15)) >> 16 : 0x7FFF;
    const int32_t right_shift = 15 - p->shift, apart = p->output_column_stride;
    for (int32_t column = 0; column < p->columns - 1; column += 2, right += 2 * stride, output += 2 * apart) {
        int64_t sums[2];
        if (step == 1) {
            tflmgen_batch_matmul_apart_s16(left, right, depth, stride, sums);
        } else {
            tflmgen_batch_matmul_beside_s16(left, right, depth, step, sums);
        }
        output[0] = tflmgen_batch_matmul_end_s16(sums[0], multiplier, right_shift);
        output[apart] = tflmgen_batch_matmul_end_s16(sums[1], multiplier, right_shift);
    }
    return p->columns & ~1;
}
#else
#define tflmgen_batch_matmul_pairs_s16(left, right, output, p) 0
#endif

#define TFLMGEN_BATCH_MATMUL(suffix, element, right_element, parameters)                                               \
    TFLMGEN_KERNEL void tflmgen_batch_matmul_##suffix(const element *restrict left,                                    \
                                                      const right_element *restrict right, element *restrict output,   \
                                                      const struct parameters *p)                                      \
    {                                                                                                                  \
        for (int32_t a = 0; a < p->batches[0]; ++a) {                                                                  \
            for (int32_t b = 0; b < p->batches[1]; ++b) {                                                              \
                for (int32_t c = 0; c < p->batches[2]; ++c) {                                                          \
                    const element *left_matrix = left + a * p->left_batch_strides[0] + b * p->left_batch_strides[1] +  \
                                                 c * p->left_batch_strides[2];                                         \
                    const right_element *right_matrix = right + a * p->right_batch_strides[0] +                        \
                                                        b * p->right_batch_strides[1] + c * p->right_batch_strides[2]; \
                    element *matrix = output + a * p->output_batch_strides[0] + b * p->output_batch_strides[1] +       \
                                      c * p->output_batch_strides[2];                                                  \
                    for (int32_t row = 0; row < p->rows; ++row) {                                                      \
                        const element *left_row = left_matrix + row * p->left_row_stride;                              \
                        element *to = matrix + row * p->output_row_stride;                                             \
                        int32_t column = tflmgen_batch_matmul_pairs_##suffix(left_row, right_matrix, to, p);           \
                        for (; column < p->columns; ++column) {                                                        \
                            to[column * p->output_column_stride] = tflmgen_batch_matmul_sum_##suffix(                  \
                                left_row, right_matrix + column * p->right_column_stride, p);                          \
                        }                                                                                              \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

TFLMGEN_BATCH_MATMUL(s8, int8_t, int8_t, tflmgen_batch_matmul_s8)
TFLMGEN_BATCH_MATMUL(s16, tflmgen_s16, tflmgen_s16, tflmgen_batch_matmul_s16)
TFLMGEN_BATCH_MATMUL(s16_s8, tflmgen_s16, int8_t, tflmgen_batch_matmul_s16)

/* Kernels for instruction sets: columns of the right matrix are brought into an order of their own before they are
 * used, so many at once. */
struct tflmgen_batch_matmul_panels_s8 {
    TFLMGEN_BATCH_MATMUL_FIELDS_S8
    int32_t panel;
};

typedef void tflmgen_batch_matmul_matrix_s8(const int8_t *left, const int8_t *right, void *scratch, int8_t *output,
                                            const struct tflmgen_batch_matmul_panels_s8 *p);

/* The matrices of one batch after another. */
TFLMGEN_HELPER void tflmgen_batch_matmul_each_s8(const int8_t *left, const int8_t *right, void *scratch, int8_t *output,
                                                 const struct tflmgen_batch_matmul_panels_s8 *p,
                                                 tflmgen_batch_matmul_matrix_s8 *matrix)
{
    for (int32_t a = 0; a < p->batches[0]; ++a) {
        for (int32_t b = 0; b < p->batches[1]; ++b) {
            for (int32_t c = 0; c < p->batches[2]; ++c) {
                const int32_t left_at =
                    a * p->left_batch_strides[0] + b * p->left_batch_strides[1] + c * p->left_batch_strides[2];
                const int32_t right_at =
                    a * p->right_batch_strides[0] + b * p->right_batch_strides[1] + c * p->right_batch_strides[2];
                const int32_t output_at =
                    a * p->output_batch_strides[0] + b * p->output_batch_strides[1] + c * p->output_batch_strides[2];
                matrix(left + left_at, right + right_at, scratch, output + output_at, p);
            }
        }
    }
}

/* A multiplier and a shift per column: the product of one column after the other. */
#define TFLMGEN_BATCH_MATMUL_PER_COLUMN(suffix, element, parameters)                                         \
    TFLMGEN_KERNEL void tflmgen_batch_matmul_##suffix##_per_column(                                          \
        const element *restrict left, const int8_t *restrict right, const tflmgen_s32 *restrict multipliers, \
        const int8_t *restrict shifts, element *restrict output, const struct parameters *p)                 \
    {                                                                                                        \
        struct parameters column = *p;                                                                       \
        column.columns = 1;                                                                                  \
        for (int32_t i = 0; i < p->columns; ++i) {                                                           \
            column.multiplier = multipliers[i];                                                              \
            column.shift = shifts[i];                                                                        \
            tflmgen_batch_matmul_##suffix(left, right + i * p->right_column_stride,                          \
                                          output + i * p->output_column_stride, &column);                    \
        }                                                                                                    \
    }

TFLMGEN_BATCH_MATMUL_PER_COLUMN(s8, int8_t, tflmgen_batch_matmul_s8)
TFLMGEN_BATCH_MATMUL_PER_COLUMN(s16_s8, tflmgen_s16, tflmgen_batch_matmul_s16)

#endif
