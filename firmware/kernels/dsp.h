/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* What the kernels for cores with the DSP extension (Armv7E-M: Cortex-M4, M7; Armv8-M: M33) share.
 *
 * Shifted pairs widen four weights by one instruction. A step is four weights w0..w3 and four inputs x0..x3:
 *     a weight word     W = (w0 + 256 w1, w2 + 256 w3)                            as (low half, high half)
 *     two input words   X = (x1, x3)
 *                       Y = (256 x0 - x1 + 127, 256 x2 - x3 + 127)                REV16(x) ^ 0x007F007F of the bytes x
 * SMLAD(W, X) + SMLAD(SXTB16(W), Y) adds 256 (w0 x0 + w1 x1 + w2 x2 + w3 x3) + 127 (w0 + w2). The constant term is
 * folded into the bias at build time, where the conditions are checked, too: 256 times the accumulator fits 32 bits,
 * and w0 + 256 w1 fits 16 bits, which only w1 = -128 behind a negative w0 does not.
 *
 * Requantisation (words: requantize.h). hi32(256 a m) + addend, shifted right by s = 7 + r and saturated, is TFLite's
 * double rounding of a m / 2^(31 + r). The sign fix is 2^7, a unit of the first rounding's result: negative sums need
 * it where results are not clamped at the zero point anyway. Functions without it are called `clamped` or `relu`.
 */
#ifndef TFLMGEN_KERNELS_DSP_H
#define TFLMGEN_KERNELS_DSP_H

#include "common.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* Compiled once per source file, and called: the parameters are read at run time. */
#define TFLMGEN_SHARED static __attribute__((noinline, unused))

/* The same, whatever a model's layers have in common: it always takes as long as the cost models say. */
#ifdef __clang__
#define TFLMGEN_UNCLONED TFLMGEN_SHARED
#else
#define TFLMGEN_UNCLONED static __attribute__((noinline, noclone, unused))
#endif

/* A function of assembly that only assembly calls, in registers of its own. */
#define TFLMGEN_NAKED static __attribute__((naked, noinline, unused))

/* Before a loop: that many passes one after the other, unless code is to be small. */
#ifdef __OPTIMIZE_SIZE__
#define TFLMGEN_DSP_UNROLL(passes)
#else
#define TFLMGEN_DSP_PRAGMA(text) _Pragma(#text)
#define TFLMGEN_DSP_UNROLL(passes) TFLMGEN_DSP_PRAGMA(GCC unroll passes)
#endif

/* Kernels of layers whose channels all have one shift have it in their code: SSAT shifts by a number of its own. */
#define TFLMGEN_DSP_SHIFT 12
#define TFLMGEN_DSP_TEXT(number) #number /* of a macro's value */
#define TFLMGEN_DSP_SSAT(sum, shift) "ssat " sum ", #8, " sum ", asr #" TFLMGEN_DSP_TEXT(shift) "\n\t"
#define TFLMGEN_DSP_SATURATE(sum) TFLMGEN_DSP_SSAT(sum, TFLMGEN_DSP_SHIFT)

/* SMLAD: sum + a.low * b.low + a.high * b.high, of signed halves. */
TFLMGEN_HELPER int32_t tflmgen_smlad(uint32_t a, uint32_t b, int32_t sum)
{
    __asm__("smlad %0, %1, %2, %3" : "=r"(sum) : "r"(a), "r"(b), "r"(sum));
    return sum;
}

/* SMLALD: the same with a sum of 64 bits. */
TFLMGEN_HELPER int64_t tflmgen_smlald(uint32_t a, uint32_t b, int64_t sum)
{
    __asm__("smlald %Q0, %R0, %1, %2" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}

/* The lower halves of `a` and `b`; the upper ones. */
TFLMGEN_HELPER uint32_t tflmgen_lower_halves(uint32_t a, uint32_t b)
{
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(a) : "r"(a), "r"(b));
    return a;
}

TFLMGEN_HELPER uint32_t tflmgen_upper_halves(uint32_t a, uint32_t b)
{
    __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(b) : "r"(b), "r"(a));
    return b;
}

/* Bytes 0 and 2, sign-extended into halves. */
TFLMGEN_HELPER uint32_t tflmgen_even_bytes(uint32_t bytes)
{
    __asm__("sxtb16 %0, %1" : "=r"(bytes) : "r"(bytes));
    return bytes;
}

/* Bytes 1 and 3, sign-extended into halves. */
TFLMGEN_HELPER uint32_t tflmgen_odd_bytes(uint32_t bytes)
{
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(bytes) : "r"(bytes));
    return bytes;
}

/* The same, added to halves. */
TFLMGEN_HELPER uint32_t tflmgen_add_even_bytes(uint32_t halves, uint32_t bytes)
{
    __asm__("sxtab16 %0, %1, %2" : "=r"(bytes) : "r"(halves), "r"(bytes));
    return bytes;
}

TFLMGEN_HELPER uint32_t tflmgen_add_odd_bytes(uint32_t halves, uint32_t bytes)
{
    __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(bytes) : "r"(halves), "r"(bytes));
    return bytes;
}

/* Y of four inputs; their X is tflmgen_odd_bytes. */
TFLMGEN_HELPER uint32_t tflmgen_shifted_inputs(uint32_t bytes)
{
    __asm__("rev16 %0, %1" : "=r"(bytes) : "r"(bytes));
    return bytes ^ 0x007F007Fu;
}

/* hi32(a * b) + c. */
TFLMGEN_HELPER int32_t tflmgen_smmla(int32_t a, int32_t b, int32_t c)
{
    __asm__("smmla %0, %1, %2, %3" : "=r"(c) : "r"(a), "r"(b), "r"(c));
    return c;
}

/* hi32(a * b), rounded. */
TFLMGEN_HELPER int32_t tflmgen_smmulr(int32_t a, int32_t b)
{
    __asm__("smmulr %0, %1, %2" : "=r"(a) : "r"(a), "r"(b));
    return a;
}

/* The second rounding, that of value / 2^right_shift: |value| < 2^30, 0 <= right_shift <= 31. */
TFLMGEN_HELPER int32_t tflmgen_rounding_shift_right_dsp(int32_t value, int32_t right_shift)
{
    return right_shift > 0 ? (value + tflmgen_sign_mask(value) + (1 << (right_shift - 1))) >> right_shift : value;
}

/* tflmgen_requantize of |value| < 2^30 by a shift to the right: SMMULR is the first rounding. */
TFLMGEN_HELPER int32_t tflmgen_requantize_dsp(int32_t value, int32_t multiplier, int32_t right_shift)
{
    return tflmgen_rounding_shift_right_dsp(tflmgen_smmulr(value * 2, multiplier), right_shift);
}

TFLMGEN_HELPER int32_t tflmgen_saturate_s8(int32_t value)
{
    __asm__("ssat %0, #8, %1" : "=r"(value) : "r"(value));
    return value;
}

TFLMGEN_HELPER int32_t tflmgen_saturate_dsp_s16(int32_t value)
{
    __asm__("ssat %0, #16, %1" : "=r"(value) : "r"(value));
    return value;
}

/* Four bytes from any address. */
TFLMGEN_HELPER uint32_t tflmgen_load4(const void *address)
{
    uint32_t word;
    __builtin_memcpy(&word, address, sizeof word);
    return word;
}

TFLMGEN_HELPER void tflmgen_store4(void *address, uint32_t word)
{
    __builtin_memcpy(address, &word, sizeof word);
}

/* Copies a few bytes: words, the last of which overlaps the one before. */
TFLMGEN_HELPER void tflmgen_copy_few_dsp(int8_t *to, const int8_t *from, int32_t count)
{
    if (count < 4) {
        for (int32_t i = 0; i < count; ++i) {
            to[i] = from[i];
        }
        return;
    }
#pragma GCC unroll 1
    for (int32_t i = 4; i < count; i += 4) {
        tflmgen_store4(to + i - 4, tflmgen_load4(from + i - 4));
    }
    tflmgen_store4(to + count - 4, tflmgen_load4(from + count - 4));
}

/* A byte in all four places of a word. */
TFLMGEN_HELPER uint32_t tflmgen_splat4(int32_t byte)
{
    return (uint32_t)(uint8_t)byte * 0x01010101u;
}

/* A half in both places of a word. */
TFLMGEN_HELPER uint32_t tflmgen_splat2(int32_t half)
{
    return (uint32_t)(uint16_t)half * 0x10001u;
}

/* Of each of four signed bytes the greater. */
TFLMGEN_HELPER uint32_t tflmgen_max4(uint32_t a, uint32_t b)
{
    __asm__("ssub8 r12, %0, %1\n\tsel %0, %0, %1" : "+r"(a) : "r"(b) : "r12", "cc");
    return a;
}

TFLMGEN_HELPER uint32_t tflmgen_min4(uint32_t a, uint32_t b)
{
    __asm__("ssub8 r12, %0, %1\n\tsel %0, %1, %0" : "+r"(a) : "r"(b) : "r12", "cc");
    return a;
}

/* Clamps `count` values in place. With MVE, 16 of them take VLDRB, VMAX, VMIN, VSTRB and LETP. */
TFLMGEN_SHARED void tflmgen_clamp_each_dsp_s8(int8_t *values, int32_t count, int32_t least, int32_t greatest)
{
#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
    __asm__ volatile("vdup.8 q1, %[least]\n\t"
                     "vdup.8 q2, %[greatest]\n\t"
                     "wlstp.8 lr, %[count], 2f\n"
                     "1:\n\t"
                     "vldrb.8 q0, [%[values]]\n\t"
                     "vmax.s8 q0, q0, q1\n\t"
                     "vmin.s8 q0, q0, q2\n\t"
                     "vstrb.8 q0, [%[values]], #16\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [values] "+r"(values)
                     : [least] "r"(least), [greatest] "r"(greatest), [count] "r"(count)
                     : "lr", "q0", "q1", "q2", "memory");
#else
    const uint32_t low = tflmgen_splat4(least);
    const uint32_t high = tflmgen_splat4(greatest);
    for (; count >= 4; count -= 4, values += 4) {
        tflmgen_store4(values, tflmgen_min4(tflmgen_max4(tflmgen_load4(values), low), high));
    }
    for (; count > 0; --count, ++values) {
        *values = (int8_t)tflmgen_clamp_s32(*values, least, greatest);
    }
#endif
}

/* The same, where the range is smaller than that of int8. */
TFLMGEN_HELPER void tflmgen_clamp_dsp_s8(int8_t *values, int32_t count, int32_t least, int32_t greatest)
{
    if (least > INT8_MIN || greatest < INT8_MAX) {
        tflmgen_clamp_each_dsp_s8(values, count, least, greatest);
    }
}

/* Of each of two signed halves the greater; the less. */
TFLMGEN_HELPER uint32_t tflmgen_max2(uint32_t a, uint32_t b)
{
    __asm__("ssub16 r12, %0, %1\n\tsel %0, %0, %1" : "+r"(a) : "r"(b) : "r12", "cc");
    return a;
}

TFLMGEN_HELPER uint32_t tflmgen_min2(uint32_t a, uint32_t b)
{
    __asm__("ssub16 r12, %0, %1\n\tsel %0, %1, %0" : "+r"(a) : "r"(b) : "r12", "cc");
    return a;
}

/* Clamps `count` values in place, unless the range is that of int16. */
TFLMGEN_SHARED void tflmgen_clamp_dsp_s16(tflmgen_s16 *values, int32_t count, int32_t least, int32_t greatest)
{
    if (least <= INT16_MIN && greatest >= INT16_MAX) {
        return;
    }
    const uint32_t low = tflmgen_splat2(least);
    const uint32_t high = tflmgen_splat2(greatest);
    for (; count >= 2; count -= 2, values += 2) {
        tflmgen_store4(values, tflmgen_min2(tflmgen_max2(tflmgen_load4(values), low), high));
    }
    if (count > 0) {
        *values = (int16_t)tflmgen_clamp_s32(*values, least, greatest);
    }
}

#endif

#endif
