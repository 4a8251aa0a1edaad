/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* TreeEnsemble: decision trees whose leaves are added, or of which the least or greatest is taken.
 *
 * A node is two words: a threshold, and a link. The low half of a link is the feature that the threshold is for (bit
 * 15: NaN counts as no greater), the high half how many nodes further the next one is where the feature is greater;
 * where it is not, that is the node behind. A leaf has 0 in the high half. Either its threshold is the bits of a weight
 * and the low half says which output it is for, or its threshold is the row of its weights, one for each output.
 *
 *     nodes    [x0 <= 1.5 | +3]  [x1 <= 0.2 | +1...]  leaf  leaf  ...
 *
 * Thresholds and features are compared as integers that are in the order of the floats, which takes no FPU. */
#ifndef TFLMGEN_KERNELS_TREE_ENSEMBLE_H
#define TFLMGEN_KERNELS_TREE_ENSEMBLE_H

#include <string.h>

#include "common.h"

enum { TFLMGEN_TREES_SUM, TFLMGEN_TREES_LEAST, TFLMGEN_TREES_GREATEST };

struct tflmgen_tree_ensemble {
    int32_t rows;
    int32_t features;
    int32_t trees;
    int32_t outputs;
    int32_t aggregate;
    bool nan_links;
    bool weight_rows;
};

/* An integer in the order of the floats: -0 is just below +0, NaN is the greatest. */
TFLMGEN_HELPER int32_t tflmgen_ordered_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return INT32_MAX;
    }
    return (int32_t)((bits & 0x80000000u) != 0 ? bits ^ 0x7fffffffu : bits);
}

TFLMGEN_HELPER float tflmgen_aggregated(float total, float weight, int32_t aggregate, bool is_first)
{
    if (aggregate == TFLMGEN_TREES_SUM) {
        return total + weight;
    }
    return is_first || (aggregate == TFLMGEN_TREES_LEAST ? weight < total : weight > total) ? weight : total;
}

TFLMGEN_HELPER const tflmgen_s32 *tflmgen_tree_leaf(const tflmgen_s32 *node, const tflmgen_s32 *ordered, bool nan_links)
{
    for (;;) {
        const uint32_t link = (uint32_t)node[1];
        if (link >> 16 == 0) {
            return node;
        }
        const int32_t feature = ordered[link & 0x7fffu];
        const bool is_near = feature <= node[0] || (nan_links && (link & 0x8000u) != 0 && feature == INT32_MAX);
        node += is_near ? 2 : 2 * (link >> 16);
    }
}

TFLMGEN_KERNEL void tflmgen_tree_ensemble(const tflmgen_f32 *input, const tflmgen_s32 *nodes, const tflmgen_s32 *roots,
                                          const tflmgen_f32 *weights, tflmgen_f32 *output, tflmgen_s32 *ordered,
                                          const struct tflmgen_tree_ensemble *params)
{
    const int32_t outputs = params->outputs;
    for (int32_t row = 0; row < params->rows; row++) {
        for (int32_t i = 0; i < params->features; i++) {
            ordered[i] = tflmgen_ordered_f32(input[i]);
        }
        for (int32_t k = 0; k < outputs; k++) {
            output[k] = 0.0f;
        }
        for (int32_t tree = 0; tree < params->trees; tree++) {
            const tflmgen_s32 *leaf = tflmgen_tree_leaf(nodes + 2 * roots[tree], ordered, params->nan_links);
            if (params->weight_rows) {
                const tflmgen_f32 *own = weights + leaf[0] * outputs;
                for (int32_t k = 0; k < outputs; k++) {
                    output[k] = tflmgen_aggregated(output[k], own[k], params->aggregate, tree == 0);
                }
            } else {
                float weight;
                memcpy(&weight, leaf, sizeof weight);
                tflmgen_f32 *own = output + (leaf[1] & 0x7fff);
                *own = tflmgen_aggregated(*own, weight, params->aggregate, tree == 0);
            }
        }
        input += params->features;
        output += outputs;
    }
}

#endif
