/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Copies whose places follow one another evenly but for some turns: MIRROR_PAD, and GATHER at constant places.
 *
 * `runs` holds, for each loop of the nest in turn, its runs: how many steps, the input's byte offset of the first, and
 * how much is added for each other one. The offsets of all loops add up to where a block is. */
#ifndef TFLMGEN_KERNELS_RUN_COPY_H
#define TFLMGEN_KERNELS_RUN_COPY_H

#include "move.h"
#include "nest.h"

struct tflmgen_run_copy {
    int32_t rank;
    int32_t runs[TFLMGEN_MAX_RANK];
    int32_t block_bytes;
};

/* Where a loop is: its run, how many of that run's steps are left, and the offset. */
struct tflmgen_run_cursor {
    const tflmgen_s32 *first;
    const tflmgen_s32 *run;
    int32_t left;
    int32_t offset;
};

TFLMGEN_HELPER void tflmgen_run_begin(struct tflmgen_run_cursor *cursor, const tflmgen_s32 *run)
{
    cursor->run = run;
    cursor->left = run[0];
    cursor->offset = run[1];
}

/* Copies all steps of one loop, the innermost; returns the end of the output. */
TFLMGEN_HELPER uint8_t *tflmgen_run_row(uint8_t *to, const uint8_t *from, const tflmgen_s32 *run, int32_t runs,
                                        int32_t block)
{
    for (; runs > 0; runs--, run += 3) {
        const uint8_t *start = from + run[1];
        if (run[2] == block) {
            memcpy(to, start, (size_t)run[0] * (size_t)block);
            to += run[0] * block;
            continue;
        }
        for (int32_t i = 0; i < run[0]; i++) {
            tflmgen_move_block(to, start, block);
            start += run[2];
            to += block;
        }
    }
    return to;
}

TFLMGEN_KERNEL void tflmgen_run_copy(const void *input, const tflmgen_s32 *runs, void *output,
                                     const struct tflmgen_run_copy *params)
{
    struct tflmgen_run_cursor cursors[TFLMGEN_MAX_RANK];
    const int32_t row = params->rank - 1;
    uint8_t *to = output;
    int32_t loop;
    for (loop = 0; loop < row; loop++) {
        cursors[loop].first = runs;
        tflmgen_run_begin(&cursors[loop], runs);
        runs += 3 * params->runs[loop];
    }
    do {
        const uint8_t *from = input;
        for (loop = 0; loop < row; loop++) {
            from += cursors[loop].offset;
        }
        to = tflmgen_run_row(to, from, runs, params->runs[row], params->block_bytes);
        for (loop = row - 1; loop >= 0; loop--) {
            struct tflmgen_run_cursor *cursor = &cursors[loop];
            if (--cursor->left > 0) {
                cursor->offset += cursor->run[2];
                break;
            }
            if (cursor->run + 3 < cursor->first + 3 * params->runs[loop]) {
                tflmgen_run_begin(cursor, cursor->run + 3);
                break;
            }
            tflmgen_run_begin(cursor, cursor->first);
        }
    } while (loop >= 0);
}

#endif
