/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* ADD and SUB of int8 tensors as one affine map: what its kernels for all instruction sets have in common.
 *
 * TFLite's three requantisations are one affine map, proved at build time over all pairs of inputs:
 * (a A + b B + C) >> shift, saturated.
 */
#ifndef TFLMGEN_KERNELS_ADD_AFFINE_H
#define TFLMGEN_KERNELS_ADD_AFFINE_H

#include "nest.h"

#define TFLMGEN_ADD_AFFINE_FIELDS \
    int32_t factor1;              \
    int32_t factor2;              \
    int32_t start;                \
    int32_t shift;                \
    int32_t least;                \
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

#endif
