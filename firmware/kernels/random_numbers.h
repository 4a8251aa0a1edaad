/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* RANDOM_UNIFORM, RANDOM_STANDARD_NORMAL, MULTINOMIAL and STABLEHLO_RNG_BIT_GENERATOR, by generators that encrypt a
 * counter: Philox4x32 of 10 rounds and Threefry2x32 of 20 (Salmon et al., "Parallel random numbers: as easy as 1, 2,
 * 3", 2011). Bits, and numbers made of them, are those of LiteRT and TensorFlow for the same seeds. */
#ifndef TFLMGEN_KERNELS_RANDOM_NUMBERS_H
#define TFLMGEN_KERNELS_RANDOM_NUMBERS_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "common.h"

typedef double TFLMGEN_ELEMENT tflmgen_f64;

struct tflmgen_random {
    int32_t elements;
    int32_t key[2]; /* the first seed */
};

struct tflmgen_multinomial {
    int32_t batches;
    int32_t classes;
    int32_t samples;
    int32_t key[2];
    int32_t skip[2]; /* blocks of four numbers that a call uses up, low word first */
};

struct tflmgen_random_bits {
    int32_t words;       /* of 32 bits of the result */
    int32_t state_words; /* the key, then the counter; of PHILOX it may be wider */
};

/* A block of four words that belongs to a counter. */
TFLMGEN_HELPER void tflmgen_philox(const tflmgen_u32 *counter, uint32_t key0, uint32_t key1, tflmgen_u32 *block)
{
    memcpy(block, counter, 4 * sizeof *block);
    for (int32_t i = 0; i < 10; ++i) {
        const uint64_t even = (uint64_t)block[0] * 0xD2511F53u;
        const uint64_t odd = (uint64_t)block[2] * 0xCD9E8D57u;
        block[0] = (uint32_t)(odd >> 32) ^ block[1] ^ key0;
        block[1] = (uint32_t)odd;
        block[2] = (uint32_t)(even >> 32) ^ block[3] ^ key1;
        block[3] = (uint32_t)even;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

/* A block of two words that belongs to a counter. */
TFLMGEN_HELPER void tflmgen_threefry(const tflmgen_u32 *counter, uint32_t key0, uint32_t key1, tflmgen_u32 *block)
{
    static const uint8_t rotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    const uint32_t keys[3] = {key0, key1, key0 ^ key1 ^ 0x1BD11BDAu};
    block[0] = counter[0] + key0;
    block[1] = counter[1] + key1;
    for (uint32_t round = 0; round < 20; ++round) {
        const uint32_t rotation = rotations[round % 8];
        block[0] += block[1];
        block[1] = (block[1] << rotation | block[1] >> (32 - rotation)) ^ block[0];
        if (round % 4 == 3) {
            const uint32_t turn = round / 4 + 1;
            block[0] += keys[turn % 3];
            block[1] += keys[(turn + 1) % 3] + turn;
        }
    }
}

/* Adds to a counter of 128 bits, low word first. */
TFLMGEN_HELPER void tflmgen_skip_blocks(tflmgen_u32 *counter, uint32_t low, uint32_t high)
{
    const uint32_t added[4] = {low, high, 0, 0};
    uint64_t sum = 0;
    for (int32_t i = 0; i < 4; ++i) {
        sum = (sum >> 32) + counter[i] + added[i];
        counter[i] = (uint32_t)sum;
    }
}

/* A number from 0 to less than 1 with 23 random bits. */
TFLMGEN_HELPER float tflmgen_unit_f32(uint32_t bits)
{
    const uint32_t pattern = (bits & 0x7FFFFFu) | 0x3F800000u;
    float number;
    memcpy(&number, &pattern, sizeof number);
    return number - 1.0f;
}

/* A number from 0 to less than 1 with 52 random bits. */
TFLMGEN_HELPER double tflmgen_unit_f64(uint32_t high, uint32_t low)
{
    const uint64_t pattern = (uint64_t)(high & 0xFFFFFu) << 32 | low | 0x3FF0000000000000u;
    double number;
    memcpy(&number, &pattern, sizeof number);
    return number - 1.0;
}

/* Two independent normal numbers of two uniform ones: Box and Muller, 1958. */
TFLMGEN_HELPER void tflmgen_normal_pair(uint32_t first, uint32_t second, tflmgen_f32 *pair)
{
    const float uniform = tflmgen_unit_f32(first);
    const float angle = (float)(6.283185307179586 * (double)tflmgen_unit_f32(second));
    const float radius = sqrtf(-2.0f * logf(uniform < 1.0e-7f ? 1.0e-7f : uniform));
    pair[0] = sinf(angle) * radius;
    pair[1] = cosf(angle) * radius;
}

/* counter: before the call; next: after it. They may be one. */
#define TFLMGEN_RANDOM(name, MAKE)                                                                      \
    TFLMGEN_KERNEL void name(const tflmgen_u32 *counter, tflmgen_f32 *output, tflmgen_u32 *next,        \
                             const struct tflmgen_random *p)                                            \
    {                                                                                                   \
        uint32_t now[4];                                                                                \
        memcpy(now, counter, sizeof now);                                                               \
        for (int32_t i = 0; i < p->elements; i += 4) {                                                  \
            uint32_t block[4];                                                                          \
            float numbers[4];                                                                           \
            tflmgen_philox(now, (uint32_t)p->key[0], (uint32_t)p->key[1], block);                       \
            MAKE;                                                                                       \
            memcpy(output + i, numbers, (size_t)tflmgen_min_s32(4, p->elements - i) * sizeof *numbers); \
            tflmgen_skip_blocks(now, 1, 0);                                                             \
        }                                                                                               \
        memcpy(next, now, sizeof now);                                                                  \
    }

TFLMGEN_RANDOM(tflmgen_random_uniform, for (int32_t k = 0; k < 4; ++k) { numbers[k] = tflmgen_unit_f32(block[k]); })
TFLMGEN_RANDOM(tflmgen_random_normal, tflmgen_normal_pair(block[0], block[1], numbers);
               tflmgen_normal_pair(block[2], block[3], numbers + 2))

/* Sums of the classes' weights exp(logit - greatest), of which those that are not finite have none; the last. */
TFLMGEN_HELPER double tflmgen_class_sums(const tflmgen_f32 *logits, int32_t classes, tflmgen_f64 *sums)
{
    float greatest = -FLT_MAX;
    for (int32_t i = 0; i < classes; ++i) {
        if (isfinite(logits[i]) && logits[i] > greatest) {
            greatest = logits[i];
        }
    }
    double sum = 0.0;
    for (int32_t i = 0; i < classes; ++i) {
        if (isfinite(logits[i])) {
            sum += exp((double)logits[i] - (double)greatest);
        }
        sums[i] = sum;
    }
    return sum;
}

/* Samples are the first classes whose sum is above a random part of the whole; `classes` where no logit is finite. */
#define TFLMGEN_MULTINOMIAL(name, element)                                                             \
    TFLMGEN_KERNEL void name(const tflmgen_f32 *logits, const tflmgen_u32 *counter, tflmgen_f64 *sums, \
                             element *output, tflmgen_u32 *next, const struct tflmgen_multinomial *p)  \
    {                                                                                                  \
        uint32_t now[4];                                                                               \
        uint32_t block[4];                                                                             \
        bool is_used = true;                                                                           \
        memcpy(now, counter, sizeof now);                                                              \
        memcpy(next, counter, sizeof now);                                                             \
        for (int32_t batch = 0; batch < p->batches; ++batch) {                                         \
            const double whole = tflmgen_class_sums(logits + batch * p->classes, p->classes, sums);    \
            for (int32_t sample = 0; sample < p->samples; ++sample) {                                  \
                if (is_used) {                                                                         \
                    tflmgen_philox(now, (uint32_t)p->key[0], (uint32_t)p->key[1], block);              \
                    tflmgen_skip_blocks(now, 1, 0);                                                    \
                }                                                                                      \
                is_used = !is_used;                                                                    \
                const tflmgen_u32 *const words = is_used ? block + 2 : block;                          \
                const double part = tflmgen_unit_f64(words[0], words[1]) * whole;                      \
                int32_t chosen = 0;                                                                    \
                while (chosen < p->classes && sums[chosen] <= part) {                                  \
                    ++chosen;                                                                          \
                }                                                                                      \
                *output++ = chosen;                                                                    \
            }                                                                                          \
        }                                                                                              \
        memcpy(now, next, sizeof now);                                                                 \
        tflmgen_skip_blocks(now, (uint32_t)p->skip[0], (uint32_t)p->skip[1]);                          \
        memcpy(next, now, sizeof now);                                                                 \
    }

TFLMGEN_MULTINOMIAL(tflmgen_multinomial_s32, tflmgen_s32)
TFLMGEN_MULTINOMIAL(tflmgen_multinomial_s64, tflmgen_s64)

/* state, next: a key of two words, then the counter, whose first two words count.. */
#define TFLMGEN_RANDOM_BITS(name, block_of, size, ...)                                                         \
    TFLMGEN_KERNEL void name(const void *state, void *next, void *output, const struct tflmgen_random_bits *p) \
    {                                                                                                          \
        const size_t state_bytes = (size_t)p->state_words * sizeof(uint32_t);                                  \
        uint32_t words[6] = {0};                                                                               \
        memcpy(words, state, state_bytes);                                                                     \
        uint32_t counter[4] = {words[2], words[3], __VA_ARGS__};                                               \
        for (int32_t i = 0; i < p->words; i += (size)) {                                                       \
            uint32_t block[4];                                                                                 \
            block_of(counter, words[0], words[1], block);                                                      \
            memcpy((uint8_t *)output + (size_t)i * sizeof *block, block,                                       \
                   (size_t)tflmgen_min_s32(size, p->words - i) * sizeof *block);                               \
            counter[1] += ++counter[0] == 0;                                                                   \
        }                                                                                                      \
        words[2] = counter[0];                                                                                 \
        words[3] = counter[1];                                                                                 \
        memcpy(next, words, state_bytes);                                                                      \
    }

TFLMGEN_RANDOM_BITS(tflmgen_random_bits_philox, tflmgen_philox, 4, words[p->state_words == 6 ? 4 : 0],
                    words[p->state_words == 6 ? 5 : 1])
TFLMGEN_RANDOM_BITS(tflmgen_random_bits_threefry, tflmgen_threefry, 2, 0, 0)

#endif
