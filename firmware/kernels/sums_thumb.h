/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Sums of rows of int8 weights times one row of int8 values, for SVDF and LSTM on every Cortex-M.
 *
 * The weights are groups of four rows as FULLY_CONNECTED has them (fully_connected_thumb.h), each with four biases
 * behind its weights; the values are `depth`, or one more where that is odd:
 *
 *     4 bytes, a weight of each row, 128 added | the same of the next value | ... | bias0 bias1 bias2 bias3
 */
#ifndef TFLMGEN_KERNELS_SUMS_THUMB_H
#define TFLMGEN_KERNELS_SUMS_THUMB_H

#include "fully_connected_thumb.h"
#include "requantize.h"

#ifdef __thumb__

/* A sum, r2, with its bias from the stream, r1, goes to the results. Stack: at 16 the next one's address. */
#define TFLMGEN_SUMS_THUMB_STORE \
    "ldmia r1!, {r5}\n\t"        \
    "adds r2, r2, r5\n\t"        \
    "ldr r0, [sp, #16]\n\t"      \
    "stmia r0!, {r2}\n\t"        \
    "str r0, [sp, #16]\n\t"

TFLMGEN_FULLY_CONNECTED_THUMB_GROUPS(tflmgen_sums_thumb_groups, "", "",
                                     TFLMGEN_FULLY_CONNECTED_THUMB_LOOP(TFLMGEN_FULLY_CONNECTED_THUMB_COPIED),
                                     TFLMGEN_SUMS_THUMB_STORE, "")

/* A row, and where the next group of weights begins. */
struct tflmgen_sums_thumb {
    struct tflmgen_fully_connected_thumb_groups groups;
    const tflmgen_u32 *stream;
    int32_t group_words;
};

/* Copies a row of at most TFLMGEN_FULLY_CONNECTED_THUMB_STACK values, for which `copy` has room. */
TFLMGEN_HELPER void tflmgen_sums_thumb_start(struct tflmgen_sums_thumb *sums, uint8_t *copy, const int8_t *row,
                                             int32_t depth, const tflmgen_u32 *stream)
{
    const int32_t values = (depth + 1) & ~1;
    const int32_t skipped = -values & 7;
    /* Before the copy begins, which is no pointer in C; the first pass skips what is there. */
    sums->groups.first = (const uint8_t *)((uintptr_t)copy - (uint32_t)skipped);
    sums->groups.skip_bytes = skipped / 2 * TFLMGEN_FULLY_CONNECTED_THUMB_COPIED_BYTES;
    sums->groups.row_end = copy + values;
    sums->groups.s2_start = 0u - 128u * tflmgen_fully_connected_thumb_sum(copy, NULL, row, depth);
    sums->stream = stream;
    sums->group_words = values + 4;
}

/* The next sums, `groups` times four. */
TFLMGEN_HELPER void tflmgen_sums_thumb_next(struct tflmgen_sums_thumb *sums, tflmgen_s32 *results, int32_t groups)
{
    sums->groups.output_end = (int8_t *)(void *)(results + 4 * groups);
    tflmgen_sums_thumb_groups(sums->stream, (int8_t *)(void *)results, &sums->groups);
    sums->stream += groups * sums->group_words;
}

#endif

#endif
