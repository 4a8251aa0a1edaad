/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Fast Fourier transforms of real numbers in float32, in KISS FFT's order of operations. See signal_fft.h. */
#ifndef TFLMGEN_KERNELS_SIGNAL_FFT_F32_H
#define TFLMGEN_KERNELS_SIGNAL_FFT_F32_H

#include "signal_fft.h"

struct tflmgen_fft_complex_f32 {
    float real;
    float imaginary;
};

typedef struct tflmgen_fft_complex_f32 tflmgen_cf32;

TFLMGEN_HELPER tflmgen_cf32 tflmgen_cf32_of(float real, float imaginary)
{
    const tflmgen_cf32 value = {real, imaginary};
    return value;
}

TFLMGEN_HELPER tflmgen_cf32 tflmgen_cf32_get(const tflmgen_f32 *data, int32_t index)
{
    return tflmgen_cf32_of(data[2 * index], data[2 * index + 1]);
}

TFLMGEN_HELPER void tflmgen_cf32_set(tflmgen_f32 *data, int32_t index, tflmgen_cf32 value)
{
    data[2 * index] = value.real;
    data[2 * index + 1] = value.imaginary;
}

TFLMGEN_HELPER tflmgen_cf32 tflmgen_cf32_add(tflmgen_cf32 a, tflmgen_cf32 b)
{
    return tflmgen_cf32_of(a.real + b.real, a.imaginary + b.imaginary);
}

TFLMGEN_HELPER tflmgen_cf32 tflmgen_cf32_subtract(tflmgen_cf32 a, tflmgen_cf32 b)
{
    return tflmgen_cf32_of(a.real - b.real, a.imaginary - b.imaginary);
}

TFLMGEN_HELPER tflmgen_cf32 tflmgen_cf32_multiply(tflmgen_cf32 a, tflmgen_cf32 b)
{
    return tflmgen_cf32_of(a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real);
}

TFLMGEN_HELPER void tflmgen_cf32_radix4(tflmgen_f32 *data, const tflmgen_f32 *roots, int32_t i, int32_t m, int32_t root,
                                        bool inverse)
{
    const tflmgen_cf32 x0 = tflmgen_cf32_get(data, i);
    const tflmgen_cf32 x1 = tflmgen_cf32_multiply(tflmgen_cf32_get(data, i + m), tflmgen_cf32_get(roots, root));
    const tflmgen_cf32 x2 = tflmgen_cf32_multiply(tflmgen_cf32_get(data, i + 2 * m), tflmgen_cf32_get(roots, 2 * root));
    const tflmgen_cf32 x3 = tflmgen_cf32_multiply(tflmgen_cf32_get(data, i + 3 * m), tflmgen_cf32_get(roots, 3 * root));
    const tflmgen_cf32 even = tflmgen_cf32_add(x0, x2);
    const tflmgen_cf32 difference = tflmgen_cf32_subtract(x0, x2);
    const tflmgen_cf32 odd = tflmgen_cf32_add(x1, x3);
    const tflmgen_cf32 turned = tflmgen_cf32_of(x1.imaginary - x3.imaginary, x3.real - x1.real);
    tflmgen_cf32_set(data, i, tflmgen_cf32_add(even, odd));
    tflmgen_cf32_set(data, i + 2 * m, tflmgen_cf32_subtract(even, odd));
    tflmgen_cf32_set(data, i + (inverse ? 3 : 1) * m, tflmgen_cf32_add(difference, turned));
    tflmgen_cf32_set(data, i + (inverse ? 1 : 3) * m, tflmgen_cf32_subtract(difference, turned));
}

TFLMGEN_HELPER void tflmgen_cf32_stages(tflmgen_f32 *data, const tflmgen_f32 *roots, int32_t points, bool inverse)
{
    int32_t m = 1;
    for (int32_t rest = points; rest > 1; rest /= 4) {
        m = rest == 2 ? 2 : m;
    }
    for (int32_t i = 0; m == 2 && i < points; i += 2) {
        const tflmgen_cf32 a = tflmgen_cf32_get(data, i);
        const tflmgen_cf32 b = tflmgen_cf32_get(data, i + 1);
        tflmgen_cf32_set(data, i, tflmgen_cf32_add(a, b));
        tflmgen_cf32_set(data, i + 1, tflmgen_cf32_subtract(a, b));
    }
    for (; m < points; m *= 4) {
        for (int32_t block = 0; block < points; block += 4 * m) {
            for (int32_t k = 0; k < m; k++) {
                tflmgen_cf32_radix4(data, roots, block + k, m, k * (points / (4 * m)), inverse);
            }
        }
    }
}

TFLMGEN_HELPER void tflmgen_cf32_split(tflmgen_f32 *data, const tflmgen_f32 *halves, int32_t points)
{
    const tflmgen_cf32 first = tflmgen_cf32_get(data, 0);
    for (int32_t k = 1; k <= points / 2; k++) {
        const tflmgen_cf32 here = tflmgen_cf32_get(data, k);
        const tflmgen_cf32 mirror = tflmgen_cf32_of(data[2 * (points - k)], -data[2 * (points - k) + 1]);
        const tflmgen_cf32 sum = tflmgen_cf32_add(here, mirror);
        const tflmgen_cf32 turned =
            tflmgen_cf32_multiply(tflmgen_cf32_subtract(here, mirror), tflmgen_cf32_get(halves, k - 1));
        tflmgen_cf32_set(data, k,
                         tflmgen_cf32_of((sum.real + turned.real) * 0.5F, (sum.imaginary + turned.imaginary) * 0.5F));
        tflmgen_cf32_set(data, points - k,
                         tflmgen_cf32_of((sum.real - turned.real) * 0.5F, (turned.imaginary - sum.imaginary) * 0.5F));
    }
    tflmgen_cf32_set(data, 0, tflmgen_cf32_of(first.real + first.imaginary, 0.0F));
    tflmgen_cf32_set(data, points, tflmgen_cf32_of(first.real - first.imaginary, 0.0F));
}

TFLMGEN_KERNEL void tflmgen_signal_rfft_f32(const tflmgen_f32 *input, const tflmgen_u16 *order,
                                            const tflmgen_f32 *roots, const tflmgen_f32 *halves, tflmgen_f32 *output,
                                            const struct tflmgen_signal_fft *params)
{
    const int32_t length = params->length;
    for (int32_t frame = 0; frame < params->frames; frame++) {
        const tflmgen_f32 *real = input + frame * length;
        tflmgen_f32 *data = output + frame * (2 * params->points + 2);
        for (int32_t i = 0; i < params->points; i++) {
            data[2 * order[i]] = 2 * i < length ? real[2 * i] : 0.0F;
            data[2 * order[i] + 1] = 2 * i + 1 < length ? real[2 * i + 1] : 0.0F;
        }
        tflmgen_cf32_stages(data, roots, params->points, false);
        tflmgen_cf32_split(data, halves, params->points);
    }
}

TFLMGEN_KERNEL void tflmgen_signal_irfft_f32(const tflmgen_f32 *input, const tflmgen_u16 *order,
                                             const tflmgen_f32 *roots, const tflmgen_f32 *halves, tflmgen_f32 *output,
                                             const struct tflmgen_signal_fft *params)
{
    const int32_t points = params->points;
    for (int32_t frame = 0; frame < params->frames; frame++) {
        const tflmgen_f32 *spectrum = input + frame * (2 * points + 2);
        tflmgen_f32 *data = output + frame * 2 * points;
        const float lowest = spectrum[0];
        const float highest = spectrum[2 * points];
        tflmgen_cf32_set(data, order[0], tflmgen_cf32_of(lowest + highest, lowest - highest));
        for (int32_t k = 1; k <= points / 2; k++) {
            const tflmgen_cf32 here = tflmgen_cf32_get(spectrum, k);
            const tflmgen_cf32 mirror = tflmgen_cf32_of(spectrum[2 * (points - k)], -spectrum[2 * (points - k) + 1]);
            const tflmgen_cf32 even = tflmgen_cf32_add(here, mirror);
            const tflmgen_cf32 odd =
                tflmgen_cf32_multiply(tflmgen_cf32_subtract(here, mirror), tflmgen_cf32_get(halves, k - 1));
            tflmgen_cf32_set(data, order[k], tflmgen_cf32_add(even, odd));
            tflmgen_cf32_set(data, order[points - k],
                             tflmgen_cf32_of(even.real - odd.real, odd.imaginary - even.imaginary));
        }
        tflmgen_cf32_stages(data, roots, points, true);
        for (int32_t i = 0; i < 2 * points; i++) {
            data[i] /= (float)(2 * points);
        }
    }
}

#endif
