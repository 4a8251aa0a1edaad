/* Moving elements without looking at them: TRANSPOSE, slices, PAD, SPLIT, CONCATENATION and their like.
 *
 * Elements are words of 8, 16, 32 or 64 bits, whatever they mean. The word types may alias any other type.
 */
#ifndef TFLMGEN_KERNELS_COPY_H
#define TFLMGEN_KERNELS_COPY_H

#include <string.h>

#include "move.h"
#include "nest.h"

typedef uint8_t tflmgen_word8;
typedef tflmgen_u16 tflmgen_word16;
typedef tflmgen_u32 tflmgen_word32;
typedef tflmgen_u64 tflmgen_word64;

/* A nest that walks input and output, each from its offset; all in elements. */
struct tflmgen_copy {
    int32_t rank;
    int32_t extent[TFLMGEN_MAX_RANK];
    int32_t input_stride[TFLMGEN_MAX_RANK];
    int32_t output_stride[TFLMGEN_MAX_RANK];
    int32_t input_offset;
    int32_t output_offset;
};

/* Goes through the nest, from `begin` of the input on, element by element. */
#define TFLMGEN_COPY_ELEMENTS(word, begin)                                   \
    const int32_t row = params->rank - 1;                                    \
    struct tflmgen_nest_cursor cursor = {{0}, begin, params->output_offset}; \
    do {                                                                     \
        const word *from = (const word *)input + cursor.offset1;             \
        word *to = (word *)output + cursor.offset2;                          \
        for (int32_t i = 0; i < params->extent[row]; i++) {                  \
            *to = *from;                                                     \
            from += params->input_stride[row];                               \
            to += params->output_stride[row];                                \
        }                                                                    \
    } while (tflmgen_nest_next_row(&cursor, params->rank, params->extent, params->input_stride, params->output_stride));

#define TFLMGEN_DEFINE_COPY(name, word)                                                          \
    TFLMGEN_KERNEL void name(const void *input, void *output, const struct tflmgen_copy *params) \
    {                                                                                            \
        TFLMGEN_COPY_ELEMENTS(word, params->input_offset)                                        \
    }

TFLMGEN_DEFINE_COPY(tflmgen_copy_8, tflmgen_word8)
TFLMGEN_DEFINE_COPY(tflmgen_copy_16, tflmgen_word16)
TFLMGEN_DEFINE_COPY(tflmgen_copy_32, tflmgen_word32)
TFLMGEN_DEFINE_COPY(tflmgen_copy_64, tflmgen_word64)

/* The same for a nest whose rows are contiguous in both tensors; here all counts are bytes, and so the last extent is
 * a row's length. A row may overlap its own copy. */
TFLMGEN_KERNEL void tflmgen_copy_rows(const void *input, void *output, const struct tflmgen_copy *params)
{
    const int32_t length = params->extent[params->rank - 1];
    struct tflmgen_nest_cursor cursor = {{0}, params->input_offset, params->output_offset};
    do {
        const uint8_t *const from = (const uint8_t *)input + cursor.offset1;
        uint8_t *const to = (uint8_t *)output + cursor.offset2;
        const uintptr_t ahead = (uintptr_t)to - (uintptr_t)from;
        if (ahead >= (uintptr_t)length && 0 - ahead >= (uintptr_t)length) {
            tflmgen_move(to, from, length);
        } else {
            memmove(to, from, (size_t)length);
        }
    } while (tflmgen_nest_next_row(&cursor, params->rank, params->extent, params->input_stride, params->output_stride));
}

struct tflmgen_fill {
    int32_t elements;
};

/* Every element of the output becomes *value. */
#define TFLMGEN_DEFINE_FILL(name, word)                                                          \
    TFLMGEN_KERNEL void name(const void *value, void *output, const struct tflmgen_fill *params) \
    {                                                                                            \
        const word filler = *(const word *)value;                                                \
        for (int32_t i = 0; i < params->elements; i++) {                                         \
            ((word *)output)[i] = filler;                                                        \
        }                                                                                        \
    }

TFLMGEN_DEFINE_FILL(tflmgen_fill_8, tflmgen_word8)
TFLMGEN_DEFINE_FILL(tflmgen_fill_16, tflmgen_word16)
TFLMGEN_DEFINE_FILL(tflmgen_fill_32, tflmgen_word32)
TFLMGEN_DEFINE_FILL(tflmgen_fill_64, tflmgen_word64)

/* PAD: the members of struct tflmgen_copy, for the input's place in the output, and the output's size. */
struct tflmgen_pad {
    int32_t rank;
    int32_t extent[TFLMGEN_MAX_RANK];
    int32_t input_stride[TFLMGEN_MAX_RANK];
    int32_t output_stride[TFLMGEN_MAX_RANK];
    int32_t output_offset;
    int32_t elements;
};

#define TFLMGEN_DEFINE_PAD(name, word)                                                                             \
    TFLMGEN_KERNEL void name(const void *input, const void *value, void *output, const struct tflmgen_pad *params) \
    {                                                                                                              \
        const word filler = *(const word *)value;                                                                  \
        for (int32_t i = 0; i < params->elements; i++) {                                                           \
            ((word *)output)[i] = filler;                                                                          \
        }                                                                                                          \
        TFLMGEN_COPY_ELEMENTS(word, 0)                                                                             \
    }

TFLMGEN_DEFINE_PAD(tflmgen_pad_8, tflmgen_word8)
TFLMGEN_DEFINE_PAD(tflmgen_pad_16, tflmgen_word16)
TFLMGEN_DEFINE_PAD(tflmgen_pad_32, tflmgen_word32)
TFLMGEN_DEFINE_PAD(tflmgen_pad_64, tflmgen_word64)

#endif
