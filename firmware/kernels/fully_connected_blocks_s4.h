/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* FULLY_CONNECTED of float32 by int4 weights with a scale for each block of a row, as fully_connected_blocks.h has it,
 * but with the weights as files have them, two to a byte, the even ones in the lower halves.
 *
 * Weights are multiplied as numbers from 0 to 15, and eight times the block's sum of inputs is taken away. Of eight
 * inputs the first four stand in the even places of `words`, the last four in the odd ones: one mask takes two weights
 * out of a word that are four apart. */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_BLOCKS_S4_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_BLOCKS_S4_H

#include "dynamic_quantize.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
#include "dsp.h"
#endif

struct tflmgen_fully_connected_blocks_s4 {
    int32_t batches;
    int32_t depth;
    int32_t units;
    int32_t block_size; /* divides depth; a multiple of 8 */
    float output_min;
    float output_max;
};

/* Adds the products of `length` inputs with weights of two rows, each larger by 8 than it is. */
TFLMGEN_HELPER void tflmgen_dot_two_rows_s4(int32_t sums[2], const tflmgen_s16 *words, const uint8_t *first,
                                            const uint8_t *second, int32_t length)
{
    int32_t sum0 = 0;
    int32_t sum1 = 0;
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
    /* 16 products: 2 LDRD of inputs; twice LDR, EOR, 4 AND with a shifted operand, and 4 SMLAD. */
    uint32_t mask = 0x000F000Fu;
    __asm__("" : "+r"(mask)); /* in a register: beside one, AND shifts its other operand */
    for (const tflmgen_s16 *const end = words + length; words != end; words += 8) {
        const uint32_t inputs0 = tflmgen_load4(words);
        const uint32_t inputs1 = tflmgen_load4(words + 2);
        const uint32_t inputs2 = tflmgen_load4(words + 4);
        const uint32_t inputs3 = tflmgen_load4(words + 6);
        uint32_t weights = tflmgen_load4(first) ^ 0x88888888u;
        sum0 = tflmgen_smlad(weights & mask, inputs0, sum0);
        sum0 = tflmgen_smlad(weights >> 4 & mask, inputs1, sum0);
        sum0 = tflmgen_smlad(weights >> 8 & mask, inputs2, sum0);
        sum0 = tflmgen_smlad(weights >> 12 & mask, inputs3, sum0);
        weights = tflmgen_load4(second) ^ 0x88888888u;
        sum1 = tflmgen_smlad(weights & mask, inputs0, sum1);
        sum1 = tflmgen_smlad(weights >> 4 & mask, inputs1, sum1);
        sum1 = tflmgen_smlad(weights >> 8 & mask, inputs2, sum1);
        sum1 = tflmgen_smlad(weights >> 12 & mask, inputs3, sum1);
        first += 4;
        second += 4;
    }
#else
    /* The place of the first weight of each byte; the second one is two places on. */
    static const uint8_t places[4] = {0, 4, 1, 5};
    for (int32_t i = 0; i < length; i += 8) {
        for (int32_t byte = 0; byte < 4; ++byte) {
            const tflmgen_s16 *const inputs = words + i + places[byte];
            const int32_t weights0 = *first++ ^ 0x88;
            const int32_t weights1 = *second++ ^ 0x88;
            sum0 += (weights0 & 15) * inputs[0] + (weights0 >> 4) * inputs[2];
            sum1 += (weights1 & 15) * inputs[0] + (weights1 >> 4) * inputs[2];
        }
    }
#endif
    sums[0] = sum0;
    sums[1] = sum1;
}

/* The row without its zero point in the order of the products, and eight times the sum of each block. */
TFLMGEN_HELPER void tflmgen_words_of_row(const int8_t *row, int32_t zero_point, tflmgen_s16 *words, tflmgen_s32 *eights,
                                         int32_t depth, int32_t block_size)
{
    for (int32_t i = 0; i < depth; i += 8) {
        for (int32_t k = 0; k < 8; ++k) {
            words[i + (k < 4 ? 2 * k : 2 * k - 7)] = (tflmgen_s16)(row[i + k] - zero_point);
        }
    }
    for (int32_t block = 0; block < depth / block_size; ++block) {
        int32_t sum = 0;
        for (int32_t i = 0; i < block_size; ++i) {
            sum += words[block * block_size + i];
        }
        eights[block] = 8 * sum;
    }
}

/* filter: [units][depth / 2] bytes; scales: float[units][depth / block_size]; bias: one per unit, or NULL;
 * eights: scratch for as many words as a row has blocks, and for 3 bytes of each input of a row behind them. */
TFLMGEN_KERNEL void tflmgen_fully_connected_blocks_s4(const tflmgen_f32 *input, const uint8_t *restrict filter,
                                                      const tflmgen_f32 *restrict scales,
                                                      const tflmgen_f32 *restrict bias, tflmgen_f32 *output,
                                                      tflmgen_s32 *restrict eights,
                                                      const struct tflmgen_fully_connected_blocks_s4 *p)
{
    const int32_t blocks = p->depth / p->block_size;
    const int32_t rows = p->units < 2 ? 1 : 2;
    tflmgen_s16 *const words = (tflmgen_s16 *)(void *)(eights + blocks);
    int8_t *const quantized = (int8_t *)(void *)(words + p->depth);
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const struct tflmgen_row_scale row = tflmgen_quantize_row(input, quantized, p->depth, true);
        tflmgen_words_of_row(quantized, row.zero_point, words, eights, p->depth, p->block_size);
        for (int32_t unit = 0; unit < p->units;) {
            const int32_t first = tflmgen_min_s32(unit, p->units - rows);
            float totals[2] = {0.0f, 0.0f};
            for (int32_t block = 0; block < blocks; ++block) {
                const uint8_t *const weights = filter + (first * p->depth + block * p->block_size) / 2;
                int32_t sums[2];
                tflmgen_dot_two_rows_s4(sums, words + block * p->block_size, weights,
                                        weights + (rows - 1) * p->depth / 2, p->block_size);
                for (int32_t i = 0; i < rows; ++i) {
                    totals[i] += (float)(sums[i] - eights[block]) * scales[(first + i) * blocks + block];
                }
            }
            for (; unit < first + rows; ++unit) {
                const float scaled = totals[unit - first] * row.scale;
                *output++ = tflmgen_clamp_f32((bias ? bias[unit] : 0.0f) + scaled, p->output_min, p->output_max);
            }
        }
        input += p->depth;
    }
}

#endif
