/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Detections out of a single-shot detector's encodings: boxes around anchors, non-maximum suppression. */
#ifndef TFLMGEN_KERNELS_DETECTION_H
#define TFLMGEN_KERNELS_DETECTION_H

#include <math.h>
#include <string.h>

#include "elementary_f32.h"

struct tflmgen_detection {
    int32_t boxes;
    int32_t coordinates;
    int32_t columns;
    int32_t background;
    int32_t detections;
    int32_t per_class;
    float score_threshold;
    float overlap_threshold;
    float y_scale;
    float x_scale;
    float h_scale;
    float w_scale;
};

/* Where detections go, best first. */
struct tflmgen_detection_list {
    tflmgen_f32 *boxes;
    tflmgen_f32 *classes;
    tflmgen_f32 *scores;
    int32_t count;
};

/* Encodings relative to anchors, both centre and size, to least and greatest y and x. False: a box has no area. */
TFLMGEN_HELPER bool tflmgen_detection_decode(const tflmgen_f32 *encodings, const tflmgen_f32 *anchors,
                                             tflmgen_f32 *boxes, const struct tflmgen_detection *params)
{
    for (int32_t i = 0; i < params->boxes; i++) {
        const tflmgen_f32 *code = encodings + i * params->coordinates;
        const tflmgen_f32 *anchor = anchors + 4 * i;
        tflmgen_f32 *box = boxes + 4 * i;
        const float y = code[0] / params->y_scale * anchor[2] + anchor[0];
        const float x = code[1] / params->x_scale * anchor[3] + anchor[1];
        const float h = 0.5F * tflmgen_exp_f32_of(code[2] / params->h_scale) * anchor[2];
        const float w = 0.5F * tflmgen_exp_f32_of(code[3] / params->w_scale) * anchor[3];
        box[0] = y - h;
        box[1] = x - w;
        box[2] = y + h;
        box[3] = x + w;
        if (!(box[0] < box[2] && box[1] < box[3])) {
            return false;
        }
    }
    return true;
}

/* Intersection over union. */
TFLMGEN_HELPER float tflmgen_detection_overlap(const tflmgen_f32 *a, const tflmgen_f32 *b)
{
    const float area_a = (a[2] - a[0]) * (a[3] - a[1]);
    const float area_b = (b[2] - b[0]) * (b[3] - b[1]);
    if (!(area_a > 0.0F && area_b > 0.0F)) {
        return 0.0F;
    }
    const float height = fminf(a[2], b[2]) - fmaxf(a[0], b[0]);
    const float width = fminf(a[3], b[3]) - fmaxf(a[1], b[1]);
    const float common = fmaxf(height, 0.0F) * fmaxf(width, 0.0F);
    return common / (area_a + area_b - common);
}

/* The candidate with the greatest score, the first of several; -1: none is left. */
TFLMGEN_HELPER int32_t tflmgen_detection_best(const tflmgen_f32 *scores, int32_t stride, const uint8_t *candidates,
                                              int32_t boxes)
{
    int32_t best = -1;
    for (int32_t i = 0; i < boxes; i++) {
        if (candidates[i] && (best < 0 || scores[i * stride] > scores[best * stride])) {
            best = i;
        }
    }
    return best;
}

/* Puts a detection behind those with at least its score; the last one leaves a full list. */
TFLMGEN_HELPER void tflmgen_detection_add(struct tflmgen_detection_list *list, int32_t most, const tflmgen_f32 *box,
                                          float class_number, float score)
{
    int32_t at = list->count;
    while (at > 0 && list->scores[at - 1] < score) {
        at--;
    }
    if (at == most) {
        return;
    }
    const int32_t kept = tflmgen_min_s32(list->count, most - 1) - at;
    memmove(list->boxes + 4 * at + 4, list->boxes + 4 * at, (size_t)kept * 4 * sizeof *box);
    memmove(list->classes + at + 1, list->classes + at, (size_t)kept * sizeof *box);
    memmove(list->scores + at + 1, list->scores + at, (size_t)kept * sizeof *box);
    memcpy(list->boxes + 4 * at, box, 4 * sizeof *box);
    list->classes[at] = class_number;
    list->scores[at] = score;
    list->count = at + kept + 1;
}

/* Adds up to `limit` boxes in the order of their scores, `stride` apart, without those that a better one overlaps.
 * `classes` has the class of each box, or is NULL: all are of class `class_number`. */
TFLMGEN_HELPER void tflmgen_detection_suppress(const tflmgen_f32 *boxes, const tflmgen_f32 *scores, int32_t stride,
                                               const tflmgen_s32 *classes, int32_t class_number, int32_t limit,
                                               uint8_t *candidates, struct tflmgen_detection_list *list,
                                               const struct tflmgen_detection *params)
{
    for (int32_t i = 0; i < params->boxes; i++) {
        candidates[i] = scores[i * stride] >= params->score_threshold;
    }
    for (int32_t found = 0; found < limit; found++) {
        const int32_t best = tflmgen_detection_best(scores, stride, candidates, params->boxes);
        if (best < 0) {
            return;
        }
        candidates[best] = 0;
        for (int32_t i = 0; i < params->boxes; i++) {
            if (candidates[i]) {
                const float overlap = tflmgen_detection_overlap(boxes + 4 * best, boxes + 4 * i);
                candidates[i] = !(overlap > params->overlap_threshold);
            }
        }
        tflmgen_detection_add(list, params->detections, boxes + 4 * best,
                              (float)(classes ? classes[best] : class_number), scores[best * stride]);
    }
}

TFLMGEN_HELPER void tflmgen_detection_finish(const struct tflmgen_detection_list *list, tflmgen_f32 *count,
                                             int32_t most)
{
    const size_t rest = (size_t)(most - list->count) * sizeof *count;
    memset(list->boxes + 4 * list->count, 0, 4 * rest);
    memset(list->classes + list->count, 0, rest);
    memset(list->scores + list->count, 0, rest);
    *count = (float)list->count;
}

/* Suppression among all boxes, each by the best of its classes. False: a box has no area. */
TFLMGEN_KERNEL bool tflmgen_detection_fast(const tflmgen_f32 *encodings, const tflmgen_f32 *predictions,
                                           const tflmgen_f32 *anchors, tflmgen_f32 *boxes, tflmgen_f32 *classes,
                                           tflmgen_f32 *scores, tflmgen_f32 *count, tflmgen_f32 *decoded,
                                           tflmgen_f32 *best, tflmgen_s32 *best_class, uint8_t *candidates,
                                           const struct tflmgen_detection *params)
{
    if (!tflmgen_detection_decode(encodings, anchors, decoded, params)) {
        return false;
    }
    for (int32_t i = 0; i < params->boxes; i++) {
        const tflmgen_f32 *row = predictions + i * params->columns + params->background;
        best_class[i] = 0;
        for (int32_t c = 1; c < params->columns - params->background; c++) {
            best_class[i] = row[c] > row[best_class[i]] ? c : best_class[i];
        }
        best[i] = row[best_class[i]];
    }
    struct tflmgen_detection_list list = {boxes, classes, scores, 0};
    tflmgen_detection_suppress(decoded, best, 1, best_class, 0, params->detections, candidates, &list, params);
    tflmgen_detection_finish(&list, count, params->detections);
    return true;
}

/* Suppression within each class, the best of all classes together. False: a box has no area. */
TFLMGEN_KERNEL bool tflmgen_detection_regular(const tflmgen_f32 *encodings, const tflmgen_f32 *predictions,
                                              const tflmgen_f32 *anchors, tflmgen_f32 *boxes, tflmgen_f32 *classes,
                                              tflmgen_f32 *scores, tflmgen_f32 *count, tflmgen_f32 *decoded,
                                              uint8_t *candidates, const struct tflmgen_detection *params)
{
    if (!tflmgen_detection_decode(encodings, anchors, decoded, params)) {
        return false;
    }
    struct tflmgen_detection_list list = {boxes, classes, scores, 0};
    for (int32_t c = 0; c < params->columns - params->background; c++) {
        tflmgen_detection_suppress(decoded, predictions + params->background + c, params->columns, NULL, c,
                                   params->per_class, candidates, &list, params);
    }
    tflmgen_detection_finish(&list, count, params->detections);
    return true;
}

#endif
