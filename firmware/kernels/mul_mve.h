/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* MUL of int8 tensors, also broadcast, for cores with MVE: TFLite's two roundings of a product, see mve.h. */
#ifndef TFLMGEN_KERNELS_MUL_MVE_H
#define TFLMGEN_KERNELS_MUL_MVE_H

#include "mve.h"
#include "nest.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

struct tflmgen_mul_mve_s8 {
    TFLMGEN_BINARY_NEST
    int32_t offset1; /* minus the zero point */
    int32_t offset2;
    int32_t multiplier;
    int32_t shift; /* to the left; below 0 */
    int32_t zero_point;
    int32_t least;
    int32_t greatest;
};

/* What all rows of a call have in common. */
struct tflmgen_mul_mve_rows {
    int32_t passes; /* of eight elements */
    int32_t left;
    int32_t offset1;
    int32_t offset2;
    int32_t multiplier;
    int32_t shift;
    int32_t zero_point;
    int32_t least;
    int32_t greatest;
};

/* Eight products, those of even places in q2, of odd ones in q3: of a row and a row 2 VLDRB, 2 VADD, 2 VMULL; of a row
 * and a single element, in q1 with its offset, VLDRB, VADD, 2 VMULL. LOAD: predicated, perhaps. */
#define TFLMGEN_MUL_MVE_ROWS(PREDICATE, load)                           \
    PREDICATE("vpstt\n\t")                                              \
    load ".s16 q0, [%[row1]], #8\n\t" load ".s16 q1, [%[row2]], #8\n\t" \
         "vadd.i16 q0, q0, %[offset1]\n\t"                              \
         "vadd.i16 q1, q1, %[offset2]\n\t"                              \
         "vmullb.s16 q2, q0, q1\n\t"                                    \
         "vmullt.s16 q3, q0, q1\n\t"
#define TFLMGEN_MUL_MVE_ONE(PREDICATE, load) \
    PREDICATE("vpst\n\t")                    \
    load ".s16 q0, [%[row1]], #8\n\t"        \
         "vadd.i16 q0, q0, %[offset1]\n\t"   \
         "vmullb.s16 q2, q0, %q[one]\n\t"    \
         "vmullt.s16 q3, q0, %q[one]\n\t"

#define TFLMGEN_MUL_MVE_ROUND(values)                        \
    "vqrdmulh.s32 " values ", " values ", %[multiplier]\n\t" \
    "vshr.s32 q0, " values ", #31\n\t"                       \
    "vadd.i32 " values ", " values ", q0\n\t"                \
    "vrshl.s32 " values ", %[shift]\n\t"

/* clang-format off */
#define TFLMGEN_MUL_MVE_EIGHT(PRODUCTS, PREDICATE, load, store)           \
    PRODUCTS(PREDICATE, load)                                             \
    TFLMGEN_MUL_MVE_ROUND("q2") TFLMGEN_MUL_MVE_ROUND("q3")               \
    "vqmovnb.s32 q2, q2\n\t"                                              \
    "vqmovnt.s32 q2, q3\n\t"                                              \
    "vqadd.s16 q2, q2, %[zero_point]\n\t"                                 \
    "vmax.s16 q2, q2, %q[least]\n\t"                                      \
    "vmin.s16 q2, q2, %q[greatest]\n\t"                                   \
    PREDICATE("vpst\n\t")                                                 \
    store ".16 q2, [%[output]], #8\n\t"
#define TFLMGEN_MUL_MVE_ALL(predicate) ""
#define TFLMGEN_MUL_MVE_SOME(predicate) predicate

/* Eight results: 6 or 4 for the products, 8 for their roundings, 2 to narrow, VQADD, VMAX, VMIN, VSTRB, LE: 21, or 19.
 * The tail takes the same with predicated loads and stores: CBZ, VCTP and 2 VPST more. */
#define TFLMGEN_MUL_MVE_LOOP(PRODUCTS)                                                              \
    "wls lr, %[passes], 2f\n"                                                                       \
    "1:\n\t" TFLMGEN_MUL_MVE_EIGHT(PRODUCTS, TFLMGEN_MUL_MVE_ALL, "vldrb", "vstrb")                 \
    "le lr, 1b\n"                                                                                   \
    "2:\n\t"                                                                                        \
    "cmp %[left], #0\n\t"                                                                           \
    "beq 3f\n\t"                                                                                    \
    "vctp.16 %[left]\n\t" TFLMGEN_MUL_MVE_EIGHT(PRODUCTS, TFLMGEN_MUL_MVE_SOME, "vldrbt", "vstrbt") \
    "3:"
/* clang-format on */

#define TFLMGEN_MUL_MVE_OPERANDS                                                       \
    [offset1] "r"(p->offset1), [multiplier] "r"(p->multiplier), [shift] "r"(p->shift), \
        [zero_point] "r"(p->zero_point), [least] "w"(vdupq_n_s16((int16_t)p->least)),  \
        [greatest] "w"(vdupq_n_s16((int16_t)p->greatest)), [passes] "r"(p->passes), [left] "r"(p->left)

TFLMGEN_SHARED void tflmgen_mul_mve_rows(const int8_t *row1, const int8_t *row2, int8_t *output,
                                         const struct tflmgen_mul_mve_rows *p)
{
    __asm__ volatile(TFLMGEN_MUL_MVE_LOOP(TFLMGEN_MUL_MVE_ROWS)
                     : [row1] "+l"(row1), [row2] "+l"(row2), [output] "+l"(output)
                     : [offset2] "r"(p->offset2), TFLMGEN_MUL_MVE_OPERANDS
                     : "lr", "q0", "q1", "q2", "q3", "cc", "memory");
}

/* factor: a row's only element of the other input, with its offset. */
TFLMGEN_SHARED void tflmgen_mul_mve_one(const int8_t *row1, int32_t factor, int8_t *output,
                                        const struct tflmgen_mul_mve_rows *p)
{
    __asm__ volatile(TFLMGEN_MUL_MVE_LOOP(TFLMGEN_MUL_MVE_ONE)
                     : [row1] "+l"(row1), [output] "+l"(output)
                     : [one] "w"(vdupq_n_s16((int16_t)factor)), TFLMGEN_MUL_MVE_OPERANDS
                     : "lr", "q0", "q2", "q3", "cc", "memory");
}

TFLMGEN_SHARED void tflmgen_mul_mve_s8(const int8_t *input1, const int8_t *input2, int8_t *output,
                                       const struct tflmgen_mul_mve_s8 *p)
{
    const int32_t elements = p->extent[p->rank - 1];
    const bool one1 = !p->stride1[p->rank - 1];
    const bool one2 = !p->stride2[p->rank - 1];
    const struct tflmgen_mul_mve_rows rows = {
        elements / 8, elements % 8, one1 ? p->offset2 : p->offset1, p->offset2, p->multiplier, p->shift, p->zero_point,
        p->least,     p->greatest,
    };
    if (one1 || one2) {
        const int32_t offset = one1 ? p->offset1 : p->offset2;
        TFLMGEN_EACH_BINARY_ROW(
            int8_t, input1, input2, output, p,
            tflmgen_mul_mve_one(one1 ? row2 : row1, (one1 ? *row1 : *row2) + offset, output, &rows));
    } else {
        TFLMGEN_EACH_BINARY_ROW(int8_t, input1, input2, output, p, tflmgen_mul_mve_rows(row1, row2, output, &rows));
    }
}

#endif

#endif
