/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* BATCH_MATMUL in int8 for cores with MVE: each row of the left matrix times eight columns of the right one at a time.
 *
 * The columns are brought into the order of FULLY_CONNECTED's weights, with the factors around them, and each row is
 * then what a row is there (fully_connected_mve.h). Of a zero point of the left matrix the biases are made, of one of
 * the right matrix what is added to them for a row.
 */
#ifndef TFLMGEN_KERNELS_BATCH_MATMUL_MVE_H
#define TFLMGEN_KERNELS_BATCH_MATMUL_MVE_H

#include "batch_matmul.h"
#include "fully_connected_mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

#define TFLMGEN_BATCH_MATMUL_MVE_STACK_BYTES 512
/* Of eight columns: what sums begin with before their values, multipliers and shifts of even ones, then of odd ones,
 * behind them. */
#define TFLMGEN_BATCH_MATMUL_MVE_FACTORS 24

/* Of up to eight columns the values in the order of weights; those that are missing are zeros. Where a row's values lie
 * side by side, 8 of them: VLDRB, a scattering VSTRB, and 4; where a column's do, 16: VCTP, VLDRB, VSTRB, and 4. */
TFLMGEN_SHARED void tflmgen_batch_matmul_mve_columns(const int8_t *right, int32_t columns, int8_t *stream,
                                                     int32_t chunks, const struct tflmgen_batch_matmul_s8 *p)
{
    if (p->right_column_stride == 1) {
        const mve_pred16_t some = vctp16q((uint32_t)columns);
        const uint16x8_t places = vshlq_n_u16(vidupq_n_u16(0, 1), 4);
        tflmgen_fill_mve(stream + 128 * (chunks - 1), 0, 128);
        for (int32_t k = 0; k < p->depth; ++k, right += p->right_depth_stride) {
            const uint16x8_t values = vldrbq_z_u16((const uint8_t *)right, some);
            vstrbq_scatter_offset_u16((uint8_t *)stream + k / 16 * 128 + k % 16, places, values);
        }
        return;
    }
    for (int32_t column = 0; column < 8; ++column) {
        const int8_t *from = right + tflmgen_min_s32(column, columns - 1) * p->right_column_stride;
        int8_t *to = stream + 16 * column;
        for (int32_t left = p->depth; left > 0; left -= 16, from += 16, to += 128) {
            vstrbq_s8(to, vldrbq_z_s8(from, vctp8q((uint32_t)left)));
        }
    }
}

/* What the columns' sums begin with. */
TFLMGEN_SHARED void tflmgen_batch_matmul_mve_biases(const int8_t *stream, tflmgen_s32 *biases, int32_t chunks,
                                                    const struct tflmgen_batch_matmul_s8 *p)
{
    for (int32_t column = 0; column < 8; ++column) {
        int32_t sum = -p->depth * p->right_zero_point;
        for (int32_t chunk = 0; chunk < chunks; ++chunk) {
            sum = vaddvaq_s8(sum, vldrbq_s8(stream + 128 * chunk + 16 * column));
        }
        biases[column] = -p->left_zero_point * sum;
    }
}

TFLMGEN_HELPER int32_t tflmgen_batch_matmul_mve_row_sum(const int8_t *row, int32_t depth)
{
    int32_t sum = 0;
    for (; depth >= 16; depth -= 16, row += 16) {
        sum = vaddvaq_s8(sum, vldrbq_s8(row));
    }
    return vaddvaq_s8(sum, vldrbq_z_s8(row, vctp8q((uint32_t)depth)));
}

/* The matrices of one batch. scratch: eight columns with their factors, biases, and where rows are no whole chunks of
 * 16, one. */
TFLMGEN_SHARED void tflmgen_batch_matmul_mve_matrix(const int8_t *left, const int8_t *right, int8_t *scratch,
                                                    int8_t *output, const struct tflmgen_batch_matmul_s8 *p)
{
    const int32_t chunks = (p->depth + 15) / 16;
    tflmgen_s32 *const starts = (tflmgen_s32 *)(void *)scratch;
    int8_t *const weights = (int8_t *)(starts + 8);
    tflmgen_s32 *const factors = (tflmgen_s32 *)(void *)(weights + 128 * chunks);
    tflmgen_s32 *const biases = starts + 32 * chunks + TFLMGEN_BATCH_MATMUL_MVE_FACTORS;
    int8_t *const copied = (int8_t *)(biases + 8);
    struct tflmgen_fully_connected_mve_groups groups =
        tflmgen_fully_connected_mve_groups_of(copied, chunks, 8, p->output_zero_point);
    for (int32_t k = 0; k < 16; k += 8) {
        vst1q_s32(factors + k, vdupq_n_s32(p->multiplier));
        vst1q_s32(factors + k + 4, vdupq_n_s32(p->shift));
    }
    for (int32_t column = 0; column < p->columns; column += 8) {
        groups.units = tflmgen_min_s32(p->columns - column, 8);
        tflmgen_batch_matmul_mve_columns(right + column * p->right_column_stride, groups.units, weights, chunks, p);
        tflmgen_batch_matmul_mve_biases(weights, biases, chunks, p);
        for (int32_t row = 0; row < p->rows; ++row) {
            const int8_t *const values = left + row * p->left_row_stride;
            int32_t more = 0;
            if (p->right_zero_point != 0) {
                more = -p->right_zero_point * tflmgen_batch_matmul_mve_row_sum(values, p->depth);
            }
            vst1q_s32(starts, vaddq_n_s32(vld1q_s32(biases), more));
            vst1q_s32(starts + 4, vaddq_n_s32(vld1q_s32(biases + 4), more));
            if (p->depth % 16 != 0) {
                tflmgen_copy_mve(copied, values, p->depth);
            } else {
                groups.row = values;
            }
            tflmgen_fully_connected_mve_groups(output + row * p->output_row_stride + column, &groups, scratch);
        }
    }
}

TFLMGEN_SHARED void tflmgen_batch_matmul_mve_run(const int8_t *left, const int8_t *right, int8_t *scratch,
                                                 int8_t *output, const struct tflmgen_batch_matmul_s8 *p)
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
                tflmgen_batch_matmul_mve_matrix(left + left_at, right + right_at, scratch, output + output_at, p);
            }
        }
    }
}

TFLMGEN_SHARED void tflmgen_batch_matmul_mve_run_on_stack(const int8_t *left, const int8_t *right, int8_t *output,
                                                          const struct tflmgen_batch_matmul_s8 *p)
{
    int8_t scratch[TFLMGEN_BATCH_MATMUL_MVE_STACK_BYTES] __attribute__((aligned(4)));
    tflmgen_batch_matmul_mve_run(left, right, scratch, output, p);
}

/* scratch: NULL where TFLMGEN_BATCH_MATMUL_MVE_STACK_BYTES are enough. */
TFLMGEN_SHARED void tflmgen_batch_matmul_mve_s8(const int8_t *left, const int8_t *right, void *scratch, int8_t *output,
                                                const struct tflmgen_batch_matmul_s8 *p)
{
    if (scratch) {
        tflmgen_batch_matmul_mve_run(left, right, (int8_t *)scratch, output, p);
    } else {
        tflmgen_batch_matmul_mve_run_on_stack(left, right, output, p);
    }
}

#endif

#endif
