/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* MUL of int8 tensors, also broadcast, for every Cortex-M: products are requantised as thumb.h says. */
#ifndef TFLMGEN_KERNELS_MUL_THUMB_H
#define TFLMGEN_KERNELS_MUL_THUMB_H

#include "nest.h"
#include "thumb.h"

#ifdef __thumb__

struct tflmgen_mul_thumb_s8 {
    TFLMGEN_BINARY_NEST
    int32_t offset1; /* minus the zero point */
    int32_t offset2;
    int32_t multiplier; /* m, f, c and s of thumb.h */
    int32_t fraction;
    int32_t addend;
    int32_t shift;
    int32_t sign_fix; /* added to c for negative products */
    int32_t least;
    int32_t greatest;
};

/* 16 instructions. */
TFLMGEN_HELPER int8_t tflmgen_mul_thumb_finish(int32_t product, const struct tflmgen_mul_thumb_s8 *p)
{
    const int32_t high = product >> 10;
    const int32_t low = product & 1023;
    int32_t sum = high * p->multiplier + ((low * p->multiplier + high * p->fraction) >> 10) + p->addend;
    sum += tflmgen_sign_mask(product) & p->sign_fix;
    sum >>= p->shift;
    if ((uint32_t)sum > 255) {
        sum = ~tflmgen_sign_mask(sum);
    }
    return (int8_t)(sum - 128);
}

TFLMGEN_HELPER void tflmgen_mul_thumb_row(const int8_t *row1, const int8_t *row2, int8_t *output,
                                          const struct tflmgen_mul_thumb_s8 *p)
{
    const int32_t row = p->rank - 1;
    for (const int8_t *const end = output + p->extent[row]; output != end;) {
        const int32_t product = (*row1 + p->offset1) * (*row2 + p->offset2);
        row1 += p->stride1[row];
        row2 += p->stride2[row];
        *output++ = tflmgen_mul_thumb_finish(product, p);
    }
}

TFLMGEN_SHARED void tflmgen_mul_thumb_nest(const int8_t *input1, const int8_t *input2, int8_t *output,
                                           const struct tflmgen_mul_thumb_s8 *params)
{
    const struct tflmgen_mul_thumb_s8 p = *params;
    int8_t *const first = output;
    struct tflmgen_nest_cursor cursor = {{0}, 0, 0};
    do {
        tflmgen_mul_thumb_row(input1 + cursor.offset1, input2 + cursor.offset2, output, &p);
        output += p.extent[p.rank - 1];
    } while (tflmgen_nest_next_row(&cursor, p.rank, p.extent, p.stride1, p.stride2));
    tflmgen_clamp_thumb_s8(first, (int32_t)(output - first), p.least, p.greatest);
}

TFLMGEN_HELPER void tflmgen_mul_thumb_s8(const int8_t *input1, const int8_t *input2, int8_t *output,
                                         const struct tflmgen_mul_thumb_s8 *p)
{
    if (p->rank == 1 && tflmgen_is_few(p->extent[0])) {
        tflmgen_mul_thumb_row(input1, input2, output, p);
        tflmgen_clamp_thumb_s8(output, p->extent[0], p->least, p->greatest);
    } else {
        tflmgen_mul_thumb_nest(input1, input2, output, p);
    }
}

#endif

#endif
