/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* NON_MAX_SUPPRESSION_V4 and _V5: the best boxes, without those that better ones overlap.
 *
 * Candidates are popped from a heap, the best score first, of equal ones the first box. One that survives the boxes
 * selected so far is selected; with soft suppression (Bodla et al., "Soft-NMS", 2017) each of them lowers its score
 * first, and a candidate whose score fell goes back into the heap, to be compared with later boxes only. */
#ifndef TFLMGEN_KERNELS_BOX_SUPPRESSION_H
#define TFLMGEN_KERNELS_BOX_SUPPRESSION_H

#include <float.h>
#include <math.h>

#include "common.h"

struct tflmgen_box_suppression {
    int32_t boxes;
    int32_t most; /* boxes that the outputs have room for */
};

struct tflmgen_box_candidate {
    float score;
    int32_t box;
    int32_t compared; /* selected boxes that it was compared with */
};

TFLMGEN_HELPER bool tflmgen_box_is_better(const struct tflmgen_box_candidate *a, const struct tflmgen_box_candidate *b)
{
    return a->score > b->score || (a->score == b->score && a->box < b->box);
}

/* Moves the candidate at `place` down to where both below it are worse. */
TFLMGEN_HELPER void tflmgen_box_heap_down(struct tflmgen_box_candidate *heap, int32_t count, int32_t place)
{
    const struct tflmgen_box_candidate moved = heap[place];
    for (int32_t below = 2 * place + 1; below < count; below = 2 * place + 1) {
        if (below + 1 < count && tflmgen_box_is_better(heap + below + 1, heap + below)) {
            ++below;
        }
        if (!tflmgen_box_is_better(heap + below, &moved)) {
            break;
        }
        heap[place] = heap[below];
        place = below;
    }
    heap[place] = moved;
}

/* Adds a candidate at the end, and moves it up to where the one above it is better. */
TFLMGEN_HELPER void tflmgen_box_heap_push(struct tflmgen_box_candidate *heap, int32_t count,
                                          struct tflmgen_box_candidate added)
{
    int32_t place = count;
    while (place > 0 && tflmgen_box_is_better(&added, heap + (place - 1) / 2)) {
        heap[place] = heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    heap[place] = added;
}

/* Intersection over union of two boxes, each with two opposite corners (y, x); 0 where one has no area, or one
 * below FLT_MIN, which some processors take for zero. */
TFLMGEN_HELPER float tflmgen_box_overlap(const tflmgen_f32 *a, const tflmgen_f32 *b)
{
    float area[2], low[2][2], high[2][2];
    for (int32_t i = 0; i < 2; ++i) {
        const tflmgen_f32 *box = i ? b : a;
        for (int32_t axis = 0; axis < 2; ++axis) {
            const bool ascends = box[axis] < box[axis + 2];
            low[i][axis] = ascends ? box[axis] : box[axis + 2];
            high[i][axis] = ascends ? box[axis + 2] : box[axis];
        }
        area[i] = (high[i][0] - low[i][0]) * (high[i][1] - low[i][1]);
    }
    if (area[0] < FLT_MIN || area[1] < FLT_MIN) {
        return 0.0f;
    }
    float common = 1.0f;
    for (int32_t axis = 0; axis < 2; ++axis) {
        const float end = high[0][axis] < high[1][axis] ? high[0][axis] : high[1][axis];
        const float begin = low[0][axis] > low[1][axis] ? low[0][axis] : low[1][axis];
        common *= end > begin ? end - begin : 0.0f;
    }
    return common / (area[0] + area[1] - common);
}

/* Compares a candidate with the boxes that were selected since it was compared before. Whether it may stay. */
TFLMGEN_HELPER bool tflmgen_box_survives(struct tflmgen_box_candidate *candidate, const tflmgen_f32 *boxes,
                                         const tflmgen_s32 *selected, int32_t count, float greatest_overlap,
                                         float least_score, float scale)
{
    for (int32_t i = count - 1; i >= candidate->compared; --i) {
        const float overlap = tflmgen_box_overlap(boxes + 4 * candidate->box, boxes + 4 * selected[i]);
        if (overlap >= greatest_overlap) {
            return false;
        }
        if (scale < 0.0f) {
            candidate->score *= expf(scale * overlap * overlap);
            if (candidate->score <= least_score) {
                break;
            }
        }
    }
    candidate->compared = count;
    return true;
}

/* The selected boxes, and their scores where `selected_scores` is not NULL; zeros behind them. sigma: of soft
 * suppression; NULL or 0 for none. */
TFLMGEN_KERNEL void tflmgen_box_suppression(const tflmgen_f32 *boxes, const tflmgen_f32 *scores,
                                            const tflmgen_f32 *greatest_overlap, const tflmgen_f32 *least_score,
                                            const tflmgen_f32 *sigma, tflmgen_s32 *selected,
                                            tflmgen_f32 *selected_scores, tflmgen_s32 *selected_count,
                                            struct tflmgen_box_candidate *heap,
                                            const struct tflmgen_box_suppression *params)
{
    const float scale = sigma && *sigma > 0.0f ? -0.5f / *sigma : 0.0f;
    int32_t candidates = 0, count = 0;
    for (int32_t box = 0; box < params->boxes; ++box) {
        if (scores[box] > *least_score) {
            tflmgen_box_heap_push(heap, candidates++, (struct tflmgen_box_candidate){scores[box], box, 0});
        }
    }
    while (count < params->most && candidates > 0) {
        struct tflmgen_box_candidate next = heap[0];
        const float before = next.score;
        heap[0] = heap[--candidates];
        tflmgen_box_heap_down(heap, candidates, 0);
        if (!tflmgen_box_survives(&next, boxes, selected, count, *greatest_overlap, *least_score, scale)) {
            continue;
        }
        if (next.score == before) {
            if (selected_scores) {
                selected_scores[count] = next.score;
            }
            selected[count++] = next.box;
        } else if (next.score > *least_score) {
            tflmgen_box_heap_push(heap, candidates++, next);
        }
    }
    *selected_count = count;
    for (int32_t i = count; i < params->most; ++i) {
        selected[i] = 0;
        if (selected_scores) {
            selected_scores[i] = 0.0f;
        }
    }
}

#endif
