/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* exp, the logistic function and tanh of rows of floats: operation for operation those of elementary_f32.h, four
 * elements at a time on cores with MVE and its floating point, which takes numbers below FLT_MIN for zero.
 */
#ifndef TFLMGEN_KERNELS_ELEMENTARY_ROWS_H
#define TFLMGEN_KERNELS_ELEMENTARY_ROWS_H

#include "elementary_f32.h"
#include "mve.h"

#if TFLMGEN_HAS_MVE_F32
/* tflmgen_exp_normal_f32: 27 instructions. */
TFLMGEN_HELPER float32x4_t tflmgen_exp_normal_mve(float32x4_t x)
{
    const float shifter = 12582912.0f;
    const float32x4_t shifted = vaddq_n_f32(vmulq_n_f32(x, 1.44269504f), shifter);
    const float32x4_t n = vsubq_n_f32(shifted, shifter);
    const float32x4_t high = vsubq_f32(x, vmulq_n_f32(n, 0.693145752f));
    const float32x4_t low = vmulq_n_f32(n, 1.42860677e-6f);
    const float32x4_t r = vsubq_f32(high, low);
    float32x4_t tail = vaddq_n_f32(vmulq_n_f32(r, 0.0013814467f), 0.008368781f);
    tail = vaddq_n_f32(vmulq_f32(r, tail), 0.041668393f);
    tail = vaddq_n_f32(vmulq_f32(r, tail), 0.1666652f);
    tail = vaddq_n_f32(vmulq_f32(r, tail), 0.49999994f);
    const float32x4_t sum = vaddq_n_f32(r, 1.0f);
    const float32x4_t rounding_error =
        vaddq_f32(vsubq_f32(r, vsubq_n_f32(sum, 1.0f)), vsubq_f32(vsubq_f32(high, r), low));
    const float32x4_t power = vaddq_f32(sum, vaddq_f32(vmulq_f32(vmulq_f32(r, r), tail), rounding_error));
    const int32x4_t exponent = vshlq_n_s32(vreinterpretq_s32_f32(shifted), 23);
    return vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(power), exponent));
}

/* a / b: 4 VDIV, as there is none of vectors. */
TFLMGEN_HELPER float32x4_t tflmgen_quotients_mve(float32x4_t a, float32x4_t b)
{
    register float32x4_t q0 __asm__("s0") = a;
    register float32x4_t q1 __asm__("s4") = b;
    __asm__("vdiv.f32 s0, s0, s4\n\t"
            "vdiv.f32 s1, s1, s5\n\t"
            "vdiv.f32 s2, s2, s6\n\t"
            "vdiv.f32 s3, s3, s7"
            : "+w"(q0)
            : "w"(q1));
    return q0;
}

/* Whether all magnitudes are below a limit, which that of NaN is not. */
TFLMGEN_HELPER bool tflmgen_all_below_mve(float32x4_t x, float limit)
{
    return vcmpgtq_f32(vdupq_n_f32(limit), vabsq_f32(x)) == 0xFFFF;
}

TFLMGEN_HELPER float32x4_t tflmgen_logistic_mve(float32x4_t x)
{
    const mve_pred16_t is_tiny = vcmpltq_n_f32(x, -9.0f);
    const float32x4_t power = tflmgen_exp_normal_mve(vpselq_f32(x, vnegq_f32(x), is_tiny));
    return vpselq_f32(power, tflmgen_quotients_mve(vdupq_n_f32(1.0f), vaddq_n_f32(power, 1.0f)), is_tiny);
}

TFLMGEN_HELPER float32x4_t tflmgen_tanh_mve(float32x4_t x)
{
    const int32x4_t sign = vandq_s32(vreinterpretq_s32_f32(x), vdupq_n_s32(INT32_MIN));
    const float32x4_t magnitude = vabsq_f32(x);
    const float32x4_t bounded = vpselq_f32(magnitude, vdupq_n_f32(9.1f), vcmpltq_n_f32(magnitude, 9.1f));
    const float32x4_t power = tflmgen_exp_normal_mve(vmulq_n_f32(bounded, 2.0f));
    const float32x4_t complement = tflmgen_quotients_mve(vdupq_n_f32(2.0f), vaddq_n_f32(power, 1.0f));
    const float32x4_t by_exp = vsubq_f32(vdupq_n_f32(1.0f), complement);
    const float32x4_t square = vmulq_f32(x, x);
    float32x4_t tail = vaddq_n_f32(vmulq_n_f32(square, -0.005709497f), 0.020644136f);
    tail = vaddq_n_f32(vmulq_f32(square, tail), -0.053741623f);
    tail = vaddq_n_f32(vmulq_f32(square, tail), 0.1333147f);
    tail = vaddq_n_f32(vmulq_f32(square, tail), -0.33333284f);
    const float32x4_t by_polynomial = vaddq_f32(x, vmulq_f32(x, vmulq_f32(square, tail)));
    const int32x4_t signed_by_exp = vorrq_s32(vreinterpretq_s32_f32(by_exp), sign);
    return vpselq_f32(vreinterpretq_f32_s32(signed_by_exp), by_polynomial, vcmpgeq_n_f32(magnitude, 0.625f));
}

/* output = f(input, output), element by element: by VECTOR four at a time where all their magnitudes are below the
 * limit of the vectors' functions, else by SCALAR. */
#define TFLMGEN_DEFINE_ROW_F32(name, limit, VECTOR, SCALAR)                                       \
    TFLMGEN_SHARED void name(const tflmgen_f32 *input, tflmgen_f32 *output, int32_t count)        \
    {                                                                                             \
        for (int32_t remaining = count; remaining > 0; remaining -= 4, input += 4, output += 4) { \
            const mve_pred16_t active = vctp32q((uint32_t)remaining);                             \
            const float32x4_t x = vldrwq_z_f32(input, active);                                    \
            if (tflmgen_all_below_mve(x, limit)) {                                                \
                vstrwq_p_f32(output, VECTOR(x, vldrwq_z_f32(output, active)), active);            \
                continue;                                                                         \
            }                                                                                     \
            for (int32_t i = 0; i < tflmgen_min_s32(remaining, 4); ++i) {                         \
                output[i] = SCALAR(input[i], output[i]);                                          \
            }                                                                                     \
        }                                                                                         \
    }
#else
#define TFLMGEN_DEFINE_ROW_F32(name, limit, VECTOR, SCALAR)                                \
    TFLMGEN_HELPER void name(const tflmgen_f32 *input, tflmgen_f32 *output, int32_t count) \
    {                                                                                      \
        for (int32_t i = 0; i < count; ++i) {                                              \
            output[i] = SCALAR(input[i], output[i]);                                       \
        }                                                                                  \
    }
#endif

/* VECTOR and SCALAR of elements `x`; y: what the output holds before. */
#define TFLMGEN_EXP_VECTOR(x, y) tflmgen_exp_normal_mve(x)
#define TFLMGEN_EXP_SCALAR(x, y) tflmgen_exp_f32_of(x)
#define TFLMGEN_LOGISTIC_VECTOR(x, y) tflmgen_logistic_mve(x)
#define TFLMGEN_LOGISTIC_SCALAR(x, y) tflmgen_logistic_f32_of(x)
#define TFLMGEN_TANH_VECTOR(x, y) tflmgen_tanh_mve(x)
#define TFLMGEN_TANH_SCALAR(x, y) tflmgen_tanh_f32_of(x)
#define TFLMGEN_TANH_PRODUCT_VECTOR(x, y) vmulq_f32(y, tflmgen_tanh_mve(x))
#define TFLMGEN_TANH_PRODUCT_SCALAR(x, y) ((y) * tflmgen_tanh_f32_of(x))

TFLMGEN_DEFINE_ROW_F32(tflmgen_exp_row_f32, 87.3f, TFLMGEN_EXP_VECTOR, TFLMGEN_EXP_SCALAR)
TFLMGEN_DEFINE_ROW_F32(tflmgen_logistic_row_f32, 87.3f, TFLMGEN_LOGISTIC_VECTOR, TFLMGEN_LOGISTIC_SCALAR)
TFLMGEN_DEFINE_ROW_F32(tflmgen_tanh_row_f32, INFINITY, TFLMGEN_TANH_VECTOR, TFLMGEN_TANH_SCALAR)
TFLMGEN_DEFINE_ROW_F32(tflmgen_tanh_product_row_f32, INFINITY, TFLMGEN_TANH_PRODUCT_VECTOR, TFLMGEN_TANH_PRODUCT_SCALAR)

#endif
