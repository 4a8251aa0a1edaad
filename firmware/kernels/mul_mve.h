/* MUL of int8 tensors, also broadcast, for cores with MVE: TFLite's two roundings of a product, see mve.h. */
#ifndef TFLMGEN_KERNELS_MUL_MVE_H
#define TFLMGEN_KERNELS_MUL_MVE_H

#include "mve.h"
#include "nest.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* Elements of the shortest row that is computed by eights. */
#define TFLMGEN_MUL_MVE_LONG 24

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

/* Four values of the second factor; none, where it is one element. */
#define TFLMGEN_MUL_MVE_ROW(values)             \
    "vldrb.s32 " values ", [%[input2]], #4\n\t" \
    "vadd.i32 " values ", " values ", %[offset2]\n\t"
#define TFLMGEN_MUL_MVE_ONE(values) ""

/* clang-format off */
#define TFLMGEN_MUL_MVE_FOUR(values, free, LOAD, factor)    \
    "vldrb.s32 " values ", [%[input1]], #4\n\t" LOAD(free)  \
    "vadd.i32 " values ", " values ", %[offset1]\n\t"       \
    "vmul.i32 " values ", " values ", " factor "\n\t"       \
    "vqrdmulh.s32 " values ", " values ", %[multiplier]\n\t" \
    "vshr.s32 " free ", " values ", #31\n\t"                \
    "vadd.i32 " values ", " values ", " free "\n\t"         \
    "vrshl.s32 " values ", %[shift]\n\t"

/* Eight results: 4 VLDRB, 4 VADD, 2 VMUL, 2 VQRDMULH, 6 for the second rounding, 4 to narrow, VSTRB, ADD, LE: 25, or
 * 21 of a row times one element. */
#define TFLMGEN_MUL_MVE_LOOP(LOAD, factor0, factor1)           \
    "wls lr, %[passes], 2f\n"                                  \
    "1:\n\t" TFLMGEN_MUL_MVE_FOUR("q0", "q1", LOAD, factor0)   \
    TFLMGEN_MUL_MVE_FOUR("q2", "q3", LOAD, factor1)            \
    "vqmovnb.s32 q0, q0\n\t"                                   \
    "vqmovnt.s32 q0, q2\n\t"                                   \
    "vqadd.s16 q0, q0, %q[zero_point]\n\t"                      \
    "vqmovnb.s16 q0, q0\n\t"                                   \
    "vstrb.16 q0, [%[output], %q[order]]\n\t"                  \
    "add %[output], %[output], #8\n\t"                         \
    "le lr, 1b\n"                                              \
    "2:"

/* What is left, four at a time: LETP stops at the last one. */
#define TFLMGEN_MUL_MVE_REST(LOAD, factor)                     \
    "wlstp.32 lr, %[left], 2f\n"                               \
    "1:\n\t" TFLMGEN_MUL_MVE_FOUR("q0", "q1", LOAD, factor)    \
    "vadd.i32 q0, q0, %[zero_point]\n\t"                       \
    "vqmovnb.s32 q0, q0\n\t"                                   \
    "vqmovnb.s16 q0, q0\n\t"                                   \
    "vstrb.32 q0, [%[output]], #4\n\t"                         \
    "letp lr, 1b\n"                                            \
    "2:"
/* clang-format on */

/* Eight results at a time of a row of `passes` eights times a row, or where input2 is NULL, times one element, which
 * has its offset. */
TFLMGEN_HELPER void tflmgen_mul_mve_eights(const int8_t *input1, int32_t offset1, const int8_t *input2, int32_t offset2,
                                           int8_t *output, int32_t passes, const struct tflmgen_mul_mve_s8 *p)
{
    /* What was narrowed has the results 0, 4, 1, 5, 2, 6, 3, 7. */
    const uint16x8_t step = vidupq_n_u16(0, 1);
    const uint16x8_t order = vaddq_u16(vshrq_n_u16(step, 1), vshlq_n_u16(vandq_u16(step, vdupq_n_u16(1)), 2));
    const int16x8_t zero_point = vdupq_n_s16((int16_t)p->zero_point);
    if (input2) {
        __asm__ volatile(
            TFLMGEN_MUL_MVE_LOOP(TFLMGEN_MUL_MVE_ROW, "q1", "q3")
            : [input1] "+&l"(input1), [input2] "+&l"(input2), [output] "+&r"(output)
            : [order] "w"(order), [zero_point] "w"(zero_point), [offset1] "r"(offset1), [offset2] "r"(offset2),
              [multiplier] "r"(p->multiplier), [shift] "r"(p->shift), [passes] "r"(passes)
            : "lr", "q0", "q1", "q2", "q3", "memory");
    } else {
        __asm__ volatile(
            TFLMGEN_MUL_MVE_LOOP(TFLMGEN_MUL_MVE_ONE, "%[offset2]", "%[offset2]")
            : [input1] "+&l"(input1), [output] "+&r"(output)
            : [order] "w"(order), [zero_point] "w"(zero_point), [offset1] "r"(offset1), [offset2] "r"(offset2),
              [multiplier] "r"(p->multiplier), [shift] "r"(p->shift), [passes] "r"(passes)
            : "lr", "q0", "q1", "q2", "q3", "memory");
    }
}

/* A row; a short one by fours alone. */
TFLMGEN_SHARED void tflmgen_mul_mve_row(const int8_t *input1, int32_t offset1, const int8_t *input2, int32_t offset2,
                                        int8_t *output, int32_t count, const struct tflmgen_mul_mve_s8 *p)
{
    int32_t left = count;
    if (count >= TFLMGEN_MUL_MVE_LONG) {
        const int32_t whole = count & ~7;
        tflmgen_mul_mve_eights(input1, offset1, input2, offset2, output, whole / 8, p);
        left -= whole;
        input1 += whole;
        input2 = input2 ? input2 + whole : NULL;
        output += whole;
    }
    if (input2) {
        __asm__ volatile(TFLMGEN_MUL_MVE_REST(TFLMGEN_MUL_MVE_ROW, "q1")
                         : [input1] "+&l"(input1), [input2] "+&l"(input2), [output] "+&l"(output)
                         : [offset1] "r"(offset1), [offset2] "r"(offset2), [multiplier] "r"(p->multiplier),
                           [shift] "r"(p->shift), [zero_point] "r"(p->zero_point), [left] "r"(left)
                         : "lr", "q0", "q1", "memory");
    } else {
        __asm__ volatile(TFLMGEN_MUL_MVE_REST(TFLMGEN_MUL_MVE_ONE, "%[offset2]")
                         : [input1] "+&l"(input1), [output] "+&l"(output)
                         : [offset1] "r"(offset1), [offset2] "r"(offset2), [multiplier] "r"(p->multiplier),
                           [shift] "r"(p->shift), [zero_point] "r"(p->zero_point), [left] "r"(left)
                         : "lr", "q0", "q1", "memory");
    }
}

TFLMGEN_SHARED void tflmgen_mul_mve_s8(const int8_t *input1, const int8_t *input2, int8_t *output,
                                       const struct tflmgen_mul_mve_s8 *p)
{
    const int32_t row = p->rank - 1;
    const int32_t count = p->extent[row];
    int8_t *const first = output;
    struct tflmgen_nest_cursor cursor = {{0}, 0, 0};
    do {
        const int8_t *const row1 = input1 + cursor.offset1;
        const int8_t *const row2 = input2 + cursor.offset2;
        if (!p->stride2[row]) {
            tflmgen_mul_mve_row(row1, p->offset1, NULL, *row2 + p->offset2, output, count, p);
        } else if (!p->stride1[row]) {
            tflmgen_mul_mve_row(row2, p->offset2, NULL, *row1 + p->offset1, output, count, p);
        } else {
            tflmgen_mul_mve_row(row1, p->offset1, row2, p->offset2, output, count, p);
        }
        output += count;
    } while (tflmgen_nest_next_row(&cursor, p->rank, p->extent, p->stride1, p->stride2));
    tflmgen_clamp_dsp_s8(first, (int32_t)(output - first), p->least, p->greatest);
}

#endif

#endif
