/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* AVERAGE_POOL_2D and MAX_POOL_2D in int8 for cores with MVE: vectors of channels, a pixel of the window at a time.
 * Means are of windows of 256 pixels at most, whose sums fit 16 bits. The results are those of pool2d.h. */
#ifndef TFLMGEN_KERNELS_POOL2D_MVE_H
#define TFLMGEN_KERNELS_POOL2D_MVE_H

#include "mve.h"
#include "pool2d.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* The pixels of a window that are inside the input. */
struct tflmgen_pool2d_mve_window {
    int32_t width;
    int32_t height;
    int32_t pixel_step; /* bytes from a pixel to the next one: as many as channels */
    int32_t row_step;   /* bytes from a row to the next one */
};

/* The maxima of up to 16 channels, from window_begin on. A pixel: VPST, VLDRB, VMAX, ADD, LE. */
TFLMGEN_SHARED int8x16_t tflmgen_max_pool2d_mve_16(const int8_t *window_begin, int32_t channels,
                                                   const struct tflmgen_pool2d_mve_window *window)
{
    int8x16_t maxima = vdupq_n_s8(INT8_MIN);
    for (int32_t rows = window->height; rows > 0; --rows, window_begin += window->row_step) {
        const int8_t *pixel = window_begin;
        __asm__ volatile("vctp.8 %[channels]\n\t"
                         "dls lr, %[width]\n"
                         "1:\n\t"
                         "vpst\n\t"
                         "vldrbt.8 q0, [%[pixel]]\n\t"
                         "add %[pixel], %[pixel], %[pixel_step]\n\t"
                         "vmax.s8 %q[maxima], %q[maxima], q0\n\t"
                         "le lr, 1b"
                         : [pixel] "+r"(pixel), [maxima] "+w"(maxima)
                         : [channels] "r"(channels), [width] "r"(window->width), [pixel_step] "r"(window->pixel_step)
                         : "lr", "q0", "memory");
    }
    return maxima;
}

/* The sums of up to 8 channels. A pixel: VPST, VLDRB, VADD, ADD, LE. */
TFLMGEN_SHARED int16x8_t tflmgen_average_pool2d_mve_8(const int8_t *window_begin, int32_t channels,
                                                      const struct tflmgen_pool2d_mve_window *window)
{
    int16x8_t sum = vdupq_n_s16(0);
    for (int32_t rows = window->height; rows > 0; --rows, window_begin += window->row_step) {
        const int8_t *pixel = window_begin;
        __asm__ volatile("vctp.16 %[channels]\n\t"
                         "dls lr, %[width]\n"
                         "1:\n\t"
                         "vpst\n\t"
                         "vldrbt.s16 q0, [%[pixel]]\n\t"
                         "add %[pixel], %[pixel], %[pixel_step]\n\t"
                         "vadd.i16 %q[sum], %q[sum], q0\n\t"
                         "le lr, 1b"
                         : [pixel] "+l"(pixel), [sum] "+w"(sum)
                         : [channels] "r"(channels), [width] "r"(window->width), [pixel_step] "r"(window->pixel_step)
                         : "lr", "q0", "memory");
    }
    return sum;
}

/* The sums of 17 to 32 channels: of the first 16, and of the last 16, which may overlap. A pixel: 4 VLDRB, 4 VADD, 2
 * ADD, LE. */
TFLMGEN_SHARED void tflmgen_average_pool2d_mve_32(const int8_t *window_begin, int32_t channels, tflmgen_s16 *sums,
                                                  const struct tflmgen_pool2d_mve_window *window)
{
    int16x8_t sum0 = vdupq_n_s16(0), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    for (int32_t rows = window->height; rows > 0; --rows, window_begin += window->row_step) {
        const int8_t *first = window_begin, *last = window_begin + channels - 16;
        __asm__ volatile("dls lr, %[width]\n"
                         "1:\n\t"
                         "vldrb.s16 q0, [%[first]]\n\t"
                         "vadd.i16 %q[sum0], %q[sum0], q0\n\t"
                         "vldrb.s16 q0, [%[first], #8]\n\t"
                         "vadd.i16 %q[sum1], %q[sum1], q0\n\t"
                         "vldrb.s16 q0, [%[last]]\n\t"
                         "vadd.i16 %q[sum2], %q[sum2], q0\n\t"
                         "vldrb.s16 q0, [%[last], #8]\n\t"
                         "vadd.i16 %q[sum3], %q[sum3], q0\n\t"
                         "add %[first], %[first], %[pixel_step]\n\t"
                         "add %[last], %[last], %[pixel_step]\n\t"
                         "le lr, 1b"
                         : [first] "+l"(first), [last] "+l"(last), [sum0] "+w"(sum0), [sum1] "+w"(sum1),
                           [sum2] "+w"(sum2), [sum3] "+w"(sum3)
                         : [width] "r"(window->width), [pixel_step] "r"(window->pixel_step)
                         : "lr", "q0", "memory");
    }
    vst1q_s16(sums, sum0);
    vst1q_s16(sums + 8, sum1);
    vst1q_s16(sums + channels - 16, sum2);
    vst1q_s16(sums + channels - 8, sum3);
}

/* How sums become means: those of `count` values of 8 bits each, 256 at most.
 *
 * n / count = n * factor >> 16 + shift, rounded down, for 0 <= n < 2^15 (Granlund and Montgomery 1994): 2^shift is the
 * greatest power of two below count, and factor, 2^(16 + shift) / count rounded up, then has 16 bits. For count 256
 * the factor is exact; for count 1 it is 0, which stands for n itself.
 */
struct tflmgen_average_pool2d_mve_mean {
    int32_t extra; /* what padding adds to a sum */
    uint32_t half; /* of count */
    uint32_t factor;
    int32_t shift;
    int32_t least;
    int32_t greatest;
};

TFLMGEN_HELPER void tflmgen_average_pool2d_mve_prepare(struct tflmgen_average_pool2d_mve_mean *mean, uint32_t count)
{
    mean->half = count / 2;
    if (count > 1) {
        mean->shift = 31 - __builtin_clz(count - 1);
        mean->factor = ((65536u << mean->shift) + count - 1) / count;
    }
}

/* Eight means, halves away from zero. */
TFLMGEN_HELPER int16x8_t tflmgen_average_pool2d_mve_means(int16x8_t sums,
                                                          const struct tflmgen_average_pool2d_mve_mean *mean)
{
    sums = vaddq_n_s16(sums, (int16_t)mean->extra);
    const int16x8_t sign = vshrq_n_s16(sums, 15);
    const uint16x8_t magnitude = vaddq_n_u16(vreinterpretq_u16_s16(vabsq_s16(sums)), (uint16_t)mean->half);
    const uint16x8_t high = vmulhq_u16(magnitude, vdupq_n_u16((uint16_t)mean->factor));
    const uint16x8_t quotient = mean->factor > 0 ? vshlq_r_u16(high, -mean->shift) : magnitude;
    const int16x8_t mean_magnitude = vreinterpretq_s16_u16(quotient);
    const int16x8_t means = vsubq_s16(veorq_s16(mean_magnitude, sign), sign);
    return vminq_s16(vmaxq_s16(means, vdupq_n_s16((int16_t)mean->least)), vdupq_n_s16((int16_t)mean->greatest));
}

/* All channels of an output pixel: 17 to 32 of them at a time, and then up to 8. */
TFLMGEN_SHARED void tflmgen_average_pool2d_mve_pixel(const int8_t *window_begin, int8_t *output,
                                                     const struct tflmgen_pool2d_mve_window *window,
                                                     const struct tflmgen_average_pool2d_mve_mean *p)
{
    const struct tflmgen_average_pool2d_mve_mean copy = *p, *const mean = &copy; /* that no output can lie over */
    int32_t remaining = window->pixel_step;
    while (remaining > 16) {
        const int32_t channels = tflmgen_min_s32(remaining, 32);
        int16_t sums[32];
        tflmgen_average_pool2d_mve_32(window_begin, channels, sums, window);
        /* Eight outputs at a time, the last ones first: the vector of the first eight may have some of the one before
         * again, and none is beyond the last channel. */
        for (int32_t k = channels; k > 0; k -= 8) {
            const int32_t first = tflmgen_max_s32(k - 8, 0);
            vstrbq_s16(output + first, tflmgen_average_pool2d_mve_means(vld1q_s16(sums + first), mean));
        }
        remaining -= channels;
        window_begin += channels;
        output += channels;
    }
    for (; remaining > 0; remaining -= 8, window_begin += 8, output += 8) {
        const int32_t channels = tflmgen_min_s32(remaining, 8);
        const int16x8_t sums = tflmgen_average_pool2d_mve_8(window_begin, channels, window);
        vstrbq_p_s16(output, tflmgen_average_pool2d_mve_means(sums, mean), vctp16q((uint32_t)channels));
    }
}

/* The same of maxima, 16 channels at a time, clamped. */
TFLMGEN_SHARED void tflmgen_max_pool2d_mve_pixel(const int8_t *window_begin, int8_t *output,
                                                 const struct tflmgen_pool2d_mve_window *window, int32_t least,
                                                 int32_t greatest)
{
    for (int32_t remaining = window->pixel_step; remaining > 0; remaining -= 16, window_begin += 16, output += 16) {
        int8x16_t maxima = tflmgen_max_pool2d_mve_16(window_begin, tflmgen_min_s32(remaining, 16), window);
        maxima = vminq_s8(vmaxq_s8(maxima, vdupq_n_s8((int8_t)least)), vdupq_n_s8((int8_t)greatest));
        vstrbq_p_s8(output, maxima, vctp8q((uint32_t)remaining));
    }
}

/* FINISH: one output pixel, of `inside` of the `all` pixels of a window. */
#define TFLMGEN_POOL2D_MVE(name, params, FINISH)                                                                 \
    TFLMGEN_SHARED void name(const int8_t *input, int8_t *output, const struct params *p)                        \
    {                                                                                                            \
        const int32_t channels = p->input_channels;                                                              \
        struct tflmgen_pool2d_mve_window window = {0, 0, channels, p->input_width * channels};                   \
        for (int32_t batch = 0; batch < p->batches; ++batch, input += p->input_height * window.row_step) {       \
            for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {                                         \
                const int32_t top = out_y * p->stride_height - p->padding_top;                                   \
                const struct tflmgen_taps y = tflmgen_taps_inside(top, 1, p->filter_height, p->input_height);    \
                window.height = y.end - y.first;                                                                 \
                for (int32_t out_x = 0; out_x < p->output_width; ++out_x, output += channels) {                  \
                    const int32_t left = out_x * p->stride_width - p->padding_left;                              \
                    const struct tflmgen_taps x = tflmgen_taps_inside(left, 1, p->filter_width, p->input_width); \
                    const int8_t *const window_begin =                                                           \
                        input + (top + y.first) * window.row_step + (left + x.first) * channels;                 \
                    window.width = x.end - x.first;                                                              \
                    FINISH(window.width *window.height, p->filter_height * p->filter_width)                      \
                }                                                                                                \
            }                                                                                                    \
        }                                                                                                        \
    }

#define TFLMGEN_AVERAGE_POOL2D_MVE_MEAN(extra, count)                                             \
    struct tflmgen_average_pool2d_mve_mean mean = {extra, 0, 0, 0, p->output_min, p->output_max}; \
    tflmgen_average_pool2d_mve_prepare(&mean, (uint32_t)(count));                                 \
    tflmgen_average_pool2d_mve_pixel(window_begin, output, &window, &mean);
#define TFLMGEN_AVERAGE_POOL2D_MVE_IGNORED(inside, all) TFLMGEN_AVERAGE_POOL2D_MVE_MEAN(0, inside)
#define TFLMGEN_AVERAGE_POOL2D_MVE_ZEROS(inside, all) TFLMGEN_AVERAGE_POOL2D_MVE_MEAN(((all) - (inside)) * p->zero, all)
#define TFLMGEN_MAX_POOL2D_MVE_IGNORED(inside, all) \
    tflmgen_max_pool2d_mve_pixel(window_begin, output, &window, p->output_min, p->output_max);
#define TFLMGEN_MAX_POOL2D_MVE_ZEROS(inside, all)                                                    \
    const int32_t zero = (all) > (inside) ? tflmgen_max_s32(p->zero, p->output_min) : p->output_min; \
    tflmgen_max_pool2d_mve_pixel(window_begin, output, &window, zero, p->output_max);

TFLMGEN_POOL2D_MVE(tflmgen_average_pool2d_mve_s8, tflmgen_pool2d_s8, TFLMGEN_AVERAGE_POOL2D_MVE_IGNORED)
TFLMGEN_POOL2D_MVE(tflmgen_average_pool2d_zeros_mve_s8, tflmgen_pool2d_zeros_s8, TFLMGEN_AVERAGE_POOL2D_MVE_ZEROS)
TFLMGEN_POOL2D_MVE(tflmgen_max_pool2d_mve_s8, tflmgen_pool2d_s8, TFLMGEN_MAX_POOL2D_MVE_IGNORED)
TFLMGEN_POOL2D_MVE(tflmgen_max_pool2d_zeros_mve_s8, tflmgen_pool2d_zeros_s8, TFLMGEN_MAX_POOL2D_MVE_ZEROS)

#endif

#endif
