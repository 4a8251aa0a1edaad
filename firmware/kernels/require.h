/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* A value that is given only where a condition holds; else the invoke ends with an error. */
#ifndef TFLMGEN_KERNELS_REQUIRE_H
#define TFLMGEN_KERNELS_REQUIRE_H

#include "common.h"

TFLMGEN_KERNEL bool tflmgen_require(const tflmgen_bool *condition, const tflmgen_f32 *value, tflmgen_f32 *result)
{
    *result = *value;
    return *condition;
}

#endif
