/* AVERAGE_POOL_2D and MAX_POOL_2D in int8 for cores with MVE; sums of windows of 256 pixels at most, in 16 bits. */
#ifndef TFLMGEN_KERNELS_POOL2D_MVE_H
#define TFLMGEN_KERNELS_POOL2D_MVE_H

#include "mve.h"
#include "pool2d.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* The pixels of a window that are inside the input. */
struct tflmgen_pool2d_mve_window {
    int32_t width;
    int32_t height;
    int32_t pixel; /* bytes */
    int32_t line;  /* bytes */
};

/* The greatest values of up to 16 channels. A pixel: VPST, VLDRB, VMAX, ADD, LE. */
TFLMGEN_SHARED int8x16_t tflmgen_max_pool2d_mve_16(const int8_t *at, int32_t channels,
                                                   const struct tflmgen_pool2d_mve_window *window)
{
    int8x16_t most = vdupq_n_s8(INT8_MIN);
    for (int32_t left = window->height; left > 0; --left, at += window->line) {
        const int8_t *from = at;
        __asm__ volatile("vctp.8 %[channels]\n\t"
                         "dls lr, %[width]\n"
                         "1:\n\t"
                         "vpst\n\t"
                         "vldrbt.8 q0, [%[from]]\n\t"
                         "add %[from], %[from], %[pixel]\n\t"
                         "vmax.s8 %q[most], %q[most], q0\n\t"
                         "le lr, 1b"
                         : [from] "+r"(from), [most] "+w"(most)
                         : [channels] "r"(channels), [width] "r"(window->width), [pixel] "r"(window->pixel)
                         : "lr", "q0", "memory");
    }
    return most;
}

/* The sums of up to 8 channels. A pixel: VPST, VLDRB, VADD, ADD, LE. */
TFLMGEN_SHARED int16x8_t tflmgen_average_pool2d_mve_8(const int8_t *at, int32_t channels,
                                                      const struct tflmgen_pool2d_mve_window *window)
{
    int16x8_t sum = vdupq_n_s16(0);
    for (int32_t left = window->height; left > 0; --left, at += window->line) {
        const int8_t *from = at;
        __asm__ volatile("vctp.16 %[channels]\n\t"
                         "dls lr, %[width]\n"
                         "1:\n\t"
                         "vpst\n\t"
                         "vldrbt.s16 q0, [%[from]]\n\t"
                         "add %[from], %[from], %[pixel]\n\t"
                         "vadd.i16 %q[sum], %q[sum], q0\n\t"
                         "le lr, 1b"
                         : [from] "+l"(from), [sum] "+w"(sum)
                         : [channels] "r"(channels), [width] "r"(window->width), [pixel] "r"(window->pixel)
                         : "lr", "q0", "memory");
    }
    return sum;
}

/* Those of 17 to 32 channels: of the first 16, and of the last. A pixel: 4 VLDRB, 4 VADD, 2 ADD, LE. */
TFLMGEN_SHARED void tflmgen_average_pool2d_mve_32(const int8_t *at, int32_t channels, tflmgen_s16 *sums,
                                                  const struct tflmgen_pool2d_mve_window *window)
{
    int16x8_t sum0 = vdupq_n_s16(0), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    for (int32_t left = window->height; left > 0; --left, at += window->line) {
        const int8_t *first = at, *last = at + channels - 16;
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
                         "add %[first], %[first], %[pixel]\n\t"
                         "add %[last], %[last], %[pixel]\n\t"
                         "le lr, 1b"
                         : [first] "+l"(first), [last] "+l"(last), [sum0] "+w"(sum0), [sum1] "+w"(sum1),
                           [sum2] "+w"(sum2), [sum3] "+w"(sum3)
                         : [width] "r"(window->width), [pixel] "r"(window->pixel)
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
    const int16x8_t size = vreinterpretq_s16_u16(quotient);
    const int16x8_t means = vsubq_s16(veorq_s16(size, sign), sign);
    return vminq_s16(vmaxq_s16(means, vdupq_n_s16((int16_t)mean->least)), vdupq_n_s16((int16_t)mean->greatest));
}

TFLMGEN_SHARED void tflmgen_average_pool2d_mve_pixel(const int8_t *at, int8_t *output,
                                                     const struct tflmgen_pool2d_mve_window *window,
                                                     const struct tflmgen_average_pool2d_mve_mean *p)
{
    const struct tflmgen_average_pool2d_mve_mean copy = *p, *const mean = &copy; /* that no output can lie over */
    int32_t left = window->pixel;
    while (left > 16) {
        const int32_t channels = tflmgen_min_s32(left, 32);
        int16_t sums[32];
        tflmgen_average_pool2d_mve_32(at, channels, sums, window);
        for (int32_t k = channels; k > 0; k -= 8) {
            const int32_t eight = tflmgen_max_s32(k - 8, 0);
            vstrbq_s16(output + eight, tflmgen_average_pool2d_mve_means(vld1q_s16(sums + eight), mean));
        }
        left -= channels;
        at += channels;
        output += channels;
    }
    for (; left > 0; left -= 8, at += 8, output += 8) {
        const int32_t channels = tflmgen_min_s32(left, 8);
        const int16x8_t sums = tflmgen_average_pool2d_mve_8(at, channels, window);
        vstrbq_p_s16(output, tflmgen_average_pool2d_mve_means(sums, mean), vctp16q((uint32_t)channels));
    }
}

TFLMGEN_SHARED void tflmgen_max_pool2d_mve_pixel(const int8_t *at, int8_t *output,
                                                 const struct tflmgen_pool2d_mve_window *window, int32_t least,
                                                 int32_t greatest)
{
    for (int32_t left = window->pixel; left > 0; left -= 16, at += 16, output += 16) {
        int8x16_t most = tflmgen_max_pool2d_mve_16(at, tflmgen_min_s32(left, 16), window);
        most = vminq_s8(vmaxq_s8(most, vdupq_n_s8((int8_t)least)), vdupq_n_s8((int8_t)greatest));
        vstrbq_p_s8(output, most, vctp8q((uint32_t)left));
    }
}

/* FINISH: one output pixel, of `inside` of the `all` pixels of a window. */
#define TFLMGEN_POOL2D_MVE(name, params, FINISH)                                                                  \
    TFLMGEN_SHARED void name(const int8_t *input, int8_t *output, const struct params *p)                         \
    {                                                                                                             \
        const int32_t channels = p->input_channels;                                                               \
        struct tflmgen_pool2d_mve_window window = {0, 0, channels, p->input_width * channels};                    \
        for (int32_t batch = 0; batch < p->batches; ++batch, input += p->input_height * window.line) {            \
            for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {                                          \
                const int32_t top = out_y * p->stride_height - p->padding_top;                                    \
                const struct tflmgen_taps y = tflmgen_taps_inside(top, 1, p->filter_height, p->input_height);     \
                window.height = y.end - y.first;                                                                  \
                for (int32_t out_x = 0; out_x < p->output_width; ++out_x, output += channels) {                   \
                    const int32_t left = out_x * p->stride_width - p->padding_left;                               \
                    const struct tflmgen_taps x = tflmgen_taps_inside(left, 1, p->filter_width, p->input_width);  \
                    const int8_t *const at = input + (top + y.first) * window.line + (left + x.first) * channels; \
                    window.width = x.end - x.first;                                                               \
                    FINISH(window.width *window.height, p->filter_height * p->filter_width)                       \
                }                                                                                                 \
            }                                                                                                     \
        }                                                                                                         \
    }

#define TFLMGEN_AVERAGE_POOL2D_MVE_MEAN(extra, count)                                             \
    struct tflmgen_average_pool2d_mve_mean mean = {extra, 0, 0, 0, p->output_min, p->output_max}; \
    tflmgen_average_pool2d_mve_prepare(&mean, (uint32_t)(count));                                 \
    tflmgen_average_pool2d_mve_pixel(at, output, &window, &mean);
#define TFLMGEN_AVERAGE_POOL2D_MVE_IGNORED(inside, all) TFLMGEN_AVERAGE_POOL2D_MVE_MEAN(0, inside)
#define TFLMGEN_AVERAGE_POOL2D_MVE_ZEROS(inside, all) TFLMGEN_AVERAGE_POOL2D_MVE_MEAN(((all) - (inside)) * p->zero, all)
#define TFLMGEN_MAX_POOL2D_MVE_IGNORED(inside, all) \
    tflmgen_max_pool2d_mve_pixel(at, output, &window, p->output_min, p->output_max);
#define TFLMGEN_MAX_POOL2D_MVE_ZEROS(inside, all)                                                    \
    const int32_t zero = (all) > (inside) ? tflmgen_max_s32(p->zero, p->output_min) : p->output_min; \
    tflmgen_max_pool2d_mve_pixel(at, output, &window, zero, p->output_max);

TFLMGEN_POOL2D_MVE(tflmgen_average_pool2d_mve_s8, tflmgen_pool2d_s8, TFLMGEN_AVERAGE_POOL2D_MVE_IGNORED)
TFLMGEN_POOL2D_MVE(tflmgen_average_pool2d_zeros_mve_s8, tflmgen_pool2d_zeros_s8, TFLMGEN_AVERAGE_POOL2D_MVE_ZEROS)
TFLMGEN_POOL2D_MVE(tflmgen_max_pool2d_mve_s8, tflmgen_pool2d_s8, TFLMGEN_MAX_POOL2D_MVE_IGNORED)
TFLMGEN_POOL2D_MVE(tflmgen_max_pool2d_zeros_mve_s8, tflmgen_pool2d_zeros_s8, TFLMGEN_MAX_POOL2D_MVE_ZEROS)

#endif

#endif
