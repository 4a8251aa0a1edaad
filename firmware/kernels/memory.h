/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* What the application may choose: where models put their arena, state and weights, and a hook that follows their
 * progress. Define the macros on the command line. */
#ifndef TFLMGEN_MEMORY_H
#define TFLMGEN_MEMORY_H

#include <stdint.h>

#ifndef TFLMGEN_ARENA_ALIGNMENT
#define TFLMGEN_ARENA_ALIGNMENT 16
#endif

#if defined(TFLMGEN_ARENA_SECTION)
#define TFLMGEN_ARENA __attribute__((section(TFLMGEN_ARENA_SECTION), aligned(TFLMGEN_ARENA_ALIGNMENT)))
#else
#define TFLMGEN_ARENA __attribute__((aligned(TFLMGEN_ARENA_ALIGNMENT)))
#endif

/* Further arrays of an arena that lies in several memories: part 1 in the section that is named as the arena's with _1
 * behind it, and so on. */
#if defined(TFLMGEN_ARENA_SECTION)
#define TFLMGEN_ARENA_PART(number) \
    __attribute__((section(TFLMGEN_ARENA_SECTION "_" #number), aligned(TFLMGEN_ARENA_ALIGNMENT)))
#else
#define TFLMGEN_ARENA_PART(number) __attribute__((aligned(TFLMGEN_ARENA_ALIGNMENT)))
#endif

#if defined(TFLMGEN_STATE_SECTION)
#define TFLMGEN_STATE __attribute__((section(TFLMGEN_STATE_SECTION), aligned(8)))
#else
#define TFLMGEN_STATE __attribute__((aligned(8)))
#endif

/* A state that begins with zeros alone: its own section, so that no image of it has to be kept. */
#if defined(TFLMGEN_ZERO_STATE_SECTION)
#define TFLMGEN_ZERO_STATE __attribute__((section(TFLMGEN_ZERO_STATE_SECTION), aligned(8)))
#else
#define TFLMGEN_ZERO_STATE TFLMGEN_STATE
#endif

#if defined(TFLMGEN_WEIGHTS_SECTION)
#define TFLMGEN_WEIGHTS __attribute__((section(TFLMGEN_WEIGHTS_SECTION), aligned(4)))
#else
#define TFLMGEN_WEIGHTS __attribute__((aligned(4)))
#endif

/* Run after each operator, and in each iteration of a loop, with the number of its step in plan.json: for a
 * watchdog. */
#ifndef TFLMGEN_PROGRESS
#define TFLMGEN_PROGRESS(step) ((void)0)
#endif

/* What a library calls that `tflmgen test --layers` builds, after each operator and for each of its outputs, which are
 * `bytes` at `data`; in place of an output, where a loop begins, where each of its iterations does, where a branch of
 * an If does, and where a subgraph is called. */
#define TFLMGEN_LAYER_CALL 0xFFFBu
#define TFLMGEN_LAYER_THEN 0xFFFCu
#define TFLMGEN_LAYER_ELSE 0xFFFDu
#define TFLMGEN_LAYER_LOOP 0xFFFEu
#define TFLMGEN_LAYER_ITERATION 0xFFFFu
void tflmgen_layer(uint32_t step, uint32_t output, const void *data, uint32_t bytes);

#endif
