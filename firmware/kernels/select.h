/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* SELECT and SELECT_V2: each element from one of two tensors, as a condition says. */
#ifndef TFLMGEN_KERNELS_SELECT_H
#define TFLMGEN_KERNELS_SELECT_H

#include "copy.h"
#include "element_rows.h"

struct tflmgen_select {
    int32_t rank;
    int32_t extent[TFLMGEN_MAX_RANK];
    int32_t condition_stride[TFLMGEN_MAX_RANK];
    int32_t stride1[TFLMGEN_MAX_RANK];
    int32_t stride2[TFLMGEN_MAX_RANK];
};

/* A row, element by element; strides are 0 or 1. */
#define TFLMGEN_SELECT_ELEMENTS(choice, row1, row2, result, elements, stride, stride1, stride2) \
    for (int32_t i = 0; i < (elements); i++) {                                                  \
        (result)[i] = (choice)[i * (stride)] ? (row1)[i * (stride1)] : (row2)[i * (stride2)];   \
    }
#define TFLMGEN_DEFINE_SELECT_ELEMENTS(bits)                                                                          \
    TFLMGEN_HELPER void tflmgen_select_row_##bits(const tflmgen_bool *choice, const tflmgen_word##bits *row1,         \
                                                  const tflmgen_word##bits *row2, tflmgen_word##bits *result,         \
                                                  int32_t elements, int32_t stride, int32_t stride1, int32_t stride2) \
    {                                                                                                                 \
        TFLMGEN_SELECT_ELEMENTS(choice, row1, row2, result, elements, stride, stride1, stride2)                       \
    }

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
/* A vector: VLDRB, VCMP, up to 2 VLDR, VPSEL, VSTR, LETP. */
#define TFLMGEN_SELECT_MVE(bits, CONDITIONS, READS, a, b)                                                         \
    __asm__ volatile("wlstp." #bits " lr, %[elements], 2f\n"                                                      \
                     "1:\n\t" CONDITIONS READS "vpsel q0, " a ", " b "\n\t" TFLMGEN_WRITE_s##bits "letp lr, 1b\n" \
                                                                                                  "2:"            \
                     : [choice] "+l"(choice), [row1] "+l"(row1), [row2] "+l"(row2), [result] "+l"(result)         \
                     : [first] "w"(first), [second] "w"(second), [elements] "r"(elements)                         \
                     : "lr", "q0", "q1", "cc", "memory")

/* A row; all of it is of one of two rows where the condition is a single one. */
#define TFLMGEN_DEFINE_SELECT_ROW(bits, CONDITIONS)                                                                   \
    TFLMGEN_HELPER void tflmgen_select_row_##bits(const tflmgen_bool *choice, const tflmgen_word##bits *row1,         \
                                                  const tflmgen_word##bits *row2, tflmgen_word##bits *result,         \
                                                  int32_t elements, int32_t stride, int32_t stride1, int32_t stride2) \
    {                                                                                                                 \
        if (stride == 0 && (*choice ? stride1 : stride2)) {                                                           \
            tflmgen_copy_mve((int8_t *)result, (const int8_t *)(*choice ? row1 : row2), elements *((bits) / 8));      \
            return;                                                                                                   \
        }                                                                                                             \
        if (stride == 0) {                                                                                            \
            TFLMGEN_SELECT_ELEMENTS(choice, row1, row2, result, elements, stride, stride1, stride2)                   \
            return;                                                                                                   \
        }                                                                                                             \
        const uint32x4_t first = stride1 ? vdupq_n_u32(0) : (uint32x4_t)vdupq_n_u##bits(*row1);                       \
        const uint32x4_t second = stride2 ? vdupq_n_u32(0) : (uint32x4_t)vdupq_n_u##bits(*row2);                      \
        if (stride1 && stride2) {                                                                                     \
            TFLMGEN_SELECT_MVE(bits, CONDITIONS,                                                                      \
                               TFLMGEN_READ_s##bits("q0", "row1") TFLMGEN_READ_s##bits("q1", "row2"), "q0", "q1");    \
        } else if (stride1) {                                                                                         \
            TFLMGEN_SELECT_MVE(bits, CONDITIONS, TFLMGEN_READ_s##bits("q0", "row1"), "q0", "%q[second]");             \
        } else if (stride2) {                                                                                         \
            TFLMGEN_SELECT_MVE(bits, CONDITIONS, TFLMGEN_READ_s##bits("q1", "row2"), "%q[first]", "q1");              \
        } else {                                                                                                      \
            TFLMGEN_SELECT_MVE(bits, CONDITIONS, "", "%q[first]", "%q[second]");                                      \
        }                                                                                                             \
    }

TFLMGEN_DEFINE_SELECT_ROW(8, "vldrb.8 q0, [%[choice]], #16\n\tvcmp.i8 ne, q0, zr\n\t")
TFLMGEN_DEFINE_SELECT_ROW(16, "vldrb.u16 q0, [%[choice]], #8\n\tvcmp.i16 ne, q0, zr\n\t")
TFLMGEN_DEFINE_SELECT_ROW(32, "vldrb.u32 q0, [%[choice]], #4\n\tvcmp.i32 ne, q0, zr\n\t")
#else
TFLMGEN_DEFINE_SELECT_ELEMENTS(8)
TFLMGEN_DEFINE_SELECT_ELEMENTS(16)
TFLMGEN_DEFINE_SELECT_ELEMENTS(32)
#endif
TFLMGEN_DEFINE_SELECT_ELEMENTS(64)

/* `bits`: of the elements. */
#define TFLMGEN_DEFINE_SELECT(name, word, bits)                                                                       \
    TFLMGEN_KERNEL void name(const tflmgen_bool *condition, const void *input1, const void *input2, void *output,     \
                             const struct tflmgen_select *params)                                                     \
    {                                                                                                                 \
        const int32_t row = params->rank - 1;                                                                         \
        word *result = (word *)output;                                                                                \
        struct tflmgen_nest_cursor inputs = {{0}, 0, 0};                                                              \
        struct tflmgen_nest_cursor conditions = {{0}, 0, 0};                                                          \
        bool more;                                                                                                    \
        do {                                                                                                          \
            const tflmgen_bool *choice = condition + conditions.offset1;                                              \
            const word *row1 = (const word *)input1 + inputs.offset1;                                                 \
            const word *row2 = (const word *)input2 + inputs.offset2;                                                 \
            tflmgen_select_row_##bits(choice, row1, row2, result, params->extent[row], params->condition_stride[row], \
                                      params->stride1[row], params->stride2[row]);                                    \
            result += params->extent[row];                                                                            \
            more = tflmgen_nest_next_row(&inputs, params->rank, params->extent, params->stride1, params->stride2);    \
            (void)tflmgen_nest_next_row(&conditions, params->rank, params->extent, params->condition_stride,          \
                                        params->condition_stride);                                                    \
        } while (more);                                                                                               \
    }

TFLMGEN_DEFINE_SELECT(tflmgen_select_8, tflmgen_word8, 8)
TFLMGEN_DEFINE_SELECT(tflmgen_select_16, tflmgen_word16, 16)
TFLMGEN_DEFINE_SELECT(tflmgen_select_32, tflmgen_word32, 32)
TFLMGEN_DEFINE_SELECT(tflmgen_select_64, tflmgen_word64, 64)

#endif
