/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* QUANTIZE and DEQUANTIZE: between floats and quantised integers, and between quantised integers of two scales. */
#ifndef TFLMGEN_KERNELS_QUANTIZE_H
#define TFLMGEN_KERNELS_QUANTIZE_H

#include <string.h>

#include "dsp.h"
#include "quantized_rows.h"
#include "requantize.h"

struct tflmgen_quantize {
    int32_t elements;
    float scale;
    int32_t zero_point;
};

#if defined(__ARM_FP) && (__ARM_FP & 4) && defined(__thumb2__)
/* round(value), halves away from zero, as if |value| were below 2^16; 0 for NaN. VCVT gives twice the value, toward
 * zero and saturated. */
TFLMGEN_HELPER int32_t tflmgen_round_half_away(float value)
{
    int32_t twice;
    __asm__("vcvt.s32.f32 %0, %0, #1" : "+t"(value));
    memcpy(&twice, &value, sizeof(twice));
    __asm__("ssat %0, #18, %1" : "=r"(twice) : "r"(twice));
    return (twice + (twice < 0 ? 0 : 1)) >> 1;
}

/* The limits are constants. */
TFLMGEN_HELPER int32_t tflmgen_quantize_clamp(int32_t value, int32_t least, int32_t greatest)
{
    if (least == INT8_MIN && greatest == INT8_MAX) {
        __asm__("ssat %0, #8, %1" : "=r"(value) : "r"(value));
        return value;
    }
    return tflmgen_clamp_s32(value, least, greatest);
}
#else
/* round(value), halves away from zero, as if |value| were below 2^17. It is clamped as a float, since a conversion that
 * does not fit is undefined. */
TFLMGEN_HELPER int32_t tflmgen_round_half_away(float value)
{
    const float raised = value > -131072.0f ? value : -131072.0f;
    const float bounded = raised < 131072.0f ? raised : 131072.0f;
    const int32_t whole = (int32_t)bounded;
    const float rest = bounded - (float)whole;
    return whole + (rest >= 0.5f ? 1 : 0) - (rest <= -0.5f ? 1 : 0);
}

TFLMGEN_HELPER int32_t tflmgen_quantize_clamp(int32_t value, int32_t least, int32_t greatest)
{
    return tflmgen_clamp_s32(value, least, greatest);
}
#endif

/* The quantised form of `value`, clamped. NaN becomes what TFLite Micro makes of it on x86, where the conversion
 * gives the least int32 and the sum with a negative zero point wraps: the least, or the greatest below a negative
 * zero point. */
TFLMGEN_HELPER int32_t tflmgen_quantize_value(float value, const struct tflmgen_quantize *params, int32_t least,
                                              int32_t greatest)
{
    const float steps = value / params->scale;
    if (steps != steps) {
        return params->zero_point < 0 ? greatest : least;
    }
    return tflmgen_quantize_clamp(tflmgen_round_half_away(steps) + params->zero_point, least, greatest);
}

#if defined(__ARM_FP) && (__ARM_FP & 4) && defined(__thumb2__) && !TFLMGEN_HAS_MVE_F32
/* Not for NaN. `start` is twice the zero point and 1. VCVT gives twice the steps, toward zero and saturated to 16 bits:
 * outputs are at the limits of int8 long before. */
TFLMGEN_HELPER int8_t tflmgen_quantize_steps_s8(float steps, int32_t start)
{
    int32_t twice;
    __asm__("vcvt.s16.f32 %0, %0, #1" : "+t"(steps));
    memcpy(&twice, &steps, sizeof(twice));
    twice += tflmgen_sign_mask(twice) + start;
    __asm__("ssat %0, #8, %1, asr #1" : "=r"(twice) : "r"(twice));
    return (int8_t)twice;
}

TFLMGEN_HELPER void tflmgen_quantize_each_s8(const tflmgen_f32 *input, int8_t *output, int32_t count,
                                             const struct tflmgen_quantize *params)
{
    for (int32_t i = 0; i < count; i++) {
        output[i] = (int8_t)tflmgen_quantize_value(input[i], params, INT8_MIN, INT8_MAX);
    }
}

static __attribute__((noinline, unused)) void tflmgen_quantize_four_s8(const tflmgen_f32 *input, int8_t *output,
                                                                       const struct tflmgen_quantize *params)
{
    tflmgen_quantize_each_s8(input, output, 4, params);
}

/* Four at a time, whose sum is NaN if one of them is: 4 VLDR, 3 VADD, 3 to compare, 4 VDIV, 4 VCVT, 4 VMOV, 8 ADD, 4
 * SSAT, 4 STRB, 3 to loop. */
TFLMGEN_KERNEL void tflmgen_quantize_f32_s8(const tflmgen_f32 *input, int8_t *output,
                                            const struct tflmgen_quantize *params)
{
    const int32_t start = 2 * params->zero_point + 1;
    const float scale = params->scale;
    const int8_t *const end = output + (params->elements & ~3);
    for (; output != end; input += 4, output += 4) {
        const float a = input[0], b = input[1], c = input[2], d = input[3];
        const float sum = (a + b) + (c + d);
        if (sum != sum) {
            tflmgen_quantize_four_s8(input, output, params);
        } else {
            output[0] = tflmgen_quantize_steps_s8(a / scale, start);
            output[1] = tflmgen_quantize_steps_s8(b / scale, start);
            output[2] = tflmgen_quantize_steps_s8(c / scale, start);
            output[3] = tflmgen_quantize_steps_s8(d / scale, start);
        }
    }
    tflmgen_quantize_each_s8(input, output, params->elements & 3, params);
}
#endif

#if TFLMGEN_HAS_MVE_F32
#define TFLMGEN_DEFINE_QUANTIZE(name, output_type, least, greatest)                                                  \
    TFLMGEN_KERNEL void name(const tflmgen_f32 *input, output_type *output, const struct tflmgen_quantize *params)   \
    {                                                                                                                \
        TFLMGEN_QUANTIZE_MVE(input, output, output_type, least, greatest, params->zero_point < 0 ? greatest : least, \
                             params);                                                                                \
    }
#else
#define TFLMGEN_DEFINE_QUANTIZE(name, output_type, least, greatest)                                                \
    TFLMGEN_KERNEL void name(const tflmgen_f32 *input, output_type *output, const struct tflmgen_quantize *params) \
    {                                                                                                              \
        for (int32_t i = 0; i < params->elements; i++) {                                                           \
            output[i] = (output_type)tflmgen_quantize_value(input[i], params, least, greatest);                    \
        }                                                                                                          \
    }
#endif

#if !(defined(__ARM_FP) && (__ARM_FP & 4) && defined(__thumb2__)) || TFLMGEN_HAS_MVE_F32
TFLMGEN_DEFINE_QUANTIZE(tflmgen_quantize_f32_s8, int8_t, INT8_MIN, INT8_MAX)
#endif
TFLMGEN_DEFINE_QUANTIZE(tflmgen_quantize_f32_u8, uint8_t, 0, UINT8_MAX)
TFLMGEN_DEFINE_QUANTIZE(tflmgen_quantize_f32_s16, tflmgen_s16, INT16_MIN, INT16_MAX)

struct tflmgen_quantize_search {
    int32_t elements;
    int32_t least;
    int32_t undefined; /* what NaN becomes */
};

/* The number of 255 ascending integers that `key` is no less than. */
TFLMGEN_HELPER int32_t tflmgen_search_255(const tflmgen_s32 *numbers, int32_t key)
{
    const tflmgen_s32 *at = numbers;
    at += key >= at[127] ? 128 : 0;
    at += key >= at[63] ? 64 : 0;
    at += key >= at[31] ? 32 : 0;
    at += key >= at[15] ? 16 : 0;
    at += key >= at[7] ? 8 : 0;
    at += key >= at[3] ? 4 : 0;
    at += key >= at[1] ? 2 : 0;
    at += key >= at[0] ? 1 : 0;
    return (int32_t)(at - numbers);
}

/* The same without floating-point arithmetic: `thresholds` has the least float of each output but the least one.
 * They and the elements are compared as integers, which bits of floats are but for the order of negative ones. */
#define TFLMGEN_DEFINE_QUANTIZE_SEARCH(name, output_type)                                                  \
    TFLMGEN_KERNEL void name(const tflmgen_f32 *input, const tflmgen_s32 *thresholds, output_type *output, \
                             const struct tflmgen_quantize_search *params)                                 \
    {                                                                                                      \
        for (int32_t i = 0; i < params->elements; i++) {                                                   \
            int32_t bits;                                                                                  \
            memcpy(&bits, input + i, sizeof(bits));                                                        \
            const int32_t magnitude = bits & INT32_MAX;                                                    \
            const int32_t key = bits < 0 ? ~magnitude : magnitude;                                         \
            const int32_t found = params->least + tflmgen_search_255(thresholds, key);                     \
            output[i] = (output_type)(magnitude > 0x7F800000 ? params->undefined : found);                 \
        }                                                                                                  \
    }

TFLMGEN_DEFINE_QUANTIZE_SEARCH(tflmgen_quantize_search_s8, int8_t)
TFLMGEN_DEFINE_QUANTIZE_SEARCH(tflmgen_quantize_search_u8, uint8_t)

struct tflmgen_quantize_integer {
    int32_t elements;
    int32_t input_offset; /* minus the zero point */
    int32_t multiplier;
    int32_t shift;
    int32_t output_offset;
};

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
#define TFLMGEN_DEFINE_QUANTIZE_INTEGER(name, input_type, output_type, least_result, greatest_result)               \
    TFLMGEN_KERNEL void name(const input_type *input, output_type *output,                                          \
                             const struct tflmgen_quantize_integer *params)                                         \
    {                                                                                                               \
        TFLMGEN_REQUANTIZED_ROW_MVE(input, input_type, output, output_type, least_result, greatest_result, params); \
    }
#else
#define TFLMGEN_DEFINE_QUANTIZE_INTEGER(name, input_type, output_type, least, greatest)                               \
    TFLMGEN_KERNEL void name(const input_type *input, output_type *output,                                            \
                             const struct tflmgen_quantize_integer *params)                                           \
    {                                                                                                                 \
        for (int32_t i = 0; i < params->elements; i++) {                                                              \
            const int32_t centred = tflmgen_add_wrap_s32(input[i], params->input_offset);                             \
            const int32_t scaled = tflmgen_requantize(centred, params->multiplier, params->shift);                    \
            output[i] =                                                                                               \
                (output_type)tflmgen_clamp_s32(tflmgen_add_wrap_s32(scaled, params->output_offset), least, greatest); \
        }                                                                                                             \
    }
#endif

TFLMGEN_DEFINE_QUANTIZE_INTEGER(tflmgen_quantize_s8_s8, int8_t, int8_t, INT8_MIN, INT8_MAX)
TFLMGEN_DEFINE_QUANTIZE_INTEGER(tflmgen_quantize_s8_u8, int8_t, uint8_t, 0, UINT8_MAX)
TFLMGEN_DEFINE_QUANTIZE_INTEGER(tflmgen_quantize_s8_s16, int8_t, tflmgen_s16, INT16_MIN, INT16_MAX)
TFLMGEN_DEFINE_QUANTIZE_INTEGER(tflmgen_quantize_s8_s32, int8_t, tflmgen_s32, INT32_MIN, INT32_MAX)
TFLMGEN_DEFINE_QUANTIZE_INTEGER(tflmgen_quantize_u8_s8, uint8_t, int8_t, INT8_MIN, INT8_MAX)
TFLMGEN_DEFINE_QUANTIZE_INTEGER(tflmgen_quantize_u8_u8, uint8_t, uint8_t, 0, UINT8_MAX)
TFLMGEN_DEFINE_QUANTIZE_INTEGER(tflmgen_quantize_u8_s16, uint8_t, tflmgen_s16, INT16_MIN, INT16_MAX)
TFLMGEN_DEFINE_QUANTIZE_INTEGER(tflmgen_quantize_u8_s32, uint8_t, tflmgen_s32, INT32_MIN, INT32_MAX)
TFLMGEN_DEFINE_QUANTIZE_INTEGER(tflmgen_quantize_s16_s8, tflmgen_s16, int8_t, INT8_MIN, INT8_MAX)
TFLMGEN_DEFINE_QUANTIZE_INTEGER(tflmgen_quantize_s16_u8, tflmgen_s16, uint8_t, 0, UINT8_MAX)
TFLMGEN_DEFINE_QUANTIZE_INTEGER(tflmgen_quantize_s16_s16, tflmgen_s16, tflmgen_s16, INT16_MIN, INT16_MAX)
TFLMGEN_DEFINE_QUANTIZE_INTEGER(tflmgen_quantize_s16_s32, tflmgen_s16, tflmgen_s32, INT32_MIN, INT32_MAX)
TFLMGEN_DEFINE_QUANTIZE_INTEGER(tflmgen_quantize_s32_s8, tflmgen_s32, int8_t, INT8_MIN, INT8_MAX)
TFLMGEN_DEFINE_QUANTIZE_INTEGER(tflmgen_quantize_s32_u8, tflmgen_s32, uint8_t, 0, UINT8_MAX)
TFLMGEN_DEFINE_QUANTIZE_INTEGER(tflmgen_quantize_s32_s16, tflmgen_s32, tflmgen_s16, INT16_MIN, INT16_MAX)

#if TFLMGEN_HAS_MVE_F32
#define TFLMGEN_DEFINE_DEQUANTIZE(name, input_type)                                                               \
    TFLMGEN_KERNEL void name(const input_type *input, tflmgen_f32 *output, const struct tflmgen_quantize *params) \
    {                                                                                                             \
        TFLMGEN_DEQUANTIZE_MVE(input, input_type, output, params);                                                \
    }
#else
#define TFLMGEN_DEFINE_DEQUANTIZE(name, input_type)                                                               \
    TFLMGEN_KERNEL void name(const input_type *input, tflmgen_f32 *output, const struct tflmgen_quantize *params) \
    {                                                                                                             \
        for (int32_t i = 0; i < params->elements; i++) {                                                          \
            output[i] = params->scale * (float)(input[i] - params->zero_point);                                   \
        }                                                                                                         \
    }
#endif

#if defined(__ARM_FP) && (__ARM_FP & 4) && defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP && !TFLMGEN_HAS_MVE_F32
/* The lower half of a word, with its sign. */
TFLMGEN_HELPER float tflmgen_real_half(uint32_t halves)
{
    float value;
    memcpy(&value, &halves, sizeof(value));
    __asm__("vcvt.f32.s16 %0, %0, #0" : "+t"(value));
    return value;
}

/* Four at a time: LDR, 2 SXTAB16, 2 LSR, 4 VMOV, 4 VCVT, 4 VMUL, 4 VSTR, 3 to loop. */
TFLMGEN_KERNEL void tflmgen_dequantize_s8_f32(const int8_t *input, tflmgen_f32 *output,
                                              const struct tflmgen_quantize *params)
{
    const uint32_t offset = (uint32_t)-params->zero_point & 0xFFFFu, offsets = offset << 16 | offset;
    const tflmgen_f32 *const end = output + (params->elements & ~3);
    for (; output != end; input += 4, output += 4) {
        const uint32_t bytes = tflmgen_load4(input);
        const uint32_t even = tflmgen_add_even_bytes(offsets, bytes), odd = tflmgen_add_odd_bytes(offsets, bytes);
        output[0] = params->scale * tflmgen_real_half(even);
        output[1] = params->scale * tflmgen_real_half(odd);
        output[2] = params->scale * tflmgen_real_half(even >> 16);
        output[3] = params->scale * tflmgen_real_half(odd >> 16);
    }
    for (int32_t i = 0; i < (params->elements & 3); i++) {
        output[i] = params->scale * (float)(input[i] - params->zero_point);
    }
}
#else
TFLMGEN_DEFINE_DEQUANTIZE(tflmgen_dequantize_s8_f32, int8_t)
#endif
TFLMGEN_DEFINE_DEQUANTIZE(tflmgen_dequantize_u8_f32, uint8_t)
TFLMGEN_DEFINE_DEQUANTIZE(tflmgen_dequantize_s16_f32, tflmgen_s16)

struct tflmgen_dequantize_f16 {
    int32_t elements;
};

/* Half precision (IEEE 754 binary16, as its bits) to single precision; every value is exact. */
TFLMGEN_HELPER float tflmgen_half_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half >> 15) << 31;
    const uint32_t exponent = (half >> 10) & 31u;
    const uint32_t fraction = half & 1023u;
    if (exponent == 0) {
        const float magnitude = (float)fraction * 5.9604644775390625e-8f; /* 2^-24 */
        return sign != 0 ? -magnitude : magnitude;
    }
    union {
        uint32_t bits;
        float value;
    } single;
    single.bits = sign | (exponent == 31 ? 255u << 23 : (exponent + 112u) << 23) | fraction << 13;
    return single.value;
}

TFLMGEN_KERNEL void tflmgen_dequantize_f16_f32(const tflmgen_u16 *input, tflmgen_f32 *output,
                                               const struct tflmgen_dequantize_f16 *params)
{
    for (int32_t i = 0; i < params->elements; i++) {
        output[i] = tflmgen_half_to_float(input[i]);
    }
}

#endif
