/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* TFLite Micro's signal operators that remember samples: framer, stacker, delay, overlap-add.
 *
 * What TFLite Micro keeps in ring buffers lies here in order, the oldest sample first. `before` and `after` are that
 * memory before and after the call, and may be one. What is not valid yet is zero.
 */
#ifndef TFLMGEN_KERNELS_SIGNAL_FRAMES_H
#define TFLMGEN_KERNELS_SIGNAL_FRAMES_H

#include <string.h>

#include "common.h"

/* The first `count` samples of `kept` samples followed by others. */
TFLMGEN_HELPER void tflmgen_signal_take(tflmgen_s16 *output, int32_t count, const tflmgen_s16 *memory, int32_t kept,
                                        const tflmgen_s16 *fresh)
{
    const int32_t old = tflmgen_min_s32(count, kept);
    memcpy(output, memory, (size_t)old * sizeof *output);
    memcpy(output + old, fresh, (size_t)(count - old) * sizeof *output);
}

/* Forgets the first `count` samples of `kept` and `added` ones and keeps the others in `memory`. */
TFLMGEN_HELPER void tflmgen_signal_keep(tflmgen_s16 *memory, int32_t kept, const tflmgen_s16 *fresh, int32_t added,
                                        int32_t count)
{
    const int32_t old = tflmgen_max_s32(kept - count, 0);
    const int32_t skipped = tflmgen_max_s32(count - kept, 0);
    memmove(memory, memory + (kept - old), (size_t)old * sizeof *memory);
    memcpy(memory + old, fresh + skipped, (size_t)(added - skipped) * sizeof *memory);
}

struct tflmgen_signal_framer {
    int32_t channels;
    int32_t frames;
    int32_t size;
    int32_t step;
    int32_t memory;
};

/* Frames of `size` samples, one for each `step` new ones, per channel. `count` is how many samples are kept. */
TFLMGEN_KERNEL void tflmgen_signal_framer(const tflmgen_s16 *input, const tflmgen_s16 *before,
                                          const tflmgen_s32 *count_before, tflmgen_s16 *output, tflmgen_bool *valid,
                                          tflmgen_s16 *after, tflmgen_s32 *count_after,
                                          const struct tflmgen_signal_framer *params)
{
    const int32_t size = params->size;
    const int32_t step = params->step;
    const int32_t first = *count_before;
    int32_t kept = first;
    *valid = true;
    memmove(after, before, (size_t)(params->channels * params->memory) * sizeof *after);
    for (int32_t channel = 0; channel < params->channels; channel++) {
        tflmgen_s16 *memory = after + channel * params->memory;
        kept = first;
        for (int32_t frame = 0; frame < params->frames; frame++) {
            const int32_t at = channel * params->frames + frame;
            const tflmgen_s16 *fresh = input + at * step;
            const bool whole = kept + step >= size;
            if (whole) {
                tflmgen_signal_take(output + at * size, size, memory, kept, fresh);
            } else {
                memset(output + at * size, 0, (size_t)size * sizeof *output);
                *valid = false;
            }
            tflmgen_signal_keep(memory, kept, fresh, step, whole ? step : 0);
            kept += whole ? 0 : step;
        }
    }
    *count_after = kept;
}

struct tflmgen_signal_stacker {
    int32_t channels;
    int32_t size;
    int32_t left;
    int32_t step;
    int32_t memory;
};

/* Stacks `size` samples, and forgets `step`. The first ones are repeated `left` times before themselves; `count` is how
 * many samples are kept, -1 at first. */
TFLMGEN_KERNEL void tflmgen_signal_stacker(const tflmgen_s16 *input, const tflmgen_s16 *before,
                                           const tflmgen_s32 *count_before, tflmgen_s16 *output, tflmgen_bool *valid,
                                           tflmgen_s16 *after, tflmgen_s32 *count_after,
                                           const struct tflmgen_signal_stacker *params)
{
    const int32_t channels = params->channels;
    int32_t kept = *count_before;
    memmove(after, before, (size_t)params->memory * sizeof *after);
    if (kept < 0) {
        for (kept = 0; kept < params->left * channels; kept += channels) {
            memcpy(after + kept, input, (size_t)channels * sizeof *after);
        }
    }
    *valid = kept + channels >= params->size;
    if (*valid) {
        tflmgen_signal_take(output, params->size, after, kept, input);
    } else {
        memset(output, 0, (size_t)params->size * sizeof *output);
    }
    tflmgen_signal_keep(after, kept, input, channels, *valid ? params->step : 0);
    *count_after = kept + channels - (*valid ? params->step : 0);
}

struct tflmgen_signal_delay {
    int32_t channels;
    int32_t length;
    int32_t delay;
};

TFLMGEN_KERNEL void tflmgen_signal_delay(const tflmgen_s16 *input, const tflmgen_s16 *before, tflmgen_s16 *output,
                                         tflmgen_s16 *after, const struct tflmgen_signal_delay *params)
{
    memmove(after, before, (size_t)(params->channels * params->delay) * sizeof *after);
    for (int32_t channel = 0; channel < params->channels; channel++) {
        const tflmgen_s16 *fresh = input + channel * params->length;
        tflmgen_s16 *memory = after + channel * params->delay;
        tflmgen_signal_take(output + channel * params->length, params->length, memory, params->delay, fresh);
        tflmgen_signal_keep(memory, params->delay, fresh, params->length, params->length);
    }
}

struct tflmgen_signal_overlap_add {
    int32_t channels;
    int32_t frames;
    int32_t size;
    int32_t step;
};

TFLMGEN_HELPER int16_t tflmgen_signal_add_s16(int16_t a, int16_t b)
{
    return (int16_t)tflmgen_clamp_s32((int32_t)a + b, INT16_MIN, INT16_MAX);
}

TFLMGEN_HELPER float tflmgen_signal_add_f32(float a, float b)
{
    return a + b;
}

/* Adds frames that begin `step` samples after each other; what overlaps the next ones, size - step, is kept. */
#define TFLMGEN_DEFINE_OVERLAP_ADD(name, type, sum)                                                \
    TFLMGEN_KERNEL void name(const type *input, const type *before, type *output, type *after,     \
                             const struct tflmgen_signal_overlap_add *params)                      \
    {                                                                                              \
        const int32_t step = params->step;                                                         \
        const int32_t memory = params->size - step;                                                \
        memmove(after, before, (size_t)(params->channels * memory) * sizeof *after);               \
        for (int32_t frame = 0; frame < params->channels * params->frames; frame++) {              \
            const type *fresh = input + frame * params->size;                                      \
            type *kept = after + frame / params->frames * memory;                                  \
            for (int32_t i = 0; i < step; i++) {                                                   \
                output[frame * step + i] = i < memory ? sum(fresh[i], kept[i]) : sum(fresh[i], 0); \
            }                                                                                      \
            for (int32_t i = 0; i < memory; i++) {                                                 \
                kept[i] = sum(fresh[i + step], i + step < memory ? kept[i + step] : 0);            \
            }                                                                                      \
        }                                                                                          \
    }

TFLMGEN_DEFINE_OVERLAP_ADD(tflmgen_signal_overlap_add_s16, tflmgen_s16, tflmgen_signal_add_s16)
TFLMGEN_DEFINE_OVERLAP_ADD(tflmgen_signal_overlap_add_f32, tflmgen_f32, tflmgen_signal_add_f32)

#endif
