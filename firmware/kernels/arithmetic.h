/* ADD, SUB and MUL, with their activation as a range of the output. */
#ifndef TFLMGEN_KERNELS_ARITHMETIC_H
#define TFLMGEN_KERNELS_ARITHMETIC_H

#include "nest.h"
#include "requantize.h"

struct tflmgen_arithmetic_f32 {
    TFLMGEN_BINARY_NEST
    float least;
    float greatest;
};

TFLMGEN_DEFINE_BINARY(tflmgen_add_f32, float, float, tflmgen_arithmetic_f32,
                      tflmgen_clamp_f32(a + b, params->least, params->greatest))
TFLMGEN_DEFINE_BINARY(tflmgen_sub_f32, float, float, tflmgen_arithmetic_f32,
                      tflmgen_clamp_f32(a - b, params->least, params->greatest))
TFLMGEN_DEFINE_BINARY(tflmgen_mul_f32, float, float, tflmgen_arithmetic_f32,
                      tflmgen_clamp_f32(a * b, params->least, params->greatest))

struct tflmgen_arithmetic_s32 {
    TFLMGEN_BINARY_NEST
    int32_t least;
    int32_t greatest;
};

/* Results that do not fit wrap, before the activation. */
TFLMGEN_DEFINE_BINARY(tflmgen_add_s32, int32_t, int32_t, tflmgen_arithmetic_s32,
                      tflmgen_clamp_s32((int32_t)((uint32_t)a + (uint32_t)b), params->least, params->greatest))
TFLMGEN_DEFINE_BINARY(tflmgen_sub_s32, int32_t, int32_t, tflmgen_arithmetic_s32,
                      tflmgen_clamp_s32((int32_t)((uint32_t)a - (uint32_t)b), params->least, params->greatest))
TFLMGEN_DEFINE_BINARY(tflmgen_mul_s32, int32_t, int32_t, tflmgen_arithmetic_s32,
                      tflmgen_clamp_s32((int32_t)((uint32_t)a * (uint32_t)b), params->least, params->greatest))

TFLMGEN_DEFINE_BINARY(tflmgen_add_s64, int64_t, int64_t, tflmgen_binary, (uint64_t)a + (uint64_t)b)
TFLMGEN_DEFINE_BINARY(tflmgen_sub_s64, int64_t, int64_t, tflmgen_binary, (uint64_t)a - (uint64_t)b)
TFLMGEN_DEFINE_BINARY(tflmgen_mul_s64, int64_t, int64_t, tflmgen_binary, (uint64_t)a * (uint64_t)b)

/* Both inputs are brought to one scale, with `left_shift` bits of headroom, before they are added. */
struct tflmgen_add_quantized {
    TFLMGEN_BINARY_NEST
    int32_t offset1; /* minus the zero point */
    int32_t offset2;
    int32_t output_offset;
    int32_t left_shift;
    int32_t multiplier1;
    int32_t shift1;
    int32_t multiplier2;
    int32_t shift2;
    int32_t multiplier_output;
    int32_t shift_output;
    int32_t least;
    int32_t greatest;
};

TFLMGEN_HELPER int32_t tflmgen_add_scale1(int32_t value, const struct tflmgen_add_quantized *params)
{
    const int32_t shifted = (value + params->offset1) * (1 << params->left_shift);
    return tflmgen_requantize_down(shifted, params->multiplier1, params->shift1);
}

TFLMGEN_HELPER int32_t tflmgen_add_scale2(int32_t value, const struct tflmgen_add_quantized *params)
{
    const int32_t shifted = (value + params->offset2) * (1 << params->left_shift);
    return tflmgen_requantize_down(shifted, params->multiplier2, params->shift2);
}

TFLMGEN_HELPER int32_t tflmgen_add_finish(int32_t sum, const struct tflmgen_add_quantized *params)
{
    const int32_t scaled = tflmgen_requantize_down(sum, params->multiplier_output, params->shift_output);
    return tflmgen_clamp_s32(scaled + params->output_offset, params->least, params->greatest);
}

TFLMGEN_DEFINE_BINARY(tflmgen_add_s8, int8_t, int8_t, tflmgen_add_quantized,
                      tflmgen_add_finish(tflmgen_add_scale1(a, params) + tflmgen_add_scale2(b, params), params))
TFLMGEN_DEFINE_BINARY(tflmgen_add_s16, int16_t, int16_t, tflmgen_add_quantized,
                      tflmgen_add_finish(tflmgen_add_scale1(a, params) + tflmgen_add_scale2(b, params), params))
TFLMGEN_DEFINE_BINARY(tflmgen_sub_s8, int8_t, int8_t, tflmgen_add_quantized,
                      tflmgen_add_finish(tflmgen_add_scale1(a, params) - tflmgen_add_scale2(b, params), params))
TFLMGEN_DEFINE_BINARY(tflmgen_sub_s16, int16_t, int16_t, tflmgen_add_quantized,
                      tflmgen_add_finish(tflmgen_add_scale1(a, params) - tflmgen_add_scale2(b, params), params))

struct tflmgen_mul_quantized {
    TFLMGEN_BINARY_NEST
    int32_t offset1; /* minus the zero point */
    int32_t offset2;
    int32_t output_offset;
    int32_t multiplier;
    int32_t shift;
    int32_t least;
    int32_t greatest;
};

TFLMGEN_HELPER int32_t tflmgen_mul_finish(int32_t a, int32_t b, const struct tflmgen_mul_quantized *params)
{
    const int32_t product = (int32_t)((uint32_t)(a + params->offset1) * (uint32_t)(b + params->offset2));
    const int32_t scaled = tflmgen_requantize(product, params->multiplier, params->shift);
    return tflmgen_clamp_s32(tflmgen_add_wrap_s32(scaled, params->output_offset), params->least, params->greatest);
}

TFLMGEN_DEFINE_BINARY(tflmgen_mul_s8, int8_t, int8_t, tflmgen_mul_quantized, tflmgen_mul_finish(a, b, params))
TFLMGEN_DEFINE_BINARY(tflmgen_mul_s16, int16_t, int16_t, tflmgen_mul_quantized, tflmgen_mul_finish(a, b, params))

#endif
