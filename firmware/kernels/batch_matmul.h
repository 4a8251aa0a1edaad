/* BATCH_MATMUL: output[b, i, j] = sum over k of left[b, i, k] * right[b, k, j].
 *
 * Strides, in elements, cover adjoint and permuted operands, a permuted output, and broadcast batches (stride 0).
 */
#ifndef TFLMGEN_KERNELS_BATCH_MATMUL_H
#define TFLMGEN_KERNELS_BATCH_MATMUL_H

#include "dot.h"
#include "requantize.h"

#define TFLMGEN_BATCH_MATMUL_FIELDS  \
    int32_t batches[3];              \
    int32_t left_batch_strides[3];   \
    int32_t right_batch_strides[3];  \
    int32_t output_batch_strides[3]; \
    int32_t rows;                    \
    int32_t columns;                 \
    int32_t depth;                   \
    int32_t left_row_stride;         \
    int32_t left_depth_stride;       \
    int32_t right_depth_stride;      \
    int32_t right_column_stride;     \
    int32_t output_row_stride;       \
    int32_t output_column_stride;

struct tflmgen_batch_matmul_f32 {
    TFLMGEN_BATCH_MATMUL_FIELDS
};

struct tflmgen_batch_matmul_s8 {
    TFLMGEN_BATCH_MATMUL_FIELDS
    int32_t left_zero_point;
    int32_t right_zero_point;
    int32_t multiplier;
    int32_t shift;
    int32_t output_zero_point;
};

TFLMGEN_HELPER float tflmgen_batch_matmul_sum_f32(const float *left, const float *right,
                                                  const struct tflmgen_batch_matmul_f32 *p)
{
    float sum = 0.0f;
    for (int32_t k = 0; k < p->depth; ++k) {
        sum += left[k * p->left_depth_stride] * right[k * p->right_depth_stride];
    }
    return sum;
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
    sum = tflmgen_add_wrap_s32(tflmgen_requantize(sum, p->multiplier, p->shift), p->output_zero_point);
    return (int8_t)tflmgen_clamp_s32(sum, INT8_MIN, INT8_MAX);
}

/* All zero points are 0; |sum| < 2^47, shift <= 7. */
struct tflmgen_batch_matmul_s16 {
    TFLMGEN_BATCH_MATMUL_FIELDS
    int32_t multiplier;
    int32_t shift;
};

#define TFLMGEN_BATCH_MATMUL_SUM_S16(suffix, right_element, dot)                                                       \
    TFLMGEN_HELPER int16_t tflmgen_batch_matmul_sum_##suffix(const int16_t *left, const right_element *right,          \
                                                             const struct tflmgen_batch_matmul_s16 *p)                 \
    {                                                                                                                  \
        int64_t sum = 0;                                                                                               \
        if (p->left_depth_stride == 1 && p->right_depth_stride == 1) {                                                 \
            sum = dot(left, right, p->depth);                                                                          \
        } else {                                                                                                       \
            for (int32_t k = 0; k < p->depth; ++k) {                                                                   \
                sum += left[k * p->left_depth_stride] * right[k * p->right_depth_stride];                              \
            }                                                                                                          \
        }                                                                                                              \
        const int32_t result = tflmgen_requantize_s64(sum, p->multiplier, p->shift);                                   \
        return (int16_t)tflmgen_clamp_s32(result, INT16_MIN, INT16_MAX);                                               \
    }

TFLMGEN_BATCH_MATMUL_SUM_S16(s16, int16_t, tflmgen_dot_s16_s16)
TFLMGEN_BATCH_MATMUL_SUM_S16(s16_s8, int8_t, tflmgen_dot_s16)

#define TFLMGEN_BATCH_MATMUL(suffix, element, right_element, parameters)                                               \
    TFLMGEN_KERNEL void tflmgen_batch_matmul_##suffix(const element *restrict left,                                    \
                                                      const right_element *restrict right,                             \
                                                      element *restrict output, const struct parameters *p)            \
    {                                                                                                                  \
        for (int32_t a = 0; a < p->batches[0]; ++a) {                                                                  \
            for (int32_t b = 0; b < p->batches[1]; ++b) {                                                              \
                for (int32_t c = 0; c < p->batches[2]; ++c) {                                                          \
                    const element *left_matrix = left + a * p->left_batch_strides[0] + b * p->left_batch_strides[1] +  \
                                                 c * p->left_batch_strides[2];                                         \
                    const right_element *right_matrix = right + a * p->right_batch_strides[0] +                        \
                                                        b * p->right_batch_strides[1] +                                \
                                                        c * p->right_batch_strides[2];                                 \
                    element *matrix = output + a * p->output_batch_strides[0] + b * p->output_batch_strides[1] +       \
                                      c * p->output_batch_strides[2];                                                  \
                    for (int32_t row = 0; row < p->rows; ++row) {                                                      \
                        const element *left_row = left_matrix + row * p->left_row_stride;                              \
                        for (int32_t column = 0; column < p->columns; ++column) {                                      \
                            matrix[row * p->output_row_stride + column * p->output_column_stride] =                    \
                                tflmgen_batch_matmul_sum_##suffix(                                                     \
                                    left_row, right_matrix + column * p->right_column_stride, p);                      \
                        }                                                                                              \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

TFLMGEN_BATCH_MATMUL(f32, float, float, tflmgen_batch_matmul_f32)
TFLMGEN_BATCH_MATMUL(s8, int8_t, int8_t, tflmgen_batch_matmul_s8)
TFLMGEN_BATCH_MATMUL(s16, int16_t, int16_t, tflmgen_batch_matmul_s16)
TFLMGEN_BATCH_MATMUL(s16_s8, int16_t, int8_t, tflmgen_batch_matmul_s16)

#endif
