/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Fast Fourier transforms of real numbers in fixed point, int16 and int32, with the roundings of KISS FFT.
 *
 * A frame of 2n real numbers is transformed as n complex ones, in place in its output, by radix 4 (and 2, where n is no
 * power of 4); each stage divides by its radix, so that nothing overflows. `order` has the digit-reversed place of each
 * complex number, `roots` the n-th roots of unity, `halves` those between the even and the odd half of the spectrum.
 */
#ifndef TFLMGEN_KERNELS_SIGNAL_FFT_H
#define TFLMGEN_KERNELS_SIGNAL_FFT_H

#include "common.h"

struct tflmgen_signal_fft {
    int32_t frames;
    int32_t length;
    int32_t points;
};

/* Complex numbers in memory are pairs of int16, or of int32 where `wide`. */
struct tflmgen_fft_complex {
    int32_t real;
    int32_t imaginary;
};

TFLMGEN_HELPER int32_t tflmgen_fft_load(const void *data, int32_t index, bool wide)
{
    return wide ? ((const tflmgen_s32 *)data)[index] : ((const tflmgen_s16 *)data)[index];
}

TFLMGEN_HELPER struct tflmgen_fft_complex tflmgen_fft_get(const void *data, int32_t index, bool wide)
{
    const struct tflmgen_fft_complex value = {tflmgen_fft_load(data, 2 * index, wide),
                                              tflmgen_fft_load(data, 2 * index + 1, wide)};
    return value;
}

TFLMGEN_HELPER void tflmgen_fft_set(void *data, int32_t index, struct tflmgen_fft_complex value, bool wide)
{
    if (wide) {
        ((tflmgen_s32 *)data)[2 * index] = value.real;
        ((tflmgen_s32 *)data)[2 * index + 1] = value.imaginary;
    } else {
        ((tflmgen_s16 *)data)[2 * index] = (int16_t)value.real;
        ((tflmgen_s16 *)data)[2 * index + 1] = (int16_t)value.imaginary;
    }
}

/* a + b, wrapped to the elements' width. */
TFLMGEN_HELPER int32_t tflmgen_fft_sum(int32_t a, int32_t b, bool wide)
{
    const int32_t sum = tflmgen_add_wrap_s32(a, b);
    return wide ? sum : (int16_t)sum;
}

TFLMGEN_HELPER int32_t tflmgen_fft_negative(int32_t a, bool wide)
{
    const int32_t negative = (int32_t)(0U - (uint32_t)a);
    return wide ? negative : (int16_t)negative;
}

/* a * x + b * y, a fraction of 15 or 31 bits, rounded. */
TFLMGEN_HELPER int32_t tflmgen_fft_products(int32_t a, int32_t x, int32_t b, int32_t y, bool wide)
{
    if (wide) {
        return (int32_t)(((int64_t)a * x + (int64_t)b * y + (1 << 30)) >> 31);
    }
    return (int16_t)((a * x + b * y + (1 << 14)) >> 15);
}

TFLMGEN_HELPER struct tflmgen_fft_complex tflmgen_fft_add(struct tflmgen_fft_complex a, struct tflmgen_fft_complex b,
                                                          bool wide)
{
    const struct tflmgen_fft_complex sum = {tflmgen_fft_sum(a.real, b.real, wide),
                                            tflmgen_fft_sum(a.imaginary, b.imaginary, wide)};
    return sum;
}

TFLMGEN_HELPER struct tflmgen_fft_complex tflmgen_fft_subtract(struct tflmgen_fft_complex a,
                                                               struct tflmgen_fft_complex b, bool wide)
{
    const struct tflmgen_fft_complex difference = {
        tflmgen_fft_sum(a.real, (int32_t)(0U - (uint32_t)b.real), wide),
        tflmgen_fft_sum(a.imaginary, (int32_t)(0U - (uint32_t)b.imaginary), wide)};
    return difference;
}

TFLMGEN_HELPER struct tflmgen_fft_complex tflmgen_fft_multiply(struct tflmgen_fft_complex a,
                                                               struct tflmgen_fft_complex b, bool wide)
{
    const struct tflmgen_fft_complex product = {tflmgen_fft_products(a.real, b.real, a.imaginary, -b.imaginary, wide),
                                                tflmgen_fft_products(a.real, b.imaginary, a.imaginary, b.real, wide)};
    return product;
}

/* Divided by a small number, by its rounded reciprocal. */
TFLMGEN_HELPER struct tflmgen_fft_complex tflmgen_fft_divide(struct tflmgen_fft_complex a, int32_t divisor, bool wide)
{
    const int32_t factor = (wide ? INT32_MAX : INT16_MAX) / divisor;
    const struct tflmgen_fft_complex quotient = {tflmgen_fft_products(a.real, factor, 0, 0, wide),
                                                 tflmgen_fft_products(a.imaginary, factor, 0, 0, wide)};
    return quotient;
}

TFLMGEN_HELPER void tflmgen_fft_radix2(void *data, const void *roots, int32_t points, bool wide)
{
    const struct tflmgen_fft_complex one = tflmgen_fft_get(roots, 0, wide);
    for (int32_t i = 0; i < points; i += 2) {
        const struct tflmgen_fft_complex a = tflmgen_fft_divide(tflmgen_fft_get(data, i, wide), 2, wide);
        const struct tflmgen_fft_complex half = tflmgen_fft_divide(tflmgen_fft_get(data, i + 1, wide), 2, wide);
        const struct tflmgen_fft_complex b = tflmgen_fft_multiply(half, one, wide);
        tflmgen_fft_set(data, i + 1, tflmgen_fft_subtract(a, b, wide), wide);
        tflmgen_fft_set(data, i, tflmgen_fft_add(a, b, wide), wide);
    }
}

/* One butterfly of the points i, i + m, i + 2m and i + 3m; `root` is the step through the roots. */
TFLMGEN_HELPER void tflmgen_fft_radix4(void *data, const void *roots, int32_t i, int32_t m, int32_t root, bool inverse,
                                       bool wide)
{
    struct tflmgen_fft_complex x[4];
    for (int32_t k = 0; k < 4; k++) {
        x[k] = tflmgen_fft_divide(tflmgen_fft_get(data, i + k * m, wide), 4, wide);
        x[k] = k ? tflmgen_fft_multiply(x[k], tflmgen_fft_get(roots, k * root, wide), wide) : x[k];
    }
    const struct tflmgen_fft_complex even = tflmgen_fft_add(x[0], x[2], wide);
    const struct tflmgen_fft_complex difference = tflmgen_fft_subtract(x[0], x[2], wide);
    const struct tflmgen_fft_complex odd = tflmgen_fft_add(x[1], x[3], wide);
    const struct tflmgen_fft_complex turned = tflmgen_fft_subtract(x[1], x[3], wide);
    const struct tflmgen_fft_complex right = {turned.imaginary, tflmgen_fft_negative(turned.real, wide)};
    tflmgen_fft_set(data, i, tflmgen_fft_add(even, odd, wide), wide);
    tflmgen_fft_set(data, i + 2 * m, tflmgen_fft_subtract(even, odd, wide), wide);
    tflmgen_fft_set(data, i + (inverse ? 3 : 1) * m, tflmgen_fft_add(difference, right, wide), wide);
    tflmgen_fft_set(data, i + (inverse ? 1 : 3) * m, tflmgen_fft_subtract(difference, right, wide), wide);
}

/* The complex transform of numbers that are in digit-reversed order already. */
TFLMGEN_HELPER void tflmgen_fft_stages(void *data, const void *roots, int32_t points, bool inverse, bool wide)
{
    int32_t m = 1;
    for (int32_t rest = points; rest > 1; rest /= 4) {
        m = rest == 2 ? 2 : m;
    }
    if (m == 2) {
        tflmgen_fft_radix2(data, roots, points, wide);
    }
    for (; m < points; m *= 4) {
        for (int32_t block = 0; block < points; block += 4 * m) {
            for (int32_t k = 0; k < m; k++) {
                tflmgen_fft_radix4(data, roots, block + k, m, k * (points / (4 * m)), inverse, wide);
            }
        }
    }
}

/* The spectrum of n + 1 complex numbers from the transform of n, in place. */
TFLMGEN_HELPER void tflmgen_fft_split(void *data, const void *halves, int32_t points, bool wide)
{
    const struct tflmgen_fft_complex first = tflmgen_fft_divide(tflmgen_fft_get(data, 0, wide), 2, wide);
    const struct tflmgen_fft_complex lowest = {tflmgen_fft_sum(first.real, first.imaginary, wide), 0};
    const struct tflmgen_fft_complex highest = {
        tflmgen_fft_sum(first.real, tflmgen_fft_negative(first.imaginary, wide), wide), 0};
    for (int32_t k = 1; k <= points / 2; k++) {
        struct tflmgen_fft_complex mirror = tflmgen_fft_get(data, points - k, wide);
        mirror.imaginary = tflmgen_fft_negative(mirror.imaginary, wide);
        mirror = tflmgen_fft_divide(mirror, 2, wide);
        const struct tflmgen_fft_complex here = tflmgen_fft_divide(tflmgen_fft_get(data, k, wide), 2, wide);
        const struct tflmgen_fft_complex sum = tflmgen_fft_add(here, mirror, wide);
        const struct tflmgen_fft_complex turned =
            tflmgen_fft_multiply(tflmgen_fft_subtract(here, mirror, wide), tflmgen_fft_get(halves, k - 1, wide), wide);
        const struct tflmgen_fft_complex low = {tflmgen_add_wrap_s32(sum.real, turned.real) >> 1,
                                                tflmgen_add_wrap_s32(sum.imaginary, turned.imaginary) >> 1};
        const struct tflmgen_fft_complex high = {(int32_t)((uint32_t)sum.real - (uint32_t)turned.real) >> 1,
                                                 (int32_t)((uint32_t)turned.imaginary - (uint32_t)sum.imaginary) >> 1};
        tflmgen_fft_set(data, k, low, wide);
        tflmgen_fft_set(data, points - k, high, wide);
    }
    tflmgen_fft_set(data, 0, lowest, wide);
    tflmgen_fft_set(data, points, highest, wide);
}

/* The n complex numbers whose inverse transform are the 2n real ones, in digit-reversed order. */
TFLMGEN_HELPER void tflmgen_fft_merge(const void *spectrum, void *data, const tflmgen_u16 *order, const void *halves,
                                      int32_t points, bool wide)
{
    const int32_t lowest = tflmgen_fft_get(spectrum, 0, wide).real;
    const int32_t highest = tflmgen_fft_get(spectrum, points, wide).real;
    const struct tflmgen_fft_complex first = {tflmgen_fft_sum(lowest, highest, wide),
                                              tflmgen_fft_sum(lowest, (int32_t)(0U - (uint32_t)highest), wide)};
    tflmgen_fft_set(data, order[0], tflmgen_fft_divide(first, 2, wide), wide);
    for (int32_t k = 1; k <= points / 2; k++) {
        struct tflmgen_fft_complex mirror = tflmgen_fft_get(spectrum, points - k, wide);
        mirror.imaginary = tflmgen_fft_negative(mirror.imaginary, wide);
        mirror = tflmgen_fft_divide(mirror, 2, wide);
        const struct tflmgen_fft_complex here = tflmgen_fft_divide(tflmgen_fft_get(spectrum, k, wide), 2, wide);
        const struct tflmgen_fft_complex even = tflmgen_fft_add(here, mirror, wide);
        const struct tflmgen_fft_complex odd =
            tflmgen_fft_multiply(tflmgen_fft_subtract(here, mirror, wide), tflmgen_fft_get(halves, k - 1, wide), wide);
        struct tflmgen_fft_complex high = tflmgen_fft_subtract(even, odd, wide);
        high.imaginary = tflmgen_fft_negative(high.imaginary, wide);
        tflmgen_fft_set(data, order[k], tflmgen_fft_add(even, odd, wide), wide);
        tflmgen_fft_set(data, order[points - k], high, wide);
    }
}

/* Frames of `length` real numbers, filled up with zeros, to spectra of points + 1 complex numbers. */
TFLMGEN_HELPER void tflmgen_fft_forward(const void *input, const tflmgen_u16 *order, const void *roots,
                                        const void *halves, void *output, const struct tflmgen_signal_fft *params,
                                        bool wide)
{
    const int32_t size = wide ? 4 : 2;
    const int32_t length = params->length;
    for (int32_t frame = 0; frame < params->frames; frame++) {
        const void *real = (const char *)input + frame * length * size;
        void *data = (char *)output + frame * (2 * params->points + 2) * size;
        for (int32_t i = 0; i < params->points; i++) {
            const struct tflmgen_fft_complex pair = {2 * i < length ? tflmgen_fft_load(real, 2 * i, wide) : 0,
                                                     2 * i + 1 < length ? tflmgen_fft_load(real, 2 * i + 1, wide) : 0};
            tflmgen_fft_set(data, order[i], pair, wide);
        }
        tflmgen_fft_stages(data, roots, params->points, false, wide);
        tflmgen_fft_split(data, halves, params->points, wide);
    }
}

TFLMGEN_HELPER void tflmgen_fft_inverse(const void *input, const tflmgen_u16 *order, const void *roots,
                                        const void *halves, void *output, const struct tflmgen_signal_fft *params,
                                        bool wide)
{
    const int32_t size = wide ? 4 : 2;
    for (int32_t frame = 0; frame < params->frames; frame++) {
        const void *spectrum = (const char *)input + frame * (2 * params->points + 2) * size;
        void *data = (char *)output + frame * 2 * params->points * size;
        tflmgen_fft_merge(spectrum, data, order, halves, params->points, wide);
        tflmgen_fft_stages(data, roots, params->points, true, wide);
    }
}

#define TFLMGEN_SIGNAL_FFT(name, element, run, wide)                                                          \
    TFLMGEN_KERNEL void name(const element *input, const tflmgen_u16 *order, const element *roots,            \
                             const element *halves, element *output, const struct tflmgen_signal_fft *params) \
    {                                                                                                         \
        run(input, order, roots, halves, output, params, wide);                                               \
    }

TFLMGEN_SIGNAL_FFT(tflmgen_signal_rfft_s16, tflmgen_s16, tflmgen_fft_forward, false)
TFLMGEN_SIGNAL_FFT(tflmgen_signal_rfft_s32, tflmgen_s32, tflmgen_fft_forward, true)
TFLMGEN_SIGNAL_FFT(tflmgen_signal_irfft_s16, tflmgen_s16, tflmgen_fft_inverse, false)
TFLMGEN_SIGNAL_FFT(tflmgen_signal_irfft_s32, tflmgen_s32, tflmgen_fft_inverse, true)

#endif
