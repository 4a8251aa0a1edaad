/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Fast Fourier transforms of real numbers in float32, of even lengths whose factors are 2, 3 and 5.
 *
 * A frame of 2n real numbers is transformed as n complex ones, in place in its output, by decimation in time: stages of
 * radix 4, one of radix 2 where n asks for it, then of 3 and 5, as signal_fft.h does in fixed point. The complex
 * numbers that a stage turns by one power of a root are turned one after the other, so that each root is loaded once a
 * stage.
 *
 * order    of a transform: first input of each butterfly of the first stage, whose inputs are n / radix apart;
 *          of its inverse: the place of each complex number
 * roots    the n-th roots of unity
 * halves   those between the even and the odd half of the spectrum; half of them, where the kernel is no inverse
 *
 * Radix 3 and 5: S. Winograd, "On computing the discrete Fourier transform" (1978). */
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
    const tflmgen_f32 *number = data + 2 * index;
    return tflmgen_cf32_of(number[0], number[1]);
}

TFLMGEN_HELPER void tflmgen_cf32_set(tflmgen_f32 *data, int32_t index, tflmgen_cf32 value)
{
    tflmgen_f32 *number = data + 2 * index;
    number[0] = value.real;
    number[1] = value.imaginary;
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

TFLMGEN_HELPER tflmgen_cf32 tflmgen_cf32_scale(tflmgen_cf32 a, float factor)
{
    return tflmgen_cf32_of(a.real * factor, a.imaginary * factor);
}

/* The address, in a register of its own: GCC 12 takes two for a pair whose address moves, and runs out of them. */
TFLMGEN_HELPER tflmgen_f32 *tflmgen_cf32_kept(tflmgen_f32 *place)
{
    __asm__("" : "+r"(place));
    return place;
}

TFLMGEN_HELPER void tflmgen_cf32_put(tflmgen_f32 *place, tflmgen_cf32 value)
{
    place[0] = value.real;
    place[1] = value.imaginary;
}

/* Stores a - ib at one place and a + ib at another one. */
TFLMGEN_HELPER void tflmgen_cf32_turn(tflmgen_f32 *first, tflmgen_f32 *last, tflmgen_cf32 a, tflmgen_cf32 b)
{
    tflmgen_cf32_put(first, tflmgen_cf32_of(a.real + b.imaginary, a.imaginary - b.real));
    tflmgen_cf32_put(last, tflmgen_cf32_of(a.real - b.imaginary, a.imaginary + b.real));
}

/* Butterflies of numbers that are turned already: results at the places that the numbers came from. */
TFLMGEN_HELPER void tflmgen_cf32_radix2(tflmgen_f32 *const *at, const tflmgen_cf32 *x)
{
    tflmgen_cf32_put(at[0], tflmgen_cf32_add(x[0], x[1]));
    tflmgen_cf32_put(at[1], tflmgen_cf32_subtract(x[0], x[1]));
}

TFLMGEN_HELPER void tflmgen_cf32_radix3(tflmgen_f32 *const *at, const tflmgen_cf32 *x, bool inverse)
{
    const tflmgen_cf32 sum = tflmgen_cf32_add(x[1], x[2]);
    const tflmgen_cf32 rest = tflmgen_cf32_subtract(x[0], tflmgen_cf32_scale(sum, 0.5F));
    const tflmgen_cf32 turned = tflmgen_cf32_scale(tflmgen_cf32_subtract(x[1], x[2]), 0.866025404F);
    tflmgen_cf32_put(at[0], tflmgen_cf32_add(x[0], sum));
    tflmgen_cf32_turn(at[inverse ? 2 : 1], at[inverse ? 1 : 2], rest, turned);
}

TFLMGEN_HELPER void tflmgen_cf32_radix4(tflmgen_f32 *const *at, const tflmgen_cf32 *x, bool inverse)
{
    const tflmgen_cf32 even = tflmgen_cf32_add(x[0], x[2]);
    const tflmgen_cf32 odd = tflmgen_cf32_add(x[1], x[3]);
    const tflmgen_cf32 rest = tflmgen_cf32_subtract(x[0], x[2]);
    const tflmgen_cf32 turned = tflmgen_cf32_subtract(x[1], x[3]);
    tflmgen_cf32_put(at[0], tflmgen_cf32_add(even, odd));
    tflmgen_cf32_put(at[2], tflmgen_cf32_subtract(even, odd));
    tflmgen_cf32_turn(at[inverse ? 3 : 1], at[inverse ? 1 : 3], rest, turned);
}

TFLMGEN_HELPER void tflmgen_cf32_radix5(tflmgen_f32 *const *at, const tflmgen_cf32 *x, bool inverse)
{
    const tflmgen_cf32 sum1 = tflmgen_cf32_add(x[1], x[4]);
    const tflmgen_cf32 sum2 = tflmgen_cf32_add(x[2], x[3]);
    const tflmgen_cf32 rest1 = tflmgen_cf32_subtract(x[1], x[4]);
    const tflmgen_cf32 rest2 = tflmgen_cf32_subtract(x[2], x[3]);
    const tflmgen_cf32 middle = tflmgen_cf32_subtract(x[0], tflmgen_cf32_scale(tflmgen_cf32_add(sum1, sum2), 0.25F));
    const tflmgen_cf32 apart = tflmgen_cf32_scale(tflmgen_cf32_subtract(sum1, sum2), 0.559016994F);
    const tflmgen_cf32 turned1 =
        tflmgen_cf32_add(tflmgen_cf32_scale(rest1, 0.951056516F), tflmgen_cf32_scale(rest2, 0.587785252F));
    const tflmgen_cf32 turned2 =
        tflmgen_cf32_subtract(tflmgen_cf32_scale(rest1, 0.587785252F), tflmgen_cf32_scale(rest2, 0.951056516F));
    tflmgen_cf32_put(at[0], tflmgen_cf32_add(x[0], tflmgen_cf32_add(sum1, sum2)));
    tflmgen_cf32_turn(at[inverse ? 4 : 1], at[inverse ? 1 : 4], tflmgen_cf32_add(middle, apart), turned1);
    tflmgen_cf32_turn(at[inverse ? 3 : 2], at[inverse ? 2 : 3], tflmgen_cf32_subtract(middle, apart), turned2);
}

TFLMGEN_HELPER void tflmgen_cf32_butterfly(tflmgen_f32 *const *at, int32_t radix, const tflmgen_cf32 *x, bool inverse)
{
    if (radix == 2) {
        tflmgen_cf32_radix2(at, x);
    } else if (radix == 3) {
        tflmgen_cf32_radix3(at, x, inverse);
    } else if (radix == 4) {
        tflmgen_cf32_radix4(at, x, inverse);
    } else {
        tflmgen_cf32_radix5(at, x, inverse);
    }
}

/* Loads what a butterfly reads. */
TFLMGEN_HELPER void tflmgen_cf32_load(tflmgen_cf32 *x, tflmgen_f32 *const *at, int32_t radix)
{
    x[0] = tflmgen_cf32_get(at[0], 0);
    x[1] = tflmgen_cf32_get(at[1], 0);
    x[2] = radix > 2 ? tflmgen_cf32_get(at[2], 0) : x[0];
    x[3] = radix > 3 ? tflmgen_cf32_get(at[3], 0) : x[0];
    x[4] = radix > 4 ? tflmgen_cf32_get(at[4], 0) : x[0];
}

/* Moves the addresses of a butterfly. */
TFLMGEN_HELPER void tflmgen_cf32_move(tflmgen_f32 **at, int32_t radix, int32_t floats)
{
    at[0] = tflmgen_cf32_kept(at[0] + floats);
    at[1] = tflmgen_cf32_kept(at[1] + floats);
    at[2] = radix > 2 ? tflmgen_cf32_kept(at[2] + floats) : at[0];
    at[3] = radix > 3 ? tflmgen_cf32_kept(at[3] + floats) : at[0];
    at[4] = radix > 4 ? tflmgen_cf32_kept(at[4] + floats) : at[0];
}

/* Butterflies whose inputs are m apart, turned by the powers of one root, the first one at `block`. */
TFLMGEN_HELPER void tflmgen_cf32_column(tflmgen_f32 *block, int32_t points, int32_t radix, int32_t m,
                                        const tflmgen_f32 *roots, int32_t power, bool is_turned, bool inverse)
{
    const tflmgen_cf32 one = tflmgen_cf32_get(roots, power);
    const tflmgen_cf32 two = tflmgen_cf32_get(roots, radix > 2 ? 2 * power : 0);
    const tflmgen_cf32 three = tflmgen_cf32_get(roots, radix > 3 ? 3 * power : 0);
    const tflmgen_cf32 four = tflmgen_cf32_get(roots, radix > 4 ? 4 * power : 0);
    tflmgen_f32 *at[5] = {block, block + 2 * m, block, block, block};
    at[2] += radix > 2 ? 4 * m : 0;
    at[3] += radix > 3 ? 6 * m : 0;
    at[4] += radix > 4 ? 8 * m : 0;
    for (int32_t left = points; left > 0; left -= radix * m) {
        tflmgen_cf32 x[5];
        tflmgen_cf32_load(x, at, radix);
        if (is_turned) {
            x[1] = tflmgen_cf32_multiply(x[1], one);
            x[2] = tflmgen_cf32_multiply(x[2], two);
            x[3] = tflmgen_cf32_multiply(x[3], three);
            x[4] = tflmgen_cf32_multiply(x[4], four);
        }
        tflmgen_cf32_butterfly(at, radix, x, inverse);
        tflmgen_cf32_move(at, radix, 2 * radix * m);
    }
}

/* The last stage: m butterflies, each of which is turned by other powers. */
TFLMGEN_HELPER void tflmgen_cf32_last(tflmgen_f32 *data, const tflmgen_f32 *roots, int32_t radix, int32_t m,
                                      bool inverse)
{
    tflmgen_f32 *at[5] = {data, data + 2 * m, data, data, data};
    at[2] += radix > 2 ? 4 * m : 0;
    at[3] += radix > 3 ? 6 * m : 0;
    at[4] += radix > 4 ? 8 * m : 0;
    for (int32_t k = 0; k < m; k++) {
        tflmgen_cf32 x[5];
        tflmgen_cf32_load(x, at, radix);
        x[1] = tflmgen_cf32_multiply(x[1], tflmgen_cf32_get(roots, k));
        x[2] = tflmgen_cf32_multiply(x[2], tflmgen_cf32_get(roots, radix > 2 ? 2 * k : 0));
        x[3] = tflmgen_cf32_multiply(x[3], tflmgen_cf32_get(roots, radix > 3 ? 3 * k : 0));
        x[4] = tflmgen_cf32_multiply(x[4], tflmgen_cf32_get(roots, radix > 4 ? 4 * k : 0));
        tflmgen_cf32_butterfly(at, radix, x, inverse);
        tflmgen_cf32_move(at, radix, 2);
    }
}

TFLMGEN_HELPER void tflmgen_cf32_stage(tflmgen_f32 *data, const tflmgen_f32 *roots, int32_t points, int32_t radix,
                                       int32_t m, bool inverse)
{
    const int32_t step = points / (radix * m);
    if (step == 1) {
        tflmgen_cf32_last(data, roots, radix, m, inverse);
        return;
    }
    tflmgen_cf32_column(data, points, radix, m, roots, 0, false, inverse);
    for (int32_t k = 1; k < m; k++) {
        tflmgen_cf32_column(data + 2 * k, points, radix, m, roots, k * step, true, inverse);
    }
}

/* The stages from m on. What the number of points rules out is no code: it is a constant of the call. */
TFLMGEN_HELPER void tflmgen_cf32_stages(tflmgen_f32 *data, const tflmgen_f32 *roots, int32_t points, int32_t m,
                                        bool inverse)
{
    for (; points % 4 == 0 && points / m % 4 == 0; m *= 4) {
        tflmgen_cf32_stage(data, roots, points, 4, m, inverse);
    }
    if (points % 2 == 0 && __builtin_ctz((unsigned)points) % 2 == 1 && points / m % 2 == 0) {
        tflmgen_cf32_stage(data, roots, points, 2, m, inverse);
        m *= 2;
    }
    for (; points % 3 == 0 && points / m % 3 == 0; m *= 3) {
        tflmgen_cf32_stage(data, roots, points, 3, m, inverse);
    }
    for (; points % 5 == 0 && points / m % 5 == 0; m *= 5) {
        tflmgen_cf32_stage(data, roots, points, 5, m, inverse);
    }
}

/* A pair of real numbers; zeros from `length` on. */
TFLMGEN_HELPER tflmgen_cf32 tflmgen_cf32_sample(const tflmgen_f32 *real, int32_t place, int32_t length)
{
    if (length == INT32_MAX) {
        return tflmgen_cf32_of(real[place], real[place + 1]);
    }
    return tflmgen_cf32_of(place < length ? real[place] : 0.0F, place + 1 < length ? real[place + 1] : 0.0F);
}

/* The first stage, which brings the numbers in order; those beyond the frame's `length` real numbers are 0. */
TFLMGEN_HELPER void tflmgen_cf32_first(const tflmgen_f32 *real, const tflmgen_u16 *order, tflmgen_f32 *data,
                                       int32_t points, int32_t length, int32_t radix)
{
    const int32_t shown = length < 2 * points ? length : INT32_MAX;
    const int32_t step = 2 * (points / radix);
    tflmgen_cf32 x[5];
    for (int32_t i = 0; i < points / radix; i++) {
        const int32_t place = 2 * order[i];
        x[0] = tflmgen_cf32_sample(real, place, shown);
        x[1] = tflmgen_cf32_sample(real, place + step, shown);
        x[2] = radix > 2 ? tflmgen_cf32_sample(real, place + 2 * step, shown) : x[0];
        x[3] = radix > 3 ? tflmgen_cf32_sample(real, place + 3 * step, shown) : x[0];
        x[4] = radix > 4 ? tflmgen_cf32_sample(real, place + 4 * step, shown) : x[0];
        tflmgen_f32 *block = data + 2 * radix * i;
        tflmgen_f32 *const at[5] = {block, block + 2, block + 4, block + 6, block + 8};
        tflmgen_cf32_butterfly(at, radix, x, false);
    }
}

TFLMGEN_HELPER void tflmgen_cf32_split(tflmgen_f32 *data, const tflmgen_f32 *halves, int32_t points)
{
    const tflmgen_cf32 first = tflmgen_cf32_get(data, 0);
    tflmgen_f32 *low = data + 2;
    tflmgen_f32 *high = data + 2 * points - 2;
    for (int32_t left = points / 2; left > 0; left--) {
        const tflmgen_cf32 here = tflmgen_cf32_get(low, 0);
        const tflmgen_cf32 mirror = tflmgen_cf32_of(high[0], -high[1]);
        const tflmgen_cf32 sum = tflmgen_cf32_scale(tflmgen_cf32_add(here, mirror), 0.5F);
        const tflmgen_cf32 rest = tflmgen_cf32_subtract(here, mirror);
        const tflmgen_cf32 turned = tflmgen_cf32_multiply(rest, tflmgen_cf32_get(halves, 0));
        tflmgen_cf32_put(low, tflmgen_cf32_add(sum, turned));
        tflmgen_cf32_put(high, tflmgen_cf32_of(sum.real - turned.real, turned.imaginary - sum.imaginary));
        low = tflmgen_cf32_kept(low + 2);
        high = tflmgen_cf32_kept(high - 2);
        halves += 2;
    }
    tflmgen_cf32_set(data, 0, tflmgen_cf32_of(first.real + first.imaginary, 0.0F));
    tflmgen_cf32_set(data, points, tflmgen_cf32_of(first.real - first.imaginary, 0.0F));
}

TFLMGEN_KERNEL void tflmgen_signal_rfft_f32(const tflmgen_f32 *input, const tflmgen_u16 *order,
                                            const tflmgen_f32 *roots, const tflmgen_f32 *halves, tflmgen_f32 *output,
                                            const struct tflmgen_signal_fft *params)
{
    const int32_t points = params->points;
    const int32_t radix = points % 4 == 0 ? 4 : points % 2 == 0 ? 2 : points % 3 == 0 ? 3 : 5;
    for (int32_t frame = 0; frame < params->frames; frame++) {
        tflmgen_f32 *data = output + frame * (2 * points + 2);
        tflmgen_cf32_first(input + frame * params->length, order, data, points, params->length, radix);
        tflmgen_cf32_stages(data, roots, points, radix, false);
        tflmgen_cf32_split(data, halves, points);
    }
}

TFLMGEN_KERNEL void tflmgen_signal_irfft_f32(const tflmgen_f32 *input, const tflmgen_u16 *order,
                                             const tflmgen_f32 *roots, const tflmgen_f32 *halves, tflmgen_f32 *output,
                                             const struct tflmgen_signal_fft *params)
{
    const int32_t points = params->points;
    const float scale = 0.5F / (float)points;
    for (int32_t frame = 0; frame < params->frames; frame++) {
        const tflmgen_f32 *spectrum = input + frame * (2 * points + 2);
        tflmgen_f32 *data = output + frame * 2 * points;
        const float lowest = spectrum[0] * scale;
        const float highest = spectrum[2 * points] * scale;
        tflmgen_cf32_set(data, order[0], tflmgen_cf32_of(lowest + highest, lowest - highest));
        for (int32_t k = 1; k <= points / 2; k++) {
            const tflmgen_cf32 here = tflmgen_cf32_scale(tflmgen_cf32_get(spectrum, k), scale);
            const tflmgen_cf32 there = tflmgen_cf32_scale(tflmgen_cf32_get(spectrum, points - k), scale);
            const tflmgen_cf32 mirror = tflmgen_cf32_of(there.real, -there.imaginary);
            const tflmgen_cf32 even = tflmgen_cf32_add(here, mirror);
            const tflmgen_cf32 odd =
                tflmgen_cf32_multiply(tflmgen_cf32_subtract(here, mirror), tflmgen_cf32_get(halves, k - 1));
            tflmgen_cf32_set(data, order[k], tflmgen_cf32_add(even, odd));
            tflmgen_cf32_set(data, order[points - k],
                             tflmgen_cf32_of(even.real - odd.real, odd.imaginary - even.imaginary));
        }
        tflmgen_cf32_stages(data, roots, points, 1, true);
    }
}

#endif
