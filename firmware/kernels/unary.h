/* Functions of one element, in float32 and plain integers. */
#ifndef TFLMGEN_KERNELS_UNARY_H
#define TFLMGEN_KERNELS_UNARY_H

#include <math.h>

#include "elementary_rows.h"

struct tflmgen_unary {
    int32_t elements;
};

struct tflmgen_unary_alpha {
    int32_t elements;
    float alpha;
};

/* output = expression of each element `x`; it may use `params`. */
#define TFLMGEN_DEFINE_UNARY(name, type, params_struct, expression)                               \
    TFLMGEN_KERNEL void name(const type *input, type *output, const struct params_struct *params) \
    {                                                                                             \
        for (int32_t i = 0; i < params->elements; i++) {                                          \
            const type x = input[i];                                                              \
            output[i] = (type)(expression);                                                       \
        }                                                                                         \
    }

/* The same by rows, of which there is one. */
#define TFLMGEN_DEFINE_UNARY_ROW(name, row)                                                                     \
    TFLMGEN_KERNEL void name(const tflmgen_f32 *input, tflmgen_f32 *output, const struct tflmgen_unary *params) \
    {                                                                                                           \
        row(input, output, params->elements);                                                                   \
    }

TFLMGEN_DEFINE_UNARY(tflmgen_neg_f32, tflmgen_f32, tflmgen_unary, -x)
TFLMGEN_DEFINE_UNARY(tflmgen_abs_f32, tflmgen_f32, tflmgen_unary, fabsf(x))
TFLMGEN_DEFINE_UNARY(tflmgen_sign_f32, tflmgen_f32, tflmgen_unary, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x)
TFLMGEN_DEFINE_UNARY(tflmgen_square_f32, tflmgen_f32, tflmgen_unary, x *x)
TFLMGEN_DEFINE_UNARY(tflmgen_sqrt_f32, tflmgen_f32, tflmgen_unary, sqrtf(x))
TFLMGEN_DEFINE_UNARY(tflmgen_rsqrt_f32, tflmgen_f32, tflmgen_unary, 1.0f / sqrtf(x))
TFLMGEN_DEFINE_UNARY_ROW(tflmgen_exp_f32, tflmgen_exp_row_f32)
TFLMGEN_DEFINE_UNARY(tflmgen_log_f32, tflmgen_f32, tflmgen_unary, logf(x))
TFLMGEN_DEFINE_UNARY(tflmgen_sin_f32, tflmgen_f32, tflmgen_unary, sinf(x))
TFLMGEN_DEFINE_UNARY(tflmgen_cos_f32, tflmgen_f32, tflmgen_unary, cosf(x))
TFLMGEN_DEFINE_UNARY(tflmgen_floor_f32, tflmgen_f32, tflmgen_unary, floorf(x))
TFLMGEN_DEFINE_UNARY(tflmgen_ceil_f32, tflmgen_f32, tflmgen_unary, ceilf(x))
TFLMGEN_DEFINE_UNARY(tflmgen_round_f32, tflmgen_f32, tflmgen_unary, rintf(x)) /* halves to even */

TFLMGEN_DEFINE_UNARY(tflmgen_relu_f32, tflmgen_f32, tflmgen_unary, x < 0.0f ? 0.0f : x)
TFLMGEN_DEFINE_UNARY(tflmgen_relu6_f32, tflmgen_f32, tflmgen_unary, tflmgen_clamp_f32(x, 0.0f, 6.0f))
TFLMGEN_DEFINE_UNARY(tflmgen_relu_n1_to_1_f32, tflmgen_f32, tflmgen_unary, tflmgen_clamp_f32(x, -1.0f, 1.0f))
TFLMGEN_DEFINE_UNARY(tflmgen_relu_0_to_1_f32, tflmgen_f32, tflmgen_unary, tflmgen_clamp_f32(x, 0.0f, 1.0f))
TFLMGEN_DEFINE_UNARY(tflmgen_leaky_relu_f32, tflmgen_f32, tflmgen_unary_alpha, x > 0.0f ? x : x * params->alpha)
TFLMGEN_DEFINE_UNARY(tflmgen_elu_f32, tflmgen_f32, tflmgen_unary, x < 0.0f ? expm1f(x) : x)
TFLMGEN_DEFINE_UNARY(tflmgen_tanh_f32, tflmgen_f32, tflmgen_unary, tflmgen_tanh_exact_f32(x))
TFLMGEN_DEFINE_UNARY(tflmgen_hard_swish_f32, tflmgen_f32, tflmgen_unary,
                     x *tflmgen_clamp_f32(x + 3.0f, 0.0f, 6.0f) / 6.0f)
TFLMGEN_DEFINE_UNARY_ROW(tflmgen_logistic_f32, tflmgen_logistic_row_f32)

/* x times the logistic function of x (Elfwing, Uchibe and Doya 2018). */
TFLMGEN_DEFINE_UNARY(tflmgen_silu_f32, tflmgen_f32, tflmgen_unary, x *tflmgen_logistic_f32_of(x))

/* x * P(X <= x) for a standard normal X, and its approximation by a hyperbolic tangent (Hendrycks and Gimpel 2016). */
TFLMGEN_DEFINE_UNARY(tflmgen_gelu_f32, tflmgen_f32, tflmgen_unary, 0.5f * x * erfcf(x * -0.70710678f))
TFLMGEN_DEFINE_UNARY(tflmgen_gelu_tanh_f32, tflmgen_f32, tflmgen_unary,
                     0.5f * x * (1.0f + tflmgen_tanh_f32_of(0.79788456f * (x + 0.044715f * x * x * x))))

/* The least integer has no opposite, and stays itself. */
TFLMGEN_DEFINE_UNARY(tflmgen_neg_s32, tflmgen_s32, tflmgen_unary, 0u - (uint32_t)x)
TFLMGEN_DEFINE_UNARY(tflmgen_neg_s64, tflmgen_s64, tflmgen_unary, 0u - (uint64_t)x)
TFLMGEN_DEFINE_UNARY(tflmgen_abs_s32, tflmgen_s32, tflmgen_unary, x < 0 ? 0u - (uint32_t)x : (uint32_t)x)
TFLMGEN_DEFINE_UNARY(tflmgen_square_s32, tflmgen_s32, tflmgen_unary, (uint32_t)x *(uint32_t)x)
TFLMGEN_DEFINE_UNARY(tflmgen_sign_s32, tflmgen_s32, tflmgen_unary, (x > 0) - (x < 0))
TFLMGEN_DEFINE_UNARY(tflmgen_logical_not_b8, tflmgen_bool, tflmgen_unary, !x)

#endif
