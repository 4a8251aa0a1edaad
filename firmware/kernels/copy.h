/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
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

/* A row from `from` to `to`, element by element. */
#define TFLMGEN_COPY_ROW(word, from, to)                \
    for (int32_t i = 0; i < params->extent[row]; i++) { \
        *to = *from;                                    \
        from += params->input_stride[row];              \
        to += params->output_stride[row];               \
    }

/* The same of tensors that are apart: as a whole where it is contiguous in both. */
#define TFLMGEN_MOVE_ROW(word, from, to)                                     \
    if (params->input_stride[row] == 1 && params->output_stride[row] == 1) { \
        tflmgen_move(to, from, params->extent[row] * (int32_t)sizeof(word)); \
    } else {                                                                 \
        TFLMGEN_COPY_ROW(word, from, to)                                     \
    }

/* Goes through the nest, from `begin` of the input on, row by row. */
#define TFLMGEN_COPY_ROWS(word, begin, ROW)                                  \
    const int32_t row = params->rank - 1;                                    \
    struct tflmgen_nest_cursor cursor = {{0}, begin, params->output_offset}; \
    do {                                                                     \
        const word *from = (const word *)input + cursor.offset1;             \
        word *to = (word *)output + cursor.offset2;                          \
        ROW(word, from, to)                                                  \
    } while (tflmgen_nest_next_row(&cursor, params->rank, params->extent, params->input_stride, params->output_stride));

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
/* Strides whose vectors of places do not leave the bits that those have. */
#define TFLMGEN_GATHERED_STRIDE_8 (UINT16_MAX / 7)
#define TFLMGEN_GATHERED_STRIDE_16 TFLMGEN_GATHERED_STRIDE_8
#define TFLMGEN_GATHERED_STRIDE_32 INT32_MAX
#define TFLMGEN_GATHERED_PLACES_8 vreinterpretq_u32_u16(vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)stride))
#define TFLMGEN_GATHERED_PLACES_16 TFLMGEN_GATHERED_PLACES_8
#define TFLMGEN_GATHERED_PLACES_32 vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)stride)

/* A row whose elements become neighbours: READ, ADD, WRITE, LETP for eight of them, or four words of 32 bits, which are
 * read before they are written. */
#define TFLMGEN_GATHER_ROW(lanes, READ, WRITE, from, to)                                        \
    __asm__ volatile("wlstp." lanes " lr, %[count], 2f\n"                                       \
                     "1:\n\t" READ "add %[at], %[at], %[step]\n\t" WRITE "letp lr, 1b\n"        \
                     "2:"                                                                       \
                     : [at] "+r"(from), [to] "+l"(to)                                           \
                     : [count] "r"(params->extent[row]), [step] "r"(step), [places] "w"(places) \
                     : "lr", "q0", "memory");
#define TFLMGEN_GATHER_ROW_8(from, to) \
    TFLMGEN_GATHER_ROW("16", "vldrb.u16 q0, [%[at], %q[places]]\n\t", "vstrb.16 q0, [%[to]], #8\n\t", from, to)
#define TFLMGEN_GATHER_ROW_16(from, to)                                                                               \
    TFLMGEN_GATHER_ROW("16", "vldrh.u16 q0, [%[at], %q[places], uxtw #1]\n\t", "vstrh.16 q0, [%[to]], #16\n\t", from, \
                       to)
#define TFLMGEN_GATHER_ROW_32(from, to)                                                                               \
    TFLMGEN_GATHER_ROW("32", "vldrw.u32 q0, [%[at], %q[places], uxtw #2]\n\t", "vstrw.32 q0, [%[to]], #16\n\t", from, \
                       to)

/* A nest of such rows, two loops of it without the cursor. */
#define TFLMGEN_DEFINE_COPY_GATHERED(bits)                                                                          \
    TFLMGEN_SHARED void tflmgen_copy_gathered_##bits(const tflmgen_word##bits *input, tflmgen_word##bits *output,   \
                                                     const struct tflmgen_copy *params)                             \
    {                                                                                                               \
        const int32_t row = params->rank - 1, stride = params->input_stride[row];                                   \
        const uint32x4_t places = TFLMGEN_GATHERED_PLACES_##bits;                                                   \
        const int32_t step = stride * (bits < 32 ? bits : 16);                                                      \
        const int32_t rows = row > 0 ? params->extent[row - 1] : 1;                                                 \
        const int32_t input_step = row > 0 ? params->input_stride[row - 1] : 0;                                     \
        const int32_t output_step = row > 0 ? params->output_stride[row - 1] : 0;                                   \
        struct tflmgen_nest_cursor cursor = {{0}, params->input_offset, params->output_offset};                     \
        do {                                                                                                        \
            const tflmgen_word##bits *input_row = input + cursor.offset1;                                           \
            tflmgen_word##bits *output_row = output + cursor.offset2;                                               \
            for (int32_t left = rows; left > 0; --left, input_row += input_step, output_row += output_step) {       \
                const tflmgen_word##bits *from = input_row;                                                         \
                tflmgen_word##bits *to = output_row;                                                                \
                TFLMGEN_GATHER_ROW_##bits(from, to)                                                                 \
            }                                                                                                       \
        } while (tflmgen_nest_next_row(&cursor, row, params->extent, params->input_stride, params->output_stride)); \
    }

TFLMGEN_DEFINE_COPY_GATHERED(8)
TFLMGEN_DEFINE_COPY_GATHERED(16)
TFLMGEN_DEFINE_COPY_GATHERED(32)

/* Where there are several such rows, or a long one: of a short one compilers make a few moves. It is decided where the
 * kernel is called, for the numbers are known there. */
#define TFLMGEN_COPY_OR_GATHER(bits)                                                                               \
    TFLMGEN_HELPER void tflmgen_copy_##bits(const void *input, void *output, const struct tflmgen_copy *params)    \
    {                                                                                                              \
        const int32_t last = params->rank - 1, stride = params->input_stride[last];                                \
        if (params->output_stride[last] == 1 && stride > 0 && stride <= TFLMGEN_GATHERED_STRIDE_##bits &&          \
            (last > 0 || params->extent[last] > 8)) {                                                              \
            tflmgen_copy_gathered_##bits((const tflmgen_word##bits *)input, (tflmgen_word##bits *)output, params); \
        } else {                                                                                                   \
            tflmgen_copy_each_##bits(input, output, params);                                                       \
        }                                                                                                          \
    }
#define TFLMGEN_COPY_EACH(bits) tflmgen_copy_each_##bits
#else
#define TFLMGEN_COPY_OR_GATHER(bits)
#define TFLMGEN_COPY_EACH(bits) tflmgen_copy_##bits
#endif

#define TFLMGEN_DEFINE_COPY(name, word)                                                          \
    TFLMGEN_KERNEL void name(const void *input, void *output, const struct tflmgen_copy *params) \
    {                                                                                            \
        TFLMGEN_COPY_ROWS(word, params->input_offset, TFLMGEN_COPY_ROW)                          \
    }

TFLMGEN_DEFINE_COPY(TFLMGEN_COPY_EACH(8), tflmgen_word8)
TFLMGEN_DEFINE_COPY(TFLMGEN_COPY_EACH(16), tflmgen_word16)
TFLMGEN_DEFINE_COPY(TFLMGEN_COPY_EACH(32), tflmgen_word32)
TFLMGEN_DEFINE_COPY(tflmgen_copy_64, tflmgen_word64)
TFLMGEN_COPY_OR_GATHER(8)
TFLMGEN_COPY_OR_GATHER(16)
TFLMGEN_COPY_OR_GATHER(32)

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
            tflmgen_move_block(to, from, length);
        } else {
            memmove(to, from, (size_t)length);
        }
    } while (tflmgen_nest_next_row(&cursor, params->rank, params->extent, params->input_stride, params->output_stride));
}

/* Elements that all become `filler`. */
#define TFLMGEN_FILL_8(output, filler, elements) tflmgen_fill(output, (filler) * 0x01010101u, elements)
#define TFLMGEN_FILL_16(output, filler, elements) tflmgen_fill(output, (filler) * 0x00010001u, 2 * (elements))
#define TFLMGEN_FILL_32(output, filler, elements) tflmgen_fill(output, filler, 4 * (elements))
#define TFLMGEN_FILL_64(output, filler, elements)   \
    for (int32_t i = 0; i < (elements); i++) {      \
        ((tflmgen_word64 *)(output))[i] = (filler); \
    }

struct tflmgen_fill {
    int32_t elements;
};

/* Every element of the output becomes *value. */
#define TFLMGEN_DEFINE_FILL(bits)                                                                               \
    TFLMGEN_KERNEL void tflmgen_fill_##bits(const void *value, void *output, const struct tflmgen_fill *params) \
    {                                                                                                           \
        const tflmgen_word##bits filler = *(const tflmgen_word##bits *)value;                                   \
        TFLMGEN_FILL_##bits(output, filler, params->elements);                                                  \
    }

TFLMGEN_DEFINE_FILL(8)
TFLMGEN_DEFINE_FILL(16)
TFLMGEN_DEFINE_FILL(32)
TFLMGEN_DEFINE_FILL(64)

/* PAD: the members of struct tflmgen_copy, for the input's place in the output, and the output's size. */
struct tflmgen_pad {
    int32_t rank;
    int32_t extent[TFLMGEN_MAX_RANK];
    int32_t input_stride[TFLMGEN_MAX_RANK];
    int32_t output_stride[TFLMGEN_MAX_RANK];
    int32_t output_offset;
    int32_t elements;
};

#define TFLMGEN_DEFINE_PAD(bits)                                                                        \
    TFLMGEN_KERNEL void tflmgen_pad_##bits(const void *restrict input, const void *value, void *output, \
                                           const struct tflmgen_pad *params)                            \
    {                                                                                                   \
        typedef tflmgen_word##bits word;                                                                \
        const word filler = *(const word *)value;                                                       \
        TFLMGEN_FILL_##bits(output, filler, params->elements);                                          \
        TFLMGEN_COPY_ROWS(word, 0, TFLMGEN_MOVE_ROW)                                                    \
    }

TFLMGEN_DEFINE_PAD(8)
TFLMGEN_DEFINE_PAD(16)
TFLMGEN_DEFINE_PAD(32)
TFLMGEN_DEFINE_PAD(64)

#endif
