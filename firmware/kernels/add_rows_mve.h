/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* ADD and SUB of int8 tensors of which one is broadcast, for cores with MVE: the affine map of add_affine.h. */
#ifndef TFLMGEN_KERNELS_ADD_ROWS_MVE_H
#define TFLMGEN_KERNELS_ADD_ROWS_MVE_H

#include "add_mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

TFLMGEN_SHARED void tflmgen_add_rows_mve_s8(const int8_t *input1, const int8_t *input2, int8_t *output,
                                            const struct tflmgen_add_affine_rows_s8 *p)
{
    const int32_t elements = p->extent[p->rank - 1];
    const bool one1 = !p->stride1[p->rank - 1];
    const bool one2 = !p->stride2[p->rank - 1];
    const struct tflmgen_add_mve_rows rows =
        TFLMGEN_ADD_MVE_COMMON(elements, one1 ? p->factor2 : p->factor1, p->factor2, p);
    int8_t *const first = output;
    if (one1 || one2) {
        const int32_t factor = one1 ? p->factor1 : p->factor2;
        TFLMGEN_EACH_BINARY_ROW(
            int8_t, input1, input2, output, p,
            tflmgen_add_mve_one(one1 ? row2 : row1, p->start + factor * (one1 ? *row1 : *row2), output, &rows));
    } else {
        TFLMGEN_EACH_BINARY_ROW(int8_t, input1, input2, output, p, tflmgen_add_mve_rows(row1, row2, output, &rows));
    }
    tflmgen_clamp_dsp_s8(first, (int32_t)(output - first), p->least, p->greatest);
}

#endif

#endif
