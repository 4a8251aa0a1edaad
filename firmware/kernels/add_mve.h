/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* ADD and SUB of int8 tensors of one shape, for cores with MVE: the affine map of add_affine.h, in 32 bits. */
#ifndef TFLMGEN_KERNELS_ADD_MVE_H
#define TFLMGEN_KERNELS_ADD_MVE_H

#include "add_affine.h"
#include "mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* Four sums: of a row and a row 2 VLDRB, VMLAS, VMLA; of a row and a single element, which `start` has, VLDRB, VMLAS.
 */
#define TFLMGEN_ADD_MVE_ROWS(values, free)            \
    "vldrb.s32 " values ", [%[row1]], #4\n\t"         \
    "vldrb.s32 " free ", [%[row2]], #4\n\t"           \
    "vmlas.s32 " values ", %q[factor1], %[start]\n\t" \
    "vmla.s32 " values ", " free ", %[factor2]\n\t"
#define TFLMGEN_ADD_MVE_ONE(values, free)     \
    "vldrb.s32 " values ", [%[row1]], #4\n\t" \
    "vmlas.s32 " values ", %q[factor1], %[start]\n\t"

/* Eight results: 8 for the sums, or 4, 2 VSHL, 3 to narrow, VSTRB, ADD, LE: 16, or 12. What is left, four at a time: 2
 * or 4, VSHL, 2 to narrow, VSTRB, LETP, which stops at the last one. */
/* clang-format off */
#define TFLMGEN_ADD_MVE_LOOPS(SUMS)                      \
    "wls lr, %[passes], 2f\n"                            \
    "1:\n\t" SUMS("q0", "q1") SUMS("q2", "q3")           \
    "vshl.s32 q0, %[shift]\n\t"                          \
    "vshl.s32 q2, %[shift]\n\t"                          \
    "vqmovnb.s32 q0, q0\n\t"                             \
    "vqmovnt.s32 q0, q2\n\t"                             \
    "vqmovnb.s16 q0, q0\n\t"                             \
    "vstrb.16 q0, [%[output], %q[order]]\n\t"            \
    "add %[output], %[output], #8\n\t"                   \
    "le lr, 1b\n"                                        \
    "2:\n\t"                                             \
    "wlstp.32 lr, %[left], 2f\n"                         \
    "1:\n\t" SUMS("q0", "q1")                            \
    "vshl.s32 q0, %[shift]\n\t"                          \
    "vqmovnb.s32 q0, q0\n\t"                             \
    "vqmovnb.s16 q0, q0\n\t"                             \
    "vstrb.32 q0, [%[output]], #4\n\t"                   \
    "letp lr, 1b\n"                                      \
    "2:"
/* clang-format on */

/* What all rows of a call have in common: (factor1 row1 + factor2 row2 + start) shifted. */
struct tflmgen_add_mve_rows {
    int32_t passes; /* of eight elements */
    int32_t left;
    int32_t factor1;
    int32_t factor2;
    int32_t start;
    int32_t shift;     /* to the left; below 0 */
    uint16_t order[8]; /* what was narrowed has the results 0, 4, 1, 5, 2, 6, 3, 7 */
};

#define TFLMGEN_ADD_MVE_COMMON(elements, factor1, factor2, p) \
    {(elements) / 8, (elements) % 8, factor1, factor2, (p)->start, -(p)->shift, {0, 4, 1, 5, 2, 6, 3, 7}}

#define TFLMGEN_ADD_MVE_OPERANDS(p)                                                                         \
    [factor1] "w"(vdupq_n_s32((p)->factor1)), [order] "w"(vldrhq_u16((p)->order)), [shift] "r"((p)->shift), \
        [passes] "r"((p)->passes), [left] "r"((p)->left)

TFLMGEN_SHARED void tflmgen_add_mve_rows(const int8_t *row1, const int8_t *row2, int8_t *output,
                                         const struct tflmgen_add_mve_rows *p)
{
    __asm__ volatile(TFLMGEN_ADD_MVE_LOOPS(TFLMGEN_ADD_MVE_ROWS)
                     : [row1] "+l"(row1), [row2] "+l"(row2), [output] "+l"(output)
                     : [factor2] "r"(p->factor2), [start] "r"(p->start), TFLMGEN_ADD_MVE_OPERANDS(p)
                     : "lr", "q0", "q1", "q2", "q3", "memory");
}

/* start: with what a row's only element of the other input adds. */
TFLMGEN_SHARED void tflmgen_add_mve_one(const int8_t *row1, int32_t start, int8_t *output,
                                        const struct tflmgen_add_mve_rows *p)
{
    __asm__ volatile(TFLMGEN_ADD_MVE_LOOPS(TFLMGEN_ADD_MVE_ONE)
                     : [row1] "+l"(row1), [output] "+l"(output)
                     : [start] "r"(start), TFLMGEN_ADD_MVE_OPERANDS(p)
                     : "lr", "q0", "q1", "q2", "q3", "memory");
}

TFLMGEN_SHARED void tflmgen_add_mve_s8(const int8_t *input1, const int8_t *input2, int8_t *output,
                                       const struct tflmgen_add_affine_s8 *p)
{
    const struct tflmgen_add_mve_rows rows = TFLMGEN_ADD_MVE_COMMON(p->count, p->factor1, p->factor2, p);
    tflmgen_add_mve_rows(input1, input2, output, &rows);
    tflmgen_clamp_dsp_s8(output, p->count, p->least, p->greatest);
}

#endif

#endif
