/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* HASHTABLE_LOOKUP: rows by their key, out of ascending keys. EMBEDDING_LOOKUP_SPARSE: weighted sums of rows of a
 * table, one for each example of a sparse list of row numbers. LiteRT's kernels of these names. */
#ifndef TFLMGEN_KERNELS_KEYED_ROWS_H
#define TFLMGEN_KERNELS_KEYED_ROWS_H

#include <math.h>
#include <string.h>

#include "common.h"

struct tflmgen_hashtable_lookup {
    int32_t queries;
    int32_t keys;
    int32_t row_bytes;
};

/* hits: whether there is the key; else the row is zeros. */
TFLMGEN_KERNEL void tflmgen_hashtable_lookup(const tflmgen_s32 *queries, const tflmgen_s32 *keys, const void *table,
                                             void *output, uint8_t *hits, const struct tflmgen_hashtable_lookup *p)
{
    const size_t row_bytes = (size_t)p->row_bytes;
    for (int32_t i = 0; i < p->queries; ++i) {
        int32_t first = 0;
        for (int32_t end = p->keys; first < end;) {
            const int32_t middle = first + (end - first) / 2;
            if (keys[middle] < queries[i]) {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        uint8_t *const row = (uint8_t *)output + (size_t)i * row_bytes;
        hits[i] = first < p->keys && keys[first] == queries[i];
        if (hits[i]) {
            memcpy(row, (const uint8_t *)table + (size_t)first * row_bytes, row_bytes);
        } else {
            memset(row, 0, row_bytes);
        }
    }
}

struct tflmgen_embedding_sparse {
    int32_t entries;
    int32_t rank; /* of the list of rows: examples have one dimension less */
    int32_t rows;
    int32_t columns;
    int32_t examples;
    bool is_mean;      /* sums are divided by the sum of their weights */
    bool is_root_mean; /* or by the root of the sum of their squares */
    int32_t dimension[4];
};

TFLMGEN_HELPER void tflmgen_finish_example(tflmgen_f32 *sums, float weight, float squares,
                                           const struct tflmgen_embedding_sparse *p)
{
    if (p->is_mean || p->is_root_mean) {
        const float divisor = p->is_mean ? weight : sqrtf(squares);
        for (int32_t i = 0; i < p->columns; ++i) {
            sums[i] /= divisor;
        }
    }
}

/* places: of each entry, [rank]. Entries of one example follow one another. A row number out of range is moved to the
 * nearest that exists; entries of examples that do not exist are left out. */
TFLMGEN_KERNEL void tflmgen_embedding_sparse(const tflmgen_s32 *ids, const tflmgen_s32 *places,
                                             const tflmgen_f32 *weights, const tflmgen_f32 *table, tflmgen_f32 *output,
                                             const struct tflmgen_embedding_sparse *p)
{
    int32_t current = -1;
    float weight = 0.0f;
    float squares = 0.0f;
    memset(output, 0, (size_t)p->examples * (size_t)p->columns * sizeof *output);
    for (int32_t i = 0; i < p->entries; ++i) {
        const tflmgen_s32 *const place = places + i * p->rank;
        int32_t example = 0;
        bool exists = true;
        for (int32_t k = 0; k + 1 < p->rank; ++k) {
            const bool is_inside = place[k] >= 0 && place[k] < p->dimension[k];
            exists = exists && is_inside;
            example = example * p->dimension[k] + (is_inside ? place[k] : 0);
        }
        if (!exists) {
            continue;
        }
        if (example != current) {
            if (current >= 0) {
                tflmgen_finish_example(output + current * p->columns, weight, squares, p);
            }
            current = example;
            weight = 0.0f;
            squares = 0.0f;
        }
        weight += weights[i];
        squares += weights[i] * weights[i];
        const tflmgen_f32 *const row = table + tflmgen_clamp_s32(ids[i], 0, p->rows - 1) * p->columns;
        for (int32_t column = 0; column < p->columns; ++column) {
            output[current * p->columns + column] += row[column] * weights[i];
        }
    }
    if (current >= 0) {
        tflmgen_finish_example(output + current * p->columns, weight, squares, p);
    }
}

#endif
