/* The inverse of the error function, by M. Giles, "Approximating the erfinv function", GPU Computing Gems (2012). */
#ifndef ERFINV_H
#define ERFINV_H

#include <math.h>

#include "common.h"

struct erfinv {
    int32_t elements;
};

TFLMGEN_HELPER float erfinv_of(float x)
{
    static const float inner[] = {2.81022636e-08F,  3.43273939e-07F,  -3.5233877e-06F, -4.39150654e-06F, 2.1858087e-04F,
                                  -1.25372503e-03F, -4.17768164e-03F, 0.246640727F,    1.50140941F};
    static const float outer[] = {-2.00214257e-04F, 1.00950558e-04F, 1.34934322e-03F, -3.67342844e-03F, 5.73950773e-03F,
                                  -7.6224613e-03F,  9.43887047e-03F, 1.00167406F,     2.83297682F};
    if (fabsf(x) == 1.0F) {
        return x * INFINITY;
    }
    const float w = -logf((1.0F - x) * (1.0F + x));
    const float *const factors = w < 5.0F ? inner : outer;
    const float t = w < 5.0F ? w - 2.5F : sqrtf(w) - 3.0F;
    float sum = factors[0];
    for (int i = 1; i < 9; i++) {
        sum = sum * t + factors[i];
    }
    return sum * x;
}

/* Each element is read before it is written, so that input and output may be one. */
TFLMGEN_KERNEL void erfinv(const float *input, float *output, const struct erfinv *params)
{
    for (int32_t i = 0; i < params->elements; i++) {
        output[i] = erfinv_of(input[i]);
    }
}

#endif
