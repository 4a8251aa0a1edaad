/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* MATRIX_DIAG and MATRIX_SET_DIAG: matrices [rows, columns], one after the other, and their main diagonals. Elements
 * are words, whatever they mean. */
#ifndef TFLMGEN_KERNELS_DIAGONAL_H
#define TFLMGEN_KERNELS_DIAGONAL_H

#include "copy.h"

struct tflmgen_diagonal {
    int32_t matrices;
    int32_t rows;
    int32_t columns;
};

/* diagonals: [matrices, length] for length = min(rows, columns). */
#define TFLMGEN_DEFINE_DIAGONAL(bits)                                                                          \
    TFLMGEN_HELPER void tflmgen_write_diagonals_##bits(const void *diagonals, void *output,                    \
                                                       const struct tflmgen_diagonal *params)                  \
    {                                                                                                          \
        const tflmgen_word##bits *from = diagonals;                                                            \
        tflmgen_word##bits *matrix = output;                                                                   \
        for (int32_t i = 0; i < params->matrices; i++, matrix += params->rows * params->columns) {             \
            for (int32_t row = 0; row < params->rows && row < params->columns; row++) {                        \
                matrix[row * (params->columns + 1)] = *from++;                                                 \
            }                                                                                                  \
        }                                                                                                      \
    }                                                                                                          \
                                                                                                               \
    TFLMGEN_KERNEL void tflmgen_matrix_diag_##bits(const void *diagonals, void *output,                        \
                                                   const struct tflmgen_diagonal *params)                      \
    {                                                                                                          \
        const int32_t elements = params->matrices * params->rows * params->columns;                            \
        memset(output, 0, (size_t)elements * sizeof(tflmgen_word##bits));                                      \
        tflmgen_write_diagonals_##bits(diagonals, output, params);                                             \
    }                                                                                                          \
                                                                                                               \
    /* The output may be the input. */                                                                         \
    TFLMGEN_KERNEL void tflmgen_matrix_set_diag_##bits(const void *input, const void *diagonals, void *output, \
                                                       const struct tflmgen_diagonal *params)                  \
    {                                                                                                          \
        const int32_t elements = params->matrices * params->rows * params->columns;                            \
        if (output != input) {                                                                                 \
            memcpy(output, input, (size_t)elements * sizeof(tflmgen_word##bits));                              \
        }                                                                                                      \
        tflmgen_write_diagonals_##bits(diagonals, output, params);                                             \
    }

TFLMGEN_DEFINE_DIAGONAL(8)
TFLMGEN_DEFINE_DIAGONAL(16)
TFLMGEN_DEFINE_DIAGONAL(32)
TFLMGEN_DEFINE_DIAGONAL(64)

#endif
