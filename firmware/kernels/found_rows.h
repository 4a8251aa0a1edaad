/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* WHERE and UNIQUE: rows whose number is known at run time only. The output has room for `most` of them; a function
 * that finds more returns false. */
#ifndef TFLMGEN_KERNELS_FOUND_ROWS_H
#define TFLMGEN_KERNELS_FOUND_ROWS_H

#include "common.h"
#include "nest.h"

struct tflmgen_nonzero_rows {
    int32_t elements;
    int32_t most;
    int32_t rank;
    int32_t dimension[TFLMGEN_MAX_RANK];
};

/* The place of each element other than 0, as its indices [count, rank], in the order of the elements. */
#define TFLMGEN_DEFINE_NONZERO_ROWS(name, type)                                                                 \
    TFLMGEN_KERNEL bool name(const type *input, tflmgen_s64 *places, tflmgen_s32 *count,                        \
                             const struct tflmgen_nonzero_rows *params)                                         \
    {                                                                                                           \
        int32_t found = 0;                                                                                      \
        int32_t at[TFLMGEN_MAX_RANK] = {0};                                                                     \
        for (int32_t i = 0; i < params->elements; i++) {                                                        \
            if (input[i] != 0) {                                                                                \
                if (found == params->most) {                                                                    \
                    return false;                                                                               \
                }                                                                                               \
                for (int32_t axis = 0; axis < params->rank; axis++) {                                           \
                    places[found * params->rank + axis] = at[axis];                                             \
                }                                                                                               \
                found++;                                                                                        \
            }                                                                                                   \
            for (int32_t axis = params->rank - 1; axis >= 0 && ++at[axis] == params->dimension[axis]; axis--) { \
                at[axis] = 0;                                                                                   \
            }                                                                                                   \
        }                                                                                                       \
        *count = found;                                                                                         \
        return true;                                                                                            \
    }

TFLMGEN_DEFINE_NONZERO_ROWS(tflmgen_nonzero_rows_f32, tflmgen_f32)
TFLMGEN_DEFINE_NONZERO_ROWS(tflmgen_nonzero_rows_b8, tflmgen_bool)
TFLMGEN_DEFINE_NONZERO_ROWS(tflmgen_nonzero_rows_s8, int8_t)
TFLMGEN_DEFINE_NONZERO_ROWS(tflmgen_nonzero_rows_u8, uint8_t)
TFLMGEN_DEFINE_NONZERO_ROWS(tflmgen_nonzero_rows_s32, tflmgen_s32)
TFLMGEN_DEFINE_NONZERO_ROWS(tflmgen_nonzero_rows_u32, tflmgen_u32)
TFLMGEN_DEFINE_NONZERO_ROWS(tflmgen_nonzero_rows_s64, tflmgen_s64)

struct tflmgen_unique_rows {
    int32_t most;
};

/* Each different element once, in the order in which they come first, and for each element the place of its like among
 * them. NaN is like nothing. */
#define TFLMGEN_DEFINE_UNIQUE_ROWS(name, type, index_type)                                                      \
    TFLMGEN_KERNEL bool name(const type *input, const tflmgen_s32 *elements, type *unique, index_type *indices, \
                             tflmgen_s32 *count, const struct tflmgen_unique_rows *params)                      \
    {                                                                                                           \
        int32_t found = 0;                                                                                      \
        for (int32_t i = 0; i < *elements; i++) {                                                               \
            int32_t place = 0;                                                                                  \
            while (place < found && !(unique[place] == input[i])) {                                             \
                place++;                                                                                        \
            }                                                                                                   \
            if (place == found) {                                                                               \
                if (found == params->most) {                                                                    \
                    return false;                                                                               \
                }                                                                                               \
                unique[found++] = input[i];                                                                     \
            }                                                                                                   \
            indices[i] = place;                                                                                 \
        }                                                                                                       \
        *count = found;                                                                                         \
        return true;                                                                                            \
    }

#define TFLMGEN_DEFINE_UNIQUES(suffix, type)                                          \
    TFLMGEN_DEFINE_UNIQUE_ROWS(tflmgen_unique_rows_##suffix##_s32, type, tflmgen_s32) \
    TFLMGEN_DEFINE_UNIQUE_ROWS(tflmgen_unique_rows_##suffix##_s64, type, tflmgen_s64)

TFLMGEN_DEFINE_UNIQUES(f32, tflmgen_f32)
TFLMGEN_DEFINE_UNIQUES(s8, int8_t)
TFLMGEN_DEFINE_UNIQUES(u8, uint8_t)
TFLMGEN_DEFINE_UNIQUES(s16, tflmgen_s16)
TFLMGEN_DEFINE_UNIQUES(s32, tflmgen_s32)
TFLMGEN_DEFINE_UNIQUES(s64, tflmgen_s64)

#endif
