/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Functions of one element, in float32 and plain integers. */
#ifndef TFLMGEN_KERNELS_UNARY_H
#define TFLMGEN_KERNELS_UNARY_H

#include <math.h>

#include "element_rows.h"
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

/* The same by vectors (element_rows.h): OPERATION on q0, with two floats that become the vectors constant1 and
 * constant2. */
#if TFLMGEN_HAS_MVE_F32
#define TFLMGEN_DEFINE_UNARY_F32(name, params_struct, expression, OPERATION, constant1, constant2)                 \
    TFLMGEN_DEFINE_UNARY_ROW_MVE(name, tflmgen_f32, tflmgen_f32, params_struct, "32", TFLMGEN_WIDEN_32, OPERATION, \
                                 TFLMGEN_WRITE_f32, tflmgen_splat_f32(constant1), tflmgen_splat_f32(constant2))
#else
#define TFLMGEN_DEFINE_UNARY_F32(name, params_struct, expression, OPERATION, constant1, constant2) \
    TFLMGEN_DEFINE_UNARY(name, tflmgen_f32, params_struct, expression)
#endif
#define TFLMGEN_DEFINE_CLAMP_F32(name, least, greatest)                                                               \
    TFLMGEN_DEFINE_UNARY_F32(name, tflmgen_unary, tflmgen_clamp_f32(x, least, greatest), TFLMGEN_CLAMP_q0_f32, least, \
                             greatest)

/* The same by rows, of which there is one. */
#define TFLMGEN_DEFINE_UNARY_ROW(name, row)                                                                     \
    TFLMGEN_KERNEL void name(const tflmgen_f32 *input, tflmgen_f32 *output, const struct tflmgen_unary *params) \
    {                                                                                                           \
        row(input, output, params->elements);                                                                   \
    }

TFLMGEN_DEFINE_UNARY_F32(tflmgen_neg_f32, tflmgen_unary, -x, "vneg.f32 q0, q0\n\t", 0.0f, 0.0f)
TFLMGEN_DEFINE_UNARY_F32(tflmgen_abs_f32, tflmgen_unary, fabsf(x), "vabs.f32 q0, q0\n\t", 0.0f, 0.0f)
TFLMGEN_DEFINE_UNARY(tflmgen_sign_f32, tflmgen_f32, tflmgen_unary, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x)
TFLMGEN_DEFINE_UNARY_F32(tflmgen_square_f32, tflmgen_unary, x *x, "vmul.f32 q0, q0, q0\n\t", 0.0f, 0.0f)
TFLMGEN_DEFINE_UNARY_F32(tflmgen_sqrt_f32, tflmgen_unary, sqrtf(x), TFLMGEN_ROOTS_OF_q0, 0.0f, 0.0f)
TFLMGEN_DEFINE_UNARY_F32(tflmgen_rsqrt_f32, tflmgen_unary, 1.0f / sqrtf(x),
                         TFLMGEN_ROOTS_OF_q0 "vmov q2, %q[constant1]\n\tvmov q1, q0\n\t" TFLMGEN_DIVIDE_q2_BY_q1, 1.0f,
                         0.0f)
TFLMGEN_DEFINE_UNARY_ROW(tflmgen_exp_f32, tflmgen_exp_row_f32)
TFLMGEN_DEFINE_UNARY(tflmgen_log_f32, tflmgen_f32, tflmgen_unary, logf(x))
TFLMGEN_DEFINE_UNARY(tflmgen_sin_f32, tflmgen_f32, tflmgen_unary, sinf(x))
TFLMGEN_DEFINE_UNARY(tflmgen_cos_f32, tflmgen_f32, tflmgen_unary, cosf(x))
TFLMGEN_DEFINE_UNARY_F32(tflmgen_floor_f32, tflmgen_unary, floorf(x), "vrintm.f32 q0, q0\n\t", 0.0f, 0.0f)
TFLMGEN_DEFINE_UNARY_F32(tflmgen_ceil_f32, tflmgen_unary, ceilf(x), "vrintp.f32 q0, q0\n\t", 0.0f, 0.0f)
TFLMGEN_DEFINE_UNARY_F32(tflmgen_round_f32, tflmgen_unary, rintf(x), "vrintn.f32 q0, q0\n\t", 0.0f,
                         0.0f) /* halves to even */

TFLMGEN_DEFINE_UNARY_F32(tflmgen_relu_f32, tflmgen_unary, x < 0.0f ? 0.0f : x,
                         "vcmp.f32 gt, %q[constant1], q0\n\tvpsel q0, %q[constant1], q0\n\t", 0.0f, 0.0f)
TFLMGEN_DEFINE_CLAMP_F32(tflmgen_relu6_f32, 0.0f, 6.0f)
TFLMGEN_DEFINE_CLAMP_F32(tflmgen_relu_n1_to_1_f32, -1.0f, 1.0f)
TFLMGEN_DEFINE_CLAMP_F32(tflmgen_relu_0_to_1_f32, 0.0f, 1.0f)
TFLMGEN_DEFINE_UNARY_F32(tflmgen_leaky_relu_f32, tflmgen_unary_alpha, x > 0.0f ? x : x * params->alpha,
                         "vmul.f32 q1, q0, %q[constant1]\n\tvcmp.f32 gt, q0, zr\n\tvpsel q0, q0, q1\n\t", params->alpha,
                         0.0f)
TFLMGEN_DEFINE_UNARY(tflmgen_elu_f32, tflmgen_f32, tflmgen_unary, x < 0.0f ? expm1f(x) : x)
TFLMGEN_DEFINE_UNARY_ROW(tflmgen_tanh_f32, tflmgen_tanh_row_f32)
#define TFLMGEN_HARD_SWISH_q0                                                                                    \
    "vmov q3, q0\n\tvmov.f32 q1, #3.0\n\tvadd.f32 q0, q0, q1\n\t" TFLMGEN_CLAMP_q0_f32 "vmul.f32 q2, q3, q0\n\t" \
    "vmov q1, %q[constant2]\n\t" TFLMGEN_DIVIDE_q2_BY_q1
TFLMGEN_DEFINE_UNARY_F32(tflmgen_hard_swish_f32, tflmgen_unary, x *tflmgen_clamp_f32(x + 3.0f, 0.0f, 6.0f) / 6.0f,
                         TFLMGEN_HARD_SWISH_q0, 0.0f, 6.0f)
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
