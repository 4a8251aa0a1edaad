/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D: tensors [batches, height, width, channels]. Padding takes no part in a
 * result, but for the kernels with `zeros` in their name: there it is pixels of zero (the zero point) like others.
 * Means of integers round halves away from zero, and up in the kernel with `up` in its name, whose values are uint8
 * codes less 128: LiteRT's uint8 kernel. Integer results are TFLite Micro's, bit for bit. */
#ifndef TFLMGEN_KERNELS_POOL2D_H
#define TFLMGEN_KERNELS_POOL2D_H

#include <float.h>
#include <math.h>

#include "reduced_rows.h"
#include "window.h"

struct tflmgen_pool2d_s8 {
    TFLMGEN_CHANNEL_WINDOW_FIELDS
    int32_t output_min;
    int32_t output_max;
};

struct tflmgen_pool2d_s16 {
    TFLMGEN_CHANNEL_WINDOW_FIELDS
    int32_t output_min;
    int32_t output_max;
};

struct tflmgen_pool2d_f32 {
    TFLMGEN_CHANNEL_WINDOW_FIELDS
    float output_min;
    float output_max;
};

struct tflmgen_pool2d_zeros_s8 {
    TFLMGEN_CHANNEL_WINDOW_FIELDS
    int32_t output_min;
    int32_t output_max;
    int32_t zero; /* a pixel of padding: the zero point */
};

struct tflmgen_pool2d_zeros_s16 {
    TFLMGEN_CHANNEL_WINDOW_FIELDS
    int32_t output_min;
    int32_t output_max;
    int32_t zero; /* a pixel of padding: the zero point */
};

struct tflmgen_pool2d_zeros_f32 {
    TFLMGEN_CHANNEL_WINDOW_FIELDS
    float output_min;
    float output_max;
    float zero; /* a pixel of padding */
};

/* The mean of a window, halves away from zero. */
TFLMGEN_HELPER int32_t tflmgen_rounded_mean_s32(int32_t sum, int32_t count)
{
    return (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
}

#if defined(__ARM_ARCH_6M__)
/* What the mean of `count` int8 values is made with where there is no instruction for division: 2^24 / count,
 * rounded up, with which it is exact for so many; or 0. */
TFLMGEN_HELPER uint32_t tflmgen_reciprocal_s8(int32_t count)
{
    return count <= 361 ? (1u << 24) / (uint32_t)count + 1u : 0;
}

/* Called, so that the loops around it keep their registers. */
static __attribute__((noinline, unused)) int32_t tflmgen_rounded_mean_s8(int32_t sum, int32_t count,
                                                                         uint32_t reciprocal)
{
    if (reciprocal) {
        const uint32_t magnitude = sum < 0 ? 0u - (uint32_t)sum : (uint32_t)sum;
        const int32_t mean = (int32_t)((magnitude + (uint32_t)count / 2) * reciprocal >> 24);
        return sum < 0 ? -mean : mean;
    }
    return tflmgen_rounded_mean_s32(sum, count);
}
#else
TFLMGEN_HELPER uint32_t tflmgen_reciprocal_s8(int32_t count)
{
    (void)count;
    return 0;
}

TFLMGEN_HELPER int32_t tflmgen_rounded_mean_s8(int32_t sum, int32_t count, uint32_t reciprocal)
{
    (void)reciprocal;
    return tflmgen_rounded_mean_s32(sum, count);
}
#endif

/* What a pool makes of a window's values, as macros whose names end with its KIND, which is AVERAGE, AVERAGE_UP, MAX
 * or L2, and the suffix of the elements' type, which is s8, s16 or f32:
 *
 *   START                             the accumulator, `result`, in front of the first value
 *   ADD(result, value)                the accumulator with one value more
 *   END(result, count, reciprocal)    the output of `count` values, before it is clamped
 *   RECIPROCAL(count)                 what END has for a division by count, once for windows of as many values; or 0 */
#define TFLMGEN_POOL_START_AVERAGE_s8 0
#define TFLMGEN_POOL_ADD_AVERAGE_s8(result, value) ((result) + (value))
#define TFLMGEN_POOL_END_AVERAGE_s8(result, count, reciprocal) tflmgen_rounded_mean_s8(result, count, reciprocal)
#define TFLMGEN_POOL_RECIPROCAL_AVERAGE_s8(count) tflmgen_reciprocal_s8(count)
#define TFLMGEN_POOL_START_AVERAGE_UP_s8 0
#define TFLMGEN_POOL_ADD_AVERAGE_UP_s8(result, value) ((result) + (value) + 128)
#define TFLMGEN_POOL_END_AVERAGE_UP_s8(result, count, reciprocal) (((result) + (count) / 2) / (count) - 128)
#define TFLMGEN_POOL_RECIPROCAL_AVERAGE_UP_s8(count) 0u
#define TFLMGEN_POOL_START_AVERAGE_s16 0
#define TFLMGEN_POOL_ADD_AVERAGE_s16(result, value) ((result) + (value))
#define TFLMGEN_POOL_END_AVERAGE_s16(result, count, reciprocal) tflmgen_rounded_mean_s32(result, count)
#define TFLMGEN_POOL_RECIPROCAL_AVERAGE_s16(count) 0u
#define TFLMGEN_POOL_START_AVERAGE_f32 0.0f
#define TFLMGEN_POOL_ADD_AVERAGE_f32(result, value) ((result) + (value))
#define TFLMGEN_POOL_END_AVERAGE_f32(result, count, reciprocal) ((result) / (float)(count))
#define TFLMGEN_POOL_RECIPROCAL_AVERAGE_f32(count) 0u
#define TFLMGEN_POOL_START_MAX_s8 INT8_MIN
#define TFLMGEN_POOL_ADD_MAX_s8(result, value) tflmgen_max_s32(result, value)
#define TFLMGEN_POOL_END_MAX_s8(result, count, reciprocal) (result)
#define TFLMGEN_POOL_RECIPROCAL_MAX_s8(count) 0u
#define TFLMGEN_POOL_START_MAX_s16 INT16_MIN
#define TFLMGEN_POOL_ADD_MAX_s16(result, value) tflmgen_max_s32(result, value)
#define TFLMGEN_POOL_END_MAX_s16(result, count, reciprocal) (result)
#define TFLMGEN_POOL_RECIPROCAL_MAX_s16(count) 0u
#define TFLMGEN_POOL_START_MAX_f32 (-FLT_MAX)
#define TFLMGEN_POOL_ADD_MAX_f32(result, value) ((value) > (result) ? (value) : (result))
#define TFLMGEN_POOL_END_MAX_f32(result, count, reciprocal) (result)
#define TFLMGEN_POOL_RECIPROCAL_MAX_f32(count) 0u
#define TFLMGEN_POOL_START_L2_f32 0.0f
#define TFLMGEN_POOL_ADD_L2_f32(result, value) ((result) + (value) * (value))
#define TFLMGEN_POOL_END_L2_f32(result, count, reciprocal) sqrtf((result) / (float)(count))
#define TFLMGEN_POOL_RECIPROCAL_L2_f32(count) 0u

/* What padding does, as PADDING and PADDING_COUNT: what it adds to the result by `add`, and how many pixels of a window
 * count. `missing` lie outside of the input, `inside` of `all` do not. */
#define TFLMGEN_POOL_IGNORED(result, count, missing, add) ((void)(missing))
#define TFLMGEN_POOL_IGNORED_COUNT(inside, all) (inside)
#define TFLMGEN_POOL_ZEROS_MAX(result, count, missing, add) \
    if ((missing) > 0) {                                    \
        (result) = add(result, p->zero);                    \
    }
#define TFLMGEN_POOL_ZEROS_MAX_COUNT(inside, all) (all)
#define TFLMGEN_POOL_ZEROS_AVERAGE(result, count, missing, add)          \
    for (int32_t outside = (missing); outside > 0; --outside, ++count) { \
        (result) = add(result, p->zero);                                 \
    }
#define TFLMGEN_POOL_ZEROS_AVERAGE_COUNT(inside, all) (all)

/* Each channel of an output pixel is written after the channel's whole window was read.
 *
 *   name, params         the kernel, and the struct of its parameters
 *   KIND, suffix         of the macros TFLMGEN_POOL_START_ and so on, above
 *   element, sum_type    types of the tensors' elements, and of the accumulator
 *   clamp                the function that clamps a sum_type
 *   PADDING              TFLMGEN_POOL_IGNORED, or one of the other two above */
#define TFLMGEN_POOL_2D(name, params, KIND, suffix, element, sum_type, clamp, PADDING)                           \
    TFLMGEN_KERNEL void name(const element *input, element *output, const struct params *p)                      \
    {                                                                                                            \
        const int32_t channels = p->input_channels;                                                              \
        const int32_t row_step = p->input_width * channels;                                                      \
        int32_t last_divisor = 0;                                                                                \
        uint32_t reciprocal = 0;                                                                                 \
        (void)reciprocal;                                                                                        \
        for (int32_t batch = 0; batch < p->batches; ++batch) {                                                   \
            for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {                                         \
                const int32_t top = out_y * p->stride_height - p->padding_top;                                   \
                const struct tflmgen_taps y = tflmgen_taps_inside(top, 1, p->filter_height, p->input_height);    \
                for (int32_t out_x = 0; out_x < p->output_width; ++out_x) {                                      \
                    const int32_t left = out_x * p->stride_width - p->padding_left;                              \
                    const struct tflmgen_taps x = tflmgen_taps_inside(left, 1, p->filter_width, p->input_width); \
                    const int32_t inside = (y.end - y.first) * (x.end - x.first);                                \
                    const int32_t all = p->filter_height * p->filter_width;                                      \
                    const int32_t divisor = PADDING##_COUNT(inside, all);                                        \
                    if (divisor != last_divisor) {                                                               \
                        last_divisor = divisor;                                                                  \
                        reciprocal = TFLMGEN_POOL_RECIPROCAL_##KIND##_##suffix(divisor);                         \
                    }                                                                                            \
                    const int32_t begin = (top + y.first) * row_step + (left + x.first) * channels;              \
                    for (int32_t channel = 0; channel < channels; ++channel) {                                   \
                        sum_type result = TFLMGEN_POOL_START_##KIND##_##suffix;                                  \
                        const element *row = input + begin + channel;                                            \
                        for (int32_t rows = y.end - y.first; rows > 0; --rows, row += row_step) {                \
                            const element *value = row;                                                          \
                            for (int32_t columns = x.end - x.first; columns > 0; --columns, value += channels) { \
                                result = TFLMGEN_POOL_ADD_##KIND##_##suffix(result, *value);                     \
                            }                                                                                    \
                        }                                                                                        \
                        int32_t count = inside;                                                                  \
                        PADDING(result, count, all - inside, TFLMGEN_POOL_ADD_##KIND##_##suffix);                \
                        (void)count;                                                                             \
                        result = TFLMGEN_POOL_END_##KIND##_##suffix(result, count, reciprocal);                  \
                        *output++ = (element)clamp(result, p->output_min, p->output_max);                        \
                    }                                                                                            \
                }                                                                                                \
            }                                                                                                    \
            input += p->input_height * row_step;                                                                 \
        }                                                                                                        \
    }

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
/* The same by columns of reduced_rows.h, for as many channels as 64 bytes of results are of.
 *
 *   block      channels of 64 bytes of results
 *   start      a result in front of the first value, in each lane of 32 bits
 *   COLUMNS    the function that makes results of `count` neighbouring channels
 *   FINISH     makes outputs of `count` results, each of `inside` pixels */
#define TFLMGEN_POOL_2D_BY_COLUMNS(name, params, element, block, start, COLUMNS, FINISH)                               \
    TFLMGEN_KERNEL void name(const element *input, element *output, const struct params *p)                            \
    {                                                                                                                  \
        const int32_t channels = p->input_channels;                                                                    \
        const int32_t row_step = p->input_width * channels;                                                            \
        struct tflmgen_columns window = {{1, 0, 0}, {0, row_step, channels}};                                          \
        for (int32_t batch = 0; batch < p->batches; ++batch, input += p->input_height * row_step) {                    \
            for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {                                               \
                const int32_t top = out_y * p->stride_height - p->padding_top;                                         \
                const struct tflmgen_taps y = tflmgen_taps_inside(top, 1, p->filter_height, p->input_height);          \
                window.extent[1] = y.end - y.first;                                                                    \
                for (int32_t out_x = 0; out_x < p->output_width; ++out_x) {                                            \
                    const int32_t left = out_x * p->stride_width - p->padding_left;                                    \
                    const struct tflmgen_taps x = tflmgen_taps_inside(left, 1, p->filter_width, p->input_width);       \
                    const element *window_begin = input + (top + y.first) * row_step + (left + x.first) * channels;    \
                    window.extent[2] = x.end - x.first;                                                                \
                    const int32_t inside = window.extent[1] * window.extent[2];                                        \
                    (void)inside;                                                                                      \
                    for (int32_t remaining = channels; remaining > 0; remaining -= (block), window_begin += (block)) { \
                        const int32_t count = tflmgen_min_s32(remaining, block);                                       \
                        tflmgen_s32 results[16];                                                                       \
                        COLUMNS(window_begin, count, &window, start, results);                                         \
                        FINISH                                                                                         \
                        output += count;                                                                               \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

/* FINISH by a loop of element_rows.h: divisor is its vector `broadcast`, the output's range its constants. */
#define TFLMGEN_POOL_CLAMP(suffix, divisor, OPERATION)                                \
    TFLMGEN_ROW_MVE(TFLMGEN_LANE_BITS_##suffix, results, results, output, count,      \
                    tflmgen_splat_##suffix((tflmgen_##suffix)p->output_min),          \
                    tflmgen_splat_##suffix((tflmgen_##suffix)p->output_max), divisor, \
                    TFLMGEN_READ_##suffix("q0", "first"), OPERATION, TFLMGEN_WRITE_##suffix);

TFLMGEN_POOL_2D_BY_COLUMNS(tflmgen_average_pool2d_s16, tflmgen_pool2d_s16, tflmgen_s16, 16, 0, tflmgen_column_sums_s16,
                           tflmgen_averaged_row_s16(results, output, count, inside, p->output_min, p->output_max);)
TFLMGEN_POOL_2D_BY_COLUMNS(tflmgen_max_pool2d_s16, tflmgen_pool2d_s16, tflmgen_s16, 32, 0x80008000u,
                           tflmgen_column_max_s16,
                           TFLMGEN_POOL_CLAMP(s16, TFLMGEN_ZEROS_MVE,
                                              "vmax.s16 q0, q0, %q[constant1]\n\tvmin.s16 q0, q0, %q[constant2]\n\t"))
#else
TFLMGEN_POOL_2D(tflmgen_average_pool2d_s16, tflmgen_pool2d_s16, AVERAGE, s16, tflmgen_s16, tflmgen_s32,
                tflmgen_clamp_s32, TFLMGEN_POOL_IGNORED)
TFLMGEN_POOL_2D(tflmgen_max_pool2d_s16, tflmgen_pool2d_s16, MAX, s16, tflmgen_s16, tflmgen_s32, tflmgen_clamp_s32,
                TFLMGEN_POOL_IGNORED)
#endif
#if TFLMGEN_HAS_MVE_F32
TFLMGEN_POOL_2D_BY_COLUMNS(
    tflmgen_average_pool2d_f32, tflmgen_pool2d_f32, tflmgen_f32, 16, 0, tflmgen_column_sums_f32,
    TFLMGEN_POOL_CLAMP(f32, tflmgen_splat_f32((float)inside),
                       "vmov q2, q0\n\tvmov q1, %q[broadcast]\n\t" TFLMGEN_DIVIDE_q2_BY_q1 TFLMGEN_CLAMP_q0_f32))
TFLMGEN_POOL_2D_BY_COLUMNS(tflmgen_max_pool2d_f32, tflmgen_pool2d_f32, tflmgen_f32, 16, 0xFF7FFFFFu,
                           tflmgen_column_max_f32, TFLMGEN_POOL_CLAMP(f32, TFLMGEN_ZEROS_MVE, TFLMGEN_CLAMP_q0_f32))
#else
TFLMGEN_POOL_2D(tflmgen_average_pool2d_f32, tflmgen_pool2d_f32, AVERAGE, f32, tflmgen_f32, tflmgen_f32,
                tflmgen_clamp_f32, TFLMGEN_POOL_IGNORED)
TFLMGEN_POOL_2D(tflmgen_max_pool2d_f32, tflmgen_pool2d_f32, MAX, f32, tflmgen_f32, tflmgen_f32, tflmgen_clamp_f32,
                TFLMGEN_POOL_IGNORED)
#endif
TFLMGEN_POOL_2D(tflmgen_average_pool2d_s8, tflmgen_pool2d_s8, AVERAGE, s8, int8_t, tflmgen_s32, tflmgen_clamp_s32,
                TFLMGEN_POOL_IGNORED)
TFLMGEN_POOL_2D(tflmgen_average_pool2d_up_s8, tflmgen_pool2d_s8, AVERAGE_UP, s8, int8_t, tflmgen_s32, tflmgen_clamp_s32,
                TFLMGEN_POOL_IGNORED)
TFLMGEN_POOL_2D(tflmgen_max_pool2d_s8, tflmgen_pool2d_s8, MAX, s8, int8_t, tflmgen_s32, tflmgen_clamp_s32,
                TFLMGEN_POOL_IGNORED)

#define TFLMGEN_POOL_2D_TYPES(name, params, KIND, PADDING)                                                     \
    TFLMGEN_POOL_2D(name##_s8, params##_s8, KIND, s8, int8_t, tflmgen_s32, tflmgen_clamp_s32, PADDING)         \
    TFLMGEN_POOL_2D(name##_s16, params##_s16, KIND, s16, tflmgen_s16, tflmgen_s32, tflmgen_clamp_s32, PADDING) \
    TFLMGEN_POOL_2D(name##_f32, params##_f32, KIND, f32, tflmgen_f32, tflmgen_f32, tflmgen_clamp_f32, PADDING)

TFLMGEN_POOL_2D_TYPES(tflmgen_average_pool2d_zeros, tflmgen_pool2d_zeros, AVERAGE, TFLMGEN_POOL_ZEROS_AVERAGE)
TFLMGEN_POOL_2D_TYPES(tflmgen_max_pool2d_zeros, tflmgen_pool2d_zeros, MAX, TFLMGEN_POOL_ZEROS_MAX)
TFLMGEN_POOL_2D(tflmgen_l2_pool2d_f32, tflmgen_pool2d_f32, L2, f32, tflmgen_f32, tflmgen_f32, tflmgen_clamp_f32,
                TFLMGEN_POOL_IGNORED)

#endif
