/* ADD and SUB of int8 tensors as one affine map: what its kernels for all instruction sets have in common.
 *
 * TFLite's three rescalings are one affine map, proved at build time over all pairs of inputs:
 * (a A + b B + C) >> SHIFT, saturated. Where results below zero round the other way (halves, exactly met), `signed`
 * ones lose one unit first.
 */
#ifndef TFLMGEN_KERNELS_ADD_AFFINE_H
#define TFLMGEN_KERNELS_ADD_AFFINE_H

#include "nest.h"

#define TFLMGEN_ADD_AFFINE_FIELDS                            \
    int32_t factor1;                                         \
    int32_t factor2;                                         \
    int32_t start;  /* added before the sign is looked at */ \
    int32_t offset; /* added after it, where signed */       \
    int32_t least;                                           \
    int32_t greatest;

/* Of tensors of one shape, in the order in which the assembly reads it. */
struct tflmgen_add_affine_s8 {
    int32_t count;
    TFLMGEN_ADD_AFFINE_FIELDS
};

/* Of tensors of which one is broadcast. */
struct tflmgen_add_affine_rows_s8 {
    TFLMGEN_BINARY_NEST
    TFLMGEN_ADD_AFFINE_FIELDS
};

/* A sum before it is shifted and saturated. */
TFLMGEN_HELPER int32_t tflmgen_add_affine_round(int32_t sum, bool with_sign, int32_t offset)
{
    if (with_sign) {
        sum += tflmgen_sign_mask(sum) + offset;
    }
    return sum;
}

/* The kernels of name##_run, one for each shift and rounding. Those that are not called are not compiled. */
#define TFLMGEN_ADD_AFFINE_KERNEL(name, suffix, params_struct, with_sign, shift)                         \
    TFLMGEN_SHARED void name##_##suffix##_s8(const int8_t *input1, const int8_t *input2, int8_t *output, \
                                             const struct params_struct *p)                              \
    {                                                                                                    \
        name##_run(input1, input2, output, p, with_sign, shift);                                         \
    }

#define TFLMGEN_ADD_AFFINE_KERNELS(name, params_struct)                 \
    TFLMGEN_ADD_AFFINE_KERNEL(name, 22, params_struct, false, 22)       \
    TFLMGEN_ADD_AFFINE_KERNEL(name, 21, params_struct, false, 21)       \
    TFLMGEN_ADD_AFFINE_KERNEL(name, 20, params_struct, false, 20)       \
    TFLMGEN_ADD_AFFINE_KERNEL(name, 19, params_struct, false, 19)       \
    TFLMGEN_ADD_AFFINE_KERNEL(name, signed_22, params_struct, true, 22) \
    TFLMGEN_ADD_AFFINE_KERNEL(name, signed_21, params_struct, true, 21) \
    TFLMGEN_ADD_AFFINE_KERNEL(name, signed_20, params_struct, true, 20) \
    TFLMGEN_ADD_AFFINE_KERNEL(name, signed_19, params_struct, true, 19)

#endif
