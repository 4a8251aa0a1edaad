/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Operators along one axis: ARG_MAX, ARG_MIN, CUMSUM, TOPK_V2, ONE_HOT, L2_NORMALIZATION. Tensors are seen as
 * outer x axis x inner. */
#ifndef TFLMGEN_KERNELS_ALONG_AXIS_H
#define TFLMGEN_KERNELS_ALONG_AXIS_H

#include <math.h>

#include "copy.h"
#include "inverse_sqrt.h"
#include "requantize.h"

struct tflmgen_axis {
    int32_t outer;
    int32_t axis;
    int32_t inner;
};

/* Of equal elements, the first counts. */
#define TFLMGEN_DEFINE_ARG(name, type, index_type, better)                                             \
    TFLMGEN_KERNEL void name(const type *input, index_type *output, const struct tflmgen_axis *params) \
    {                                                                                                  \
        for (int32_t outer = 0; outer < params->outer; outer++) {                                      \
            for (int32_t inner = 0; inner < params->inner; inner++) {                                  \
                const type *row = input + outer * params->axis * params->inner + inner;                \
                type best = row[0];                                                                    \
                int32_t index = 0;                                                                     \
                for (int32_t i = 1; i < params->axis; i++) {                                           \
                    const type candidate = row[i * params->inner];                                     \
                    if (candidate better best) {                                                       \
                        best = candidate;                                                              \
                        index = i;                                                                     \
                    }                                                                                  \
                }                                                                                      \
                *output++ = index;                                                                     \
            }                                                                                          \
        }                                                                                              \
    }

#define TFLMGEN_DEFINE_ARGS(suffix, type)                                    \
    TFLMGEN_DEFINE_ARG(tflmgen_arg_max_##suffix##_s32, type, tflmgen_s32, >) \
    TFLMGEN_DEFINE_ARG(tflmgen_arg_max_##suffix##_s64, type, tflmgen_s64, >) \
    TFLMGEN_DEFINE_ARG(tflmgen_arg_min_##suffix##_s32, type, tflmgen_s32, <) \
    TFLMGEN_DEFINE_ARG(tflmgen_arg_min_##suffix##_s64, type, tflmgen_s64, <)

TFLMGEN_DEFINE_ARGS(f32, tflmgen_f32)
TFLMGEN_DEFINE_ARGS(s8, int8_t)
TFLMGEN_DEFINE_ARGS(u8, uint8_t)
TFLMGEN_DEFINE_ARGS(s16, tflmgen_s16)
TFLMGEN_DEFINE_ARGS(s32, tflmgen_s32)
TFLMGEN_DEFINE_ARGS(b8, tflmgen_bool)

/* A walk along the axis from one end to the other; sums may leave out the element where they stand. */
struct tflmgen_cumsum {
    int32_t outer;
    int32_t axis;
    int32_t inner;
    bool exclusive;
    bool reverse;
};

#define TFLMGEN_DEFINE_CUMSUM(name, type, sum_type)                                                \
    TFLMGEN_KERNEL void name(const type *input, type *output, const struct tflmgen_cumsum *params) \
    {                                                                                              \
        const int32_t first = params->reverse ? (params->axis - 1) * params->inner : 0;            \
        const int32_t step = params->reverse ? -params->inner : params->inner;                     \
        for (int32_t outer = 0; outer < params->outer; outer++) {                                  \
            for (int32_t inner = 0; inner < params->inner; inner++) {                              \
                int32_t place = outer * params->axis * params->inner + first + inner;              \
                sum_type sum = 0;                                                                  \
                for (int32_t i = 0; i < params->axis; i++) {                                       \
                    const sum_type before = sum;                                                   \
                    sum += (sum_type)input[place];                                                 \
                    output[place] = (type)(params->exclusive ? before : sum);                      \
                    place += step;                                                                 \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

TFLMGEN_DEFINE_CUMSUM(tflmgen_cumsum_f32, tflmgen_f32, tflmgen_f32)
TFLMGEN_DEFINE_CUMSUM(tflmgen_cumsum_s32, tflmgen_s32, tflmgen_u32)
TFLMGEN_DEFINE_CUMSUM(tflmgen_cumsum_s64, tflmgen_s64, tflmgen_u64)

struct tflmgen_cumsum_s8 {
    int32_t outer;
    int32_t axis;
    int32_t inner;
    bool exclusive;
    bool reverse;
    int32_t input_offset; /* minus the zero point */
    int32_t output_offset;
    int32_t multiplier;
    int32_t shift;
};

/* Elements are halves of the input's scale with 20 more bits. TFLite Micro's sums begin with minus the zero point, and
 * so do these. */
TFLMGEN_KERNEL void tflmgen_cumsum_s8(const int8_t *input, int8_t *output, const struct tflmgen_cumsum_s8 *params)
{
    const int32_t first = params->reverse ? (params->axis - 1) * params->inner : 0;
    const int32_t step = params->reverse ? -params->inner : params->inner;
    for (int32_t outer = 0; outer < params->outer; outer++) {
        for (int32_t inner = 0; inner < params->inner; inner++) {
            int32_t place = outer * params->axis * params->inner + first + inner;
            int32_t sum = params->input_offset * (1 << 19);
            for (int32_t i = 0; i < params->axis; i++) {
                const int32_t before = sum;
                sum = tflmgen_add_wrap_s32(sum, (input[place] + params->input_offset) * (1 << 19));
                const int32_t scaled =
                    tflmgen_requantize(params->exclusive ? before : sum, params->multiplier, params->shift);
                output[place] = (int8_t)tflmgen_clamp_s32(scaled + params->output_offset, INT8_MIN, INT8_MAX);
                place += step;
            }
        }
    }
}

struct tflmgen_top_k {
    int32_t rows;
    int32_t length;
    int32_t k;
};

/* The k greatest elements of each row, in falling order; of equal ones the first comes first. */
#define TFLMGEN_DEFINE_TOP_K(name, type)                                            \
    TFLMGEN_KERNEL void name(const type *input, type *values, tflmgen_s32 *indices, \
                             const struct tflmgen_top_k *params)                    \
    {                                                                               \
        for (int32_t row = 0; row < params->rows; row++) {                          \
            int32_t found = 0;                                                      \
            for (int32_t i = 0; i < params->length; i++) {                          \
                const type candidate = input[i];                                    \
                int32_t place = found;                                              \
                while (place > 0 && candidate > values[place - 1]) {                \
                    place--;                                                        \
                }                                                                   \
                if (place == params->k) {                                           \
                    continue;                                                       \
                }                                                                   \
                found = found < params->k ? found + 1 : found;                      \
                for (int32_t j = found - 1; j > place; j--) {                       \
                    values[j] = values[j - 1];                                      \
                    indices[j] = indices[j - 1];                                    \
                }                                                                   \
                values[place] = candidate;                                          \
                indices[place] = i;                                                 \
            }                                                                       \
            input += params->length;                                                \
            values += params->k;                                                    \
            indices += params->k;                                                   \
        }                                                                           \
    }

TFLMGEN_DEFINE_TOP_K(tflmgen_top_k_f32, tflmgen_f32)
TFLMGEN_DEFINE_TOP_K(tflmgen_top_k_s8, int8_t)
TFLMGEN_DEFINE_TOP_K(tflmgen_top_k_u8, uint8_t)
TFLMGEN_DEFINE_TOP_K(tflmgen_top_k_s16, tflmgen_s16)
TFLMGEN_DEFINE_TOP_K(tflmgen_top_k_s32, tflmgen_s32)
TFLMGEN_DEFINE_TOP_K(tflmgen_top_k_s64, tflmgen_s64)

/* output[outer][depth][inner] = *on where indices[outer][inner] is that depth, else *off; `axis` is the depth. */
#define TFLMGEN_DEFINE_ONE_HOT(name, index_type, word)                                                 \
    TFLMGEN_KERNEL void name(const index_type *indices, const void *on, const void *off, void *output, \
                             const struct tflmgen_axis *params)                                        \
    {                                                                                                  \
        word *to = (word *)output;                                                                     \
        for (int32_t outer = 0; outer < params->outer; outer++) {                                      \
            for (int32_t depth = 0; depth < params->axis; depth++) {                                   \
                for (int32_t inner = 0; inner < params->inner; inner++) {                              \
                    *to++ = indices[inner] == depth ? *(const word *)on : *(const word *)off;          \
                }                                                                                      \
            }                                                                                          \
            indices += params->inner;                                                                  \
        }                                                                                              \
    }

TFLMGEN_DEFINE_ONE_HOT(tflmgen_one_hot_s32_8, tflmgen_s32, tflmgen_word8)
TFLMGEN_DEFINE_ONE_HOT(tflmgen_one_hot_s32_16, tflmgen_s32, tflmgen_word16)
TFLMGEN_DEFINE_ONE_HOT(tflmgen_one_hot_s32_32, tflmgen_s32, tflmgen_word32)
TFLMGEN_DEFINE_ONE_HOT(tflmgen_one_hot_s32_64, tflmgen_s32, tflmgen_word64)
TFLMGEN_DEFINE_ONE_HOT(tflmgen_one_hot_s64_8, tflmgen_s64, tflmgen_word8)
TFLMGEN_DEFINE_ONE_HOT(tflmgen_one_hot_s64_16, tflmgen_s64, tflmgen_word16)
TFLMGEN_DEFINE_ONE_HOT(tflmgen_one_hot_s64_32, tflmgen_s64, tflmgen_word32)
TFLMGEN_DEFINE_ONE_HOT(tflmgen_one_hot_s64_64, tflmgen_s64, tflmgen_word64)

struct tflmgen_l2_normalization {
    int32_t rows;
    int32_t length;
    int32_t input_offset; /* minus the zero point; 0 for floats */
};

/* Each row over its Euclidean length, which counts as 10^-6 where it is less. */
TFLMGEN_KERNEL void tflmgen_l2_normalization_f32(const tflmgen_f32 *input, tflmgen_f32 *output,
                                                 const struct tflmgen_l2_normalization *params)
{
    for (int32_t row = 0; row < params->rows; row++) {
        float sum = 0.0f;
        for (int32_t i = 0; i < params->length; i++) {
            sum += input[i] * input[i];
        }
        const float root = sqrtf(sum);
        const float length = root > 1e-6f ? root : 1e-6f;
        for (int32_t i = 0; i < params->length; i++) {
            output[i] = input[i] / length;
        }
        input += params->length;
        output += params->length;
    }
}

/* The output has scale 1/128 and zero point 0. */
TFLMGEN_KERNEL void tflmgen_l2_normalization_s8(const int8_t *input, int8_t *output,
                                                const struct tflmgen_l2_normalization *params)
{
    for (int32_t row = 0; row < params->rows; row++) {
        int32_t sum = 0;
        for (int32_t i = 0; i < params->length; i++) {
            const int32_t x = input[i] + params->input_offset;
            sum += x * x;
        }
        int32_t multiplier;
        int32_t shift;
        tflmgen_inverse_sqrt(sum, &multiplier, &shift);
        for (int32_t i = 0; i < params->length; i++) {
            const int32_t scaled = tflmgen_requantize(input[i] + params->input_offset, multiplier, shift + 7);
            output[i] = (int8_t)tflmgen_clamp_s32(scaled, INT8_MIN, INT8_MAX);
        }
        input += params->length;
        output += params->length;
    }
}

#endif
