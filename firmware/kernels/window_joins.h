/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* REDUCE_WINDOW and STABLEHLO_SCATTER: elements that a function of two joins, of windows and at listed places.
 *
 * The function has the number that TFLite's schema gives it (ReduceWindowFunction). Integers wrap. */
#ifndef TFLMGEN_KERNELS_WINDOW_JOINS_H
#define TFLMGEN_KERNELS_WINDOW_JOINS_H

#include "move.h"
#include "nest.h"

enum tflmgen_join {
    TFLMGEN_JOIN_SECOND, /* the schema has no function for it */
    TFLMGEN_JOIN_SUM,
    TFLMGEN_JOIN_PRODUCT,
    TFLMGEN_JOIN_LEAST,
    TFLMGEN_JOIN_GREATEST,
    TFLMGEN_JOIN_ALL,
    TFLMGEN_JOIN_ANY
};

/* Windows of `window` elements, `tap_step` apart, which begin `step` apart; all in elements of the input. */
struct tflmgen_reduce_window {
    int32_t rank; /* of input and output */
    int32_t output[TFLMGEN_MAX_RANK];
    int32_t step[TFLMGEN_MAX_RANK];
    int32_t window[TFLMGEN_MAX_RANK];
    int32_t tap_step[TFLMGEN_MAX_RANK];
    int32_t function;
};

/* An element of the updates belongs to a point, whose index vector says where in the output its window begins. */
struct tflmgen_stablehlo_scatter {
    int32_t bytes; /* of the output */
    int32_t updates;
    int32_t rank;                          /* of the updates */
    int32_t extent[TFLMGEN_MAX_RANK];      /* of the updates */
    int32_t index_step[TFLMGEN_MAX_RANK];  /* in the indices, along a dimension of the updates; 0: it is a window's */
    int32_t dimensions;                    /* of the output */
    int32_t dimension[TFLMGEN_MAX_RANK];   /* its extents */
    int32_t stride[TFLMGEN_MAX_RANK];      /* its strides in elements */
    int32_t window_axis[TFLMGEN_MAX_RANK]; /* the updates' dimension that runs along it; -1: none */
    int32_t component[TFLMGEN_MAX_RANK];   /* offset of its index in an index vector; -1: it has none */
    int32_t function;
};

/* The element of the output that an element of the updates goes to; -1 where the output has no such place. */
#define TFLMGEN_DEFINE_SCATTER_PLACE(suffix, index_type)                                                   \
    TFLMGEN_HELPER int32_t tflmgen_scatter_place_##suffix(const index_type *vector, const tflmgen_s32 *at, \
                                                          const struct tflmgen_stablehlo_scatter *p)       \
    {                                                                                                      \
        int32_t place = 0;                                                                                 \
        for (int32_t d = 0; d < p->dimensions; d++) {                                                      \
            const int32_t inner = p->window_axis[d] < 0 ? 0 : at[p->window_axis[d]];                       \
            const index_type start = p->component[d] < 0 ? 0 : vector[p->component[d]];                    \
            if (start < -inner || start >= p->dimension[d] - inner) {                                      \
                return -1;                                                                                 \
            }                                                                                              \
            place += ((int32_t)start + inner) * p->stride[d];                                              \
        }                                                                                                  \
        return place;                                                                                      \
    }

TFLMGEN_DEFINE_SCATTER_PLACE(s32, tflmgen_s32)
TFLMGEN_DEFINE_SCATTER_PLACE(s64, tflmgen_s64)

#define TFLMGEN_DEFINE_STABLEHLO_SCATTER(suffix, type, index_suffix, index_type)               \
    TFLMGEN_KERNEL void tflmgen_stablehlo_scatter_##suffix##_##index_suffix(                   \
        const type *input, const index_type *indices, const type *updates, type *output,       \
        const struct tflmgen_stablehlo_scatter *p)                                             \
    {                                                                                          \
        tflmgen_s32 at[TFLMGEN_MAX_RANK] = {0};                                                \
        tflmgen_move(output, input, p->bytes);                                                 \
        for (int32_t i = 0; i < p->updates; i++) {                                             \
            const int32_t place = tflmgen_scatter_place_##index_suffix(indices, at, p);        \
            if (place >= 0) {                                                                  \
                output[place] = tflmgen_join_##suffix(p->function, updates[i], output[place]); \
            }                                                                                  \
            int32_t d = p->rank - 1;                                                           \
            while (d >= 0 && ++at[d] == p->extent[d]) {                                        \
                indices -= (p->extent[d] - 1) * p->index_step[d];                              \
                at[d--] = 0;                                                                   \
            }                                                                                  \
            indices += d < 0 ? 0 : p->index_step[d];                                           \
        }                                                                                      \
    }

/* Of two that are not ordered the second comes out. Floats have no `all` and no `any`. */
#define TFLMGEN_DEFINE_WINDOW_JOINS(suffix, type, sum, product, all, any)                                           \
    TFLMGEN_HELPER type tflmgen_join_##suffix(int32_t function, type a, type b)                                     \
    {                                                                                                               \
        switch (function) {                                                                                         \
        case TFLMGEN_JOIN_SUM:                                                                                      \
            return (type)(sum);                                                                                     \
        case TFLMGEN_JOIN_PRODUCT:                                                                                  \
            return (type)(product);                                                                                 \
        case TFLMGEN_JOIN_LEAST:                                                                                    \
            return a <= b ? a : b;                                                                                  \
        case TFLMGEN_JOIN_GREATEST:                                                                                 \
            return a >= b ? a : b;                                                                                  \
        case TFLMGEN_JOIN_ALL:                                                                                      \
            return (type)(all);                                                                                     \
        case TFLMGEN_JOIN_ANY:                                                                                      \
            return (type)(any);                                                                                     \
        default:                                                                                                    \
            return a;                                                                                               \
        }                                                                                                           \
    }                                                                                                               \
    TFLMGEN_KERNEL void tflmgen_reduce_window_##suffix(const type *input, const type *initial, type *output,        \
                                                       const struct tflmgen_reduce_window *p)                       \
    {                                                                                                               \
        const int32_t row = p->rank - 1;                                                                            \
        struct tflmgen_nest_cursor at = {{0}, 0, 0};                                                                \
        do {                                                                                                        \
            const type *window = input + at.offset1;                                                                \
            for (int32_t i = 0; i < p->output[row]; i++, window += p->step[row]) {                                  \
                struct tflmgen_nest_cursor tap = {{0}, 0, 0};                                                       \
                type joined = *initial;                                                                             \
                do {                                                                                                \
                    for (int32_t k = 0; k < p->window[row]; k++) {                                                  \
                        joined =                                                                                    \
                            tflmgen_join_##suffix(p->function, joined, window[tap.offset1 + k * p->tap_step[row]]); \
                    }                                                                                               \
                } while (tflmgen_nest_next_row(&tap, p->rank, p->window, p->tap_step, p->tap_step));                \
                *output++ = joined;                                                                                 \
            }                                                                                                       \
        } while (tflmgen_nest_next_row(&at, p->rank, p->output, p->step, p->step));                                 \
    }                                                                                                               \
    TFLMGEN_DEFINE_STABLEHLO_SCATTER(suffix, type, s32, tflmgen_s32)                                                \
    TFLMGEN_DEFINE_STABLEHLO_SCATTER(suffix, type, s64, tflmgen_s64)

TFLMGEN_DEFINE_WINDOW_JOINS(f32, tflmgen_f32, a + b, a *b, a, a)
TFLMGEN_DEFINE_WINDOW_JOINS(s8, int8_t, (uint32_t)a + (uint32_t)b, (uint32_t)a *(uint32_t)b, a &&b, a || b)
TFLMGEN_DEFINE_WINDOW_JOINS(u8, uint8_t, (uint32_t)a + (uint32_t)b, (uint32_t)a *(uint32_t)b, a &&b, a || b)
TFLMGEN_DEFINE_WINDOW_JOINS(s16, tflmgen_s16, (uint32_t)a + (uint32_t)b, (uint32_t)a *(uint32_t)b, a &&b, a || b)
TFLMGEN_DEFINE_WINDOW_JOINS(u16, tflmgen_u16, (uint32_t)a + (uint32_t)b, (uint32_t)a *(uint32_t)b, a &&b, a || b)
TFLMGEN_DEFINE_WINDOW_JOINS(s32, tflmgen_s32, (uint32_t)a + (uint32_t)b, (uint32_t)a *(uint32_t)b, a &&b, a || b)
TFLMGEN_DEFINE_WINDOW_JOINS(u32, tflmgen_u32, (uint32_t)a + (uint32_t)b, (uint32_t)a *(uint32_t)b, a &&b, a || b)
TFLMGEN_DEFINE_WINDOW_JOINS(s64, tflmgen_s64, (uint64_t)a + (uint64_t)b, (uint64_t)a *(uint64_t)b, a &&b, a || b)
TFLMGEN_DEFINE_WINDOW_JOINS(u64, tflmgen_u64, (uint64_t)a + (uint64_t)b, (uint64_t)a *(uint64_t)b, a &&b, a || b)
TFLMGEN_DEFINE_WINDOW_JOINS(b8, tflmgen_bool, a || b, a &&b, a &&b, a || b)

#endif
