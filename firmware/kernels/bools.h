/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Bools that come from outside: any byte but 0 is true. C knows no other bytes of a bool than 0 and 1. */
#ifndef TFLMGEN_KERNELS_BOOLS_H
#define TFLMGEN_KERNELS_BOOLS_H

#include "common.h"

TFLMGEN_KERNEL void tflmgen_normalize_bools(uint8_t *bools, int32_t elements)
{
    for (int32_t i = 0; i < elements; ++i) {
        bools[i] = bools[i] != 0;
    }
}

#endif
