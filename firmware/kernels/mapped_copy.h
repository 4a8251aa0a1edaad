/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Copies whose places follow no even stride: MIRROR_PAD and RESIZE_NEAREST_NEIGHBOR.
 *
 * `map` holds, for each loop of the nest in turn, the input's byte offset of each of its steps; the offsets of all
 * loops add up to where a block is. It is made at build time. */
#ifndef TFLMGEN_KERNELS_MAPPED_COPY_H
#define TFLMGEN_KERNELS_MAPPED_COPY_H

#include "move.h"
#include "nest.h"

struct tflmgen_mapped_copy {
    int32_t rank;
    int32_t extent[TFLMGEN_MAX_RANK];
    int32_t block_bytes;
};

TFLMGEN_KERNEL void tflmgen_mapped_copy(const void *input, const tflmgen_s32 *map, void *output,
                                        const struct tflmgen_mapped_copy *params)
{
    const int32_t row = params->rank - 1;
    const int32_t block = params->block_bytes;
    int32_t index[TFLMGEN_MAX_RANK] = {0};
    uint8_t *to = output;
    int32_t loop;
    do {
        const tflmgen_s32 *table = map;
        int32_t start = 0;
        for (loop = 0; loop < row; loop++) {
            start += table[index[loop]];
            table += params->extent[loop];
        }
        for (int32_t i = 0; i < params->extent[row]; i++) {
            tflmgen_move_block(to, (const uint8_t *)input + start + table[i], block);
            to += block;
        }
        for (loop = row - 1; loop >= 0; loop--) {
            index[loop]++;
            if (index[loop] < params->extent[loop]) {
                break;
            }
            index[loop] = 0;
        }
    } while (loop >= 0);
}

#endif
